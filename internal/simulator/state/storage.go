/*
Copyright 2026 The provider-proxmox Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package state

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// MarshalText encodes a key for JSON.
func (k VolumeKey) MarshalText() ([]byte, error) {
	return []byte(k.Storage + ":" + k.Node + ":" + k.Name), nil
}

// UnmarshalText decodes a key from JSON.
func (k *VolumeKey) UnmarshalText(text []byte) error {
	parts := strings.SplitN(string(text), ":", 3)
	if len(parts) != 3 {
		return errors.Errorf("cannot read the volume %q", text)
	}
	k.Storage, k.Node, k.Name = parts[0], parts[1], parts[2]
	return nil
}

// StorageOn reports whether the storage exists on the node.
func (s *Storage) StorageOn(node string) bool {
	return len(s.Nodes) == 0 || slices.Contains(s.Nodes, node)
}

// Holds reports whether a storage may contain a kind of content.
func (s *Storage) Holds(content string) bool { return slices.Contains(s.Content, content) }

// Key returns the key of a volume of the storage as seen from a node.
func (s *Storage) Key(node, name string) VolumeKey {
	if s.Shared {
		node = ""
	}
	return VolumeKey{Storage: s.ID, Node: node, Name: name}
}

// SplitVolume splits the ID of a volume into storage and name.
func SplitVolume(id string) (storage, name string, ok bool) {
	storage, name, ok = strings.Cut(id, ":")
	return storage, name, ok && !strings.HasPrefix(id, "/")
}

// FileBased reports whether the storage names volumes as files below a folder of the VM.
func (s *Storage) FileBased() bool {
	return slices.Contains([]string{"dir", "nfs", "cifs", "btrfs", "cephfs", "glusterfs"}, s.Type)
}

// Formats returns the image formats of the storage, the default one first.
func (s *Storage) Formats() []string {
	if s.FileBased() {
		return []string{"raw", "qcow2", "vmdk"}
	}
	return []string{"raw"}
}

// Storage returns a defined storage.
func (st *State) Storage(id string) (*Storage, error) {
	if s := st.Storages[id]; s != nil {
		return s, nil
	}
	return nil, apierr.Errorf("storage '%s' does not exist", id)
}

// EnabledStorage returns a storage that is usable on a node.
func (st *State) EnabledStorage(id, node string) (*Storage, error) {
	s, err := st.Storage(id)
	switch {
	case err != nil:
		return nil, err
	case s.Disabled:
		return nil, apierr.Errorf("storage '%s' is disabled", id)
	case !s.StorageOn(node):
		return nil, apierr.Errorf("storage '%s' is not available on node '%s'", id, node)
	}
	return s, nil
}

// ImageStorage returns a storage that can contain VM images and is usable on the node.
func (st *State) ImageStorage(id, node string) (*Storage, error) {
	s, err := st.EnabledStorage(id, node)
	if err == nil && !s.Holds("images") {
		return nil, apierr.Param("storage", "storage '%s' does not support vm images", id)
	}
	return s, err
}

// Volume returns a volume as seen from a node, or nil if there is none.
func (st *State) Volume(node, id string) *Volume {
	storage, name, ok := SplitVolume(id)
	if s := st.Storages[storage]; ok && s != nil {
		return st.Volumes[s.Key(node, name)]
	}
	return nil
}

// fileNames matches the names of files on storages, by their content (PVE::Storage::Plugin::parse_volname).
var fileNames = sync.OnceValue(func() map[string]*regexp.Regexp { //nolint:gochecknoglobals // Read only.
	return map[string]*regexp.Regexp{
		"iso":      regexp.MustCompile(`^iso/[^/]+\.(?i:iso|img)$`),
		"vztmpl":   regexp.MustCompile(`^vztmpl/[^/]+\.(?i:tar|tar\.(?:gz|xz|zst|bz2))$`),
		"backup":   regexp.MustCompile(`^backup/(?:vzdump-(?:openvz|lxc|qemu)-(\d+)-[^/]+|[^/]+)\.(?:tgz|(?:tar|vma)(?:\.(?:gz|lzo|zst|bz2))?)$`),
		"snippets": regexp.MustCompile(`^snippets/[^/]+$`),
		"import":   regexp.MustCompile(`^import/[ a-zA-Z0-9\-.+=_]+\.(?:ova/[ a-zA-Z0-9\-.+=_]+\.(?:qcow2|raw|vmdk)|ova|ovf|qcow2|raw|vmdk)$`),
	}
})

// serverBackup matches the name of a backup on a backup server (PVE::Storage::PBSPlugin::parse_volname).
var serverBackup = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // Read only.
	return regexp.MustCompile(`^backup/(?:vm|ct)/(\d+)/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
})

// fileOf returns the content type of a file from its name, and the owner of a backup.
func fileOf(name string) (content string, owner int, ok bool) {
	content, _, _ = strings.Cut(name, "/")
	if fileNames()[content] == nil {
		return "", 0, false
	}
	m := fileNames()[content].FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}
	return content, schema.Int(strings.Join(m[1:], "")), true
}

// KindOf returns the content type of a volume from its name, and its owner.
func (s *Storage) KindOf(name string) (content string, vmid int, err error) {
	if m := serverBackup().FindStringSubmatch(name); m != nil && s.Type == "pbs" {
		return "backup", schema.Int(m[1]), nil
	}
	if content, owner, ok := fileOf(name); ok && s.FileBased() {
		return content, owner, nil
	}
	expression, kind := `^(?:(?:base-\d+-[^/]+/)|(?:\d+/base-\d+-[^/]+/))?(?:\d+/)?(?:vm|base)-(\d+)-.+$`, s.Type
	if s.FileBased() {
		expression, kind = `^(?:\d+/[^/]+/)?(\d+)/[^/]+\.(?:raw|qcow2|vmdk)$`, "directory"
	}
	m := regexp.MustCompile(expression).FindStringSubmatch(name)
	if m == nil {
		return "", 0, apierr.Errorf("unable to parse %s volume name '%s'", strings.TrimSuffix(kind, "pool"), name)
	}
	return "images", schema.Int(m[1]), nil
}

// BaseName returns the name of an image without folders and extension: "vm-100-disk-0".
func BaseName(name string) string {
	name = path.Base(name)
	return strings.TrimSuffix(name, path.Ext(name))
}

// ImageName returns the full name of an image in the storage.
func (s *Storage) ImageName(vmid int, base, format string) string {
	if s.FileBased() {
		return fmt.Sprintf("%d/%s.%s", vmid, base, format)
	}
	return base
}

// Thick reports whether the storage reserves the full size of a volume.
func (s *Storage) Thick() bool { return s.Type == "lvm" || s.Type == "zfspool" }

// Root returns the folder of a file storage.
func (s *Storage) Root() string {
	if s.Path == "" {
		return "/mnt/pve/" + s.ID
	}
	return s.Path
}

// FilePath returns the path of a volume on a node.
func (s *Storage) FilePath(content, name string) string {
	root := s.Root()
	switch content {
	case "images":
		if !s.FileBased() {
			return "/dev/" + s.ID + "/" + name
		}
		return root + "/images/" + name
	case "import", "snippets":
		return root + "/" + name
	case "backup":
		if s.Type == "pbs" {
			return s.ID + ":" + name
		}
		return root + "/dump/" + strings.TrimPrefix(name, "backup/")
	}
	return root + "/template/" + name
}

// Path returns the path of a volume on a node.
func (st *State) Path(id string) string {
	storage, name, _ := SplitVolume(id)
	s := st.Storages[storage]
	if s == nil {
		return id
	}
	content, _, err := s.KindOf(name)
	if err != nil {
		return id
	}
	return s.FilePath(content, name)
}

// Backup is the content of a guest's backup: its configuration, and its disks by their options.
type Backup struct {
	Config map[string]string
	Disks  map[string]Volume
}

// MaxProtected returns the maximum number of protected backups of a guest on the storage, or -1 for any number. It depends on whether the user has full
// access to the storage.
func (s *Storage) MaxProtected(allocates bool) int {
	switch text, set := s.Options["max-protected-backups"]; {
	case set:
		return schema.Int(text)
	case allocates:
		return -1
	}
	return 5
}

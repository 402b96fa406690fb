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

package simulator

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// op is work on the state in the name of somebody: of a call or of a task. It is only used while the state is held.
type op struct {
	s    *engine
	st   *State
	who  identity
	node string
	task *Task
}

func (c *call) op() *op { return &op{s: c.s, st: c.state, who: c.who, node: c.node} }

func (w *worker) op(st *State) *op {
	return &op{s: w.s, st: st, who: identity(w.task.User), node: w.task.Node, task: w.task}
}

// logf adds a line to the task's log, if there is a task.
func (o *op) logf(format string, args ...any) {
	if o.task != nil {
		o.task.Log = append(o.task.Log, fmt.Sprintf(format, args...))
	}
}

func splitVolume(id string) (storage, name string, ok bool) {
	storage, name, ok = strings.Cut(id, ":")
	return storage, name, ok && !strings.HasPrefix(id, "/")
}

// fileBased storages name volumes as files below a folder of the VM.
func (s *Storage) fileBased() bool {
	return slices.Contains([]string{"dir", "nfs", "cifs", "btrfs", "cephfs", "glusterfs"}, s.Type)
}

// formats are the image formats that the storage holds, the default one first.
func (s *Storage) formats() []string {
	if s.fileBased() {
		return []string{"raw", "qcow2", "vmdk"}
	}
	return []string{"raw"}
}

// storage finds a storage that is defined.
func (st *State) storage(id string) (*Storage, error) {
	if s := st.Storages[id]; s != nil {
		return s, nil
	}
	return nil, die("storage '%s' does not exist", id)
}

// enabledStorage finds a storage that is usable on a node.
func (st *State) enabledStorage(id, node string) (*Storage, error) {
	s, err := st.storage(id)
	switch {
	case err != nil:
		return nil, err
	case s.Disabled:
		return nil, die("storage '%s' is disabled", id)
	case !s.storageOn(node):
		return nil, die("storage '%s' is not available on node '%s'", id, node)
	}
	return s, nil
}

// imageStorage finds a storage that holds VM images and is usable on the node.
func (st *State) imageStorage(id, node string) (*Storage, error) {
	s, err := st.enabledStorage(id, node)
	if err == nil && !s.holds("images") {
		return nil, paramError("storage", "storage '%s' does not support vm images", id)
	}
	return s, err
}

// volume finds a volume as seen from a node, nil if there is none.
func (st *State) volume(node, id string) *Volume {
	storage, name, ok := splitVolume(id)
	if s := st.Storages[storage]; ok && s != nil {
		return st.Volumes[s.key(node, name)]
	}
	return nil
}

// kindOf tells from the name of a volume what it is, and who owns it.
func (s *Storage) kindOf(name string) (content string, vmid int, err error) {
	folder, _, ok := strings.Cut(name, "/")
	if ok && slices.Contains([]string{"iso", "import", "vztmpl", "backup", "snippets"}, folder) {
		return folder, 0, nil
	}
	expression, kind := `^(?:(?:base-\d+-[^/]+/)|(?:\d+/base-\d+-[^/]+/))?(?:\d+/)?(?:vm|base)-(\d+)-.+$`, s.Type
	if s.fileBased() {
		expression, kind = `^(?:\d+/[^/]+/)?(\d+)/[^/]+\.(?:raw|qcow2|vmdk)$`, "directory"
	}
	m := regexp.MustCompile(expression).FindStringSubmatch(name)
	if m == nil {
		return "", 0, die("unable to parse %s volume name '%s'", strings.TrimSuffix(kind, "pool"), name)
	}
	return "images", atoi(m[1]), nil
}

// baseName is the name of an image without folders and extension: "vm-100-disk-0".
func baseName(name string) string {
	name = path.Base(name)
	return strings.TrimSuffix(name, path.Ext(name))
}

// imageName returns the full name of an image in the storage.
func (s *Storage) imageName(vmid int, base, format string) string {
	if s.fileBased() {
		return fmt.Sprintf("%d/%s.%s", vmid, base, format)
	}
	return base
}

// taken reports whether an image has the name, in any format.
func (o *op) taken(s *Storage, vmid int, base string) bool {
	for _, format := range s.formats() {
		if o.st.Volumes[s.key(o.node, s.imageName(vmid, base, format))] != nil {
			return true
		}
	}
	return false
}

// maxFile is the size of the largest file of a usual file system.
const maxFile = 16 << 40

// thick storages set aside the whole size of a volume.
func (s *Storage) thick() bool { return s.Type == "lvm" || s.Type == "zfspool" }

// room is how much the storage has left on the node that works, in bytes.
func (o *op) room(s *Storage) int64 { return s.Total - o.used(s, o.node) }

// allocate makes a volume for a guest and returns its ID. Storages that set aside the whole size refuse what does not fit.
func (o *op) allocate(s *Storage, vmid int, base, format string, size int64) (string, error) {
	name := s.imageName(vmid, base, format)
	o.logFormat(s, name, format, size)
	switch {
	case s.fileBased() && format == "raw" && size > maxFile:
		return "", die("unable to create image: qemu-img: %s: The image size is too large for file format 'raw'", s.filePath("images", name))
	case s.Type == "lvm" && o.room(s) < size: // Looked for only where it counts: it is what all volumes leave.
		return "", die("not enough free space (%d < %d)", o.room(s), size)
	case s.Type == "zfspool" && o.room(s) < size:
		return "", die("zfs error: cannot create '%s/%s': out of space", s.ID, name)
	}
	v := &Volume{VMID: vmid, Format: format, Content: "images", Size: size, Used: min(size, 4096), Created: o.s.clock.Now()}
	if s.thick() {
		v.Used = size
	}
	o.st.Volumes[s.key(o.node, name)] = v
	return s.ID + ":" + name, nil
}

// write fills a volume with what another one holds, as far as the storage has room.
func (o *op) write(id string, source *Volume, path string) error {
	storage, name, _ := splitVolume(id)
	s := o.st.Storages[storage]
	v := o.st.volume(o.node, id)
	more := min(max(source.Used, v.Used), v.Size) - v.Used
	if free := o.room(s); more > free {
		o.logf("qemu-img: error while writing at byte %d: No space left on device", max(free, 0))
		return die("copy failed: command '/usr/bin/qemu-img convert -p -n -f %s -O %s %s zeroinit:%s' failed: exit code 1", source.Format, v.Format,
			path, s.filePath("images", name))
	}
	v.Used += more
	return nil
}

// store takes a file that comes from outside into a storage.
func (o *op) store(s *Storage, name string, v *Volume) error {
	held := int64(0)
	if old := o.st.Volumes[s.key(o.node, name)]; old != nil {
		held = old.Used
	}
	if v.Used-held > o.room(s) {
		return errNoSpace
	}
	o.st.Volumes[s.key(o.node, name)] = v
	return nil
}

// errNoSpace is the error of a full storage.
var errNoSpace = errors.New("No space left on device")

func (o *op) logFormat(s *Storage, name, format string, size int64) {
	if !s.fileBased() {
		return
	}
	file := s.filePath("images", name)
	if format == "qcow2" {
		o.logf("Formatting '%s', fmt=qcow2 cluster_size=65536 extended_l2=off preallocation=metadata compression_type=zlib "+
			"size=%d lazy_refcounts=off refcount_bits=16", file, size)
		return
	}
	o.logf("Formatting '%s', fmt=%s size=%d preallocation=off", file, format, size)
}

// root is the folder of a storage of files.
func (s *Storage) root() string {
	if s.Path == "" {
		return "/mnt/pve/" + s.ID
	}
	return s.Path
}

// filePath is where a volume lies on a node.
func (s *Storage) filePath(content, name string) string {
	root := s.root()
	switch content {
	case "images":
		if !s.fileBased() {
			return "/dev/" + s.ID + "/" + name
		}
		return root + "/images/" + name
	case "import", "snippets":
		return root + "/" + name
	}
	return root + "/template/" + name
}

// path is where a volume lies on a node.
func (st *State) path(id string) string {
	storage, name, _ := splitVolume(id)
	s := st.Storages[storage]
	if s == nil {
		return id
	}
	content, _, err := s.kindOf(name)
	if err != nil {
		return id
	}
	return s.filePath(content, name)
}

// free removes a volume.
func (o *op) free(id string) {
	storage, name, ok := splitVolume(id)
	if s := o.st.Storages[storage]; ok && s != nil {
		delete(o.st.Volumes, s.key(o.node, name))
	}
}

// clones reports whether linked clones stand on a volume.
func (o *op) clones(id string) bool {
	storage, name, _ := splitVolume(id)
	for key, v := range o.st.Volumes {
		if key.Storage == storage && v.Base == name {
			return true
		}
	}
	return false
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func gib(s string) int64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return int64(f * (1 << 30))
}

func sizeOption(bytes int64) string { return schema.FormatSize(bytes) }

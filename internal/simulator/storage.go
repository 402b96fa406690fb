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
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// used is what a storage holds on a node, in bytes.
func (o *op) used(s *Storage, node string) int64 {
	sum := s.Used
	for key, v := range o.st.Volumes {
		if key.Storage == s.ID && (s.Shared || key.Node == node) {
			sum += v.Used
		}
	}
	return min(sum, s.Total)
}

func (c *call) storageStatus(s *Storage) map[string]any {
	used := c.op().used(s, c.node)
	out := map[string]any{
		"type": s.Type, "content": strings.Join(s.Content, ","), "shared": boolInt(s.Shared), "enabled": boolInt(!s.Disabled),
		"active": boolInt(!s.Disabled), "total": s.Total, "used": used, "avail": s.Total - used,
	}
	return out
}

func (c *call) listNodeStorage() (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Storages)) {
		s := c.state.Storages[id]
		switch {
		case !s.storageOn(c.node), c.has("storage") && c.str("storage") != id, c.flag("enabled") && s.Disabled,
			c.has("target") && !s.storageOn(c.str("target")):
			continue
		case c.state.checkAny(c.who, "/storage/"+id, "Datastore.Audit", "Datastore.AllocateSpace") != nil:
			continue
		case c.has("content") && !slices.ContainsFunc(schema.SplitList(c.str("content")), s.holds):
			continue
		}
		entry := c.storageStatus(s)
		entry["storage"] = id
		if s.Total > 0 {
			entry["used_fraction"] = float64(entry["used"].(int64)) / float64(s.Total) //nolint:forcetypeassert // It is ours.
		}
		out = append(out, entry)
	}
	return out, nil
}

func (c *call) getStorageStatus() (any, error) {
	s := c.state.Storages[c.str("storage")]
	if s == nil {
		return nil, paramError("storage", "No such storage.")
	}
	if !s.storageOn(c.node) {
		return nil, die("storage '%s' is not available on node '%s'", s.ID, c.node)
	}
	return c.storageStatus(s), nil
}

func (c *call) nodeStorageIndex() (any, error) {
	return subdirs("content", "download-url", "file-restore", "import-metadata", "prunebackups", "rrd", "rrddata", "status", "upload"), nil
}

func (c *call) listContent() (any, error) {
	s, err := c.state.enabledStorage(c.str("storage"), c.node)
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, key := range slices.SortedFunc(maps.Keys(c.state.Volumes), compareKeys) {
		v := c.state.Volumes[key]
		if key != s.key(c.node, key.Name) || !c.wantsVolume(v) || !c.seesVolume(s, v) {
			continue
		}
		out = append(out, v.show(key))
	}
	return out, nil
}

func compareKeys(a, b VolumeKey) int {
	return strings.Compare(a.Storage+a.Node+":"+a.Name, b.Storage+b.Node+":"+b.Name)
}

// wantsVolume applies the filters of a list. The filter by VM lets files to import and snippets pass, which belong to none.
func (c *call) wantsVolume(v *Volume) bool {
	if c.has("content") && !slices.Contains(schema.SplitList(c.str("content")), v.Content) {
		return false
	}
	if !c.has("vmid") || v.VMID == c.vmid() {
		return true
	}
	return v.Content == "import" || v.Content == "snippets"
}

func (c *call) seesVolume(s *Storage, v *Volume) bool {
	if v.VMID == 0 || c.state.may(c.who, "/storage/"+s.ID, "Datastore.Allocate") {
		return true
	}
	return c.state.may(c.who, "/storage/"+s.ID, "Datastore.Audit") ||
		c.state.may(c.who, fmt.Sprintf("/vms/%d", v.VMID), "VM.Config.Disk")
}

func (v *Volume) show(key VolumeKey) map[string]any {
	out := map[string]any{
		"volid": key.Storage + ":" + key.Name, "content": v.Content, "format": v.Format, "size": v.Size, "ctime": v.Created.Unix(),
	}
	if v.Content != "images" {
		out["size"] = v.Used
		if v.Content == "backup" {
			out["vmid"], out["subtype"] = v.VMID, "qemu"
		}
		return out
	}
	out["vmid"], out["used"], out["parent"] = v.VMID, v.Used, nil
	if v.Base != "" {
		out["parent"] = "../" + v.Base
	}
	return out
}

// volumeID is the volume that a call names, with or without its storage.
func (c *call) volumeID() string {
	id := c.str("volume")
	if !strings.Contains(id, ":") {
		id = c.str("storage") + ":" + id
	}
	return id
}

func (c *call) getVolume() (any, error) {
	id := c.volumeID()
	v := c.state.volume(c.node, id)
	if v == nil {
		return nil, die("volume_size_info on '%s' failed - no format", id)
	}
	storage, name, _ := splitVolume(id)
	format := v.Format
	if v.Content == "iso" {
		format = "raw"
	}
	return map[string]any{
		"path": c.state.Storages[storage].filePath(v.Content, name), "size": v.Size, "used": v.Used, "format": format,
	}, nil
}

func (c *call) deleteVolume() (any, error) {
	id := c.volumeID()
	storage, name, _ := splitVolume(id)
	s, err := c.state.storage(storage)
	if err != nil {
		return nil, err
	}
	content, owner, err := s.kindOf(name)
	if err != nil {
		return nil, err
	}
	if err := c.mayDelete(s, content, owner); err != nil {
		return nil, err
	}
	subject := storage
	if owner != 0 {
		subject = fmt.Sprintf("%d@%s", owner, storage)
	}
	return c.spawn("imgdel", subject, func(w *worker) error {
		if err := w.pauseFor("imgdel"); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			o := w.op(st)
			switch {
			case st.volume(o.node, id) == nil:
				o.logf("disk image '%s' does not exist", s.filePath(content, name))
			case o.clones(id):
				return die("base volume '%s' is still in use by linked cloned", id)
			}
			o.free(id)
			o.logf("Removed volume '%s'", id)
			return nil
		})
	})
}

// mayDelete wants more than who made a volume needs: backups alone may be removed with less.
func (c *call) mayDelete(s *Storage, content string, owner int) error {
	if content != "backup" || owner == 0 {
		return c.state.check(c.who, "/storage/"+s.ID, "Datastore.Allocate")
	}
	if err := c.state.check(c.who, "/storage/"+s.ID, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	return c.state.check(c.who, fmt.Sprintf("/vms/%d", owner), "VM.Backup")
}

// allocVolume makes an image outside of any configuration.
func (c *call) allocVolume() (any, error) {
	s, err := c.state.enabledStorage(c.str("storage"), c.node)
	if err != nil {
		return nil, err
	}
	name := c.str("filename")
	format := strings.TrimPrefix(path.Ext(name), ".")
	if f := c.str("format"); f != "" {
		format = f
	}
	if format == "" {
		format = s.formats()[0]
	}
	full := s.imageName(c.vmid(), strings.TrimSuffix(name, path.Ext(name)), format)
	if c.state.Volumes[s.key(c.node, full)] != nil {
		return nil, die("disk image '%s' already exists", s.filePath("images", full))
	}
	size, ok := schema.ParseSize(c.str("size"))
	if !strings.ContainsAny(c.str("size"), "KMGT") {
		size *= 1024
	}
	if !ok {
		return nil, paramError("size", "value does not match the regex pattern")
	}
	id, err := c.op().allocate(s, c.vmid(), strings.TrimSuffix(name, path.Ext(name)), format, size)
	if err != nil {
		return nil, err
	}
	return id, nil
}

// extensions are the ends of the names of files that may come from outside, by content.
func extensions() map[string][]string {
	return map[string][]string{
		"iso": {".iso", ".img"}, "vztmpl": {".tar.gz", ".tar.xz", ".tar.zst"}, "import": {".qcow2", ".raw", ".vmdk", ".ova", ".img"},
	}
}

// destination is the node that a file is for. The node that took the request hands an upload on to it.
func (c *call) destination() string {
	if node := c.str("node"); c.state.Nodes[node] != nil {
		return node
	}
	return c.node
}

// incoming is where a file that comes from outside goes: the storage, its content and its name there.
func (c *call) incoming() (s *Storage, content, name string, err error) {
	content, name = c.str("content"), path.Base(strings.ReplaceAll(c.str("filename"), " ", "_"))
	if !slices.ContainsFunc(extensions()[content], func(e string) bool { return strings.HasSuffix(name, e) }) {
		return nil, "", "", paramError("filename", "wrong file extension")
	}
	if s, err = c.state.enabledStorage(c.str("storage"), c.destination()); err != nil {
		return nil, "", "", err
	}
	if !s.holds(content) {
		return nil, "", "", die("storage '%s' does not support '%s' content", s.ID, content)
	}
	return s, content, name, nil
}

// uploadFile takes an ISO image, a container template or an image to import.
func (c *call) uploadFile() (any, error) {
	s, content, name, err := c.incoming()
	if err != nil {
		return nil, err
	}
	file, node := c.upload, c.destination()
	algorithm, checksum := c.str("checksum-algorithm"), c.str("checksum")
	return c.spawn("imgcopy", "", func(w *worker) error {
		w.logf("target node: %s", node)
		w.logf("target file: %s", s.filePath(content, content+"/"+name))
		w.logf("file size is: %d", len(file))
		if err := w.pauseFor("imgcopy"); err != nil {
			return err
		}
		if err := checkFile(content, name, file, algorithm, checksum); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			o, to := w.op(st), s.filePath(content, content+"/"+name)
			o.node = node
			if o.store(s, content+"/"+name, w.fetched(content, name, file)) != nil {
				from := fmt.Sprintf("/var/tmp/pveupload-%x", randomBytes(16))
				o.logf("cp: error writing '%s': No space left on device", to)
				return die("import failed: command 'cp -- %s %s' failed: exit code 1", from, to)
			}
			return nil
		})
	})
}

// fetched is a file that came from outside.
func (w *worker) fetched(content, name string, file []byte) *Volume {
	return &Volume{
		Content: content, Format: uploadFormat(content, name), Size: diskSize(name, file), Used: int64(len(file)), Data: file,
		System: content == "import", Created: w.s.clock.Now(),
	}
}

func uploadFormat(content, name string) string {
	if content == "snippets" {
		return "snippet"
	}
	if content != "import" {
		return content
	}
	format := strings.TrimPrefix(path.Ext(name), ".")
	if format == "img" {
		return "raw"
	}
	return format
}

// listStorage lists the definitions.
func (c *call) listStorage() (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Storages)) {
		s := c.state.Storages[id]
		seen := c.state.checkAny(c.who, "/storage/"+id, "Datastore.Audit", "Datastore.AllocateSpace") == nil
		if seen && (!c.has("type") || c.str("type") == s.Type) {
			out = append(out, c.showStorage(s))
		}
	}
	return out, nil
}

func (c *call) getStorage() (any, error) {
	s, err := c.state.storage(c.str("storage"))
	if err != nil {
		return nil, err
	}
	return c.showStorage(s), nil
}

// showStorage is a definition as the API tells it.
func (c *call) showStorage(s *Storage) map[string]any {
	out := map[string]any{"storage": s.ID, "type": s.Type, "content": strings.Join(s.Content, ","), "digest": c.state.storageDigest()}
	for key, value := range s.Options {
		out[key] = value
		p := c.facts.Parameters("POST", "/storage")[key]
		if n, err := strconv.Atoi(value); err == nil && p != nil && (p.Type == "integer" || p.Type == "boolean") {
			out[key] = n
		}
	}
	if s.Path != "" {
		out["path"] = s.Path
	}
	if s.Shared {
		out["shared"] = 1
	}
	if s.Disabled {
		out["disable"] = 1
	}
	if len(s.Nodes) > 0 {
		out["nodes"] = strings.Join(s.Nodes, ",")
	}
	return out
}

// storageDigest changes with every definition.
func (st *State) storageDigest() string {
	text := &strings.Builder{}
	for _, id := range slices.Sorted(maps.Keys(st.Storages)) {
		s := st.Storages[id]
		fmt.Fprintln(text, id, s.Type, s.Path, s.Content, s.Nodes, s.Shared, s.Disabled, s.Options)
	}
	return hash([]byte(text.String()))
}

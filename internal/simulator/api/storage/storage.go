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

package storage

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

func storageStatus(c *engine.Call, s *state.Storage) map[string]any {
	out := map[string]any{
		"type": s.Type, "content": strings.Join(s.Content, ","), "shared": schema.Flag(s.Shared), "enabled": 0,
		"active": 0, "total": int64(0), "used": int64(0), "avail": int64(0),
	}
	if s.Disabled || !s.StorageOn(c.Node) {
		return out // It is not used.
	}
	used := volume.Used(c.Op(), s, c.Node)
	out["enabled"], out["active"], out["total"], out["used"], out["avail"] = 1, 1, s.Total, used, s.Total-used
	return out
}

func listNodeStorage(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.Storages)) {
		s := c.State.Storages[id]
		switch {
		case c.Has("storage") && c.Str("storage") != id, c.Flag("enabled") && s.Disabled,
			c.Has("content") && (s.Disabled || !s.StorageOn(c.Node)),
			c.Has("target") && !s.StorageOn(c.Str("target")):
			continue
		case c.State.CheckAny(c.Who, "/storage/"+id, "Datastore.Audit", "Datastore.AllocateSpace") != nil:
			continue
		case c.Has("content") && !slices.ContainsFunc(schema.SplitList(c.Str("content")), s.Holds):
			continue
		}
		entry := storageStatus(c, s)
		entry["storage"] = id
		if total, used := entry["total"].(int64), entry["used"].(int64); total > 0 { //nolint:forcetypeassert // They are ours.
			entry["used_fraction"] = float64(used) / float64(total)
		}
		out = append(out, entry)
	}
	return out, nil
}

func getStorageStatus(c *engine.Call) (any, error) {
	s := c.State.Storages[c.Str("storage")]
	if s == nil {
		return nil, apierr.Param("storage", "No such storage.")
	}
	return storageStatus(c, s), nil
}

func nodeStorageIndex(*engine.Call) (any, error) {
	return engine.Subdirs("content", "download-url", "file-restore", "import-metadata", "prunebackups", "rrd", "rrddata", "status", "upload"), nil
}

func listContent(c *engine.Call) (any, error) {
	s, err := c.State.EnabledStorage(c.Str("storage"), c.Node)
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, key := range slices.SortedFunc(maps.Keys(c.State.Volumes), compareKeys) {
		v := c.State.Volumes[key]
		if key != s.Key(c.Node, key.Name) || !wantsVolume(c, v) || !seesVolume(c, s, v) {
			continue
		}
		out = append(out, show(v, key))
	}
	return out, nil
}

func compareKeys(a, b state.VolumeKey) int {
	return strings.Compare(a.Storage+a.Node+":"+a.Name, b.Storage+b.Node+":"+b.Name)
}

// wantsVolume applies the filters of a list. The filter by VM does not exclude files for import and snippets, which belong to no VM.
func wantsVolume(c *engine.Call, v *state.Volume) bool {
	if c.Has("content") && !slices.Contains(schema.SplitList(c.Str("content")), v.Content) {
		return false
	}
	if !c.Has("vmid") || v.VMID == c.VMID() {
		return true
	}
	return v.Content == "import" || v.Content == "snippets"
}

func seesVolume(c *engine.Call, s *state.Storage, v *state.Volume) bool {
	if v.VMID == 0 || c.State.May(c.Who, "/storage/"+s.ID, "Datastore.Allocate") {
		return true
	}
	if v.Content == "backup" {
		return mayUseBackup(c, s.ID, v.VMID) == nil
	}
	return c.State.May(c.Who, "/storage/"+s.ID, "Datastore.Audit") ||
		c.State.May(c.Who, fmt.Sprintf("/vms/%d", v.VMID), "VM.Config.Disk")
}

func show(v *state.Volume, key state.VolumeKey) map[string]any {
	out := map[string]any{
		"volid": key.Storage + ":" + key.Name, "content": v.Content, "format": v.Format, "size": v.Size, "ctime": v.Created.Unix(),
	}
	if v.Content != "images" {
		out["size"] = v.Used
		if v.Content == "backup" {
			out["vmid"], out["subtype"] = v.VMID, "qemu"
			maps.Copy(out, attributesInList(v))
		}
		return out
	}
	out["vmid"], out["used"], out["parent"] = v.VMID, v.Used, nil
	if v.Base != "" {
		out["parent"] = "../" + v.Base
	}
	return out
}

// attributesInList returns the attributes of a backup in lists. They contain only the first line of notes in a separate file.
func attributesInList(v *state.Volume) map[string]any {
	out := map[string]any{}
	if notes := v.Notes; notes != "" {
		if !strings.HasPrefix(v.Format, "pbs-") {
			notes, _, _ = strings.Cut(notes, "\n")
		}
		out["notes"] = notes
	}
	if v.Protected {
		out["protected"] = 1
	}
	if v.Verification != "" {
		out["verification"] = map[string]any{"state": v.Verification, "upid": "UPID:pbs:0000038D:0000014B:00000000:5F9C4A7D:verify:store:root@pam:"}
	}
	return out
}

// volumeID returns the volume of a call, with or without its storage.
func volumeID(c *engine.Call) string {
	id := c.Str("volume")
	if !strings.Contains(id, ":") {
		id = c.Str("storage") + ":" + id
	}
	return id
}

func getVolume(c *engine.Call) (any, error) {
	id := volumeID(c)
	v := c.State.Volume(c.Node, id)
	if v == nil {
		return nil, apierr.Errorf("volume_size_info on '%s' failed - no format", id)
	}
	storage, name, _ := state.SplitVolume(id)
	format := v.Format
	if v.Content == "iso" {
		format = "raw"
	}
	out := map[string]any{
		"path": c.State.Storages[storage].FilePath(v.Content, name), "size": v.Size, "used": v.Used, "format": format,
	}
	if v.Content == "backup" {
		if err := mayUseBackup(c, storage, v.VMID); err != nil {
			return nil, err
		}
		out["size"], out["notes"], out["protected"] = v.Used, v.Notes, schema.Flag(v.Protected)
	}
	return out, nil
}

// mayUseBackup checks access to a backup.
func mayUseBackup(c *engine.Call, storage string, owner int) error {
	if c.State.May(c.Who, "/storage/"+storage, "Datastore.Allocate") {
		return nil
	}
	if err := c.State.Check(c.Who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	return c.State.Check(c.Who, state.VMPath(owner), "VM.Backup")
}

// setAttributes changes the notes of a backup and its protection.
func setAttributes(c *engine.Call) (any, error) {
	id := volumeID(c)
	storage, name, _ := state.SplitVolume(id)
	s, err := c.State.Storage(storage)
	if err != nil {
		return nil, err
	}
	content, owner, err := s.KindOf(name)
	if err != nil {
		return nil, err
	}
	if content != "backup" {
		return nil, apierr.Errorf("only backups can have notes")
	}
	if err := mayUseBackup(c, storage, owner); err != nil {
		return nil, err
	}
	v := c.State.Volume(c.Node, id)
	if v == nil {
		return nil, nil //nolint:nilnil // PVE writes the notes beside a file that is not there.
	}
	if notes, given := c.Values["notes"]; given {
		v.Notes = notes
	}
	if c.Has("protected") {
		v.Protected = c.Flag("protected")
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func deleteVolume(c *engine.Call) (any, error) {
	id := volumeID(c)
	storage, name, _ := state.SplitVolume(id)
	s, err := c.State.Storage(storage)
	if err != nil {
		return nil, err
	}
	content, owner, err := s.KindOf(name)
	if err != nil {
		return nil, err
	}
	if err := mayDelete(c, s, content, owner); err != nil {
		return nil, err
	}
	subject := storage
	if owner != 0 {
		subject = fmt.Sprintf("%d@%s", owner, storage)
	}
	return c.Spawn("imgdel", subject, func(w *engine.Worker) error {
		if err := w.PauseFor("imgdel"); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			o := w.Op(st)
			switch {
			case st.Volume(o.Node, id) == nil:
				o.Logf("disk image '%s' does not exist", s.FilePath(content, name))
			case st.Volume(o.Node, id).Protected:
				return apierr.Errorf("cannot remove protected volume '%s' on '%s'", name, storage)
			case volume.Clones(o, id):
				return apierr.Errorf("base volume '%s' is still in use by linked cloned", id)
			}
			volume.Free(o, id)
			o.Logf("Removed volume '%s'", id)
			return nil
		})
	})
}

// mayDelete requires more privileges than the creation of a volume. Only backups can be removed with fewer.
func mayDelete(c *engine.Call, s *state.Storage, content string, owner int) error {
	if content != "backup" || owner == 0 {
		return c.State.Check(c.Who, "/storage/"+s.ID, "Datastore.Allocate")
	}
	if err := c.State.Check(c.Who, "/storage/"+s.ID, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	return c.State.Check(c.Who, fmt.Sprintf("/vms/%d", owner), "VM.Backup")
}

// allocVolume creates an image outside of any configuration.
func allocVolume(c *engine.Call) (any, error) {
	s, err := c.State.EnabledStorage(c.Str("storage"), c.Node)
	if err != nil {
		return nil, err
	}
	name := c.Str("filename")
	format := strings.TrimPrefix(path.Ext(name), ".")
	switch f := c.Str("format"); {
	case f != "" && slices.Contains([]string{"raw", "qcow2", "vmdk"}, format) && f != format:
		return nil, apierr.Param("format", "different storage formats (%s != %s)", f, format)
	case f != "":
		format = f
	case format == "" && s.Path != "":
		return nil, apierr.Errorf("unable to parse volume filename '%s'", name)
	}
	if format == "" {
		format = s.Formats()[0]
	}
	full := s.ImageName(c.VMID(), strings.TrimSuffix(name, path.Ext(name)), format)
	if c.State.Volumes[s.Key(c.Node, full)] != nil {
		return nil, apierr.Errorf("disk image '%s' already exists", s.FilePath("images", full))
	}
	size, ok := schema.ParseSize(c.Str("size"))
	if !strings.ContainsAny(c.Str("size"), "KMGT") {
		size *= 1024
	}
	if !ok {
		return nil, apierr.Param("size", "value does not match the regex pattern")
	}
	id, err := volume.Allocate(c.Op(), s, c.VMID(), strings.TrimSuffix(name, path.Ext(name)), format, size)
	if err != nil {
		return nil, err
	}
	return id, nil
}

// extensions returns the extensions of files that users may upload, by content.
func extensions() map[string][]string {
	return map[string][]string{
		"iso": {".iso", ".img"}, "vztmpl": {".tar", ".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2"}, "import": {".qcow2", ".raw", ".vmdk", ".ova"},
	}
}

// destination returns the target node of a file. The node that received an upload forwards it.
func destination(c *engine.Call) string {
	if node := c.Str("node"); c.State.Nodes[node] != nil {
		return node
	}
	return c.Node
}

// fileName returns PVE's normalised name of a file (PVE::Storage::normalize_content_filename).
func fileName(given string) string {
	given = strings.TrimSuffix(given, "\n")
	name := []byte(given[strings.LastIndexAny(given, `/\`)+1:])
	for i, b := range name {
		if !strings.ContainsRune(schema.Letters+"0123456789_.-", rune(b)) {
			name[i] = '_'
		}
	}
	return string(name)
}

// incoming returns the target of an uploaded or downloaded file: the storage, its content and its name there.
func incoming(c *engine.Call) (s *state.Storage, content, name string, err error) {
	content, name = c.Str("content"), fileName(c.Str("filename"))
	if s, err = c.State.EnabledStorage(c.Str("storage"), destination(c)); err != nil {
		return nil, "", "", err
	}
	if !s.FileBased() {
		return nil, "", "", apierr.Errorf("can't upload to storage type '%s'", s.Type)
	}
	if err := checkName(content, name); err != nil {
		return nil, "", "", err
	}
	if !s.Holds(content) {
		return nil, "", "", apierr.Errorf("storage '%s' does not support '%s' content", s.ID, content)
	}
	return s, content, name, nil
}

// checkName rejects extensions that the content does not allow. Those of images for import must be in lower case.
func checkName(content, name string) error {
	given, message := strings.ToLower(name), "wrong file extension"
	if content == "import" {
		given, message = name, "invalid filename or wrong extension"
	}
	fits := func(e string) bool { return strings.HasSuffix(given, e) && len(given) > len(e) }
	if !slices.ContainsFunc(extensions()[content], fits) {
		return apierr.Param("filename", "%s", message)
	}
	return nil
}

// uploadFile accepts an ISO image, a container template or an image for import.
func uploadFile(c *engine.Call) (any, error) {
	s, content, name, err := incoming(c)
	if err != nil {
		return nil, err
	}
	file, node := c.Upload, destination(c)
	algorithm, checksum := c.Str("checksum-algorithm"), c.Str("checksum")
	return c.Spawn("imgcopy", "", func(w *engine.Worker) error {
		w.Logf("target node: %s", node)
		w.Logf("target file: %s", s.FilePath(content, content+"/"+name))
		w.Logf("file size is: %d", len(file))
		if err := w.PauseFor("imgcopy"); err != nil {
			return err
		}
		if err := checkFile(content, name, file, algorithm, checksum); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			o, to := w.Op(st), s.FilePath(content, content+"/"+name)
			o.Node = node
			if volume.Store(o, s, content+"/"+name, fetched(w, content, name, file)) != nil {
				from := fmt.Sprintf("/var/tmp/pveupload-%x", random.Bytes(16))
				o.Logf("cp: error writing '%s': No space left on device", to)
				return apierr.Errorf("import failed: command 'cp -- %s %s' failed: exit code 1", from, to)
			}
			return nil
		})
	})
}

// fetched returns the volume of an uploaded or downloaded file.
func fetched(w *engine.Worker, content, name string, file []byte) *state.Volume {
	return &state.Volume{
		Content: content, Format: UploadFormat(content, name), Size: diskSize(name, file), Used: int64(len(file)), Data: file,
		System: content == "import", Created: w.Engine.Clock.Now(),
	}
}

// UploadFormat returns the format of a file by its content and its name.
func UploadFormat(content, name string) string {
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
func listStorage(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.Storages)) {
		s := c.State.Storages[id]
		seen := c.State.CheckAny(c.Who, "/storage/"+id, "Datastore.Audit", "Datastore.AllocateSpace") == nil
		if seen && (!c.Has("type") || c.Str("type") == s.Type) {
			out = append(out, showStorage(c, s))
		}
	}
	return out, nil
}

func getStorage(c *engine.Call) (any, error) {
	s, err := c.State.Storage(c.Str("storage"))
	if err != nil {
		return nil, err
	}
	return showStorage(c, s), nil
}

// showStorage returns a definition as the API shows it.
func showStorage(c *engine.Call, s *state.Storage) map[string]any {
	out := map[string]any{"storage": s.ID, "type": s.Type, "content": strings.Join(s.Content, ","), "digest": storageDigest(c.State)}
	for key, value := range s.Options {
		out[key] = value
		p := c.Facts.Parameters("POST", "/storage")[key]
		if n, err := strconv.Atoi(value); err == nil && p != nil && (p.Type == "integer" || p.Type == "boolean") {
			out[key] = n
		}
	}
	if s.Path != "" {
		out["path"] = s.Path
	}
	for key, on := range map[string]bool{"shared": s.Shared, "disable": s.Disabled} {
		if _, given := s.Options[key]; on || given { // A given value is kept, even if it is the default.
			out[key] = schema.Flag(on)
		}
	}
	if len(s.Nodes) > 0 {
		out["nodes"] = strings.Join(s.Nodes, ",")
	}
	return out
}

// storageDigest changes with every definition.
func storageDigest(st *state.State) string {
	text := &strings.Builder{}
	for _, id := range slices.Sorted(maps.Keys(st.Storages)) {
		s := st.Storages[id]
		fmt.Fprintln(text, id, s.Type, s.Path, s.Content, s.Nodes, s.Shared, s.Disabled, s.Options)
	}
	return state.Digest([]byte(text.String()))
}

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

// Package volume creates, fills and removes the volumes of storages.
package volume

import (
	"math"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// Taken reports whether an image with the name exists, in any format.
func Taken(o *engine.Op, s *state.Storage, vmid int, base string) bool {
	for _, format := range s.Formats() {
		if o.State.Volumes[s.Key(o.Node, s.ImageName(vmid, base, format))] != nil {
			return true
		}
	}
	return false
}

// maxFile is the maximum file size of a usual file system.
const maxFile = 16 << 40

// Room returns the free space of the storage on the current node, in bytes.
func Room(o *engine.Op, s *state.Storage) int64 { return s.Total - Used(o, s, o.Node) }

// Allocate creates a volume for a guest and returns its ID. Storages that reserve the full size reject a volume that does not fit.
func Allocate(o *engine.Op, s *state.Storage, vmid int, base, format string, size int64) (string, error) {
	name := s.ImageName(vmid, base, format)
	logFormat(o, s, name, format, size)
	switch {
	case s.FileBased() && format == "raw" && size > maxFile:
		return "", apierr.Errorf("unable to create image: qemu-img: %s: The image size is too large for file format 'raw'", s.FilePath("images", name))
	case s.Type == "lvm" && Room(o, s) < size: // The free space is only computed if it matters, because that needs all volumes.
		return "", apierr.Errorf("not enough free space (%d < %d)", Room(o, s), size)
	case s.Type == "zfspool" && Room(o, s) < size:
		return "", apierr.Errorf("zfs error: cannot create '%s/%s': out of space", s.ID, name)
	}
	v := &state.Volume{VMID: vmid, Format: format, Content: "images", Size: size, Used: min(size, 4096), Created: o.Engine.Clock.Now()}
	if s.Thick() {
		v.Used = size
	}
	o.State.Volumes[s.Key(o.Node, name)] = v
	return s.ID + ":" + name, nil
}

// Write fills a volume with the content of another one, as far as the storage has space.
func Write(o *engine.Op, id string, source *state.Volume, path string) error {
	storage, name, _ := state.SplitVolume(id)
	s := o.State.Storages[storage]
	v := o.State.Volume(o.Node, id)
	more := min(max(source.Used, v.Used), v.Size) - v.Used
	if free := Room(o, s); more > free {
		o.Logf("qemu-img: error while writing at byte %d: No space left on device", max(free, 0))
		return apierr.Errorf("copy failed: command '/usr/bin/qemu-img convert -p -n -f %s -O %s %s zeroinit:%s' failed: exit code 1", source.Format, v.Format,
			path, s.FilePath("images", name))
	}
	v.Used += more
	if source.Content == "images" {
		v.Data = source.Data
	}
	return nil
}

// Store stores an uploaded or downloaded file on a storage.
func Store(o *engine.Op, s *state.Storage, name string, v *state.Volume) error {
	held := int64(0)
	if old := o.State.Volumes[s.Key(o.Node, name)]; old != nil {
		held = old.Used
	}
	if v.Used-held > Room(o, s) {
		return errNoSpace
	}
	o.State.Volumes[s.Key(o.Node, name)] = v
	return nil
}

// errNoSpace is the error of a full storage.
var errNoSpace = errors.New("No space left on device")

func logFormat(o *engine.Op, s *state.Storage, name, format string, size int64) {
	if !s.FileBased() {
		return
	}
	file := s.FilePath("images", name)
	if format == "qcow2" {
		o.Logf("Formatting '%s', fmt=qcow2 cluster_size=65536 extended_l2=off preallocation=metadata compression_type=zlib "+
			"size=%d lazy_refcounts=off refcount_bits=16", file, size)
		return
	}
	o.Logf("Formatting '%s', fmt=%s size=%d preallocation=off", file, format, size)
}

// Free removes a volume.
func Free(o *engine.Op, id string) {
	storage, name, ok := state.SplitVolume(id)
	if s := o.State.Storages[storage]; ok && s != nil {
		delete(o.State.Volumes, s.Key(o.Node, name))
	}
}

// Clones reports whether linked clones are based on a volume.
func Clones(o *engine.Op, id string) bool {
	storage, name, _ := state.SplitVolume(id)
	for key, v := range o.State.Volumes {
		if key.Storage == storage && v.Base == name {
			return true
		}
	}
	return false
}

// Gib parses a size in GiB.
func Gib(s string) int64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return int64(math.Ceil(f*(1<<20))) << 10 // PVE calculates in KiB.
}

// SizeOption writes a size as in a drive option.
func SizeOption(bytes int64) string { return schema.FormatSize(bytes) }

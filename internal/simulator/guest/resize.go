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

package guest

import (
	"fmt"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// Resize grows a disk. A size with a plus sign is added. One without a unit is in bytes.
func Resize(o *engine.Op, g *state.Guest, key, size string) error {
	if g.Config[key] == "" {
		return apierr.Errorf("disk '%s' does not exist", key)
	}
	d := ParseDrive(o.Engine, key, g.Config[key])
	if !strings.Contains(d.File(), ":") {
		return apierr.Errorf("unable to parse volume ID '%s'", d.File())
	}
	if d.CDROM() {
		return apierr.Errorf("you can't resize a cdrom")
	}
	if err := o.State.Check(o.Who, "/storage/"+StorageOf(d.File()), "Datastore.AllocateSpace"); err != nil {
		return err
	}
	v := o.State.Volume(g.Node, d.File())
	if v == nil {
		return apierr.Errorf("volume '%s' does not exist", d.File())
	}
	bytes, _ := schema.ParseSize(strings.TrimPrefix(size, "+"))
	if strings.HasPrefix(size, "+") {
		bytes += v.Size
	}
	if bytes < v.Size {
		return apierr.Errorf("shrinking disks is not supported")
	}
	if isBase(d.File()) && o.State.Version == "8.4" {
		return resizeBase(o, d, v, bytes)
	}
	if bytes == v.Size {
		return nil
	}
	line := fmt.Sprintf("update VM %d: resize --disk %s --size %s", g.VMID, key, size)
	o.State.LogLine(state.LogEntry{Time: o.Engine.Clock.Now(), Node: o.Node, User: string(o.Who), Priority: 6, Message: line})
	if g.Power == state.Stopped {
		o.Logf("Image resized.")
	}
	if err := extend(o, d, v, bytes); err != nil {
		return err
	}
	v.Size = bytes
	d["size"] = volume.SizeOption(bytes)
	g.Config[key] = o.Engine.Print(key, d)
	return nil
}

// resizeBase returns the result for the disk of a template, whose file is read-only up to PVE 8.
func resizeBase(o *engine.Op, d Drive, v *state.Volume, bytes int64) error {
	storage, name, _ := state.SplitVolume(d.File())
	file := o.State.Storages[storage].FilePath("images", name)
	return apierr.Errorf("command '/usr/bin/qemu-img resize -f %s %s %d' failed: exit code 1", v.Format, file, bytes)
}

// extend reserves more space on a storage that reserves the full size of a volume.
func extend(o *engine.Op, d Drive, v *state.Volume, bytes int64) error {
	id, name, _ := state.SplitVolume(d.File())
	s := o.State.Storages[id]
	switch more := bytes - v.Size; {
	case !s.Thick():
		return nil
	case more > volume.Room(o, s) && s.Type == "lvm":
		return apierr.Errorf("error resizing volume '%s': Insufficient free space: %d extents needed, but only %d available",
			d.File(), more>>22, volume.Room(o, s)>>22)
	case more > volume.Room(o, s):
		return apierr.Errorf("zfs error: cannot set property for '%s/%s': size is greater than available space", s.ID, name)
	}
	v.Used += bytes - v.Size
	return nil
}

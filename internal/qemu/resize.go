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

package qemu

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Resize brings a disk to a size.
type Resize struct {
	// Name of the disk in the spec, and its device.
	Name, Device string

	// From and To are its sizes.
	From, To proxmox.Size
}

// Resizes are the disks that are smaller than they should be.
func (d Desired) Resizes(config Config) []Resize {
	var out []Resize
	for _, k := range d.Disks {
		device, want := d.Devices.Disks[k.Name], SizeOf(k)
		disk, err := proxmox.ParseDisk(config[device])
		if err != nil {
			continue
		}
		if has, known := disk.Size(); known && want > has {
			out = append(out, Resize{Name: k.Name, Device: device, From: has, To: want})
		}
	}
	return out
}

// A Growth is what a disk takes of its storage that it has not yet.
type Growth struct {
	// Name of the disk in the spec, and its storage.
	Name, Storage string

	// Size that the disk is to have, and what of that is new on the storage.
	Size, More proxmox.Size
}

// Growths are the disks that are to be made, or to grow.
func (d Desired) Growths(config Config) []Growth {
	var all []Growth
	for _, k := range d.Disks {
		g := Growth{Name: k.Name, Storage: cmp.Or(ptr.Deref(k.Storage, ""), d.Defaults.Storage), Size: SizeOf(k), More: SizeOf(k)}
		disk, err := proxmox.ParseDisk(config[d.Devices.Disks[k.Name]])
		if err == nil {
			has, _ := disk.Size()
			g.Storage, g.More = disk.Storage(), g.Size-has
		} else if d.existingVolume(k) != "" {
			continue
		}
		if g.More > 0 {
			all = append(all, g)
		}
	}
	return all
}

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
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Resize brings a disk to a size.
type Resize struct {
	// Device of the disk.
	Device string

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
			out = append(out, Resize{Device: device, From: has, To: want})
		}
	}
	return out
}

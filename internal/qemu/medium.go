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
	"slices"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// freeDrives are where a CD-ROM drive is put, first to last: PVE's own habit
// first.
//
//nolint:gochecknoglobals // A constant.
var freeDrives = []string{"ide2", "ide0", "ide1", "ide3", "sata0", "sata1", "sata2", "sata3", "sata4", "sata5"}

// freeDrive is the first drive that neither the VM nor an entry of the spec has.
func (d Devices) freeDrive(have Config) string {
	i := slices.IndexFunc(freeDrives, func(device string) bool {
		_, taken := have[device]
		return !taken && device != d.ISO && !has(d.Disks, device)
	})
	if i < 0 {
		return ""
	}
	return freeDrives[i]
}

// mediumDrive is the drive that an ISO image goes into: one that is there, but
// for cloud-init's, or a new one.
func (d Devices) mediumDrive(have Config) string {
	for _, device := range have.CDROMs() {
		if k, err := proxmox.ParseDisk(have[device]); err == nil && !k.CloudInit() && !IsSeed(k.Volume) {
			return device
		}
	}
	return d.freeDrive(have)
}

// mediumOption is the CD-ROM drive of the ISO image.
func (d Desired) mediumOption() []option {
	if d.ISO == nil || d.Devices.ISO == "" {
		return nil
	}
	return []option{cdrom(d.Devices.ISO, cmp.Or(*d.ISO, noMedium))}
}

// noMedium is the volume of a drive that is empty.
const noMedium = "none"

// cdrom is the option of a drive with a volume in it.
func cdrom(device, volume string) option {
	return option{name: device, same: sameMedium, want: func(string) (string, bool) { return volume + ",media=cdrom", true }}
}

// sameMedium compares what is in a CD-ROM drive. PVE adds the size.
func sameMedium(a, b string) bool {
	x, errX := proxmox.ParseDisk(a)
	y, errY := proxmox.ParseDisk(b)
	return errX == nil && errY == nil && x.Volume == y.Volume
}

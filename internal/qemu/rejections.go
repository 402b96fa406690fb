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
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Rejections are the changes that the spec asks for and that cannot be made to a
// VM with this configuration. They are found before anything is sent.
func (d Desired) Rejections(config Config) []string {
	no := append(extraRejections(d.MachineParameters), d.platformRejections(config)...)
	for _, f := range firmware(d.MachineParameters) {
		no = append(no, f.rejections(config[f.device], d.Defaults.Storage)...)
		if config[f.device] == "" && f.wanted() && d.Devices.Seen[firmwareKey(f.device)] {
			no = append(no, fmt.Sprintf("%s is no longer at %s of the VM: attach it there again, "+
				"or set %s.enabled to false, then leave it out, to have a new one", f.field, f.device, f.field))
		}
	}
	for _, k := range d.Disks {
		device := d.Devices.Disks[k.Name]
		no = append(no, busRejections(device, config[device], k)...)
		no = append(no, d.diskRejections(k, config)...)
	}
	no = append(no, d.cdromRejections(config)...)
	for _, n := range d.Networks {
		no = append(no, d.networkRejections(n, config)...)
	}
	no = append(no, d.protectedRejections(config)...)
	no = append(no, d.memoryRejections(config)...)
	no = append(no, d.sshKeyRejections(config)...)
	return append(no, d.cloudInitRejections(config)...)
}

// rounding is how much larger than asked for a storage may make a disk: LVM, for
// one, allocates whole extents.
const rounding = 32 * proxmox.MiB

func (d Desired) diskRejections(k v1alpha1.MachineDisk, config Config) []string {
	device := d.Devices.Disks[k.Name]
	disk, err := proxmox.ParseDisk(config[device])
	if err != nil && d.existingVolume(k) != "" {
		return append(d.attachRejections(k, config), d.keptRejections(k, config)...)
	}
	if err != nil && d.Devices.Seen[k.Name] {
		return []string{fmt.Sprintf("disk %q is no longer at %s of the VM: attach it there again, "+
			"or take it off the list and add a new one by another name", k.Name, device)}
	}
	if err != nil {
		return d.newDiskRejections(k)
	}
	if disk.CDROM() {
		return []string{fmt.Sprintf("disk %q is device %s, which is a CD-ROM drive", k.Name, device)}
	}
	var no []string
	if has, known := disk.Size(); known && k.Size != nil && SizeOf(k)+rounding < has {
		no = append(no, fmt.Sprintf("disk %q (%s) cannot shrink from %s to %s", k.Name, device, has, *k.Size))
	}
	return no
}

// keptRejections are why a disk that comes back cannot have the volume that it had.
func (d Desired) keptRejections(k v1alpha1.MachineDisk, config Config) []string {
	value := d.Devices.returning[listDisks+"/"+k.Name]
	disk, err := proxmox.ParseDisk(value)
	if err != nil {
		return nil
	}
	if has, known := disk.Size(); known && k.Size != nil && SizeOf(k)+rounding < has {
		return []string{fmt.Sprintf("disk %q comes back with its volume %s (%s), which cannot shrink from %s to %s: "+
			"set its size to %s or more, or use another name for a new disk", k.Name, disk.Volume, config.holderOf(disk.Volume), has, *k.Size, has)}
	}
	return nil
}

func (d Desired) newDiskRejections(k v1alpha1.MachineDisk) []string {
	var no []string
	if k.Size == nil && k.ImportFrom == nil {
		no = append(no, fmt.Sprintf("disk %q is new and has no size", k.Name))
	}
	if k.Storage == nil && d.Defaults.Storage == "" {
		no = append(no, fmt.Sprintf("disk %q is new and has no storage, and the provider config has no defaultStorage", k.Name))
	}
	return no
}

func (d Desired) networkRejections(n v1alpha1.MachineNetwork, config Config) []string {
	device := d.Devices.Networks[n.Name]
	_, err := proxmox.ParseNIC(config[device])
	switch {
	case config[device] != "" && err != nil: // Its MAC address would be lost.
		return []string{fmt.Sprintf("network %q: %s of the VM cannot be read: %q", n.Name, device, config[device])}
	case config[device] == "" && n.Bridge == nil && d.Defaults.Bridge == "":
		return []string{fmt.Sprintf("network %q is new and has no bridge, and the provider config has no defaultBridge", n.Name)}
	}
	return nil
}

// protectedRejections are disks that PVE does not let go while the VM is protected.
func (d Desired) protectedRejections(config Config) []string {
	if !config.protected() || !ptr.Deref(d.Protection, true) {
		return nil
	}
	var going []string
	gone := d.Devices.removed(d.MachineParameters)
	for name, device := range gone.Disks {
		if config[device] != "" {
			going = append(going, fmt.Sprintf("disk %q (%s)", name, device))
		}
	}
	for name, device := range gone.CDROMs {
		if config.takesMedia(device) {
			going = append(going, fmt.Sprintf("%s %q (%s)", cdromDrive, name, device))
		}
	}
	for _, f := range firmware(d.MachineParameters) {
		if config[f.device] != "" && !f.wanted() {
			going = append(going, f.field)
		}
	}
	slices.Sort(going)
	for i := range going {
		going[i] += " cannot be detached: the VM is protected. Set protection to false first"
	}
	return going
}

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
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// Rejections returns the changes that the spec asks for and that are impossible for a VM with this configuration. They are found before anything is sent.
func (d Desired) Rejections(config Config) []string {
	no := slices.Concat(fields.ExtraRejections(d.ExtraConfig), d.platformRejections(config), imageRejections(d, config))
	for _, f := range firmware(d.MachineParameters) {
		no = append(no, f.rejections(config[f.device], d.Defaults.Storage)...)
		if config[f.device] == "" && f.wanted() && d.Devices.Seen[FirmwareKey(f.device)] {
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

// rounding is the maximum by which a storage may round up the size of a disk. LVM, for example, allocates whole extents.
const rounding = 32 * proxmox.MiB

func (d Desired) diskRejections(k v1alpha1.MachineDisk, config Config) []string {
	if awaitsVolume(k) {
		return nil
	}
	device := d.Devices.Disks[k.Name]
	disk, err := proxmox.ParseDisk(config[device])
	if err == nil && k.VolumeRef != nil && disk.Volume != *k.Volume {
		return []string{fmt.Sprintf("disk %q is Volume %s (%s), but %s of the VM is %s: detach that, unless it is the Volume's disk by another name",
			k.Name, k.VolumeRef.Name, *k.Volume, device, disk.Volume)}
	}
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
	no := volumeRejections(d, k, disk)
	if has, known := disk.Size(); known && k.Size != nil && SizeOf(k)+rounding < has {
		no = append(no, fmt.Sprintf("disk %q (%s) cannot shrink from %s to %s", k.Name, device, has, *k.Size))
	}
	return no
}

// volumeRejections returns why an entry that does not name the Volume cannot change its disk: a quota counts the disk by the size and the storage of the
// Volume.
func volumeRejections(d Desired, k v1alpha1.MachineDisk, disk proxmox.Disk) []string {
	if k.VolumeRef != nil || !slices.Contains(d.Leaving, disk.Volume) && !slices.Contains(d.Counted, disk.Volume) {
		return nil
	}
	has, _ := disk.Size()
	if SizeOf(k) <= has && ptr.Deref(k.Storage, disk.Storage()) == disk.Storage() {
		return nil
	}
	return []string{fmt.Sprintf("disk %q (%s) is that of a Volume (%s), which alone has its size and storage: leave these out, or name the Volume in volumeRef",
		k.Name, d.Devices.Disks[k.Name], disk.Volume)}
}

// keptRejections returns why a disk cannot be attached again with its former volume.
func (d Desired) keptRejections(k v1alpha1.MachineDisk, config Config) []string {
	value := returningDisk(d.Devices, k.Name)
	disk, err := proxmox.ParseDisk(value)
	if err != nil {
		return nil
	}
	if has, known := disk.Size(); known && k.Size != nil && SizeOf(k)+rounding < has {
		return []string{fmt.Sprintf("disk %q comes back with its volume %s (%s), which cannot shrink from %s to %s: "+
			"set its size to %s or more, or use another name for a new disk", k.Name, disk.Volume, config.Holder(disk.Volume), has, *k.Size, has)}
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
	case config[device] != "" && err != nil: // Otherwise its MAC address would be lost.
		return []string{fmt.Sprintf("network %q: %s of the VM cannot be read: %q", n.Name, device, config[device])}
	case config[device] == "" && n.Bridge == nil && d.Defaults.Bridge == "":
		return []string{fmt.Sprintf("network %q is new and has no bridge, and the provider config has no defaultBridge", n.Name)}
	}
	return nil
}

// protectedRejections rejects the removal of disks while PVE protects the VM.
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

// ballooned reports whether the memory is declared, but not the minimum for ballooning.
func (d Desired) ballooned() bool {
	return d.Memory != nil && ptr.Deref(d.Balloon, true) && d.minimum() == nil
}

// minimum returns the minimum memory for ballooning, or nil if the spec declares none.
func (d Desired) minimum() *resource.Quantity {
	if d.MemoryOptions == nil || !ptr.Deref(d.Balloon, true) {
		return nil
	}
	return d.MemoryOptions.Minimum
}

// keepsMemory reports whether the VM already has the declared memory settings. Such settings are not rejected.
func (d Desired) keepsMemory(config Config) bool {
	return d.Memory != nil && config["memory"] != "" && config.Memory() == d.Memory.Value()
}

// memoryRejections rejects memory sizes that PVE does not accept, or does not keep.
func (d Desired) memoryRejections(config Config) []string {
	if d.keepsMemory(config) {
		return nil
	}
	no := d.hotplugRejections(config)
	if least := config.Integer("balloon", 0); d.ballooned() && int64(least)*int64(proxmox.MiB) > d.Memory.Value() {
		no = append(no, fmt.Sprintf("memory %s is less than the %d MiB that ballooning leaves to the VM: "+
			"set memoryOptions.minimum, or balloon to false", d.Memory, least))
	}
	least := d.minimum()
	if d.Memory == nil && least != nil && least.Value() > config.Memory() && codec.InMebibytes(least) != config["balloon"] {
		no = append(no, fmt.Sprintf("memoryOptions.minimum %s is more than the memory of the VM, %d MiB: set memory", least, config.Memory()/int64(proxmox.MiB)))
	}
	return no
}

// Sizes in MiB of memory for hotplug: the memory at the start, and 32 modules of each size, which then doubles.
const (
	FirstMemory = 1024
	firstModule = 512
	modulesEach = 32
	moduleSizes = 8
)

// hotplugRejections rejects memory sizes that do not consist of whole modules. PVE rounds them up, and removes a module again when less is requested.
func (d Desired) hotplugRejections(config Config) []string {
	features := SplitHotplug(cmp.Or(config["hotplug"], DefaultHotplug))
	if d.Hotplug != nil {
		features = d.Hotplug
	}
	gigantic := config["hugepages"] == "1024" || d.MemoryOptions != nil && ptr.Deref(d.MemoryOptions.HugePages, "") == "1024"
	if d.Memory == nil || gigantic || !slices.Contains(features, "memory") {
		return nil
	}
	want, below, size := d.Memory.Value()/int64(proxmox.MiB), int64(0), int64(FirstMemory)
	for i := 0; size < want && i < modulesEach*moduleSizes; i++ {
		below, size = size, size+firstModule<<(i/modulesEach)
	}
	if size == want {
		return nil
	}
	return []string{fmt.Sprintf("memory %s cannot be plugged in: with memory in hotplug, Proxmox VE has %d MiB after %d MiB", d.Memory, size, below)}
}

// sshKeyRejections rejects keys that PVE would reject, because it runs ssh-keygen on each of them (PVE::Tools::validate_ssh_public_keys). By then the VM
// would be partly created.
func (d Desired) sshKeyRejections(config Config) []string {
	if d.CloudInit == nil || sameKeys(config["sshkeys"], joinKeys(d.CloudInit.SSHKeys)) {
		return nil
	}
	var no []string
	for i, key := range d.CloudInit.SSHKeys {
		if !IsPublicKey(key) {
			no = append(no, fmt.Sprintf("cloudInit.sshKeys[%d] is no public key as in an authorized_keys file", i))
		}
	}
	return no
}

// IsPublicKey reports whether a line is a public key, with or without options before it.
func IsPublicKey(line string) bool {
	_, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(line)) //nolint:dogsled // Whether it is one is all that counts.
	return err == nil && len(rest) == 0
}

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
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/bootorder"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// A Config is the configuration of a VM: the values of its options, by name. Values that cannot be parsed count as absent.
type Config map[string]string

// UUID returns the UUID that the guest sees in its SMBIOS, or nothing if there is none.
func (c Config) UUID() string {
	p, err := propertystring.Parse(c["smbios1"], "uuid")
	if err != nil {
		return ""
	}
	return p.Get("uuid")
}

// Template reports whether the VM is a template, from which VMs are cloned.
func (c Config) Template() bool { return c["template"] == "1" }

// CreatedAt returns when the VM, or the VM from which it was cloned, was created, in seconds. It is 0 if PVE has not recorded it.
func (c Config) CreatedAt() int64 {
	p, err := propertystring.Parse(c["meta"], "")
	if err != nil {
		return 0
	}
	at, err := strconv.ParseInt(p.Get("ctime"), 10, 64)
	if err != nil {
		return 0
	}
	return at
}

// BeingCreated reports whether the creation of the VM is not complete yet.
func (c Config) BeingCreated() bool { return c["lock"] == "create" || c["lock"] == "clone" }

// Remains reports whether this is the configuration that PVE keeps of a VM while it destroys it. The disks are already deleted.
func (c Config) Remains() bool { return c["lock"] == "destroyed" }

// Unfinished reports whether a configuration is one that PVE leaves after a failed restore: either empty, or only a memory size that PVE gives to no other
// VM.
func (c Config) Unfinished() bool { return len(c) == 0 || len(c) == 1 && c["memory"] == "128" }

// protected reports whether the VM is protected, so that no disk can be removed.
func (c Config) protected() bool { return c["protection"] == "1" }

// Agent reports whether the guest agent is turned on.
func (c Config) Agent() bool {
	p, err := propertystring.Parse(c["agent"], "enabled")
	if err != nil {
		return false
	}
	on, err := propertystring.ParseFlag(p.Get("enabled"))
	return err == nil && on
}

// Integer returns the whole number in an option, or otherwise if the option has none.
func (c Config) Integer(option string, otherwise int32) int32 { return IntegerOr(c[option], otherwise) }

// IntegerOr returns the number in a text, or another if the text is none.
func IntegerOr(s string, otherwise int32) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return otherwise
	}
	return int32(n)
}

// defaultMemory is the memory of a VM without the option, in MiB.
const defaultMemory = 512

// Memory returns the memory of the VM in bytes.
func (c Config) Memory() int64 {
	return int64(IntegerOr(strings.TrimPrefix(c["memory"], codec.CurrentMemory), defaultMemory)) * int64(proxmox.MiB)
}

// Disks returns the devices of disks: first those that the VM boots from, then the others by bus and number. It does not include those of the firmware.
func (c Config) Disks() []string {
	disks := c.drives(func(d proxmox.Disk) bool { return !d.CDROM() })
	boot := bootorder.Devices(c["boot"])
	if len(boot) == 0 { // The default before Proxmox VE 6.3.
		boot = []string{c["bootdisk"]}
	}
	slices.SortStableFunc(disks, func(a, b string) int { return rank(boot, a) - rank(boot, b) })
	return disks
}

func rank(order []string, device string) int {
	if i := slices.Index(order, device); i >= 0 {
		return i
	}
	return len(order)
}

// CDROMs returns the drives of removable media, by bus and number.
func (c Config) CDROMs() []string { return c.drives(proxmox.Disk.CDROM) }

// mediaDrives returns the drives of removable media that are not for cloud-init.
func (c Config) mediaDrives() []string { return slices.DeleteFunc(c.CDROMs(), c.forCloudInit) }

// takesMedia reports whether a device is a drive of removable media that is not for cloud-init.
func (c Config) takesMedia(device string) bool {
	d, err := proxmox.ParseDisk(c[device])
	return err == nil && d.CDROM() && !c.forCloudInit(device)
}

// forCloudInit reports whether a drive has the cloud-init data of PVE or of this provider.
func (c Config) forCloudInit(device string) bool {
	d, err := proxmox.ParseDisk(c[device])
	return err == nil && (d.CloudInit() || nocloud.IsImage(d.Volume))
}

// Drives returns the devices of disks and of removable media, by bus and number.
func (c Config) Drives() []string { return c.drives(func(proxmox.Disk) bool { return true }) }

func (c Config) drives(keep func(proxmox.Disk) bool) []string {
	return c.devices(func(device string) bool {
		if BusOf(device) == "net" {
			return false
		}
		d, err := proxmox.ParseDisk(c[device])
		return err == nil && keep(d)
	})
}

// NICs returns the network devices, by number.
func (c Config) NICs() []string {
	return c.devices(func(device string) bool { return BusOf(device) == "net" })
}

// mac returns the MAC address of a network interface, or nothing if there is none.
func (c Config) mac(device string) string {
	nic, err := proxmox.ParseNIC(c[device])
	if err != nil {
		return ""
	}
	return nic.MAC
}

// hasMAC reports whether a network interface has the MAC address.
func (c Config) hasMAC(mac string) bool {
	return slices.ContainsFunc(c.NICs(), func(device string) bool { return strings.EqualFold(c.mac(device), mac) })
}

// devices returns the devices on any bus, by bus and number.
func (c Config) devices(keep func(device string) bool) []string {
	var found []string
	for device := range c {
		if BusOf(device) != "" && keep(device) {
			found = append(found, device)
		}
	}
	slices.SortFunc(found, CompareDevices)
	return found
}

// Firmware returns the devices of the firmware's disks.
func (c Config) Firmware() []string {
	return slices.DeleteFunc([]string{EFIDevice, TPMDevice}, func(device string) bool { return c[device] == "" })
}

// Unused returns the options of detached disks, by number.
func (c Config) Unused() []string { return c.Numbered("unused") }

// Numbered returns the options that consist of a name and a number, by number.
func (c Config) Numbered(name string) []string {
	var found []string
	for option := range c {
		if s, numbered := fields.Stem(option); numbered && s == name {
			found = append(found, option)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return found
}

// OwnVolumes returns the volumes that PVE deletes with the VM: those of its disks, attached or not, of its firmware and of its saved memory that belong to
// its VMID.
func (c Config) OwnVolumes(vmid int) []string {
	var found []string
	for _, device := range slices.Concat(c.Drives(), c.Firmware(), c.Unused(), []string{"vmstate"}) {
		volume := c.Volume(device)
		if owner, known := VolumeOwner(volume); known && owner == vmid && !slices.Contains(found, volume) {
			found = append(found, volume)
		}
	}
	return found
}

// Volume returns the volume of a device. It is "none" for a drive without a medium, and empty for options that are no drive.
func (c Config) Volume(device string) string {
	d, err := proxmox.ParseDisk(c[device])
	if err != nil {
		return ""
	}
	return d.Volume
}

// Holder returns the device or the unused disk of the VM that has a volume, or nothing if the VM does not have it.
func (c Config) Holder(volume string) string {
	options := slices.Concat(c.Drives(), c.Unused())
	i := slices.IndexFunc(options, func(option string) bool { return volume != "" && c.Volume(option) == volume })
	if i < 0 {
		return ""
	}
	return options[i]
}

// bootDisk returns the disk that the VM boots from, or nothing.
func (c Config) bootDisk() string {
	disks := c.Disks()
	if len(disks) == 0 {
		return ""
	}
	return disks[0]
}

// Medium returns the volume in a CD-ROM drive, or nothing.
func (c Config) Medium(device string) string {
	if v := c.Volume(device); v != noMedium {
		return v
	}
	return ""
}

// CloudInitDrive returns the device of PVE's own cloud-init drive, or nothing.
func (c Config) CloudInitDrive() string {
	for _, device := range c.CDROMs() {
		if d, err := proxmox.ParseDisk(c[device]); err == nil && d.CloudInit() {
			return device
		}
	}
	return ""
}

// Uses returns the first of the given volumes that the VM has, or nothing.
func (c Config) Uses(volumes ...string) string {
	for _, v := range c {
		d, err := proxmox.ParseDisk(v)
		for _, volume := range volumes {
			if err == nil && d.Volume == volume || strings.Contains(v, "="+volume) {
				return volume
			}
		}
	}
	return ""
}

// ClonedTo returns the configuration of a clone whose disks are created on a storage. Their volumes have no names yet.
func (c Config) ClonedTo(storage string) Config {
	clone := maps.Clone(c)
	for _, device := range c.Disks() {
		if d, err := proxmox.ParseDisk(c[device]); err == nil {
			d.Volume = storage + ":" + strings.TrimPrefix(d.Volume, d.Storage()+":")
			clone[device] = d.String()
		}
	}
	return clone
}

// A State holds a VM's options as PVE reports them.
type State struct {
	// Config of the VM with its pending changes applied, and the part of it that
	// is in force.
	Config, Active Config

	// Pending are the options that change at the next restart, by name.
	Pending []proxmox.PendingValue

	// Digest of the configuration, by which PVE detects concurrent changes.
	Digest string
}

// Read returns the State from the options that PVE reports.
func Read(values []proxmox.PendingValue) State {
	s := State{Config: make(Config, len(values)), Active: make(Config, len(values))}
	for _, p := range values {
		if p.Key == "digest" {
			s.Digest = ptr.Deref(p.Value, "")
			continue
		}
		if p.Value != nil {
			s.Active[p.Key] = *p.Value
		}
		switch {
		case p.Pending != nil:
			s.Config[p.Key] = *p.Pending
		case p.Delete == 0 && p.Value != nil:
			s.Config[p.Key] = *p.Value
		}
		if p.Changes() {
			s.Pending = append(s.Pending, p)
		}
	}
	slices.SortFunc(s.Pending, func(a, b proxmox.PendingValue) int { return strings.Compare(a.Key, b.Key) })
	return s
}

// leaving returns the options in force that are to be removed.
func (s State) leaving() Config {
	leaving := maps.Clone(s.Active)
	maps.DeleteFunc(leaving, func(name, _ string) bool { _, stays := s.Config[name]; return stays })
	return leaving
}

// all returns the options that are in force, and those that will be.
func (s State) all() Config {
	all := maps.Clone(s.Active)
	maps.Copy(all, s.Config)
	return all
}

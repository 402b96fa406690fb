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

// A Config is the configuration of a VM: the values of its options, by name. What
// cannot be read in it counts as not there.
type Config map[string]string

// UUID returns the UUID that the guest sees in its SMBIOS; empty for none.
func (c Config) UUID() string {
	p, err := propertystring.Parse(c["smbios1"], "uuid")
	if err != nil {
		return ""
	}
	return p.Get("uuid")
}

// Template reports whether it is one, of which VMs are cloned.
func (c Config) Template() bool { return c["template"] == "1" }

// CreatedAt returns when the VM was created, or the one that it is a clone of, in seconds; 0 if PVE has not noted it.
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

// BeingCreated reports whether the VM is not complete yet.
func (c Config) BeingCreated() bool { return c["lock"] == "create" || c["lock"] == "clone" }

// Remains reports whether this is what PVE keeps of a VM while it destroys it: its disks are
// gone already.
func (c Config) Remains() bool { return c["lock"] == "destroyed" }

// Unfinished reports whether a configuration is what PVE leaves of a VM whose restore has failed: nothing, or a memory that it gives to no
// other VM.
func (c Config) Unfinished() bool { return len(c) == 0 || len(c) == 1 && c["memory"] == "128" }

// protected VMs let no disk go.
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

// Integer returns the whole number that an option is, or otherwise if it is none.
func (c Config) Integer(option string, otherwise int32) int32 { return IntegerOr(c[option], otherwise) }

// IntegerOr returns the number that a text is, or another if it is none.
func IntegerOr(s string, otherwise int32) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return otherwise
	}
	return int32(n)
}

// defaultMemory of a VM that says nothing about it, in MiB.
const defaultMemory = 512

// Memory returns the memory of the VM in bytes.
func (c Config) Memory() int64 {
	return int64(IntegerOr(strings.TrimPrefix(c["memory"], codec.CurrentMemory), defaultMemory)) * int64(proxmox.MiB)
}

// Disks returns the devices that hold disks: what the VM boots from first, then by bus
// and number. Those of the firmware are not among them.
func (c Config) Disks() []string {
	disks := c.drives(func(d proxmox.Disk) bool { return !d.CDROM() })
	boot := bootorder.Devices(c["boot"])
	if len(boot) == 0 { // As before Proxmox VE 6.3.
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

// mediaDrives returns the drives of removable media that nothing of cloud-init's is in.
func (c Config) mediaDrives() []string { return slices.DeleteFunc(c.CDROMs(), c.forCloudInit) }

// takesMedia reports whether a device is a drive of removable media that nothing of
// cloud-init's is in.
func (c Config) takesMedia(device string) bool {
	d, err := proxmox.ParseDisk(c[device])
	return err == nil && d.CDROM() && !c.forCloudInit(device)
}

// forCloudInit reports whether a drive has PVE's data for cloud-init, or ours.
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

// mac returns the MAC address of a network interface; empty if there is none.
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

// Firmware returns the devices of the disks that the VM's firmware has.
func (c Config) Firmware() []string {
	return slices.DeleteFunc([]string{EFIDevice, TPMDevice}, func(device string) bool { return c[device] == "" })
}

// Unused returns the options of disks that are detached, by number.
func (c Config) Unused() []string { return c.Numbered("unused") }

// Numbered returns the options that are a name with a number, by number.
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

// OwnVolumes returns the volumes that go when the VM is destroyed: those of its disks, attached
// or not, of its firmware and of its saved memory that PVE holds for its VMID.
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

// Volume returns the volume that is at a device; none for a drive without a medium, empty for what is
// no drive.
func (c Config) Volume(device string) string {
	d, err := proxmox.ParseDisk(c[device])
	if err != nil {
		return ""
	}
	return d.Volume
}

// Holder returns the device of the VM that a volume is, or the option of an unused disk;
// empty if the VM has it not.
func (c Config) Holder(volume string) string {
	options := slices.Concat(c.Drives(), c.Unused())
	i := slices.IndexFunc(options, func(option string) bool { return volume != "" && c.Volume(option) == volume })
	if i < 0 {
		return ""
	}
	return options[i]
}

// bootDisk returns the disk that the VM boots from, or empty.
func (c Config) bootDisk() string {
	disks := c.Disks()
	if len(disks) == 0 {
		return ""
	}
	return disks[0]
}

// Medium returns the volume in a CD-ROM drive, or empty.
func (c Config) Medium(device string) string {
	if v := c.Volume(device); v != noMedium {
		return v
	}
	return ""
}

// CloudInitDrive returns the device of PVE's own drive for cloud-init, or empty.
func (c Config) CloudInitDrive() string {
	for _, device := range c.CDROMs() {
		if d, err := proxmox.ParseDisk(c[device]); err == nil && d.CloudInit() {
			return device
		}
	}
	return ""
}

// Uses returns the volume of those given that the VM has, or empty.
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

// ClonedTo returns the configuration of a clone whose disks are put on a storage, where
// their volumes have yet to get their names.
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

// A State is what PVE says of a VM's options.
type State struct {
	// Config of the VM with its pending changes applied, and the part of it that
	// is in force.
	Config, Active Config

	// Pending are the options that change at the next restart, by name.
	Pending []proxmox.PendingValue

	// Digest of the configuration, by which PVE knows that nobody has changed it.
	Digest string
}

// Read reads what PVE says of a VM's options.
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

// leaving returns the options that are in force and are to go.
func (s State) leaving() Config {
	leaving := maps.Clone(s.Active)
	maps.DeleteFunc(leaving, func(name, _ string) bool { _, stays := s.Config[name]; return stays })
	return leaving
}

// all returns the options that are in force or are to be.
func (s State) all() Config {
	all := maps.Clone(s.Active)
	maps.Copy(all, s.Config)
	return all
}

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
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/bootorder"
)

// Restored returns the configuration of a VM with its pending changes, except that devices of the spec which wait for their removal stay. They still
// exist, with their MAC addresses and data.
func (d Desired) Restored(s State) Config {
	config := s.Config
	if len(s.Pending) == 0 {
		return config
	}
	for _, device := range d.listed() {
		now, there := s.Active[device]
		if _, stays := s.Config[device]; stays || !there || !d.means(device, now) {
			continue
		}
		config = maps.Clone(config)
		config[device] = now
	}
	return config
}

// listed returns the devices that the spec lists.
func (d Desired) listed() []string {
	devices := d.Devices.listed(d.MachineParameters)
	for _, f := range firmware(d.MachineParameters) {
		if f.wanted() {
			devices = append(devices, f.device)
		}
	}
	return devices
}

// means reports whether a device is still what the spec means. It is not if it is another disk than the spec names, or one that is to be created again.
func (d Desired) means(device, now string) bool {
	disk, err := proxmox.ParseDisk(now)
	for _, f := range firmware(d.MachineParameters) {
		if f.device == device {
			return err == nil && len(f.rejections(now, d.Defaults.Storage)) == 0
		}
	}
	for _, k := range d.Disks {
		if d.Devices.Disks[k.Name] == device && (k.VolumeRef != nil || ptr.Deref(k.Volume, "") != "") {
			return err == nil && disk.Volume == ptr.Deref(k.Volume, "")
		}
	}
	return true
}

// Change returns the change of the options of a VM: the differences, and what reverts the pending removal of devices that the spec lists again. A boot
// order that PVE would lose is left for a later change.
func (d Desired) Change(s State) Difference {
	diff := d.changed(s)
	switch {
	case !diff.AddsBootDevice(s):
	case d.BootOrder != nil:
		delete(diff.Set, "boot")
	default:
		diff.takeTurns(s)
	}
	return diff
}

// WithPending returns the change of a stopped VM, which is never empty while something is pending that the spec declares. PVE applies pending changes when
// it stops or starts the VM, and with the next change of a stopped VM. It does not apply them when the guest powers itself off or its process dies. PVE
// applies all pending changes together. So while the removal of a disk is pending that would destroy its data, nothing is sent, and the removal waits for
// the next start. Two pending changes are not sent again: a password, and the removal of a disk of a protected VM, which PVE rejects until the start
// applies it.
func (d Difference) WithPending(s State, want Desired) Difference {
	if !d.Empty() || slices.ContainsFunc(s.Pending, func(p proxmox.PendingValue) bool { return p.Delete > 1 }) {
		return d
	}
	for _, p := range want.Pending(s) {
		switch {
		case p.Key == "cipassword", p.Pending == nil && IsDisk(p.Key) && s.Active.protected():
			continue
		case p.Pending != nil:
			d.Set = proxmox.Params{p.Key: *p.Pending}
		default:
			d.Delete = []string{p.Key}
		}
		return d
	}
	return d
}

// takeTurns removes one of two settings that cannot be sent together: drives that PVE adds to the end of the boot order, and a boot order. An order cannot
// name such drives before they exist.
func (d Difference) takeTurns(s State) {
	adds := func(device string) bool { return addsBootDevice(device, d.Set[device], s) }
	order := slices.DeleteFunc(bootorder.Devices(d.Set["boot"]), adds)
	if len(order) == 0 || slices.Equal(order, bootorder.Devices(s.Active["boot"])) {
		delete(d.Set, "boot")
		return
	}
	d.Set["boot"] = bootorder.Of(order)
	maps.DeleteFunc(d.Set, func(device, value string) bool { return addsBootDevice(device, value, s) })
}

func (d Desired) changed(s State) Difference {
	config := d.Restored(s)
	diff := d.Difference(config)
	if len(s.Pending) == 0 {
		return diff
	}
	boots := false
	for device, now := range config {
		if _, stays := s.Config[device]; stays {
			continue
		}
		boots = boots || slices.Contains(bootorder.Devices(s.Active["boot"]), device)
		if diff.Set[device] == "" {
			diff.Set[device] = now
		}
	}
	if boots && d.BootOrder == nil && !d.Devices.overwritten {
		diff.Set["boot"] = s.restoredBoot(diff.After(config))
	}
	return d.revertPending(s, diff)
}

// revertPending returns the change with options set to their values in force, if the pending value is unwanted and the value in force is what the spec
// asks for. In another spelling, such as an explicit default, PVE would keep them pending until a restart.
func (d Desired) revertPending(s State, diff Difference) Difference {
	for _, o := range d.options() {
		now, waits := s.Active[o.Name], s.Config[o.Name]
		_, set := diff.Set[o.Name]
		if now == waits || !set && !slices.Contains(diff.Delete, o.Name) || !o.satisfied(now, waits) {
			continue
		}
		diff.Delete = slices.DeleteFunc(diff.Delete, func(option string) bool { return option == o.Name })
		delete(diff.Set, o.Name)
		if now == "" {
			diff.Delete = append(diff.Delete, o.Name)
		} else {
			diff.Set[o.Name] = now
		}
	}
	slices.Sort(diff.Delete)
	return diff
}

// satisfied reports whether the value in force is what the spec asks for, and the pending value differs only in that.
func (o Option) satisfied(now, pending string) bool {
	want, declared := o.Want(now)
	return declared && o.Equal(now, want) && (o.others == nil || o.others(now) == o.others(pending))
}

// restoredBoot returns the boot order in force with the devices that the VM still has. PVE removes a device from the order when its removal is requested,
// and does not restore it.
func (s State) restoredBoot(config Config) string {
	order := slices.DeleteFunc(bootorder.Devices(s.Active["boot"]), func(device string) bool { return config[device] == "" })
	for _, device := range bootorder.Devices(s.Config["boot"]) {
		if !slices.Contains(order, device) && config[device] != "" {
			order = append(order, device)
		}
	}
	return bootorder.Of(order)
}

// PendingDiskOps returns the disks of a VM that still have to be moved or resized.
func (d Desired) PendingDiskOps(config Config) []string {
	var devices []string
	for _, m := range d.Moves(config) {
		devices = append(devices, m.Device)
	}
	for _, r := range d.Resizes(config) {
		devices = append(devices, r.Device)
	}
	return slices.Compact(slices.Sorted(slices.Values(devices)))
}

// SplitAroundDiskOps splits the change into the part before disks of a running VM are moved or resized, and the part after that. PVE moves and resizes the
// disk in force, but leaves the volume and the size in a pending value as they were. So pending values are reverted first.
func (d Difference) SplitAroundDiskOps(s State, disks []string) (now, later Difference) {
	now, later = d.With(Difference{}), Difference{Set: proxmox.Params{}}
	for _, disk := range disks {
		if !s.InForce(disk) {
			continue
		}
		if v := d.Set[disk]; v != "" {
			later.Set[disk] = v
			delete(now.Set, disk)
		}
		if s.Active[disk] != s.Config[disk] {
			now.Set[disk] = s.Active[disk]
		}
	}
	return now, later
}

// InForce reports whether the disk that the VM is to have is the one that it has, regardless of pending options.
func (s State) InForce(disk string) bool {
	v := s.Active.Volume(disk)
	return v != "" && v == s.Config.Volume(disk)
}

// With returns the change combined with a later one.
func (d Difference) With(later Difference) Difference {
	both := Difference{Set: proxmox.Params{}, Delete: d.Delete, Allocates: d.Allocates}
	maps.Copy(both.Set, d.Set)
	maps.Copy(both.Set, later.Set)
	return both
}

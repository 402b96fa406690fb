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
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu/bootorder"
)

// boot adds the boot order to a difference. It may name devices of the same change.
func (d Desired) boot(config Config, diff *Difference) {
	after := diff.After(config)
	want, declared := bootOrder(d.MachineParameters, d.Devices, after)
	if !declared {
		want, declared = d.keptBoot(config, after)
	}
	switch {
	case !declared || slices.Equal(bootorder.Devices(want), bootorder.Devices(config["boot"])):
	case len(bootorder.Devices(want)) == 0:
		diff.Delete = append(diff.Delete, "boot") // PVE has no empty order.
	default:
		diff.Set["boot"] = want
	}
}

// keptBoot returns the boot order, and whether a change restores devices in it. The first disk of the list takes the place of the disk that the VM has
// booted from, or comes first if the VM has had no disk. If the change restores nothing, the order is left as it is, unless PVE has lost one that waited
// for the next start.
func (d Desired) keptBoot(config, after Config) (string, bool) {
	for _, device := range d.Devices.Destroyed(d.MachineParameters, config) {
		delete(after, device)
	}
	now := bootorder.Devices(config["boot"])
	comes := func(device string) bool { return config[device] == "" && after[device] != "" }
	var order []string
	kept := false
	hadNone := config["boot"] != "" && len(config.Disks()) == 0 && !slices.ContainsFunc(d.Devices.Boot, d.Devices.isDisk)
	if first := d.Devices.firstDisk(d.Disks); hadNone && comes(first) {
		order, kept = append(order, first), true
	}
	for _, device := range d.Devices.Boot {
		successor := d.Devices.successor(d.Disks, device, after)
		switch {
		case comes(successor):
			order, kept = append(order, successor), true
		case d.Devices.overwritten && after[device] != "":
			order, kept = append(order, device), true
		case slices.Contains(now, device) && after[device] != "":
			order = append(order, device)
		}
	}
	for _, device := range now {
		if !slices.Contains(order, device) && after[device] != "" {
			order = append(order, device)
		}
	}
	return bootorder.Of(order), kept
}

// successor returns the device that takes the place of a device in the boot order. That is the device itself if it is the same as before. For the disk
// that the VM has booted from, it is the first disk of the list, unless another disk is in the order.
func (d Devices) successor(disks []v1alpha1.MachineDisk, device string, after Config) string {
	if !d.isDisk(device) {
		return device
	}
	for _, k := range disks {
		if d.Disks[k.Name] == device && returningDisk(d, k.Name) != "" {
			return device
		}
	}
	first := slices.IndexFunc(d.Boot, d.isDisk)
	if d.Boot[first] != device || after.bootsFromDisk() {
		return ""
	}
	return d.firstDisk(disks)
}

// firstDisk returns the device of the first entry of disks, or nothing if there is none.
func (d Devices) firstDisk(disks []v1alpha1.MachineDisk) string {
	if len(disks) == 0 {
		return ""
	}
	return d.Disks[disks[0].Name]
}

// isDisk reports whether a device is, or was, a disk of the spec or of the source.
func (d Devices) isDisk(device string) bool {
	for key, left := range d.Left {
		if strings.HasPrefix(key, listDisks+"/") && left.Device == device {
			return true
		}
	}
	return slices.Contains(d.Source.Disks, device) || has(d.Disks, device)
}

// bootsFromDisk reports whether the boot order has an attached disk.
func (c Config) bootsFromDisk() bool {
	disks := c.Disks()
	return slices.ContainsFunc(bootorder.Devices(c["boot"]), func(device string) bool { return slices.Contains(disks, device) })
}

// lastBoot returns the boot order to remember. That is the order of the VM, unless a device has left it that nothing has replaced, or PVE has lost the
// order.
func (d Devices) lastBoot(config Config, p *v1alpha1.MachineParameters) []string {
	now := bootorder.Devices(config["boot"])
	gone := func(device string) bool { return config[device] == "" }
	added := func(device string) bool {
		return !slices.Contains(d.Boot, device) && slices.Contains(config.Disks(), device)
	}
	if p.BootOrder == nil && (d.overwritten || slices.ContainsFunc(d.Boot, gone) && !slices.ContainsFunc(now, added)) {
		return d.Boot
	}
	return now
}

// BootDiskGone returns the disk that a VM has booted from and no longer has, or nothing if another disk is in the boot order.
func (d Devices) BootDiskGone(s State) string {
	if s.Config.bootsFromDisk() {
		return ""
	}
	i := slices.IndexFunc(d.Boot, d.isDisk)
	if i < 0 || s.all()[d.Boot[i]] != "" {
		return ""
	}
	return d.Boot[i]
}

// AddsBootDevice reports whether the change sets a drive for removable media that PVE adds to the end of the boot order in force. PVE then ignores an
// order in the same change (PVE::API2::Qemu::update_vm_api processes the options in random order). It does not add its own cloud-init drive.
func (d Difference) AddsBootDevice(s State) bool {
	adds := func(device string) bool { return addsBootDevice(device, d.Set[device], s) }
	return slices.ContainsFunc(Config(d.Set).Drives(), adds)
}

// addsBootDevice reports whether PVE adds a device with this value to the end of the boot order.
func addsBootDevice(device, value string, s State) bool {
	order := bootorder.Devices(s.Active["boot"])
	return IsDisk(device) && bootorder.HoldsMedia(value) && len(order) > 0 && !slices.Contains(order, device)
}

// bootOrder returns the boot option that the spec declares for a configuration with the given devices.
func bootOrder(p *v1alpha1.MachineParameters, d Devices, config Config) (string, bool) {
	if p.BootOrder == nil {
		return "", false
	}
	var order []string
	for _, entry := range p.BootOrder {
		for _, device := range bootEntry(entry, d, config) {
			if !slices.Contains(order, device) && (config[device] != "" || !awaited(p, entry)) {
				order = append(order, device)
			}
		}
	}
	return bootorder.Of(order), true
}

// awaited reports whether an entry is the disk of a Volume which the VM is not known to have.
func awaited(p *v1alpha1.MachineParameters, entry string) bool {
	return slices.ContainsFunc(p.Disks, func(k v1alpha1.MachineDisk) bool { return k.Name == entry && awaitsVolume(k) })
}

func bootEntry(entry string, d Devices, config Config) []string {
	if device := cmp.Or(d.Disks[entry], d.CDROMs[entry], d.Networks[entry], d.PCI[entry], d.USB[entry]); device != "" {
		return []string{device}
	}
	switch entry {
	case "disk":
		return config.Disks()
	case "network":
		return config.NICs()
	case "cdrom":
		return config.CDROMs()
	}
	return []string{entry}
}

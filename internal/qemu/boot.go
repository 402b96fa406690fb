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
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// boot adds the boot order, which may name devices of the same change.
func (d Desired) boot(config Config, diff *Difference) {
	after := diff.After(config)
	want, declared := bootOrder(d.MachineParameters, d.Devices, after)
	switch {
	case !declared || slices.Equal(BootDevices(want), BootDevices(config["boot"])):
	case len(BootDevices(want)) == 0:
		diff.Delete = append(diff.Delete, "boot") // PVE knows no empty order.
	default:
		diff.Set["boot"] = want
	}
}

// AddsBootDevice reports whether PVE puts a drive for removable media that the change sets at the
// end of the boot order in force, and drops what the change itself may ask for
// (PVE::API2::Qemu::update_vm_api, which takes the options in no order). Its own cloud-init
// drive it leaves out.
func (d Difference) AddsBootDevice(s State) bool {
	order := BootDevices(s.Active["boot"])
	joins := func(device string) bool {
		k, err := proxmox.ParseDisk(d.Set[device])
		return err == nil && k.CDROM() && !k.CloudInit() && !slices.Contains(order, device)
	}
	return len(order) > 0 && slices.ContainsFunc(Config(d.Set).Drives(), joins)
}

// BootDevices are the devices in a boot option, in order.
func BootDevices(boot string) []string {
	p, err := propertystring.Parse(strings.TrimSpace(boot), "legacy")
	if err != nil || p.Get("order") == "" {
		return nil
	}
	return splitList(p.Get("order"))
}

// bootOrder is the boot option that the spec wants of a configuration which has
// the devices given.
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
	return orderOf(order), true
}

// awaited reports whether an entry is a disk that is a Volume which the VM is not known to have.
func awaited(p *v1alpha1.MachineParameters, entry string) bool {
	return slices.ContainsFunc(p.Disks, func(k v1alpha1.MachineDisk) bool { return k.Name == entry && AwaitsVolume(k) })
}

// orderOf devices, as PVE writes it.
func orderOf(devices []string) string { return "order=" + strings.Join(devices, ";") }

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

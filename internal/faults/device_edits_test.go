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

package faults

import (
	"math/rand/v2"
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// deviceEdits returns edits of the lists of a VM's devices of its node, and of its drives.
func deviceEdits() map[string]step {
	return map[string]step{
		"cdrom": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.CDROMs = varied(p.CDROMs, r, randomCDROM, func(c *v1alpha1.MachineCDROM) *string { return &c.Name })
		}),
		"pci": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.PCIDevices = varied(p.PCIDevices, r, randomPCI, func(d *v1alpha1.MachinePCIDevice) *string { return &d.Name })
		}),
		"usb": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.USBDevices = varied(p.USBDevices, r, randomUSB, func(d *v1alpha1.MachineUSBDevice) *string { return &d.Name })
		}),
		"share": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.VirtioFS = varied(p.VirtioFS, r, randomShare, func(s *v1alpha1.MachineVirtioFS) *string { return &s.Name })
		}),
	}
}

// varied returns a list that is unset or empty, has one entry less, one with another name, or one that is new, has changed, or was there before. There
// are few names, so that entries recur.
func varied[T any](list []T, r *rand.Rand, entry func(*rand.Rand) T, name func(*T) *string) []T {
	list = slices.Clone(list)
	fresh, called := entry(r), oneOf(r, "one", "two", "three")
	at := slices.IndexFunc(list, func(e T) bool { return *name(&e) == called })
	switch i := r.IntN(max(1, len(list))); r.IntN(10) {
	case 0:
		return nil
	case 1:
		return []T{}
	case 2, 3:
		return slices.Delete(list, i, min(i+1, len(list)))
	case 4:
		if at < 0 && len(list) > 0 {
			*name(&list[i]) = called
		}
		return list
	}
	*name(&fresh) = called
	if at < 0 {
		return append(list, fresh)
	}
	list[at] = fresh
	return list
}

func randomRemoval(r *rand.Rand) *string {
	return oneOf(r, nil, nil, new("Detach"), new("Retain"), new("Destroy"))
}

func randomCDROM(r *rand.Rand) v1alpha1.MachineCDROM {
	return v1alpha1.MachineCDROM{
		ISO:           new(oneOf(r, "", "nfs:iso/virtio-win.iso", "local:iso/debian-13.1.0-amd64-netinst.iso")),
		RemovalPolicy: randomRemoval(r),
	}
}

func randomPCI(r *rand.Rand) v1alpha1.MachinePCIDevice {
	return v1alpha1.MachinePCIDevice{Mapping: new(oneOf(r, "card", "nic")), ROMBar: oneOf(r, nil, new(true), new(false)), RemovalPolicy: randomRemoval(r)}
}

func randomUSB(r *rand.Rand) v1alpha1.MachineUSBDevice {
	d := v1alpha1.MachineUSBDevice{USB3: oneOf(r, nil, new(true), new(false)), RemovalPolicy: randomRemoval(r)}
	if at := oneOf(r, "spice", "dongle", "key"); at == "spice" {
		d.Host = &at
	} else {
		d.Mapping = &at
	}
	return d
}

func randomShare(r *rand.Rand) v1alpha1.MachineVirtioFS {
	return v1alpha1.MachineVirtioFS{Mapping: oneOf(r, "data", "home"), Cache: oneOf(r, nil, new("always"), new("never")), RemovalPolicy: randomRemoval(r)}
}

// withMappings adds devices and directories of the nodes that VMs may use, after another preparation.
func withMappings(before func(*simulator.State)) func(*simulator.State) {
	return func(s *simulator.State) {
		if before != nil {
			before(s)
		}
		for kind, ids := range map[string][]string{"pci": {"card", "nic"}, "usb": {"dongle", "key"}, "dir": {"data", "home"}} {
			for _, id := range ids {
				s.Mappings[kind][id] = map[string]string{"type": kind, "map": "node=pve1,node=pve2,node=pve3"}
			}
		}
	}
}

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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// defaultBus is the bus of a new disk whose spec names none.
const defaultBus = "scsi"

// Assign gives every named entry of the spec a device: the one it has, the
// one it names, or a free one. have is the configuration of the VM, or of the
// source that it is to be cloned from. Only the first assignment takes disks and
// networks that are there already; one that is added later is a new device unless
// it names one. It is an error if an entry can have none.
func (d Devices) Assign(p *v1alpha1.MachineParameters, have Config) (Devices, error) {
	out := d.clone()
	var disks, nics, drives []string
	if !d.assigned {
		disks, nics, drives = have.Disks(), have.NICs(), have.mediaDrives()
	}
	out.ISO = out.releaseISO(p, have)
	if err := out.claimDrives(p, have); err != nil {
		return out, err
	}
	if err := out.assignDisks(p.Disks, disks, have); err != nil {
		return out, err
	}
	if err := out.assignNetworks(p.Networks, nics, have); err != nil {
		return out, err
	}
	if p.ISO != nil {
		out.ISO = cmp.Or(out.ISO, out.isoDrive(*p.ISO, have))
	}
	if err := out.assignCDROMs(p.CDROMs, drives, have); err != nil {
		return out, err
	}
	return out, out.assignPassthroughs(p, have)
}

// releaseISO is the drive of iso, unless an entry takes it over.
func (d Devices) releaseISO(p *v1alpha1.MachineParameters, have Config) string {
	takes := func(c v1alpha1.MachineCDROM) bool {
		return ptr.Deref(c.Device, "") == d.ISO || d.CDROMs[c.Name] == "" && mediumOf(c) == have.Volume(d.ISO)
	}
	if p.ISO == nil && slices.ContainsFunc(p.CDROMs, takes) {
		return ""
	}
	return d.ISO
}

// claimDrives gives disks and CD-ROM drives the devices that the spec names. Drives
// whose entries have got another name are free for those.
func (d Devices) claimDrives(p *v1alpha1.MachineParameters, have Config) error {
	for _, k := range p.Disks {
		if k.Device != nil {
			if err := claim(d.Disks, "disk", k.Name, *k.Device); err != nil {
				return err
			}
		}
	}
	off := d.removed(p).CDROMs
	for _, c := range p.CDROMs {
		if d.CDROMs[c.Name] == "" {
			maps.DeleteFunc(d.CDROMs, func(name, device string) bool { return off[name] == device && fits(c, device, have) })
		}
		if c.Device != nil {
			if err := claim(d.CDROMs, cdromDrive, c.Name, *c.Device); err != nil {
				return err
			}
		}
	}
	return d.contested()
}

// contested is an error if a CD-ROM drive is to be what a disk is, or the drive of
// iso.
func (d Devices) contested() error {
	for _, name := range slices.Sorted(maps.Keys(d.CDROMs)) {
		device := d.CDROMs[name]
		if device == d.ISO {
			return errors.Errorf("device %s is the drive of iso already: %s %q cannot have it", device, cdromDrive, name)
		}
		for disk, taken := range d.Disks {
			if taken == device {
				return errors.Errorf("device %s is both disk %q and %s %q", device, disk, cdromDrive, name)
			}
		}
	}
	return nil
}

// drives are the devices of disks and of removable media that entries have.
func (d Devices) drives() map[string]string {
	all := map[string]string{"iso": d.ISO}
	for name, device := range d.Disks {
		all["disk "+name] = device
	}
	for name, device := range d.CDROMs {
		all[cdromDrive+" "+name] = device
	}
	return all
}

func (d Devices) assignDisks(disks []v1alpha1.MachineDisk, existing []string, have Config) error {
	for _, k := range disks {
		if has := d.Disks[k.Name]; has != "" {
			if k.Type != nil && busOf(has) != *k.Type {
				return errors.Errorf("disk %q is device %s: its type cannot become %s", k.Name, has, *k.Type)
			}
			continue
		}
		device := firstFree(d.drives(), existing, ptr.Deref(k.Type, ""))
		if device == "" {
			device = lowestFree(d.drives(), have, cmp.Or(ptr.Deref(k.Type, ""), defaultBus))
		}
		if device == "" {
			return errors.Errorf("no free %s device for disk %q", cmp.Or(ptr.Deref(k.Type, ""), defaultBus), k.Name)
		}
		d.Disks[k.Name] = device
	}
	return nil
}

func (d Devices) assignNetworks(networks []v1alpha1.MachineNetwork, existing []string, have Config) error {
	for _, n := range networks {
		if n.Device != nil {
			if err := claim(d.Networks, "network", n.Name, *n.Device); err != nil {
				return err
			}
		}
	}
	for _, n := range networks {
		if d.Networks[n.Name] != "" {
			continue
		}
		device := firstFree(d.Networks, existing, "net")
		if device == "" {
			device = lowestFree(d.Networks, have, "net")
		}
		if device == "" {
			return errors.Errorf("no free device for network %q", n.Name)
		}
		d.Networks[n.Name] = device
	}
	return nil
}

// assignPassthroughs gives an entry the device that is what it asks for, if the
// VM has one that is no other entry's, or a free one. What the entry asks for says
// which device that is, so that it may be added at any time.
func (d Devices) assignPassthroughs(p *v1alpha1.MachineParameters, have Config) error {
	for _, t := range d.passthroughs(p) {
		for _, h := range t.entries {
			if t.devices[h.name] != "" {
				continue
			}
			device := t.existing(h, have)
			if device == "" {
				device = lowestFree(t.devices, have, t.prefix)
			}
			if device == "" {
				return errors.Errorf("no free device for %s %q: Proxmox VE has %d", t.what, h.name, busSizes[t.prefix])
			}
			t.devices[h.name] = device
		}
	}
	return nil
}

// claim gives a name the device that the spec names.
func claim(taken map[string]string, what, name, device string) error {
	if has := taken[name]; has != "" && has != device {
		return errors.Errorf("%s %q is device %s: it cannot become %s", what, name, has, device)
	}
	for other, has := range taken {
		if other != name && has == device {
			return errors.Errorf("device %s is %s %q already: %q cannot have it", device, what, other, name)
		}
	}
	taken[name] = device
	return nil
}

// firstFree is the first of the VM's devices, of that bus if one is named, that
// no entry has.
func firstFree(taken map[string]string, existing []string, bus string) string {
	for _, device := range existing {
		if bus != "" && busOf(device) != bus {
			continue
		}
		if !has(taken, device) {
			return device
		}
	}
	return ""
}

// lowestFree is the lowest device of a bus that neither an entry nor the VM has.
func lowestFree(taken, have Config, bus string) string {
	for i := range busSizes[bus] {
		device := bus + strconv.Itoa(i)
		if _, ok := have[device]; !ok && !has(taken, device) {
			return device
		}
	}
	return ""
}

func has(taken map[string]string, device string) bool {
	for _, d := range taken {
		if d == device {
			return true
		}
	}
	return false
}

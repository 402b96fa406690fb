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
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// cdromDrive is the name of an entry of cdroms in messages.
const cdromDrive = "CD-ROM drive"

// freeDrives holds the devices for new CD-ROM drives in their order, beginning with PVE's own choice.
//
//nolint:gochecknoglobals // A constant.
var freeDrives = []string{"ide2", "ide0", "ide1", "ide3", "sata0", "sata1", "sata2", "sata3", "sata4", "sata5"}

// freeDrive returns the first drive that neither the VM nor an entry of the spec has. It is on the given bus, or on any except scsi if none is given.
func (d Devices) freeDrive(have Config, bus string) string {
	if bus == "scsi" {
		return lowestFree(d.drives(), have, bus)
	}
	taken := d.drives()
	i := slices.IndexFunc(freeDrives, func(device string) bool {
		_, there := have[device]
		return !there && !has(taken, device) && (bus == "" || BusOf(device) == bus)
	})
	if i < 0 {
		return ""
	}
	return freeDrives[i]
}

// isoDrive returns the drive for iso: a drive of the VM that no entry has, preferably with the image already in it, or a new one.
func (d Devices) isoDrive(image string, have Config) string {
	there := have.mediaDrives()
	return cmp.Or(d.holding(image, there, have, ""), firstFree(d.drives(), there, ""), d.freeDrive(d.withLeaving(have), ""))
}

// holding returns the first of drives with the medium that no entry has, on the bus if one is given.
func (d Devices) holding(medium string, drives []string, have Config, bus string) string {
	taken := d.drives()
	i := slices.IndexFunc(drives, func(device string) bool {
		return medium == have.Volume(device) && !has(taken, device) && (bus == "" || BusOf(device) == bus)
	})
	if i < 0 {
		return ""
	}
	return drives[i]
}

// assignCDROMs gives entries the drives that have their images. Other entries get the source drives in their order, and then new ones.
func (d Devices) assignCDROMs(p *v1alpha1.MachineParameters, have Config) error {
	l := d.cdromList(p)
	there := have.mediaDrives()
	for i, c := range p.CDROMs {
		if d.CDROMs[c.Name] != "" {
			continue
		}
		if device := d.holding(mediumOf(c), there, have, ptr.Deref(c.Type, "")); device != "" {
			d.bind(l, l.entries[i], device, have)
		}
	}
	for _, e := range l.entries {
		device := d.CDROMs[e.name]
		switch {
		case device != "" && e.bus != "" && BusOf(device) != e.bus:
			return errors.Errorf("%s %q is device %s: its type cannot become %s", cdromDrive, e.name, device, e.bus)
		case device != "":
			continue
		}
		if device = cmp.Or(d.sourceDrive(l, e, there), d.freeDrive(d.withLeaving(have), e.bus)); device == "" {
			return errors.Errorf("no free %s device for %s %q", cmp.Or(e.bus, "ide or sata"), cdromDrive, e.name)
		}
		d.bind(l, e, device, have)
	}
	return nil
}

// compareDrives returns an error for a new entry without a medium if, on a new VM, it would have the source drive that another entry without a medium has
// here. The assignment on a new VM is known only while the VM has all of its source drives.
func compareDrives(l deviceList, before Devices, p *v1alpha1.MachineParameters, have Config) error {
	source := Config{}
	for _, device := range l.source {
		if source[device] = have[device]; !have.takesMedia(device) {
			return nil
		}
	}
	anew, err := Devices{}.Assign(p, source)
	for i, c := range p.CDROMs {
		device := anew.CDROMs[c.Name]
		owner := slices.IndexFunc(p.CDROMs, func(o v1alpha1.MachineCDROM) bool { return before.CDROMs[o.Name] == device && mediumOf(o) == "" })
		if err == nil && owner >= 0 && owner != i && before.CDROMs[c.Name] == "" && c.Device == nil && mediumOf(c) == "" && slices.Contains(l.source, device) {
			came := fmt.Sprintf("%s, with which the VM came and which is %s %q here", device, cdromDrive, p.CDROMs[owner].Name)
			return twoWays(l, l.entries[i], came, "a new drive", "set its device, or list it after that")
		}
	}
	return nil
}

// sourceDrive returns the first source drive that the VM still has, that no other entry has, and that stays.
func (d Devices) sourceDrive(l deviceList, e listEntry, there []string) string {
	for _, device := range l.source {
		former := l.former(device)
		left, off := d.Left[l.key(former)]
		free := former == "" && !has(d.drives(), device) || former != "" && off && left.Policy == policyRetain
		if free && slices.Contains(there, device) && (e.bus == "" || BusOf(device) == e.bus) {
			return device
		}
	}
	return ""
}

// mediumOf returns the volume that an entry asks for, if any.
func mediumOf(c v1alpha1.MachineCDROM) string {
	if ptr.Deref(c.Physical, false) {
		return physicalDrive
	}
	return ptr.Deref(c.ISO, "")
}

// fits reports whether a drive is the one that an entry names, or contains the medium that the entry asks for.
func fits(c v1alpha1.MachineCDROM, device string, have Config) bool {
	if c.Device != nil {
		return *c.Device == device
	}
	return mediumOf(c) != "" && mediumOf(c) == have.Volume(device) && (c.Type == nil || *c.Type == BusOf(device))
}

// mediumOptions returns the CD-ROM drives of the spec.
func (d Desired) mediumOptions() []Option {
	var options []Option
	if d.ISO != nil && d.Devices.ISO != "" {
		options = append(options, d.cdromOption(d.Devices.ISO, v1alpha1.MachineCDROM{ISO: d.ISO}))
	}
	for _, c := range d.CDROMs {
		options = append(options, d.cdromOption(d.Devices.CDROMs[c.Name], c))
	}
	return options
}

const (
	// noMedium is the volume of an empty drive.
	noMedium = "none"

	// physicalDrive is the volume for the node's own drive.
	physicalDrive = "cdrom"
)

// cdromOption returns a drive with the medium that it is to have. Other options of an existing drive stay, except the size, which PVE adds to images.
func (d Desired) cdromOption(device string, c v1alpha1.MachineCDROM) Option {
	return Option{Name: device, same: sameMedium, Want: func(now string) (string, bool) {
		k, err := proxmox.ParseDisk(now)
		if err != nil {
			k = proxmox.Disk{Volume: noMedium}
		}
		medium, declared := d.medium(c, k.Volume, d.Devices.Declared[listCDROMs+"/"+c.Name])
		if !declared && err == nil {
			return "", false
		}
		k.Volume = medium
		k.Options.Delete("size")
		k.Options.Set("media", "cdrom")
		return k.String(), true
	}}
}

// medium returns the medium that a drive is to have in place of its current one, and whether the spec declares one.
func (d Desired) medium(c v1alpha1.MachineCDROM, now string, before map[string]string) (medium string, declared bool) {
	was, withdrawn := before[partMedium]
	switch {
	case c.ISO != nil && d.EjectStorages[storageOf(*c.ISO)]:
		return noMedium, true
	case c.ISO != nil:
		return cmp.Or(*c.ISO, noMedium), true
	case c.Physical == nil && withdrawn:
		return cmp.Or(was, noMedium), true
	case c.Physical == nil, !*c.Physical && now != physicalDrive:
		return now, false
	case *c.Physical:
		return physicalDrive, true
	}
	return noMedium, true
}

func storageOf(volume string) string { return proxmox.Disk{Volume: volume}.Storage() }

// cdrom returns the option of a drive with a volume in it.
func cdrom(device, volume string) Option {
	return Option{Name: device, same: sameMedium, Want: func(string) (string, bool) { return volume + ",media=cdrom", true }}
}

// sameMedium compares the media of CD-ROM drives. PVE adds the size.
func sameMedium(a, b string) bool {
	x, errX := proxmox.ParseDisk(a)
	y, errY := proxmox.ParseDisk(b)
	return errX == nil && errY == nil && x.Volume == y.Volume
}

// cdromRejections rejects devices that cannot be a CD-ROM drive, because the VM has something else there.
func (d Desired) cdromRejections(config Config) []string {
	var no []string
	for _, c := range d.CDROMs {
		device := d.Devices.CDROMs[c.Name]
		switch {
		case config[device] == "" || config.takesMedia(device):
		case config.forCloudInit(device):
			no = append(no, fmt.Sprintf("%s %q is device %s, which is the drive for cloud-init", cdromDrive, c.Name, device))
		default:
			no = append(no, fmt.Sprintf("%s %q is device %s, which is a disk", cdromDrive, c.Name, device))
		}
	}
	return no
}

// firstMedium returns the drive from whose medium a new VM boots, or nothing.
func (d Desired) firstMedium() string {
	if ptr.Deref(d.ISO, "") != "" {
		return d.Devices.ISO
	}
	for _, c := range d.CDROMs {
		if mediumOf(c) != "" {
			return d.Devices.CDROMs[c.Name]
		}
	}
	return ""
}

// bootOrderOfNew returns the order for a new VM if PVE's own order would name another CD-ROM drive than that of the first medium. PVE's order has only one
// CD-ROM drive, the first by its device.
func (d Desired) bootOrderOfNew(config Config) (order string, needed bool) {
	medium := d.firstMedium()
	drives := config.CDROMs()
	slices.SortStableFunc(drives, byBoot)
	if d.BootOrder != nil || medium == "" || drives[0] == medium {
		return "", false
	}
	disks, devices := config.Disks(), []string{medium}
	slices.SortStableFunc(disks, byBoot)
	if len(disks) > 0 {
		devices = []string{disks[0], medium}
	}
	if nics := config.NICs(); len(nics) > 0 {
		devices = append(devices, nics[0])
	}
	return "order=" + strings.Join(devices, ";"), true
}

// bootBuses lists the buses in the order in which PVE searches for the boot device of a new VM.
//
//nolint:gochecknoglobals // A constant.
var bootBuses = []string{"ide", "scsi", "virtio", "sata"}

func byBoot(a, b string) int {
	return cmp.Or(slices.Index(bootBuses, BusOf(a))-slices.Index(bootBuses, BusOf(b)), CompareDevices(a, b))
}

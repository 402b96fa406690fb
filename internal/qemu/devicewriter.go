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
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// disks by their device, which is their name too.
func (w *writer) disks() {
	disks := w.config.Disks()
	slices.SortFunc(disks, compareDevices)
	for _, device := range disks {
		w.try(device, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
			k := v1alpha1.MachineDisk{Name: device, Device: &device, Geometry: &v1alpha1.MachineDiskGeometry{}, Limits: &v1alpha1.MachineDiskLimits{}}
			disk, err := proxmox.ParseDisk(now)
			if err != nil {
				return option{want: undeclared}, []string{wholeOption}
			}
			k.Storage, k.Format, k.Size = nonEmpty(disk.Storage()), nonEmpty(formatOf(disk.Volume)), declaredSize(disk)
			left := readParts(disk.Options, diskParts(&k))
			p.Disks = append(p.Disks, k)
			return diskOption(device, k, func() proxmox.Disk { return Desired{}.newDisk(k) }), without(left, "size", "format", "media")
		})
	}
}

// declaredSize of a disk, in the form that the spec has it.
func declaredSize(k proxmox.Disk) *string {
	size, known := k.Size()
	if s := size.String(); known && size >= proxmox.MiB && size%proxmox.KiB == 0 {
		return &s
	}
	return nil
}

func (w *writer) firmware() {
	w.try(efiDevice, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
		p.EFIDisk = &v1alpha1.MachineEFIDisk{}
		return readFirmware(now, &p.EFIDisk.Storage, &p.EFIDisk.Format, func() firmwareDisk { return efiDisk(p.EFIDisk) })
	})
	w.try(tpmDevice, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
		p.TPM = &v1alpha1.MachineTPM{}
		return readFirmware(now, &p.TPM.Storage, &p.TPM.Format, func() firmwareDisk { return tpmDisk(p.TPM) })
	})
}

func readFirmware(now string, storage, format **string, of func() firmwareDisk) (option, []string) {
	disk, err := proxmox.ParseDisk(now)
	if err != nil {
		return option{want: undeclared}, []string{wholeOption}
	}
	*storage, *format = nonEmpty(disk.Storage()), nonEmpty(formatOf(disk.Volume))
	parts := of().changeable
	for _, m := range of().made {
		parts = append(parts, m.part)
	}
	left := readParts(disk.Options, parts)
	return of().option(""), without(left, "size", "format")
}

// networks by their device, which is their name too.
func (w *writer) networks() {
	for _, device := range w.config.NICs() {
		w.try(device, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
			nic, err := proxmox.ParseNIC(now)
			if err != nil {
				return option{want: undeclared}, []string{wholeOption}
			}
			n := v1alpha1.MachineNetwork{Name: device, Device: &device, Model: &nic.Model, MACAddress: nonEmpty(nic.MAC)}
			left := readParts(nic.Options, nicParts(&n))
			p.Networks = append(p.Networks, n)
			return nicOption(device, n, func() proxmox.NIC { return Desired{}.newNIC(n) }), left
		})
	}
}

// cloudInit is written down if the VM has a drive for it: the spec would ask for
// one otherwise.
func (w *writer) cloudInit() {
	drive, err := proxmox.ParseDisk(w.config[w.config.CloudInitDrive()])
	if err != nil {
		w.noDrive()
		return
	}
	w.p.CloudInit.Storage = nonEmpty(drive.Storage())
	w.table(cloudInit)
	for i, n := range w.p.Networks {
		w.try(ipConfigName(*n.Device), func(p *v1alpha1.MachineParameters, now string) (option, []string) {
			c := &v1alpha1.MachineIPConfig{}
			p.Networks[i].IPConfig = c
			left := readProperties(now, "", ipParts(c))
			return ipConfigOption(*n.Device, c), left
		})
	}
}

// noDrive omits what would be written to the drive.
func (w *writer) noDrive() {
	for _, name := range slices.Sorted(maps.Keys(w.config)) {
		f := FieldOf(name)
		if strings.HasPrefix(f, "cloudInit.") || strings.HasSuffix(f, ".ipConfig") {
			w.told[name] = true
			w.omit(name, "", needDrive)
		}
	}
}

// cdroms by their device, which is their name too.
func (w *writer) cdroms() {
	for _, device := range w.config.CDROMs() {
		w.told[device] = true
		k, err := proxmox.ParseDisk(w.config[device])
		switch {
		case err == nil && k.CloudInit():
		case nocloud.IsImage(w.config.Volume(device)):
			w.omit(device, "", "it is an image that a provider made for cloud-init: set cloudInit.userData to have one")
		default:
			w.try(device, func(p *v1alpha1.MachineParameters, _ string) (option, []string) {
				c := v1alpha1.MachineCDROM{Name: device, Device: &device, ISO: new(w.config.Medium(device))}
				if k.Volume == physicalDrive {
					c.ISO, c.Physical = nil, new(true)
				}
				p.CDROMs = append(p.CDROMs, c)
				return Desired{}.cdromOption(device, c), without(k.Options.Keys(), "media", "size")
			})
		}
	}
}

// passthroughs by their device, which is their name too.
func (w *writer) passthroughs() {
	for _, sort := range []struct {
		prefix  string
		add     func(p *v1alpha1.MachineParameters, name string)
		entries func(p *v1alpha1.MachineParameters) []hostDevice
	}{
		{"hostpci", func(p *v1alpha1.MachineParameters, name string) {
			p.PCIDevices = append(p.PCIDevices, v1alpha1.MachinePCIDevice{Name: name})
		}, pciDevices},
		{"usb", func(p *v1alpha1.MachineParameters, name string) {
			p.USBDevices = append(p.USBDevices, v1alpha1.MachineUSBDevice{Name: name})
		}, usbDevices},
		{"virtiofs", func(p *v1alpha1.MachineParameters, name string) {
			p.VirtioFS = append(p.VirtioFS, v1alpha1.MachineVirtioFS{Name: name})
		}, sharedDirectories},
	} {
		for i := range busSizes[sort.prefix] {
			device := sort.prefix + strconv.Itoa(i)
			w.try(device, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
				sort.add(p, device)
				last := len(sort.entries(p)) - 1
				h := sort.entries(p)[last]
				left := readProperties(now, h.defaultKey, h.parts)
				return sort.entries(p)[last].option(device), left
			})
		}
	}
}

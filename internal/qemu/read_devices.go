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
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// ReadDisk adds a disk, named by its device.
func ReadDisk(p *v1alpha1.MachineParameters, device, now string) (Option, []string) {
	k := v1alpha1.MachineDisk{Name: device, Device: &device, Geometry: &v1alpha1.MachineDiskGeometry{}, Limits: &v1alpha1.MachineDiskLimits{}}
	disk, err := proxmox.ParseDisk(now)
	if err != nil {
		return unreadable()
	}
	k.Storage, k.Format, k.Size = NonEmpty(disk.Storage()), NonEmpty(formatOf(disk.Volume)), declaredSize(disk)
	left := readParts(disk.Options, diskParts(&k))
	p.Disks = append(p.Disks, k)
	return diskOption(device, k, nil, func() proxmox.Disk { return Desired{}.newDisk(k) }), without(left, "size", "format", "media")
}

// declaredSize returns the size of a disk in the form of the spec.
func declaredSize(k proxmox.Disk) *string {
	size, known := k.Size()
	if s := size.String(); known && size >= proxmox.MiB && size%proxmox.KiB == 0 {
		return &s
	}
	return nil
}

// ReadEFIDisk reads the disk of the firmware's variables.
func ReadEFIDisk(p *v1alpha1.MachineParameters, _, now string) (Option, []string) {
	p.EFIDisk = &v1alpha1.MachineEFIDisk{}
	return readFirmware(now, &p.EFIDisk.Storage, &p.EFIDisk.Format, func() firmwareDisk { return efiDisk(p.EFIDisk) })
}

// ReadTPM reads the disk of the TPM's state.
func ReadTPM(p *v1alpha1.MachineParameters, _, now string) (Option, []string) {
	p.TPM = &v1alpha1.MachineTPM{}
	return readFirmware(now, &p.TPM.Storage, &p.TPM.Format, func() firmwareDisk { return tpmDisk(p.TPM) })
}

// readFirmware reads a disk into its fields. It calls of again when they are set.
func readFirmware(now string, storage, format **string, of func() firmwareDisk) (Option, []string) {
	disk, err := proxmox.ParseDisk(now)
	if err != nil {
		return unreadable()
	}
	*storage, *format = NonEmpty(disk.Storage()), NonEmpty(formatOf(disk.Volume))
	parts := of().changeable
	for _, m := range of().made {
		parts = append(parts, m.part)
	}
	left := readParts(disk.Options, parts)
	return of().option(""), without(left, "size", "format")
}

// ReadNIC adds a network, named by its device.
func ReadNIC(p *v1alpha1.MachineParameters, device, now string) (Option, []string) {
	nic, err := proxmox.ParseNIC(now)
	if err != nil {
		return unreadable()
	}
	n := v1alpha1.MachineNetwork{Name: device, Device: &device, Model: &nic.Model, MACAddress: NonEmpty(nic.MAC)}
	left := readParts(nic.Options, nicParts(&n))
	p.Networks = append(p.Networks, n)
	return nicOption(device, n, nil, func() proxmox.NIC { return Desired{}.newNIC(n) }), left
}

// ReadIPConfig returns a reader of the addresses of a network in a list of networks.
func ReadIPConfig(i int) Reader {
	return func(p *v1alpha1.MachineParameters, _, now string) (Option, []string) {
		c := &v1alpha1.MachineIPConfig{}
		p.Networks[i].IPConfig = c
		left := readProperties(now, "", ipParts(c))
		return ipConfigOption(*p.Networks[i].Device, c, nil), left
	}
}

// ReadCDROM adds a CD-ROM drive, named by its device.
func ReadCDROM(p *v1alpha1.MachineParameters, device, now string) (Option, []string) {
	k, err := proxmox.ParseDisk(now)
	if err != nil {
		return unreadable()
	}
	c := v1alpha1.MachineCDROM{Name: device, Device: &device, ISO: new(Config{device: now}.Medium(device))}
	if k.Volume == physicalDrive {
		c.ISO, c.Physical = nil, new(true)
	}
	p.CDROMs = append(p.CDROMs, c)
	return Desired{}.cdromOption(device, c), without(k.Options.Keys(), "media", "size")
}

// ReadPCIDevice adds a PCI device, named by its device in the VM.
func ReadPCIDevice(p *v1alpha1.MachineParameters, device, now string) (Option, []string) {
	p.PCIDevices = append(p.PCIDevices, v1alpha1.MachinePCIDevice{Name: device})
	return readHostDevice(p, pciDevices, device, now)
}

// ReadUSBDevice adds a USB device, named by its device in the VM.
func ReadUSBDevice(p *v1alpha1.MachineParameters, device, now string) (Option, []string) {
	p.USBDevices = append(p.USBDevices, v1alpha1.MachineUSBDevice{Name: device})
	return readHostDevice(p, usbDevices, device, now)
}

// ReadVirtioFS adds a shared directory, named by its device in the VM.
func ReadVirtioFS(p *v1alpha1.MachineParameters, device, now string) (Option, []string) {
	p.VirtioFS = append(p.VirtioFS, v1alpha1.MachineVirtioFS{Name: device})
	return readHostDevice(p, sharedDirectories, device, now)
}

// readHostDevice reads the last entry of a list of devices of the node.
func readHostDevice(p *v1alpha1.MachineParameters, of func(p *v1alpha1.MachineParameters) []hostDevice, device, now string) (Option, []string) {
	last := len(of(p)) - 1
	h := of(p)[last]
	left := readProperties(now, h.defaultKey, h.parts)
	return of(p)[last].option(device), left
}

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
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
)

// A hostDevice is a device or directory of the node that is passed to the guest, with its name in the spec.
type hostDevice struct {
	name string

	// defaultKey of the option's property string. The value of this key, or of the key mapping, identifies the device.
	defaultKey string

	parts []part
}

// withdrawn returns the device with the former values of the parts that its entry no longer declares.
func (h hostDevice) withdrawn(before map[string]string) hostDevice {
	h.parts = withdrawn(h.parts, before)
	return h
}

// want returns the device as it is declared.
func (h hostDevice) want(now string) (string, bool) {
	value, _ := properties(h.defaultKey, "", h.parts...)(now)
	return value, true
}

// option returns the option of the device.
func (h hostDevice) option(device string) Option {
	return Option{Name: device, same: sameProperties(h.defaultKey), others: undeclaredParts(h.defaultKey, h.parts), Want: h.want}
}

// is reports whether an option of a VM is the device that the spec declares.
func (h hostDevice) is(now string) bool {
	p, err := propertystring.Parse(now, h.defaultKey)
	if err != nil {
		return false
	}
	for _, d := range h.parts {
		if (d.key == h.defaultKey || d.key == "mapping") && ptr.Deref(d.Value, "") != "" {
			return strings.EqualFold(p.Get(d.key), *d.Value)
		}
	}
	return false
}

func pciDevices(p *v1alpha1.MachineParameters) []hostDevice {
	all := make([]hostDevice, 0, len(p.PCIDevices))
	for i := range p.PCIDevices {
		d := &p.PCIDevices[i]
		all = append(all, hostDevice{name: d.Name, defaultKey: "host", parts: []part{
			{key: "host", Codec: codec.Alternative(&d.Host)},
			{key: "mapping", Codec: codec.Alternative(&d.Mapping)},
			{key: "pcie", Codec: codec.Flags(&d.PCIe), absent: "0"},
			{key: "x-vga", Codec: codec.Flags(&d.PrimaryGPU), absent: "0"},
			{key: "legacy-igd", Codec: codec.Flags(&d.LegacyIGD), absent: "0"},
			{key: "rombar", Codec: codec.Flags(&d.ROMBar), absent: "1"},
			{key: "romfile", Codec: codec.Texts(&d.ROMFile)},
			{key: "mdev", Codec: codec.Texts(&d.MediatedDevice)},
			{key: "driver", Codec: codec.Texts(&d.Driver), absent: "vfio"},
			{key: "vendor-id", Codec: codec.Texts(&d.VendorID)},
			{key: "device-id", Codec: codec.Texts(&d.DeviceID)},
			{key: "sub-vendor-id", Codec: codec.Texts(&d.SubVendorID)},
			{key: "sub-device-id", Codec: codec.Texts(&d.SubDeviceID)},
		}})
	}
	return all
}

func usbDevices(p *v1alpha1.MachineParameters) []hostDevice {
	all := make([]hostDevice, 0, len(p.USBDevices))
	for i := range p.USBDevices {
		d := &p.USBDevices[i]
		all = append(all, hostDevice{name: d.Name, defaultKey: "host", parts: []part{
			{key: "host", Codec: codec.Alternative(&d.Host)},
			{key: "mapping", Codec: codec.Alternative(&d.Mapping)},
			{key: "usb3", Codec: codec.Flags(&d.USB3), absent: "0"},
		}})
	}
	return all
}

func sharedDirectories(p *v1alpha1.MachineParameters) []hostDevice {
	all := make([]hostDevice, 0, len(p.VirtioFS))
	for i := range p.VirtioFS {
		d := &p.VirtioFS[i]
		all = append(all, hostDevice{name: d.Name, defaultKey: "dirid", parts: []part{
			{key: "dirid", Codec: codec.Required(&d.Mapping)},
			{key: "cache", Codec: codec.Texts(&d.Cache), absent: "auto"},
			{key: "direct-io", Codec: codec.Flags(&d.DirectIO), absent: "0"},
			{key: "expose-acl", Codec: codec.Flags(&d.ExposeACL), absent: "0"},
			{key: "expose-xattr", Codec: codec.Flags(&d.ExposeXattr), absent: "0"},
		}})
	}
	return all
}

// A passthrough is a list of devices of the node.
type passthrough struct {
	deviceList

	prefix string

	// hosts holds what the entries ask for.
	hosts []hostDevice
}

// passthroughs returns all lists of devices of the node.
func (d Devices) passthroughs(p *v1alpha1.MachineParameters) []passthrough {
	pci := newPassthrough(deviceList{name: listPCI, what: "PCI device", declared: p.PCIDevices != nil, devices: d.PCI}, "hostpci", pciDevices(p))
	for i, k := range p.PCIDevices {
		pci.entries[i].policy = ptr.Deref(k.RemovalPolicy, "")
	}
	usb := newPassthrough(deviceList{name: listUSB, what: "USB device", declared: p.USBDevices != nil, devices: d.USB}, "usb", usbDevices(p))
	for i, k := range p.USBDevices {
		usb.entries[i].policy = ptr.Deref(k.RemovalPolicy, "")
	}
	shares := newPassthrough(deviceList{name: listVirtioFS, what: "virtiofs share", declared: p.VirtioFS != nil, devices: d.VirtioFS},
		"virtiofs", sharedDirectories(p))
	for i, k := range p.VirtioFS {
		shares.entries[i].policy = ptr.Deref(k.RemovalPolicy, "")
	}
	return []passthrough{pci, usb, shares}
}

func newPassthrough(l deviceList, prefix string, hosts []hostDevice) passthrough {
	l.suits = isAny
	for _, h := range hosts {
		l.entries = append(l.entries, listEntry{name: h.name})
	}
	return passthrough{deviceList: l, prefix: prefix, hosts: hosts}
}

// existing returns a device of the VM that is what an entry asks for, and that no other entry has.
func (t passthrough) existing(h hostDevice, have Config) string {
	for i := range busSizes[t.prefix] {
		device := t.prefix + strconv.Itoa(i)
		if h.is(have[device]) && t.owner(device) == "" {
			return device
		}
	}
	return ""
}

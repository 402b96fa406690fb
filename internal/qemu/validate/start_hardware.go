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

package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// hardwareErrors finds devices that conflict with the rest of the VM. PVE finds them in PVE::QemuServer::config_to_command, at the beginning of a start.
func hardwareErrors(c qemu.Config) []startError {
	return slices.Concat(pcieErrors(c), igdErrors(c), mediatedErrors(c), usbErrors(c), firmwareErrors(c), shareErrors(c))
}

// pcieErrors finds devices on a bus that the machine does not have.
func pcieErrors(c qemu.Config) []startError {
	if strings.Contains(c["machine"], "q35") {
		return nil
	}
	var found []startError
	for _, option := range c.Numbered("hostpci") {
		p, err := propertystring.Parse(c[option], "host")
		if on, _ := propertystring.ParseFlag(p.Get("pcie")); err == nil && on {
			found = append(found, startError{"pciDevices[].pcie (" + option + ")", "needs machineType q35"})
		}
	}
	return found
}

// igdOption is a setting of a PCI device that conflicts with legacyIGD.
type igdOption struct {
	key, value string // Empty for a setting that is on.
	why        string
}

func igdOptions() []igdOption {
	return []igdOption{
		{key: "rombar", value: "0", why: "needs romBar"},
		{key: "x-vga", value: "1", why: "does not go with primaryGPU"},
		{key: "mdev", why: "does not go with mediatedDevice"},
	}
}

// igdErrors finds conflicts of a passed-through Intel display: PVE::QemuServer::PCI::parse_hostpci_devices.
func igdErrors(c qemu.Config) []startError {
	var found []startError
	for i, d := range legacyIGDs(c) {
		field := "pciDevices[].legacyIGD (" + d.option + ")"
		if i > 0 {
			found = append(found, startError{field, "is for one device only"})
		}
		if c["vga"] != "none" {
			found = append(found, startError{field, "needs vga.type none, and no other option of vga"})
		}
		if strings.Contains(c["machine"], "q35") {
			found = append(found, startError{field, "needs machineType pc"})
		}
		for _, o := range igdOptions() {
			if d.has(o) {
				found = append(found, startError{field, o.why})
			}
		}
	}
	return found
}

// passed is a PCI device that is passed through.
type passed struct {
	propertystring.Properties

	option string
}

func (p passed) has(o igdOption) bool {
	if o.value == "" {
		return p.Has(o.key)
	}
	on, err := propertystring.ParseFlag(p.Get(o.key))
	return err == nil && on == (o.value == "1")
}

func passedDevices(c qemu.Config) []passed {
	var all []passed
	for _, option := range c.Numbered("hostpci") {
		if p, err := propertystring.Parse(c[option], "host"); err == nil {
			all = append(all, passed{Properties: p, option: option})
		}
	}
	return all
}

func legacyIGDs(c qemu.Config) []passed {
	return slices.DeleteFunc(passedDevices(c), func(p passed) bool { return !p.has(igdOption{key: "legacy-igd", value: "1"}) })
}

// mediatedErrors finds mediated devices with several host devices: PVE::QemuServer::PCI::parse_hostpci.
func mediatedErrors(c qemu.Config) []startError {
	var found []startError
	for _, p := range passedDevices(c) {
		if p.Has("mdev") && strings.Contains(p.Get("host"), ";") {
			found = append(found, startError{"pciDevices[].mediatedDevice (" + p.option + ")", "needs a single host device"})
		}
	}
	return found
}

// firstUSB3 is the first USB device that needs a guest with a separate controller for USB 3.
const firstUSB3 = 5

var (
	// manyUSB matches the guests with that controller.
	manyUSB = regexp.MustCompile(`^(l26|win([89]|\d\d+))$`)

	machineVersion = regexp.MustCompile(`^pc-(?:i440fx|q35)-(\d+)\.(\d+)`)
)

// olderThan reports whether the VM's machine is pinned to a version before a version of QEMU.
func olderThan(c qemu.Config, r release) bool {
	p, err := propertystring.Parse(c["machine"], "type")
	if err != nil {
		return false
	}
	m := machineVersion.FindStringSubmatch(p.Get("type"))
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major < r.major || major == r.major && minor < r.minor
}

// usbErrors finds more USB devices than the guest can have: PVE::QemuServer::USB::assert_usb_index_is_useable.
func usbErrors(c qemu.Config) []startError {
	if manyUSB.MatchString(c["ostype"]) && !olderThan(c, release{7, 1}) {
		return nil
	}
	var found []startError
	for _, option := range c.Numbered("usb") {
		if n, err := strconv.Atoi(strings.TrimPrefix(option, "usb")); err == nil && n >= firstUSB3 {
			found = append(found, startError{"usbDevices[] (" + option + ")", fmt.Sprintf(
				"needs osType linux or windows, of Windows 8 or later, and a machineType of version 7.1 or later: others have %d devices", firstUSB3)})
		}
	}
	return found
}

// narrow matches the 32-bit CPUs: $cputypes_32bit in PVE::QemuServer::CPUConfig.
var narrow = regexp.MustCompile(`^(486|pentium[23]?|coreduo|athlon|kvm32|qemu32)$`)

// firmwareErrors finds conflicts with the firmware.
func firmwareErrors(c qemu.Config) []startError {
	ovmf := c["bios"] == "ovmf"
	var found []startError
	for _, option := range []string{"amd-sev", "intel-tdx"} {
		if c[option] != "" && !ovmf {
			found = append(found, startError{"extraConfig." + option, "needs bios ovmf"})
		}
	}
	cpu, err := propertystring.Parse(c["cpu"], "cputype")
	if kind := cpu.Get("cputype"); err == nil && ovmf && narrow.MatchString(kind) {
		found = append(found, startError{"bios ovmf", fmt.Sprintf("does not go with cpu.type %s, which has 32 bits", kind)})
	}
	return found
}

// shareErrors finds shares that Windows cannot mount: PVE::QemuServer::Virtiofs::assert_virtiofs_config.
func shareErrors(c qemu.Config) []startError {
	if !strings.HasPrefix(c["ostype"], "w") {
		return nil
	}
	var found []startError
	for _, option := range c.Numbered("virtiofs") {
		p, err := propertystring.Parse(c[option], "dirid")
		if on, _ := propertystring.ParseFlag(p.Get("expose-acl")); err == nil && on {
			found = append(found, startError{"virtiofs[].exposeACL (" + option + ")", "does not go with Windows"})
		}
	}
	return found
}

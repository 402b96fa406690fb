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

// Package fields maps the options of a VM to the fields of a Machine's spec that set them, and knows which parameters of PVE are no options.
package fields

import "strings"

// single holds the fields of the spec that set options, indexed those that set options with a number, such as net0.
//
//nolint:gochecknoglobals // Constants.
var (
	single = map[string]string{
		"acpi":          "acpi",
		"affinity":      "cpu.affinity",
		"agent":         "agent",
		"allow-ksm":     "memoryOptions.allowKSM",
		"balloon":       "balloon",
		"bios":          "bios",
		"boot":          "bootOrder",
		"bootdisk":      "bootOrder",
		"cdrom":         "iso",
		"cipassword":    "cloudInit",
		"ciupgrade":     "cloudInit.upgrade",
		"ciuser":        "cloudInit.user",
		"cores":         "cpu.cores",
		"cpu":           "cpu.type",
		"cpulimit":      "cpu.limit",
		"cpuunits":      "cpu.units",
		"description":   "description",
		"ha-managed":    "highAvailability",
		"hookscript":    "hookscript",
		"hotplug":       "hotplug",
		"hugepages":     "memoryOptions.hugePages",
		"keephugepages": "memoryOptions.keepHugePages",
		"kvm":           "kvm",
		"localtime":     "localTime",
		"machine":       "machineType",
		"memory":        "memory",
		"name":          "name",
		"nameserver":    "cloudInit.nameservers",
		"node":          "node",
		"numa":          "cpu.numa",
		"onboot":        "onBoot",
		"ostype":        "osType",
		"pool":          "pool",
		"protection":    "protection",
		"scsihw":        "scsiController",
		"searchdomain":  "cloudInit.searchDomains",
		"shares":        "memoryOptions.shares",
		"smp":           "cpu.sockets",
		"sockets":       "cpu.sockets",
		"sshkeys":       "cloudInit.sshKeys",
		"start":         "powerState",
		"startup":       "startup",
		"tablet":        "tablet",
		"tags":          "tags",
		"vcpus":         "cpu.vcpus",
		"vga":           "vga",
		"vmid":          "vmid",
		"watchdog":      "watchdog",
	}
	indexed = map[string]string{
		"audio":    "audio",
		"efidisk":  "efiDisk",
		"hostpci":  "pciDevices",
		"ide":      "disks or cdroms",
		"ipconfig": "networks[].ipConfig",
		"net":      "networks",
		"numa":     "cpu.numaNodes",
		"rng":      "rng",
		"sata":     "disks or cdroms",
		"scsi":     "disks or cdroms",
		"serial":   "serialPorts",
		"smbios":   "smbios",
		"tpmstate": "tpm",
		"usb":      "usbDevices",
		"virtio":   "disks",
		"virtiofs": "virtiofs",
	}
)

// Reasons why a parameter of PVE is not an option that a spec can set.
const (
	saysHow   = "it says how one call is carried out"
	isState   = "it is a state that operations leave, and setting it by hand can lose data"
	isWritten = "Proxmox VE writes it itself"
)

// noOption holds parameters of PVE's calls, and values that PVE itself writes into configurations.
//
//nolint:gochecknoglobals // Constants.
var noOption = map[string]string{
	"archive": saysHow, "background_delay": saysHow, "bwlimit": saysHow, "delete": saysHow, "digest": saysHow, "force": saysHow,
	"import-working-storage": saysHow, "live-restore": saysHow, "revert": saysHow, "skiplock": saysHow, "storage": saysHow,
	"unique": saysHow,
	"lock":   isState, "template": isState, "unused": isState,
	"meta": isWritten, "parent": isWritten, "runningcpu": isWritten, "runningmachine": isWritten, "running-nets-host-mtu": isWritten,
	"snapstate": isWritten, "snaptime": isWritten, "vmstate": isWritten,
}

// Stem returns the name of an option without its number, net of net0, and whether it has one.
func Stem(option string) (string, bool) {
	s := strings.TrimRight(option, "0123456789")
	return s, s != option
}

// Of returns the field of the spec that sets an option, or nothing.
func Of(option string) string {
	if s, numbered := Stem(option); numbered {
		return indexed[s]
	}
	return single[option]
}

// WhyNone returns why a parameter of PVE is not an option that users set. It is empty for such an option.
func WhyNone(option string) string {
	s, _ := Stem(option)
	return noOption[s]
}

// IsOption reports whether users can set an option. Values that PVE keeps for internal use, and parameters of how a call is carried out, are no options.
func IsOption(option string) bool { return WhyNone(option) == "" }

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
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// An extra is an option of PVE that has no field.
type extra struct {
	// keys of a property string, in which order is of no meaning; empty for an option
	// that is none. defaultKey is that of the value without a key.
	keys       []string
	defaultKey string

	// form of a value that is no property string. Nil if PVE takes any.
	form *regexp.Regexp

	// absent is the value that holds when the option is not there.
	absent string

	// generated is true for a value that PVE makes up where 1 is asked for.
	generated bool
}

// extras are the options of PVE 8.4 and 9.2 that have no field.
//
//nolint:gochecknoglobals // Constants.
var extras = map[string]extra{
	"amd-sev":            {keys: []string{"type", "allow-smt", "kernel-hashes", "no-debug", "no-key-sharing"}, defaultKey: "type"},
	"arch":               {form: oneOf("x86_64", "aarch64")},
	"args":               {},
	"autostart":          {absent: "0", form: oneOf("0", "1")},
	"cicustom":           {keys: []string{"meta", "network", "user", "vendor"}},
	"citype":             {form: oneOf("configdrive2", "nocloud", "opennebula")},
	"freeze":             {absent: "0", form: oneOf("0", "1")},
	"intel-tdx":          {keys: []string{"type", "attestation", "vsock-cid", "vsock-port"}, defaultKey: "type"},
	"ivshmem":            {keys: []string{"name", "size"}},
	"keyboard":           {form: oneOf(strings.Fields("de de-ch da en-gb en-us es fi fr fr-be fr-ca fr-ch hu is it ja lt mk nl no pl pt pt-br sv sl tr")...)},
	"migrate_downtime":   {absent: "0.1", form: oneOf(`\d+(\.\d+)?`)},
	"migrate_speed":      {absent: "0", form: oneOf(`\d+`)},
	"parallel0":          {form: oneOf(`/dev/parport\d+`, `/dev/usb/lp\d+`)},
	"parallel1":          {form: oneOf(`/dev/parport\d+`, `/dev/usb/lp\d+`)},
	"parallel2":          {form: oneOf(`/dev/parport\d+`, `/dev/usb/lp\d+`)},
	"reboot":             {absent: "1", form: oneOf("0", "1")},
	"spice_enhancements": {keys: []string{"foldersharing", "videostreaming"}},
	"startdate":          {absent: "now", form: oneOf("now", `\d{4}-\d{1,2}-\d{1,2}(T\d{1,2}:\d{1,2}:\d{1,2})?`)},
	"tdf":                {absent: "0", form: oneOf("0", "1")},
	"vmgenid":            {generated: true, form: oneOf("0", "1", `[a-fA-F0-9]{8}(-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}`)},
	"vmstatestorage":     {form: oneOf(`[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]`)},
}

// oneOf is a form of which each alternative is a pattern for the whole of a value.
func oneOf(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile("^(" + strings.Join(patterns, "|") + ")$")
}

// rejection says why a value is none that PVE takes, or nothing.
func (x extra) rejection(value string) string {
	if x.form != nil && !x.form.MatchString(value) {
		alternatives := strings.TrimSuffix(strings.TrimPrefix(x.form.String(), "^("), ")$")
		return fmt.Sprintf("cannot be %q: it is one of %s", value, strings.ReplaceAll(alternatives, "|", ", "))
	}
	p, err := propertystring.Parse(value, x.defaultKey)
	unknown := func(key string) bool { return !slices.Contains(x.keys, key) }
	if len(x.keys) > 0 && (err != nil || slices.ContainsFunc(p.Keys(), unknown)) {
		return fmt.Sprintf("cannot be %q: its keys are %s", value, strings.Join(x.keys, ", "))
	}
	return ""
}

// fields are the fields of the spec that set options; indexedFields those that
// set options with a number, such as net0.
//
//nolint:gochecknoglobals // Constants.
var (
	fields = map[string]string{
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
	indexedFields = map[string]string{
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

// Reasons why a parameter of PVE is no option that a VM could be wanted to have.
const (
	saysHow   = "it says how one call is carried out"
	isState   = "it is a state that operations leave, and setting it by hand can lose data"
	isWritten = "Proxmox VE writes it itself"
)

// noOption are parameters of PVE's calls, and what it writes into configurations
// itself.
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

// FieldOf returns the field of the spec that sets an option, or empty.
func FieldOf(option string) string {
	if s, indexed := Stem(option); indexed {
		return indexedFields[s]
	}
	return fields[option]
}

// extraOptions are the options of the spec that have no field.
func extraOptions(p *v1alpha1.MachineParameters) []Option {
	var options []Option
	for _, name := range slices.Sorted(maps.Keys(p.ExtraConfig)) {
		value := strings.TrimSpace(string(p.ExtraConfig[name])) // As PVE keeps it.
		options = append(options, Option{Name: name, absent: extras[name].absent, Want: fixed(&value).want, same: extras[name].same})
	}
	return options
}

// IsOption reports whether an option is one that somebody sets, and not what PVE keeps
// for itself or what says how a call is carried out.
func IsOption(option string) bool {
	s, _ := Stem(option)
	return noOption[s] == ""
}

// GeneratedByPVE reports whether PVE made a value up.
func GeneratedByPVE(name, value string) bool { return extras[name].generated && len(value) > 1 }

// IsExtra reports whether extraConfig takes an option of this name.
func IsExtra(option string) bool {
	_, known := extras[option]
	return known
}

// same compares values as PVE understands them.
func (x extra) same(now, want string) bool {
	switch {
	case now == want, x.generated && want == "1" && len(now) > 1:
		return true
	case len(x.keys) > 0:
		return sameProperties(x.defaultKey)(now, want)
	}
	return sameNumber(now, want)
}

// extraRejections are names and values that extraConfig does not take.
func extraRejections(p *v1alpha1.MachineParameters) []string {
	var no []string
	for _, name := range slices.Sorted(maps.Keys(p.ExtraConfig)) {
		if why := ExtraRejection(name, strings.TrimSpace(string(p.ExtraConfig[name]))); why != "" {
			no = append(no, fmt.Sprintf("extraConfig %q %s", name, why))
		}
	}
	return no
}

// ExtraRejection returns why extraConfig does not take a value, or nothing.
func ExtraRejection(name, value string) string {
	s, _ := Stem(name)
	switch {
	case FieldOf(name) != "":
		return "has a field of its own: set " + FieldOf(name)
	case noOption[s] != "":
		return "is no option of a VM: " + noOption[s]
	case value == "":
		return ""
	}
	return extras[name].rejection(value)
}

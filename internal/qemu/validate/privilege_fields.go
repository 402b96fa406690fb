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
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// A Change is a change of the options of a VM with a configuration, whose devices belong to entries of the spec.
type Change struct {
	qemu.Difference

	Config  qemu.Config
	Devices qemu.Devices
	At      Place
}

// A FieldRequirement holds the privileges that a field of the spec needs in addition to those of the options that it sets.
type FieldRequirement struct {
	Field string
	Needs []PrivilegeRequirement
}

// NameFields adds to an error about missing privileges which fields of the spec need them: those that set the options of a change, and those that need
// more than that.
func NameFields(err error, c Change, more ...FieldRequirement) error {
	if !proxmox.IsAuthorization(err) {
		return err
	}
	var all []string
	for _, p := range proxmox.MissingPrivileges(err) {
		all = append(all, c.fieldsThatNeed(p)...)
		for _, f := range more {
			if slices.ContainsFunc(f.Needs, func(n PrivilegeRequirement) bool { return n.asks(p) }) {
				all = append(all, f.Field)
			}
		}
	}
	if len(all) == 0 {
		return err
	}
	slices.Sort(all)
	return errors.Errorf("%w, needed for %s", err, strings.Join(slices.Compact(all), ", "))
}

// fieldsThatNeed returns the fields that need a privilege for the options that they set.
func (c Change) fieldsThatNeed(p proxmox.Privilege) []string {
	var all []string
	for _, option := range c.Options() {
		if needs(p, option, c.Config[option], c.At) || needs(p, option, c.Set[option], c.At) {
			all = append(all, c.fieldOf(option))
		}
	}
	return all
}

// fieldOf returns the field of the spec that sets an option, with the entry of a list, and with the option if its name differs: "cpu.cores (cores)",
// "disks[data] (scsi1)", "tags".
func (c Change) fieldOf(option string) string {
	field := c.entryOf(option)
	switch {
	case fields.IsExtra(option):
		return "extraConfig[" + option + "]"
	case c.holdsCloudInit(option):
		field = "cloudInit"
	case field == "":
		field = fields.Of(option)
	}
	if field == "" || field == option {
		return option
	}
	return field + " (" + option + ")"
}

// holdsCloudInit reports whether a drive has cloud-init's data, or is to have it.
func (c Change) holdsCloudInit(drive string) bool {
	return slices.ContainsFunc([]string{c.Config[drive], c.Set[drive]}, func(value string) bool {
		k, err := proxmox.ParseDisk(value)
		return qemu.IsDisk(drive) && err == nil && k.CloudInit()
	})
}

// entryOf returns the entry of a list of the spec that has the device of an option, or nothing if there is none.
func (c Change) entryOf(option string) string {
	d := c.Devices
	for list, devices := range map[string]map[string]string{
		"disks": d.Disks, "cdroms": d.CDROMs, "networks": d.Networks, "pciDevices": d.PCI, "usbDevices": d.USB, "virtiofs": d.VirtioFS,
	} {
		for name, device := range devices {
			switch entry := list + "[" + name + "]"; option {
			case device:
				return entry
			case qemu.IPConfigName(device):
				return entry + ".ipConfig"
			}
		}
	}
	if option == d.ISO && option != "" {
		return "iso"
	}
	return ""
}

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
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// A versionRange is the range of versions that know an option, or a key of it.
type versionRange struct {
	option string // without its number
	key    string // empty for the option itself

	// since is the first version that knows it, and before the first that no longer does.
	since, before release

	// unless is the text of a condition under which later versions still know it.
	unless string
}

// A release of PVE.
type release struct{ major, minor int }

func (r release) String() string { return fmt.Sprintf("%d.%d", r.major, r.minor) }

//nolint:gochecknoglobals // Constants.
var (
	v90, v91, v92 = release{9, 0}, release{9, 1}, release{9, 2}

	// future is the first version whose options may differ from those known here.
	future = release{9, 3}

	// blockdev is the first machine version for which PVE 9 does not support disks that discard writes: PVE::QemuServer::Blockdev::generate_file_blockdev.
	blockdev = release{10, 0}

	versionRanges = []versionRange{
		{option: "allow-ksm", since: v91},
		{option: "intel-tdx", since: v91},
		{option: "machine", key: "aw-bits", since: v91},
		{option: "cpu", key: "guest-phys-bits", since: v91},
		{option: "cpu", key: "level", since: v92},
		{option: "efidisk", key: "ms-cert", since: v91},
		{option: "tpmstate", key: "format", since: v91},
		{option: "hostpci", key: "driver", since: v91},
		{option: "net", key: "host-tunnel", since: v92},
	}

	// geometry of disks, which PVE 9 removed.
	geometry = []string{"cyls", "heads", "secs", "trans"}
)

// versionRangesOf returns all ranges of an option.
func versionRangesOf(option string) []versionRange {
	var all []versionRange
	s, _ := fields.Stem(option)
	for _, b := range versionRanges {
		if b.option == s {
			all = append(all, b)
		}
	}
	if qemu.BusOf(option) != "" && s != "net" {
		for _, key := range geometry {
			all = append(all, versionRange{key: key, before: v90})
		}
	}
	return all
}

// sets reports whether a change gives the option, or its key, a new value.
func (b versionRange) sets(now, want string) bool {
	if b.key == "" {
		return true
	}
	x, errX := propertystring.Parse(now, "")
	y, errY := propertystring.Parse(want, "")
	return errY == nil && y.Has(b.key) && (errX != nil || x.Get(b.key) != y.Get(b.key))
}

// unknown returns why a version does not know the setting, or nothing.
func (b versionRange) unknown(v proxmox.Version) string {
	switch {
	case b.since == future && !v.AtLeast(future.major, future.minor):
		return fmt.Sprintf("Proxmox VE %s has no such option", v.Version)
	case b.since != release{} && !v.AtLeast(b.since.major, b.since.minor):
		return fmt.Sprintf("Proxmox VE has it since %s, and this is %s", b.since, v.Version)
	case b.before != release{} && v.AtLeast(b.before.major, b.before.minor):
		return fmt.Sprintf("Proxmox VE has it no longer since %s%s, and this is %s", b.before, b.unless, v.Version)
	}
	return ""
}

// A VersionRequirement is a setting that not every version of PVE knows.
type VersionRequirement struct {
	name string
	versionRange
}

// Unmet returns why a version of PVE does not meet the requirement, or nothing if it does.
func (d VersionRequirement) Unmet(v proxmox.Version) string {
	if why := d.unknown(v); why != "" {
		return fmt.Sprintf("%s cannot be set: %s", d.name, why)
	}
	return ""
}

// temporary reports whether a disk discards what is written.
func temporary(disk string) bool {
	p, err := propertystring.Parse(disk, "file")
	on, _ := propertystring.ParseFlag(p.Get("snapshot"))
	return err == nil && on
}

// VersionRequirements returns the requirements of a configuration change that depend on the version.
func VersionRequirements(d qemu.Difference, config qemu.Config) []VersionRequirement {
	var all []VersionRequirement
	for _, option := range slices.Sorted(maps.Keys(d.Set)) {
		for _, b := range versionRangesOf(option) {
			if b.sets(config[option], d.Set[option]) {
				all = append(all, VersionRequirement{name: strings.TrimSpace(option + " " + b.key), versionRange: b})
			}
		}
		if temporary(d.Set[option]) && !temporary(config[option]) && qemu.BusOf(option) != "" && !olderThan(d.After(config), blockdev) {
			unless := ", unless machineType is of a version before " + blockdev.String()
			all = append(all, VersionRequirement{name: option + " snapshot", versionRange: versionRange{before: v90, unless: unless}})
		}
		if !fields.IsExtra(option) && fields.Of(option) == "" {
			all = append(all, VersionRequirement{name: option, versionRange: versionRange{since: future}})
		}
	}
	return all
}

// HAVersionRequirements returns the settings that not every version of PVE knows: in PVE 9 rules have replaced groups, and failback has become a setting
// of VMs.
func HAVersionRequirements(told proxmox.HASettings) []VersionRequirement {
	var all []VersionRequirement
	if told["group"] != "" {
		all = append(all, VersionRequirement{name: "highAvailability.group", versionRange: versionRange{before: v90}})
	}
	if told["failback"] != "" {
		all = append(all, VersionRequirement{name: "highAvailability.failback", versionRange: versionRange{since: v90}})
	}
	return all
}

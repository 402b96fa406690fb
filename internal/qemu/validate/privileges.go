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
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// A PrivilegeRequirement is a requirement of PVE that any of these privileges meets. PVE names the last one when the user has none.
type PrivilegeRequirement []proxmox.Privilege

// Met reports whether the user meets the requirement.
func (n PrivilegeRequirement) Met(has func(path, privilege string) bool) bool {
	return slices.ContainsFunc(n, func(p proxmox.Privilege) bool {
		return slices.ContainsFunc(p.Names, func(name string) bool { return has(p.Path, name) })
	})
}

// Named returns the privilege that PVE names when the requirement is not met.
func (n PrivilegeRequirement) Named() proxmox.Privilege { return n[len(n)-1] }

// On returns the requirement of a privilege on one path.
func On(path, privilege string) PrivilegeRequirement {
	return PrivilegeRequirement{{Path: path, Names: []string{privilege}}}
}

// A Place determines where PVE checks the privileges on a VM.
type Place struct {
	VMID int

	// Pool in which a VM is created. Privileges on it count for a VM that does not exist yet.
	Pool string
}

// RequiredPrivileges returns the requirement of any of the privileges on the VM.
func (p Place) RequiredPrivileges(privileges ...string) PrivilegeRequirement {
	there := PrivilegeRequirement{{Path: fmt.Sprintf("/vms/%d", p.VMID), Names: privileges}}
	if p.Pool == "" {
		return there
	}
	return append(PrivilegeRequirement{{Path: "/pool/" + p.Pool, Names: privileges}}, there...)
}

// The privileges on a VM that PVE requires to change options, by their names without numbers. Options that are not listed are reserved for root@pam, or
// depend on their values.
//
//nolint:gochecknoglobals // A constant.
var privileges = byOption(map[string]string{
	"VM.Config.CPU":    "cores cpu cpulimit cpuunits numa sockets vcpus",
	"VM.Config.Memory": "allow-ksm balloon memory shares",
	"VM.Config.HWType": "acpi audio hostpci hotplug kvm machine rng scsihw serial smbios tablet usb vga watchdog",
	"VM.Config.Options": "agent autostart bios description keyboard localtime migrate_downtime migrate_speed name onboot ostype " +
		"protection reboot startdate startup tags tdf template",
	"VM.Config.Disk":                        "boot bootdisk unused virtiofs vmstatestorage",
	"VM.Config.Network":                     "net",
	"VM.Config.Cloudinit VM.Config.Network": "cicustom cipassword citype ciupgrade ciuser ipconfig nameserver searchdomain sshkeys",
})

func byOption(options map[string]string) map[string][]string {
	out := map[string][]string{}
	for names, all := range options {
		for option := range strings.FieldsSeq(all) {
			out[option] = strings.Fields(names)
		}
	}
	return out
}

// RequiredPrivileges returns the privileges that PVE requires for a change of the configuration of a VM, as far as they are known without reading the
// cluster. Each is listed once.
func RequiredPrivileges(d qemu.Difference, config qemu.Config, at Place) []PrivilegeRequirement {
	var all []PrivilegeRequirement
	for _, option := range d.Options() {
		for _, value := range []string{config[option], d.Set[option]} {
			all = append(all, privilegesOf(option, value, at)...)
		}
	}
	return Distinct(all)
}

// Distinct returns the requirements without repetitions.
func Distinct(all []PrivilegeRequirement) []PrivilegeRequirement {
	var out []PrivilegeRequirement
	for _, n := range all {
		if !slices.ContainsFunc(out, n.equal) {
			out = append(out, n)
		}
	}
	return out
}

func (n PrivilegeRequirement) equal(o PrivilegeRequirement) bool {
	return slices.EqualFunc(n, o, func(a, b proxmox.Privilege) bool { return a.Path == b.Path && slices.Equal(a.Names, b.Names) })
}

// needs reports whether an option that has a value, or is to have it, needs a privilege.
func needs(p proxmox.Privilege, option, value string, at Place) bool {
	if n, err := proxmox.ParseNIC(value); IsNIC(option) && err == nil && strings.HasPrefix(p.Path, "/sdn/zones/") {
		bridge := n.Options.Get("bridge")
		return bridge != "" && slices.Contains(strings.Split(p.Path, "/"), bridge)
	}
	return slices.ContainsFunc(privilegesOf(option, value, at), func(n PrivilegeRequirement) bool { return n.asks(p) })
}

// asks reports whether a privilege is among those that meet the requirement.
func (n PrivilegeRequirement) asks(p proxmox.Privilege) bool {
	return slices.ContainsFunc(n, func(o proxmox.Privilege) bool {
		return o.Path == p.Path && slices.ContainsFunc(o.Names, func(name string) bool { return slices.Contains(p.Names, name) })
	})
}

// privilegesOf returns the privileges to set an option to a value, or to remove it.
func privilegesOf(option, value string, at Place) []PrivilegeRequirement {
	s, _ := fields.Stem(option)
	if names, ok := privileges[s]; ok {
		return append([]PrivilegeRequirement{at.RequiredPrivileges(names...)}, privilegesOfValue(s, value)...)
	}
	k, err := proxmox.ParseDisk(value)
	if !qemu.IsDisk(option) || err != nil {
		return nil
	}
	switch {
	case k.CloudInit():
		return []PrivilegeRequirement{at.RequiredPrivileges("VM.Config.Cloudinit"), at.RequiredPrivileges("VM.Config.CDROM")}
	case k.CDROM():
		return []PrivilegeRequirement{at.RequiredPrivileges("VM.Config.CDROM")}
	}
	return append([]PrivilegeRequirement{at.RequiredPrivileges("VM.Config.Disk")}, newDiskPrivileges(k)...)
}

// privilegesOfValue returns the privileges in addition to those on the VM.
func privilegesOfValue(stem, value string) []PrivilegeRequirement {
	p, err := propertystring.Parse(value, map[string]string{"virtiofs": "dirid", "cpu": "cputype"}[stem])
	switch {
	case stem == "startup":
		return []PrivilegeRequirement{On("/", "Sys.Modify")}
	case err != nil || value == "":
		return nil
	case stem == "cpu" && strings.HasPrefix(p.Get("cputype"), "custom-"):
		model := strings.TrimPrefix(p.Get("cputype"), "custom-")
		return []PrivilegeRequirement{append(On("/nodes", "Sys.Audit"), On("/mapping/cpu/"+model, "Mapping.Use")...)}
	case stem == "hostpci" && p.Has("mapping"):
		return []PrivilegeRequirement{On("/mapping/pci/"+p.Get("mapping"), "Mapping.Use")}
	case stem == "usb" && p.Has("mapping"):
		return []PrivilegeRequirement{On("/mapping/usb/"+p.Get("mapping"), "Mapping.Use")}
	case stem == "virtiofs" && p.Has("dirid"):
		return []PrivilegeRequirement{On("/mapping/dir/"+p.Get("dirid"), "Mapping.Use")}
	case stem == "rng" && p.Get("source") == "/dev/hwrng":
		return []PrivilegeRequirement{On("/mapping/hwrng", "Mapping.Use")}
	}
	return nil
}

// IsNIC reports whether an option is a network.
func IsNIC(option string) bool { return qemu.BusOf(option) == "net" }

// NetworkPrivileges returns the privileges to use each bridge that a network has or is to have. Bridges without a known zone (zone returns nothing), and
// trunks, are left out.
func NetworkPrivileges(d qemu.Difference, config qemu.Config, zone func(bridge string) string) []PrivilegeRequirement {
	var all []PrivilegeRequirement
	for _, option := range d.Options() {
		for _, value := range []string{config[option], d.Set[option]} {
			n, err := proxmox.ParseNIC(value)
			if !IsNIC(option) || err != nil || n.Options.Get("trunks") != "" || zone(n.Options.Get("bridge")) == "" {
				continue
			}
			path := "/sdn/zones/" + zone(n.Options.Get("bridge")) + "/" + n.Options.Get("bridge")
			if tag := n.Options.Get("tag"); tag != "" {
				path += "/" + tag
			}
			all = append(all, On(path, "SDN.Use"))
		}
	}
	return Distinct(all)
}

// newDiskPrivileges returns the privileges to create a disk.
func newDiskPrivileges(k proxmox.Disk) []PrivilegeRequirement {
	storage, size, ok := strings.Cut(k.Volume, ":")
	if !ok || strings.Trim(size, "0123456789.") != "" {
		return nil
	}
	return []PrivilegeRequirement{On("/storage/"+storage, "Datastore.AllocateSpace")}
}

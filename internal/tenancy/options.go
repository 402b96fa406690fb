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

package tenancy

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// CheckOptions refuses options of a VM, as they are written to its configuration: those of extraConfig, and all whose values reach out of the VM. It
// refuses options that it does not know.
func (t *Tenant) CheckOptions(vmid int, set map[string]string) error {
	if t == nil {
		return nil
	}
	if t.denied != "" {
		return &refusedError{what: t.denied}
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(set)) {
		all = append(all, t.checkOption(vmid, name, set[name]))
	}
	return join(all)
}

// harmlessOptions matches the options whose values stay within the VM, or set how it is run. The option startup is not among them, since it delays the
// VMs of others when a node boots.
var harmlessOptions = regexp.MustCompile(`^(acpi|agent|allow-ksm|audio0|balloon|bios|boot|bootdisk|cipassword|citype|ciupgrade|ciuser|` +
	`cores|cpu|cpulimit|cpuunits|description|digest|hotplug|ipconfig\d+|kvm|localtime|machine|memory|meta|name|nameserver|` +
	`numa|onboot|ostype|protection|scsihw|searchdomain|shares|smbios1|sockets|sshkeys|tablet|template|vcpus|vga|watchdog)$`)

// restoredByPVE matches options that only a restore or PVE itself sets, and that do not reach out of the VM.
const restoredByPVE = `arch|autostart|freeze|keyboard|migrate_(downtime|speed)|parent|reboot|smp|spice_enhancements|startdate|tdf|vmgenid`

// uncheckedOptions matches options that a VM or a snapshot may have with any values: those that restores set, the state that PVE writes, and tags,
// which a Machine replaces.
var uncheckedOptions = regexp.MustCompile(`^(` + restoredByPVE + `|lock|running(cpu|machine|-nets-host-mtu)|snap(state|time)|tags|vmstate)$`)

// Options of devices, each with a number.
var (
	diskOption     = regexp.MustCompile(`^(ide|sata|scsi|virtio|efidisk|tpmstate|unused)\d+$`)
	nicOption      = regexp.MustCompile(`^net\d+$`)
	mappedOption   = regexp.MustCompile(`^(hostpci|usb|virtiofs)\d+$`)
	serialOption   = regexp.MustCompile(`^serial\d+$`)
	numaNodeOption = regexp.MustCompile(`^numa\d+$`)
)

func (t *Tenant) checkOption(vmid int, name, value string) error {
	switch {
	case harmlessOptions.MatchString(name), value == "", rootOptions(t) && validate.RootOnly(name, value):
		return nil
	case diskOption.MatchString(name):
		return t.checkDisk(vmid, name, value)
	case nicOption.MatchString(name):
		return t.checkNIC(name, value)
	case mappedOption.MatchString(name):
		return t.checkMappedDevice(name, value)
	case name == "tags":
		return t.checkTags(splitTags(value))
	case serialOption.MatchString(name) && value == "socket":
		return nil
	case name == "rng0" && !strings.Contains(value, "hwrng"):
		return nil
	case numaNodeOption.MatchString(name) && (rootOptions(t) || !strings.Contains(value, "hostnodes")):
		return nil
	case slices.Contains(t.allowed(func(a *v1alpha1.TenantPermissions) []string { return a.ExtraConfig }), name):
		if name == "vmstatestorage" {
			return t.checkStorage(value, "the states of snapshots")
		}
		return nil
	}
	return t.refuse("allow.extraConfig", "option %s", name)
}

// rootOptions reports whether options that only root may set are allowed.
func rootOptions(t *Tenant) bool {
	return t.may(func(a *v1alpha1.TenantPermissions) *bool { return a.RootOptions })
}

func splitTags(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ';' || r == ',' || r == ' ' })
}

// checkDisk refuses a disk or a drive that is not the VM's own or not on a storage of the tenant.
func (t *Tenant) checkDisk(vmid int, name, value string) error {
	d, err := proxmox.ParseDisk(value)
	switch {
	case err != nil:
		return t.refuse("storages", "%s, which cannot be read", name)
	case !slices.Contains([]string{"", "0"}, d.Options.Get("scsiblock")):
		return t.refuse("allow.passthrough", "%s with SCSI commands passed through", name)
	case d.Volume == "none":
		return nil
	case d.Storage() == "":
		return t.refuse("allow.passthrough", "%s is %s of the node", name, d.Volume)
	}
	if from := d.Options.Get("import-from"); from != "" && !ownVolume(vmid, from) {
		if err := t.checkImage(from, name); err != nil {
			return err
		}
	}
	return t.checkDiskVolume(vmid, name, d)
}

func (t *Tenant) checkDiskVolume(vmid int, name string, d proxmox.Disk) error {
	_, rest, _ := strings.Cut(d.Volume, ":")
	_, err := strconv.ParseFloat(rest, 64)
	made := err == nil || rest == "cloudinit"
	switch {
	case strings.HasPrefix(rest, "iso/") && !nocloud.IsImage(d.Volume):
		return t.checkImage(d.Volume, name)
	case !made && !ownVolume(vmid, d.Volume):
		return t.refuse("storages", "%s is a volume of another VM, %s", name, d.Volume)
	}
	return t.checkStorage(d.Storage(), name)
}

// volumeOf matches the VMIDs in the name of a volume: that of its owner and, before it, that of the folder of a VM that has the file, if any. It does
// not match backups, which are kept from the VM's tenant.
var volumeOf = regexp.MustCompile(`(?:^|[:/])(?:(\d+)/)?(?:vm|base|cidata)-(\d+)-[^/]*$`)

// ownVolume reports whether a volume is the VM's by its name. A VM that is not known has VMID 0, and no volumes.
func ownVolume(vmid int, volume string) bool { return vmid != 0 && OwnerOf(volume) == vmid }

// OwnerOf returns the VMID in the name of a volume, or 0. It also returns 0 for a file in the folder of another VM, which Proxmox VE takes for the
// owner (PVE::Storage::Plugin, parse_volname).
func OwnerOf(volume string) int {
	m := volumeOf.FindStringSubmatch(volume)
	if m == nil || m[1] != "" && m[1] != m[2] {
		return 0
	}
	id, _ := strconv.Atoi(m[2])
	return id
}

// checkNIC refuses an interface in a network that is not the tenant's.
func (t *Tenant) checkNIC(name, value string) error {
	n, err := proxmox.ParseNIC(value)
	if err != nil {
		return t.refuse("bridges", "%s, which cannot be read", name)
	}
	if n.Bridge() == "" {
		// QEMU itself then connects it, by the addresses of the node.
		return t.refuse("bridges", "%s on no bridge, in the networks of the node", name)
	}
	return t.checkNetwork(name, n.Bridge(), n.Options.Get("tag"), n.Options.Get("trunks"))
}

// checkNetwork refuses an interface by its bridge, its tag and its trunks.
func (t *Tenant) checkNetwork(name, bridge, tag, trunks string) error {
	i := slices.IndexFunc(t.Bridges, func(b v1alpha1.TenantBridge) bool { return b.Name == bridge })
	if i < 0 {
		return t.refuse("bridges", "%s on bridge %s", name, bridge)
	}
	vlans := t.Bridges[i].VLANs
	if len(vlans) == 0 {
		return nil
	}
	if tag == "" || tag == "0" {
		return t.refuse("bridges", "%s on bridge %s without a VLAN", name, bridge)
	}
	for _, part := range append([]string{tag}, strings.FieldsFunc(trunks, func(r rune) bool { return r == ';' })...) {
		if !inVLANs(vlans, part) {
			return t.refuse("bridges", "%s in VLAN %s of bridge %s", name, part, bridge)
		}
	}
	return nil
}

// inVLANs reports whether a VLAN or a range of VLANs is within one of the ranges.
func inVLANs(all []v1alpha1.VLANRange, part string) bool {
	from, to, isRange := strings.Cut(part, "-")
	if !isRange {
		to = from
	}
	low, err1 := strconv.Atoi(strings.TrimSpace(from))
	high, err2 := strconv.Atoi(strings.TrimSpace(to))
	return err1 == nil && err2 == nil && slices.ContainsFunc(all, func(r v1alpha1.VLANRange) bool {
		return low >= int(r.Min) && high <= int(r.Max) && low <= high
	})
}

// checkMappedDevice refuses a device of the node that is in no mapping of the tenant.
func (t *Tenant) checkMappedDevice(name, value string) error {
	key := "host"
	if strings.HasPrefix(name, "virtiofs") {
		key = "dirid"
	}
	p, err := propertystring.Parse(value, key)
	mapping := p.Get("mapping")
	if key == "dirid" {
		mapping = p.Get(key)
	}
	switch {
	case err != nil, p.Has("romfile"), key == "host" && p.Has("host") && !strings.EqualFold(p.Get("host"), "spice"):
		return t.refuse("allow.passthrough", "%s is a device of the node", name)
	case mapping == "": // A USB port for the console.
		return nil
	}
	return t.checkMapping(name, mapping)
}

// checkMapping refuses a resource mapping.
func (t *Tenant) checkMapping(name, mapping string) error {
	if slices.Contains(t.allowed(func(a *v1alpha1.TenantPermissions) []string { return a.Passthrough }), mapping) {
		return nil
	}
	return t.refuse("allow.passthrough", "%s of mapping %s", name, mapping)
}

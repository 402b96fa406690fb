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

package machine

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// diskParts are the properties of a disk besides its volume and size.
func diskParts(k v1alpha1.MachineDisk) []part {
	limits := k.Limits
	if limits == nil {
		limits = &v1alpha1.MachineDiskLimits{}
	}
	return []part{
		{key: "cache", value: k.Cache, absent: "none"},
		{key: "aio", value: k.AIO},
		{key: "discard", value: optional(k.Discard, onOrIgnore), absent: "ignore"},
		{key: "ssd", value: optional(k.SSD, bit), absent: "0"},
		{key: "iothread", value: optional(k.IOThread, bit), absent: "0"},
		{key: "backup", value: optional(k.Backup, bit), absent: "1"},
		{key: "replicate", value: optional(k.Replicate, bit), absent: "1"},
		{key: "ro", value: optional(k.ReadOnly, bit), absent: "0"},
		{key: "serial", value: k.Serial},
		{key: "mbps_rd", value: pointer(limits.ReadMBps, decimalText)},
		{key: "mbps_wr", value: pointer(limits.WriteMBps, decimalText)},
		{key: "iops_rd", value: optional(limits.ReadIOPS, itoa)},
		{key: "iops_wr", value: optional(limits.WriteIOPS, itoa)},
	}
}

func onOrIgnore(b bool) string {
	if b {
		return "on"
	}
	return "ignore"
}

func pointer[T any](v *T, write func(*T) string) *string {
	if v == nil {
		return nil
	}
	s := write(v)
	return &s
}

// diskOption is the option of a disk. A disk that is not there is made anew, on
// its storage or the default one.
func diskOption(device string, k v1alpha1.MachineDisk, defaultStorage string) option {
	return option{name: device, same: sameProperties("file"), allocates: true, want: func(now string) (string, bool) {
		d, err := proxmox.ParseDisk(now)
		if err != nil {
			d = newDisk(k, defaultStorage)
		}
		declared := overlay(&d.Options, diskParts(k)...)
		return d.String(), declared || now == ""
	}}
}

// newDisk is a disk to allocate: storage:GiB.
func newDisk(k v1alpha1.MachineDisk, defaultStorage string) proxmox.Disk {
	gib := float64(diskSize(k)) / float64(proxmox.GiB)
	d := proxmox.Disk{Volume: cmp.Or(value(k.Storage), defaultStorage) + ":" + strconv.FormatFloat(gib, 'f', -1, 64)}
	overlay(&d.Options, part{key: "format", value: k.Format})
	return d
}

// diskSize is the declared size in bytes, or 0. Units are binary with and
// without their i.
func diskSize(k v1alpha1.MachineDisk) proxmox.Size {
	if k.Size == nil {
		return 0
	}
	s, err := proxmox.ParseSize(strings.TrimSuffix(*k.Size, "i"))
	if err != nil {
		return 0 // Admission lets nothing else pass.
	}
	return s
}

// nicParts are the properties of a network interface besides its model and MAC
// address.
func nicParts(n v1alpha1.MachineNetwork) []part {
	return []part{
		{key: "bridge", value: n.Bridge},
		{key: "tag", value: optional(n.VLAN, itoa)},
		{key: "trunks", value: n.Trunks},
		{key: "firewall", value: optional(n.Firewall, bit), absent: "0"},
		{key: "mtu", value: optional(n.MTU, itoa)},
		{key: "queues", value: optional(n.Queues, itoa)},
		{key: "rate", value: pointer(n.RateMBps, decimalText)},
		{key: "link_down", value: optional(n.LinkDown, bit), absent: "0"},
	}
}

// defaultModel is the model of a new network interface whose spec names none.
const defaultModel = "virtio"

// nicOption is the option of a network interface. It always carries the MAC
// address that the interface has, since PVE makes up a new one otherwise.
func nicOption(device string, n v1alpha1.MachineNetwork, defaultBridge string) option {
	return option{name: device, same: sameNIC, want: func(now string) (string, bool) {
		nic, err := proxmox.ParseNIC(now)
		if err != nil {
			nic = proxmox.NIC{Model: defaultModel}
			overlay(&nic.Options, part{key: "bridge", value: nonEmpty(defaultBridge)})
		}
		nic.Model = cmp.Or(value(n.Model), nic.Model)
		if n.MACAddress != nil && !strings.EqualFold(*n.MACAddress, nic.MAC) {
			nic.MAC = *n.MACAddress
		}
		overlay(&nic.Options, nicParts(n)...)
		return nic.String(), true
	}}
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func sameNIC(a, b string) bool {
	x, errX := proxmox.ParseNIC(a)
	y, errY := proxmox.ParseNIC(b)
	return errX == nil && errY == nil && x.Equal(y)
}

// ipConfigName is the option of cloud-init for a network device.
func ipConfigName(device string) string { return "ipconfig" + strings.TrimPrefix(device, "net") }

// ipConfigOption is what cloud-init configures on a network interface.
func ipConfigOption(device string, c *v1alpha1.MachineIPConfig) option {
	name := ipConfigName(device)
	if c == nil {
		return option{name: name, want: undeclared}
	}
	return option{name: name, same: sameProperties(""), want: func(now string) (string, bool) {
		p, err := proxmox.ParseProperties(now, "")
		if err != nil {
			p = proxmox.Properties{}
		}
		declared := overlay(&p,
			part{key: "ip", value: c.Address},
			part{key: "gw", value: c.Gateway},
			part{key: "ip6", value: c.Address6},
			part{key: "gw6", value: c.Gateway6},
		)
		// A gateway beside an address that is not static makes PVE ignore both.
		if value(c.Address) == "dhcp" {
			p.Delete("gw")
		}
		if a := value(c.Address6); a == "dhcp" || a == "auto" {
			p.Delete("gw6")
		}
		return p.String(), declared
	}}
}

// tagsOption are the tags of the spec, and the tenant's. The tenant's tag is
// added to those that the VM has if the spec declares none.
func tagsOption(tags []string, tenant string) option {
	return option{name: "tags", same: sameTags, want: func(now string) (string, bool) {
		wanted := tags
		if tags == nil {
			wanted = splitTags(now)
		}
		if tenant != "" {
			wanted = append(wanted[:len(wanted):len(wanted)], tenantTag(tenant))
		}
		return joinTags(wanted), tags != nil || tenant != ""
	}}
}

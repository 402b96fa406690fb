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
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// diskParts are the properties of a disk besides its volume and size.
func diskParts(k v1alpha1.MachineDisk) []part {
	return slices.Concat([]part{
		{key: "cache", value: k.Cache, absent: "none"},
		{key: "aio", value: k.AIO},
		{key: "discard", value: optional(k.Discard, onOrIgnore), absent: "ignore"},
		{key: "ssd", value: optional(k.SSD, bit), absent: "0"},
		{key: "iothread", value: optional(k.IOThread, bit), absent: "0"},
		{key: "backup", value: optional(k.Backup, bit), absent: "1"},
		{key: "replicate", value: optional(k.Replicate, bit), absent: "1"},
		{key: "ro", value: optional(k.ReadOnly, bit), absent: "0"},
		{key: "serial", value: k.Serial},
		{key: "wwn", value: k.WWN},
		{key: "model", value: k.Model},
		{key: "vendor", value: k.Vendor},
		{key: "product", value: k.Product},
		{key: "queues", value: optional(k.Queues, unlessZero)},
		{key: "scsiblock", value: optional(k.SCSIBlock, bit), absent: "0"},
		{key: "detect_zeroes", value: optional(k.DetectZeroes, bit), absent: "1"},
		{key: "rerror", value: k.ReadError},
		{key: "werror", value: k.WriteError},
		{key: "shared", value: optional(k.Shared, bit), absent: "0"},
		{key: "snapshot", value: optional(k.Snapshot, bit), absent: "0"},
	}, geometryParts(k.Geometry), limitParts(k.Limits))
}

func geometryParts(g *v1alpha1.MachineDiskGeometry) []part {
	if g == nil {
		return nil
	}
	return []part{
		{key: "cyls", value: optional(g.Cylinders, unlessZero)},
		{key: "heads", value: optional(g.Heads, unlessZero)},
		{key: "secs", value: optional(g.Sectors, unlessZero)},
		{key: "trans", value: g.Translation},
	}
}

func limitParts(l *v1alpha1.MachineDiskLimits) []part {
	if l == nil {
		return nil
	}
	return []part{
		{key: "mbps", value: pointer(l.TotalMBps, decimalUnlessZero)},
		{key: "mbps_rd", value: pointer(l.ReadMBps, decimalUnlessZero)},
		{key: "mbps_wr", value: pointer(l.WriteMBps, decimalUnlessZero)},
		{key: "mbps_max", value: pointer(l.TotalBurstMBps, decimalUnlessZero)},
		{key: "mbps_rd_max", value: pointer(l.ReadBurstMBps, decimalUnlessZero)},
		{key: "mbps_wr_max", value: pointer(l.WriteBurstMBps, decimalUnlessZero)},
		{key: "iops", value: optional(l.TotalIOPS, unlessZero)},
		{key: "iops_rd", value: optional(l.ReadIOPS, unlessZero)},
		{key: "iops_wr", value: optional(l.WriteIOPS, unlessZero)},
		{key: "iops_max", value: optional(l.TotalBurstIOPS, unlessZero)},
		{key: "iops_rd_max", value: optional(l.ReadBurstIOPS, unlessZero)},
		{key: "iops_wr_max", value: optional(l.WriteBurstIOPS, unlessZero)},
		{key: "bps_max_length", value: optional(l.TotalBurstSeconds, unlessZero)},
		{key: "bps_rd_max_length", value: optional(l.ReadBurstSeconds, unlessZero), aliases: []string{"bps_rd_length"}},
		{key: "bps_wr_max_length", value: optional(l.WriteBurstSeconds, unlessZero), aliases: []string{"bps_wr_length"}},
		{key: "iops_max_length", value: optional(l.TotalIOPSBurstSeconds, unlessZero)},
		{key: "iops_rd_max_length", value: optional(l.ReadIOPSBurstSeconds, unlessZero), aliases: []string{"iops_rd_length"}},
		{key: "iops_wr_max_length", value: optional(l.WriteIOPSBurstSeconds, unlessZero), aliases: []string{"iops_wr_length"}},
	}
}

func onOrIgnore(b bool) string {
	if b {
		return "on"
	}
	return "ignore"
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

// newDisk is a disk to attach, or to allocate: storage:GiB, or storage:0 for one
// that gets the size of what it is filled from.
func newDisk(k v1alpha1.MachineDisk, defaultStorage string) proxmox.Disk {
	if k.Volume != nil {
		return proxmox.Disk{Volume: *k.Volume}
	}
	gib := float64(diskSize(k)) / float64(proxmox.GiB)
	d := proxmox.Disk{Volume: cmp.Or(value(k.Storage), defaultStorage) + ":" + strconv.FormatFloat(gib, 'f', -1, 64)}
	if k.ImportFrom != nil {
		d.Volume = cmp.Or(value(k.Storage), defaultStorage) + ":0"
	}
	overlay(&d.Options, part{key: "import-from", value: k.ImportFrom}, part{key: "format", value: k.Format})
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
		{key: "tag", value: optional(n.VLAN, unlessZero)},
		{key: "trunks", value: n.Trunks},
		{key: "firewall", value: optional(n.Firewall, bit), absent: "0"},
		{key: "mtu", value: optional(n.MTU, unlessZero)},
		{key: "queues", value: optional(n.Queues, unlessZero)},
		{key: "rate", value: pointer(n.RateMBps, decimalUnlessZero)},
		{key: "link_down", value: optional(n.LinkDown, bit), absent: "0"},
		{key: "host-tunnel", value: optional(n.HostTunnel, bit)},
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
		// A gateway needs a static address beside it.
		if c.Address != nil && !static(*c.Address) {
			p.Delete("gw")
		}
		if c.Address6 != nil && !static(*c.Address6) {
			p.Delete("gw6")
		}
		return p.String(), declared
	}}
}

// static says whether an address of cloud-init is one that does not come from the
// network.
func static(address string) bool { return !slices.Contains([]string{"", "dhcp", "auto"}, address) }

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

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
func diskParts(k *v1alpha1.MachineDisk) []part {
	return slices.Concat([]part{
		{key: "cache", cell: texts(&k.Cache), absent: "none"},
		{key: "aio", cell: texts(&k.AIO)},
		{key: "discard", cell: switches(&k.Discard), absent: "ignore"},
		{key: "ssd", cell: flags(&k.SSD), absent: "0"},
		{key: "iothread", cell: flags(&k.IOThread), absent: "0"},
		{key: "backup", cell: flags(&k.Backup), absent: "1"},
		{key: "replicate", cell: flags(&k.Replicate), absent: "1"},
		{key: "ro", cell: flags(&k.ReadOnly), absent: "0"},
		{key: "serial", cell: texts(&k.Serial)},
		{key: "wwn", cell: texts(&k.WWN)},
		{key: "model", cell: texts(&k.Model)},
		{key: "vendor", cell: texts(&k.Vendor)},
		{key: "product", cell: texts(&k.Product)},
		{key: "queues", cell: counts(&k.Queues)},
		{key: "scsiblock", cell: flags(&k.SCSIBlock), absent: "0"},
		{key: "detect_zeroes", cell: flags(&k.DetectZeroes), absent: "1"},
		{key: "rerror", cell: texts(&k.ReadError)},
		{key: "werror", cell: texts(&k.WriteError)},
		{key: "shared", cell: flags(&k.Shared), absent: "0"},
		{key: "snapshot", cell: flags(&k.Snapshot), absent: "0"},
	}, geometryParts(k.Geometry), limitParts(k.Limits))
}

func geometryParts(g *v1alpha1.MachineDiskGeometry) []part {
	if g == nil {
		return nil
	}
	return []part{
		{key: "cyls", cell: counts(&g.Cylinders)},
		{key: "heads", cell: counts(&g.Heads)},
		{key: "secs", cell: counts(&g.Sectors)},
		{key: "trans", cell: texts(&g.Translation)},
	}
}

func limitParts(l *v1alpha1.MachineDiskLimits) []part {
	if l == nil {
		return nil
	}
	return []part{
		{key: "mbps", cell: rates(&l.TotalMBps)},
		{key: "mbps_rd", cell: rates(&l.ReadMBps)},
		{key: "mbps_wr", cell: rates(&l.WriteMBps)},
		{key: "mbps_max", cell: rates(&l.TotalBurstMBps)},
		{key: "mbps_rd_max", cell: rates(&l.ReadBurstMBps)},
		{key: "mbps_wr_max", cell: rates(&l.WriteBurstMBps)},
		{key: "iops", cell: counts(&l.TotalIOPS)},
		{key: "iops_rd", cell: counts(&l.ReadIOPS)},
		{key: "iops_wr", cell: counts(&l.WriteIOPS)},
		{key: "iops_max", cell: counts(&l.TotalBurstIOPS)},
		{key: "iops_rd_max", cell: counts(&l.ReadBurstIOPS)},
		{key: "iops_wr_max", cell: counts(&l.WriteBurstIOPS)},
		{key: "bps_max_length", cell: counts(&l.TotalBurstSeconds)},
		{key: "bps_rd_max_length", cell: counts(&l.ReadBurstSeconds), aliases: []string{"bps_rd_length"}},
		{key: "bps_wr_max_length", cell: counts(&l.WriteBurstSeconds), aliases: []string{"bps_wr_length"}},
		{key: "iops_max_length", cell: counts(&l.TotalIOPSBurstSeconds)},
		{key: "iops_rd_max_length", cell: counts(&l.ReadIOPSBurstSeconds), aliases: []string{"iops_rd_length"}},
		{key: "iops_wr_max_length", cell: counts(&l.WriteIOPSBurstSeconds), aliases: []string{"iops_wr_length"}},
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
		declared := overlay(&d.Options, diskParts(&k)...)
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
	overlay(&d.Options, part{key: "import-from", cell: texts(&k.ImportFrom)}, part{key: "format", cell: texts(&k.Format)})
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
func nicParts(n *v1alpha1.MachineNetwork) []part {
	return []part{
		{key: "bridge", cell: texts(&n.Bridge)},
		{key: "tag", cell: counts(&n.VLAN)},
		{key: "trunks", cell: texts(&n.Trunks)},
		{key: "firewall", cell: flags(&n.Firewall), absent: "0"},
		{key: "mtu", cell: counts(&n.MTU)},
		{key: "queues", cell: counts(&n.Queues)},
		{key: "rate", cell: rates(&n.RateMBps)},
		{key: "link_down", cell: flags(&n.LinkDown), absent: "0"},
		{key: "host-tunnel", cell: flags(&n.HostTunnel)},
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
			overlay(&nic.Options, part{key: "bridge", cell: fixed(nonEmpty(defaultBridge))})
		}
		nic.Model = cmp.Or(value(n.Model), nic.Model)
		if n.MACAddress != nil && !strings.EqualFold(*n.MACAddress, nic.MAC) {
			nic.MAC = *n.MACAddress
		}
		overlay(&nic.Options, nicParts(&n)...)
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

func ipParts(c *v1alpha1.MachineIPConfig) []part {
	return []part{
		{key: "ip", cell: texts(&c.Address)},
		{key: "gw", cell: texts(&c.Gateway)},
		{key: "ip6", cell: texts(&c.Address6)},
		{key: "gw6", cell: texts(&c.Gateway6)},
	}
}

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
		declared := overlay(&p, ipParts(c)...)
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

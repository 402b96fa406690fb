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
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
)

// diskParts returns the properties of a disk except its volume and size.
func diskParts(k *v1alpha1.MachineDisk) []part {
	return slices.Concat([]part{
		{key: "cache", Codec: codec.Texts(&k.Cache), absent: "none"},
		{key: "aio", Codec: codec.Texts(&k.AIO)},
		{key: "discard", Codec: codec.Switches(&k.Discard), absent: "ignore"},
		{key: "ssd", Codec: codec.Flags(&k.SSD), absent: "0"},
		{key: "iothread", Codec: codec.Flags(&k.IOThread), absent: "0"},
		{key: "backup", Codec: codec.Flags(&k.Backup), absent: "1"},
		{key: "replicate", Codec: codec.Flags(&k.Replicate), absent: "1"},
		{key: "ro", Codec: codec.Flags(&k.ReadOnly), absent: "0"},
		{key: "serial", Codec: codec.Escaped(&k.Serial)},
		{key: "wwn", Codec: codec.Texts(&k.WWN)},
		{key: "model", Codec: codec.Escaped(&k.Model)},
		{key: "vendor", Codec: codec.Texts(&k.Vendor)},
		{key: "product", Codec: codec.Texts(&k.Product)},
		{key: "queues", Codec: codec.Counts(&k.Queues)},
		{key: "scsiblock", Codec: codec.Flags(&k.SCSIBlock), absent: "0"},
		{key: "detect_zeroes", Codec: codec.Flags(&k.DetectZeroes), absent: "1"},
		{key: "rerror", Codec: codec.Texts(&k.ReadError)},
		{key: "werror", Codec: codec.Texts(&k.WriteError)},
		{key: "shared", Codec: codec.Flags(&k.Shared), absent: "0"},
		{key: "snapshot", Codec: codec.Flags(&k.Snapshot), absent: "0"},
	}, geometryParts(k.Geometry), limitParts(k.Limits))
}

// onBuses holds the properties that only disks on some buses have.
//
//nolint:gochecknoglobals // A constant.
var onBuses = map[string][]string{
	"iothread": {"scsi", "virtio"}, "model": {"ide"}, "product": {"scsi"}, "queues": {"scsi"}, "ro": {"scsi", "virtio"},
	"scsiblock": {"scsi"}, "ssd": {"ide", "sata", "scsi"}, "vendor": {"scsi"}, "wwn": {"ide", "sata", "scsi"},
}

// busRejections rejects new properties that no disk on the bus can have.
func busRejections(device, now string, k v1alpha1.MachineDisk) []string {
	disk, err := proxmox.ParseDisk(now)
	if err != nil {
		disk = proxmox.Disk{}
	}
	var no []string
	for _, p := range diskParts(&k) {
		v, buses := ptr.Deref(p.Value, ""), onBuses[p.key]
		wanted := v != "" && v != p.absent && !disk.Options.Has(p.key)
		if wanted && buses != nil && !slices.Contains(buses, BusOf(device)) {
			no = append(no, fmt.Sprintf("disk %q is %s, and disks of %s have no %s", k.Name, device, BusOf(device), p.key))
		}
	}
	return no
}

func geometryParts(g *v1alpha1.MachineDiskGeometry) []part {
	g = cmp.Or(g, &v1alpha1.MachineDiskGeometry{})
	return []part{
		{key: "cyls", Codec: codec.Counts(&g.Cylinders)},
		{key: "heads", Codec: codec.Counts(&g.Heads)},
		{key: "secs", Codec: codec.Counts(&g.Sectors)},
		{key: "trans", Codec: codec.Texts(&g.Translation)},
	}
}

func limitParts(l *v1alpha1.MachineDiskLimits) []part {
	l = cmp.Or(l, &v1alpha1.MachineDiskLimits{})
	return []part{
		{key: "mbps", Codec: codec.Rates(&l.TotalMBps), excludes: []string{"mbps_rd", "mbps_wr"}},
		{key: "mbps_rd", Codec: codec.Rates(&l.ReadMBps), excludes: []string{"mbps"}},
		{key: "mbps_wr", Codec: codec.Rates(&l.WriteMBps), excludes: []string{"mbps"}},
		{key: "mbps_max", Codec: codec.Rates(&l.TotalBurstMBps), needs: "mbps"},
		{key: "mbps_rd_max", Codec: codec.Rates(&l.ReadBurstMBps), needs: "mbps_rd"},
		{key: "mbps_wr_max", Codec: codec.Rates(&l.WriteBurstMBps), needs: "mbps_wr"},
		{key: "iops", Codec: codec.Counts(&l.TotalIOPS), excludes: []string{"iops_rd", "iops_wr"}},
		{key: "iops_rd", Codec: codec.Counts(&l.ReadIOPS), excludes: []string{"iops"}},
		{key: "iops_wr", Codec: codec.Counts(&l.WriteIOPS), excludes: []string{"iops"}},
		{key: "iops_max", Codec: codec.Counts(&l.TotalBurstIOPS), needs: "iops"},
		{key: "iops_rd_max", Codec: codec.Counts(&l.ReadBurstIOPS), needs: "iops_rd"},
		{key: "iops_wr_max", Codec: codec.Counts(&l.WriteBurstIOPS), needs: "iops_wr"},
		{key: "bps_max_length", Codec: codec.Counts(&l.TotalBurstSeconds), needs: "mbps_max"},
		{key: "bps_rd_max_length", Codec: codec.Counts(&l.ReadBurstSeconds), aliases: []string{"bps_rd_length"}, needs: "mbps_rd_max"},
		{key: "bps_wr_max_length", Codec: codec.Counts(&l.WriteBurstSeconds), aliases: []string{"bps_wr_length"}, needs: "mbps_wr_max"},
		{key: "iops_max_length", Codec: codec.Counts(&l.TotalIOPSBurstSeconds), needs: "iops_max"},
		{key: "iops_rd_max_length", Codec: codec.Counts(&l.ReadIOPSBurstSeconds), aliases: []string{"iops_rd_length"}, needs: "iops_rd_max"},
		{key: "iops_wr_max_length", Codec: codec.Counts(&l.WriteIOPSBurstSeconds), aliases: []string{"iops_wr_length"}, needs: "iops_wr_max"},
	}
}

// diskOption returns the option of a disk. A disk that the VM does not have is attached or created, see newDisk. Properties that were declared before and
// no longer are get their former values.
func diskOption(device string, k v1alpha1.MachineDisk, declaredBefore map[string]string, newDisk func() proxmox.Disk) Option {
	parts := withdrawn(diskParts(&k), declaredBefore)
	others := undeclaredParts("file", parts)
	return Option{Name: device, same: sameProperties("file"), allocates: true, others: others, Want: func(now string) (string, bool) {
		if awaitsVolume(k) {
			return "", false
		}
		d, err := proxmox.ParseDisk(now)
		if err != nil {
			d = newDisk()
		}
		declared := overlay(&d.Options, parts...)
		return d.String(), declared || now == ""
	}}
}

// newDisk returns a disk to attach, or to allocate on its storage or the default one: storage:GiB, or storage:0 for a disk that gets the size of its
// content.
func (d Desired) newDisk(k v1alpha1.MachineDisk) proxmox.Disk {
	if volume := d.existingVolume(k); volume != "" {
		disk, err := proxmox.ParseDisk(returningDisk(d.Devices, k.Name))
		if err != nil || disk.Volume != volume {
			return proxmox.Disk{Volume: volume}
		}
		disk.Options.Delete("size")
		return disk
	}
	gib := float64(SizeOf(k)) / float64(proxmox.GiB)
	storage := cmp.Or(ptr.Deref(k.Storage, ""), d.Defaults.Storage)
	disk := proxmox.Disk{Volume: storage + ":" + strconv.FormatFloat(gib, 'f', -1, 64)}
	if k.ImportFrom != nil {
		disk.Volume = storage + ":0"
	}
	overlay(&disk.Options, part{key: "import-from", Codec: codec.Texts(&k.ImportFrom)}, part{key: "format", Codec: codec.Texts(&k.Format)})
	return disk
}

// awaitsVolume reports whether a disk belongs to a Volume that the VM is not known to have. Until it is known, the disk is not changed.
func awaitsVolume(k v1alpha1.MachineDisk) bool {
	return k.VolumeRef != nil && ptr.Deref(k.Volume, "") == ""
}

// existingVolume returns the volume with which a disk is attached: the one that it had before, or the one that the spec names. It is empty for a disk that
// is created again. The disk of a Volume never uses its former volume ID, because another disk may have that name now.
func (d Desired) existingVolume(k v1alpha1.MachineDisk) string {
	if k.VolumeRef != nil {
		return ptr.Deref(k.Volume, "")
	}
	return cmp.Or(volumeIn(returningDisk(d.Devices, k.Name)), ptr.Deref(k.Volume, ""))
}

// SizeOf returns the declared size of a disk in bytes, or 0. Units are binary with and
// without their i.
func SizeOf(k v1alpha1.MachineDisk) proxmox.Size {
	if k.Size == nil {
		return 0
	}
	s, err := proxmox.ParseSize(strings.TrimSuffix(*k.Size, "i"))
	if err != nil {
		return 0 // Admission accepts nothing else.
	}
	return s
}

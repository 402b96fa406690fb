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
	"path"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Move moves a disk to another storage or format.
type Move struct {
	// Name of the disk in the spec, and its device.
	Name, Device string

	// Disk before the move.
	Disk proxmox.Disk

	// Storage and Format of the target. An empty format is the current one.
	Storage, Format string
}

// OwnedBy reports whether PVE stores the disk's volume for a VM. A move deletes its source, whoever owns it.
func (m Move) OwnedBy(vmid int) bool {
	owner, known := VolumeOwner(m.Disk.Volume)
	return known && owner == vmid
}

// OnlyStopped reports whether the disk can only be moved while the VM is stopped, like the state of a TPM.
func (m Move) OnlyStopped() bool { return m.Device == TPMDevice }

// From returns the current storage, with the format if that changes.
func (m Move) From() string {
	if m.Format == "" {
		return m.Disk.Storage()
	}
	return place(m.Disk.Storage(), formatOf(m.Disk.Volume))
}

// To returns the target storage, with the format if that changes.
func (m Move) To() string { return place(m.Storage, m.Format) }

func place(storage, format string) string { return strings.TrimSuffix(storage+" "+format, " ") }

// Moves returns the disks that are to be moved to another storage or format.
func (d Desired) Moves(config Config) []Move {
	var out []Move
	for _, k := range d.Disks {
		device := d.Devices.Disks[k.Name]
		disk, err := proxmox.ParseDisk(config[device])
		if err != nil || disk.CDROM() || disk.Storage() == "" {
			continue
		}
		m := Move{Name: k.Name, Device: device, Disk: disk, Storage: disk.Storage()}
		if k.Storage != nil {
			m.Storage = *k.Storage
		}
		has := formatOf(disk.Volume)
		if k.Format != nil && has != *k.Format {
			m.Format = *k.Format
		}
		// Storages without files have only one format.
		if m.Storage != disk.Storage() || m.Format != "" && has != "" {
			out = append(out, m)
		}
	}
	return append(out, d.firmwareMoves(config)...)
}

// firmwareMoves returns the disks of the firmware that are to be moved to another storage.
func (d Desired) firmwareMoves(config Config) []Move {
	var out []Move
	for _, f := range firmware(d.MachineParameters) {
		disk, err := proxmox.ParseDisk(config[f.device])
		if err != nil || !f.wanted() || f.storage == nil || *f.storage == disk.Storage() {
			continue
		}
		out = append(out, Move{Name: f.field, Device: f.device, Disk: disk, Storage: *f.storage})
	}
	return out
}

// formatOf returns the format of a volume that is a file, or nothing for other volumes.
func formatOf(volume string) string {
	switch ext := strings.TrimPrefix(path.Ext(volume), "."); ext {
	case "raw", "qcow2", "vmdk":
		return ext
	}
	return ""
}

// A Resize changes the size of a disk.
type Resize struct {
	// Name of the disk in the spec, and its device.
	Name, Device string

	// From and To are the current size and the new one.
	From, To proxmox.Size
}

// Resizes returns the disks that are smaller than declared.
func (d Desired) Resizes(config Config) []Resize {
	var out []Resize
	for _, k := range d.Disks {
		device, want := d.Devices.Disks[k.Name], SizeOf(k)
		disk, err := proxmox.ParseDisk(config[device])
		if err != nil {
			continue
		}
		if has, known := disk.Size(); known && want > has {
			out = append(out, Resize{Name: k.Name, Device: device, From: has, To: want})
		}
	}
	return out
}

// A Growth is the additional space that a disk needs on its storage.
type Growth struct {
	// Name of the disk in the spec, and its target storage.
	Name, Storage string

	// Size of the disk, and how much of that is new on the storage, in bytes.
	Size, More proxmox.Size
}

// Growths returns the disks that are to be created, to grow, or to move to another storage, where their full size is new.
func (d Desired) Growths(config Config) []Growth {
	var all []Growth
	for _, k := range d.Disks {
		disk, err := proxmox.ParseDisk(config[d.Devices.Disks[k.Name]])
		if k.VolumeRef != nil || err != nil && d.existingVolume(k) != "" {
			continue
		}
		g := Growth{Name: k.Name, Storage: cmp.Or(ptr.Deref(k.Storage, ""), d.Defaults.Storage), Size: SizeOf(k), More: SizeOf(k)}
		if err == nil {
			g.Storage = cmp.Or(ptr.Deref(k.Storage, ""), disk.Storage())
			has, _ := disk.Size()
			if g.Size = max(g.Size, has); g.Storage == disk.Storage() {
				g.More = g.Size - has
			} else {
				g.More = g.Size
			}
		}
		if g.More > 0 {
			all = append(all, g)
		}
	}
	return all
}

// reOwner finds the VMID in the name of a volume: that of the directory of a file, or that in the name itself. The name of a linked clone contains that of
// its template before its own.
var reOwner = regexp.MustCompile(`^(?:(?:[0-9]+/[^/]+/)?([0-9]+)/[^/]+|(?:base-[^/]+/)?(?:vm|base)-([0-9]+)-[^/]+)$`)

// VolumeOwner returns the VMID of the VM for which PVE stores a volume.
func VolumeOwner(volume string) (int, bool) {
	_, name, _ := strings.Cut(volume, ":")
	m := reOwner.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	id, err := strconv.Atoi(cmp.Or(m[1], m[2]))
	return id, err == nil
}

// attachRejections returns why an existing volume cannot become a disk of the VM.
func (d Desired) attachRejections(k v1alpha1.MachineDisk, config Config) []string {
	volume := d.existingVolume(k)
	owner, known := VolumeOwner(volume)
	switch {
	case !known:
		return []string{fmt.Sprintf("disk %q: volume %s is not named as one that belongs to a VM", k.Name, volume)}
	case owner != d.Identity.VMID:
		return []string{fmt.Sprintf("disk %q: volume %s belongs to VM %d", k.Name, volume, owner)}
	}
	holder := config.Holder(volume)
	for _, other := range d.Disks { // PVE attaches a volume as often as it is requested, and then two devices write to it.
		device := d.Devices.Disks[other.Name]
		if other.Name != k.Name && (device == holder || config[device] == "") && d.existingVolume(other) == volume {
			return []string{fmt.Sprintf("disk %q: volume %s is that of disk %q too: take one of the two off the list", k.Name, volume, other.Name)}
		}
	}
	if BusOf(holder) != "" {
		return []string{fmt.Sprintf("disk %q: volume %s is attached as %s already", k.Name, volume, holder)}
	}
	return nil
}

// Attached returns the existing volumes that a change of the VM's configuration attaches: those that the spec names or that are attached again, and those
// of Volumes. The latter were handed over to the VM, under a name that no other VM has.
func (d Desired) Attached(change Difference, config Config) (named, handedOver []string) {
	for _, k := range d.Disks {
		device := d.Devices.Disks[k.Name]
		volume := d.existingVolume(k)
		switch {
		case volume == "" || config[device] != "" || change.Set[device] == "":
		case k.VolumeRef != nil:
			handedOver = append(handedOver, volume)
		default:
			named = append(named, volume)
		}
	}
	return named, handedOver
}

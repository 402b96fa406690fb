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
	"path"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Move brings a disk to another storage or format.
type Move struct {
	// Name of the disk in the spec, and its device.
	Name, Device string

	// Disk as it is.
	Disk proxmox.Disk

	// Storage and Format to go to. An empty format is as it is.
	Storage, Format string
}

// OwnedBy reports whether PVE holds the disk's volume for a VM: the source of a move is
// deleted, whosever it is.
func (m Move) OwnedBy(vmid int) bool {
	owner, known := volumeOwner(m.Disk.Volume)
	return known && owner == vmid
}

// OnlyStopped reports whether the disk moves while the VM is stopped only, as the state
// of a TPM does.
func (m Move) OnlyStopped() bool { return m.Device == tpmDevice }

// From is where the disk is, with its format if that changes.
func (m Move) From() string {
	if m.Format == "" {
		return m.Disk.Storage()
	}
	return place(m.Disk.Storage(), formatOf(m.Disk.Volume))
}

// To is where the disk goes, with its format if that changes.
func (m Move) To() string { return place(m.Storage, m.Format) }

func place(storage, format string) string { return strings.TrimSuffix(storage+" "+format, " ") }

// Moves are the disks that are on another storage than they should be, or in
// another format.
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
		// Storages without files have one format only.
		if m.Storage != disk.Storage() || m.Format != "" && has != "" {
			out = append(out, m)
		}
	}
	return append(out, d.firmwareMoves(config)...)
}

// firmwareMoves are the disks of the firmware that are on another storage than
// they should be.
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

// formatOf a volume that is a file; empty for others.
func formatOf(volume string) string {
	switch ext := strings.TrimPrefix(path.Ext(volume), "."); ext {
	case "raw", "qcow2", "vmdk":
		return ext
	}
	return ""
}

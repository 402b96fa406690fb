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

// Package amounts computes what resources have of a quota and what they will have, by their specs and status, and by configurations of VMs. The
// enforcement of quotas and the reports on them both count with it.
package amounts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// Disks holds what is known of a VM's disks in addition to its configuration.
type Disks struct {
	// Volumes are the IDs of the volumes that count as Volumes.
	Volumes []string

	// Sizes of detached disks in bytes, by their volume IDs. The configuration does not have them.
	Sizes map[string]int64
}

// A DetachedDisk is a disk whose size only its storage has.
type DetachedDisk struct{ Device, Volume string }

// Detached returns the detached disks of a VM, by its configurations, on storages that a quota limits. It leaves out those that count as Volumes.
func (k Disks) Detached(limits quota.Amounts, configs ...qemu.Config) []DetachedDisk {
	var all []DetachedDisk
	for _, config := range configs {
		for _, device := range config.Unused() {
			volume := config.Volume(device)
			_, limited := limits[quota.Disks(storageOf(volume))]
			known := slices.ContainsFunc(all, func(o DetachedDisk) bool { return o.Volume == volume })
			if limited && !known && !slices.Contains(k.Volumes, volume) {
				all = append(all, DetachedDisk{Device: device, Volume: volume})
			}
		}
	}
	return all
}

// storageOf returns the storage of a volume.
func storageOf(volume string) string {
	storage, _, _ := strings.Cut(volume, ":")
	return storage
}

// Of returns the amounts of a VM with a configuration, except what counts as Volumes.
func (k Disks) Of(config qemu.Config) quota.Amounts {
	a := quota.Amounts{
		quota.VMs: 1, quota.Cores: int64(config.Integer("cores", 1)) * int64(config.Integer("sockets", 1)), quota.Memory: config.Memory(),
	}
	for _, device := range slices.Concat(config.Disks(), config.Unused()) {
		if config.Holder(config.Volume(device)) == device || qemu.BusOf(device) != "" {
			k.add(a, config[device])
		}
	}
	for _, device := range config.NICs() {
		if nic, err := proxmox.ParseNIC(config[device]); err == nil && nic.Bridge() != "" {
			a.Add(quota.Addresses(nic.Bridge()), 1)
		}
	}
	return quota.Most(a, nil)
}

// add adds the disk of an option.
func (k Disks) add(a quota.Amounts, option string) {
	storage, size := k.disk(option)
	a.Add(quota.Disks(storage), size)
}

// disk returns the storage of the disk of an option, and its size in bytes; nothing if it counts as a Volume.
func (k Disks) disk(option string) (storage string, size int64) {
	disk, err := proxmox.ParseDisk(option)
	if err != nil || slices.Contains(k.Volumes, disk.Volume) {
		return "", 0
	}
	storage, size = DiskOf(option)
	return storage, max(size, k.Sizes[disk.Volume])
}

// DiskOf returns the storage and the size in bytes of the disk of an option. The disk may not exist yet: then its volume is a storage and a number of
// GiB.
func DiskOf(option string) (storage string, size int64) {
	disk, err := proxmox.ParseDisk(option)
	if err != nil || disk.Storage() == "" {
		return "", 0
	}
	if has, known := disk.Size(); known {
		return disk.Storage(), int64(has)
	}
	gib, err := strconv.ParseFloat(strings.TrimPrefix(disk.Volume, disk.Storage()+":"), 64)
	if err != nil {
		return disk.Storage(), 0
	}
	return disk.Storage(), int64(gib * float64(proxmox.GiB))
}

// After returns the amounts of a VM with a configuration once it is as desired: its disks with their sizes on the storages that they move to, and the
// detached disks.
func (k Disks) After(d qemu.Desired, config qemu.Config) quota.Amounts {
	wanted := d.Difference(config).After(config)
	a := k.Of(wanted)
	for _, device := range config.Disks() {
		if wanted.Holder(config.Volume(device)) == "" {
			k.add(a, config[device])
		}
	}
	attached := wanted.Disks()
	for _, e := range d.Disks {
		device := d.Devices.Disks[e.Name]
		if e.VolumeRef != nil || !slices.Contains(attached, device) {
			continue
		}
		storage, size := k.disk(wanted[device])
		if storage == "" { // The Volume counts the present size of the disk, not the desired size of another entry.
			addGrowth(a, e, wanted[device])
			continue
		}
		a.Add(quota.Disks(storage), -size)
		a.Add(quota.Disks(cmp.Or(ptr.Deref(e.Storage, ""), storage)), max(size, int64(qemu.SizeOf(e))))
	}
	return quota.Most(a, nil)
}

// addGrowth adds what the disk of a Volume will have on its storage and does not have yet.
func addGrowth(a quota.Amounts, e v1alpha1.MachineDisk, option string) {
	storage, size := DiskOf(option)
	to, wants := cmp.Or(ptr.Deref(e.Storage, ""), storage), max(size, int64(qemu.SizeOf(e)))
	if to == storage {
		wants -= size
	}
	a.Add(quota.Disks(to), wants)
}

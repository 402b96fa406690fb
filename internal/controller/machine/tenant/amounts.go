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

package tenant

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An Inventory lists the VMs and the volumes of a cluster.
type Inventory = quotas.Lister

// Counts reports whether a Volume counts in the quota by itself: the provider has signed its record, and entered it. What others have written
// in it does not make a disk free of charge.
func (c Checks) Counts(ctx context.Context, volume resource.Managed) (bool, error) {
	v, signed := c.Records.Volume(volume)
	if !signed {
		return false, nil
	}
	return c.Quota.Keeper.Counts(ctx, c.Quota.Config, c.Name, string(volume.GetUID()), v.Volume)
}

// disks are what is known of the disks of a VM beside its configuration.
type disks struct {
	// volumes are the IDs of those that count as Volumes.
	volumes []string

	// sizes of detached ones in bytes, by their volume IDs: the configuration does not have them.
	sizes map[string]int64
}

// disksOf reads the sizes of the detached disks of a VM, of those whose storage the quota limits. One that its storage does not list takes nothing.
func (c Checks) disksOf(ctx context.Context, v *vmstate.VM, volumes []string) (disks, error) {
	k := disks{volumes: volumes, sizes: map[string]int64{}}
	limits := c.Limits()
	for _, config := range []qemu.Config{v.Config, v.Active} {
		for _, device := range config.Unused() {
			volume := config.Volume(device)
			storage, _, _ := strings.Cut(volume, ":")
			_, limited := limits[quota.Disks(storage)]
			if _, read := k.sizes[volume]; read || !limited || slices.Contains(volumes, volume) {
				continue
			}
			size, err := quotas.SizeOf(ctx, c.Inventory, v.Node, volume)
			if err != nil {
				return k, errors.Wrapf(err, "cannot tell whether the quota of tenant %q has room: the size of %s, %s of VM %d, is not known",
					c.Name, volume, device, v.VMID)
			}
			k.sizes[volume] = int64(size)
		}
	}
	return k, nil
}

// counted are the volume IDs of the disks of a VM that count with it.
func (k disks) counted(v *vmstate.VM) []string {
	all := append(v.Config.OwnVolumes(v.VMID), v.Active.OwnVolumes(v.VMID)...)
	return slices.DeleteFunc(all, func(volume string) bool { return slices.Contains(k.volumes, volume) })
}

// of returns the amounts of a configuration: what a VM with it has, but for what counts as Volumes.
func (k disks) of(config qemu.Config) quota.Amounts {
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

// add the disk of an option.
func (k disks) add(a quota.Amounts, option string) {
	storage, size := k.disk(option)
	a.Add(quota.Disks(storage), size)
}

// disk returns the storage of the disk of an option, and its size in bytes; nothing if it counts as a Volume.
func (k disks) disk(option string) (storage string, size int64) {
	disk, err := proxmox.ParseDisk(option)
	if err != nil || slices.Contains(k.volumes, disk.Volume) {
		return "", 0
	}
	storage, size = diskOf(option)
	return storage, max(size, k.sizes[disk.Volume])
}

// diskOf returns the disk of an option: its storage and its size in bytes, also of one that is yet to be made, whose volume
// is a storage and a number of GiB.
func diskOf(option string) (storage string, size int64) {
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

// after is what a VM of a configuration has once it is as desired: its disks with their sizes, on the
// storages that they move to, and those that are detached.
func (k disks) after(d qemu.Desired, config qemu.Config) quota.Amounts {
	wanted := d.Difference(config).After(config)
	a := k.of(wanted)
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
		if storage == "" { // The Volume counts what the disk has, and not what it is to have by another entry.
			addGrowth(a, e, wanted[device])
			continue
		}
		a.Add(quota.Disks(storage), -size)
		a.Add(quota.Disks(cmp.Or(ptr.Deref(e.Storage, ""), storage)), max(size, int64(qemu.SizeOf(e))))
	}
	return quota.Most(a, nil)
}

// addGrowth adds what the disk of a Volume is to have that it does not have yet on its storage.
func addGrowth(a quota.Amounts, e v1alpha1.MachineDisk, option string) {
	storage, size := diskOf(option)
	to, wants := cmp.Or(ptr.Deref(e.Storage, ""), storage), max(size, int64(qemu.SizeOf(e)))
	if to == storage {
		wants -= size
	}
	a.Add(quota.Disks(to), wants)
}

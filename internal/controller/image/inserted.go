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

package image

import (
	"context"

	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// insertedIn returns the VMs that have the ISO image of a revision in a drive: now, from their next start, or in a snapshot. It returns an
// OfflineError if a VM that may have it cannot be read. VMs of all nodes count, even with local storage, because high availability starts them where
// there is another replica.
func (u usage) insertedIn(ctx context.Context, m Image, v *view, rev *revision) ([]string, error) {
	disks := vmcache.Disks{MayName: tenancy.MayName(u.tenant)}
	for _, key := range rev.fileKeys() {
		undefined, err := u.reader.undefined(ctx, v, v.leaving(rev, key).place)
		switch {
		case err != nil:
			return nil, err
		case undefined: // The item is forgotten, and not removed.
			continue
		}
		disks.Volumes = append(disks.Volumes, volumeID(rev.Files[key].Storage, contentOf(m.Parameters()), rev.File))
	}
	if len(disks.Volumes) == 0 {
		return nil, nil
	}
	// The users are reported without details. Before a removal, all VMs are read again.
	known := knownVMs{Client: u.reader.client, inventory: u.reader.inventory}
	disks.Snapshots = known.snapshots
	if users, err := vmcache.NewReader(known, u.reader.inventory).Users(ctx, disks); len(users) > 0 || err != nil {
		return users, err
	}
	disks.Snapshots = func(ctx context.Context, ref proxmox.Ref) ([]qemu.Config, error) {
		names, err := u.reader.client.Snapshots(ctx, ref)
		if err != nil {
			return nil, err
		}
		return snapshotConfigs(ctx, u.reader.client, ref, names)
	}
	return vmcache.NewReader(u.reader.client, u.reader.inventory).Users(ctx, disks)
}

// knownVMs is a client that returns what is known of VMs.
type knownVMs struct {
	Client

	inventory Inventory
}

// Pending returns the options of a VM.
func (k knownVMs) Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error) {
	return k.inventory.Options(ctx, ref, inventory.Unchanged)
}

// snapshots returns the configurations of the snapshots of a VM.
func (k knownVMs) snapshots(ctx context.Context, ref proxmox.Ref) ([]qemu.Config, error) {
	tree, err := k.inventory.Snapshots(ctx, ref, inventory.Unchanged)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range tree.Snapshots {
		names = append(names, s.Name)
	}
	return snapshotConfigs(ctx, k.Client, ref, names)
}

// snapshotConfigs returns the configurations of snapshots, except those that were removed meanwhile.
func snapshotConfigs(ctx context.Context, client Client, ref proxmox.Ref, names []string) ([]qemu.Config, error) {
	var all []qemu.Config
	for _, name := range names {
		c, err := client.SnapshotConfig(ctx, ref, name)
		switch {
		case proxmox.IsUnknownReference(err):
			continue
		case err != nil:
			return nil, err
		}
		all = append(all, qemu.Config(c.Values))
	}
	return all, nil
}

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

package storage

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// users returns the guests and the backup jobs that use the storage.
func users(ctx context.Context, v view) ([]string, error) {
	all, err := guestUsers(ctx, v)
	if err != nil {
		return nil, err
	}
	jobs, err := jobUsers(ctx, v)
	return append(all, jobs...), err
}

// jobUsers returns the backup jobs that write to the storage, and would fail without it. If the user may not see jobs, it returns none.
func jobUsers(ctx context.Context, v view) ([]string, error) {
	jobs, err := v.Inventory.Objects(ctx, proxmox.BackupJobCollection(), inventory.Fresh)
	if proxmox.IsAuthorization(err) {
		return nil, nil
	}
	var all []string
	for _, job := range jobs {
		if job.Values["storage"] == v.Name || slices.Contains(strings.Split(job.Values["fleecing"], ","), "storage="+v.Name) {
			all = append(all, "backup job "+job.Name)
		}
	}
	slices.Sort(all)
	return all, err
}

// guestUsers returns the guests that have volumes on the storage. If there are none, it returns those whose configurations name it. Configurations
// can be read while the storage cannot be listed, for example because it is disabled, but they cost calls for each guest.
func guestUsers(ctx context.Context, v view) ([]string, error) {
	guests, err := v.Inventory.Guests(ctx, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	guests = slices.SortedFunc(slices.Values(guests), func(a, b proxmox.Guest) int { return a.VMID - b.VMID })
	owners, err := owners(ctx, v)
	if err != nil || len(owners) > 0 {
		return words(owners, guests), err
	}
	var all []string
	for _, g := range guests {
		ref := g.RefByType()
		uses, err := configured(ctx, v, ref)
		if err != nil {
			return nil, err
		}
		if uses {
			all = append(all, ref.Words())
		}
	}
	return all, nil
}

// owners returns the VMIDs of the guests that have volumes on the storage. Nodes where the storage is not available are skipped, and a shared storage
// is listed once.
func owners(ctx context.Context, v view) (map[int]bool, error) {
	ids := map[int]bool{}
	all, err := v.Inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Name != v.Name || s.Status != available {
			continue
		}
		for _, content := range []string{"images", "rootdir"} {
			volumes, err := v.Client.Volumes(ctx, s.Node, s.Name, content)
			if err != nil {
				return nil, err
			}
			for _, volume := range volumes {
				ids[volume.VMID] = true
			}
		}
		if s.Shared {
			break
		}
	}
	delete(ids, 0)
	return ids, nil
}

// words describes guests by their VMIDs. If no guest of the cluster has a VMID, it is unknown whether it belonged to a VM.
func words(ids map[int]bool, guests []proxmox.Guest) []string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == id })
		if i < 0 {
			all = append(all, "guest "+strconv.Itoa(id))
			continue
		}
		all = append(all, guests[i].RefByType().Words())
	}
	return all
}

// configured reports whether the configuration of a guest names the storage: the current one, one that waits for a restart, or a snapshot.
func configured(ctx context.Context, v view, ref proxmox.Ref) (bool, error) {
	options, err := v.Client.Pending(ctx, ref)
	if err != nil {
		return false, err
	}
	for _, o := range options {
		for _, value := range []*string{o.Value, o.Pending} {
			if value != nil && names(o.Key, *value, v.Name) {
				return true, nil
			}
		}
	}
	snapshots, err := v.Client.Snapshots(ctx, ref)
	if err != nil {
		return false, err
	}
	for _, snapshot := range snapshots {
		c, err := v.Client.SnapshotConfig(ctx, ref, snapshot)
		if err != nil {
			return false, err
		}
		for option, value := range c.Values {
			if names(option, value, v.Name) {
				return true, nil
			}
		}
	}
	return false, nil
}

// names reports whether the value of an option names a storage, or a volume there.
func names(option, value, storage string) bool {
	switch option {
	case "vmstatestorage":
		return value == storage
	case "description", "nameserver": // Their texts and IPv6 addresses contain colons too.
		return false
	}
	for part := range strings.SplitSeq(value, ",") {
		if key, after, found := strings.Cut(part, "="); found && slices.Contains(volumeKeys(), key) {
			part = after
		}
		if strings.HasPrefix(part, storage+":") {
			return true
		}
	}
	return false
}

// volumeKeys returns the keys of property strings whose values are volumes: those of disks,
// of mount points, and of cloud-init's snippets.
func volumeKeys() []string { return []string{"file", "volume", "user", "network", "meta", "vendor"} }

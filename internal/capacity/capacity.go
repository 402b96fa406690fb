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

// Package capacity judges whether the storages of a node have room for disks that are made, grow or move.
package capacity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// An Inventory tells what storages there are, and how they are configured.
type Inventory interface {
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Objects(ctx context.Context, of proxmox.Collection, maxAge time.Duration) ([]proxmox.Object, error)
}

// A Fit is how disks fit on their storages.
type Fit struct {
	// Rejections are disks that do not.
	Rejections []string

	// Warnings are disks that do and may fill their storage, by name.
	Warnings map[string]string
}

// Of disks on the storages of a node. How these are configured is read only if one of them may lack room.
func Of(ctx context.Context, from Inventory, growths []qemu.Growth, node string) (Fit, error) {
	if len(growths) == 0 {
		return Fit{}, nil
	}
	storages, err := from.Storages(ctx)
	if err != nil {
		return Fit{}, err
	}
	found, more := Fit{Warnings: map[string]string{}}, map[string]proxmox.Size{}
	for _, g := range growths {
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == g.Storage && s.Node == node && s.MaxDisk > 0 })
		if i < 0 {
			continue
		}
		more[g.Storage] += g.More
		if err := found.add(ctx, from, g, storages[i], more[g.Storage]); err != nil {
			return Fit{}, err
		}
	}
	return found, nil
}

// add adds what there is to say about a disk of which, with those before it, so much is new on its storage.
func (f *Fit) add(ctx context.Context, from Inventory, g qemu.Growth, s proxmox.Storage, more proxmox.Size) error {
	total, free := proxmox.Size(s.MaxDisk), max(proxmox.Size(s.MaxDisk-s.Disk), 0)
	if g.Size > total {
		f.Rejections = append(f.Rejections, fmt.Sprintf("disk %q of %s is larger than storage '%s' on node %s, which has %s in all",
			g.Name, g.Size, s.Name, s.Node, total))
		return nil
	}
	if more <= free {
		return nil
	}
	thick, err := isThick(ctx, from, s)
	if thick {
		f.Rejections = append(f.Rejections, fmt.Sprintf("disk %q of %s does not fit: storage '%s' on node %s has %s left, and %s are asked for",
			g.Name, g.Size, s.Name, s.Node, free, more))
	} else {
		f.Warnings[g.Name] = fmt.Sprintf("disk %q of %s may fill storage '%s' on node %s: it has %s left, which is %s less than what is asked for",
			g.Name, g.Size, s.Name, s.Node, free, more-free)
	}
	return err
}

// isThick reports whether a storage takes all of a disk when that is made: others take what the guest writes. ZFS does so unless
// the storage is sparse (PVE::Storage::ZFSPoolPlugin, ZFSPlugin), and files are allocated at once with some preallocations
// (PVE::Storage::Plugin), which the list of storages does not tell. A storage whose configuration may not be seen counts as thin.
func isThick(ctx context.Context, from Inventory, s proxmox.Storage) (bool, error) {
	if s.Type == "lvm" {
		return true, nil
	}
	all, err := from.Objects(ctx, proxmox.StorageCollection(), inventory.Current)
	if proxmox.IsAuthorization(err) {
		return false, nil
	}
	i := slices.IndexFunc(all, func(o proxmox.Object) bool { return o.Name == s.Name })
	if i < 0 || err != nil {
		return false, err
	}
	options := all[i].Values
	if s.Type == "zfspool" || s.Type == "zfs" {
		return options["sparse"] != "1", nil
	}
	return slices.Contains([]string{"falloc", "full"}, options["preallocation"]), nil
}

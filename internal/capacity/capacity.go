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

// Package capacity checks whether the storages of a node have room for disks that are created, grow or move.
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

// An Inventory returns the storages and their configurations.
type Inventory interface {
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Objects(ctx context.Context, of proxmox.Collection, maxAge time.Duration) ([]proxmox.Object, error)
}

// A Fit describes how disks fit on their storages.
type Fit struct {
	// Rejections are the disks that do not fit.
	Rejections []string

	// Warnings are the disks that fit but may fill their storage, by name.
	Warnings map[string]string
}

// Of checks disks on the storages of a node. It reads the configuration of the storages only if one of them may lack room.
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

// add adds a rejection or a warning about a disk, if any. The argument more is what this disk and those before it add to its storage.
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

// isThick reports whether a storage allocates all of a disk when the disk is created. Other storages allocate what the guest writes. ZFS is thick
// unless the storage is sparse (PVE::Storage::ZFSPoolPlugin, ZFSPlugin), and files are with some preallocations (PVE::Storage::Plugin), which the list
// of storages does not show. A storage whose configuration may not be read counts as thin.
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

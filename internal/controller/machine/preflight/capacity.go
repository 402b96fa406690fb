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

package preflight

import (
	"context"
	"fmt"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A Capacity is what storages have for disks that are to be made or to grow.
type Capacity struct {
	// Rejections are disks that cannot be.
	Rejections []string

	// Warnings are disks that can be and may fill their storage, by name.
	Warnings map[string]string
}

// thick reports whether a storage takes all of a disk when it is made: others take what
// the guest writes. What ZFS does its list of storages does not tell.
func thick(s proxmox.Storage) bool { return s.Type == "lvm" }

// capacityFor judges disks that are to be made or to grow on the storages of a node.
func capacityFor(growths []qemu.Growth, storages []proxmox.Storage, node string) Capacity {
	found, more := Capacity{Warnings: map[string]string{}}, map[string]proxmox.Size{}
	for _, g := range growths {
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == g.Storage && s.Node == node && s.MaxDisk > 0 })
		if i < 0 {
			continue
		}
		s := storages[i]
		more[s.Name] += g.More
		total, free := proxmox.Size(s.MaxDisk), proxmox.Size(s.MaxDisk-s.Disk)
		switch {
		case g.Size > total:
			found.Rejections = append(found.Rejections, fmt.Sprintf("disk %q of %s is larger than storage '%s' on node %s, which has %s in all",
				g.Name, g.Size, s.Name, node, total))
		case more[s.Name] <= free:
		case thick(s):
			found.Rejections = append(found.Rejections, fmt.Sprintf("disk %q of %s does not fit: storage '%s' on node %s has %s left, and %s are asked for",
				g.Name, g.Size, s.Name, node, max(free, 0), more[s.Name]))
		default:
			found.Warnings[g.Name] = fmt.Sprintf("disk %q of %s may fill storage '%s' on node %s: it has %s left, which is %s less than what is asked for",
				g.Name, g.Size, s.Name, node, max(free, 0), more[s.Name]-max(free, 0))
		}
	}
	return found
}

// CheckCapacity looks whether disks that are to be made or to grow fit on their storages.
func (e *Checks) CheckCapacity(ctx context.Context, growths []qemu.Growth, node string) (Capacity, error) {
	if len(growths) == 0 {
		return Capacity{}, nil
	}
	storages, err := e.Inventory.Storages(ctx)
	if err != nil {
		return Capacity{}, err
	}
	return capacityFor(growths, storages, node), nil
}

// UnknownBridges returns the bridges that a change plugs networks into and that a node does
// not have. What the user may not see is left to PVE.
func (e *Checks) UnknownBridges(ctx context.Context, change qemu.Difference, config qemu.Config, node string) ([]string, error) {
	names := NewBridges(change, config)
	if len(names) == 0 {
		return nil, nil
	}
	bridges, err := e.BridgesWith(ctx, names, node)
	if proxmox.IsAuthorization(err) {
		return nil, nil
	}
	var no []string
	for _, name := range names {
		if !slices.Contains(BridgeNames(bridges), name) && err == nil {
			no = append(no, e.BridgeNotFound(ctx, name, node, bridges))
		}
	}
	return no, err
}

// NewBridges are the bridges of networks that they have not yet.
func NewBridges(change qemu.Difference, config qemu.Config) []string {
	var names []string
	for _, device := range qemu.Config(change.Set).NICs() {
		nic, err := proxmox.ParseNIC(change.Set[device])
		now, nowErr := proxmox.ParseNIC(config[device])
		if err == nil && nic.Bridge() != "" && (nowErr != nil || now.Bridge() != nic.Bridge()) {
			names = append(names, nic.Bridge())
		}
	}
	return names
}

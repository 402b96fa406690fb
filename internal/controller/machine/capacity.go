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

package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A capacity is what storages have for disks that are to be made or to grow.
type capacity struct {
	// rejections are disks that cannot be.
	rejections []string

	// warnings are disks that can be and may fill their storage, by name.
	warnings map[string]string
}

// thick reports whether a storage takes all of a disk when it is made: others take what
// the guest writes. What ZFS does its list of storages does not tell.
func thick(s proxmox.Storage) bool { return s.Type == "lvm" }

// capacityFor judges disks that are to be made or to grow on the storages of a node.
func capacityFor(growths []qemu.Growth, storages []proxmox.Storage, node string) capacity {
	found, more := capacity{warnings: map[string]string{}}, map[string]proxmox.Size{}
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
			found.rejections = append(found.rejections, fmt.Sprintf("disk %q of %s is larger than storage '%s' on node %s, which has %s in all",
				g.Name, g.Size, s.Name, node, total))
		case more[s.Name] <= free:
		case thick(s):
			found.rejections = append(found.rejections, fmt.Sprintf("disk %q of %s does not fit: storage '%s' on node %s has %s left, and %s are asked for",
				g.Name, g.Size, s.Name, node, max(free, 0), more[s.Name]))
		default:
			found.warnings[g.Name] = fmt.Sprintf("disk %q of %s may fill storage '%s' on node %s: it has %s left, which is %s less than what is asked for",
				g.Name, g.Size, s.Name, node, max(free, 0), more[s.Name]-max(free, 0))
		}
	}
	return found
}

// checkCapacity looks whether disks that are to be made or to grow fit on their storages.
func (e *preflight) checkCapacity(ctx context.Context, growths []qemu.Growth, node string) (capacity, error) {
	if len(growths) == 0 {
		return capacity{}, nil
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return capacity{}, err
	}
	return capacityFor(growths, storages, node), nil
}

// warn tells that disks may fill their storages: those given, or all.
func (e *external) warn(m Machine, c capacity, disks ...string) {
	for _, name := range slices.Sorted(maps.Keys(c.warnings)) {
		if len(disks) == 0 || slices.Contains(disks, name) {
			e.record.Event(m, xpevent.Warning(events.ReasonStorageOvercommitted, errors.New(c.warnings[name])))
		}
	}
}

// unknownBridges are bridges that a change plugs networks into and that the VM's node does
// not have. What the user may not see is left to PVE.
func (e planner) unknownBridges(ctx context.Context, change qemu.Difference) ([]string, error) {
	names := e.newBridges(change)
	if len(names) == 0 {
		return nil, nil
	}
	bridges, err := e.checks.bridgesWith(ctx, names, e.vm.Node)
	if proxmox.IsAuthorization(err) {
		return nil, nil
	}
	var no []string
	for _, name := range names {
		if !slices.Contains(bridgeNames(bridges), name) && err == nil {
			no = append(no, fmt.Sprintf("bridge '%s' not found on node %s%s", name, e.vm.Node, conditions.Instead("bridges there", bridgeNames(bridges))))
		}
	}
	return no, err
}

// newBridges are the bridges of networks that they have not yet.
func (e planner) newBridges(change qemu.Difference) []string {
	var names []string
	for _, device := range qemu.Config(change.Set).NICs() {
		nic, err := proxmox.ParseNIC(change.Set[device])
		now, nowErr := proxmox.ParseNIC(e.vm.Config[device])
		if err == nil && nic.Bridge() != "" && (nowErr != nil || now.Bridge() != nic.Bridge()) {
			names = append(names, nic.Bridge())
		}
	}
	return names
}

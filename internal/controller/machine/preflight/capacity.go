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
	"slices"

	"github.com/vitistack/provider-proxmox/internal/capacity"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// CheckCapacity checks whether disks that are to be created or to grow fit on their storages.
func (e *Checks) CheckCapacity(ctx context.Context, growths []qemu.Growth, node string) (capacity.Fit, error) {
	return capacity.Of(ctx, e.Inventory, growths, node)
}

// UnknownBridges returns the bridges that a change attaches networks to and that a node does not have. Bridges that the user may not see are left to PVE.
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

// NewBridges returns the bridges that a change newly attaches networks to.
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

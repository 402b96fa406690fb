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
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// CheckNode returns why a node that is already chosen cannot take a VM.
func CheckNode(nodes []proxmox.Node, name string) error {
	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		switch {
		case n.Name != name:
			names = append(names, n.Name)
		case !n.Online():
			return errors.Errorf("node %q is %s", name, n.Status)
		default:
			return nil
		}
	}
	return conditions.Reject(conditions.Allocating, "node '%s' not found%s", name, conditions.Instead("nodes", names))
}

// CheckStorage returns why disks cannot be on a storage of a node. It names other storages that may be shown as alternatives.
func CheckStorage(storages []proxmox.Storage, name, node string, shows func(storage string) bool) error {
	var holding []string
	for _, s := range storages {
		switch {
		case s.Node != node:
		case s.Name == name && !slices.Contains(s.Content, "images"):
			return conditions.Reject(conditions.Allocating, "storage '%s' does not hold disks: its content is %s", name, strings.Join(s.Content, ", "))
		case s.Name == name:
			return nil
		case slices.Contains(s.Content, "images") && shows(s.Name):
			holding = append(holding, s.Name)
		}
	}
	return conditions.Reject(conditions.Allocating, "storage '%s' not found on node %s%s", name, node, conditions.Instead("storages for disks there", holding))
}

// StorageProblem returns why a disk cannot be on a storage of a node, or an empty string if it can.
func StorageProblem(storage string, storages []proxmox.Storage, node string) string {
	i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == storage && s.Node == node })
	switch {
	case i < 0:
		return fmt.Sprintf("storage '%s' not found on node %s", storage, node)
	case !slices.Contains(storages[i].Content, "images"):
		return fmt.Sprintf("storage '%s' does not hold disks: its content is %s", storage, strings.Join(storages[i].Content, ", "))
	}
	return ""
}

// BridgesWith returns the bridges on a node. A list that may be old suffices if it has all of the names.
func (e *Checks) BridgesWith(ctx context.Context, names []string, node string) ([]proxmox.Bridge, error) {
	there, err := e.Inventory.Bridges(ctx, node, inventory.Stable)
	known := BridgeNames(there)
	missing := func(name string) bool { return !slices.Contains(known, name) }
	if err != nil || !slices.ContainsFunc(names, missing) {
		return there, err
	}
	return e.Inventory.Bridges(ctx, node, inventory.Relaxed)
}

// BridgeNotFound returns the message that a bridge is not among those of a node. PVE silently leaves out bridges that the user may neither use nor see.
func (e *Checks) BridgeNotFound(ctx context.Context, name, node string, there []proxmox.Bridge) string {
	hidden := ""
	if path, err := e.BridgeHidden(ctx, name); err == nil && path != "" {
		hidden = ", or the user may not see it: privilege SDN.Use is missing on " + path
	}
	return fmt.Sprintf("bridge '%s' not found on node %s%s%s", name, node, hidden, e.instead("bridges there", BridgeNames(there), e.Tenant.HidesBridge))
}

// reNodeBridge matches the names of nodes' bridges, and names that no VNet can have: its ID has at most 8 letters and digits
// (PVE::Network::SDN::VnetPlugin).
var reNodeBridge = regexp.MustCompile(`^vmbr[0-9]+$|[^a-zA-Z0-9]|^.{9}|^[^a-zA-Z]`)

// BridgeHidden returns the path on which the user lacks the privilege to see a bridge, if there is one of that name, or an empty string if PVE would
// show it. A VNet is hidden by its zone, which is unknown for a VNet that is not visible.
func (e *Checks) BridgeHidden(ctx context.Context, name string) (string, error) {
	paths := []string{"/sdn/zones/localnetwork/" + name, "/sdn/zones"}
	if reNodeBridge.MatchString(name) {
		paths = paths[:1]
	}
	for _, path := range paths {
		has, err := e.Inventory.Privileges(ctx, path)
		if err != nil || !has["SDN.Use"] && !has["SDN.Audit"] {
			return path, err
		}
	}
	return "", nil
}

// instead returns the end of a message that lists the alternatives to what is missing, as far as the tenant may use them.
func (e *Checks) instead(what string, names []string, hides func(string) bool) string {
	if e.Tenant != nil {
		what += " that the tenant may use"
	}
	return conditions.Instead(what, slices.DeleteFunc(names, hides))
}

// BridgeNames returns the names of bridges.
func BridgeNames(bridges []proxmox.Bridge) []string {
	names := make([]string, 0, len(bridges))
	for _, b := range bridges {
		names = append(names, b.Name)
	}
	return names
}

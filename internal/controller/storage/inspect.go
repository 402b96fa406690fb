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
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TypeAvailable is the condition that is True while the storage can be used on all nodes
// that have it.
const TypeAvailable xpv2.ConditionType = "Available"

// Reasons of the conditions Available and Ready.
const (
	ReasonAvailable   xpv2.ConditionReason = "Available"
	ReasonUnavailable xpv2.ConditionReason = "Unavailable"
	ReasonDisabled    xpv2.ConditionReason = "Disabled"
)

// inspect looks at the storage on each node.
func inspect(ctx context.Context, v view) (config.Findings, error) {
	nodes, err := v.Inventory.Nodes(ctx)
	if err != nil {
		return config.Findings{}, err
	}
	f := config.Findings{Rejected: unknownNode(v.Resource.Parameters().Nodes, nodes)}
	o := v.Resource.Observation()
	o.Type, o.Nodes = typeOf(v.Resource.Parameters()).name, nil
	if !v.Exists {
		return f, nil
	}
	all, err := v.Inventory.Storages(ctx)
	if err != nil {
		return f, err
	}
	for _, s := range all {
		if s.Name == v.Name {
			o.Nodes = append(o.Nodes, v1alpha1.ProxmoxClusterStorageNode{
				Name: s.Node, Available: s.Status == available, Total: s.MaxDisk, Used: s.Disk,
			})
		}
	}
	slices.SortFunc(o.Nodes, func(a, b v1alpha1.ProxmoxClusterStorageNode) int { return strings.Compare(a.Name, b.Name) })
	disabled := v.Resource.Parameters().Disabled
	f.Problems = judge(v, disabled != nil && *disabled)
	return f, nil
}

// available is the status of a storage that can be used.
const available = "available"

// unknownNode is an error for nodes that do not exist, which PVE takes.
func unknownNode(wanted []string, nodes []proxmox.Node) error {
	for _, name := range wanted {
		if !slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == name }) {
			return errors.Errorf("node %q does not exist: correct nodes", name)
		}
	}
	return nil
}

// judge sets the condition Available, and returns the problem that the storage is
// available nowhere.
func judge(v view, disabled bool) []kind.Problem {
	var missing []string
	nodes := v.Resource.Observation().Nodes
	for _, n := range nodes {
		if !n.Available {
			missing = append(missing, n.Name)
		}
	}
	c := xpv2.Condition{Type: TypeAvailable, Status: corev1.ConditionTrue, Reason: ReasonAvailable, LastTransitionTime: metav1.Now()}
	switch {
	case disabled:
		c.Status, c.Reason = corev1.ConditionFalse, ReasonDisabled
	case len(nodes) == 0:
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, ReasonUnavailable, "no node has reported the storage yet: that takes a few seconds"
	case len(missing) > 0:
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, ReasonUnavailable, "not available on "+strings.Join(missing, ", ")
	}
	v.Resource.SetConditions(c.WithObservedGeneration(v.Resource.GetGeneration()))
	if disabled || len(missing) < len(nodes) {
		return nil
	}
	return []kind.Problem{{Reason: ReasonUnavailable, Message: "the storage is available on no node: " + c.Message}}
}

// users of a storage are the guests that have volumes there, and the VMs whose
// configurations name it.
func users(ctx context.Context, v view) ([]string, error) {
	ids := map[int]bool{}
	if err := owners(ctx, v, ids); err != nil {
		return nil, err
	}
	guests, err := v.Inventory.Guests(ctx, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	for _, g := range guests {
		if g.Type != "qemu" || ids[g.VMID] {
			continue
		}
		c, err := v.Inventory.Config(ctx, proxmox.Ref{Node: g.Node, VMID: g.VMID})
		if err != nil {
			return nil, err
		}
		for _, value := range c.Values {
			ids[g.VMID] = ids[g.VMID] || strings.HasPrefix(value, v.Name+":")
		}
	}
	var all []string
	for _, id := range sorted(ids) {
		all = append(all, "VM "+strconv.Itoa(id))
	}
	return all, nil
}

// owners adds the guests that have volumes on the storage. What is not available on a node
// cannot be listed there; a shared storage is listed once.
func owners(ctx context.Context, v view, ids map[int]bool) error {
	all, err := v.Inventory.Storages(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Name != v.Name || s.Status != available {
			continue
		}
		for _, content := range []string{"images", "rootdir"} {
			volumes, err := v.Client.Volumes(ctx, s.Node, s.Name, content)
			if err != nil {
				return err
			}
			for _, volume := range volumes {
				ids[volume.VMID] = ids[volume.VMID] || volume.VMID != 0
			}
		}
		if s.Shared {
			return nil
		}
	}
	return nil
}

// sorted are the VMIDs that are true.
func sorted(ids map[int]bool) []int {
	var all []int
	for id, yes := range ids {
		if yes {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

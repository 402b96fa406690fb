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
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
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

// inspect reads the state of the storage on each node.
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

// unknownNode returns an error for nodes that do not exist. PVE would accept them.
func unknownNode(wanted []string, nodes []proxmox.Node) error {
	for _, name := range wanted {
		if !slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == name }) {
			return errors.Errorf("node %q does not exist: correct nodes", name)
		}
	}
	return nil
}

// judge sets the condition Available, and returns the problem that the storage is available on no node.
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
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, ReasonDisabled, "the storage is out of use: set disabled to false to use it"
	case v.Seen.Values["disable"] == "1":
		c.Status, c.Reason = corev1.ConditionFalse, ReasonDisabled
		c.Message = "it is disabled in Proxmox VE: set disabled: false, or enable it there"
	case len(nodes) == 0:
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, ReasonUnavailable, "no node has reported the storage yet: wait a few seconds"
	case len(missing) > 0:
		c.Status, c.Reason = corev1.ConditionFalse, ReasonUnavailable
		c.Message = "the storage is not available on " + strings.Join(missing, ", ") +
			": check that each node is on and reaches what the storage is on"
	}
	v.Resource.SetConditions(c.WithObservedGeneration(v.Resource.GetGeneration()))
	if disabled || len(missing) < len(nodes) {
		return nil
	}
	return []kind.Problem{{Reason: c.Reason, Message: c.Message}}
}

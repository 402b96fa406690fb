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

// Package nodechoice chooses the node that a VM is to be created on, or returns why there is none.
package nodechoice

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/demand"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An Inventory reads what the choice depends on.
type Inventory interface {
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	PCIMappings(ctx context.Context, maxAge time.Duration) ([]proxmox.PCIMapping, error)
}

// An Isolation separates the tenants that share a cluster: see connect.Isolation.
type Isolation interface {
	SpecCounts(by, other resource.Managed) bool
	AnnotationsCount(other resource.Managed) bool
	GuestCounts(machine resource.Managed, g proxmox.Guest) bool
}

// Defaults of the provider configuration: the node of VMs whose spec names none, the candidates if there is no such node, the preferred ones, and the
// storage.
type Defaults struct {
	Node      string
	Nodes     []string
	Preferred []string
	Storage   string
}

// A Chooser chooses nodes.
type Chooser struct {
	Scheduler *scheduler.Scheduler
	Inventory Inventory
	Networks  networks.Reader
	Checks    *preflight.Checks
	Tenant    tenant.Checks
	Defaults  Defaults

	// Unschedulable has the Machines that no node can take, until something has changed.
	Unschedulable *placement.Queue[object.Machine]

	// SharesCluster returns a function that reports whether another resource belongs to the same cluster. Isolation determines what counts of it.
	SharesCluster func(context.Context) func(resource.Managed) bool
	Isolation     func(context.Context) Isolation

	Kube   client.Client
	Object client.Object // An empty Machine of the same scope.
	Log    logging.Logger
}

// Choose chooses the node of a VM to create, or checks that the node that is already chosen can take it. If no node can, the conditions show the
// error, and the Machine is woken once a node may.
func (c Chooser) Choose(ctx context.Context, m object.Machine, node string, vm demand.VM) (placement.Decision, error) {
	d, err := c.choose(ctx, m, node, vm, c.Scheduler.Decide)
	if err != nil {
		return d, c.unschedulable(m, node, vm, err)
	}
	return d, nil
}

// choose chooses a node. Properties that need a call per node are only read for the chosen node. If that cannot take the VM after all, the next is chosen.
func (c Chooser) choose(ctx context.Context, m object.Machine, node string, vm demand.VM, decide scheduler.DecideFunc) (placement.Decision, error) {
	s, err := c.clusterView(ctx, m, vm)
	if err != nil {
		return placement.Decision{}, err
	}
	r := vm.Request(m, node, c.chosenBy(m, node, vm.Source))
	if len(r.Rules.Nodes) == 0 {
		r.Rules.Nodes, r.NodesOf = c.Defaults.Nodes, "defaultNodes of the provider configuration"
	}
	r.Preferred = c.Defaults.Preferred
	for {
		d, final, err := decide(ctx, s.View, m, vm.Requirements(), func(occupants *placement.Occupancy) (placement.Decision, bool, error) {
			d, err := placement.Place(r, s.nodes, occupants)
			return d, err == nil && (r.Node != "" || s.known[d.Node]), err
		})
		if final || err != nil {
			return d, err
		}
		if err := c.inspectNode(ctx, m, s, d.Node, r.Bridges); err != nil {
			return d, err
		}
	}
}

// chosenBy returns why the node is already chosen, or an empty string if it is not.
func (c Chooser) chosenBy(m object.Machine, node string, s *source.Source) string {
	switch {
	case node == "":
		return ""
	case node == ptr.Deref(m.Parameters().Node, ""):
		return "the spec names it"
	case node == m.GetAnnotations()[object.AnnotationNode]:
		return "it was chosen before"
	case node == c.Defaults.Node:
		return "it is the provider config's default"
	case s == nil || s.Shared:
		return "its Volumes are on local storage there"
	}
	return "the source is there"
}

// unschedulable returns why there is no node for a VM, with the condition that shows it. The Machine waits in the queue until something has changed.
func (c Chooser) unschedulable(m object.Machine, node string, vm demand.VM, err error) error {
	var no *placement.NoFitError
	if !errors.As(err, &no) {
		return err
	}
	c.logRejections(no.Rejections)
	shown := conditions.ValidationError{Aspect: conditions.Allocating, Message: err.Error()}
	switch no.Kind() {
	case placement.Resources:
		shown.Aspect = conditions.Overcommitting
	case placement.Network:
		shown.Aspect = conditions.Networking
	case placement.Outdone, placement.Excluded, placement.Down, placement.Missing:
	}
	// This reconcile later decodes answers of the API server into the Machine.
	waiting, _ := m.DeepCopyObject().(object.Machine)
	vm.MachineParameters = vm.DeepCopy()
	c.Unschedulable.Add(waiting, shown, func(ctx context.Context) error {
		if err := c.stillThere(ctx, waiting); err != nil {
			return err
		}
		_, err := c.choose(ctx, waiting, node, vm, c.Scheduler.Evaluate)
		return err
	})
	return shown
}

// stillThere returns an error if the Machine no longer exists: a Machine that never had a place has nothing that would keep it until another reconcile.
func (c Chooser) stillThere(ctx context.Context, m object.Machine) error {
	now, _ := c.Object.DeepCopyObject().(object.Machine)
	err := c.Kube.Get(ctx, client.ObjectKeyFromObject(m), now)
	if err == nil && now.GetUID() != m.GetUID() {
		err = errors.Errorf("Machine %q was deleted and created again meanwhile", m.GetName())
	}
	return err
}

// logRejections logs the words that operators search for.
func (c Chooser) logRejections(all []placement.Rejection) {
	for _, r := range all {
		if r.Memory > 0 {
			c.Log.Info("Insufficient resources", "node", r.Node, "requested_memory", r.Memory/int64(proxmox.MiB), "available", r.Available/int64(proxmox.MiB))
		}
		if r.Bridge != "" {
			LogBridge(c.Log, r.Bridge, r.Node)
		}
	}
}

// LogBridge logs that a node lacks a bridge, in the words that operators search for.
func LogBridge(log logging.Logger, bridge, node string) {
	log.Info("Bridge not found", "bridge", bridge, "node", node)
}

// A clusterView holds what is known of a cluster when a node is chosen.
type clusterView struct {
	scheduler.View

	nodes []placement.Node

	// known are the nodes that were inspected.
	known map[string]bool
}

// clusterView reads the cluster from data that all Machines share.
func (c Chooser) clusterView(ctx context.Context, m object.Machine, vm demand.VM) (*clusterView, error) {
	shares := c.SharesCluster(context.WithoutCancel(ctx)) // Others call it too, a little later.
	own := c.Isolation(ctx)
	declared, err := c.Scheduler.Nodes(ctx, func(mg resource.Managed) bool { return shares(mg) && own.SpecCounts(m, mg) })
	if err != nil {
		return nil, err
	}
	guests, err := c.Inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return nil, err
	}
	nodes, err := c.Inventory.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	storages, err := c.Inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	isolation := c.Isolation(context.WithoutCancel(ctx)) // As for shares.
	s := &clusterView{View: scheduler.View{
		Guests: guests, Storage: c.Defaults.Storage, Shares: shares, AnnotationsCount: isolation.AnnotationsCount, GuestCounts: isolation.GuestCounts,
	}, known: map[string]bool{}}
	s.nodes = slices.DeleteFunc(scheduler.NodesOf(nodes, storages, declared), func(n placement.Node) bool { return c.Tenant.CheckNode(n.Name) != nil })
	bridges, err := c.Networks.Resolve(ctx, m, c.SharesCluster, c.Tenant) // They may have changed since the Machine was observed.
	for i, n := range s.nodes {
		s.nodes[i].Lacks = bridges.Lacks(n.Name)
	}
	if len(vm.Mappings()) == 0 || err != nil {
		return s, err
	}
	mappings, err := c.Inventory.PCIMappings(ctx, inventory.Relaxed)
	if proxmox.IsAuthorization(err) {
		return s, nil
	}
	s.assign(mappings)
	return s, err
}

// assign assigns the devices of resource mappings to the nodes that have them.
func (s *clusterView) assign(mappings []proxmox.PCIMapping) {
	for i := range s.nodes {
		s.nodes[i].Mappings = []string{}
		for _, m := range mappings {
			if len(m.Devices[s.nodes[i].Name]) > 0 {
				s.nodes[i].Mappings = append(s.nodes[i].Mappings, m.Name)
			}
		}
	}
}

// inspectNode reads the properties of a node that need calls. Properties that the user may not read do not exclude the node.
func (c Chooser) inspectNode(ctx context.Context, m object.Machine, s *clusterView, node string, wanted []string) error {
	s.known[node] = true
	n := &s.nodes[slices.IndexFunc(s.nodes, func(n placement.Node) bool { return n.Name == node })]
	bridges, err := c.Checks.BridgesWith(ctx, wanted, node)
	if err != nil && !proxmox.IsAuthorization(err) {
		return err
	}
	if err == nil {
		n.Bridges = preflight.BridgeNames(bridges)
	}
	missing, err := c.Checks.MissingMedium(ctx, preflight.Media(m.Parameters()), node)
	if missing != nil {
		n.Lacks = missing.Error()
	}
	return err
}

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
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/demand"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// A placer chooses the node of a VM to create.
type placer struct {
	scheduler     *scheduler.Scheduler
	unschedulable *placement.Queue[Machine]
	inventory     Inventory
	networks      networks.Reader
	checks        *preflight.Checks
	tenant        tenant.Checks
	defaults      defaults

	// What counts of other resources, as in external.
	sharesCluster func(context.Context) func(resource.Managed) bool
	isolation     isolationFunc

	kube   client.Client
	object client.Object // An empty Machine of the same scope.
	log    logging.Logger
}

// place chooses the node of a VM to create, or checks that the node that is
// already chosen can take it.
func (p placer) place(ctx context.Context, m Machine, c *creation) error {
	d, err := p.choose(ctx, m, c, p.scheduler.Decide)
	if err != nil {
		return p.unschedulableError(m, c, err)
	}
	if c.node != "" && c.node == m.GetAnnotations()[object.AnnotationNode] {
		return nil // It goes on as it was begun.
	}
	c.decision, c.node, c.placedNode = &d, d.Node, ""
	if c.demand().Elsewhere() && d.Node != c.source.Node {
		c.node, c.placedNode = c.source.Node, d.Node
	}
	return nil
}

// choose chooses a node. What takes a call for each node to learn is asked of the node
// that is chosen only; if that cannot take the VM after all, the next is chosen.
func (p placer) choose(ctx context.Context, m Machine, c *creation, decide scheduler.DecideFunc) (placement.Decision, error) {
	s, err := p.clusterView(ctx, m, c)
	if err != nil {
		return placement.Decision{}, err
	}
	r := c.demand().Request(m, c.node, p.nodeChosenBy(m, c))
	if len(r.Rules.Nodes) == 0 {
		r.Rules.Nodes, r.NodesOf = p.defaults.Nodes, "defaultNodes of the provider configuration"
	}
	for {
		d, final, err := decide(ctx, s.View, m, c.demand().Requirements(), func(occupants *placement.Occupancy) (placement.Decision, bool, error) {
			d, err := placement.Place(r, s.nodes, occupants)
			return d, err == nil && (r.Node != "" || s.known[d.Node]), err
		})
		if final || err != nil {
			return d, err
		}
		if err := p.inspectNode(ctx, m, s, d.Node, r.Bridges); err != nil {
			return d, err
		}
	}
}

// nodeChosenBy returns who has chosen the node, or empty if nobody has.
func (p placer) nodeChosenBy(m Machine, c *creation) string {
	switch {
	case c.node == "":
		return ""
	case c.node == ptr.Deref(m.Parameters().Node, ""):
		return "the spec names it"
	case c.node == m.GetAnnotations()[object.AnnotationNode]:
		return "it was chosen before"
	case c.node == p.defaults.Node:
		return "it is the provider config's default"
	case c.source == nil || c.source.Shared:
		return "its Volumes are on local storage there"
	}
	return "the source is there"
}

// demand is what the VM needs of a node.
func (c *creation) demand() demand.VM {
	return demand.VM{
		Desired: c.Desired, Config: c.sourceConfig(), Source: c.source, Archive: c.archive, Image: c.image, ImageNodes: c.imageNodes,
	}
}

// unschedulableError returns why there is no node for a VM, with the condition that shows it. The Machine waits in the queue until
// something has changed.
func (p placer) unschedulableError(m Machine, c *creation, err error) error {
	var no *placement.NoFitError
	if !errors.As(err, &no) {
		return err
	}
	p.logRejections(no.Rejections)
	shown := conditions.ValidationError{Aspect: conditions.Allocating, Message: err.Error()}
	switch no.Kind() {
	case placement.Resources:
		shown.Aspect = conditions.Overcommitting
	case placement.Network:
		shown.Aspect = conditions.Networking
	case placement.Outdone, placement.Excluded, placement.Down, placement.Missing:
	}
	// This reconcile goes on to decode answers of the API server into the Machine.
	waiting, _ := m.DeepCopyObject().(Machine)
	kept := *c
	kept.MachineParameters = c.DeepCopy()
	p.unschedulable.Add(waiting, shown, func(ctx context.Context) error {
		if err := p.stillThere(ctx, waiting); err != nil {
			return err
		}
		_, err := p.choose(ctx, waiting, &kept, p.scheduler.Evaluate)
		return err
	})
	return shown
}

// stillThere is an error if the Machine is gone: one that never had a place has nothing
// that would keep it until it was looked at once more.
func (p placer) stillThere(ctx context.Context, m Machine) error {
	now, _ := p.object.DeepCopyObject().(Machine)
	err := p.kube.Get(ctx, client.ObjectKeyFromObject(m), now)
	if err == nil && now.GetUID() != m.GetUID() {
		err = errors.Errorf("Machine %q was deleted and created again meanwhile", m.GetName())
	}
	return err
}

// logRejections logs the words that operators search for.
func (p placer) logRejections(all []placement.Rejection) {
	for _, r := range all {
		if r.Memory > 0 {
			p.log.Info("Insufficient resources", "node", r.Node, "requested_memory", r.Memory/int64(proxmox.MiB), "available", r.Available/int64(proxmox.MiB))
		}
		if r.Bridge != "" {
			logBridge(p.log, r.Bridge, r.Node)
		}
	}
}

func logBridge(log logging.Logger, bridge, node string) {
	log.Info("Bridge not found", "bridge", bridge, "node", node)
}

// mayReplaceNode reports whether a node that was chosen before may be given up: a creation
// was never started there, or is known to have failed. One whose outcome is not
// known has to be looked for where it was started.
func mayReplaceNode(tasks *tasktrack.Tracker, m Machine) bool {
	t, ok := tasks.Last(m)
	failed := ok && !t.OK() && tasktrack.CreatesVM(t.Type)
	return failed || meta.GetExternalCreatePending(m).IsZero()
}

// A clusterView is what is known of a cluster when a node is chosen.
type clusterView struct {
	scheduler.View

	nodes []placement.Node

	// known are the nodes that were inspected.
	known map[string]bool
}

// clusterView reads the cluster by what all Machines share.
func (p placer) clusterView(ctx context.Context, m Machine, c *creation) (*clusterView, error) {
	shares := p.sharesCluster(context.WithoutCancel(ctx)) // Others ask it too, a little later.
	specCounts := p.isolation.specCounts(ctx, m)
	declared, err := p.scheduler.Nodes(ctx, func(mg resource.Managed) bool { return shares(mg) && specCounts(mg) })
	if err != nil {
		return nil, err
	}
	guests, err := p.inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return nil, err
	}
	nodes, err := p.inventory.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	storages, err := p.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	isolation := p.isolation(context.WithoutCancel(ctx)) // As of shares.
	s := &clusterView{View: scheduler.View{
		Guests: guests, Storage: p.defaults.Storage, Shares: shares, AnnotationsCount: isolation.AnnotationsCount, GuestCounts: isolation.GuestCounts,
	}, known: map[string]bool{}}
	s.nodes = slices.DeleteFunc(scheduler.NodesOf(nodes, storages, declared), func(n placement.Node) bool { return p.tenant.CheckNode(n.Name) != nil })
	bridges, err := p.networks.Resolve(ctx, m, p.sharesCluster, p.tenant) // They may have changed since the Machine was looked at.
	for i, n := range s.nodes {
		s.nodes[i].Lacks = bridges.Lacks(n.Name)
	}
	if len(c.demand().Mappings()) == 0 || err != nil {
		return s, err
	}
	mappings, err := p.inventory.PCIMappings(ctx, inventory.Relaxed)
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

// inspectNode reads what takes calls to learn of a node. Where the user may not look,
// nothing is held against the node.
func (p placer) inspectNode(ctx context.Context, m Machine, s *clusterView, node string, wanted []string) error {
	s.known[node] = true
	n := &s.nodes[slices.IndexFunc(s.nodes, func(n placement.Node) bool { return n.Name == node })]
	bridges, err := p.checks.BridgesWith(ctx, wanted, node)
	if err != nil && !proxmox.IsAuthorization(err) {
		return err
	}
	if err == nil {
		n.Bridges = preflight.BridgeNames(bridges)
	}
	missing, err := p.checks.MissingMedium(ctx, preflight.Media(m.Parameters()), node)
	if missing != nil {
		n.Lacks = missing.Error()
	}
	return err
}

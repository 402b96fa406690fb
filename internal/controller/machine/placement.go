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
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// place chooses the node of a VM to create, or finds whether the one that is
// settled can take it.
func (e creator) place(ctx context.Context, m Machine, c *creation) error {
	d, err := e.choose(ctx, m, c, e.scheduler.Reservations.Decide)
	if err != nil {
		return e.unschedulableError(m, c, err)
	}
	if c.node != "" && c.node == m.GetAnnotations()[object.AnnotationNode] {
		return nil // It goes on as it was begun.
	}
	c.decision, c.node, c.placedNode = &d, d.Node, ""
	if c.placedElsewhere() && d.Node != c.source.Node {
		c.node, c.placedNode = c.source.Node, d.Node
	}
	return nil
}

// placedElsewhere reports whether a VM that has to be made on the node of its source goes to
// the node that its user's rules lead to from there.
func (c *creation) placedElsewhere() bool {
	return c.source != nil && !c.source.Shared && c.Placement != nil && c.Node == nil && source.IsFull(c.Clone, c.source)
}

// choose a node. What takes a call for each node to learn is asked of the node
// that is chosen only; if that cannot take the VM after all, the next is chosen.
func (e creator) choose(ctx context.Context, m Machine, c *creation, decide decideFunc) (placement.Decision, error) {
	s, err := e.clusterView(ctx, m, c)
	if err != nil {
		return placement.Decision{}, err
	}
	r := c.request(m, e.nodeChosenBy(m, c))
	if len(r.Rules.Nodes) == 0 {
		r.Rules.Nodes, r.NodesOf = e.defaults.Nodes, "defaultNodes of the provider configuration"
	}
	for {
		d, final, err := decide(string(m.GetUID()), c.requirements(), func(reserved map[string]placement.Occupant) (placement.Decision, bool, error) {
			d, err := placement.Place(r, s.nodes, scheduler.Occupants(s.guests, s.machines, reserved, e.defaults.Storage))
			return d, err == nil && (r.Node != "" || s.known[d.Node]), err
		})
		if final || err != nil {
			return d, err
		}
		if err := e.inspectNode(ctx, m, s, d.Node, r.Bridges); err != nil {
			return d, err
		}
	}
}

// nodeChosenBy says who settled the node, if it is.
func (e creator) nodeChosenBy(m Machine, c *creation) string {
	switch {
	case c.node == "":
		return ""
	case c.node == ptr.Deref(m.Parameters().Node, ""):
		return "the spec names it"
	case c.node == m.GetAnnotations()[object.AnnotationNode]:
		return "it was chosen before"
	case c.node == e.defaults.Node:
		return "it is the provider config's default"
	case c.source == nil || c.source.Shared:
		return "its Volumes are on local storage there"
	}
	return "the source is there"
}

// request of a VM to create, with who settled its node.
func (c *creation) request(m Machine, why string) placement.Request {
	need := c.requirements()
	r := placement.Request{
		ID: string(m.GetUID()), Namespace: m.GetNamespace(), Labels: m.GetLabels(), Rules: scheduler.RulesOf(m),
		Node: c.node, Why: why, Current: m.GetAnnotations()[object.AnnotationNode],
		Runs: need.Runs, CPUs: need.CPUs, Memory: need.Memory,
	}
	if c.node != "" {
		return r // What is on a node that is settled is checked with better advice.
	}
	r.Disks, r.Bridges, r.Mappings = need.Disks, c.Bridges(c.sourceConfig()), c.mappings()
	for _, v := range preflight.Media(m.Parameters()) {
		r.Disks = append(r.Disks, placement.Disk{Storage: v.Storage(), Content: v.Content})
	}
	for _, name := range c.Storages(c.sourceConfig()) { // Drives of firmware and cloud-init need no room to speak of.
		r.Disks = append(r.Disks, placement.Disk{Storage: name, Content: scheduler.ContentImages})
	}
	if c.source != nil {
		r.Source = &placement.Source{Name: fmt.Sprintf("the source (VM %d on node %s)", c.source.VMID, c.source.Node)}
		if !c.source.Shared && !c.placedElsewhere() {
			r.Source.Nodes = c.source.Nodes()
		}
	}
	if c.archive != nil {
		r.Source = &placement.Source{Name: "backup " + c.archive.Volume, Nodes: c.archive.Nodes}
		for _, name := range c.archive.Storages() {
			r.Disks = append(r.Disks, placement.Disk{Storage: name, Content: scheduler.ContentImages})
		}
	}
	if c.image != nil && !c.image.Pin.Template {
		r.Source = &placement.Source{Name: fmt.Sprintf("the file of image '%s'", c.image.Pin.Name), Nodes: c.imageNodes}
	}
	return r
}

// requirements of a VM to create, wherever that is.
func (c *creation) requirements() placement.Occupant {
	config := c.sourceConfig()
	return placement.Occupant{
		Runs: scheduler.Runs(c.MachineParameters), CPUs: scheduler.CPUsOf(c.MachineParameters, config), Memory: scheduler.MemoryOf(c.MachineParameters, config),
		Disks: c.room(),
	}
}

// room that the disks of a VM take. Those of a linked clone take none at first,
// but their storage must be there.
func (c *creation) room() []placement.Disk {
	config := c.sourceConfig()
	declared := map[string]v1alpha1.MachineDisk{}
	var all []placement.Disk
	for _, k := range c.Disks {
		device := c.Devices.Disks[k.Name]
		declared[device] = k
		if config[device] == "" && k.VolumeRef == nil {
			all = append(all, scheduler.RoomFor(k, c.Defaults.Storage))
		}
	}
	for _, device := range config.Disks() {
		d, err := proxmox.ParseDisk(config[device])
		if err != nil {
			continue
		}
		all = append(all, c.clonedRoom(d, declared[device])...)
	}
	return all
}

// clonedRoom for a disk of the source: where its clone is made, and where the spec
// has it moved from there.
func (c *creation) clonedRoom(d proxmox.Disk, declared v1alpha1.MachineDisk) []placement.Disk {
	size, _ := d.Size()
	bytes := int64(max(size, qemu.SizeOf(declared)))
	made := placement.Disk{Storage: d.Storage(), Content: scheduler.ContentImages}
	if source.IsFull(c.Clone, c.source) {
		made.Bytes = bytes
	}
	if to := ptr.Deref(declared.Storage, ""); to != "" && to != made.Storage {
		return []placement.Disk{made, {Storage: to, Content: scheduler.ContentImages, Bytes: bytes}}
	}
	return []placement.Disk{made}
}

// mappings that the host devices of a VM are taken from.
func (c *creation) mappings() []string {
	var names []string
	for _, d := range c.PCIDevices {
		if d.Mapping != nil {
			names = append(names, *d.Mapping)
		}
	}
	return names
}

// unschedulableError returns why there is no node for a VM, with the condition that shows it. The Machine waits in the queue until
// something has changed.
func (e creator) unschedulableError(m Machine, c *creation, err error) error {
	var no *placement.NoFitError
	if !errors.As(err, &no) {
		return err
	}
	e.logRejections(no.Rejections)
	shown := conditions.ValidationError{Aspect: conditions.Allocating, Message: err.Error()}
	switch no.Kind() {
	case placement.Resources:
		shown.Aspect = conditions.Overcommitting
	case placement.Network:
		shown.Aspect = conditions.Networking
	case placement.Outdone, placement.Excluded, placement.Down, placement.Missing:
	}
	waiting, _ := m.DeepCopyObject().(Machine)
	e.unschedulable.Add(waiting, shown, func(ctx context.Context) error {
		if err := e.stillThere(ctx, m); err != nil {
			return err
		}
		_, err := e.choose(ctx, m, c, e.scheduler.Reservations.Evaluate)
		return err
	})
	return shown
}

// stillThere is an error if the Machine is gone: one that never had a place has nothing
// that would keep it until it was looked at once more.
func (e creator) stillThere(ctx context.Context, m Machine) error {
	now, _ := e.object.DeepCopyObject().(Machine)
	err := e.kube.Get(ctx, client.ObjectKeyFromObject(m), now)
	if err == nil && now.GetUID() != m.GetUID() {
		err = errors.Errorf("Machine %q was deleted and created again meanwhile", m.GetName())
	}
	return err
}

// logRejections with what operators search for.
func (e creator) logRejections(all []placement.Rejection) {
	for _, r := range all {
		if r.Memory > 0 {
			e.log.Info("Insufficient resources", "node", r.Node, "requested_memory", r.Memory/int64(proxmox.MiB), "available", r.Available/int64(proxmox.MiB))
		}
		if r.Bridge != "" {
			e.logBridge(r.Bridge, r.Node)
		}
	}
}

func (e creator) logBridge(bridge, node string) {
	e.log.Info("Bridge not found", "bridge", bridge, "node", node)
}

// mayReplaceNode reports whether a node that was chosen before may be given up: a creation
// was never started there, or is known to have failed. One whose outcome is not
// known has to be looked for where it was started.
func (e creator) mayReplaceNode(m Machine) bool {
	t, ok := e.tasks.Last(m)
	failed := ok && !t.OK() && tasktrack.CreatesVM(t.Type)
	return failed || meta.GetExternalCreatePending(m).IsZero()
}

// A decideFunc runs a choice of a node for a VM: Decide or Evaluate of placement.Reservations.
type decideFunc func(id string, need placement.Occupant, choose placement.Choice) (placement.Decision, bool, error)

// A clusterView is what is known of a cluster when a node is chosen.
type clusterView struct {
	guests   []proxmox.Guest
	machines []Machine
	nodes    []placement.Node

	// known are the nodes that were inspected.
	known map[string]bool
}

// clusterView the cluster by what all Machines share.
func (e creator) clusterView(ctx context.Context, m Machine, c *creation) (*clusterView, error) {
	members, err := e.scheduler.Members(ctx, e.sharesCluster(ctx))
	if err != nil {
		return nil, err
	}
	guests, err := e.inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return nil, err
	}
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	s := &clusterView{guests: guests, machines: members.Machines, known: map[string]bool{}}
	s.nodes = slices.DeleteFunc(scheduler.NodesOf(nodes, storages, members.Nodes), func(n placement.Node) bool { return e.tenant.Node(n.Name) != nil })
	bridges, err := e.networks.Resolve(ctx, m, e.sharesCluster, e.tenant.HidesBridge) // They may have changed since the Machine was looked at.
	for i, n := range s.nodes {
		s.nodes[i].Lacks = bridges.Lacks(n.Name)
	}
	if len(c.mappings()) == 0 || err != nil {
		return s, err
	}
	mappings, err := e.inventory.PCIMappings(ctx, inventory.Relaxed)
	if proxmox.IsAuthorization(err) {
		return s, nil
	}
	s.assign(mappings)
	return s, err
}

// assign the devices of resource mappings to the nodes that have them.
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

// inspectNode a node for what takes calls to learn. Where the user may not look,
// nothing is held against the node.
func (e creator) inspectNode(ctx context.Context, m Machine, s *clusterView, node string, wanted []string) error {
	s.known[node] = true
	n := &s.nodes[slices.IndexFunc(s.nodes, func(n placement.Node) bool { return n.Name == node })]
	bridges, err := e.checks.BridgesWith(ctx, wanted, node)
	if err != nil && !proxmox.IsAuthorization(err) {
		return err
	}
	if err == nil {
		n.Bridges = preflight.BridgeNames(bridges)
	}
	missing, err := e.checks.MissingMedium(ctx, preflight.Media(m.Parameters()), node)
	if missing != nil {
		n.Lacks = missing.Error()
	}
	return err
}

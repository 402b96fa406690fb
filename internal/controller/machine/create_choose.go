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
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/demand"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/nodechoice"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A creator decides how a VM is created, and checks that it can be.
type creator struct {
	checker creationChecks
	nodes   nodechoice.Chooser
	spec    specReader

	client    vmCreator
	inventory Inventory
	reader    *vmcache.Reader
	tasks     *tasktrack.Tracker
	kube      client.Client
	sources   source.Finder
	backups   restore.Finder
	images    images.Reader
	volumes   volumes.Reader
	addresses ipam.Reader
	password  *password.Source
	checks    *preflight.Checks
	tenant    tenant.Checks
	defaults  defaults

	sharesCluster func(context.Context) func(resource.Managed) bool
}

// creator returns the creator of this reconcile.
func (e *external) creator(ctx context.Context) creator {
	return creator{
		checker: creationChecks{inventory: e.inventory, checks: e.checks, tenant: e.tenant, noCloud: e.noCloud(), log: e.log},
		nodes: nodechoice.Chooser{
			Scheduler: e.scheduler, Unschedulable: e.unschedulable, Inventory: e.inventory, Networks: e.networks, Checks: e.checks, Tenant: e.tenant,
			Defaults: nodechoice.Defaults{
				Node: e.defaults.Node, Nodes: e.defaults.Nodes, Preferred: e.defaults.Preferred, Storage: e.defaults.Storage,
			},
			SharesCluster: e.sharesCluster, Isolation: e.isolation, Kube: e.kube, Object: e.object, Log: e.log,
		},
		spec:   e.spec(),
		client: e.client, inventory: e.inventory, reader: e.reader, tasks: e.tasks, kube: e.kube,
		sources: e.sources, backups: e.backupFinder(ctx), images: e.images, volumes: e.volumes, addresses: e.addresses, password: e.password,
		checks: e.checks, tenant: e.tenant, defaults: e.defaults, sharesCluster: e.sharesCluster,
	}
}

// prepare decides how a VM is created, and checks that it can be. It decides again if placement has chosen a node that has another usable template.
func (e creator) prepare(ctx context.Context, m Machine, id qemu.Identity) (*creation, error) {
	if err := e.spec.pooled.Wait(); err != nil {
		return nil, err
	}
	image, err := e.chooseImage(ctx, m)
	if err != nil {
		return nil, err
	}
	c, err := e.prepareFrom(ctx, m, id, image, e.preferredNode(m))
	if err != nil {
		return nil, err
	}
	if node := cmp.Or(c.goesTo, c.madeOn); c.source != nil && node != c.source.Node && c.source.On(node) {
		return e.prepareFrom(ctx, m, id, image, node)
	}
	return c, nil
}

// preferredNode returns the node whose template is cloned if several nodes have one.
func (e creator) preferredNode(m Machine) string {
	node := ptr.Deref(m.Parameters().Node, "")
	if node == "" && !mayReplaceNode(e.tasks, m) {
		node = m.GetAnnotations()[object.AnnotationNode]
	}
	if node == "" && m.Parameters().Placement == nil {
		node = e.defaults.Node
	}
	return node
}

// prepareFrom prepares a VM that is created from an Image, if the spec names one. If there are several templates, it uses the one on the given node.
func (e creator) prepareFrom(ctx context.Context, m Machine, id qemu.Identity, image *imageref.Choice, from string) (*creation, error) {
	c := &creation{desired: e.spec.desired(m, id)}
	c.Created = true
	var err error
	if c.MachineParameters, err = secretref.WithSSHKeys(ctx, e.kube, m, c.MachineParameters); err != nil {
		return nil, err
	}
	if err = e.importFrom(ctx, c, image); err != nil {
		return nil, err
	}
	if c.source, err = e.sources.Find(ctx, m, image, from); err != nil {
		return nil, err
	}
	if c.madeOn, err = e.chooseNode(ctx, m, c.source); err != nil {
		return nil, err
	}
	if err := c.findBackup(ctx, m, e.backups); err != nil {
		return nil, err
	}
	if c.madeOn, err = c.nodeWithImage(m); err != nil {
		return nil, err
	}
	if c.madeOn, err = e.nodeWithVolumes(ctx, m, c.madeOn); err != nil {
		return nil, err
	}
	if c.madeOn, err = e.nodeWithMedia(ctx, m, c.madeOn); err != nil {
		return nil, err
	}
	if c.madeOn, err = e.nodeWithNetworks(m, c.madeOn); err != nil {
		return nil, err
	}
	if err := e.preparePlace(ctx, m, c); err != nil {
		return nil, err
	}
	c.settleImage()
	if err := c.findPassword(ctx, m, e.password); err != nil {
		return nil, err
	}
	if err := c.checkNoCloud(ctx, m, e.checker.noCloud); err != nil {
		return nil, err
	}
	if err := e.tenant.Creation(c.Desired, c.sourceConfig(), c.madeOn); err != nil {
		return nil, err
	}
	if err := e.checker.check(ctx, c); err != nil {
		return nil, err
	}
	return c, e.checker.checkCreatePrivileges(ctx, m, c)
}

// preparePlace checks what does not depend on the node of a VM, and chooses the node.
func (e creator) preparePlace(ctx context.Context, m Machine, c *creation) (err error) {
	// Nothing exists yet, so that devices assigned by an earlier attempt are void.
	if c.Devices, err = (qemu.Devices{}).Assign(m.Parameters(), c.sourceConfig()); err != nil {
		return conditions.ValidationError{Aspect: conditions.Allocating, Message: err.Error()}
	}
	if err := e.checker.checkStoragesVisible(ctx, c); err != nil {
		return err
	}
	prohibited, err := e.checks.ForbiddenChanges(ctx, c.Difference(c.sourceConfig()), c.sourceConfig(), c.ha().VersionRequirements(&vmstate.VM{})...)
	if err != nil {
		return err
	}
	if no := slices.Concat(c.Rejections(c.sourceConfig()), prohibited, c.startError()); len(no) > 0 {
		return conditions.Reject(conditions.Allocating, "%s", strings.Join(no, "; "))
	}
	return e.place(ctx, m, c)
}

// chooseNode returns the node on which a VM must be created, or none if placement is to choose one. An earlier decision stands unless the spec now
// names another node, that node is offline, the creation there was not started or has failed, or a VM that no longer exists had moved there from its
// source.
func (e creator) chooseNode(ctx context.Context, m Machine, s *source.Source) (string, error) {
	wanted := ptr.Deref(m.Parameters().Node, "")
	before := m.GetAnnotations()[object.AnnotationNode]
	off, err := e.reader.NodeUnreachable(ctx, before)
	local := s != nil && !s.Shared
	moved := local && before != s.Node
	if err != nil || before != "" && !off && !moved && (wanted == before || wanted == "" && !mayReplaceNode(e.tasks, m)) {
		return before, err
	}
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil {
		return "", err
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n proxmox.Node) bool { return e.tenant.CheckNode(n.Name) != nil })
	if local && wanted != "" && wanted != s.Node {
		return s.Node, s.CheckMigratable(m.Parameters(), nodes)
	}
	if wanted == "" && (!local || s.Node == e.defaults.Node) && m.Parameters().Placement == nil {
		wanted = e.defaults.Node
	}
	if wanted == "" {
		return "", nil
	}
	return wanted, preflight.CheckNode(nodes, wanted)
}

// nodeWithVolumes returns the chosen node, or the node that has the Volumes on local storage.
func (e creator) nodeWithVolumes(ctx context.Context, m Machine, chosen string) (string, error) {
	storages, err := e.inventory.Storages(ctx)
	if err != nil || !volumeref.Lists(m.Parameters()) {
		return chosen, err
	}
	node, err := e.volumes.Node(ctx, m, storages, e.sharesCluster(ctx))
	if node != "" && chosen != "" && node != chosen && err == nil {
		err = conditions.Reject(conditions.Allocating,
			"the VM is to be on node %s, and its Volumes are on local storage of node %s: set node to that, or take them off disks",
			chosen, node)
	}
	return cmp.Or(node, chosen), err
}

// nodeWithMedia returns the chosen node if all media are there. Otherwise placement is to choose a node that has them, unless the spec names the node.
func (e creator) nodeWithMedia(ctx context.Context, m Machine, chosen string) (string, error) {
	if chosen == "" {
		return "", nil
	}
	missing, err := e.checks.MissingMedia(ctx, m.Parameters(), chosen)
	if missing == nil || err != nil {
		return chosen, err
	}
	if m.Parameters().Node != nil || m.Parameters().NamesTemplate() || m.Parameters().TemplateRef != nil || m.Parameters().Clone != nil {
		return "", missing
	}
	return "", nil
}

// nodeWithNetworks returns the chosen node if the bridges that networks name by NodeNetworks are applied there. Otherwise placement is to choose a
// node, unless the spec names the node.
func (e creator) nodeWithNetworks(m Machine, chosen string) (string, error) {
	if no := e.spec.bridges.Problems(); len(no) > 0 {
		return "", conditions.Reject(conditions.Networking, "%s", strings.Join(no, "; "))
	}
	why := e.spec.bridges.Lacks(chosen)
	switch {
	case chosen == "", why == "", chosen == m.GetAnnotations()[object.AnnotationNode] && !mayReplaceNode(e.tasks, m):
		return chosen, nil
	case m.Parameters().Node != nil:
		return "", conditions.Reject(conditions.Networking, "the VM cannot be made on node %s: %s", chosen, why)
	}
	return "", nil
}

// place chooses the node on which the VM is created, or checks that the node that is already chosen can take it.
func (e creator) place(ctx context.Context, m Machine, c *creation) error {
	vm := c.demand()
	d, err := e.nodes.Choose(ctx, m, c.madeOn, vm)
	if err != nil || c.madeOn != "" && c.madeOn == m.GetAnnotations()[object.AnnotationNode] {
		return err // The creation continues as it was begun.
	}
	c.decision, c.madeOn, c.goesTo = &d, d.Node, ""
	if vm.Elsewhere() && d.Node != c.source.Node {
		c.madeOn, c.goesTo = c.source.Node, d.Node
	}
	return nil
}

// demand returns what the VM needs of a node.
func (c *creation) demand() demand.VM {
	return demand.VM{
		Desired: c.Desired, Config: c.sourceConfig(), Source: c.source, Archive: c.archive, Image: c.image, ImageNodes: c.imageNodes,
	}
}

// mayReplaceNode reports whether a node that was chosen before may be given up: a creation was never started there, or is known to have failed. A
// creation with an unknown outcome must be looked for where it was started.
func mayReplaceNode(tasks *tasktrack.Tracker, m Machine) bool {
	t, ok := tasks.Last(m)
	failed := ok && !t.OK() && tasktrack.CreatesVM(t.Type)
	return failed || meta.GetExternalCreatePending(m).IsZero()
}

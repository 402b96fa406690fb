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
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A creator decides how a VM is created, and checks that it can be.
type creator struct {
	checker creationChecks
	placer  placer
	spec    specReader

	client    VMCreator
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

// creationChecks find whether what a VM needs is there, and whether the user may make the VM of it.
type creationChecks struct {
	inventory Inventory
	checks    *preflight.Checks
	tenant    tenant.Checks
	noCloud   cloudinit.Keeper
	log       logging.Logger
}

// creator returns what decides how a VM is created.
func (e *external) creator(ctx context.Context) creator {
	return creator{
		checker: creationChecks{inventory: e.inventory, checks: e.checks, tenant: e.tenant, noCloud: e.noCloud(), log: e.log},
		placer: placer{
			scheduler: e.scheduler, unschedulable: e.unschedulable, inventory: e.inventory, networks: e.networks, checks: e.checks, tenant: e.tenant,
			defaults: e.defaults, sharesCluster: e.sharesCluster, isolation: e.isolation, kube: e.kube, object: e.object, log: e.log,
		},
		spec:   e.spec(),
		client: e.client, inventory: e.inventory, reader: e.reader, tasks: e.tasks, kube: e.kube,
		sources: e.sources, backups: e.backupFinder(ctx), images: e.images, volumes: e.volumes, addresses: e.addresses, password: e.password,
		checks: e.checks, tenant: e.tenant, defaults: e.defaults, sharesCluster: e.sharesCluster,
	}
}

// prepare decides how a VM is created, and checks that it can be. It is decided once more
// if placement has chosen a node that has another template which will do.
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
	if node := cmp.Or(c.placedNode, c.node); c.source != nil && node != c.source.Node && c.source.On(node) {
		return e.prepareFrom(ctx, m, id, image, node)
	}
	return c, nil
}

// preferredNode is the node whose template is cloned if several nodes have one.
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

// prepareFrom prepares a VM that is made from an Image, if the spec names one, with the template on a node, if there are
// several.
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
	if c.node, err = e.chooseNode(ctx, m, c.source); err != nil {
		return nil, err
	}
	if err := c.findBackup(ctx, m, e.backups); err != nil {
		return nil, err
	}
	if c.node, err = c.nodeWithImage(m); err != nil {
		return nil, err
	}
	if c.node, err = e.nodeWithVolumes(ctx, m, c.node); err != nil {
		return nil, err
	}
	if c.node, err = e.nodeWithMedia(ctx, m, c.node); err != nil {
		return nil, err
	}
	if c.node, err = e.nodeWithNetworks(m, c.node); err != nil {
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
	if err := e.tenant.Creation(c.Desired, c.sourceConfig(), c.node); err != nil {
		return nil, err
	}
	if err := e.checker.check(ctx, c); err != nil {
		return nil, err
	}
	return c, e.checker.checkCreatePrivileges(ctx, m, c)
}

// preparePlace checks what does not depend on the node of a VM, and chooses that.
func (e creator) preparePlace(ctx context.Context, m Machine, c *creation) (err error) {
	// Nothing is there yet, so that what an earlier attempt assigned is void.
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
	return e.placer.place(ctx, m, c)
}

// startError says why a VM that is to run would not start. What its source has no better is not for us to judge.
func (c *creation) startError() []string {
	if !scheduler.Runs(c.MachineParameters) {
		return nil
	}
	source := c.sourceConfig()
	return validate.StartError(qemu.State{Active: source, Config: c.Difference(source).After(source)})
}

// chooseNode is the node that a VM has to be created on, or none if placement is
// to choose one. What was decided before stands, unless the spec has come to name
// another node, that node is offline, nothing came of it, or it is where a VM that is
// gone had moved from its source.
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

// check looks whether what the spec names exists where the VM is to be.
func (e creationChecks) check(ctx context.Context, c *creation) error {
	if err := e.checkStorages(ctx, c); err != nil {
		return err
	}
	var err error
	if c.capacity, err = e.checks.CheckCapacity(ctx, c.Growths(c.sourceConfig()), c.node); err != nil {
		return err
	}
	if no := c.capacity.Rejections; len(no) > 0 {
		return conditions.Reject(conditions.Allocating, "%s", strings.Join(no, "; "))
	}
	source := c.sourceConfig()
	named, handedOver := c.Attached(c.Difference(source), source)
	if missing, err := e.checks.MissingVolume(ctx, append(named, handedOver...), c.node); missing != nil || err != nil {
		return cmp.Or(err, missing)
	}
	return e.checkBridges(ctx, c)
}

// checkStorages looks at the node that the VM is created on, and at the one that
// it goes to from there.
func (e creationChecks) checkStorages(ctx context.Context, c *creation) error {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	if c.archive != nil {
		if err := c.archive.CheckStorages(storages, c.node, "restore", e.tenant.AllowsStorage); err != nil {
			return err
		}
	}
	for _, name := range c.Storages(c.sourceConfig()) {
		if err := preflight.CheckStorage(storages, name, c.node, e.tenant.AllowsStorage); err != nil {
			return err
		}
	}
	for _, name := range c.targetStorages() {
		if err := preflight.CheckStorage(storages, name, cmp.Or(ptr.Deref(c.Node, ""), c.placedNode), e.tenant.AllowsStorage); err != nil {
			return err
		}
	}
	return nil
}

// targetStorages are the storages that the disks of a clone need on the node that it
// goes to after it was made.
func (c *creation) targetStorages() []string {
	if to := cmp.Or(ptr.Deref(c.Node, ""), c.placedNode); c.source == nil || c.source.Shared || to == "" || to == c.node {
		return nil
	}
	names := c.Storages(c.sourceConfig())
	for _, device := range c.sourceConfig().Disks() {
		if d, err := proxmox.ParseDisk(c.sourceConfig()[device]); err == nil {
			names = append(names, d.Storage())
		}
	}
	return names
}

// checkBridges does without the check if the user may not list bridges.
func (e creationChecks) checkBridges(ctx context.Context, c *creation) error {
	names := c.Bridges(c.sourceConfig())
	if len(names) == 0 {
		return nil
	}
	bridges, err := e.checks.BridgesWith(ctx, names, c.node)
	if proxmox.IsAuthorization(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(preflight.BridgeNames(bridges), name) {
			logBridge(e.log, name, c.node)
			return conditions.Reject(conditions.Networking, "%s", e.checks.BridgeNotFound(ctx, name, c.node, bridges))
		}
	}
	return nil
}

// checkStoragesVisible checks the privilege to see the storages that a VM is to be on: those that may not be seen would not be
// found.
func (e creationChecks) checkStoragesVisible(ctx context.Context, c *creation) error {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	names := c.Storages(c.sourceConfig())
	for _, device := range c.sourceConfig().Disks() {
		storage, _, _ := strings.Cut(c.sourceConfig().Volume(device), ":")
		names = append(names, storage)
	}
	var needs []validate.PrivilegeRequirement
	for _, name := range names {
		if !slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == name }) && name != "" {
			needs = append(needs, preflight.StorageReadPrivilege(name))
		}
	}
	return e.checks.CheckPrivilegesOfNew(ctx, fmt.Sprintf("create VM %d", c.Identity.VMID), needs)
}

// checkCreatePrivileges checks the privileges for the creation of a VM and what is to be done to it from then on, if it is to be changed
// at all. What PVE checks itself before it makes anything is left to it.
func (e creationChecks) checkCreatePrivileges(ctx context.Context, m Machine, c *creation) error {
	if !kind.Manages(m) {
		return nil
	}
	change := c.change()
	at := change.At
	needs := []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.Allocate"), at.RequiredPrivileges("VM.Audit")}
	cloned, err := e.clonePrivileges(ctx, c, at)
	if err != nil {
		return err
	}
	needs = append(needs, cloned...)
	more, err := c.featureNeeds(ctx, e.noCloud, at)
	if err != nil {
		return err
	}
	for _, f := range more {
		needs = append(needs, f.Needs...)
	}
	err = e.checks.CheckPrivilegesOfNew(ctx, fmt.Sprintf("create VM %d", c.Identity.VMID), needs)
	return validate.NameFields(err, change, more...)
}

// clonePrivileges are those of what makes a clone the VM that is wanted: it gets its UUID, and
// loses the mark in its description.
func (e creationChecks) clonePrivileges(ctx context.Context, c *creation, at validate.Place) ([]validate.PrivilegeRequirement, error) {
	if c.source == nil && c.archive == nil {
		return preflight.ImportPrivileges(c.MachineParameters, at), nil
	}
	config := c.sourceConfig()
	change := c.withPassword(c.Difference(config))
	needs := append(validate.RequiredPrivileges(change, config, at), at.RequiredPrivileges("VM.Config.HWType"), at.RequiredPrivileges("VM.Config.Options"))
	for _, r := range c.Resizes(config) {
		storage, _, _ := strings.Cut(config.Volume(r.Device), ":")
		needs = append(needs, at.RequiredPrivileges("VM.Config.Disk"), validate.On("/storage/"+storage, "Datastore.AllocateSpace"))
	}
	for _, v := range c.Moves(config) {
		needs = append(needs, at.RequiredPrivileges("VM.Config.Disk"), validate.On("/storage/"+v.Storage, "Datastore.AllocateSpace"))
	}
	attached, err := e.checks.NetworkPrivileges(ctx, change, config, c.node)
	if err != nil || c.archive == nil {
		return append(needs, attached...), err
	}
	restored, err := c.archive.Privileges(ctx, e.checks, c.node)
	return slices.Concat(needs, attached, restored), err
}

// nodeWithVolumes is the chosen node, or that which the Volumes on local storage are on.
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

// nodeWithMedia is the chosen node if all media are there. Otherwise placement is
// to choose one that has them, unless the spec names the node.
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

// nodeWithNetworks is the chosen node if the bridges that networks name by NodeNetworks are applied there. Otherwise placement is to
// choose one, unless the spec names the node.
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

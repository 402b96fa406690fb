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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A creator decides how a VM is created, and checks that it can be.
type creator struct{ *external }

// prepare decides how a VM is created, and checks that it can be. It is decided once more
// if placement has chosen a node that has another template which will do.
func (e creator) prepare(ctx context.Context, m Machine, id qemu.Identity) (*creation, error) {
	image, err := e.chooseImage(ctx, m)
	if err != nil {
		return nil, err
	}
	c, err := e.prepareFrom(ctx, m, id, image, e.preferredNode(m))
	if err != nil {
		return nil, err
	}
	if node := cmp.Or(c.placedNode, c.node); c.source != nil && node != c.source.Node && c.source.on(node) {
		return e.prepareFrom(ctx, m, id, image, node)
	}
	return c, nil
}

// preferredNode is the node whose template is cloned if several nodes have one.
func (e creator) preferredNode(m Machine) string {
	node := ptr.Deref(m.Parameters().Node, "")
	if node == "" && !e.mayReplaceNode(m) {
		node = m.GetAnnotations()[object.AnnotationNode]
	}
	if node == "" && m.Parameters().Placement == nil {
		node = e.defaults.Node
	}
	return node
}

// prepareFrom an Image, if the spec names one, with the template on a node, if there are
// several.
func (e creator) prepareFrom(ctx context.Context, m Machine, id qemu.Identity, image *imageref.Choice, from string) (*creation, error) {
	c := &creation{desired: planner(e).desired(m, id)}
	c.Created = true
	var err error
	if err = e.importFrom(ctx, m, c, image); err != nil {
		return nil, err
	}
	if c.source, err = e.findSource(ctx, m, image, from); err != nil {
		return nil, err
	}
	if c.node, err = e.chooseNode(ctx, m, c.source); err != nil {
		return nil, err
	}
	if c.node, err = c.nodeWithImage(m); err != nil {
		return nil, err
	}
	if c.node, err = e.nodeWithMedia(ctx, m, c.node); err != nil {
		return nil, err
	}
	if err := e.preparePlace(ctx, m, c); err != nil {
		return nil, err
	}
	c.settleImage(m)
	if err := (passwordFeature{external: e.external}).preparePassword(ctx, m, c); err != nil {
		return nil, err
	}
	if err := (cloudInitFeature{external: e.external}).checkImage(ctx, m, c); err != nil {
		return nil, err
	}
	if err := e.check(ctx, c); err != nil {
		return nil, err
	}
	return c, e.checkCreatePrivileges(ctx, m, c)
}

// preparePlace checks what does not depend on the node of a VM, and chooses that.
func (e creator) preparePlace(ctx context.Context, m Machine, c *creation) (err error) {
	// Nothing is there yet, so that what an earlier attempt assigned is void.
	if c.Devices, err = (qemu.Devices{}).Assign(m.Parameters(), c.sourceConfig()); err != nil {
		return conditions.ValidationError{Aspect: conditions.Allocating, Message: err.Error()}
	}
	if err := e.checkStoragesVisible(ctx, c); err != nil {
		return err
	}
	prohibited, err := e.checks.forbiddenChanges(ctx, c.Difference(c.sourceConfig()), c.sourceConfig(), c.haVersionRequirements(&vmstate.VM{})...)
	if err != nil {
		return err
	}
	if no := slices.Concat(c.Rejections(c.sourceConfig()), prohibited, c.startError()); len(no) > 0 {
		return conditions.Reject(conditions.Allocating, "%s", strings.Join(no, "; "))
	}
	return e.place(ctx, m, c)
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
func (e creator) chooseNode(ctx context.Context, m Machine, s *source) (string, error) {
	wanted := ptr.Deref(m.Parameters().Node, "")
	before := m.GetAnnotations()[object.AnnotationNode]
	off, err := e.reader.NodeUnreachable(ctx, before)
	local := s != nil && !s.Shared
	moved := local && before != s.Node
	if err != nil || before != "" && !off && !moved && (wanted == before || wanted == "" && !e.mayReplaceNode(m)) {
		return before, err
	}
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil {
		return "", err
	}
	if local && wanted != "" && wanted != s.Node {
		return s.Node, checkMigratable(m.Parameters(), s, nodes)
	}
	if wanted == "" && (!local || s.Node == e.defaults.Node) && m.Parameters().Placement == nil {
		wanted = e.defaults.Node
	}
	if wanted == "" {
		return "", nil
	}
	return wanted, explainNoFit(nodes, wanted)
}

// checkMigratable says why a clone cannot be made on the source's node and go to the
// node that the spec names from there, which is what is done where its disks are
// on local storage.
func checkMigratable(p *v1alpha1.MachineParameters, s *source, nodes []proxmox.Node) error {
	if err := explainNoFit(nodes, *p.Node); err != nil {
		return err
	}
	if !fullClone(p.Clone, s) {
		return conditions.Reject(conditions.Allocating, "%s (VMID %d) is on node %s with local storage, where a linked clone has to stay: "+
			"set clone.full to true for one on node %s", s.Name, s.VMID, s.Node, *p.Node)
	}
	return nil
}

// explainNoFit says why a node that is settled cannot take a VM.
func explainNoFit(nodes []proxmox.Node, name string) error {
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

// check looks whether what the spec names exists where the VM is to be.
func (e creator) check(ctx context.Context, c *creation) error {
	if err := e.checkStorages(ctx, c); err != nil {
		return err
	}
	var err error
	if c.capacity, err = e.checks.checkCapacity(ctx, c.Growths(c.sourceConfig()), c.node); err != nil {
		return err
	}
	if no := c.capacity.rejections; len(no) > 0 {
		return conditions.Reject(conditions.Allocating, "%s", strings.Join(no, "; "))
	}
	return e.checkBridges(ctx, c)
}

// checkStorages looks at the node that the VM is created on, and at the one that
// it goes to from there.
func (e creator) checkStorages(ctx context.Context, c *creation) error {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	for _, name := range c.Storages(c.sourceConfig()) {
		if err := checkStorage(storages, name, c.node); err != nil {
			return err
		}
	}
	for _, name := range c.targetStorages() {
		if err := checkStorage(storages, name, cmp.Or(ptr.Deref(c.Node, ""), c.placedNode)); err != nil {
			return err
		}
	}
	return nil
}

func checkStorage(storages []proxmox.Storage, name, node string) error {
	var holding []string
	for _, s := range storages {
		switch {
		case s.Node != node:
		case s.Name == name && !slices.Contains(s.Content, "images"):
			return conditions.Reject(conditions.Allocating, "storage '%s' does not hold disks: its content is %s", name, strings.Join(s.Content, ", "))
		case s.Name == name:
			return nil
		case slices.Contains(s.Content, "images"):
			holding = append(holding, s.Name)
		}
	}
	return conditions.Reject(conditions.Allocating, "storage '%s' not found on node %s%s", name, node, conditions.Instead("storages for disks there", holding))
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
func (e creator) checkBridges(ctx context.Context, c *creation) error {
	names := c.Bridges(c.sourceConfig())
	if len(names) == 0 {
		return nil
	}
	bridges, err := e.checks.bridgesWith(ctx, names, c.node)
	if proxmox.IsAuthorization(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(bridgeNames(bridges), name) {
			e.logBridge(name, c.node)
			return conditions.Reject(conditions.Networking, "bridge '%s' not found on node %s%s", name, c.node, conditions.Instead("bridges there", bridgeNames(bridges)))
		}
	}
	return nil
}

// bridgesWith the names on a node. A list that may be old is good enough if it has
// them all.
func (e *preflight) bridgesWith(ctx context.Context, names []string, node string) ([]proxmox.Bridge, error) {
	there, err := e.inventory.Bridges(ctx, node, inventory.Stable)
	known := bridgeNames(there)
	missing := func(name string) bool { return !slices.Contains(known, name) }
	if err != nil || !slices.ContainsFunc(names, missing) {
		return there, err
	}
	return e.inventory.Bridges(ctx, node, inventory.Relaxed)
}

func bridgeNames(bridges []proxmox.Bridge) []string {
	names := make([]string, 0, len(bridges))
	for _, b := range bridges {
		names = append(names, b.Name)
	}
	return names
}

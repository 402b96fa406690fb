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

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/migration"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A migrator is the part of a Client that moves VMs and their disks.
type migrator interface {
	CheckMigration(ctx context.Context, ref proxmox.Ref) (proxmox.MigrationCheck, error)
	Migrate(ctx context.Context, ref proxmox.Ref, o proxmox.MigrateOptions) (proxmox.UPID, error)
	MoveDisk(ctx context.Context, ref proxmox.Ref, o proxmox.MoveOptions) (proxmox.UPID, error)
}

// A migrateFeature moves the VM to another node.
type migrateFeature struct {
	noopFeature

	client    migrator
	inventory Inventory
	checks    *preflight.Checks
	tasks     *tasktrack.Tracker
	bridges   *networks.Bridges
	vm        *vmstate.VM
}

func (migrateFeature) lasts(Machine) bool { return true }

func (f migrateFeature) complete(ctx context.Context, m Machine, d *desired) ([]string, error) {
	var err error
	d.EjectStorages, err = f.ejectStorages(ctx, m, *d)
	return nil, err
}

func (f migrateFeature) plan(ctx context.Context, m Machine, p *plan) (proposal, error) {
	next := proposal{annotations: p.nodeAnnotation(f.vm, m.GetAnnotations()[object.AnnotationNode])}
	if p.move.Target == "" || meta.WasDeleted(m) {
		return next, nil
	}
	var err error
	next.steps, next.rejections, err = f.migrateSteps(ctx, m, p)
	return next, err
}

// migrationNeeds returns the privileges that a VM needs which moves to another node after its creation.
func (c *creation) migrationNeeds(at validate.Place) []validate.PrivilegeRequirement {
	if to := cmp.Or(ptr.Deref(c.Node, ""), c.goesTo, c.madeOn); to != c.madeOn {
		return []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.Migrate")}
	}
	return nil
}

// migration returns the migration that a changed node of the spec asks for. An annotation contains the node that was acted on last: a move of the VM
// in PVE is accepted.
func (d desired) migration(v *vmstate.VM, acted string) (migration.Migration, bool) {
	wanted := d.targetNode(v, acted)
	if wanted == "" || wanted == v.Node || wanted == acted || acted == "" {
		return migration.Migration{}, false
	}
	return migration.Migration{Target: wanted}, true
}

// ejectStorages returns the storages whose ISO images a VM that is to migrate must leave behind, and finds again on the target node. A running VM
// keeps them.
func (f migrateFeature) ejectStorages(ctx context.Context, m Machine, d desired) (map[string]bool, error) {
	_, goes := d.migration(f.vm, m.GetAnnotations()[object.AnnotationNode])
	if !goes || f.vm.Status.Running() || meta.WasDeleted(m) {
		return nil, nil
	}
	storages, err := f.inventory.Storages(ctx)
	local := map[string]bool{}
	for _, s := range storages {
		local[s.Name] = !s.Shared
	}
	return local, err
}

// nodeAnnotation saves the requested node once the VM is there.
func (d desired) nodeAnnotation(v *vmstate.VM, acted string) map[string]string {
	notes := map[string]string{}
	if wanted := d.targetNode(v, acted); wanted != "" && wanted == v.Node && wanted != acted {
		notes[object.AnnotationNode] = wanted
	}
	if d.goesTo != "" && (v.Node == d.goesTo || d.targetNode(v, acted) != d.goesTo) {
		notes[object.AnnotationTarget] = ""
	}
	return notes
}

// targetNode returns the node that the VM is to be on: the node of the spec, or the node that placement has chosen if the VM was created on another
// node and has not been moved since.
func (d desired) targetNode(v *vmstate.VM, acted string) string {
	if d.Node == nil && (v.Node == acted || v.Node == d.goesTo) {
		return d.goesTo
	}
	return ptr.Deref(d.Node, "")
}

// migrateSteps returns the steps that move the VM to the node of the spec, or why it cannot move.
func (f migrateFeature) migrateSteps(ctx context.Context, m Machine, p *plan) ([]step, []string, error) {
	j := p.move
	shown := v1alpha1.MachinePendingChange{Option: "node", Current: f.vm.Node, Desired: j.Target}
	if f.vm.Lock() != "" || f.vm.HAFailed() {
		return []step{{difference: shown}}, nil, nil // PVE does not check then, or leaves it to HA, which has given the VM up.
	}
	no, err := f.targetProblem(ctx, m, p)
	if err != nil || no != "" {
		return nil, []string{no}, err
	}
	check, err := f.client.CheckMigration(ctx, f.vm.Ref)
	if proxmox.IsAuthorization(err) {
		return nil, []string{err.Error()}, nil // Everything else is still observed.
	}
	if err != nil {
		return nil, nil, err
	}
	if no := j.Rejections(check, f.vm, p.change.After(f.vm.Config)); len(no) > 0 {
		return nil, no, nil
	}
	storages, err := f.inventory.Storages(ctx)
	if err != nil {
		return nil, nil, err
	}
	no = cmp.Or(volumes.Pinned(p.MachineParameters, p.touching, check.LocalDisks), volumes.InSnapshot(check, storages))
	if no != "" {
		return nil, []string{no}, nil
	}
	if volumes.Awaits(p.touching, check.LocalDisks) {
		return []step{{difference: shown}}, nil, nil // The rest of the plan detaches the disk, which its Volume takes out of the VM.
	}
	o := proxmox.MigrateOptions{Target: j.Target, Online: f.vm.Status.Running(), TargetStorage: j.TargetStorage()}
	local := localVolumes(check)
	o.WithLocalDisks = len(local) > 0
	return []step{{
		difference: shown,
		call: func(ctx context.Context) (proxmox.UPID, error) {
			if f.vm.Status.HAManaged && f.tasks.Asked(m, "node "+j.Target, haDelay) {
				return "", nil
			}
			const undone = "the VM does not migrate, since its disks on local storage would be deleted here"
			if err := f.checks.CheckSourcesUnshared(ctx, f.vm.Ref, undone, local...); err != nil {
				return "", err
			}
			return f.client.Migrate(ctx, f.vm.Ref, o)
		},
	}}, nil, nil
}

// localVolumes returns the volumes that a migration copies, and deletes on the node that the VM leaves.
func localVolumes(check proxmox.MigrationCheck) []string {
	var volumes []string
	for _, d := range check.LocalDisks {
		if !d.CDROM {
			volumes = append(volumes, d.Volume)
		}
	}
	return volumes
}

// targetProblem returns why a VM cannot move to a node, or would miss something there.
func (f migrateFeature) targetProblem(ctx context.Context, m Machine, p *plan) (string, error) {
	node := p.move.Target
	nodes, err := f.inventory.Nodes(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(nodes, func(n proxmox.Node) bool { return n.Name == node })
	switch {
	case i < 0:
		return fmt.Sprintf("node '%s' not found", node), nil
	case !nodes[i].Online():
		return fmt.Sprintf("node %q is %s: the VM cannot migrate to it now", node, nodes[i].Status), nil
	}
	if why := f.bridges.Lacks(node); why != "" {
		return fmt.Sprintf("the VM cannot migrate to node %s: %s", node, why), nil
	}
	isos := slices.DeleteFunc(preflight.Media(m.Parameters()), func(v preflight.Medium) bool {
		return !p.EjectStorages[v.Storage()] || v.Content != preflight.ContentISO
	})
	missing, err := f.checks.MissingMedium(ctx, isos, node)
	if missing != nil {
		return missing.Error(), err
	}
	return "", err
}

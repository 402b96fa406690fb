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
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// A feature is a part of the spec that takes more than a change of options. Each has its
// file. One that the spec does not declare is skipped.
type feature interface {
	// observe reads what the feature has to know of the VM, and what it decides by that
	// alone.
	observe(ctx context.Context, m Machine, d *desired) error

	// complete adds what depends on the devices of the VM to what is desired before its
	// options are compared, or returns why that cannot be.
	complete(ctx context.Context, m Machine, d *desired) (rejections []string, err error)

	// plan returns what brings the VM nearer to the spec, once the change of options is planned. Acts, which come last, take out of the plan what
	// they would undo.
	plan(ctx context.Context, m Machine, p *plan) (proposal, error)

	// lasts reports whether what the feature has found holds until the Machine, its VM or what an evaluation compares of the cluster, of Secrets
	// and of ConfigMaps changes. Those that read other resources, or depend on the time, have to look each time.
	lasts(m Machine) bool
}

// A proposal is what a feature has to do.
type proposal struct {
	// steps in their order.
	steps []step

	// rejections are why the spec cannot be carried out.
	rejections []string

	// annotations to write before anything is done.
	annotations map[string]string

	// staleImages are NoCloud images that are no longer of use, and moves are disks that go along with a migration.
	staleImages []nocloud.Ref
	moves       []qemu.Move

	// power is a change of power where the spec asks for none, restart what is decided about a restart; nil for nothing.
	power   power.Change
	restart *restart.Decision

	// action is a power action that is due, and laterAction one that waits for the guest to boot.
	action, laterAction *v1alpha1.MachinePowerAction
}

// noopFeature has the methods of a feature that has nothing to say.
type noopFeature struct{}

func (noopFeature) observe(context.Context, Machine, *desired) error { return nil }

func (noopFeature) complete(context.Context, Machine, *desired) ([]string, error) { return nil, nil }

func (noopFeature) plan(context.Context, Machine, *plan) (proposal, error) { return proposal{}, nil }

func (noopFeature) lasts(Machine) bool { return false }

// features returns the features that the spec, or what the provider keeps of the VM, has
// anything to do for, in the order in which their steps are taken.
func (e *external) features(m Machine) []feature {
	p, a := m.Parameters(), m.GetAnnotations()
	var all []feature
	for _, row := range []struct {
		declared bool
		feature  feature
	}{
		{
			p.CloudInit != nil || a[object.AnnotationImages] != "" || e.vm.HasImage() || e.tasks.DriveStale(m),
			cloudInitFeature{noCloud: e.noCloud(), secrets: e.reads, tasks: e.tasks, vm: e.vm},
		},
		{p.CloudInit != nil, e.passwordFeature()},
		{true, poolFeature{client: e.client, inventory: e.inventory, vm: e.vm}}, // The status shows the pool, declared or not.
		{p.HighAvailability != nil || a[object.AnnotationHARules] != "", e.haFeature(m)},
		{true, e.powerFeature()},
		{len(e.vm.Pending) > 0 || a[object.AnnotationLastRestart] != "" || p.MaintenanceWindow != nil, e.restartFeature()},
		{p.PowerAction != nil || m.Observation().PowerAction != nil, e.powerActionFeature()},
		// Entries that have left their list are known by the annotation alone.
		{
			hasDisks(p) || a[object.AnnotationDevices] != "{}",
			disksFeature{
				client: e.client, inventory: e.inventory, checks: e.checks, tenant: e.tenant, tasks: e.tasks, cache: e.cache, warn: e.warn, vm: e.vm,
			},
		},
		{
			p.Node != nil || a[object.AnnotationTarget] != "",
			migrateFeature{client: e.client, inventory: e.inventory, checks: e.checks, tasks: e.tasks, bridges: e.bridges, vm: e.vm},
		},
		// They are the last, since they drop what the others plan.
		{p.Rollback != nil || a[object.AnnotationRollback] != "", e.actFeature(rollbacks)},
		{a[object.AnnotationRecreation] != "", remainsFeature{recreator: e.recreator}},
		{p.Recreation != nil, e.actFeature(recreations)},
		{p.RestoreInPlace != nil || a[object.AnnotationRestoreInPlace] != "", e.actFeature(restoresInPlace)},
	} {
		if row.declared {
			all = append(all, row.feature)
		}
	}
	return all
}

// featureNeeds returns the privileges that features take on a VM that is yet to be created.
func (c *creation) featureNeeds(ctx context.Context, k cloudinit.Keeper, at validate.Place) ([]validate.FieldRequirement, error) {
	noCloud, err := c.noCloudNeeds(ctx, k, at)
	return []validate.FieldRequirement{
		{Field: "cloudInit", Needs: noCloud},
		{Field: "highAvailability", Needs: c.haNeeds()},
		{Field: "powerState", Needs: c.powerNeeds(at)},
		{Field: "node or placement", Needs: c.migrationNeeds(at)},
	}, err
}

// planFeatures adds to the plan what features have to do. A VM that is being deleted takes no
// steps.
func planFeatures(ctx context.Context, m Machine, all []feature, p *plan) error {
	for _, f := range all {
		next, err := f.plan(ctx, m, p)
		if err != nil {
			return err
		}
		if meta.WasDeleted(m) {
			next.steps = nil
		}
		next.addTo(p)
	}
	return nil
}

// addTo adds to the plan what a feature has to do.
func (next proposal) addTo(p *plan) {
	p.steps = append(p.steps, next.steps...)
	p.rejections = append(p.rejections, next.rejections...)
	maps.Copy(p.annotations, next.annotations)
	p.staleImages = append(p.staleImages, next.staleImages...)
	for _, d := range next.moves {
		p.move.AddDisk(d)
	}
	if p.power == power.Keep {
		p.power = next.power
	}
	if next.restart != nil {
		p.restart = *next.restart
	}
	p.action, p.laterAction = cmp.Or(p.action, next.action), cmp.Or(p.laterAction, next.laterAction)
}

// hasDisks reports whether the spec declares a disk.
func hasDisks(p *v1alpha1.MachineParameters) bool {
	return len(p.Disks) > 0 || p.EFIDisk != nil || p.TPM != nil
}

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

// A feature is a part of the spec that needs more than a change of options. Each has its file. Features that the spec does not declare are skipped.
type feature interface {
	// observe reads the state of the VM that the feature needs, and makes the decisions that depend on that alone.
	observe(ctx context.Context, m Machine, d *desired) error

	// complete adds what depends on the devices of the VM to the desired state before its options are compared, or returns why it cannot.
	complete(ctx context.Context, m Machine, d *desired) (rejections []string, err error)

	// plan returns the changes that bring the VM closer to the spec, once the change of options is planned. Acts come last, and remove what they would
	// undo from the plan.
	plan(ctx context.Context, m Machine, p *plan) (proposal, error)

	// lasts reports whether the results of the feature hold until the Machine or its VM changes, or what an evaluation compares of the cluster, of
	// Secrets and of ConfigMaps. Features that read other resources, or depend on the time, must be checked each time.
	lasts(m Machine) bool
}

// A proposal contains the changes that a feature needs.
type proposal struct {
	// steps in their order.
	steps []step

	// rejections are why the spec cannot be carried out.
	rejections []string

	// annotations to write before anything is done.
	annotations map[string]string

	// staleImages are NoCloud images that are no longer used, and moves are disks that move along with a migration.
	staleImages []nocloud.Ref
	moves       []qemu.Move

	// power is a change of power where the spec asks for none, restart is the decision about a restart. The zero values stand for none.
	power   power.Change
	restart *restart.Decision

	// action is a power action that is due, and laterAction one that waits for the guest to boot.
	action, laterAction *v1alpha1.MachinePowerAction
}

// noopFeature provides empty methods for features.
type noopFeature struct{}

func (noopFeature) observe(context.Context, Machine, *desired) error { return nil }

func (noopFeature) complete(context.Context, Machine, *desired) ([]string, error) { return nil, nil }

func (noopFeature) plan(context.Context, Machine, *plan) (proposal, error) { return proposal{}, nil }

func (noopFeature) lasts(Machine) bool { return false }

// features returns the features that the spec, or what the provider keeps of the VM, requires, in the order in which their steps are taken.
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
		{true, poolFeature{client: e.client, inventory: e.inventory, vm: e.vm}}, // The status shows the pool even if the spec declares none.
		{p.HighAvailability != nil || a[object.AnnotationHARules] != "", e.haFeature(m)},
		{true, e.powerFeature()},
		{len(e.vm.Pending) > 0 || a[object.AnnotationLastRestart] != "" || p.MaintenanceWindow != nil, e.restartFeature()},
		{p.PowerAction != nil || m.Observation().PowerAction != nil, e.powerActionFeature()},
		// Entries that were removed from their list are known only by the annotation.
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
		// These are last, because they drop what the others plan.
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

// featureNeeds returns the privileges that features need on a VM that is yet to be created.
func (c *creation) featureNeeds(ctx context.Context, k cloudinit.Keeper, at validate.Place) ([]validate.FieldRequirement, error) {
	noCloud, err := c.noCloudNeeds(ctx, k, at)
	return []validate.FieldRequirement{
		{Field: "cloudInit", Needs: noCloud},
		{Field: "highAvailability", Needs: c.haNeeds()},
		{Field: "powerState", Needs: c.powerNeeds(at)},
		{Field: "node or placement", Needs: c.migrationNeeds(at)},
	}, err
}

// planFeatures adds the proposals of features to the plan. A VM that is being deleted takes no steps.
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

// addTo adds the proposal to the plan.
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

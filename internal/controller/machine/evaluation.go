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
	"reflect"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/agentpoll"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/health"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/settled"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// stillHolds reports whether the last evaluation of a VM that was up to date holds. The Machine, its connection, its VM and what others may have
// changed in the cluster must be as they were, and no task may work on the VM. The VM is taken from the cache if more than its version is compared.
func (e *external) stillHolds(ctx context.Context, m Machine, id qemu.Identity) bool {
	k, o := e.settled.Evaluated(m), m.Observation()
	if k == nil || k.Sum != e.sum || !e.now().Before(k.Until) || e.tasks.Active(m) || !e.inventory.Watches(string(m.GetUID()), id.VMID) ||
		k.VM != e.cache.Version(m, id, e.inventory) {
		return false
	}
	busy, err := e.tasksBefore.Busy(id.VMID)
	off, unknown := e.reader.NodeUnreachable(ctx, o.Node)
	guests, unlisted := e.inventory.Guests(ctx, inventory.Current)
	if busy || off || errors.Join(err, unknown, unlisted) != nil {
		return false
	}
	cluster := o.Cluster
	recordCluster(ctx, e.inventory, o) // The connection may now lead to another cluster.
	switch g, _ := proxmox.GuestOf(guests, id.VMID); {
	case g.Pool != o.Pool || o.Cluster != cluster:
		return false
	case k.VMAlone:
		return true
	case e.vm == nil:
		e.vm = e.cache.Cached(m, id, e.inventory, false)
	}
	return e.vm != nil && e.dependencies().hold(ctx, m, id, k)
}

// dependencies are the inputs of an evaluation in addition to the VM.
type dependencies struct {
	vm       *vmstate.VM
	bridges  *networks.Bridges
	pooled   *ipam.Addresses
	tenant   tenant.Checks
	health   health.Checker
	agent    agentpoll.Poll
	noCloud  cloudinit.Keeper
	password *password.Source
	reads    *secretref.Reads
}

// dependencies returns the inputs of an evaluation of the VM.
func (e *external) dependencies() dependencies {
	return dependencies{
		vm: e.vm, bridges: e.bridges, pooled: e.pooled, tenant: e.tenant, health: health.Checker{Inventory: e.inventory, Checks: e.checks, VM: e.vm},
		agent: agentOf(e), noCloud: e.noCloud(), password: e.password, reads: e.reads,
	}
}

// hold reports whether the VM still belongs to its tenant, its bridges and storages are there, its guest reports the same, and the resources that its
// spec refers to are unchanged.
func (d dependencies) hold(ctx context.Context, m Machine, id qemu.Identity, k *settled.Evaluation) bool {
	same := reflect.DeepEqual(d.bridges, k.Bridges) && reflect.DeepEqual(d.pooled, k.Addresses)
	if !same || !d.tenant.HasVM(ctx, id.VMID) || !d.health.DependenciesHold(ctx) {
		return false
	}
	d.agent.Run(m)
	same = d.vm.AgentUnavailable == k.AgentUnavailable && reflect.DeepEqual(d.vm.Interfaces, k.Interfaces)
	return same && d.cloudInitHolds(ctx, m, id) && d.reads.Unchanged(ctx, k.Read)
}

// cloudInitHolds reports whether the VM has the intended image of cloud-init data. It reads a generated password in order to publish it.
func (d dependencies) cloudInitHolds(ctx context.Context, m Machine, id qemu.Identity) bool {
	if !d.noCloud.Holds(ctx, m, id) {
		return false
	}
	if c := m.Parameters().CloudInit; c != nil && ptr.Deref(c.GeneratePassword, false) {
		_, err := d.password.Of(ctx, m, c)
		return err == nil
	}
	return true
}

// evaluation returns the result of an observation of the VM in the form that is kept. It returns nil if there is anything to do, to show or to wait
// for, or if the result does not last.
func (e *external) evaluation(ctx context.Context, m Machine, seen managed.ExternalObservation, err error) *settled.Evaluation {
	if err != nil || e.vm == nil || !seen.ResourceUpToDate || meta.WasDeleted(m) || !lasts(m, e.features(m)) || e.cache.Predicted(m) {
		return nil
	}
	for _, t := range []xpv2.ConditionType{xpv2.TypeReady, kind.TypeUpToDate, conditions.TypeNetworkConfigured, conditions.TypeResourcesAllocated} {
		if m.GetCondition(t).Status != corev1.ConditionTrue {
			return nil
		}
	}
	if tenancy.WouldWaitFor(m) != nil {
		return nil // The quota may have room again.
	}
	boots := e.vm.Status.Running() && e.vm.Status.Uptime < health.BootTime
	if boots || m.GetCondition(conditions.TypeBootable).Message == health.EmptyDisks {
		return nil // Data that the guest writes to its disks may change this.
	}
	if sum, err := e.sumOf(m); err != nil || sum != e.sum {
		return nil // The observation has changed the status, which must be written first.
	}
	id, err := object.IdentityOf(m)
	version := e.cache.Version(m, id, e.inventory)
	if err != nil || version == 0 || !e.tenant.HasVM(ctx, id.VMID) {
		return nil
	}
	alone := e.bridges == nil && e.pooled == nil && e.tenant.Tenant == nil && standsAlone(m, e.vm)
	return &settled.Evaluation{
		Sum: e.sum, VM: version, Until: e.now().Add(e.vm.StatusLasts(m.Observation())), VMAlone: alone,
		Bridges: e.bridges, Addresses: e.pooled, Read: e.reads.Versions(), Interfaces: e.vm.Interfaces, AgentUnavailable: e.vm.AgentUnavailable,
	}
}

// standsAlone reports whether a VM without a tenant, and whose networks refer to nothing, depends on nothing else either.
func standsAlone(m Machine, v *vmstate.VM) bool {
	devices := len(v.Active.NICs()) > 0 || len(v.Active.Drives()) > 0 || v.AgentOn()
	cloudInit := m.Parameters().CloudInit != nil || m.GetAnnotations()[object.AnnotationImages] != ""
	return !devices && !cloudInit && object.ConnectionSecret(m).Name == ""
}

// lasts reports whether an evaluation with these features depends on nothing but what stillHolds checks.
func lasts(m Machine, features []feature) bool {
	p := m.Parameters()
	if volumeref.Lists(p) || ptr.Deref(p.ReportProvisioning, false) {
		return false
	}
	return !slices.ContainsFunc(features, func(f feature) bool { return !f.lasts(m) })
}

// sumOf returns a checksum of a Machine, its status, and the settings of its connection that affect its VM.
func (e *external) sumOf(m Machine) (uint64, error) {
	values := []any{m, e.defaults, e.endpoints, e.checks.Superuser}
	for i, t := range []*tenancy.Tenant{e.tenant.Tenant, e.tenant.Warned} {
		if t != nil {
			values = append(values, i, tenancy.Compared(t))
		}
	}
	return e.settled.Sum(values...)
}

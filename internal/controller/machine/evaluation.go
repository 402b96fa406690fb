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
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/health"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/settled"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// An evaluation is the result of a look at a VM that is up to date. It holds as long as all that it depends on is the same.
type evaluation struct{ *external }

// stillHolds reports whether the last evaluation holds: the Machine, its connection and its VM are as they were, no task works on the VM, and
// what others may have changed in the cluster meanwhile is as it was.
func (e evaluation) stillHolds(ctx context.Context, m Machine, id qemu.Identity) bool {
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
	ownership(e).recordCluster(ctx, o) // It may be another one that the connection leads to by now.
	g, _ := proxmox.GuestOf(guests, id.VMID)
	return g.Pool == o.Pool && o.Cluster == cluster && (k.VMAlone || e.dependenciesHold(ctx, m, id, k))
}

// dependenciesHold reports whether the VM is still its tenant's, its bridges and storages are there, its guest reports what it reported, and what
// its spec refers to is as it was.
func (e evaluation) dependenciesHold(ctx context.Context, m Machine, id qemu.Identity, k *settled.Evaluation) bool {
	if e.vm == nil {
		e.vm = e.cache.Cached(m, id, e.inventory, false)
	}
	networks := reflect.DeepEqual(e.bridges, k.Bridges) && reflect.DeepEqual(e.pooled, k.Addresses)
	if e.vm == nil || !networks || !e.tenant.HasVM(ctx, id.VMID) || !e.health(m).DependenciesHold(ctx) {
		return false
	}
	agentOf(e.external).Run(m)
	return e.vm.AgentUnavailable == k.AgentUnavailable && reflect.DeepEqual(e.vm.Interfaces, k.Interfaces) && e.cloudInitHolds(ctx, m, id, k)
}

// cloudInitHolds reports whether the VM has the image of cloud-init data that it is to have, and the Secrets and ConfigMaps that were read are as
// they were. A password that was generated is read to be published.
func (e evaluation) cloudInitHolds(ctx context.Context, m Machine, id qemu.Identity, k *settled.Evaluation) bool {
	if !e.noCloud().Holds(ctx, m, id) {
		return false
	}
	if c := m.Parameters().CloudInit; c != nil && ptr.Deref(c.GeneratePassword, false) {
		if _, err := e.password.Of(ctx, m, c); err != nil {
			return false
		}
	}
	return e.reads.Unchanged(ctx, k.Read)
}

// observe is the observation that the evaluation has led to. The status is as that has left it.
func (e evaluation) observe(m Machine) managed.ExternalObservation {
	e.evaluated = true
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, ConnectionDetails: e.details(m, m.Observation())}
}

// keep keeps the evaluation, if it has found nothing to do, to show or to wait for.
func (e evaluation) keep(ctx context.Context, m Machine, seen managed.ExternalObservation, err error) {
	e.settled.KeepEvaluation(m, e.kept(ctx, m, seen, err))
}

// kept is the evaluation as it is kept; nil if it does not last.
func (e evaluation) kept(ctx context.Context, m Machine, seen managed.ExternalObservation, err error) *settled.Evaluation {
	if err != nil || e.vm == nil || !seen.ResourceUpToDate || meta.WasDeleted(m) || !e.lasts(m) || e.cache.Predicted(m) {
		return nil
	}
	for _, t := range []xpv2.ConditionType{xpv2.TypeReady, kind.TypeUpToDate, conditions.TypeNetworkConfigured, conditions.TypeResourcesAllocated} {
		if m.GetCondition(t).Status != corev1.ConditionTrue {
			return nil
		}
	}
	boots := e.vm.Status.Running() && e.vm.Status.Uptime < health.BootTime
	if boots || strings.Contains(m.GetCondition(xpv2.TypeReady).Message, health.EmptyDisks) {
		return nil // What the guest writes to its disks tells more.
	}
	if sum, err := e.sumOf(m); err != nil || sum != e.sum {
		return nil // It has changed the status, which is yet to be written.
	}
	id, err := object.IdentityOf(m)
	version := e.cache.Version(m, id, e.inventory)
	if err != nil || version == 0 || !e.tenant.HasVM(ctx, id.VMID) {
		return nil
	}
	return &settled.Evaluation{
		Sum: e.sum, VM: version, Until: e.now().Add(e.vm.StatusLasts(m.Observation())), VMAlone: e.vmAlone(m),
		Bridges: e.bridges, Addresses: e.pooled, Read: e.reads.Versions(), Interfaces: e.vm.Interfaces, AgentUnavailable: e.vm.AgentUnavailable,
	}
}

// vmAlone reports whether an evaluation of the VM depends on nothing but the VM.
func (e evaluation) vmAlone(m Machine) bool {
	v := e.vm
	devices := len(v.Active.NICs()) > 0 || len(v.Active.Drives()) > 0 || v.AgentOn()
	cloudInit := m.Parameters().CloudInit != nil || m.GetAnnotations()[object.AnnotationImages] != ""
	return !devices && !cloudInit && e.bridges == nil && e.pooled == nil && e.tenant.Tenant == nil && object.ConnectionSecret(m).Name == ""
}

// lasts reports whether the evaluation depends on nothing but what stillHolds checks.
func (e evaluation) lasts(m Machine) bool {
	p := m.Parameters()
	if volumeref.Lists(p) || ptr.Deref(p.ReportProvisioning, false) {
		return false
	}
	return !slices.ContainsFunc(e.features(m), func(f feature) bool { return !f.lasts(m) })
}

// sumOf returns a checksum of a Machine with its status, and of what of its connection decides about its VM.
func (e evaluation) sumOf(m Machine) (uint64, error) {
	values := []any{m, e.defaults, e.endpoints, e.checks.Superuser}
	for i, t := range []*tenancy.Tenant{e.tenant.Tenant, e.tenant.Warned} {
		if t != nil {
			values = append(values, i, tenancy.Compared(t))
		}
	}
	return e.settled.Sum(values...)
}

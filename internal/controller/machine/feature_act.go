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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/recreation"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restoreinplace"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rollback"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An actFeature runs acts, which discard data, at most once for each token.
type actFeature struct {
	noopFeature

	// kind returns the kind of act, along with what this reconcile provides for it.
	kind func(ctx context.Context, m Machine, p *plan) act.Kind

	tasksBefore tasktrack.View
	cache       *vmcache.Cache
	vm          *vmstate.VM
	now         time.Time

	save     func(ctx context.Context, m Machine, k act.Kind, r *act.Record) error
	wake     func(Machine)
	shutDown func(context.Context, Machine) error
}

// An actMaker returns a kind of act, along with what a reconcile provides for it.
type actMaker func(ctx context.Context, e *external, m Machine, p *plan) act.Kind

// actFeature returns the actFeature of a kind.
func (e *external) actFeature(of actMaker) actFeature {
	return actFeature{
		kind:        func(ctx context.Context, m Machine, p *plan) act.Kind { return of(ctx, e, m, p) },
		tasksBefore: e.tasksBefore, cache: e.cache, vm: e.vm, now: e.now(), save: e.saveAct,
		wake: func(m Machine) { e.waker(m)() },
		shutDown: func(ctx context.Context, m Machine) error {
			return e.followTask(m)(e.powerFeature().set(ctx, m, power.Off))
		},
	}
}

// roomToReturn returns why the quota of the tenant has no room for the configuration that the VM of a Machine is to return to. It is empty if there
// is room.
func roomToReturn(e *external, m Machine, p *plan) func(context.Context, qemu.Config) (string, error) {
	return func(ctx context.Context, to qemu.Config) (string, error) {
		return e.tenant.RoomToReturn(ctx, m, e.vm, to, p.Counted)
	}
}

// rollbacks returns the kind of act that rolls back to a snapshot.
func rollbacks(_ context.Context, e *external, m Machine, p *plan) act.Kind {
	return rollback.Kind{
		Env: actEnv(e, m, p, rollback.Kind{}), Client: e.client, Storages: e.inventory.Storages, Room: roomToReturn(e, m, p),
		NoSafety: e.tenant.NoSafetySnapshot(), Allows: func(to qemu.Config) error { return e.tenant.CheckConfig(e.vm.VMID, to) },
	}
}

// restoresInPlace returns the kind of act that restores a VM in place from a backup.
func restoresInPlace(ctx context.Context, e *external, m Machine, p *plan) act.Kind {
	return restoreinplace.Kind{
		Env: actEnv(e, m, p, restoreinplace.Kind{}), Client: e.client, Inventory: e.inventory, Finder: e.backupFinder(ctx), Holds: e.holds, Labels: e.labels,
		Volumes: e.volumes, Lost: restore.Unfinished(e.vm.Config), Room: roomToReturn(e, m, p),
	}
}

// recreations returns the kind of act that refuses a recreation because the VM can be read.
func recreations(_ context.Context, e *external, m Machine, p *plan) act.Kind {
	return recreation.Kind{Env: actEnv(e, m, p, recreation.Kind{})}
}

// recreator returns the recreator, which creates the VM again if its creation was lost.
func (e *external) recreator(m Machine) recreation.Recreator {
	return recreation.Recreator{
		Kube: e.kube, Inventory: e.inventory, Reader: e.reader, Client: e.client, Machines: e.scheduler, Record: e.record, Now: e.now(), Forget: e.forget,
		Wake: e.waker(m), Busy: e.tasksBefore.Busy, MayReport: e.tenant.MayReportRemains,
		Removable: func(ctx context.Context, uuid string, vmid int) error {
			if err := e.tenant.Removable(ctx, vmid); err != nil {
				return err
			}
			return e.volumes.CheckRemovable(ctx, uuid, vmid)
		},
		Save:     func(ctx context.Context, r *act.Record) error { return e.saveAct(ctx, m, recreation.Kind{}, r) },
		Allocate: func(ctx context.Context) (map[string]string, error) { return e.allocator().allocate(ctx, m) },
		Check: func(ctx context.Context, m Machine, id qemu.Identity) (*source.Source, error) {
			c, err := e.creator(ctx).prepare(ctx, m, id)
			if err != nil {
				return nil, err
			}
			return c.source, nil
		},
	}
}

// A remainsFeature removes the remains of lost creations, if the spec consents.
type remainsFeature struct {
	noopFeature

	recreator func(Machine) recreation.Recreator
}

func (f remainsFeature) plan(ctx context.Context, m Machine, _ *plan) (next proposal, err error) {
	removals, err := f.recreator(m).Removals(ctx, m)
	for _, r := range removals {
		next.steps = append(next.steps, step{difference: r.Difference, call: r.Call})
	}
	return next, err
}

// actKinds returns all kinds of acts, without what they need to run.
func actKinds() []act.Kind {
	return []act.Kind{rollback.Kind{}, restoreinplace.Kind{}, recreation.Kind{}}
}

// actEnv returns what this reconcile provides for an act.
func actEnv(e *external, m Machine, p *plan, of act.Kind) act.Env {
	return act.Env{
		Kube: e.kube, Members: e.inventory, GroupVersion: e.images.MachineKind.GroupVersion(), VM: e.vm, Now: e.now, Start: p.leavesOff(e.vm),
		Save: func(ctx context.Context, r *act.Record) error { return e.saveAct(ctx, m, of, r) },
	}
}

// leavesOff reports whether the run strategy leaves a VM off that an act has stopped, so that PVE must start it.
func (p plan) leavesOff(v *vmstate.VM) bool {
	switch p.DesiredPower(v) {
	case v1alpha1.PowerStateStopped, v1alpha1.PowerStatePaused, v1alpha1.PowerStateSuspended:
		return false
	case v1alpha1.PowerStateRunning:
		return ptr.Deref(p.RunStrategy, "") == power.RerunOnFailure
	}
	return true
}

// plan finds the result of an act that was begun. While an act is to be done, nothing that the act would discard is done to the VM: only a VM that is
// to be off is stopped.
func (f actFeature) plan(ctx context.Context, m Machine, p *plan) (proposal, error) {
	k := f.kind(ctx, m, p)
	r, err := act.Recorded(k, m)
	if err != nil || meta.WasDeleted(m) {
		return proposal{}, err
	}
	open := r.Open()
	if busy, err := f.tasksBefore.Busy(f.vm.VMID); !busy && err == nil && kind.Manages(m) {
		if err := k.Settle(ctx, m, r); err != nil {
			return proposal{}, err
		}
	}
	others := p.acts
	p.acts = append(p.acts, actRecord{k, r})
	if open && !r.Open() {
		return f.readAgain(m, k, r, p), nil
	}
	asked := k.Asked(m)
	if !r.Open() && (asked == nil || asked.Token == r.Token && r.Final()) {
		return proposal{}, nil
	}
	if !r.Open() && asked.Token != r.Token {
		r = r.Next(asked.Token, f.now)
		p.acts[len(p.acts)-1].record = r
	}
	if !r.Open() && slices.ContainsFunc(others, actRecord.toBeDone) {
		return proposal{}, nil // Acts run one after the other, beginning with the one that was begun.
	}
	clearFor(p, k)
	return proposal{steps: []step{f.step(m, k, r, p)}}, nil
}

// readAgain plans nothing but to read the VM again: it may have been read before the task ended that has now been seen to end.
func (f actFeature) readAgain(m Machine, k act.Kind, r *act.Record, p *plan) proposal {
	f.cache.Invalidate(m, vmcache.DirtyAll)
	clearFor(p, k)
	holdPower(p, k)
	return proposal{steps: []step{{
		difference: v1alpha1.MachinePendingChange{Option: k.Texts().Field, Desired: r.Target}, reportsResult: true,
		call: func(context.Context) (proxmox.UPID, error) {
			f.wake(m)
			return "", nil
		},
	}}}
}

// clearFor removes everything from the plan that an act would undo.
func clearFor(p *plan, k act.Kind) {
	p.change, p.deferred, p.steps, p.staleImages = qemu.Difference{}, qemu.Difference{}, nil, nil
	p.restart, p.action, p.laterAction = restart.Decision{Reason: p.restart.Reason}, nil, nil
	if p.power != power.Off {
		holdPower(p, k)
	}
}

// holdPower holds back the change of power until an act has ended.
func holdPower(p *plan, k act.Kind) {
	if p.power != power.Keep {
		p.heldPower, p.heldFor, p.power = p.power, k.Texts().Field, power.Keep
	}
}

// step continues an act.
func (f actFeature) step(m Machine, k act.Kind, r *act.Record, p *plan) step {
	asked := ptr.Deref(k.Asked(m), act.Asked{Target: r.Target})
	next := step{difference: v1alpha1.MachinePendingChange{Option: k.Texts().Field, Desired: asked.Target}, reportsResult: true}
	if r.Offline != nil {
		return next // The task may still write: wait for it.
	}
	if r.Repeated() {
		next.call = func(ctx context.Context) (proxmox.UPID, error) {
			r.Target = asked.Target
			r.Enter(v1alpha1.ActRefused, "this token was asked for before", f.now)
			return "", f.save(ctx, m, k, r)
		}
		return next
	}
	if p.stops(f.vm) && !asked.AllowRunning && !r.Open() {
		return next // It waits until the VM is off.
	}
	holdPower(p, k)
	next.call = func(ctx context.Context) (proxmox.UPID, error) {
		u, err := k.Next(ctx, m, r)
		if errors.Is(err, act.ErrRuns) {
			return "", f.shutDown(ctx, m)
		}
		return u, err
	}
	return next
}

// offline returns why the end of a call of an act cannot be seen, or nil if no call waits in vain.
func (p plan) offline() *kind.Problem {
	for _, a := range p.acts {
		if a.record.Offline != nil {
			return a.record.Offline
		}
	}
	return nil
}

// held returns the condition Ready of a VM whose change of power waits for an act.
func (p plan) held() xpv2.Condition {
	waits := p.heldPower.Message() + ": it waits for " + p.heldFor
	if o := p.offline(); o != nil {
		return conditions.NotReady(o.Reason, waits+": "+o.Message)
	}
	return conditions.NotReady(conditions.ReasonPowerMismatch, waits)
}

// stops reports whether the VM is about to be stopped. A paused VM is first resumed for that.
func (p plan) stops(v *vmstate.VM) bool {
	return p.power == power.Off || p.power == power.Resume && p.DesiredPower(v) == v1alpha1.PowerStateStopped
}

// saveAct saves the record of an act where it outlives the provider.
func (s *shared) saveAct(ctx context.Context, m Machine, k act.Kind, r *act.Record) error {
	if m.GetAnnotations()[k.Texts().Annotation] == r.String() {
		return nil
	}
	if err := act.Keep(ctx, s.kube, s.record, k, m, r); err != nil {
		return err
	}
	if r.Final() {
		s.waker(m)()
	}
	return nil
}

// An actRecord is the last act of a kind.
type actRecord struct {
	kind   act.Kind
	record *act.Record
}

// toBeDone reports whether an act is still to be done.
func (a actRecord) toBeDone() bool { return a.record.Token != "" && !a.record.Final() }

// showActs shows the results of the acts in the status.
func (p plan) showActs(m Machine) {
	for _, a := range p.acts {
		a.kind.Show(m, a.record)
	}
}

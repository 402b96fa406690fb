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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/recreation"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restoreinplace"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rollback"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An actFeature does what throws data away: at most once for each token.
type actFeature struct {
	*external
	passive

	kind func(ctx context.Context, e *external, m Machine) act.Kind
}

// roomToReturn says why the quota of the tenant has no room for a configuration that the VM of a Machine is to go back to; empty if it has.
func roomToReturn(e *external, m Machine) func(context.Context, qemu.Config) (string, error) {
	return func(ctx context.Context, to qemu.Config) (string, error) {
		return e.tenant.RoomToReturn(ctx, m, e.vm, to, e.planned.Counted)
	}
}

// rollbacks go back to snapshots.
func rollbacks(_ context.Context, e *external, m Machine) act.Kind {
	return rollback.Kind{
		Env: e.actEnv(m, rollback.Kind{}), Client: e.client, Storages: e.inventory.Storages, Room: roomToReturn(e, m), NoSafety: e.tenant.NoSafetySnapshot(),
		Allows: func(to qemu.Config) error { return e.tenant.Has(e.vm.VMID, to) },
	}
}

// restoresInPlace put VMs back to backups.
func restoresInPlace(ctx context.Context, e *external, m Machine) act.Kind {
	return restoreinplace.Kind{
		Env: e.actEnv(m, restoreinplace.Kind{}), Client: e.client, Inventory: e.inventory, Finder: e.backupFinder(ctx), Holds: e.holds, Labels: e.labels,
		Volumes: e.volumes, Lost: restore.Unfinished(e.vm.Config), Room: roomToReturn(e, m),
	}
}

// recreations refuse what the spec asks for where the VM can be read.
func recreations(_ context.Context, e *external, m Machine) act.Kind {
	return recreation.Kind{Env: e.actEnv(m, recreation.Kind{})}
}

// recreator makes the VM anew if its creation was lost.
func (e *external) recreator(m Machine) recreation.Recreator {
	return recreation.Recreator{
		Kube: e.kube, Inventory: e.inventory, Reader: e.reader, Client: e.client, Machines: e.scheduler, Record: e.record, Now: e.now(), Forget: e.forget,
		Wake: e.waker(m), Busy: e.tasksBefore.Busy, Tells: e.tenant.TellsRemains,
		Removable: func(ctx context.Context, uuid string, vmid int) error {
			if err := e.tenant.Removable(ctx, vmid); err != nil {
				return err
			}
			return e.volumes.CheckRemovable(ctx, uuid, vmid)
		},
		Save:     func(ctx context.Context, r *act.Record) error { return e.saveAct(ctx, m, recreation.Kind{}, r) },
		Allocate: func(ctx context.Context) (map[string]string, error) { return ownership{external: e}.allocate(ctx, m) },
		Check: func(ctx context.Context, m Machine, id qemu.Identity) (*source.Source, error) {
			c, err := e.creator(ctx).prepare(ctx, m, id)
			if err != nil {
				return nil, err
			}
			return c.source, nil
		},
	}
}

// A remainsFeature removes what lost creations have left, if the spec consents.
type remainsFeature struct {
	passive

	recreator func(Machine) recreation.Recreator
}

func (f remainsFeature) plan(ctx context.Context, m Machine, _ *plan) (next proposal, err error) {
	removals, err := f.recreator(m).Removals(ctx, m)
	for _, r := range removals {
		next.steps = append(next.steps, step{difference: r.Difference, call: r.Call})
	}
	return next, err
}

// actKinds are all kinds of acts, without what they need to be done.
func actKinds() []act.Kind {
	return []act.Kind{rollback.Kind{}, restoreinplace.Kind{}, recreation.Kind{}}
}

// actEnv is this reconcile for an act.
func (e *external) actEnv(m Machine, of act.Kind) act.Env {
	return act.Env{
		Kube: e.kube, GroupVersion: e.images.MachineKind.GroupVersion(), VM: e.vm, Now: e.now(), Start: e.planned.leavesOff(e.vm),
		Save: func(ctx context.Context, r *act.Record) error { return e.saveAct(ctx, m, of, r) },
	}
}

// leavesOff reports whether the run strategy leaves a VM off that an act has stopped, so that PVE is to
// start it.
func (p plan) leavesOff(v *vmstate.VM) bool {
	switch p.DesiredPower(v) {
	case v1alpha1.PowerStateStopped, v1alpha1.PowerStatePaused, v1alpha1.PowerStateSuspended:
		return false
	case v1alpha1.PowerStateRunning:
		return ptr.Deref(p.RunStrategy, "") == power.RerunOnFailure
	}
	return true
}

// plan finds out what became of an act that was begun. While one is to be done, nothing
// else is done to the VM, which would be lost by it: only a VM that is to be off is stopped.
func (e actFeature) plan(ctx context.Context, m Machine, _ *plan) (proposal, error) {
	k := e.kind(ctx, e.external, m)
	r, err := act.Recorded(k, m)
	if err != nil || meta.WasDeleted(m) {
		return proposal{}, err
	}
	open := r.Open()
	if busy, err := e.tasksBefore.Busy(e.vm.VMID); !busy && err == nil && kind.Manages(m) {
		if err := k.Settle(ctx, m, r); err != nil {
			return proposal{}, err
		}
	}
	e.planned.acts = append(e.planned.acts, actRecord{k, r})
	if open && !r.Open() {
		return e.lookAgain(m, k, r), nil
	}
	asked := k.Asked(m)
	if !r.Open() && (asked == nil || asked.Token == r.Token && r.Final()) {
		return proposal{}, nil
	}
	if !r.Open() && asked.Token != r.Token {
		r = r.Next(asked.Token, e.now())
		e.planned.acts[len(e.planned.acts)-1].record = r
	}
	if e.otherActs() {
		return proposal{}, nil // One after the other.
	}
	e.actAlone(k)
	return proposal{steps: []step{e.step(m, k, r)}}, nil
}

// otherActs reports whether another act is still to be done.
func (e actFeature) otherActs() bool {
	for _, a := range e.planned.acts[:len(e.planned.acts)-1] {
		if a.record.Token != "" && !a.record.Final() {
			return true
		}
	}
	return false
}

// lookAgain plans nothing but to read the VM anew: it may have been read before the task has
// ended that was just seen to have.
func (e actFeature) lookAgain(m Machine, k act.Kind, r *act.Record) proposal {
	e.cache.Invalidate(m, vmcache.DirtyAll)
	e.actAlone(k)
	e.holdPower(k)
	return proposal{steps: []step{{
		difference: v1alpha1.MachinePendingChange{Option: k.Texts().Field, Desired: r.Target}, tells: true,
		call: func(context.Context) (proxmox.UPID, error) {
			e.waker(m)()
			return "", nil
		},
	}}}
}

// actAlone takes all out of the plan that an act would undo.
func (e actFeature) actAlone(k act.Kind) {
	p := &e.planned
	p.change, p.deferred, p.steps, p.staleImages = qemu.Difference{}, qemu.Difference{}, nil, nil
	p.restart, p.action, p.laterAction = restart.Decision{Reason: p.restart.Reason}, nil, nil
	if p.power != power.Off {
		e.holdPower(k)
	}
}

// holdPower has the change of power wait for an act.
func (e actFeature) holdPower(k act.Kind) {
	if p := &e.planned; p.power != power.Keep {
		p.heldPower, p.heldFor, p.power = p.power, k.Texts().Field, power.Keep
	}
}

// step goes on with an act.
func (e actFeature) step(m Machine, k act.Kind, r *act.Record) step {
	asked := ptr.Deref(k.Asked(m), act.Asked{Target: r.Target})
	next := step{difference: v1alpha1.MachinePendingChange{Option: k.Texts().Field, Desired: asked.Target}, tells: true}
	if r.Repeated() {
		next.call = func(ctx context.Context) (proxmox.UPID, error) {
			r.Target = asked.Target
			r.Enter(v1alpha1.ActRefused, "this token was asked for before", e.now())
			return "", e.saveAct(ctx, m, k, r)
		}
		return next
	}
	if e.stopping() && !asked.AllowRunning && !r.Open() {
		return next // It waits until the VM is off.
	}
	e.holdPower(k)
	next.call = func(ctx context.Context) (proxmox.UPID, error) {
		u, err := k.Next(ctx, m, r)
		if errors.Is(err, act.ErrRuns) {
			e.planned.power = power.Off
			return "", e.setPower(ctx, m)
		}
		return u, err
	}
	return next
}

// stopping reports whether the VM is about to be stopped. One that is paused is resumed for that first.
func (e actFeature) stopping() bool {
	return e.planned.power == power.Off || e.planned.power == power.Resume && e.planned.DesiredPower(e.vm) == v1alpha1.PowerStateStopped
}

// saveAct keeps the record of an act where it outlives the provider.
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

// showActs shows what became of the acts in the status.
func (p plan) showActs(m Machine) {
	for _, a := range p.acts {
		a.kind.Show(m, a.record)
	}
}

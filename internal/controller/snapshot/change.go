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

package snapshot

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// Create starts to take the snapshot. The intent is recorded first. If the answer is lost, Observe determines the outcome.
func (e *external) Create(ctx context.Context, m Snapshot) (managed.ExternalCreation, error) {
	v := e.view
	if v == nil || v.guest == nil || v.target.UUID == "" || v.action != start || v.problem != nil {
		return managed.ExternalCreation{}, errors.New("cannot take a snapshot that was not looked for")
	}
	if err := e.intend(ctx, m); err != nil {
		return managed.ExternalCreation{}, err
	}
	r := v.record
	u, err := e.client.TakeSnapshot(ctx, v.ref(), proxmox.SnapshotOptions{Name: v.name, Description: r.Description, Memory: r.Memory})
	e.inventory.InvalidateGuest(v.target.VMID)
	if proxmox.IsOutcomeUnknown(err) {
		r.Begun = e.Now().Unix()
		return managed.ExternalCreation{}, errors.Join(err, kind.AfterCall(ctx, func(ctx context.Context) error { return e.save(ctx, m) }))
	}
	if err != nil {
		return managed.ExternalCreation{}, errors.Join(err, e.refused(ctx, m, err))
	}
	r.Task = u
	e.Follow(e.inventory, m, u)
	return managed.ExternalCreation{}, e.save(kind.AtCreationEnd(ctx), m)
}

// intend records what is about to be done.
func (e *external) intend(ctx context.Context, m Snapshot) error {
	v, p := e.view, m.Parameters()
	before, err := e.takingTasks(ctx, v.guest.Node)
	if err != nil {
		return err
	}
	now, err := e.client.Status(ctx, v.ref())
	if err != nil {
		return err
	}
	r := v.record
	r.Ran, r.Uptime = now.Running(), int64(now.Uptime.Seconds())
	r.UUID, r.VMID, r.Node, r.Name = v.target.UUID, v.target.VMID, v.guest.Node, v.name
	r.Description, r.Memory = ptr.Deref(p.Description, ""), ptr.Deref(p.IncludeMemory, false)
	if r.Lost = r.Lost || r.Begun != 0; r.Lost {
		r.LostAt = e.Now().Unix()
	} else {
		r.Before = tasktrack.Latest(before.All)
	}
	r.Begun, r.Task = e.Now().Unix(), ""
	return e.save(ctx, m)
}

// refused records that a call was certainly not carried out. A call that only has to wait for its turn has not failed.
func (e *external) refused(ctx context.Context, m Snapshot, err error) error {
	r := e.view.record
	if _, waits := proxmox.Waiting(err); waits {
		r.Begun = 0
		return e.save(ctx, m)
	}
	problem, message := proxmox.SnapshotFailure(err)
	r.fail(e.Now().Unix(), m.GetGeneration(), string(problem), message)
	return e.save(ctx, m)
}

// Update changes the description of a snapshot that is proven to belong to this resource.
func (e *external) Update(ctx context.Context, m Snapshot) (managed.ExternalUpdate, error) {
	none := managed.ExternalUpdate{}
	v := e.view
	if v == nil || v.entry == nil || len(v.difference) == 0 {
		return none, errors.New("cannot change a snapshot that was not looked at")
	}
	if there, err := e.stillThere(ctx); err != nil || !there {
		return none, err
	}
	if err := e.permit(ctx, "describe a snapshot of"); err != nil {
		return none, err
	}
	err := e.client.DescribeSnapshot(ctx, v.ref(), v.name, ptr.Deref(m.Parameters().Description, ""))
	e.inventory.InvalidateGuest(v.target.VMID)
	if err != nil {
		return none, e.waitForLock(ctx, m, err)
	}
	e.Event(m, event.Normal(eventDescribed, "the description of snapshot "+v.name+" is changed"))
	m.Observation().Difference = nil
	m.SetConditions(kind.UpToDate(nil, v.problems...).WithObservedGeneration(m.GetGeneration()))
	return none, nil
}

// waitForLock turns the error of a call into a wait if PVE holds the lock of the VM for a moment.
func (e *external) waitForLock(ctx context.Context, m Snapshot, err error) error {
	if !e.view.record.Lock.Waits(err, e.Now()) {
		return err
	}
	m.SetConditions(kind.UpToDate(e.view.difference, target.HeldLock("changed")).WithObservedGeneration(m.GetGeneration()))
	return errors.Join(kind.Wait(err), e.save(ctx, m))
}

// stillThere reads the current state of the VM and its snapshots, and reports whether the snapshot that was taken or adopted exists. If it does not,
// the next reconcile determines more.
func (e *external) stillThere(ctx context.Context) (bool, error) {
	v := e.view
	_, p, err := e.prove(ctx)
	if p != nil && err == nil {
		err = target.Error(*p)
	}
	if err != nil {
		return false, err
	}
	tree, err := e.inventory.Snapshots(ctx, v.ref(), inventory.Fresh)
	if err != nil {
		return false, err
	}
	entry := tree.Named(v.name)
	same := entry != nil && (!v.record.Done || entry.Time.Unix() == v.record.Time)
	return same, nil
}

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

package act

import (
	"context"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A Client makes the calls to PVE that all acts need.
type Client interface {
	kind.PermissionReader
	Tasks

	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
	Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)
	Status(ctx context.Context, ref proxmox.Ref) (proxmox.Status, error)
}

// An End handles the end of a call.
type End struct {
	// Type of the task.
	Type string

	// Settle records how the task has ended. The task is nil if none is known.
	Settle func(context.Context, *proxmox.Task) error
}

// An Act carries out a request for one VM.
type Act struct {
	PVE Client

	// Members of the cluster, for calls on nodes that the VM has left.
	Members inventory.Members

	// Ref of the VM, and the UUID that proves it.
	Ref  proxmox.Ref
	UUID string

	// Record of what was done so far, and Save, which saves it.
	Record *Record
	Save   func(context.Context, *Record) error

	// Now returns the current time, which advances while a call waits for an answer.
	Now func() time.Time
}

// Keep saves the record.
func (a *Act) Keep(ctx context.Context) error { return a.Save(ctx, a.Record) }

// CheckVM reads the current VM, not the cache. The VM must be this Machine's, and a lock is waited for.
func (a *Act) CheckVM(ctx context.Context) (qemu.State, error) {
	if a.Record.Open() {
		return qemu.State{}, kind.Wait(errors.New("waiting for the task of the last call to appear in the task list of Proxmox VE"))
	}
	values, err := a.PVE.Pending(ctx, a.Ref)
	if err != nil {
		return qemu.State{}, err
	}
	state := qemu.Read(values)
	if uuid := state.Config.UUID(); !strings.EqualFold(uuid, a.UUID) {
		return qemu.State{}, errors.Errorf("VM %d has the UUID %q, not %q: it is left alone", a.Ref.VMID, uuid, a.UUID)
	}
	return state, a.checkLock(state.Config)
}

// checkLock returns a wait if the VM is locked.
func (a *Act) checkLock(config qemu.Config) error {
	if lock := config["lock"]; lock != "" {
		return kind.Wait(errors.New(vmstate.Locked(a.Ref.VMID, lock)))
	}
	return nil
}

// Refuse refuses the request permanently.
func (a *Act) Refuse(ctx context.Context, why string) error {
	a.Record.Enter(v1alpha1.ActRefused, why, a.Now())
	return a.Keep(ctx)
}

// WaitsForLock forgets a call that has done nothing, because its error or that of its task says that PVE holds the VM's lock. The call is made again.
// It returns false for other errors, and once the lock is held for longer than PVE needs.
func (a *Act) WaitsForLock(c *Call, err error) bool {
	if !a.Record.Lock.Waits(err, a.Now()) {
		return false
	}
	*c = Call{}
	a.Record.Enter(v1alpha1.ActPending, tasktrack.HoldsLock+": it is tried again", a.Now())
	return true
}

// Once records a call before it makes it. If its answer is lost, Settle determines its result. A call that PVE refuses has failed, with a sentence
// about the error. A call that waits for its turn was not sent, and a call that did not get the VM's lock has done nothing.
func (a *Act) Once(
	ctx context.Context, c *Call, taskType string, sentence func(error) string, do func() (proxmox.UPID, error),
) (proxmox.UPID, error) {
	noted, err := Note(ctx, a.PVE, a.Ref, taskType, a.Now())
	if err != nil {
		return "", err
	}
	r := a.Record
	*c, r.Node = noted, a.Ref.Node
	if err := a.Keep(ctx); err != nil {
		return "", err
	}
	u, err := do()
	if proxmox.IsOutcomeUnknown(err) {
		c.Lost = a.Now().Unix()
		return "", errors.Join(err, kind.AfterCall(ctx, a.Keep))
	}
	if _, waits := proxmox.Waiting(err); waits {
		*c = Call{}
		r.Enter(v1alpha1.ActPending, "", a.Now())
		return "", errors.Join(err, a.Keep(ctx))
	}
	if a.WaitsForLock(c, err) {
		return "", errors.Join(err, a.Keep(ctx))
	}
	if err != nil {
		*c = Call{}
		r.Enter(v1alpha1.ActFailed, sentence(err), a.Now())
		return "", a.Keep(ctx)
	}
	c.Task = u
	return u, a.Keep(ctx)
}

// Settle determines the result of the last recorded call, and records it. That call either takes what the VM can later go back to, or does the act
// itself. It starts nothing. The call stays open while its node is offline.
func (a *Act) Settle(ctx context.Context, taking, done End) error {
	if !a.Record.Open() {
		return nil
	}
	c, end := &a.Record.Call, done
	if c.Begun == 0 {
		c, end = &a.Record.Taking, taking
	}
	t, offline, err := c.Find(ctx, a.Members, a.PVE, proxmox.Ref{Node: a.Record.Node, VMID: a.Ref.VMID}, end.Type)
	a.Record.Offline = offline
	switch {
	case err != nil, offline != nil:
		return err
	case t == nil && c.MayShow(a.Now()):
		return nil
	case t != nil && t.Running:
		c.Task = t.UPID
		return a.Keep(ctx)
	case t != nil:
		c.Task = t.UPID
	}
	if err := end.Settle(ctx, t); err != nil {
		return err
	}
	return a.Keep(ctx)
}

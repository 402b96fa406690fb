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

package rollback

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A Client makes the calls to PVE that a rollback needs.
type Client interface {
	act.Client

	SnapshotTree(ctx context.Context, ref proxmox.Ref) (proxmox.SnapshotTree, error)
	SnapshotConfig(ctx context.Context, ref proxmox.Ref, name string) (proxmox.VMConfig, error)
	CanSnapshot(ctx context.Context, ref proxmox.Ref) (bool, error)
	TakeSnapshot(ctx context.Context, ref proxmox.Ref, o proxmox.SnapshotOptions) (proxmox.UPID, error)
	RollbackSnapshot(ctx context.Context, ref proxmox.Ref, o proxmox.RollbackOptions) (proxmox.UPID, error)
}

// A request describes the requested rollback.
type request struct {
	Token string

	// Snapshot is the name in PVE of the snapshot to go back to. Taken is when it was taken, or zero if that does not matter.
	Snapshot string
	Taken    time.Time

	// Problem is why there is no such snapshot, or empty if there may be one.
	Problem string

	// AllowRunning allows a running VM to be stopped. Safety takes a snapshot first, and Start starts a VM that ran.
	AllowRunning, Safety, Start bool
}

// A rollback of one VM.
type rollback struct {
	act.Act
	pve      Client
	storages func(context.Context) ([]proxmox.Storage, error)
	allows   func(qemu.Config) error
	room     func(context.Context, qemu.Config) (string, error)

	// The results of preflight.
	tree     proxmox.SnapshotTree
	snapshot proxmox.Snapshot
	config   qemu.Config
	running  bool
}

// The types of the tasks, and the lock of the VM once a rollback has begun.
const (
	taskSnapshot = "qmsnapshot"
	taskRollback = "qmrollback"
	taskLock     = "rollback"
)

// next makes the next call for a request, and returns the task that it has started: first that of the safety snapshot, and then that of the rollback.
// A request that cannot be carried out is refused permanently.
func (a *rollback) next(ctx context.Context, q request) (proxmox.UPID, error) {
	if _, err := a.CheckVM(ctx); err != nil {
		return "", err
	}
	no := q.Problem
	if no == "" {
		var err error
		if no, err = a.preflight(ctx, q); err != nil {
			return "", err
		}
	}
	a.Record.Target = q.Snapshot
	switch {
	case no != "":
		return "", a.Refuse(ctx, no)
	case q.Safety && !a.Record.Taken:
		return a.takeSafety(ctx, q)
	}
	return a.goBack(ctx, q)
}

// takeSafety takes the safety snapshot.
func (a *rollback) takeSafety(ctx context.Context, q request) (proxmox.UPID, error) {
	r := a.Record
	r.Safety = SafetyName(q.Token)
	r.Enter(v1alpha1.ActTakingSafetySnapshot, "", a.Now())
	return a.Once(ctx, &r.Taking, taskSnapshot, sentence, func() (proxmox.UPID, error) {
		o := proxmox.SnapshotOptions{Name: r.Safety, Description: "Before the rollback to " + q.Snapshot}
		return a.pve.TakeSnapshot(ctx, a.Ref, o)
	})
}

// goBack requests the rollback.
func (a *rollback) goBack(ctx context.Context, q request) (proxmox.UPID, error) {
	r := a.Record
	r.Enter(v1alpha1.ActRollingBack, "", a.Now())
	return a.Once(ctx, &r.Call, taskRollback, sentence, func() (proxmox.UPID, error) {
		return a.pve.RollbackSnapshot(ctx, a.Ref, proxmox.RollbackOptions{Name: q.Snapshot, Start: a.starts(q)})
	})
}

// sentence returns in one sentence why something has failed.
func sentence(err error) string {
	_, s := proxmox.SnapshotFailure(err)
	return s
}

// settle determines the result of a recorded call, and records it. It starts nothing.
func (a *rollback) settle(ctx context.Context) error {
	return a.Settle(ctx, act.End{Type: taskSnapshot, Settle: a.settleSafety}, act.End{Type: taskRollback, Settle: a.settleRollback})
}

// seenSoon is how soon after its call the end of a rollback must be seen to exclude that an administrator has unlocked the VM since.
const seenSoon = time.Minute

// settleRollback records how the rollback has ended. PVE takes the lock of the VM's file before it does anything, and again after the disks have gone
// back (PVE::AbstractConfig, snapshot_rollback). In between the configuration is locked, and remains locked if the task then fails. A task that got
// no lock and left no such lock has therefore done nothing.
func (a *rollback) settleRollback(ctx context.Context, t *proxmox.Task) error {
	r := a.Record
	switch {
	case t == nil:
		r.Enter(v1alpha1.ActUnknown, "no task of the rollback is known: it was not begun, or its node has forgotten it or was removed from the cluster", a.Now())
		return nil
	case t.OK():
		r.Enter(v1alpha1.ActSucceeded, "", a.Now())
		return nil
	}
	message := sentence(t.Err())
	config, err := a.pve.Config(ctx, a.Ref)
	if err != nil {
		return err
	}
	switch lock := config.Values["lock"]; {
	case lock != taskLock && a.Now().Sub(time.Unix(r.Call.Begun, 0)) < seenSoon && a.WaitsForLock(&r.Call, t.Err()):
		return nil
	case lock == taskLock:
		message += fmt.Sprintf("; VM %d stays locked (rollback), and some of its disks may have gone back: on its node, \"qm unlock %d\" lifts the lock",
			a.Ref.VMID, a.Ref.VMID)
	}
	r.Enter(v1alpha1.ActFailed, message, a.Now())
	return nil
}

// settleSafety records how the safety snapshot has ended. A snapshot that was not begun is taken again, which loses nothing.
func (a *rollback) settleSafety(ctx context.Context, t *proxmox.Task) error {
	r := a.Record
	tree, err := a.pve.SnapshotTree(ctx, a.Ref)
	if err != nil {
		return err
	}
	s := tree.Named(r.Safety)
	switch {
	case t == nil || t.OK():
	case s == nil && a.WaitsForLock(&r.Taking, t.Err()):
		return nil
	default:
		r.Enter(v1alpha1.ActFailed, "the safety snapshot could not be taken: "+sentence(t.Err())+"; nothing was rolled back", a.Now())
		return nil
	}
	r.Enter(v1alpha1.ActPending, "", a.Now())
	if s == nil || s.State != "" {
		r.Taking = act.Call{}
		return nil
	}
	r.Taken = true
	return nil
}

// SafetyName returns the name of the safety snapshot of a token.
func SafetyName(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "before-rollback-" + hex.EncodeToString(sum[:])[:8]
}

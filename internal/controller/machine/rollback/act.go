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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// A Client does to PVE what a rollback needs done.
type Client interface {
	kind.PermissionReader

	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
	Status(ctx context.Context, ref proxmox.Ref) (proxmox.Status, error)
	SnapshotTree(ctx context.Context, ref proxmox.Ref) (proxmox.SnapshotTree, error)
	SnapshotConfig(ctx context.Context, ref proxmox.Ref, name string) (proxmox.VMConfig, error)
	CanSnapshot(ctx context.Context, ref proxmox.Ref) (bool, error)
	TakeSnapshot(ctx context.Context, ref proxmox.Ref, o proxmox.SnapshotOptions) (proxmox.UPID, error)
	RollbackSnapshot(ctx context.Context, ref proxmox.Ref, o proxmox.RollbackOptions) (proxmox.UPID, error)
	NodeTasks(ctx context.Context, node, taskType string) ([]proxmox.Task, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	Identity() proxmox.Identity
}

// A Request is what is asked for.
type Request struct {
	Token string

	// Snapshot to go back to, by its name in PVE, and when it was Taken; zero if that
	// does not matter.
	Snapshot string
	Taken    time.Time

	// Problem is why there is no such snapshot; empty if there may be one.
	Problem string

	// AllowRunning lets a VM be stopped that runs. Safety takes a snapshot first, and Start
	// starts a VM that ran.
	AllowRunning, Safety, Start bool
}

// An Act does for one VM what was asked for.
type Act struct {
	Client   Client
	Storages func(context.Context) ([]proxmox.Storage, error)

	// Ref of the VM, and the UUID that proves it.
	Ref  proxmox.Ref
	UUID string

	// Record of what was done so far, and Save, which keeps it.
	Record *Record
	Save   func(context.Context, *Record) error

	Now time.Time

	// What preflight has found.
	tree     proxmox.SnapshotTree
	snapshot proxmox.Snapshot
	config   qemu.Config
	running  bool
}

func (a *Act) save(ctx context.Context) error { return a.Save(ctx, a.Record) }

// Next makes the next call for a request, and returns the task that it has started: of the
// safety snapshot, and then of the rollback. What cannot be done is refused for good.
func (a *Act) Next(ctx context.Context, q Request) (proxmox.UPID, error) {
	if a.Record.Open() {
		return "", kind.Wait(errors.New("waiting for the task of the rollback to show"))
	}
	if err := a.checkVM(ctx); err != nil {
		return "", err
	}
	no := q.Problem
	if no == "" {
		var err error
		if no, err = a.preflight(ctx, q); err != nil {
			return "", err
		}
	}
	r := a.Record
	r.Snapshot = q.Snapshot
	switch {
	case no != "":
		r.enter(v1alpha1.RollbackRefused, no, a.Now)
		return "", a.save(ctx)
	case q.Safety && !r.Taken:
		return a.takeSafety(ctx, q)
	}
	return a.goBack(ctx, q)
}

// takeSafety takes the safety snapshot.
func (a *Act) takeSafety(ctx context.Context, q Request) (proxmox.UPID, error) {
	r := a.Record
	r.Safety = SafetyName(q.Token)
	r.enter(v1alpha1.RollbackTakingSafetySnapshot, "", a.Now)
	return a.once(ctx, &r.Taking, taskSnapshot, func() (proxmox.UPID, error) {
		o := proxmox.SnapshotOptions{Name: r.Safety, Description: "Before the rollback to " + q.Snapshot}
		return a.Client.TakeSnapshot(ctx, a.Ref, o)
	})
}

// goBack asks for the rollback.
func (a *Act) goBack(ctx context.Context, q Request) (proxmox.UPID, error) {
	r := a.Record
	r.enter(v1alpha1.RollbackRollingBack, "", a.Now)
	return a.once(ctx, &r.Call, taskRollback, func() (proxmox.UPID, error) {
		return a.Client.RollbackSnapshot(ctx, a.Ref, proxmox.RollbackOptions{Name: q.Snapshot, Start: a.starts(q)})
	})
}

// once makes a call that is noted before. If its answer is lost, Settle finds out what became
// of it. What PVE refuses has failed, and what waits for its turn was not sent.
func (a *Act) once(ctx context.Context, c *call, kind string, do func() (proxmox.UPID, error)) (proxmox.UPID, error) {
	before, err := a.tasks(ctx, a.Ref.Node, kind)
	if err != nil {
		return "", err
	}
	r := a.Record
	*c = call{Begun: a.Now.Unix(), Before: tasktrack.Latest(before)}
	r.Node = a.Ref.Node
	if err := a.save(ctx); err != nil {
		return "", err
	}
	u, err := do()
	if proxmox.IsOutcomeUnknown(err) {
		return "", err
	}
	if _, waits := proxmox.Waiting(err); waits {
		*c = call{}
		r.enter(v1alpha1.RollbackPending, "", a.Now)
		return "", errors.Join(err, a.save(ctx))
	}
	if err != nil {
		_, message := proxmox.SnapshotFailure(err)
		r.enter(v1alpha1.RollbackFailed, message, a.Now)
		return "", a.save(ctx)
	}
	c.Task = u
	return u, a.save(ctx)
}

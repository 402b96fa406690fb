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
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// arrival is how long a call may take to show the task that it has started, after its
// answer was lost.
const arrival = 15 * time.Second

// The types of the tasks.
const (
	taskSnapshot = "qmsnapshot"
	taskRollback = "qmrollback"
)

// Settle finds out what became of a call that was noted, and notes that. It starts nothing.
func (a *Act) Settle(ctx context.Context) error {
	if !a.Record.Open() {
		return nil
	}
	c, kind, settle := &a.Record.Call, taskRollback, a.settleRollback
	if c.Begun == 0 {
		c, kind, settle = &a.Record.Taking, taskSnapshot, a.settleSafety
	}
	t, err := a.task(ctx, c, kind)
	switch {
	case err != nil:
		return err
	case t == nil && a.Now.Sub(time.Unix(c.Begun, 0)) < arrival:
		return nil
	case t != nil && t.Running:
		c.Task = t.UPID
		return a.save(ctx)
	}
	if err := settle(ctx, t); err != nil {
		return err
	}
	return a.save(ctx)
}

// task returns the task that a call has started, or nil if none is known.
func (a *Act) task(ctx context.Context, c *call, kind string) (*proxmox.Task, error) {
	if c.Task != "" {
		t, err := a.Client.Task(ctx, c.Task)
		if proxmox.IsNoSuchTask(err) {
			return nil, nil
		}
		return &t, err
	}
	all, err := a.tasks(ctx, a.Record.Node, kind)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(tasktrack.Since(all, c.Before), func(t proxmox.Task) bool { return t.UPID.User() != a.Client.Identity().ID })
	if len(all) == 0 {
		return nil, nil
	}
	return &all[0], nil
}

// tasks of a kind that work on the VM, or have done so.
func (a *Act) tasks(ctx context.Context, node, kind string) ([]proxmox.Task, error) {
	all, err := a.Client.NodeTasks(ctx, node, kind)
	id := strconv.Itoa(a.Ref.VMID)
	return slices.DeleteFunc(all, func(t proxmox.Task) bool { return t.ID != id }), err
}

// settleRollback notes how the rollback has ended.
func (a *Act) settleRollback(ctx context.Context, t *proxmox.Task) error {
	r := a.Record
	switch {
	case t == nil:
		r.enter(v1alpha1.RollbackUnknown, "no task of the rollback is known: it was not begun, or its node has forgotten it", a.Now)
		return nil
	case t.OK():
		r.enter(v1alpha1.RollbackSucceeded, "", a.Now)
		return nil
	}
	_, message := proxmox.SnapshotFailure(t.Err())
	config, err := a.Client.Config(ctx, a.Ref)
	if err != nil {
		return err
	}
	if lock := config.Values["lock"]; lock == "rollback" {
		message += fmt.Sprintf("; VM %d stays locked (rollback), and some of its disks may have gone back: on its node, \"qm unlock %d\" lifts the lock",
			a.Ref.VMID, a.Ref.VMID)
	}
	r.enter(v1alpha1.RollbackFailed, message, a.Now)
	return nil
}

// settleSafety notes how the safety snapshot has ended. One that was not begun is taken
// anew, which loses nothing.
func (a *Act) settleSafety(ctx context.Context, t *proxmox.Task) error {
	r := a.Record
	if t != nil && !t.OK() {
		_, message := proxmox.SnapshotFailure(t.Err())
		r.enter(v1alpha1.RollbackFailed, "the safety snapshot could not be taken: "+message+"; nothing was rolled back", a.Now)
		return nil
	}
	tree, err := a.Client.SnapshotTree(ctx, a.Ref)
	if err != nil {
		return err
	}
	r.enter(v1alpha1.RollbackPending, "", a.Now)
	if s := tree.Named(r.Safety); s == nil || s.State != "" {
		r.Taking = call{}
		return nil
	}
	r.Taken = true
	return nil
}

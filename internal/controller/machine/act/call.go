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
	"slices"
	"strconv"
	"time"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// Tasks is the part of a Client that finds the tasks of calls.
type Tasks interface {
	NodeTasks(ctx context.Context, node, taskType string) ([]proxmox.Task, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	Identity() proxmox.Identity
}

// A Call starts a task on a VM. It is recorded before it is made.
type Call struct {
	// Begun is when the call was recorded, in seconds.
	Begun int64 `json:"begun,omitempty"`

	// Lost is when the answer was lost, in seconds. It is 0 if it was not lost, or the provider ended before it could see that.
	Lost int64 `json:"lost,omitempty"`

	// Before are the latest tasks of the type that existed before the call.
	Before []proxmox.UPID `json:"before,omitempty"`

	// Task that was started. It is empty if the task is not known to have started.
	Task proxmox.UPID `json:"task,omitempty"`
}

// Note returns the record of a call that is about to be made.
func Note(ctx context.Context, t Tasks, ref proxmox.Ref, taskType string, now time.Time) (Call, error) {
	before, err := t.NodeTasks(ctx, ref.Node, taskType)
	return Call{Begun: now.Unix(), Before: tasktrack.Latest(of(ref, before))}, err
}

// Find finds the task that the call has started, or returns nil if none is known, as on a node that is no longer a member of the cluster. If the node
// cannot be asked now, the task may still run, and the problem is returned. Users can write records: a task of another type, or of another VM, is not
// read.
func (c *Call) Find(ctx context.Context, in inventory.Members, t Tasks, ref proxmox.Ref, taskType string) (*proxmox.Task, *kind.Problem, error) {
	if c.Task != "" && !c.Task.Is(taskType, ref.VMID) {
		return nil, nil, nil
	}
	if c.Task != "" {
		return target.Task(ctx, in, t, c.Task)
	}
	there, err := target.NodeTasks(ctx, in, t, ref.Node, taskType)
	if err != nil || there.Offline != nil {
		return nil, there.Offline, err
	}
	all := slices.DeleteFunc(tasktrack.Since(of(ref, there.All), c.Before), func(o proxmox.Task) bool { return o.UPID.User() != t.Identity().ID })
	if len(all) == 0 {
		return nil, nil, nil
	}
	return &all[0], nil, nil
}

// MayShow reports whether the task of the call may still appear.
func (c *Call) MayShow(now time.Time) bool { return now.Unix() < max(c.Begun, c.Lost)+target.Arrival }

// of returns those tasks that work on the VM, or have done so.
func of(ref proxmox.Ref, all []proxmox.Task) []proxmox.Task {
	id := strconv.Itoa(ref.VMID)
	return slices.DeleteFunc(all, func(o proxmox.Task) bool { return o.ID != id })
}

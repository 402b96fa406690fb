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

package restore

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// A Client asks PVE what a restore has to know.
type Client interface {
	BackupConfig(ctx context.Context, node, volume string) (proxmox.VMConfig, error)
	NodeTasks(ctx context.Context, node, taskType string) ([]proxmox.Task, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
	Identity() proxmox.Identity
}

// taskRestore is the type of the task that restores a VM.
const taskRestore = "qmrestore"

// arrival is how long a call may take to show the task that it has started, after its answer was
// lost.
const arrival = 15 * time.Second

// A Record is the call that restores a VM. It is written before the call. Until the restore ends
// well, its task is all that proves the VM ours: only then PVE writes what the VM is to be.
type Record struct {
	VMID   int    `json:"vmid"`
	Node   string `json:"node"`
	Volume string `json:"volume"`

	// Begun is when the call was noted last, in seconds.
	Begun int64 `json:"begun"`

	// Before are the latest tasks that restored this VMID on the node before.
	Before []proxmox.UPID `json:"before,omitempty"`

	// Task that was started. Empty if its start is not known to have happened.
	Task proxmox.UPID `json:"task,omitempty"`
}

// Parse reads what String has written. Empty is no record.
func Parse(text string) (*Record, error) {
	if text == "" {
		return nil, nil
	}
	r := &Record{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, errors.New("it is not what this provider wrote")
	}
	return r, nil
}

// String returns what is kept of the record.
func (r *Record) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // Such values can always be written.
	}
	return string(text)
}

// Begin returns the record of a call that is about to be made. A task of an earlier call whose
// outcome is not known counts too.
func Begin(ctx context.Context, c Client, earlier *Record, ref proxmox.Ref, volume string, now time.Time) (*Record, error) {
	r := &Record{VMID: ref.VMID, Node: ref.Node, Volume: volume, Begun: now.Unix()}
	if earlier != nil && earlier.VMID == r.VMID && earlier.Node == r.Node && earlier.Task == "" {
		r.Before = earlier.Before
		return r, nil
	}
	before, err := r.tasks(ctx, c)
	r.Before = tasktrack.Latest(before)
	return r, err
}

// tasks that restore this VMID on the node, or have done so.
func (r *Record) tasks(ctx context.Context, c Client) ([]proxmox.Task, error) {
	all, err := c.NodeTasks(ctx, r.Node, taskRestore)
	id := strconv.Itoa(r.VMID)
	return slices.DeleteFunc(all, func(t proxmox.Task) bool { return t.ID != id }), err
}

// An Outcome is what has become of a call.
type Outcome int

// The outcomes.
const (
	// Nothing is known of a task: the VM is not the one that was to be restored.
	Nothing Outcome = iota
	// Pending is a call whose task may be yet to show.
	Pending
	// Running is a task that works on the VM.
	Running
	// Succeeded is a task that has ended well.
	Succeeded
	// Failed is a task that has left the VM unfinished.
	Failed
)

// Settle finds out what has become of the call, and notes its task.
func (r *Record) Settle(ctx context.Context, c Client, now time.Time) (Outcome, error) {
	t, err := r.task(ctx, c)
	switch {
	case err != nil:
		return Nothing, err
	case t == nil && r.Task == "" && now.Sub(time.Unix(r.Begun, 0)) < arrival:
		return Pending, nil
	case t == nil:
		return Nothing, nil
	}
	r.Task = t.UPID
	switch {
	case t.Running:
		return Running, nil
	case t.OK():
		return Succeeded, nil
	}
	return Failed, nil
}

// task that the call has started, or nil if none is known.
func (r *Record) task(ctx context.Context, c Client) (*proxmox.Task, error) {
	if r.Task != "" {
		t, err := c.Task(ctx, r.Task)
		if proxmox.IsNoSuchTask(err) {
			return nil, nil
		}
		return &t, err
	}
	all, err := r.tasks(ctx, c)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(tasktrack.Since(all, r.Before), func(t proxmox.Task) bool { return t.UPID.User() != c.Identity().ID })
	if len(all) == 0 {
		return nil, nil
	}
	return &all[0], nil
}

// Unfinished reports whether a configuration is what PVE leaves of a VM whose restore has failed:
// nothing, or a memory that it gives to no other VM. Whoever has done anything to such a VM has
// made it theirs.
func Unfinished(c qemu.Config) bool {
	return len(c) == 0 || len(c) == 1 && c["memory"] == "128"
}

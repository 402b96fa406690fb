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

package proxmox

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Snapshot of a VM.
type Snapshot struct {
	// Name of the snapshot.
	Name string

	// Parent is the snapshot on which the VM was based when this one was taken, or empty for none.
	Parent string

	// Description of the snapshot.
	Description string

	// Time at which it was taken, by the clock of the node.
	Time time.Time

	// Memory reports whether the snapshot includes the memory of the running VM.
	Memory bool

	// State is prepare while the snapshot is being taken, delete while it is being removed, and empty for a complete one. It remains if the task is killed.
	State string
}

// A SnapshotTree holds the snapshots of a VM.
type SnapshotTree struct {
	// Snapshots in the order of PVE, which is random.
	Snapshots []Snapshot

	// Current is the snapshot on which the current state of the VM is based, or empty for none.
	Current string
}

// Named returns the snapshot with a name, or nil.
func (t SnapshotTree) Named(name string) *Snapshot {
	for i, s := range t.Snapshots {
		if s.Name == name {
			return &t.Snapshots[i]
		}
	}
	return nil
}

// currentState is the name of the entry that PVE adds for the current state of the VM.
const currentState = "current"

// SnapshotTree returns the snapshots of a VM.
func (c GuestAPI) SnapshotTree(ctx context.Context, ref Ref) (SnapshotTree, error) {
	var data list[struct {
		Name        text    `json:"name"`
		Parent      text    `json:"parent"`
		Description text    `json:"description"`
		Time        integer `json:"snaptime"`
		Memory      flag    `json:"vmstate"`
		State       text    `json:"snapstate"`
	}]
	if err := c.vm(ctx, ref, machine("list the snapshots of", http.MethodGet, ref, "/snapshot"), &data); err != nil {
		return SnapshotTree{}, err
	}
	t := SnapshotTree{}
	for _, d := range data {
		if d.Name == currentState {
			t.Current = string(d.Parent)
			continue
		}
		t.Snapshots = append(t.Snapshots, Snapshot{
			Name: string(d.Name), Parent: string(d.Parent), Description: string(d.Description),
			Time: unix(d.Time), Memory: bool(d.Memory), State: string(d.State),
		})
	}
	return t, nil
}

// SnapshotOptions describes a new snapshot.
type SnapshotOptions struct {
	// Name of the snapshot: 2 to 40 letters, digits, hyphens and underscores, beginning with a letter.
	Name string

	// Description of the snapshot.
	Description string

	// Memory includes the memory of the VM. PVE ignores it for a VM that is stopped.
	Memory bool
}

// TakeSnapshot starts to take a snapshot of a VM. Only the task finds out that the name is taken, that the VM is locked, or that a disk does not support
// snapshots.
func (c GuestAPI) TakeSnapshot(ctx context.Context, ref Ref, o SnapshotOptions) (UPID, error) {
	r := machine("take a snapshot of", http.MethodPost, ref, "/snapshot")
	r.form = map[string]string{"snapname": o.Name}
	if o.Description != "" {
		r.form["description"] = o.Description
	}
	if o.Memory {
		r.form["vmstate"] = formBool(true)
	}
	return c.startTask(ctx, ref, r)
}

// startTask makes a request that starts a task of a VM. It returns an error if the answer has no UPID.
func (c GuestAPI) startTask(ctx context.Context, ref Ref, r request) (UPID, error) {
	u, err := c.start(ctx, ref, r)
	if err == nil && u == "" {
		return "", newCall(r, nil).unexpected()
	}
	return u, err
}

// RemoveSnapshot starts to remove a snapshot of a VM. The snapshots that were taken after it stay. Only the task finds out that the snapshot does not
// exist.
func (c GuestAPI) RemoveSnapshot(ctx context.Context, ref Ref, name string) (UPID, error) {
	return c.startTask(ctx, ref, snapshotRequest("remove", http.MethodDelete, ref, name, ""))
}

// RollbackOptions describes the rollback of a VM to a snapshot.
type RollbackOptions struct {
	// Name of the snapshot.
	Name string

	// Start the VM afterwards. If the snapshot contains the memory, PVE starts the VM anyway.
	Start bool
}

// RollbackSnapshot starts to roll back a VM to a snapshot. PVE stops a running VM for that, hard and without asking. Only the task finds out that the
// snapshot does not exist, that the VM is locked, or that a storage cannot be rolled back to it.
func (c GuestAPI) RollbackSnapshot(ctx context.Context, ref Ref, o RollbackOptions) (UPID, error) {
	r := snapshotRequest("go back to", http.MethodPost, ref, o.Name, "/rollback")
	if o.Start {
		r.form = map[string]string{"start": formBool(true)}
	}
	return c.startTask(ctx, ref, r)
}

// DescribeSnapshot changes the description of a snapshot. If the snapshot does not exist, IsUnknownReference holds for the error.
func (c GuestAPI) DescribeSnapshot(ctx context.Context, ref Ref, name, description string) error {
	r := snapshotRequest("describe", http.MethodPut, ref, name, "/config")
	r.form = map[string]string{"description": description}
	return c.vm(ctx, ref, r, nil)
}

// snapshotRequest returns a request about one snapshot.
func snapshotRequest(op, method string, ref Ref, name, path string) request {
	r := machine(op+" snapshot "+name+" of", method, ref, "/snapshot/{snapname}"+path)
	r.args = append(r.args, name)
	return r
}

// CanSnapshot reports whether PVE can take a snapshot of all disks of a VM. Disks on thick LVM, raw files and some others do not support snapshots.
func (c GuestAPI) CanSnapshot(ctx context.Context, ref Ref) (bool, error) {
	r := machine("ask for the features of", http.MethodGet, ref, "/feature")
	r.query = url.Values{"feature": {"snapshot"}}
	var data struct {
		Has flag `json:"hasFeature"`
	}
	err := c.vm(ctx, ref, r, &data)
	return bool(data.Has), err
}

// A SnapshotProblem is the reason why a snapshot could not be taken or removed.
type SnapshotProblem string

// The problems of snapshots.
const (
	// SnapshotExists means that another snapshot has the name.
	SnapshotExists SnapshotProblem = "AlreadyExists"

	// SnapshotNotSupported means that the storage of a disk does not support snapshots.
	SnapshotNotSupported SnapshotProblem = "NotSupported"

	// SnapshotStorageFull means that a storage has no free space for the snapshot or its memory.
	SnapshotStorageFull SnapshotProblem = "StorageFull"

	// SnapshotLocked means that another operation has locked the VM.
	SnapshotLocked SnapshotProblem = "Locked"

	// SnapshotInUse means that a replication job or a later snapshot needs it.
	SnapshotInUse SnapshotProblem = "InUse"

	// SnapshotStopped means that a user stopped the task, or that its node went down.
	SnapshotStopped SnapshotProblem = "Stopped"

	// SnapshotFailed is any other problem.
	SnapshotFailed SnapshotProblem = "SnapshotFailed"
)

// SnapshotFailure returns why a task of a snapshot, or the call that starts it, has failed, and a sentence about it without its full stop.
func SnapshotFailure(err error) (SnapshotProblem, string) {
	for _, f := range snapshotFailures() {
		if says(err, f.pattern) {
			return f.problem, f.sentence
		}
	}
	var task *TaskError
	if errors.As(err, &task) {
		return SnapshotFailed, scrub(task.Task.ExitStatus, nil)
	}
	return SnapshotFailed, err.Error()
}

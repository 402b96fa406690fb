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
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// A record describes what was done for a Snapshot. It is stored in an annotation, of which the status has a copy. Nothing else in a snapshot of PVE
// proves to which resource it belongs.
type record struct {
	kind.SnapshotState

	// VMID of the VM, and the Node that it was on when the snapshot was begun.
	VMID int    `json:"vmid,omitempty"`
	Node string `json:"node,omitempty"`

	// Name of the snapshot, with the Description and Memory with which it was begun.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Memory      bool   `json:"memory,omitempty"`

	// Ran is true if the VM was running when the snapshot was begun, and Uptime is for how many seconds.
	Ran    bool  `json:"ran,omitempty"`
	Uptime int64 `json:"uptime,omitempty"`

	// Consistency of the snapshot, if it was determined when it was taken.
	Consistency v1alpha1.Consistency `json:"consistency,omitempty"`

	// Before are the latest tasks that took snapshots of the VM before this one was begun.
	Before []proxmox.UPID `json:"before,omitempty"`

	// Lost is true if the call was repeated after an answer was lost. A task since Before may then have taken the snapshot, whatever has become of Task.
	// LostAt is when the call was last repeated, in seconds.
	Lost   bool  `json:"lost,omitempty"`
	LostAt int64 `json:"lostAt,omitempty"`

	// Task that takes the snapshot. It is empty if the start is not confirmed.
	Task proxmox.UPID `json:"task,omitempty"`

	// Time at which PVE has taken the snapshot, in seconds. A snapshot of the same name with another time belongs to someone else.
	Time int64 `json:"time,omitempty"`

	// Size of the volume with the memory, in bytes, if that is known.
	Size int64 `json:"size,omitempty"`

	// Adopted is true if someone else has taken the snapshot.
	Adopted bool `json:"adopted,omitempty"`

	// Removal is the task that removes the snapshot.
	Removal proxmox.UPID `json:"removal,omitempty"`

	// Lock is how long PVE was seen to hold the lock of the VM.
	Lock tasktrack.LockWait `json:"lock,omitzero"`

	// Failures to take it.
	kind.Failures
}

// recordOf reads the record of a Snapshot.
func recordOf(mg resource.Managed) (*record, error) {
	r := &record{}
	text := mg.GetAnnotations()[kind.AnnotationSnapshot]
	if s, ok := mg.(Snapshot); ok {
		text = kind.SnapshotAnnotations().Text(s, s.Observation().Annotations)
	}
	return r, kind.ReadRecord(kind.AnnotationSnapshot, text, r)
}

// String returns the text of the record.
func (r *record) String() string { return kind.RecordText(r) }

// made reports whether a snapshot of this record exists in PVE, or may exist.
func (r *record) made() bool { return r.Begun != 0 || r.Done || r.Lost }

// undo records that an attempt has done nothing. The result of an earlier attempt may still appear.
func (r *record) undo() {
	if r.Begun, r.Task = 0, ""; !r.Lost {
		r.Before = nil
	}
}

// forgetLost records that no call whose answer was lost can still take the snapshot, and reports whether that is so: nothing works on the VM, the
// last call was refused long enough ago, and no earlier call has taken the present snapshot. The resource may then stand for another VM or snapshot.
func (r *record) forgetLost(s state, now int64) bool {
	if !r.Lost || r.Done || r.Begun != 0 || r.Task != "" || s.looks || s.busy || s.offline != nil || now <= r.LostAt+target.Arrival || r.late(s) {
		return false
	}
	r.Lost, r.LostAt, r.Before = false, 0, nil
	return true
}

// fail records that an attempt has failed and has left nothing.
func (r *record) fail(now, generation int64, problem, message string) {
	r.undo()
	r.Fail(now, generation, problem, message)
}

// firstRetry is the delay after the first failure before an attempt is repeated, in seconds.
const firstRetry = 15

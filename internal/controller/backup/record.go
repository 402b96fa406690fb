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

package backup

import (
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// AnnotationRecord records what was done for a Backup, as JSON: its VM and its volume. It is written before each call to Proxmox VE that it concerns.
const AnnotationRecord = tenancy.AnnotationBackup

// annotations returns those that the status copies.
func annotations() kind.Persisted {
	return kind.Persisted{Record: AnnotationRecord, Others: []string{kind.AnnotationCluster, tenancy.AnnotationBackupSignature}}
}

// A record describes what was done for a Backup. It is stored in an annotation, of which the status has a copy.
type record struct {
	// UUID and VMID of the VM, and the Node that it was on when the backup was begun.
	UUID string `json:"uuid,omitempty"`
	VMID int    `json:"vmid,omitempty"`
	Node string `json:"node,omitempty"`

	// Begun is when the intent to create the backup was recorded, in seconds, or when the answer was lost. Task is the task that creates it, which is
	// empty if the start is not confirmed.
	Begun int64        `json:"begun,omitempty"`
	Task  proxmox.UPID `json:"task,omitempty"`

	// Again is true if the call was repeated after an answer was lost, so that there may be two backups. Second is the other one.
	Again  bool   `json:"again,omitempty"`
	Second string `json:"second,omitempty"`

	// Tried is the task of the last failed attempt.
	Tried proxmox.UPID `json:"tried,omitempty"`

	// Done is true once the backup existed, and Gone once it was seen to no longer exist.
	Done bool `json:"done,omitempty"`
	Gone bool `json:"gone,omitempty"`

	// Volume of the backup, and Time of its beginning by PVE, in seconds. A volume of the same name with another time is another backup.
	Volume string `json:"volume,omitempty"`
	Time   int64  `json:"time,omitempty"`

	// Consistency of the backup, if it was determined when it was created.
	Consistency v1alpha1.Consistency `json:"consistency,omitempty"`

	// Notes that were written last, without the mark.
	Notes string `json:"notes,omitempty"`

	// Guarded is true if the backup was protected when it was created, without a request. The protection is removed before the backup is.
	Guarded bool `json:"guarded,omitempty"`

	// Lifted is true once the protection was removed before a removal. It is restored if the backup is to stay after all.
	Lifted bool `json:"lifted,omitempty"`

	// Adopted is true if someone else has created the backup.
	Adopted bool `json:"adopted,omitempty"`

	// Tenant to which the VM was seen to belong; empty for none. Its VMs may be restored from the backup.
	Tenant string `json:"tenant,omitempty"`

	// Removal is the task that removes the backup.
	Removal proxmox.UPID `json:"removal,omitempty"`

	// Failures to create it, and Log, the end of the log of the last one.
	kind.Failures

	Log []string `json:"log,omitempty"`
}

// recordOf reads the record of a Backup.
func recordOf(mg resource.Managed) (*record, error) {
	r := &record{}
	text := mg.GetAnnotations()[AnnotationRecord]
	if m, ok := mg.(Backup); ok {
		text = annotations().Text(m, m.Observation().Annotations)
	}
	return r, kind.ReadRecord(AnnotationRecord, text, r)
}

// String returns the text of the record.
func (r *record) String() string { return kind.RecordText(r) }

// made reports whether a backup of this record exists in PVE, or may exist.
func (r *record) made() bool { return r.Begun != 0 || r.Done }

// fail records that an attempt has failed and has left nothing.
func (r *record) fail(now, generation int64, problem backuplog.Problem, message string, log []string) {
	if r.Task != "" {
		r.Tried = r.Task
	}
	r.Begun, r.Task = 0, ""
	r.Fail(now, generation, string(problem), message)
	r.Log = log
}

// succeed resets the failures.
func (r *record) succeed() {
	r.Failures, r.Log = kind.Failures{}, nil
}

// firstRetry is the delay after the first failure before an attempt is repeated, in seconds.
const firstRetry = 30

// mayBe reports whether a task may be the one whose start was not confirmed. The task that was tried before, and older ones, cannot be.
func (r *record) mayBe(t proxmox.Task) bool {
	return t.UPID != r.Tried && !t.Start.Before(r.Tried.Start())
}

// mark returns the line of the notes that distinguishes a backup from others, and our task from other tasks, because its log contains the notes.
func mark(m resource.Managed) string { return "provider-proxmox: " + string(m.GetUID()) }

// marked reports whether a text of PVE contains the mark: notes, or a line of them or of a log.
func marked(text string, m resource.Managed) bool {
	_, rest, found := strings.Cut(text, mark(m))
	return found && (rest == "" || strings.ContainsAny(rest[:1], "\r\n'\" "))
}

// wantedNotes returns the notes in the spec.
func wantedNotes(m Backup) string { return ptr.Deref(m.Parameters().Notes, "") }

// fullNotes returns the notes that a backup has in PVE.
func fullNotes(m Backup, notes string) string {
	if notes == "" {
		return mark(m)
	}
	return strings.TrimRight(notes, "\r\n") + "\n" + mark(m)
}

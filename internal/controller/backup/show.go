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
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
)

// Reasons of the condition Ready of a Backup, in addition to those of every kind.
const (
	reasonStorageNotFound    xpv2.ConditionReason = "StorageNotFound"
	reasonStorageUnavailable xpv2.ConditionReason = "StorageUnavailable"
	reasonLimitReached       xpv2.ConditionReason = "LimitReached"
	reasonFailed             xpv2.ConditionReason = "BackupFailed"
	reasonProtected          xpv2.ConditionReason = "Protected"
)

// Reasons of the events of a Backup.
const (
	eventMade    event.Reason = "Made"
	eventChanged event.Reason = "Changed"
	eventFailed  event.Reason = "BackupFailed"
)

// The options that can be changed.
const (
	optionNotes     = "notes"
	optionProtected = "protected"
)

// conditionReason returns the reason for a problem that PVE has reported.
func conditionReason(problem string) xpv2.ConditionReason {
	return target.ReasonOf(problem, reasonFailed, target.ReasonNotSupported, reasonLimitReached, target.ReasonStorageFull,
		reasonStorageUnavailable, target.ReasonVMNotFound, target.ReasonLocked, target.ReasonStopped)
}

// compare compares the backup with the spec.
func (e *external) compare(m Backup) {
	v, p := e.view, m.Parameters()
	if v.problem != nil {
		v.problems = append(v.problems, *v.problem)
	}
	switch v.action {
	case start:
		v.difference = append(v.difference, v1alpha1.OptionDifference{Option: "storage", Desired: p.Storage})
	case keep:
		if p.Notes != nil && !e.hasNotes(m) {
			v.difference = append(v.difference, v1alpha1.OptionDifference{Option: optionNotes, Current: v.volume.Notes, Desired: *p.Notes})
		}
		if p.Protected != nil && *p.Protected != v.volume.Protected {
			v.difference = append(v.difference, v1alpha1.OptionDifference{
				Option: optionProtected, Current: strconv.FormatBool(v.volume.Protected), Desired: strconv.FormatBool(*p.Protected),
			})
		}
	case wait, claim, adopt, settle, fail, forget, lose, stuck:
	}
}

// hasNotes reports whether the notes match the spec. Lists of files contain only their first line, so a change of another line by someone else is not
// seen.
func (e *external) hasNotes(m Backup) bool {
	v := e.view
	wanted, _, _ := strings.Cut(fullNotes(m, wantedNotes(m)), "\n")
	is, _, _ := strings.Cut(v.volume.Notes, "\n")
	return (v.record.Notes == wantedNotes(m) || !v.record.Done) && strings.TrimSpace(wanted) == strings.TrimSpace(is)
}

// show shows the view as status and conditions.
func (e *external) show(m Backup) {
	v := e.view
	if len(v.problems) == 0 && v.problem != nil {
		v.problems = []kind.Problem{*v.problem}
	}
	e.observation(m)
	e.Show(m, v.action == start, v.difference, v.problems)
}

// observation writes the observed state of the backup into the status.
func (e *external) observation(m Backup) {
	v, r, o := e.view, e.view.record, m.Observation()
	kept := annotations().Copy(m, o.Annotations)
	*o = v1alpha1.BackupObservation{
		Volume: r.Volume, State: r.state(v.action), Cluster: v.cluster, VMUUID: v.target.UUID, Node: v.node, Log: r.Log,
		Difference: v.difference, Annotations: kept,
	}
	if v.target.VMID != 0 {
		o.VMID = ptr.To(int32(v.target.VMID)) //nolint:gosec // No VMID is that large.
	}
	if r.Time != 0 {
		o.Time = ptr.To(metav1.NewTime(time.Unix(r.Time, 0)))
	}
	if v.volume == nil || v.action != keep {
		return
	}
	o.Volume, o.Format, o.Notes, o.Protected = v.volume.ID, v.volume.Format, v.volume.Notes, v.volume.Protected
	o.Size, o.Time = ptr.To(v.volume.Size), ptr.To(metav1.NewTime(time.Unix(v.volume.Changed, 0)))
	if v.volume.VMID != 0 {
		o.VMID = ptr.To(int32(v.volume.VMID)) //nolint:gosec // No VMID is that large.
	}
	if o.Consistency = r.Consistency; o.Consistency == "" {
		o.Consistency = v1alpha1.ConsistencyUnknown
	}
	if v.volume.Verification != "" {
		o.Verified = ptr.To(v.volume.Verification == "ok")
	}
}

// state returns the progress of the backup.
func (r *record) state(a action) v1alpha1.BackupState {
	switch {
	case a == keep:
		return v1alpha1.BackupComplete
	case r.Gone:
		return v1alpha1.BackupGone
	case r.Done:
		return v1alpha1.BackupComplete
	case r.Begun != 0:
		return v1alpha1.BackupRunning
	case r.Count > 0:
		return v1alpha1.BackupFailed
	}
	return v1alpha1.BackupPending
}

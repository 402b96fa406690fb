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
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Reasons of the condition Ready of a Snapshot, in addition to those of every kind.
const (
	reasonManaged    xpv2.ConditionReason = "ManagedByMachine"
	reasonNotRunning xpv2.ConditionReason = "NotRunning"
	reasonFailed     xpv2.ConditionReason = "SnapshotFailed"
	reasonIncomplete xpv2.ConditionReason = "Incomplete"
	reasonImmutable  xpv2.ConditionReason = "Immutable"
)

// Reasons of the events of a Snapshot.
const (
	eventTaken     event.Reason = "Taken"
	eventDescribed event.Reason = "Described"
	eventFailed    event.Reason = "SnapshotFailed"
)

// conditionReason returns the reason for a problem that PVE has reported.
func conditionReason(problem string) xpv2.ConditionReason {
	return target.ReasonOf(problem, reasonFailed,
		target.ReasonNotSupported, target.ReasonStorageFull, target.ReasonLocked, target.ReasonStopped, kind.ReasonAlreadyExists)
}

// compare compares the snapshot with the spec: the description can be changed, the memory cannot.
func (e *external) compare(m Snapshot) {
	v, p := e.view, m.Parameters()
	if v.problem != nil {
		v.problems = append(v.problems, *v.problem)
	}
	switch v.action {
	case keep:
		e.compareOptions(p)
	case start:
		v.difference = append(v.difference, v1alpha1.OptionDifference{Option: "snapname", Desired: v.name})
	case wait, adopt, settle, fail, forget, lose, stuck:
	}
}

func (e *external) compareOptions(p *v1alpha1.SnapshotParameters) {
	v := e.view
	if d := p.Description; d != nil && !proxmox.SameText(*d, v.entry.Description) {
		v.difference = append(v.difference, v1alpha1.OptionDifference{Option: "description", Current: v.entry.Description, Desired: *d})
	}
	if p.IncludeMemory != nil && *p.IncludeMemory != v.entry.Memory {
		v.problems = append(v.problems, kind.Problem{Reason: reasonImmutable, Message: "includeMemory is " + strconv.FormatBool(*p.IncludeMemory) +
			", but the snapshot was taken with " + strconv.FormatBool(v.entry.Memory) + ", which cannot change"})
	}
}

// show shows the view as status and conditions.
func (e *external) show(m Snapshot) {
	v := e.view
	if len(v.problems) == 0 && v.problem != nil {
		v.problems = []kind.Problem{*v.problem}
	}
	if e.observation(m); e.client != nil {
		e.records.Sign(m)
	}
	e.Show(m, v.action == start, v.difference, v.problems)
}

// observation writes the observed state of the snapshot into the status.
func (e *external) observation(m Snapshot) {
	v, o := e.view, m.Observation()
	kept := kind.SnapshotAnnotations().Copy(m, o.Annotations)
	*o = v1alpha1.SnapshotObservation{
		Name: v.name, Cluster: v.cluster, VMUUID: v.target.UUID, Difference: v.difference, Annotations: kept, RecordSignature: o.RecordSignature,
	}
	if v.target.VMID != 0 {
		o.VMID = ptr.To(int32(v.target.VMID)) //nolint:gosec // No VMID is that large.
	}
	if v.guest != nil {
		o.Node = v.guest.Node
	}
	if v.record.Done {
		o.Time = ptr.To(metav1.NewTime(time.Unix(v.record.Time, 0)))
	}
	if v.entry == nil || v.action != keep {
		return
	}
	o.Time = ptr.To(metav1.NewTime(v.entry.Time))
	o.Parent, o.Description, o.IncludesMemory = v.entry.Parent, v.entry.Description, v.entry.Memory
	o.Current, o.ReadyToUse = v.tree.Current == v.name, true
	o.Consistency = v.record.consistency(v.entry)
	if v.record.Size > 0 {
		o.Size = ptr.To(v.record.Size)
	}
}

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

package volume

import (
	"cmp"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TypeBound is the condition that is True while the VM of a Machine has the disk attached.
const TypeBound xpv2.ConditionType = "Bound"

// Reasons of the condition Bound.
const (
	reasonBound    xpv2.ConditionReason = "Bound"
	reasonUnbound  xpv2.ConditionReason = "Unbound"
	reasonAttached xpv2.ConditionReason = "StillAttached"
	reasonBinding  xpv2.ConditionReason = "Binding"
)

// Reasons of the condition Ready, in addition to those of every kind.
const (
	reasonNodeOffline   xpv2.ConditionReason = "NodeOffline"
	reasonLocked                             = target.ReasonLocked
	reasonMoving        xpv2.ConditionReason = "Moving"
	reasonFailed        xpv2.ConditionReason = "Failed"
	reasonLost          xpv2.ConditionReason = "Lost"
	reasonWrongNode     xpv2.ConditionReason = "WrongNode"
	reasonImmutable     xpv2.ConditionReason = "Immutable"
	reasonNoSize        xpv2.ConditionReason = "NoSize"
	reasonNoStorage     xpv2.ConditionReason = "NoStorage"
	reasonStorageFull   xpv2.ConditionReason = "StorageFull"
	reasonRestoreFailed xpv2.ConditionReason = "RestoreFailed"
	reasonUnproven      xpv2.ConditionReason = "Unproven"
	reasonNotAdoptable  xpv2.ConditionReason = "NotAdoptable"
)

// Reasons of the events of a Volume.
const (
	eventMade          event.Reason = "Made"
	eventAdopted       event.Reason = "Adopted"
	eventHandedOver    event.Reason = "HandedOver"
	eventMoved         event.Reason = "Moved"
	eventFailed        event.Reason = "Failed"
	eventLost          event.Reason = "Lost"
	eventRenamed       event.Reason = "Renamed"
	eventNameRestored  event.Reason = "NameRestored"
	eventRecovered     event.Reason = "Recovered"
	eventRetained      event.Reason = "Retained"
	eventOvercommitted event.Reason = "StorageOvercommitted"
)

// show shows the view as status and conditions.
func (e *external) show(m Volume) {
	v := e.view
	if v.problem != nil {
		v.problems = []kind.Problem{*v.problem}
	}
	if v.beside != nil {
		v.problems = append(v.problems, *v.beside)
	}
	v.difference = v.differences()
	e.observation(m)
	e.Show(m, v.action == makeStub && !v.Made(), v.difference, v.problems)
	showBound(m, v)
}

// differences returns the differences between the spec and the present state.
func (v *view) differences() []v1alpha1.OptionDifference {
	d := v1alpha1.OptionDifference{}
	switch v.action {
	case makeStub:
		d.Option, d.Desired = "stub VM", "is to be made"
	case migrate:
		d.Option, d.Current, d.Desired = "node of the stub VM", v.from.Node, v.decision.node
	case give:
		d.Option, d.Current, d.Desired = "vmid", fmt.Sprint(v.from.VMID), fmt.Sprint(v.to.VMID)
	case move:
		d.Option, d.Current, d.Desired = "storage", storageOf(v.Volume), v.state.storage
	case attach, grow:
		d.Option, d.Current, d.Desired = "size", v.sizeNow(), v.size.String()
	case keep, wait, settle, arrive, follow, forget, protect, destroy, release, lose, stuck:
		return nil
	}
	return []v1alpha1.OptionDifference{d}
}

// sizeNow returns the size of the disk; empty while it is unknown.
func (v *view) sizeNow() string {
	if v.holder == nil || v.holder.offline != "" {
		return ""
	}
	d, err := proxmox.ParseDisk(v.holder.Config[v.holder.attached(v.Volume)])
	if err != nil {
		return ""
	}
	return d.Options.Get("size")
}

// observation writes the observed state of the disk into the status.
func (e *external) observation(m Volume) {
	v, o := e.view, m.Observation()
	kept, size := persisted().Copy(m, o.Annotations), o.Size
	*o = v1alpha1.VolumeObservation{Volume: v.Volume, Cluster: v.cluster, Machine: v.MachineName, Difference: v.difference, Annotations: kept}
	if v.found != nil {
		o.Found = &v.found.VolumeFound
	}
	if v.VMID != 0 && v.stub != nil {
		o.StubVMID = ptr.To(int32(v.VMID)) //nolint:gosec // No VMID is that large.
	}
	for i, c := range v.claims {
		if i > 0 || c.deleted {
			o.Waiting = append(o.Waiting, c.name)
		}
	}
	if !v.Made() || v.holder == nil || v.Lost {
		return
	}
	o.VMID, o.Node, o.Size = ptr.To(int32(v.holder.VMID)), v.holder.Node, size //nolint:gosec // No VMID is that large.
	if now := v.sizeNow(); now != "" {
		o.Size = now
	}
	if v.unsure() { // The disk that is seen now may be another one, and the status may be the only record of where it was.
		o.Node, o.Device, o.Size = cmp.Or(v.Place.Node, o.Node), v.Place.Device, cmp.Or(v.Place.Size, size)
	} else if v.holder.offline == "" {
		if o.Device = v.holder.attached(v.Volume); o.Device == "" {
			o.Device = v.holder.unused(v.Volume)
		}
	}
}

// showBound shows which Machine has the disk.
func showBound(m Volume, v *view) {
	if v.state == nil || v.action == stuck && v.Lost {
		m.SetConditions(bound(m, corev1.ConditionFalse, reasonLost, v.Message))
		return
	}
	w := v.firstClaim()
	switch {
	case v.problem != nil && v.problem.Reason == reasonUnproven:
		m.SetConditions(bound(m, corev1.ConditionFalse, reasonUnproven, v.problem.Message))
	case v.holder == nil || v.holder.offline != "":
		if m.GetCondition(TypeBound).Status != corev1.ConditionTrue {
			m.SetConditions(bound(m, corev1.ConditionFalse, reasonUnbound, "which VM has the disk cannot be seen now: the condition Ready says why"))
		}
	case w == nil && (v.owned || v.leaving):
		m.SetConditions(bound(m, corev1.ConditionFalse, reasonAttached,
			fmt.Sprintf("VM %d of a Machine that no longer lists the Volume has the disk", v.holder.VMID)))
	case w == nil:
		m.SetConditions(bound(m, corev1.ConditionFalse, reasonUnbound, "no Machine lists the Volume"))
	case w.vm == nil || w.vm.VMID != v.holder.VMID:
		m.SetConditions(bound(m, corev1.ConditionFalse, reasonBinding, fmt.Sprintf("the disk is kept for Machine %s, whose VM is yet to get it", w.name)))
	case !v.holder.staysAttached(v.holder.attached(v.Volume), v.Volume):
		m.SetConditions(bound(m, corev1.ConditionFalse, reasonBinding,
			fmt.Sprintf("VM %d of Machine %s has the disk, and is yet to attach it", v.holder.VMID, w.name)))
	default:
		m.SetConditions(bound(m, corev1.ConditionTrue, reasonBound,
			fmt.Sprintf("Machine %s has the disk: it is %s of VM %d", w.name, v.holder.attached(v.Volume), v.holder.VMID)))
	}
}

func bound(m Volume, status corev1.ConditionStatus, reason xpv2.ConditionReason, message string) xpv2.Condition {
	c := xpv2.Condition{Type: TypeBound, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}
	if meta.WasDeleted(m) {
		return c
	}
	return c.WithObservedGeneration(m.GetGeneration())
}

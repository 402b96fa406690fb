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

package events

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
)

// TestFaults lets a condition turn false, reconcile after reconcile.
func TestFaults(t *testing.T) {
	off := conditions.NotReady(conditions.ReasonPowerMismatch, "the VM is not running yet")
	bootable := func(s corev1.ConditionStatus, r xpv2.ConditionReason) xpv2.Condition {
		return conditions.New(conditions.TypeBootable, s, r, "why")
	}
	stops := PowerFault{Fault: "stops", Lasts: true}
	type look struct {
		shows xpv2.Condition
		power PowerFault
		gone  bool
		want  int
	}
	cases := map[string]struct {
		reason string
		looks  []look
	}{
		"Device": {
			reason: "What is missing is told, and again when it has been there.",
			looks: []look{
				{shows: conditions.NotReady(conditions.ReasonDeviceMissing, "no scsi1"), want: 1},
				{shows: conditions.NotReady(conditions.ReasonDeviceMissing, "no scsi1")},
				{shows: xpv2.Available()},
				{shows: conditions.NotReady(conditions.ReasonDeviceMissing, "no scsi1"), want: 1},
			},
		},
		"CloudInit": {
			reason: "What cloud-init has failed with is told.",
			looks: []look{{
				shows: conditions.New(conditions.TypeGuestProvisioned, corev1.ConditionFalse, conditions.ReasonCloudInitFailed, "no network"), want: 1,
			}},
		},
		"NothingToBoot": {
			reason: "A VM that runs with nothing to boot from is told of once until it has something, however often it starts.",
			looks: []look{
				{shows: bootable(corev1.ConditionFalse, conditions.ReasonNothingToBoot), want: 1},
				{shows: bootable(corev1.ConditionFalse, conditions.ReasonNothingToBoot)},
				{shows: bootable(corev1.ConditionUnknown, conditions.ReasonNotRunning)},
				{shows: bootable(corev1.ConditionFalse, conditions.ReasonNothingToBoot)},
				{shows: bootable(corev1.ConditionTrue, conditions.ReasonBootDeviceFound)},
				{shows: bootable(corev1.ConditionFalse, conditions.ReasonNothingToBoot), want: 1},
			},
		},
		"Starting": {reason: "A VM that is about to be started has no fault.", looks: []look{{shows: off}}},
		"Template": {
			reason: "One that cannot be started has one.",
			looks:  []look{{shows: off, power: PowerFault{Fault: "a template"}, want: 1}, {shows: off, power: PowerFault{Fault: "a template"}}},
		},
		"CrashLoop": {
			reason: "One that stops after each start is told of once, until it has run for long.",
			looks: []look{
				{shows: conditions.NotReady(conditions.ReasonPowerMismatch, "2 starts"), power: stops, want: 1},
				{shows: off, power: PowerFault{Lasts: true}},
				{shows: xpv2.Available(), power: PowerFault{Lasts: true}},
				{shows: conditions.NotReady(conditions.ReasonPowerMismatch, "3 starts"), power: stops},
				{shows: xpv2.Available()},
				{shows: conditions.NotReady(conditions.ReasonPowerMismatch, "2 starts"), power: stops, want: 1},
			},
		},
		"Creating": {
			reason: "Errors of a creation are told as such.",
			looks:  []look{{shows: conditions.NotReady(conditions.ReasonBridgeMissing, "no vmbr9"), gone: true}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var told Announced
			m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{UID: "a"}}
			for i, l := range tc.looks {
				before := Conditions(m)
				m.SetConditions(l.shows)
				if got := told.Faults(m, before, !l.gone, l.power); len(got) != l.want {
					t.Errorf("%s\nlook %d: want %d events, got %v", tc.reason, i, l.want, got)
				}
			}
		})
	}
}

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

package provisioned

import (
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

func TestShow(t *testing.T) {
	boot := time.Unix(1_800_000_000, 0)
	done := conditions.New(conditions.TypeGuestProvisioned, corev1.ConditionTrue, conditions.ReasonCloudInitFinished, "")
	failed := conditions.New(conditions.TypeGuestProvisioned, corev1.ConditionFalse, conditions.ReasonCloudInitFailed, "no network")
	cases := map[string]struct {
		reason  string
		before  *xpv2.Condition
		machine func(*namespaced.Machine)
		vm      func(*vmstate.VM)
		told    guestagent.Provisioning
		status  corev1.ConditionStatus
		want    xpv2.ConditionReason
		asked   bool
	}{
		"Unasked": {reason: "The agent has yet to answer.", status: corev1.ConditionFalse, want: conditions.ReasonWaitingForAgent, asked: true},
		"Runs": {
			reason: "cloud-init has not finished yet.", told: guestagent.Provisioning{State: guestagent.ProvisioningRuns},
			status: corev1.ConditionFalse, want: conditions.ReasonCloudInitRunning, asked: true,
		},
		"Done": {
			reason: "cloud-init has finished without errors.", told: guestagent.Provisioning{State: guestagent.ProvisioningDone},
			status: corev1.ConditionTrue, want: conditions.ReasonCloudInitFinished,
		},
		"Failed": {
			reason: "cloud-init has finished with errors.", told: guestagent.Provisioning{State: guestagent.ProvisioningFailed},
			status: corev1.ConditionFalse, want: conditions.ReasonCloudInitFailed,
		},
		"Unknown": {
			reason: "The token may not read it.", told: guestagent.Provisioning{State: guestagent.ProvisioningUnknown},
			status: corev1.ConditionUnknown, want: conditions.ReasonGuestNotReadable, asked: true,
		},
		"Off": {
			reason: "The VM is off.", vm: func(v *vmstate.VM) { v.Status.Status = "stopped" },
			status: corev1.ConditionFalse, want: conditions.ReasonWaitingForAgent, asked: true,
		},
		"NoAgent": {
			reason: "The VM has no agent.", vm: func(v *vmstate.VM) { v.Active = nil },
			status: corev1.ConditionFalse, want: conditions.ReasonWaitingForAgent, asked: true,
		},
		"Reboots": {
			reason: "A guest that boots again was provisioned.", before: &done,
			status: corev1.ConditionTrue, want: conditions.ReasonCloudInitFinished, asked: true,
		},
		"Again": {
			reason: "The last start of the guest counts.", before: &done, told: guestagent.Provisioning{State: guestagent.ProvisioningFailed},
			status: corev1.ConditionFalse, want: conditions.ReasonCloudInitFailed,
		},
		"Creating": {
			reason: "A VM that is created again is another one.", before: &done, vm: func(v *vmstate.VM) { v.Config = qemu.Config{"lock": "create"} },
			status: corev1.ConditionFalse, want: conditions.ReasonCreating, asked: true,
		},
		"Restart": {
			reason: "After a restart of the provider a guest is not asked again.", before: &failed,
			machine: func(m *namespaced.Machine) { at := metav1.NewTime(boot); m.Observation().StartedAt = &at },
			status:  corev1.ConditionFalse, want: conditions.ReasonCloudInitFailed,
		},
		"OptedOut": {
			reason: "Nobody asks any more.", before: &done, machine: func(m *namespaced.Machine) { m.Spec.ForProvider.ReportProvisioning = nil },
			status: corev1.ConditionUnknown, want: conditions.ReasonNotReported, asked: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{}
			m.Spec.ForProvider.ReportProvisioning = new(true)
			if tc.before != nil {
				m.SetConditions(*tc.before)
			}
			if tc.machine != nil {
				tc.machine(m)
			}
			agent := qemu.Config{"agent": "1"}
			v := &vmstate.VM{State: qemu.State{Config: agent, Active: agent}, Status: proxmox.Status{Status: "running", QMPStatus: "running"}}
			if tc.vm != nil {
				tc.vm(v)
			}
			all := guestagent.New(func() time.Time { return boot }).Provisionings
			all.RecordEarlier(m, boot, tc.told)
			Show(m, v, all, boot)
			if got := m.GetCondition(conditions.TypeGuestProvisioned); got.Status != tc.status || got.Reason != tc.want {
				t.Errorf("%s: want %s %s, got %s %s (%s)", tc.reason, tc.status, tc.want, got.Status, got.Reason, got.Message)
			}
			if asked := all.Due(m, boot); asked != tc.asked {
				t.Errorf("%s: want the guest asked %t, got %t", tc.reason, tc.asked, asked)
			}
		})
	}
}

// TestNobodyAsked checks that a Machine that does not opt in has no such condition.
func TestNobodyAsked(t *testing.T) {
	m := &namespaced.Machine{}
	Show(m, &vmstate.VM{}, guestagent.New(time.Now).Provisionings, time.Now())
	if len(m.Status.Conditions) > 0 || Wanted(m) {
		t.Errorf("want no condition, got %v", m.Status.Conditions)
	}
}

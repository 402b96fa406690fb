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

package controller_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

func TestProvisioned(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"provisioned": {reason: "The end of cloud-init in the guest is shown.", run: provisioned(nil, corev1.ConditionTrue, conditions.ReasonCloudInitFinished)},
		"unprovisioned": {
			reason: "The errors of cloud-init in the guest are shown.",
			run:    provisioned([]string{"RuntimeError('Runparts: 1 failures')"}, corev1.ConditionFalse, conditions.ReasonCloudInitFailed),
		},
	})
}

// provisioned runs cloud-init in the guest of a Machine until it ends with these errors.
func provisioned(failures []string, status corev1.ConditionStatus, reason xpv2.ConditionReason) func(*world) {
	return func(w *world) {
		w.pve.Edit(func(s *simulator.State) {
			for _, g := range s.Guests {
				g.Agent = &simulator.Agent{CloudInitRuns: true}
			}
		})
		spec := ubuntu()
		spec.Agent, spec.CloudInit, spec.ReportProvisioning = new(true), &v1alpha1.MachineCloudInit{User: new("debian")}, new(true)
		w.create(spec)
		w.ready()
		w.provisioning(corev1.ConditionFalse, conditions.ReasonCloudInitRunning)
		w.tamper(func(g *simulator.Guest) { g.Agent = &simulator.Agent{CloudInitErrors: failures} })
		if got := w.provisioning(status, reason); got.Message != strings.Join(failures, "; ") {
			w.Errorf("the condition does not tell the errors: %q", got.Message)
		}
		asked := w.filesRead()
		w.unchanged()
		if got := w.filesRead(); got != asked {
			w.Errorf("a guest whose cloud-init has finished was asked %d times more", got-asked)
		}
		w.change(func(p *v1alpha1.MachineParameters) { p.ReportProvisioning = nil })
		w.provisioning(corev1.ConditionUnknown, conditions.ReasonNotReported)
		w.finish()
	}
}

// provisioning waits until the condition GuestProvisioned is as expected.
func (w *world) provisioning(status corev1.ConditionStatus, reason xpv2.ConditionReason) xpv2.Condition {
	w.Helper()
	var got xpv2.Condition
	w.eventually("GuestProvisioned is "+string(status)+" "+string(reason), func() bool {
		w.exists()
		got = w.m.GetCondition(conditions.TypeGuestProvisioned)
		return got.Status == status && got.Reason == reason
	})
	return got
}

// filesRead returns the number of files of the guest that were read so far.
func (w *world) filesRead() int {
	n := 0
	for _, r := range w.pve.Requests() {
		if r.Params["file"] == guestagent.CloudInitResult {
			n++
		}
	}
	return n
}

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

package snapshotpolicy

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

func TestNames(t *testing.T) {
	run := time.Date(2026, 3, 29, 2, 30, 0, 0, time.FixedZone("", 3600))
	names := regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{1,39}$`)
	cases := map[string]struct{ reason, policy, machine, object, snapshot string }{
		"Plain": {
			reason: "The time is that of UTC.", policy: "nightly", machine: "web",
			object: "nightly-web-20260329-0130-0766ac7e", snapshot: "nightly-20260329-0130",
		},
		"Digit": {reason: "PVE wants a letter first.", policy: "1st", machine: "web", snapshot: "s-1st-20260329-0130"},
		"Dots":  {reason: "PVE takes no dots.", policy: "a.b", machine: "web.example.org", snapshot: "a-b-2e7336dc-20260329-0130"},
		"Long": {
			reason: "What is too long is cut.", policy: strings.Repeat("p", 253), machine: strings.Repeat("m", 253),
		},
		"CutAtDot": {reason: "No part of a name ends with a dot.", policy: strings.Repeat("p.", 110) + "p", machine: strings.Repeat("m.", 30) + "m"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object, snapshot := objectName(tc.policy, tc.machine, run), snapshotName(tc.policy, run)
			if problems := validation.IsDNS1123Subdomain(object); len(problems) > 0 || tc.object != "" && object != tc.object {
				t.Errorf("%s want %q, got %q: %v", tc.reason, tc.object, object, problems)
			}
			if !names.MatchString(snapshot) || tc.snapshot != "" && snapshot != tc.snapshot {
				t.Errorf("%s want %q, got %q", tc.reason, tc.snapshot, snapshot)
			}
			if problems := validation.IsValidLabelValue(labelOf(tc.policy)); len(problems) > 0 {
				t.Errorf("%s %q: %v", tc.reason, labelOf(tc.policy), problems)
			}
		})
	}
	if objectName("a-b", "c", run) == objectName("a", "b-c", run) {
		t.Error("names of two policies are the same")
	}
}

// TestTenantOfSnapshots checks that Snapshots of a cluster-scoped policy belong to its tenant, however that is determined.
func TestTenantOfSnapshots(t *testing.T) {
	everywhere(t, func(l *lab) {
		pc := &cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "site"}}
		pc.Spec.Tenants = []v1alpha1.ProviderTenant{{Name: "a", ResourceSelector: &metav1.LabelSelector{
			MatchLabels:      map[string]string{"team": "a"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "stage", Operator: metav1.LabelSelectorOpExists}},
		}}}
		l.must(l.kube.Create(l.Context(), pc))
		of := map[string]string{"team": "a", "stage": "test", "argocd.argoproj.io/instance": "platform", tenancy.LabelClaimNamespace: "team-a"}
		l.policy.SetLabels(of)
		l.must(l.kube.Update(l.Context(), l.policy))
		l.now = night(2)
		l.rest(6)
		all := l.snapshots()
		if len(all) == 0 {
			l.Fatal("there is no Snapshot")
		}
		want := map[string]string{labelPolicy: "nightly", "team": "a", "stage": "test", tenancy.LabelClaimNamespace: "team-a"}
		if l.policy.GetNamespace() != "" {
			want = map[string]string{labelPolicy: "nightly", tenancy.LabelClaimNamespace: "team-a"} // It is determined by its namespace.
		}
		if diff := cmp.Diff(want, all[0].GetLabels()); diff != "" {
			l.Errorf("-want, +got:\n%s", diff)
		}
	})
}

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

package machine

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// TestClusterMismatch checks that a VM is neither created again nor left behind if the configuration now leads to another cluster.
func TestClusterMismatch(t *testing.T) {
	other := func(b *bench) { b.cluster = "prod" }
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		pve     func(*bench)
		there   bool // The VM exists.
		writes  []string
		shown   string
		err     string
	}{
		"Same":    {reason: "A VM that is gone is created again.", writes: []string{"Create pve1/10000"}},
		"Other":   {reason: "A VM that is gone is not made in another cluster.", pve: other, err: `VM 10000 is in the cluster "lab", and not looked for in "prod"`},
		"Deleted": {reason: "A Machine does not go and leave its VM.", machine: deleted, pve: other, err: "is in the cluster"},
		"Agreed": {
			reason: "Unless somebody says so.", machine: func(m *namespaced.Machine) { m.Annotations[object.AnnotationCluster] = "prod" },
			pve: other, writes: []string{"Create pve1/10000"},
		},
		"Moved": {reason: "A VM that was brought along is the same one.", pve: other, there: true, shown: "prod"},
		"Alone": {reason: "A node in no cluster is another one.", pve: func(b *bench) { b.cluster = "" }, err: `not looked for in "pve1"`},
		"Forbidden": {reason: "Who may not ask is not protected.", pve: func(b *bench) {
			b.errs["ClusterStatus"] = refused(http.StatusForbidden, "Permission check failed (/, Sys.Audit)")
		}, writes: []string{"Create pve1/10000"}},
		"Failed": {
			reason: "What cannot be asked now may be later.",
			pve:    func(b *bench) { b.errs["ClusterStatus"] = refused(http.StatusInternalServerError, "boom") }, err: "boom",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				m.Status.AtProvider.Cluster, m.Status.AtProvider.UUID = "lab", ourUUID
				if tc.machine != nil {
					tc.machine(m)
				}
			})
			if tc.there {
				b.vms[10000] = ourVM("running")
			}
			if tc.pve != nil {
				tc.pve(b)
			}
			s := b.reconcile(t.Context())
			if tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
				t.Errorf("%s want error %q, got %v", tc.reason, tc.err, s.err)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("%s writes: -want, +got:\n%s", tc.reason, diff)
			}
			if ready := b.m.GetCondition("Ready"); strings.Contains(tc.err, "cluster") &&
				(ready.Status != corev1.ConditionFalse || ready.Reason != conditions.ReasonClusterMismatch) {
				t.Errorf("%s got %+v", tc.reason, ready)
			}
			if got := b.m.Status.AtProvider.Cluster; tc.shown != "" && got != tc.shown {
				t.Errorf("%s want cluster %q shown, got %q", tc.reason, tc.shown, got)
			}
		})
	}
}

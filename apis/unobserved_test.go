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

package apis_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// unobserved is the default of a status.
type unobserved struct {
	xpv2.ConditionedStatus

	ObservedGeneration int64 `json:"observedGeneration"`
	AtProvider         struct {
		Phase v1alpha1.MachinePhase `json:"phase"`
	} `json:"atProvider"`
}

// TestUnobserved sees that each kind with a status says so of an object that no reconcile has written a status of. Without observedGeneration
// tools that wait for it would take it for one that has all that they wait for; without conditions and phase their columns would be blank.
func TestUnobserved(t *testing.T) {
	for _, crd := range definitions(t) {
		status, ok := root(crd).Properties["status"]
		if !ok {
			continue
		}
		t.Run(crd.Name, func(t *testing.T) {
			if status.Default == nil {
				t.Fatal("the status has no default")
			}
			got := unobserved{}
			if err := json.Unmarshal(status.Default.Raw, &got); err != nil {
				t.Fatal(err)
			}
			if got.ObservedGeneration != -1 {
				t.Errorf("want observedGeneration -1, got %d", got.ObservedGeneration)
			}
			var shown []xpv2.ConditionType
			phase := v1alpha1.MachinePhase("")
			for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
				switch column.Name {
				case "READY":
					shown = append(shown, xpv2.TypeReady)
				case "UPTODATE":
					shown = append(shown, xpv2.TypeUpToDate)
				case "PHASE":
					phase = v1alpha1.MachinePending
				}
			}
			for _, c := range got.Conditions {
				if c.Status != corev1.ConditionUnknown || c.Reason != v1alpha1.ReasonNotReconciled || c.Message == "" || !slices.Contains(shown, c.Type) {
					t.Errorf("want an unknown condition that has a column and says why, got %+v", c)
				}
			}
			if len(got.Conditions) != len(shown) || len(shown) == 0 || got.AtProvider.Phase != phase {
				t.Errorf("want the conditions %v and the phase %q, got %+v", shown, phase, got)
			}
		})
	}
}

// TestNothingBlank has the API server print a Machine that no provider has reconciled, one whose first status is written, and one that is restored
// with its status removed, as backup tools do.
func TestNothingBlank(t *testing.T) {
	for name, s := range scopes() {
		t.Run(name, func(t *testing.T) {
			m := s.machine(t, "{}")
			m.SetName("nothing-blank")
			create := func() {
				t.Helper()
				if err := kube.Create(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			create()
			blank := map[string]string{"READY": "Unknown", "SYNCED": "", "UPTODATE": "Unknown", "PHASE": "Pending"}
			wantColumns(t, "A Machine without a look says that.", m, blank)

			conditions := []any{map[string]any{
				"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-01T00:00:00Z",
			}}
			m.Object["status"] = map[string]any{"observedGeneration": int64(1), "conditions": conditions}
			if err := kube.Status().Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			wantColumns(t, "A status that was written has no default beside it.", m, map[string]string{"READY": "True", "SYNCED": "", "UPTODATE": "", "PHASE": ""})

			if err := kube.Delete(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			m = &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": m.GetAPIVersion(), "kind": m.GetKind(), "spec": m.Object["spec"],
				"metadata": map[string]any{"namespace": m.GetNamespace(), "name": m.GetName()},
			}}
			create()
			t.Cleanup(func() { _ = kube.Delete(t.Context(), m, client.GracePeriodSeconds(0)) })
			wantColumns(t, "A Machine that is restored was not looked at here.", m, blank)
		})
	}
}

// wantColumns compares columns as kubectl get prints them.
func wantColumns(t *testing.T, reason string, o *unstructured.Unstructured, want map[string]string) {
	t.Helper()
	path := "/apis/" + o.GetAPIVersion() + "/"
	if o.GetNamespace() != "" {
		path += "namespaces/" + o.GetNamespace() + "/"
	}
	table := tableOf(t, path+strings.ToLower(o.GetKind())+"s/"+o.GetName())
	got := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		if _, ok := want[column.Name]; ok {
			got[column.Name], _ = table.Rows[0].Cells[i].(string)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n-want, +got:\n%s", reason, diff)
	}
}

// tableOf is what the API server answers kubectl get.
func tableOf(t *testing.T, path string) metav1.Table {
	t.Helper()
	server, _, err := rest.DefaultServerUrlFor(restConfig)
	if err != nil {
		t.Fatal(err)
	}
	to, err := rest.HTTPClientFor(restConfig)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.JoinPath(path).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	answer, err := to.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	table := metav1.Table{}
	if err := json.NewDecoder(answer.Body).Decode(&table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("want a table of one row, got %+v: %v", table, err)
	}
	return table
}

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

package kind

import (
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/metrics"
)

func TestConditionRecorder(t *testing.T) {
	s := runtime.NewScheme()
	if err := namespaced.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	good, bad := &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Name: "good"}}, &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}
	good.SetConditions(xpv2.Available(), xpv2.ReconcileSuccess(), UpToDate(nil))
	bad.SetConditions(xpv2.ReconcileError(errors.New("boom")), UpToDate([]v1alpha1.OptionDifference{{Option: "comment", Desired: "a"}}))
	worked := &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Name: "worked"}}
	never := &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Name: "never"}}
	worked.SetConditions(xpv2.Available(), xpv2.ReconcilePaused(), UpToDate([]v1alpha1.OptionDifference{{Option: "comment", Desired: "a"}}))
	never.SetConditions(xpv2.ReconcilePaused())
	kube := fake.NewClientBuilder().WithScheme(s).WithObjects(good, bad, worked, never).Build()
	m, registry := metrics.New(), prometheus.NewRegistry()
	if err := m.Register(registry); err != nil {
		t.Fatal(err)
	}
	states := statemetrics.NewMRStateMetrics()
	registry.MustRegister(states)
	list := &namespaced.PoolList{}
	r := conditionRecorder{reader: kube, list: list, gvk: "g", metrics: m, states: states, log: logging.NewNopLogger()}
	want := `
# HELP proxmox_operator_resources_conditions Resources by the status of a condition: Ready, Synced or UpToDate. Paused, if a paused resource's is not True.
# TYPE proxmox_operator_resources_conditions gauge
proxmox_operator_resources_conditions{condition="Ready",gvk="g",status="Paused"} 1
proxmox_operator_resources_conditions{condition="Ready",gvk="g",status="True"} 2
proxmox_operator_resources_conditions{condition="Ready",gvk="g",status="Unknown"} 1
proxmox_operator_resources_conditions{condition="Synced",gvk="g",status="False"} 1
proxmox_operator_resources_conditions{condition="Synced",gvk="g",status="Paused"} 2
proxmox_operator_resources_conditions{condition="Synced",gvk="g",status="True"} 1
proxmox_operator_resources_conditions{condition="UpToDate",gvk="g",status="False"} 1
proxmox_operator_resources_conditions{condition="UpToDate",gvk="g",status="Paused"} 2
proxmox_operator_resources_conditions{condition="UpToDate",gvk="g",status="True"} 1
# HELP crossplane_managed_resource_exists The number of managed resources that exist
# TYPE crossplane_managed_resource_exists gauge
crossplane_managed_resource_exists{gvk="g"} 4
# HELP crossplane_managed_resource_ready The number of managed resources in Ready=True state
# TYPE crossplane_managed_resource_ready gauge
crossplane_managed_resource_ready{gvk="g"} 2
# HELP crossplane_managed_resource_synced The number of managed resources in Synced=True state
# TYPE crossplane_managed_resource_synced gauge
crossplane_managed_resource_synced{gvk="g"} 1
`
	r.record(t.Context())
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "proxmox_operator_resources_conditions",
		"crossplane_managed_resource_exists", "crossplane_managed_resource_ready", "crossplane_managed_resource_synced"); err != nil {
		t.Error(err)
	}
	if len(list.Items) > 0 {
		t.Errorf("want no copies of resources to be held, got %d", len(list.Items))
	}
	if err := kube.Delete(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	r.record(t.Context())
	if n, err := testutil.GatherAndCount(registry, "proxmox_operator_resources_conditions"); n != 6 || err != nil {
		t.Errorf("what no resource has any more must go, got %d series, %v", n, err)
	}
}

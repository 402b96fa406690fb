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

package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A description is a metric without its values: its type, and its labels in order.
type description struct {
	Type   string   `json:"type"`
	Labels []string `json:"labels"`
}

// promised returns the descriptions of all metrics. The tests of the chart read them too.
func promised(t *testing.T) map[string]description {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "labels.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]description{}
	if err := yaml.UnmarshalStrict(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// descriptions returns the descriptions of all metrics by their names.
func descriptions(t *testing.T) map[string]description {
	t.Helper()
	m := withValues(t)
	kinds := map[string]string{}
	families, err := registered(t, m).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		kinds[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	ch := make(chan *prometheus.Desc, 100)
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
	close(ch)
	re := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	all := map[string]description{}
	for d := range ch {
		parts := re.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("cannot read %s", d)
		}
		all[parts[1]] = description{Type: kinds[parts[1]], Labels: strings.FieldsFunc(parts[2], func(r rune) bool { return r == ',' })}
	}
	return all
}

// withValues returns metrics that each have a value: metrics without one do not report their type.
func withValues(t *testing.T) *Metrics {
	t.Helper()
	web := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "a"}}
	job := &namespaced.BackupJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "nightly"}}
	job.Status.AtProvider.Guests = []v1alpha1.BackupJobGuest{{VMID: 100}}
	c := kube(t, web, job, snapshotOf("web", "a", true, at(100)), backupOf("web", "a", v1alpha1.BackupComplete, at(150)))
	m := New(WithMachineUsage())
	m.Machines(listed(c, &namespaced.MachineList{}), closed())
	for _, list := range []resource.ManagedList{&namespaced.SnapshotList{}, &namespaced.BackupList{}, &namespaced.BackupJobList{}} {
		m.Copies(listed(c, list), closed())
	}
	m.Usages(func() map[types.UID]vmstate.Usage {
		return map[types.UID]vmstate.Usage{"a": {Node: "pve1", CPU: 1, CPUs: 1, Memory: 1}}
	})
	m.Tenants("ProviderConfig/a", []v1alpha1.TenantObservation{{Name: "team", Usage: []v1alpha1.TenantUsage{{Resource: "vms"}}}})
	m.Conditions("Machine", map[Condition]int{{Type: "Ready", Status: "True"}: 1})
	m.ClusterReached("lab", 3)
	m.Request(proxmox.Call{Method: "GET", Path: "/version", Status: 200})
	m.Error("Timeout", "machine")
	m.Reconcile("machine")()
	return m
}

func TestNamesAndLabels(t *testing.T) {
	if diff := cmp.Diff(promised(t), descriptions(t)); diff != "" {
		t.Errorf("metrics, their types and their labels: -want, +got:\n%s", diff)
	}
}

func TestLatency(t *testing.T) {
	m := New()
	m.Request(proxmox.Call{Method: "GET", Path: "/version", Status: 200, Duration: 2_000_000})
	families, err := registered(t, m).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "proxmox_operator_api_request_duration_seconds" && f.GetMetric()[0].GetHistogram().GetSampleSum() == 0.002 {
			return
		}
	}
	t.Error("the duration of the request was not observed")
}

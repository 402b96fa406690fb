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
	"context"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

func registered(t *testing.T, m *Metrics) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewRegistry()
	if err := m.Register(r); err != nil {
		t.Fatal(err)
	}
	return r
}

func compare(t *testing.T, g prometheus.Gatherer, name, want string) {
	t.Helper()
	if err := testutil.GatherAndCompare(g, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}

func TestRequest(t *testing.T) {
	m := New()
	for _, c := range []proxmox.Call{
		{Method: "GET", Path: "/version", Status: 200},
		{Method: "GET", Path: "/version", Status: 200},
		{Method: "POST", Path: "/nodes/{node}/qemu/{vmid}/clone", Status: 595},
		{Method: "GET", Path: "/cluster/tasks"},
	} {
		m.Request(c)
	}
	compare(t, registered(t, m), "proxmox_operator_api_requests_total", `
# HELP proxmox_operator_api_requests_total Requests to the Proxmox VE API by method, path template and HTTP status.
# TYPE proxmox_operator_api_requests_total counter
proxmox_operator_api_requests_total{endpoint="/cluster/tasks",method="GET",status="none"} 1
proxmox_operator_api_requests_total{endpoint="/nodes/{node}/qemu/{vmid}/clone",method="POST",status="595"} 1
proxmox_operator_api_requests_total{endpoint="/version",method="GET",status="200"} 2
`)
}

func TestError(t *testing.T) {
	m := New()
	m.Error("Authentication", "managed/machine")
	m.Error("Authentication", "managed/machine")
	m.Error("Conflict", "managed/machine")
	compare(t, registered(t, m), "proxmox_operator_errors_total", `
# HELP proxmox_operator_errors_total Errors by their class and the controller that met them.
# TYPE proxmox_operator_errors_total counter
proxmox_operator_errors_total{controller="managed/machine",error_type="Authentication"} 2
proxmox_operator_errors_total{controller="managed/machine",error_type="Conflict"} 1
`)
}

func TestReconcile(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := New(withClock(func() time.Time { return now }))
	done := m.Reconcile("c")
	now = now.Add(2 * time.Second)
	done()
	compare(t, registered(t, m), "proxmox_operator_reconciliation_duration_seconds", `
# HELP proxmox_operator_reconciliation_duration_seconds How long reconciling a resource took, in seconds.
# TYPE proxmox_operator_reconciliation_duration_seconds histogram
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="0.005"} 0
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="0.01"} 0
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="0.025"} 0
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="0.05"} 0
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="0.1"} 0
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="0.25"} 0
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="0.5"} 0
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="1"} 0
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="2.5"} 1
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="5"} 1
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="10"} 1
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="30"} 1
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="60"} 1
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="120"} 1
proxmox_operator_reconciliation_duration_seconds_bucket{controller="c",le="+Inf"} 1
proxmox_operator_reconciliation_duration_seconds_sum{controller="c"} 2
proxmox_operator_reconciliation_duration_seconds_count{controller="c"} 1
`)
}

func clusterMachine(name string, phase v1alpha1.MachinePhase, node string) *cluster.Machine {
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Status.AtProvider.Phase, m.Status.AtProvider.Node = phase, node
	return m
}

func kube(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

const machinesHelp = `
# HELP proxmox_operator_machines_total Machines by phase and node. Paused, if a paused one is in phase Error.
# TYPE proxmox_operator_machines_total gauge
`

func TestMachines(t *testing.T) {
	inNamespace := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "d"}}
	inNamespace.Status.AtProvider.Phase, inNamespace.Status.AtProvider.Node = v1alpha1.MachineRunning, "pve1"
	paused, idle := clusterMachine("e", v1alpha1.MachineError, "pve2"), clusterMachine("f", v1alpha1.MachineStopped, "pve2")
	for _, m := range []*cluster.Machine{paused, idle} {
		m.SetConditions(xpv2.ReconcilePaused())
	}
	c := kube(t, inNamespace, paused, idle,
		clusterMachine("a", v1alpha1.MachineRunning, "pve1"),
		clusterMachine("b", v1alpha1.MachineError, "pve2"),
		clusterMachine("c", "", ""),
	)
	m := New()
	m.Machines(listed(c, &cluster.MachineList{}), closed())
	m.Machines(listed(c, &namespaced.MachineList{}), closed())
	r := registered(t, m)
	compare(t, r, "proxmox_operator_machines_total", machinesHelp+`
proxmox_operator_machines_total{node="",phase="Pending"} 1
proxmox_operator_machines_total{node="pve1",phase="Running"} 2
proxmox_operator_machines_total{node="pve2",phase="Error"} 1
proxmox_operator_machines_total{node="pve2",phase="Paused"} 1
proxmox_operator_machines_total{node="pve2",phase="Stopped"} 1
`)

	if err := c.Delete(t.Context(), inNamespace); err != nil {
		t.Fatal(err)
	}
	compare(t, r, "proxmox_operator_machines_total", machinesHelp+`
proxmox_operator_machines_total{node="",phase="Pending"} 1
proxmox_operator_machines_total{node="pve1",phase="Running"} 1
proxmox_operator_machines_total{node="pve2",phase="Error"} 1
proxmox_operator_machines_total{node="pve2",phase="Paused"} 1
proxmox_operator_machines_total{node="pve2",phase="Stopped"} 1
`)
}

func TestMachinesNotCounted(t *testing.T) {
	machine := clusterMachine("a", v1alpha1.MachineRunning, "pve1")
	broken := interceptor.NewClient(kube(t, machine), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("boom")
		},
	})
	cases := map[string]struct {
		reason string
		reader client.Reader
		ready  <-chan struct{}
	}{
		"NotLeading": {
			reason: "A replica that does not lead must count nothing.",
			reader: kube(t, machine),
			ready:  make(chan struct{}),
		},
		"Unreadable": {
			reason: "What cannot be read must not fail the scrape.",
			reader: broken,
			ready:  closed(),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := New()
			m.Machines(listed(tc.reader, &cluster.MachineList{}), tc.ready)
			n, err := testutil.GatherAndCount(registered(t, m), "proxmox_operator_machines_total")
			if err != nil || n != 0 {
				t.Errorf("\n%s\nGather(): want nothing and no error, got %d and %v", tc.reason, n, err)
			}
		})
	}
}

func TestRegisterTwice(t *testing.T) {
	if err := New().Register(registered(t, New())); err == nil {
		t.Error("Register(): want an error for metrics that are there already")
	}
}

// TestUsages checks that the usage of VMs is summed by node, whatever the kind of their Machine.
func TestUsages(t *testing.T) {
	m := New()
	m.Usages(func() map[types.UID]vmstate.Usage {
		return map[types.UID]vmstate.Usage{
			"a": {Node: "pve1", CPU: 0.5, CPUs: 4, Memory: 100}, "b": {Node: "pve2", CPU: 0.25, CPUs: 2, Memory: 50},
		}
	})
	m.Usages(func() map[types.UID]vmstate.Usage {
		return map[types.UID]vmstate.Usage{"c": {Node: "pve1", CPU: 1, CPUs: 1, Memory: 10}}
	})
	r := registered(t, m)
	compare(t, r, "proxmox_operator_machines_cpu_used_cores", `
# HELP proxmox_operator_machines_cpu_used_cores Virtual CPUs that running Machines use, by node.
# TYPE proxmox_operator_machines_cpu_used_cores gauge
proxmox_operator_machines_cpu_used_cores{node="pve1"} 3
proxmox_operator_machines_cpu_used_cores{node="pve2"} 0.5
`)
	compare(t, r, "proxmox_operator_machines_memory_used_bytes", `
# HELP proxmox_operator_machines_memory_used_bytes Memory that running Machines use, by node.
# TYPE proxmox_operator_machines_memory_used_bytes gauge
proxmox_operator_machines_memory_used_bytes{node="pve1"} 110
proxmox_operator_machines_memory_used_bytes{node="pve2"} 50
`)
}

// listed returns a ListFunc for the resources of a reader.
func listed(from client.Reader, empty resource.ManagedList) ListFunc {
	return func(ctx context.Context) ([]resource.Managed, error) {
		list, ok := empty.DeepCopyObject().(resource.ManagedList) // Collectors run in parallel.
		if !ok {
			return nil, errors.Errorf("cannot copy a %T", empty)
		}
		err := from.List(ctx, list)
		return list.GetItems(), err
	}
}

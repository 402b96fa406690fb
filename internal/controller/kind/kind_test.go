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
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/event"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/metrics"
)

// newManager returns a real manager with a client and a cache in memory.
func newManager(t *testing.T, kube client.Client) (ctrl.Manager, *informertest.FakeInformers) {
	t.Helper()
	informers := &informertest.FakeInformers{Scheme: kube.Scheme()}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme:         kube.Scheme(),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: ptr.To(true)}, // for -count=2
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return kube, nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return informers, nil },
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return kube.RESTMapper(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return mgr, informers
}

// start starts the manager, and stops it at the end of the test.
func start(t *testing.T, mgr ctrl.Manager) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Start(): %v", err)
		}
	})
}

func options() Options {
	return Options{Options: controller.DefaultOptions(), Metrics: metrics.New()}
}

func machineIdentity() Identity {
	return Identity{
		GroupVersionKind: cluster.MachineGroupVersionKind,
		Object:           &cluster.Machine{},
		List:             &cluster.MachineList{},
	}
}

// An observer reports that resources exist and are up to date, and sends their names to seen.
type observer struct {
	external

	seen chan string
}

func (o observer) Observe(_ context.Context, m *cluster.Machine) (managed.ExternalObservation, error) {
	o.seen <- m.GetName()
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

// slowest is how long a slow computer may need for anything.
const slowest = 2 * time.Minute

// await waits for a value.
func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(slowest):
		t.Fatal("nothing happened")
		panic("unreachable")
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(slowest)
	for !condition() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// TestSetup runs a controller in a state that would stop a controller with another setup: a creation that was never confirmed, and management
// policies.
func TestSetup(t *testing.T) {
	m := newMachine()
	m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
	m.SetAnnotations(map[string]string{"crossplane.io/external-create-pending": "2026-01-01T00:00:00Z"})
	c := kube(t, m)
	mgr, informers := newManager(t, c)
	o := options()
	o.Features.Enable(feature.EnableBetaManagementPolicies)
	o.MetricOptions = &controller.MetricOptions{
		PollStateMetricInterval: time.Millisecond,
		MRMetrics:               managed.NewMRMetricRecorder(),
		MRStateMetrics:          statemetrics.NewMRStateMetrics(),
	}
	seen, wake := make(chan string, 10), make(chan event.GenericEvent)
	var initialized []string
	err := Setup(mgr, o, Kind[*cluster.Machine]{
		Identity: machineIdentity(),
		External: connecting(observer{seen: seen}, nil),
		Initializers: []managed.Initializer{managed.InitializerFn(func(_ context.Context, mg resource.Managed) error {
			initialized = append(initialized, mg.GetName())
			return nil
		})},
		Wake: wake,
	})
	if err != nil {
		t.Fatal(err)
	}
	start(t, mgr)

	wake <- event.GenericEvent{Object: &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}}
	if name := await(t, seen); name != "m" {
		t.Errorf("Wake: want m reconciled, got %q", name)
	}
	if len(initialized) == 0 {
		t.Error("Initializers: want them to run")
	}
	informer, err := informers.FakeInformerFor(t.Context(), &cluster.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	informer.Add(m)
	if name := await(t, seen); name != "m" {
		t.Errorf("Object: want m reconciled, got %q", name)
	}
	eventually(t, "the resource is synced", func() bool {
		return machine(t, c).GetCondition(xpv2.TypeSynced).Status == "True"
	})
	if name := machine(t, c).GetAnnotations()["crossplane.io/external-name"]; name != "" {
		t.Errorf("no initializer but the given ones may run, got external name %q", name)
	}
	eventually(t, "the reconcile is measured", func() bool { return reconciles(t, o.Metrics) > 0 })
	eventually(t, "the state is recorded", func() bool {
		gauge := o.MetricOptions.MRStateMetrics.Synced.WithLabelValues(cluster.MachineGroupVersionKind.String())
		return testutil.ToFloat64(gauge) == 1
	})
}

// reconciles returns the number of reconciles that were measured.
func reconciles(t *testing.T, m *metrics.Metrics) int {
	t.Helper()
	r := prometheus.NewRegistry()
	if err := m.Register(r); err != nil {
		t.Fatal(err)
	}
	n, err := testutil.GatherAndCount(r, "proxmox_operator_reconciliation_duration_seconds")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

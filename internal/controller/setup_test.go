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

package controller

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/gate"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/metrics"
)

// newManager returns a real manager with a client and a cache in memory, and a Machine of each scope.
func newManager(t *testing.T) ctrl.Manager {
	t.Helper()
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(s).WithObjects(
		&cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}},
		&namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "m"}},
	).Build()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme:     s,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // for -count=2
		NewClient:  func(*rest.Config, client.Options) (client.Client, error) { return kube, nil },
		NewCache: func(*rest.Config, cache.Options) (cache.Cache, error) {
			return &informertest.FakeInformers{Scheme: s}, nil
		},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return kube.RESTMapper(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

func options(mgr ctrl.Manager) kind.Options {
	return kind.Options{
		Options:     xpcontroller.DefaultOptions(),
		Connections: connect.New(mgr.GetClient()),
		Metrics:     metrics.New(),
	}
}

// A leader leads without having been started.
type leader struct{ ctrl.Manager }

func (leader) Elected() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestSetup(t *testing.T) {
	mgr := leader{newManager(t)}
	o := options(mgr)
	if err := Setup(mgr, o); err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewRegistry()
	if err := o.Metrics.Register(r); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP proxmox_operator_machines_total Machines by phase and node. Paused, if a paused one is in phase Error.
# TYPE proxmox_operator_machines_total gauge
proxmox_operator_machines_total{node="",phase="Pending"} 2
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "proxmox_operator_machines_total"); err != nil {
		t.Errorf("Machines of both scopes must be counted: %v", err)
	}
}

func TestTable(t *testing.T) {
	var got []string
	for _, e := range table() {
		got = append(got, e.needs[0].GroupKind().String())
	}
	want := []string{
		"ProviderConfig.proxmox.vitistack.io",
		"ProviderConfig.proxmox.m.vitistack.io",
		"ClusterProviderConfig.proxmox.m.vitistack.io",
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("what others need is set up first: -want, +got:\n%s", diff)
	}
	for _, s := range scopes() {
		for name := range s.Kinds {
			want = append(want, s.GroupVersion.WithKind(name).GroupKind().String())
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each kind is set up once in each scope: -want, +got:\n%s", diff)
	}
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for _, e := range table() {
		for _, k := range e.needs {
			if !s.Recognizes(k) {
				t.Errorf("table(): %s is no kind of ours", k)
			}
			if k.Group != e.needs[0].Group {
				t.Errorf("table(): %s needs %s of another scope", e.needs[0], k)
			}
		}
	}
}

// An adder only records what is added to it.
type adder struct {
	ctrl.Manager

	added []manager.Runnable
	kinds discovery
}

func (a *adder) GetRESTMapper() meta.RESTMapper { return &a.kinds }

// discovery finds kinds, except in the first requests.
type discovery struct {
	meta.RESTMapper

	late atomic.Int32
}

func (d *discovery) RESTMapping(k schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	if d.late.Add(-1) >= 0 {
		return nil, &meta.NoKindMatchError{GroupKind: k}
	}
	return &meta.RESTMapping{}, nil
}

func (a *adder) Add(r manager.Runnable) error {
	a.added = append(a.added, r)
	return nil
}

func kindOf(name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "g", Version: "v1", Kind: name}
}

func gated() kind.Options {
	return kind.Options{Options: xpcontroller.Options{Gate: new(gate.Gate[schema.GroupVersionKind])}}
}

func TestGated(t *testing.T) {
	o, done := gated(), make(chan string, 2)
	entryOf := func(name string, needs ...schema.GroupVersionKind) entry {
		return entry{needs: needs, setup: func(ctrl.Manager, kind.Options) error {
			done <- name
			return nil
		}}
	}
	if err := setupGated(&adder{}, o, []entry{entryOf("both", kindOf("A"), kindOf("B")), entryOf("first", kindOf("A"))}); err != nil {
		t.Fatal(err)
	}
	if len(done) != 0 {
		t.Errorf("nothing must be set up without its kinds, got %q", <-done)
	}
	o.Gate.Set(kindOf("A"), true)
	if name := <-done; name != "first" {
		t.Errorf("want the controller that needs no more, got %q", name)
	}
	o.Gate.Set(kindOf("B"), true)
	if name := <-done; name != "both" {
		t.Errorf("want the controller that needed both, got %q", name)
	}
}

func TestGatedDiscovery(t *testing.T) {
	o, a, done := gated(), &adder{}, make(chan int32, 1)
	a.kinds.late.Store(2)
	late := entry{needs: []schema.GroupVersionKind{kindOf("A")}, setup: func(ctrl.Manager, kind.Options) error {
		done <- a.kinds.late.Load()
		return nil
	}}
	if err := setupGated(a, o, []entry{late}); err != nil {
		t.Fatal(err)
	}
	o.Gate.Set(kindOf("A"), true)
	if left := <-done; left >= 0 {
		t.Error("a controller must not be set up before its kind is discovered")
	}
}

func TestGatedFailure(t *testing.T) {
	boom := errors.New("boom")
	o, a := gated(), &adder{}
	fails := entry{needs: []schema.GroupVersionKind{kindOf("A")}, setup: func(ctrl.Manager, kind.Options) error { return boom }}
	if err := setupGated(a, o, []entry{fails}); err != nil {
		t.Fatal(err)
	}
	o.Gate.Set(kindOf("A"), true)
	if len(a.added) != 1 {
		t.Fatalf("want one runnable, got %d", len(a.added))
	}
	if err := a.added[0].Start(t.Context()); !errors.Is(err, boom) {
		t.Errorf("Start(): want %v, got %v", boom, err)
	}
}

func TestGatedEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := make(failures).Start(ctx); err != nil {
		t.Errorf("Start(): want no error at the end, got %v", err)
	}
}

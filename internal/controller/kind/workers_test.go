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
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
)

// machinesOf returns Machines of a cluster, and its configuration.
func machinesOf(name string, n int) []client.Object {
	all := []client.Object{&cluster.ProviderConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.ProviderConfigSpec{Endpoints: []string{"https://" + name + ".example.org"}},
	}}
	for i := range n {
		m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i)}}
		m.SetProviderConfigReference(&xpv2.Reference{Name: name})
		all = append(all, m)
	}
	return all
}

// A silentCluster observer waits for a cluster that does not answer.
type silentCluster struct {
	observer

	waiting chan string
	gate    chan struct{}
}

func (o silentCluster) Observe(ctx context.Context, m *cluster.Machine) (managed.ExternalObservation, error) {
	if configurationOf(m) == "silent" {
		o.waiting <- m.GetName()
		<-o.gate
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	return o.observer.Observe(ctx, m)
}

// TestSilentCluster checks that the resources of a cluster that does not answer leave a worker to those of others.
func TestSilentCluster(t *testing.T) {
	c := kube(t, append(machinesOf("silent", 20), machinesOf("living", 3)...)...)
	mgr, _ := newManager(t, c)
	o := options()
	o.MaxConcurrentReconciles, o.Connections = 5, connect.New(c)
	wake := make(chan event.GenericEvent)
	external := silentCluster{observer: observer{seen: make(chan string, 10)}, waiting: make(chan string, 100), gate: make(chan struct{})}
	if err := Setup(mgr, o, Kind[*cluster.Machine]{Identity: machineIdentity(), External: connecting(external, nil), Wake: wake}); err != nil {
		t.Fatal(err)
	}
	start(t, mgr)
	defer close(external.gate)
	send := func(name string) {
		wake <- event.GenericEvent{Object: &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	}
	send("living-0")
	await(t, external.seen)
	for i := range 20 {
		send(fmt.Sprintf("silent-%d", i))
	}
	for range o.MaxConcurrentReconciles - 1 {
		await(t, external.waiting)
	}
	for i := range 3 {
		name := fmt.Sprintf("living-%d", i)
		send(name)
		select {
		case seen := <-external.seen:
			if seen != name {
				t.Errorf("want %s, got %s", name, seen)
			}
		case <-time.After(slowest):
			t.Fatalf("%s waits for a cluster that is not its own", name)
		}
	}
	if n := len(external.waiting); n > 0 {
		t.Errorf("the cluster that does not answer has %d workers more than it may have", n)
	}
}

// sharerOf returns the sharer for a name: a namespace if the name begins with a slash, and a cluster otherwise.
func sharerOf(name string) connect.Sharer {
	if namespace, is := strings.CutPrefix(name, "/"); is {
		return connect.Sharer{Namespace: namespace}
	}
	return connect.Sharer{Cluster: name}
}

// TestSilentTeam measures what a team with many configurations, whose server never answers, takes from others.
func TestSilentTeam(t *testing.T) {
	const configs, all = 20, 5
	gate, asked := make(chan struct{}), make(chan string, configs)
	open := sync.OnceFunc(func() { close(gate) })
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		<-gate
	}))
	defer silent.Close()
	defer open()
	machineIn := func(namespace, name, endpoint string) []client.Object {
		m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: name})
		return []client.Object{m, &namespaced.ProviderConfig{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ProviderConfigSpec{Endpoints: []string{endpoint}},
		}}
	}
	objects := machineIn("living", "m", "https://pve1.example.org")
	for i := range configs {
		objects = append(objects, machineIn("silent", fmt.Sprint(i), fmt.Sprintf("https://pve%d.silent.example.org", i))...)
	}
	c := kube(t, objects...)
	r := newWorkers(all, time.Now).reconciler(clusterOf(c, connect.New(c), &namespaced.Machine{}), func(reconcile.Request) {},
		reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			if r.Namespace == "silent" {
				q, err := http.NewRequestWithContext(ctx, http.MethodGet, silent.URL+"/"+r.Name, nil)
				if err != nil {
					return reconcile.Result{}, err
				}
				answer, err := http.DefaultClient.Do(q)
				if err != nil {
					return reconcile.Result{}, err
				}
				return reconcile.Result{}, answer.Body.Close()
			}
			return reconcile.Result{}, nil
		}))
	living := func() time.Duration {
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "living", Name: "m"}})
		if err != nil {
			t.Error(err)
		}
		return result.RequeueAfter
	}
	living()
	var done sync.WaitGroup
	var puts atomic.Int64
	for i := range configs {
		done.Go(func() {
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "silent", Name: fmt.Sprint(i)}})
			if err != nil {
				t.Error(err)
			}
			if result.RequeueAfter > 0 {
				puts.Add(1)
			}
		})
	}
	for range all / 2 {
		await(t, asked)
	}
	eventually(t, "all others are put off", func() bool { return puts.Load() == configs-all/2 || len(asked) > 0 })
	if wait := living(); wait > 0 || len(asked) > 0 {
		t.Errorf("want the other team wait for nobody, got %s, and %d workers more for the one whose server does not answer", wait, len(asked))
	}
	open()
	done.Wait()
}

func TestWorkers(t *testing.T) {
	type step struct {
		take, release string
		pass          time.Duration
		wait          time.Duration
	}
	take := func(names ...string) (all []step) {
		for _, n := range names {
			all = append(all, step{take: n})
		}
		return all
	}
	cases := map[string]struct {
		reason string
		all    int
		steps  []step
	}{
		"Alone": {reason: "A cluster alone has all workers.", all: 3, steps: take("a", "a", "a")},
		"One":   {reason: "One worker serves whoever comes.", all: 1, steps: []step{{take: "a"}, {release: "a"}, {take: "b"}, {release: "b"}, {take: "a"}}},
		"Last": {
			reason: "The last free worker is for a cluster that has none.", all: 3,
			steps: append(take("b", "a"), step{take: "a", wait: busyPause}, step{take: "c"}),
		},
		"Released": {
			reason: "What waits comes when a worker is free.", all: 3,
			steps: append(take("b", "a"), step{take: "a", wait: busyPause}, step{release: "b"}, step{take: "a"}, step{take: "b"}),
		},
		"Turns": {
			reason: "Many wait one after the other.", all: 2,
			steps: append(take("b"), step{release: "b"}, step{take: "a"}, step{take: "a", wait: busyPause}, step{take: "a", wait: busyPause + busyStep}),
		},
		"Namespace": {
			reason: "The configurations of a namespace have half of the workers, beside which others have theirs.", all: 5,
			steps: append(take("b", "/a", "/a"), step{take: "/a", wait: busyPause}, step{take: "/c"}, step{take: "b", wait: busyPause}),
		},
		"NamespaceAlone": {reason: "A namespace alone has all workers.", all: 3, steps: take("/a", "/a", "/a")},
		"Unknown":        {reason: "What fails at once waits for nobody.", all: 3, steps: take("b", "a", "")},
		"Gone": {
			reason: "A cluster without resources keeps no worker free.", all: 2,
			steps: []step{{take: "b"}, {release: "b"}, {pass: clusterSeenFor + time.Second}, {take: "a"}, {take: "a"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			w := newWorkers(tc.all, func() time.Time { return now })
			for i, s := range tc.steps {
				now = now.Add(s.pass)
				switch {
				case s.release != "":
					w.release(sharerOf(s.release))
				case s.pass == 0:
					if got := w.take(sharerOf(s.take)); got != s.wait {
						t.Errorf("%s\nstep %d: want to wait for %s, got %s", tc.reason, i, s.wait, got)
					}
				}
			}
		})
	}
}

// TestPutOff checks that a request that waits for a worker keeps the delay of its failures.
func TestPutOff(t *testing.T) {
	w, limiter := newWorkers(1, time.Now), newBackoff(always(0.5))
	r := reconcile.Request{NamespacedName: types.NamespacedName{Name: "m"}}
	w.seen[sharerOf("b")], w.held[sharerOf("a")] = time.Now(), 1
	next := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })
	p := w.reconciler(func(context.Context, reconcile.Request) connect.Sharer { return sharerOf("a") }, limiter.postpone, next)
	delays := []time.Duration{limiter.When(r), limiter.When(r)}
	result, err := p.Reconcile(t.Context(), r)
	if err != nil || result.RequeueAfter < busyPause {
		t.Errorf("Reconcile(): want that it waits, got %v, %v", result, err)
	}
	limiter.Forget(r) // The controller does the same.
	delays = append(delays, limiter.When(r))
	delete(w.held, sharerOf("a"))
	if result, err := p.Reconcile(t.Context(), r); err != nil || result.RequeueAfter > 0 {
		t.Errorf("Reconcile(): want that it has a worker, got %v, %v", result, err)
	}
	limiter.Forget(r)
	delays = append(delays, limiter.When(r))
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, time.Second}, delays); diff != "" {
		t.Errorf("delays: -want, +got:\n%s", diff)
	}
}

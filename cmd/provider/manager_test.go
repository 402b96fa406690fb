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

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
)

type syncedCaches bool

func (s syncedCaches) WaitForCacheSync(context.Context) bool { return bool(s) }

func TestSynced(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	if err := synced(syncedCaches(true))(r); err != nil {
		t.Errorf("synced(): want no error with full caches, got: %v", err)
	}
	if err := synced(syncedCaches(false))(r); err == nil {
		t.Error("synced(): want an error with empty caches")
	}
	for filled, want := range map[syncedCaches]int{true: http.StatusOK, false: http.StatusInternalServerError} {
		answer := httptest.NewRecorder()
		healthz.CheckHandler{Checker: synced(filled)}.ServeHTTP(answer, r)
		if answer.Code != want {
			t.Errorf("/readyz: want %d with caches that are filled: %t, got %d", want, filled, answer.Code)
		}
	}
}

// TestManagerCache checks that the cache holds little, and is listed without copies.
func TestManagerCache(t *testing.T) {
	s, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	o := managerOptions(options{}, s)
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "theirs": "1"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	if _, err := o.Cache.DefaultTransform(m); err != nil {
		t.Fatal(err)
	}
	if len(m.Annotations) != 1 || m.ManagedFields != nil {
		t.Errorf("want what nobody asks for left out, got %+v", m.ObjectMeta)
	}
	if o.NewClient == nil {
		t.Error("want a client that lists what is in the cache without copies")
	}
}

// reviewing returns a client of an API that permits the given verbs.
func reviewing(permitted ...string) client.Client {
	return interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			r, ok := o.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				return errors.Errorf("unexpected %T", o)
			}
			asked := r.Spec.ResourceAttributes
			if asked.Group != "apiextensions.k8s.io" || asked.Resource != "customresourcedefinitions" {
				return errors.Errorf("unexpected question: %v", asked)
			}
			for _, verb := range permitted {
				r.Status.Allowed = r.Status.Allowed || verb == asked.Verb
			}
			return nil
		},
	})
}

func TestMayWatchKinds(t *testing.T) {
	cases := map[string]struct {
		reason string
		client client.Client
		want   bool
		fails  bool
	}{
		"All":     {reason: "All verbs are needed.", client: reviewing("get", "list", "watch"), want: true},
		"NoWatch": {reason: "All verbs are needed.", client: reviewing("get", "list")},
		"None":    {reason: "Not being permitted is no error.", client: reviewing()},
		"Broken": {
			reason: "Not knowing is an error.",
			client: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					return errors.New("boom")
				},
			}),
			fails: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mayWatchKinds(t.Context(), tc.client)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("\n%s\nmayWatchKinds(): want %t and error %t, got %t and %v", tc.reason, tc.want, tc.fails, got, err)
			}
		})
	}
}

func TestManagerOptions(t *testing.T) {
	o := managerOptions(with(func(o *options) { o.LeaderElection, o.LeaderElectionNamespace = true, "ns" }), nil)
	if diff := cmp.Diff([]client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}, o.Client.Cache.DisableFor); diff != "" {
		t.Errorf("what must never be cached: -want, +got:\n%s", diff)
	}
	type lease struct {
		On, Released    bool
		ID, Name, Locks string
		Lasts, Renewed  time.Duration
	}
	want := lease{true, true, "crossplane-leader-election-provider-proxmox", "ns", "leases", time.Minute, 50 * time.Second} // As in docs/high-availability.md.
	got := lease{
		o.LeaderElection, o.LeaderElectionReleaseOnCancel, o.LeaderElectionID, o.LeaderElectionNamespace, o.LeaderElectionResourceLock,
		ptr.Deref(o.LeaseDuration, 0), ptr.Deref(o.RenewDeadline, 0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("leader election: -want, +got:\n%s", diff)
	}
	if o.Metrics.BindAddress != ":8080" || o.HealthProbeBindAddress != ":8081" {
		t.Errorf("metrics are served at %q and probes at %q", o.Metrics.BindAddress, o.HealthProbeBindAddress)
	}
}

func TestLease(t *testing.T) {
	whole := lease(defaults())
	one := lease(with(func(o *options) { o.WatchLabelSelector.Selector = selector("shard=a") }))
	other := lease(with(func(o *options) { o.WatchLabelSelector.Selector = selector("shard!=a") }))
	sites := lease(with(func(o *options) { o.WatchProviderConfigs = []string{"a", "b"} }))
	if whole == one || one == other || other == sites || sites == whole {
		t.Errorf("each share has a leader of its own, got leases %q, %q, %q, %q", whole, one, other, sites)
	}
	if again := lease(with(func(o *options) { o.WatchProviderConfigs = []string{"b", "a"} })); again != sites {
		t.Errorf("replicas with the same share have the same leader, got leases %q and %q", sites, again)
	}
}

func TestNoKubeconfig(t *testing.T) {
	if _, err := restConfig(t.TempDir() + "/missing"); err == nil {
		t.Error("restConfig(): want an error for a missing file")
	}
}

// An eventSink receives the events that the API server would get.
type eventSink chan string

func (s eventSink) Create(e *corev1.Event) (*corev1.Event, error) {
	s <- e.Message
	return e, nil
}

func (s eventSink) Update(e *corev1.Event) (*corev1.Event, error) { return s.Create(e) }

func (s eventSink) Patch(e *corev1.Event, _ []byte) (*corev1.Event, error) { return s.Create(e) }

var _ record.EventSink = eventSink(nil)

// TestNewBroadcaster checks that a Machine that is edited all day gets an event for each change.
func TestNewBroadcaster(t *testing.T) {
	const edits = 60
	b, sink := newBroadcaster(), make(eventSink, edits)
	defer b.Shutdown()
	watch := b.StartRecordingToSink(sink)
	defer watch.Stop()
	r := b.NewRecorder(clientgoscheme.Scheme, corev1.EventSource{Component: "provider"})
	for i := range edits {
		r.Event(&corev1.ConfigMap{}, corev1.EventTypeNormal, "Changed", fmt.Sprintf("cores %d → %d", i, i+1))
	}
	for i := range edits {
		want := fmt.Sprintf("cores %d → %d", i, i+1)
		select {
		case got := <-sink:
			if got != want {
				t.Fatalf("event %d: want %q, got %q", i, want, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("event %q was not sent", want)
		}
	}
}

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
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	resourcefake "github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
)

func always(f float64) func() float64 { return func() float64 { return f } }

func TestBackoff(t *testing.T) {
	a := reconcile.Request{NamespacedName: types.NamespacedName{Name: "a"}}
	b := reconcile.Request{NamespacedName: types.NamespacedName{Name: "b"}}
	l := newBackoff(always(0.5))
	var got []time.Duration
	for range 11 {
		got = append(got, l.When(a))
	}
	want := []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second,
		64 * time.Second, 128 * time.Second, 256 * time.Second, 5 * time.Minute, 5 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("When(): -want, +got:\n%s", diff)
	}
	if d := l.When(b); d != time.Second {
		t.Errorf("When(): another object must not wait longer, got %s", d)
	}
	l.Forget(a)
	if d := l.When(a); d != time.Second {
		t.Errorf("When(): a forgotten object must start again, got %s", d)
	}
	if d := newBackoff(always(0)).When(a); d != 900*time.Millisecond {
		t.Errorf("When(): want jitter, got %s", d)
	}
}

func TestJittered(t *testing.T) {
	hook := func(d time.Duration) managed.PollIntervalHook {
		return func(resource.Managed, time.Duration) time.Duration { return d }
	}
	cases := map[string]struct {
		reason string
		hook   managed.PollIntervalHook
		random float64
		want   time.Duration
	}{
		"None": {
			reason: "The configured interval holds where there is no hook.",
			random: 0.5,
			want:   time.Minute,
		},
		"Shortest": {
			reason: "Up to a tenth is taken away.",
			random: 0,
			want:   54 * time.Second,
		},
		"Longest": {
			reason: "Up to a tenth is added.",
			random: 1,
			want:   66 * time.Second,
		},
		"Hook": {
			reason: "What the hook says counts.",
			hook:   hook(10 * time.Second),
			random: 1,
			want:   11 * time.Second,
		},
		"Zero": {
			reason: "A hook without an opinion must not end all reconciling.",
			hook:   hook(0),
			random: 0.5,
			want:   time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := jittered(tc.hook, always(tc.random))(&resourcefake.Managed{}, time.Minute)
			if got != tc.want {
				t.Errorf("\n%s\njittered(): want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

func TestRandom(t *testing.T) {
	for range 1000 {
		if f := random(); f < 0 || f >= 1 {
			t.Fatalf("random(): want at least 0 and below 1, got %v", f)
		}
	}
}

func TestWake(t *testing.T) {
	r := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "a"}}
	q := workqueue.NewTypedRateLimitingQueue[reconcile.Request](newBackoff(random))
	defer q.ShutDown()
	for range 9 {
		q.AddRateLimited(r)
	}
	object := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}
	wake().Generic(t.Context(), event.GenericEvent{Object: object}, q)
	if n := q.NumRequeues(r); n != 0 {
		t.Errorf("wake(): want failures forgotten, got %d", n)
	}
	if got, _ := q.Get(); got != r {
		t.Errorf("wake(): want %s at once, got %s", r, got)
	}
}

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

	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

func TestUnhurried(t *testing.T) {
	hundred := ratelimiter.NewGlobal(100)
	cases := map[string]struct {
		reason  string
		limiter ratelimiter.RateLimiter
		size    int64
		asked   string
		want    time.Duration
	}{
		"Alone": {reason: "A few are looked at as often as configured.", limiter: hundred, size: 1, want: 30 * time.Second},
		"Enough": {
			reason:  "Resources are looked at as often as configured while half of all reconciles are enough for that.",
			limiter: hundred, size: 1500, want: 30 * time.Second,
		},
		"Thousands": {reason: "More are looked at less often.", limiter: hundred, size: 10_000, want: 200 * time.Second},
		"Asked": {
			reason:  "Machines that ask for an interval are looked at as often as configured.",
			limiter: hundred, size: 10_000, asked: "1m", want: 30 * time.Second,
		},
		"Nonsense":  {reason: "What cannot be read asks for nothing.", limiter: hundred, size: 10_000, asked: "soon", want: 200 * time.Second},
		"Unlimited": {reason: "Nothing has to be shared without a limit.", size: 10_000, want: 30 * time.Second},
		"Unknown": {
			reason:  "Nothing has to be shared where the limiter does not tell its limit.",
			limiter: &workqueue.TypedMaxOfRateLimiter[string]{}, size: 10_000, want: 30 * time.Second,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := NewPollScaler(tc.limiter)
			c.size.Store(tc.size)
			m := &cluster.Machine{}
			m.SetAnnotations(map[string]string{"crossplane.io/poll-interval": tc.asked})
			same := func(_ resource.Managed, d time.Duration) time.Duration { return d }
			if got := c.interval(same, time.Now)(m, 30*time.Second); got != tc.want {
				t.Errorf("\n%s\nunhurried(): want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

// TestSoonerLooks has those that are not ready looked at as soon as they want, unless that takes more than the share of such looks.
func TestSoonerLooks(t *testing.T) {
	const soon, round = 5 * time.Second, time.Minute
	now := time.Unix(1_790_000_000, 0)
	c := NewPollScaler(ratelimiter.NewGlobal(100))
	unready := func(resource.Managed, time.Duration) time.Duration { return soon }
	interval := c.interval(unready, func() time.Time { return now })
	looks := func(n int, m *cluster.Machine) (last time.Duration) {
		for range n {
			last = interval(m, round)
		}
		return last
	}
	for _, step := range []struct {
		what   string
		n      int
		passes time.Duration
		want   time.Duration
	}{
		{what: "few are looked at soon", n: 125, want: soon},
		{what: "more are looked at later, 25 a second", n: 251, want: 15 * time.Second},
		{what: "however many, all are looked at within the interval of those that are ready", n: 10_000, want: round},
		{what: "once the looks were made, others are looked at soon", n: 125, passes: round, want: soon},
	} {
		now = now.Add(step.passes)
		if got := looks(step.n, &cluster.Machine{}); got != step.want {
			t.Errorf("%s: want %s, got %s", step.what, step.want, got)
		}
	}
	asks := &cluster.Machine{}
	asks.SetAnnotations(map[string]string{"crossplane.io/poll-interval": "1m"})
	if got := looks(10_000, asks); got != soon {
		t.Errorf("who asks for an interval gets it: want %s, got %s", soon, got)
	}
}

func TestPollScalerInterval(t *testing.T) {
	informers := &informertest.FakeInformers{Scheme: scheme(t)}
	selector := labels.SelectorFromSet(labels.Set{"shard": "a"})
	c := NewPollScaler(nil)
	for _, kind := range []client.Object{&cluster.Machine{}, &namespaced.Machine{}} {
		if err := c.watch(informers, Shard{Selector: selector}, kind); err != nil {
			t.Fatal(err)
		}
	}
	informer, err := informers.FakeInformerFor(t.Context(), &cluster.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	another, err := informers.FakeInformerFor(t.Context(), &namespaced.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	ours, others := &cluster.Machine{}, &cluster.Machine{}
	ours.SetLabels(map[string]string{"shard": "a"})
	for _, step := range []struct {
		what string
		do   func(*controllertest.FakeInformer)
		want int64
	}{
		{what: "one of ours came", do: func(i *controllertest.FakeInformer) { i.Add(ours) }, want: 1},
		{what: "one of others' came", do: func(i *controllertest.FakeInformer) { i.Add(others) }, want: 1},
		{what: "it became ours", do: func(i *controllertest.FakeInformer) { i.Update(others, ours) }, want: 2},
		{what: "ours changed", do: func(i *controllertest.FakeInformer) { i.Update(ours, ours) }, want: 2},
		{what: "ours became theirs", do: func(i *controllertest.FakeInformer) { i.Update(ours, others) }, want: 1},
		{what: "theirs went", do: func(i *controllertest.FakeInformer) { i.Delete(others) }, want: 1},
		{what: "ours went", do: func(i *controllertest.FakeInformer) { i.Delete(ours) }, want: 0},
	} {
		step.do(informer)
		if got := c.size.Load(); got != step.want {
			t.Errorf("%s: want %d, got %d", step.what, step.want, got)
		}
	}
	other := &namespaced.Machine{}
	other.SetLabels(ours.GetLabels())
	informer.Add(ours)
	if another.Add(other); c.size.Load() != 2 {
		t.Errorf("all kinds share a limit: want 2, got %d", c.size.Load())
	}
}

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

package controller_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/metrics"
)

// A witness records the writes of a provider to the API server, and how often each kind of its resources was reconciled.
type witness struct {
	registry *prometheus.Registry

	mu     sync.Mutex
	writes []string
}

// watched starts a provider with a witness.
func watched(w *world) *witness {
	w.Helper()
	seen, m := &witness{registry: prometheus.NewRegistry()}, metrics.New()
	if err := m.Register(seen.registry); err != nil {
		w.Fatal(err)
	}
	w.server = rest.CopyConfig(cmp.Or(w.server, apiServer))
	w.server.Wrap(func(next http.RoundTripper) http.RoundTripper { return witnessed{next: next, by: seen} })
	options := w.options
	if options == nil {
		options = kindOptions
	}
	w.options = func(mgr ctrl.Manager) kind.Options {
		o := options(mgr)
		o.Metrics = m
		return o
	}
	w.start()
	w.Cleanup(func() { w.stop() })
	return seen
}

type witnessed struct {
	next http.RoundTripper
	by   *witness
}

func (t witnessed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		t.by.mu.Lock()
		t.by.writes = append(t.by.writes, r.Method+" "+r.URL.Path)
		t.by.mu.Unlock()
	}
	return t.next.RoundTrip(r)
}

// written returns the writes so far.
func (s *witness) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

// looks returns the number of reconciles of each kind so far.
func (s *witness) looks(w *world) map[string]uint64 {
	w.Helper()
	all, err := s.registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	looks := map[string]uint64{}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			if f.GetName() == "proxmox_operator_reconciliation_duration_seconds" {
				looks[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
			}
		}
	}
	return looks
}

// further waits for a number of further reconciles of resources of several kinds.
func (s *witness) further(w *world, kinds int, more uint64) {
	w.Helper()
	before := s.looks(w)
	w.eventually("further looks", func() bool {
		n := 0
		for name, looks := range s.looks(w) {
			if looks >= before[name]+more {
				n++
			}
		}
		return n == kinds
	})
}

// TestNothingWritten reconciles a Machine, a cluster and a node repeatedly while nothing happens to them, and checks that nothing is written to the
// API server.
func TestNothingWritten(t *testing.T) {
	t.Parallel()
	eachScope(t, func(t *testing.T, scopeName string) {
		t.Helper()
		w := emptyWorld(t, scopes()[scopeName], strings.ToLower(scopeName)+"-quiet", nil, "")
		w.poll = 200 * time.Millisecond
		w.configure()
		seen := watched(w)
		w.create(calm())
		c, n := w.cluster("", v1alpha1.ProxmoxClusterParameters{}), w.node("", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve1")})
		w.make(c)
		w.make(n)
		w.ready()
		w.well(c)
		w.well(n)
		var written []string
		for range 3 { // The time of the last observation of a cluster is written once a minute.
			seen.further(w, 3, 2)
			before := len(seen.written())
			seen.further(w, 3, 10)
			if written = seen.written()[before:]; len(written) == 0 {
				break
			}
		}
		if len(written) > 0 {
			t.Errorf("want nothing written in ten looks, got:\n%s", strings.Join(written, "\n"))
		}
		w.repaired()
		w.remove(c)
		w.remove(n)
		w.finish()
	})
}

// repaired changes the status as someone else, and checks that it is soon restored.
func (w *world) repaired() {
	w.Helper()
	was := v1alpha1.MachinePhase("")
	w.eventually("the status is changed", func() bool {
		w.exists()
		was = w.m.Observation().Phase
		w.m.Observation().Phase = v1alpha1.MachineError
		return w.kube.Status().Update(w.Context(), w.m) == nil
	})
	w.eventually("the status is right again", func() bool { w.exists(); return w.m.Observation().Phase == was })
}

// TestPausedFromTheStart pauses resources before they were ever reconciled, by the annotation, and by management policies that allow nothing, and
// checks that no condition is blank, and nothing is done.
func TestPausedFromTheStart(t *testing.T) {
	t.Parallel()
	eachScope(t, func(t *testing.T, scopeName string) {
		t.Helper()
		w := emptyWorld(t, scopes()[scopeName], strings.ToLower(scopeName)+"-paused", nil, "")
		w.begin()
		pause := map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
		w.create(calm(), func(m machine.Machine) { meta.AddAnnotations(m, pause) })
		n, p := w.node("", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve1")}), policyIn(scopeName, w.name)
		all := []resource.Managed{w.m, n, p}
		for _, mg := range all[1:] {
			w.makeWithout(mg)
		}
		for _, mg := range all {
			w.becomes(mg, "shown as paused", func() bool { return mg.GetCondition(xpv2.TypeSynced).Reason == xpv2.ReasonReconcilePaused })
			for _, c := range []xpv2.ConditionType{xpv2.TypeReady, kind.TypeUpToDate} {
				if got := mg.GetCondition(c); got.Status != corev1.ConditionUnknown || got.Reason != kind.ReasonPaused || got.Message == "" {
					t.Errorf("%s: want it unknown and paused, got %v", mg.GetName(), got)
				}
			}
		}
		if got := w.m.Observation().Phase; got != v1alpha1.MachinePending {
			t.Errorf("want a phase of the Machine, got %q", got)
		}
		if got := w.writes(); len(got) > 0 {
			t.Errorf("want nothing done, got %v", got)
		}
		w.edit(w.m, func() { meta.RemoveAnnotations(w.m, meta.AnnotationKeyReconciliationPaused) })
		for _, mg := range all[1:] {
			w.edit(mg, func() { mg.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll}) })
		}
		for _, mg := range all {
			w.well(mg)
			w.becomes(mg, "compared", func() bool { return isUpToDate(mg) })
		}
		w.remove(n)
		w.remove(p)
		w.finish()
	})
}

// makeWithout creates a resource whose management policies allow nothing, which its type cannot express.
func (w *world) makeWithout(mg resource.Managed) {
	w.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
	if err != nil {
		w.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: fields}
	gvk, err := apiutil.GVKForObject(mg, w.kube.Scheme())
	if err != nil {
		w.Fatal(err)
	}
	u.SetGroupVersionKind(gvk)
	if err := unstructured.SetNestedSlice(u.Object, []any{}, "spec", "managementPolicies"); err != nil {
		w.Fatal(err)
	}
	if err := w.kube.Create(w.Context(), u); err != nil {
		w.Fatal(err)
	}
}

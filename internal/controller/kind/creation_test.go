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
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
)

// A maker creates what is missing, and records the task.
type maker struct {
	external

	missing bool
	kube    client.Client
	// end ends the reconcile after the creation. May be nil.
	end func()
	// atCall is the resource in the API at the time of the call that creates it.
	atCall *cluster.Machine
}

func (m *maker) Observe(context.Context, *cluster.Machine) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{ResourceExists: !m.missing, ResourceUpToDate: true}, m.err
}

func (m *maker) Create(ctx context.Context, mg *cluster.Machine) (managed.ExternalCreation, error) {
	m.atCall = &cluster.Machine{}
	err := m.kube.Get(ctx, client.ObjectKeyFromObject(mg), m.atCall)
	if m.end != nil {
		m.end()
	}
	return managed.ExternalCreation{}, errors.Join(err, Annotate(AtCreationEnd(ctx), m.kube, mg, map[string]string{"task": "1"}))
}

// TestWritesOfCreation counts the writes of a resource, except those of its status.
func TestWritesOfCreation(t *testing.T) {
	cases := map[string]struct {
		reason   string
		missing  bool
		ends     bool
		err      error
		policies xpv2.ManagementPolicies
		want     [][]string
	}{
		"Missing": {
			reason:  "The finalizer is written with the note that the creation is pending, and the task with the one that it has succeeded.",
			missing: true, want: [][]string{{"finalizer", "pending"}, {"finalizer", "pending", "succeeded", "task"}},
		},
		"Shutdown": {
			reason:  "How a creation has ended is written though the provider is shut down.",
			missing: true, ends: true, want: [][]string{{"finalizer", "pending"}, {"finalizer", "pending", "succeeded", "task"}},
		},
		"There": {reason: "What exists has the finalizer alone.", want: [][]string{{"finalizer"}}},
		"NotToBeMade": {
			reason:  "What may not be created has the finalizer alone.",
			missing: true, policies: xpv2.ManagementPolicies{"Observe", "Update"}, want: [][]string{{"finalizer"}},
		},
		"NotLookedFor": {reason: "What could not be looked for has no finalizer.", missing: true, err: errors.New("no")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			mg := newMachine()
			if mg.SetManagementPolicies(tc.policies); tc.policies == nil {
				mg.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
			}
			var got [][]string
			c := interceptor.NewClient(kube(t, mg), interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if err := errors.Join(ctx.Err(), c.Patch(ctx, o, p, opts...)); err != nil {
						return err
					}
					got = append(got, written(o))
					return nil
				},
			})
			mgr, _ := newManager(t, c)
			o := options()
			o.Features.Enable(feature.EnableBetaManagementPolicies)
			m := &maker{external: external{err: tc.err}, missing: tc.missing, kube: c}
			if tc.ends {
				m.end = end
			}
			next := newReconciler(mgr, o, Kind[*cluster.Machine]{
				Identity: machineIdentity(), External: connecting(m, nil), PollInterval: jittered(nil, random),
			})
			nothing := func(reconcile.Request) {}
			r := newBackoffReconciler(next, nothing, nothing, random, atOnce)
			if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)}); err != nil && !tc.ends {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
			if m.atCall != nil && !slices.Contains(m.atCall.GetFinalizers(), managed.FinalizerName) {
				t.Errorf("%s\nwant the finalizer written before anything is made, got %v", tc.reason, m.atCall.GetFinalizers())
			}
		})
	}
}

// written lists the parts of an object that are written for it, in alphabetical order.
func written(o client.Object) (has []string) {
	if slices.Contains(o.GetFinalizers(), managed.FinalizerName) {
		has = append(has, "finalizer")
	}
	for name := range o.GetAnnotations() {
		if name != "mine" {
			has = append(has, strings.TrimPrefix(name, "crossplane.io/external-create-"))
		}
	}
	slices.Sort(has)
	return has
}

func TestAnnotateWithFinalizer(t *testing.T) {
	writes := 0
	c := interceptor.NewClient(kube(t, newMachine()), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			writes++
			return c.Patch(ctx, o, p, opts...)
		},
	})
	m := machine(t, c)
	for range 2 {
		if err := AnnotateWithFinalizer(t.Context(), c, m, map[string]string{"task": "1"}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"finalizer", "task"}
	if writes != 1 || !slices.Equal(written(m), want) || !slices.Equal(written(machine(t, c)), want) {
		t.Errorf("want one write of both, in memory and in the API, got %d: %v, %v", writes, written(m), written(machine(t, c)))
	}
}

// TestRemovedAtCreationEnd removes what a creation has recorded, and the cache has not seen yet.
func TestRemovedAtCreationEnd(t *testing.T) {
	server := kube(t, newMachine())
	c := behind{Client: server, cache: kube(t, newMachine())}
	m := machine(t, server)
	if err := Annotate(t.Context(), c, m, map[string]string{"intent": "1"}); err != nil {
		t.Fatal(err)
	}
	ctx := AtCreationEnd(t.Context())
	if err := errors.Join(RemoveAnnotation(ctx, c, m, "intent"), Annotate(ctx, c, m, map[string]string{"task": "1"})); err != nil {
		t.Fatal(err)
	}
	if err := (statusClient{Client: c}).Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if got := written(machine(t, server)); !slices.Equal(got, []string{"task"}) {
		t.Errorf("want the task alone, got %v", got)
	}
}

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

package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestOwnershipConflicts lets a second Machine, with the other scope and another configuration, claim the VM of the first.
func TestOwnershipConflicts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		first  scenario
		second func(first machine.Machine) *cluster.Machine
	}{
		"Copied": {
			reason: "A Machine that was copied with its annotations claims the VM of the original.",
			first:  scenarios()["Empty"],
			second: func(first machine.Machine) *cluster.Machine {
				return older(first.GetAnnotations(), v1alpha1.MachineParameters{Description: new("mine")})
			},
		},
		"Adopted": {
			reason: "A VM that was adopted is not adopted again.",
			first:  scenarios()["Adoption"],
			second: func(machine.Machine) *cluster.Machine {
				return older(map[string]string{meta.AnnotationKeyExternalName: "100"}, v1alpha1.MachineParameters{Description: new("mine")})
			},
		},
		"Deleting": {
			reason: "Who may only look at a VM and delete it does not delete that of another Machine.",
			first:  scenarios()["Adoption"],
			second: func(machine.Machine) *cluster.Machine {
				m := older(map[string]string{meta.AnnotationKeyExternalName: "100"}, v1alpha1.MachineParameters{})
				m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionDelete})
				return m
			},
		},
		"Made": {
			reason: "A VM that was made for a Machine is not adopted by another.",
			first:  scenarios()["Empty"],
			second: func(first machine.Machine) *cluster.Machine {
				return older(map[string]string{meta.AnnotationKeyExternalName: meta.GetExternalName(first)}, v1alpha1.MachineParameters{Description: new("mine")})
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(tc.reason)
			w := newEnv(t, tc.first, 0)
			w.until(t, "the first Machine is ready", w.settled)
			before, n := w.holdings(), len(w.writes())
			second := w.join(t, tc.second(w.m))
			for range 5 {
				w.clock.advance(time.Minute)
				_, _ = w.alive(t).reconcile(w.clock, 1, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(second)})
			}
			if err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(second), second); err != nil {
				t.Fatal(err)
			}
			if c := second.GetCondition(xpv2.TypeSynced); c.Status != corev1.ConditionFalse || c.Message == "" {
				t.Errorf("the second Machine is not told why: %+v", c)
			}
			w.quiet(t)
			if err := w.kube.Delete(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				w.clock.advance(time.Minute)
				_, _ = w.alive(t).reconcile(w.clock, 1, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(second)})
			}
			if err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(second), second); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("the second Machine cannot go: %v, finalizers %v", err, second.GetFinalizers())
			}
			w.quiet(t)
			if now := w.writes(); len(now) > n {
				t.Errorf("the second Machine has written to PVE: %+v", slices.Clone(now[n:]))
			}
			if diff := cmp.Diff(before, w.holdings(), simulatortest.IgnoreRuntime()); diff != "" {
				t.Errorf("the cluster was changed: -before, +after:\n%s", diff)
			}
		})
	}
}

// older returns a Machine of the other scope.
func older(annotations map[string]string, spec v1alpha1.MachineParameters) *cluster.Machine {
	m := &cluster.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: "other", UID: "5a7a5f2c-0000-4000-8000-000000000002", Generation: 1, Annotations: annotations,
			CreationTimestamp: metav1.NewTime(time.Now().Add(time.Hour)),
		},
		Spec: cluster.MachineSpec{ForProvider: spec},
	}
	m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
	m.SetProviderConfigReference(&xpv2.Reference{Name: "other"})
	return m
}

// join adds a second Machine to the cluster, with a separate configuration.
func (w *env) join(t *testing.T, m *cluster.Machine) *cluster.Machine {
	t.Helper()
	spec := w.settings()
	spec.Credentials.SecretRef.Namespace = new(namespace)
	pc := &cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: spec}
	for _, o := range []client.Object{pc, m} {
		if err := w.kube.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

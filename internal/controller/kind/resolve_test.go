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
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
)

// TestResolver resolves a Snapshot in two steps: its Machine, and once that exists, its provider configuration.
func TestResolver(t *testing.T) {
	s := &cluster.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	s.Spec.ForProvider.MachineRef = &v1alpha1.Reference{Name: "web"}
	c := kube(t, s)
	r := resolver{kube: c}
	read := func() *cluster.Snapshot {
		t.Helper()
		got := &cluster.Snapshot{}
		if err := c.Get(t.Context(), client.ObjectKey{Name: "s"}, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	resolve := func(machine, configuration string) {
		t.Helper()
		if err := r.ResolveReferences(t.Context(), read()); err != nil {
			t.Fatal(err)
		}
		got := read()
		if p := got.Spec.ForProvider; p.Machine == nil || *p.Machine != machine || configurationOf(got) != configuration {
			t.Fatalf("want Machine %q and provider configuration %q, got %+v of %q", machine, configuration, p, configurationOf(got))
		}
	}
	resolve("web", defaultConfiguration)
	stale := read()
	if err := c.Create(t.Context(), labelled("web", "", "site")); err != nil {
		t.Fatal(err)
	}
	resolve("web", "site")

	version := read().GetResourceVersion()
	resolve("web", "site")
	if got := read().GetResourceVersion(); got != version {
		t.Errorf("what stays as it was is written")
	}
	stale.SetProviderConfigReference(nil)
	if err := r.ResolveReferences(t.Context(), stale); !kerrors.IsConflict(err) {
		t.Errorf("what was changed since it was read must not be written, got %v", err)
	}
	chosen := read()
	chosen.SetProviderConfigReference(&xpv2.Reference{Name: "elsewhere"})
	if err := c.Update(t.Context(), chosen); err != nil {
		t.Fatal(err)
	}
	resolve("web", "elsewhere")
}

func TestResolverBroken(t *testing.T) {
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	m.Spec.ForProvider.Clone = &v1alpha1.MachineClone{MachineRef: &v1alpha1.Reference{Name: "none"}}
	err := resolver{kube: kube(t, m)}.ResolveReferences(t.Context(), m)
	if err == nil || !strings.Contains(err.Error(), "cannot resolve references") {
		t.Errorf("what cannot be resolved must be told, got %v", err)
	}
	if err := (resolver{}).ResolveReferences(t.Context(), &namespaced.ProxmoxNode{}); err != nil {
		t.Errorf("a kind without references has nothing to resolve: %v", err)
	}
}

// TestResolverApart checks that resources that refer to Machines and Images find those of their tenant, and those of operators that may be for all
// tenants.
func TestResolverApart(t *testing.T) {
	web := map[string]string{"app": "web"}
	machine := func(name string) *cluster.Machine {
		m := labelled(name, "", "site")
		m.Labels = web
		return m
	}
	image := func(name string) *cluster.Image {
		return &cluster.Image{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: web}}
	}
	sameTenant := func(context.Context) connect.SameTenantFunc {
		return func(_, other resource.Managed) (own, operators bool) {
			return strings.HasPrefix(other.GetName(), "own"), strings.HasPrefix(other.GetName(), "ops")
		}
	}
	cases := map[string]struct {
		reason string
		there  []client.Object
		ref    *v1alpha1.Reference // By labels if it is nil.
		image  bool
		want   string // Empty if nothing is found.
	}{
		"Own": {
			reason: "Labels find one's own Machine among all that have them.",
			there:  []client.Object{machine("a"), machine("own"), machine("ops")}, want: "own",
		},
		"Others":      {reason: "Labels find no Machine of another tenant.", there: []client.Object{machine("a")}},
		"Operators":   {reason: "Labels find no Machine of operators.", there: []client.Object{machine("ops")}},
		"Named":       {reason: "One's own is found by its name.", there: []client.Object{machine("own")}, ref: &v1alpha1.Reference{Name: "own"}, want: "own"},
		"NamedOthers": {reason: "A name finds no Machine of another tenant.", there: []client.Object{machine("a")}, ref: &v1alpha1.Reference{Name: "a"}},
		"NamedOperators": {
			reason: "A name finds a template of operators.",
			there:  []client.Object{machine("ops")}, ref: &v1alpha1.Reference{Name: "ops"}, want: "ops",
		},
		"Image":       {reason: "Images of operators are for all.", there: []client.Object{image("a"), image("ops")}, image: true, want: "ops"},
		"ImageOthers": {reason: "Images of another tenant are not found.", there: []client.Object{image("a")}, image: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
			p := &m.Spec.ForProvider
			if p.Clone = (&v1alpha1.MachineClone{MachineRef: tc.ref}); tc.ref == nil {
				p.Clone.MachineSelector = &v1alpha1.Selector{MatchLabels: web}
			}
			if tc.image {
				p.Clone, p.TemplateSelector = nil, &v1alpha1.Selector{MatchLabels: web}
			}
			c := kube(t, append(tc.there, m)...)
			if err := c.Get(t.Context(), client.ObjectKey{Name: "m"}, m); err != nil {
				t.Fatal(err)
			}
			err := resolver{kube: c, sameTenant: sameTenant}.ResolveReferences(t.Context(), m)
			got := ""
			switch {
			case p.TemplateRef != nil:
				got = p.TemplateRef.Name
			case p.Clone != nil && p.Clone.Machine != nil:
				got = *p.Clone.Machine
			}
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("\n%s\nwant %q, got %q, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

// TestResolverTakes checks that a Snapshot takes nothing from the Machine of another tenant.
func TestResolverTakes(t *testing.T) {
	s := &cluster.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	s.Spec.ForProvider.MachineRef = &v1alpha1.Reference{Name: "web"}
	sameTenant := func(context.Context) connect.SameTenantFunc {
		return func(_, _ resource.Managed) (own, operators bool) { return false, false }
	}
	c := kube(t, s, labelled("web", "", "site"))
	if err := c.Get(t.Context(), client.ObjectKey{Name: "s"}, s); err != nil {
		t.Fatal(err)
	}
	if err := (resolver{kube: c, sameTenant: sameTenant}).ResolveReferences(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if p := s.Spec.ForProvider; p.Machine == nil || *p.Machine != "web" || configurationOf(s) != defaultConfiguration {
		t.Errorf("want what the Snapshot says itself, got %+v of %q", p, configurationOf(s))
	}
}

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
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// TestResolver resolves a Snapshot in two steps: its Machine, and once that is there its provider configuration.
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

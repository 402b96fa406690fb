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

package connect

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// TestIsOf checks whose resources count in the quota of a tenant.
func TestIsOf(t *testing.T) {
	const kind = "ClusterProviderConfig"
	cases := map[string]struct {
		reason    string
		namespace string
		names     string
		there     []client.Object
		want      bool
	}{
		"Own":       {reason: "One of the tenant's namespace counts.", namespace: "team-a", names: "site", want: true},
		"Another":   {reason: "One of another namespace does not.", namespace: "ops", names: "site"},
		"Elsewhere": {reason: "One of another configuration does not.", namespace: "team-a", names: "other"},
		"StandsIn":  {reason: "One that names a missing default counts where the configuration stands in.", namespace: "team-a", names: "default", want: true},
		"Default": {
			reason: "One that names a default which is there is its.", namespace: "team-a", names: "default", there: []client.Object{clusterProviderConfig("default")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New(kube(t, append(tc.there, clusterProviderConfig("site"))...), WithDefault("site"))
			got, err := c.IsOf(t.Context(), namespacedMachine(tc.namespace, kind, tc.names), kind+"/site", teams()[:1], "a")
			if got != tc.want || err != nil {
				t.Errorf("IsOf(): %s: want %t, got %t, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

// TestAccountOf checks which configurations share the quota of a tenant.
func TestAccountOf(t *testing.T) {
	limited := []v1alpha1.ProviderTenant{{Name: "a", Quota: &v1alpha1.TenantQuota{VMs: new(int32(1))}}}
	more := []v1alpha1.ProviderTenant{{Name: "a", Quota: &v1alpha1.TenantQuota{VMs: new(int32(2))}}}
	config := func(name, endpoint string, edits ...func(*v1alpha1.ProviderConfigSpec)) *cluster.ProviderConfig {
		pc := &cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ProviderConfigSpec{Tenants: limited}}
		pc.Spec.Endpoints = strings.Fields(endpoint)
		for _, edit := range edits {
			edit(&pc.Spec)
		}
		return pc
	}
	cases := map[string]struct {
		reason string
		there  []client.Object
		want   []string
	}{
		"Alone": {reason: "A configuration that is alone has an account of its own.", want: []string{"ProviderConfig/own"}},
		"Elsewhere": {
			reason: "Another cluster has another account.", there: []client.Object{config("a", "https://c")}, want: []string{"ProviderConfig/own"},
		},
		"Same": {
			reason: "A configuration with the same endpoint shares the account.", want: []string{"ProviderConfig/a", "ProviderConfig/own"},
			there: []client.Object{config("a", "https://A:8006/", func(s *v1alpha1.ProviderConfigSpec) { s.Tenants = more })},
		},
		"Others": {
			reason: "A configuration shares the account by the endpoint of another.",
			there:  []client.Object{config("b", "https://a https://b"), config("z", "https://b")},
			want:   []string{"ProviderConfig/b", "ProviderConfig/own", "ProviderConfig/z"},
		},
		"Unlimited": {
			reason: "One without a quota of the tenant shares nothing.", want: []string{"ProviderConfig/own"},
			there: []client.Object{config("a", "https://a", func(s *v1alpha1.ProviderConfigSpec) { s.Tenants = []v1alpha1.ProviderTenant{{Name: "a"}} })},
		},
		"Warned": {
			reason: "One that only warns shares the account, since it refuses beside one that refuses.", want: []string{"ProviderConfig/a", "ProviderConfig/own"},
			there: []client.Object{config("a", "https://a", func(s *v1alpha1.ProviderConfigSpec) { s.TenantEnforcement = new(v1alpha1.TenantWarn) })},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New(kube(t, append(tc.there, config("own", "https://a"))...))
			got, err := c.AccountOf(t.Context(), "ProviderConfig/own", limited, "a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(got.tenants))); diff != "" || got.Config != tc.want[0] {
				t.Errorf("\n%s\nwant the account of %s, got %s; -want, +got:\n%s", tc.reason, tc.want[0], got.Config, diff)
			}
			if n := got.Limits()["vms"]; n != 1 {
				t.Errorf("\n%s\nwant the lowest limit, 1, got %d", tc.reason, n)
			}
		})
	}
}

// TestAccountsRemembered checks that the account of a tenant is looked up once, and again as soon as a configuration has changed.
func TestAccountsRemembered(t *testing.T) {
	quota := []v1alpha1.ProviderTenant{{Name: "a", Quota: &v1alpha1.TenantQuota{VMs: new(int32(1))}}}
	own, other := clusterProviderConfig("own"), clusterProviderConfig("other")
	own.Spec.Tenants, other.Spec.Tenants = quota, quota
	k := kube(t, own, other)
	c := New(k)
	shares := func() int {
		t.Helper()
		a, err := c.AccountOf(t.Context(), "ClusterProviderConfig/own", quota, "a")
		if err != nil {
			t.Fatal(err)
		}
		return len(a.tenants)
	}
	if n := shares(); n != 2 {
		t.Fatalf("want an account of 2 configurations, got %d", n)
	}
	found := c.accounts.shared
	if shares(); len(found) != 1 || len(c.accounts.shared) != 1 || reflect.ValueOf(found).Pointer() != reflect.ValueOf(c.accounts.shared).Pointer() {
		t.Errorf("want what was found kept, got %v, then %v", found, c.accounts.shared)
	}
	third := clusterProviderConfig("third")
	for _, step := range []struct {
		reason string
		change func() error
		want   int
	}{
		{reason: "A configuration that is new counts.", want: 3, change: func() error {
			third.Spec.Tenants = quota
			return k.Create(t.Context(), third)
		}},
		{reason: "A configuration that leads elsewhere by now does not count.", want: 2, change: func() error {
			third.Spec.Endpoints = []string{"https://elsewhere"}
			return k.Update(t.Context(), third)
		}},
		{reason: "A configuration without the quota by now does not count.", want: 1, change: func() error {
			if err := k.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil {
				return err
			}
			other.Spec.Tenants = []v1alpha1.ProviderTenant{{Name: "a"}}
			return k.Update(t.Context(), other)
		}},
		{reason: "A configuration that is gone counts no more, nor does one of its name that is created again count for it.", want: 2, change: func() error {
			if err := k.Delete(t.Context(), other); err != nil {
				return err
			}
			other.ResourceVersion, other.UID, other.Spec.Tenants = "", "new", quota
			return k.Create(t.Context(), other)
		}},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if n := shares(); n != step.want {
			t.Errorf("%s Want an account of %d configurations, got %d", step.reason, step.want, n)
		}
	}
}

// BenchmarkAccountOf looks up the account of a tenant among fifty configurations.
func BenchmarkAccountOf(b *testing.B) {
	quota := []v1alpha1.ProviderTenant{{Name: "a", Quota: &v1alpha1.TenantQuota{VMs: new(int32(1))}}}
	all := make([]clusterScopedConfig, 0, 50)
	for i := range cap(all) {
		all = append(all, clusterScopedConfig{
			reference: reference{kind: cluster.ProviderConfigGroupVersionKind.GroupKind(), name: strconv.Itoa(i)}, version: "1",
			spec: &v1alpha1.ProviderConfigSpec{Endpoints: []string{fmt.Sprintf("https://pve%d", i/5), fmt.Sprintf("https://pve%d-b", i/5)}, Tenants: quota},
		})
	}
	var s accounts
	for b.Loop() {
		s.sharing(all, "ProviderConfig/7", "a")
	}
}

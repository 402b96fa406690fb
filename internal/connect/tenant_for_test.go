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
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// A machine is a Machine of either scope.
type machine interface {
	resource.Managed

	Observation() *v1alpha1.MachineObservation
}

// TestTenantFor checks which configuration determines the tenant of another Machine of a cluster, and which may have signed the record of its VM.
func TestTenantFor(t *testing.T) {
	const kind, uuid = "ClusterProviderConfig", "11111111-2222-4333-8444-555555555555"
	limited := func(name, tenant string, endpoints ...string) *namespaced.ClusterProviderConfig {
		pc := clusterProviderConfig(name)
		pc.Spec.Endpoints, pc.Spec.Tenants = endpoints, []v1alpha1.ProviderTenant{{Name: tenant, Namespaces: []string{"team-a"}, Pools: []string{tenant}}}
		return pc
	}
	site, beside, elsewhere := limited("site", "a", "https://a"), limited("beside", "b", "https://b", "https://A:8006"), limited("elsewhere", "c", "https://c")
	warned := clusterProviderConfig("warned")
	warned.Spec.Endpoints, warned.Spec.Tenants, warned.Spec.TenantEnforcement = []string{"https://a"}, teams(), new(v1alpha1.TenantWarn)
	none := clusterProviderConfig("none")
	none.Spec.Endpoints = []string{"https://a"}
	own := namespacedConfigOf("team-a", "own")
	own.Spec.Endpoints = []string{"https://a"}
	scope := clusterConfig("site") // Of cluster-scoped resources.
	scope.Spec.Endpoints = []string{"https://a"}
	scope.Spec.Tenants = []v1alpha1.ProviderTenant{{Name: "all", ResourceSelector: &metav1.LabelSelector{}, Pools: []string{"all"}}}
	has := func(m machine) resource.Managed {
		m.Observation().VMID, m.Observation().UUID = new(int32(200)), uuid
		return m
	}
	cases := map[string]struct {
		reason   string
		other    resource.Managed
		signedBy string // The configuration that was used when the record was signed.
		tenant   string // The enforced tenant; empty for none.
		signed   bool
	}{
		"Same": {
			reason: "A Machine of the same configuration has a tenant of that.",
			other:  has(namespacedMachine("team-a", kind, "site")), signedBy: kind + "/site", tenant: "a", signed: true,
		},
		"Recorded": {
			reason: "A Machine with a record of the configuration has a tenant of that.",
			other:  has(namespacedMachine("team-a", kind, "elsewhere")), signedBy: kind + "/site",
			tenant: "a", signed: true,
		},
		"Beside": {
			reason: "A Machine of another configuration for the cluster has a tenant of that.", other: has(namespacedMachine("team-a", kind, "beside")),
			signedBy: kind + "/beside", tenant: "b", signed: true,
		},
		"Scope": {
			reason: "A Machine of the other scope has a tenant of its own configuration.",
			other:  has(clusterMachine("site")), signedBy: "ProviderConfig/site", tenant: "all", signed: true,
		},
		"Unsigned": {reason: "A Machine whose record is not signed has a tenant all the same.", other: has(namespacedMachine("team-a", kind, "beside")), tenant: "b"},
		"Third": {
			reason: "A record by a third configuration is none.", other: has(namespacedMachine("team-a", kind, "beside")), signedBy: kind + "/none", tenant: "b",
		},
		"Elsewhere": {reason: "One of another cluster has another VM.", other: has(namespacedMachine("team-a", kind, "elsewhere")), signedBy: kind + "/elsewhere"},
		"Warned": {
			reason: "A configuration that only warns judges beside one that refuses, and signs.",
			other:  has(namespacedMachine("team-a", kind, "warned")), signedBy: kind + "/warned", tenant: "a", signed: true,
		},
		"None": {reason: "One without tenants neither judges nor signs.", other: has(namespacedMachine("team-a", kind, "none")), signedBy: kind + "/none"},
		"Own": {
			reason: "A team's own neither judges nor signs.", other: has(namespacedMachine("team-a", "ProviderConfig", "own")), signedBy: "ProviderConfig/team-a/own",
		},
		"Missing": {reason: "One that is gone judges nothing.", other: has(namespacedMachine("team-a", kind, "gone")), signedBy: kind + "/gone"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New(kube(t, site.DeepCopy(), beside.DeepCopy(), elsewhere.DeepCopy(), warned.DeepCopy(), none.DeepCopy(), own.DeepCopy(), scope.DeepCopy()),
				WithRecordsIn("system"))
			key, err := c.records.get(t.Context(), c.kube)
			if err != nil {
				t.Fatal(err)
			}
			if tc.signedBy != "" {
				tenancy.Records{Key: key, Config: tc.signedBy}.Sign(tc.other)
			}
			to := &Connection{Config: &site.DeepCopy().Spec, Name: kind + "/site", Records: tenancy.Records{Key: key, Config: kind + "/site"}}
			got, enforced, err := c.TenantFor(t.Context(), tc.other, to)
			if err != nil || enforced != (tc.tenant != "") || enforced && got.Name != tc.tenant {
				t.Errorf("\n%s\nwant tenant %q, got %v, %t, %v", tc.reason, tc.tenant, got, enforced, err)
			}
			if uuidOf := c.SignedUUID(t.Context(), tc.other, to); (uuidOf == uuid) != tc.signed {
				t.Errorf("\n%s\nwant it signed: %t, got %q", tc.reason, tc.signed, uuidOf)
			}
			to.Config.Tenants = nil
			if _, enforced, err := c.TenantFor(t.Context(), tc.other, to); enforced || err != nil {
				t.Errorf("\n%s\nwant a configuration without tenants to enforce none, got %t, %v", tc.reason, enforced, err)
			}
		})
	}
}

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

package tenancy

import (
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestOverlaps(t *testing.T) {
	team := func(name string, low, high int32, pools ...string) v1alpha1.ProviderTenant {
		one := v1alpha1.ProviderTenant{Name: name, Namespaces: []string{"of-" + name}, Pools: pools}
		if low != 0 {
			one.VMIDRange = &v1alpha1.VMIDRange{Min: low, Max: high}
		}
		return one
	}
	adopts := func(of v1alpha1.ProviderTenant, pools ...string) v1alpha1.ProviderTenant {
		of.Allow = &v1alpha1.TenantPermissions{Adopt: pools}
		return of
	}
	tagged := func(of v1alpha1.ProviderTenant, carried []string, adopted ...string) v1alpha1.ProviderTenant {
		of.Tags, of.Allow = carried, &v1alpha1.TenantPermissions{AdoptTags: adopted}
		return of
	}
	operators := v1alpha1.ProviderTenant{Name: "ops", Namespaces: []string{"of-a"}, Unrestricted: new(true)}
	cases := map[string]struct {
		reason string
		a, b   v1alpha1.ProviderTenant
		want   string // Empty for nothing.
	}{
		"Apart":       {reason: "Ranges and pools of their own keep apart.", a: team("a", 200, 299, "a"), b: team("b", 300, 399, "b")},
		"SharedPool":  {reason: "VMIDs tell whose a VM in a shared pool is.", a: team("a", 200, 299, "p"), b: team("b", 300, 399, "p")},
		"SharedRange": {reason: "Disks that were left go with the VMID.", a: team("a", 200, 299, "a"), b: team("b", 299, 399, "b"), want: "VMIDs 299 to 299"},
		"SharedVMs": {
			reason: "VMs in one pool and both ranges are both's.", a: team("a", 200, 299, "p"), b: team("b", 250, 399, "p"),
			want: "VMIDs 250 to 299; tenants a and b both have VMs of pool p",
		},
		"Default": {
			reason: "Who has no range makes VMs in that of the configuration.", a: team("a", 0, 0, "a"), b: team("b", 10000, 10099, "b"),
			want: "VMIDs 10000 to 10099",
		},
		"PoolOfAll": {
			reason: "Who has no range has all VMs of the pool.", a: team("a", 0, 0, "p"), b: team("b", 300, 399, "p"), want: "VMs of pool p",
		},
		"Adopts": {
			reason: "A tenant that may take over the VMs of a pool shares them with the tenant whose pool it is.",
			a:      adopts(team("a", 200, 299, "a"), "b"), b: team("b", 300, 399, "b"), want: "VMs of pool b",
		},
		"AdoptedByTheOther": {
			reason: "Two tenants may adopt the same VM, whoever comes first.",
			a:      team("a", 200, 299, "a"), b: adopts(team("b", 300, 399, "b"), "a"), want: "VMs of pool a",
		},
		"BothAdopt": {
			reason: "Once, if both may.", a: adopts(team("a", 200, 299, "a"), "p"), b: adopts(team("b", 300, 399, "b"), "p"),
			want: "tenants a and b both have VMs of pool p",
		},
		"BothAdoptTag": {
			reason: "What both may take over by a tag is both's.",
			a:      tagged(team("a", 200, 299, "a"), nil, "x", "y"), b: tagged(team("b", 300, 399, "b"), nil, "z", "x"), want: "VMs with tag x",
		},
		"AdoptsCarried": {
			reason: "A tag that all VMs of a tenant carry hands over none.", a: tagged(team("a", 200, 299, "a"), nil, "b"),
			b: tagged(team("b", 300, 399, "b"), []string{"b"}), want: "VMs with tag b",
		},
		"CarriedAdopted": {
			reason: "Two tenants may adopt by the same tag, whoever comes first.",
			a:      tagged(team("a", 200, 299, "a"), []string{"a"}), b: tagged(team("b", 300, 399, "b"), nil, "a"),
			want: "VMs with tag a",
		},
		"AdoptTags": {
			reason: "Tags of their own keep apart.",
			a:      tagged(team("a", 200, 299, "a"), []string{"a"}, "to-a"), b: tagged(team("b", 300, 399, "b"), []string{"b"}, "to-b"),
		},
		"AdoptsFromRange": {
			reason: "A range alone does not reach into pools that another tenant may adopt from.", a: team("a", 200, 299), b: adopts(team("b", 300, 399, "b"), "p"),
		},
		"Namespace": {reason: "A namespace of two may do nothing.", a: team("a", 200, 299), b: operators, want: "tenants a and ops both have namespace of-a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(Overlaps(&v1alpha1.ProviderConfigSpec{Tenants: []v1alpha1.ProviderTenant{tc.a, tc.b}}), "; ")
			if tc.want == "" && got != "" || !strings.HasSuffix(got, tc.want) {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

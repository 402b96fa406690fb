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

package metrics

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// TestTenants checks that gauges show what the tenants of a configuration have, replacing former values, and nothing of a deleted configuration.
func TestTenants(t *testing.T) {
	usage := func(name, used, limit string, waiting *int32) v1alpha1.TenantUsage {
		return v1alpha1.TenantUsage{Resource: name, Used: resource.MustParse(used), Limit: resource.MustParse(limit), Waiting: waiting}
	}
	m := New()
	r := registered(t, m)
	shows := func(used, limit, waiting string) {
		t.Helper()
		for name, want := range map[string]string{
			"used": `
# HELP proxmox_operator_tenant_quota_used What tenants with a quota use, by resource; memory and disks in bytes.
# TYPE proxmox_operator_tenant_quota_used gauge
` + used,
			"limit": `
# HELP proxmox_operator_tenant_quota_limit Limits of the quotas of tenants, by resource; memory and disks in bytes.
# TYPE proxmox_operator_tenant_quota_limit gauge
` + limit,
			"waiting": `
# HELP proxmox_operator_tenant_quota_waiting Resources that wait for room in the quota of their tenant, by what is short.
# TYPE proxmox_operator_tenant_quota_waiting gauge
` + waiting,
		} {
			compare(t, r, "proxmox_operator_tenant_quota_"+name, want)
		}
	}
	m.Tenants("ClusterProviderConfig/a", []v1alpha1.TenantObservation{
		{Name: "team-a", Usage: []v1alpha1.TenantUsage{usage("vms", "3", "4", nil), usage("memory", "1536Mi", "2Gi", new(int32(2)))}},
		{Name: "team-b", Usage: []v1alpha1.TenantUsage{usage("disks/ceph", "0", "1Ti", nil)}},
	})
	m.Tenants("ProviderConfig/a", []v1alpha1.TenantObservation{
		{Name: "team-a", Usage: []v1alpha1.TenantUsage{usage("publicAddresses/vmbr0", "5", "4", new(int32(1)))}},
	})
	const other = `{providerconfig="ProviderConfig/a",resource="publicAddresses/vmbr0",tenant="team-a"} `
	const a = `{providerconfig="ClusterProviderConfig/a",resource=`
	shows(`proxmox_operator_tenant_quota_used`+a+`"disks/ceph",tenant="team-b"} 0
proxmox_operator_tenant_quota_used`+a+`"memory",tenant="team-a"} 1.610612736e+09
proxmox_operator_tenant_quota_used`+a+`"vms",tenant="team-a"} 3
proxmox_operator_tenant_quota_used`+other+`5
`, `proxmox_operator_tenant_quota_limit`+a+`"disks/ceph",tenant="team-b"} 1.099511627776e+12
proxmox_operator_tenant_quota_limit`+a+`"memory",tenant="team-a"} 2.147483648e+09
proxmox_operator_tenant_quota_limit`+a+`"vms",tenant="team-a"} 4
proxmox_operator_tenant_quota_limit`+other+`4
`, `proxmox_operator_tenant_quota_waiting`+a+`"disks/ceph",tenant="team-b"} 0
proxmox_operator_tenant_quota_waiting`+a+`"memory",tenant="team-a"} 2
proxmox_operator_tenant_quota_waiting`+a+`"vms",tenant="team-a"} 0
proxmox_operator_tenant_quota_waiting`+other+`1
`)
	m.Tenants("ClusterProviderConfig/a", []v1alpha1.TenantObservation{{Name: "team-a", Usage: []v1alpha1.TenantUsage{usage("vms", "2", "4", new(int32(0)))}}})
	shows(`proxmox_operator_tenant_quota_used`+a+`"vms",tenant="team-a"} 2
proxmox_operator_tenant_quota_used`+other+`5
`, `proxmox_operator_tenant_quota_limit`+a+`"vms",tenant="team-a"} 4
proxmox_operator_tenant_quota_limit`+other+`4
`, `proxmox_operator_tenant_quota_waiting`+a+`"vms",tenant="team-a"} 0
proxmox_operator_tenant_quota_waiting`+other+`1
`)
	m.Tenants("ClusterProviderConfig/a", nil)
	shows("proxmox_operator_tenant_quota_used"+other+"5\n", "proxmox_operator_tenant_quota_limit"+other+"4\n", "proxmox_operator_tenant_quota_waiting"+other+"1\n")
}

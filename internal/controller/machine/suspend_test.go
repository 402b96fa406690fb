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

package machine

import (
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// TestSuspendOfTenants checks that the memory of a tenant's VM is saved only where the tenant may store data.
func TestSuspendOfTenants(t *testing.T) {
	confined := tenancy.TenantNamed([]v1alpha1.ProviderTenant{{Name: "team-a", Namespaces: []string{"team-a"}, Storages: []string{"ceph"}}}, "team-a")
	cases := map[string]struct {
		reason string
		tenant *tenancy.Tenant
		config qemu.Config
		want   string
	}{
		"Disk":  {reason: "The memory goes to the storage of a disk.", tenant: confined, config: qemu.Config{"scsi0": "ceph:vm-100-disk-0,size=1G"}},
		"Named": {reason: "A storage that is named counts.", tenant: confined, config: qemu.Config{"vmstatestorage": "nas", "scsi0": "ceph:x"}, want: "nas"},
		"NoDisk": {
			reason: "The memory of a VM without disks goes to the node's own storage.",
			tenant: confined, config: qemu.Config{"ide2": "none,media=cdrom"}, want: "local",
		},
		"Free": {reason: "Who is no tenant may save it anywhere.", config: qemu.Config{"ide2": "none,media=cdrom"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.storages = []proxmox.Storage{{Name: "ceph", Node: "pve1", Type: "rbd", Shared: true}}
			e := b.external()
			e.tenant = tenant.Checks{Tenant: tc.tenant}
			e.vm = &vmstate.VM{Ref: proxmox.Ref{Node: "pve1", VMID: 100}}
			e.vm.Config, e.vm.Active = tc.config, tc.config
			e.planned.Policy = power.Policy{Desired: qemu.Desired{MachineParameters: b.m.Parameters()}}
			e.planned.power = power.Suspend
			p, err := e.powerFeature().plan(t.Context(), b.m, &e.planned)
			if got := strings.Join(p.rejections, ", "); err != nil || (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\nwant %q refused, got %q, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

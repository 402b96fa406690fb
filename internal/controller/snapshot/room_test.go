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

package snapshot

import (
	"context"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

func TestStateSize(t *testing.T) {
	if got := stateSize(qemu.Config{"memory": "1024"}); got != (2*1024+500)<<20 {
		t.Errorf("want twice the memory and 500 MiB, got %d", got)
	}
}

// storages is the data of an inventory.
type storages struct{ Inventory }

func (storages) Storages(context.Context) ([]proxmox.Storage, error) {
	return []proxmox.Storage{{Name: "ceph", Node: "pve1", Type: "rbd", Shared: true}}, nil
}

// TestMemoryOfTenants checks that a snapshot of a tenant's VM saves the memory on a storage of the tenant, or is not taken.
func TestMemoryOfTenants(t *testing.T) {
	confined := tenancy.TenantNamed([]v1alpha1.ProviderTenant{{Name: "team-a", Namespaces: []string{"team-a"}, Storages: []string{"ceph"}}}, "team-a")
	diskless := qemu.Config{"ide2": "nas:iso/a.iso,media=cdrom"}
	cases := map[string]struct {
		reason string
		tenant *tenancy.Tenant
		config qemu.Config
		want   string
	}{
		"Disk":   {reason: "The memory goes to the storage of a disk.", tenant: confined, config: qemu.Config{"scsi0": "ceph:vm-100-disk-0"}},
		"NoDisk": {reason: "The memory of a VM without disks goes to the node's own storage.", tenant: confined, config: diskless, want: "storage local"},
		"Free":   {reason: "Who is no tenant may save it anywhere.", config: diskless},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := &external{inventory: storages{}, tenant: tc.tenant, view: &view{guest: &proxmox.Guest{Node: "pve1"}}}
			problem, err := e.roomForMemory(t.Context(), tc.config)
			if problem != nil || (err != nil) != (tc.want != "") || err != nil && (!tenancy.IsRefusal(err) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s\nwant %q refused, got %v, %v", tc.reason, tc.want, problem, err)
			}
		})
	}
}

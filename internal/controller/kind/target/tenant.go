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

package target

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// CheckTenant is an error if the VM is not one of the tenant of a resource: its annotations, which
// tell of which VM it is, are for users to write. A resource that is deleted may remove what was
// seen to be its own before, unless another tenant may have the VM by now; with any other VM it has nothing to do, and leaves is true.
func CheckTenant(ctx context.Context, to *connect.Connection, m resource.Managed, vm VM) (leaves bool, err error) {
	if to.Tenant == nil {
		return false, nil
	}
	vmid, uuid := to.Records.VMOf(m)
	recorded := vmid == vm.VMID && strings.EqualFold(uuid, vm.UUID)
	err = connect.CheckVM(ctx, to.Inventory, vm.VMID, func(g proxmox.Guest) error {
		switch {
		case recorded && g.Type == "":
			return nil // It is not there any more, which is told.
		case recorded && meta.WasDeleted(m):
			return to.Tenant.CheckRemove(g)
		}
		return to.Tenant.CheckGuest(g)
	})
	if tenancy.IsRefusal(err) && meta.WasDeleted(m) {
		return true, nil
	}
	tenancy.ShowRefusal(m, err)
	return false, err
}

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

// CheckTenant returns an error if the VM does not belong to the tenant of a resource. It is needed because users can write the annotations that
// identify the VM. A resource that is being deleted may remove what was recorded as its own before, unless another tenant may own the VM now. With
// any other VM it does nothing, and leaves is true.
func CheckTenant(ctx context.Context, to *connect.Connection, m resource.Managed, vm VM) (leaves bool, err error) {
	if to.Tenant == nil {
		return false, nil
	}
	vmid, uuid := to.Records.VMOf(m)
	recorded := vmid == vm.VMID && strings.EqualFold(uuid, vm.UUID)
	err = connect.CheckVM(ctx, to.Inventory, vm.VMID, func(g proxmox.Guest) error {
		switch {
		case recorded && g.Type == "":
			return nil // The VM no longer exists, which is reported elsewhere.
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

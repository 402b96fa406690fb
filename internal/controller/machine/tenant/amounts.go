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

package tenant

import (
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An Inventory lists the VMs and the volumes of a cluster.
type Inventory = quotas.Lister

// Counts reports whether a Volume counts in the quota by itself: the provider has signed its record, and entered it in the quota. A record written by
// others does not exempt a disk from the quota.
func (c Checks) Counts(ctx context.Context, volume resource.Managed) (bool, error) {
	v, signed := c.Records.Volume(volume)
	if !signed {
		return false, nil
	}
	return c.Quota.Keeper.Counts(ctx, c.Quota.Config, c.Name, string(volume.GetUID()), v.Volume)
}

// disksOf reads the sizes of those detached disks of a VM whose storage the quota limits. A disk that its storage does not list takes no space.
func (c Checks) disksOf(ctx context.Context, v *vmstate.VM, volumes []string) (amounts.Disks, error) {
	k := amounts.Disks{Volumes: volumes, Sizes: map[string]int64{}}
	for _, d := range k.Detached(c.Limits(), v.Config, v.Active) {
		size, err := inventory.SizeOf(ctx, c.Inventory, v.Node, d.Volume)
		if err != nil {
			return k, errors.Wrapf(err, "cannot tell whether the quota of tenant %q has room: the size of %s, %s of VM %d, is not known",
				c.Name, d.Volume, d.Device, v.VMID)
		}
		k.Sizes[d.Volume] = int64(size)
	}
	return k, nil
}

// counted returns the volume IDs of the disks of a VM that count with it.
func counted(k amounts.Disks, v *vmstate.VM) []string {
	all := append(v.Config.OwnVolumes(v.VMID), v.Active.OwnVolumes(v.VMID)...)
	return slices.DeleteFunc(all, func(volume string) bool { return slices.Contains(k.Volumes, volume) })
}

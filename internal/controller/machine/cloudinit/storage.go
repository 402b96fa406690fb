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

package cloudinit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// Storage returns the storage for images: that of the spec, that of the present image, or one that holds ISO images. Among the latter it prefers
// storages that answer, and then shared ones.
func (k Keeper) Storage(ctx context.Context, d qemu.Desired, node, present string) (string, error) {
	storages, err := k.Inventory.Storages(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, s := range slices.SortedFunc(slices.Values(storages), compareForImage) { // The list is shared with others.
		if s.Node == node && slices.Contains(s.Content, "iso") && (k.Stores == nil || k.Stores(s.Name)) {
			names = append(names, s.Name)
		}
	}
	if has, _, _ := strings.Cut(present, ":"); d.Identity.OwnsNoCloudImage(present) && slices.Contains(names, has) && d.CloudInit.Storage == nil {
		return has, nil
	}
	wanted := ptr.Deref(d.CloudInit.Storage, "")
	switch {
	case wanted != "" && !slices.Contains(names, wanted):
		no := conditions.Reject(conditions.Allocating, "storage '%s' does not hold ISO images on node %s, which cloudInit's data need%s",
			wanted, node, conditions.Instead("storages that do", names))
		return "", k.Checks.HintMissingPrivilege(ctx, no, preflight.StorageReadPrivilege(wanted))
	case wanted == "" && len(names) == 0:
		no := conditions.Reject(conditions.Allocating, "no storage of node %s holds ISO images, which cloudInit's data need", node)
		return "", k.Checks.HintMissingPrivilege(ctx, no, validate.On("/storage", "Datastore.Audit"))
	case wanted == "":
		wanted = names[0]
	}
	return wanted, nil
}

func compareForImage(a, b proxmox.Storage) int {
	return cmp.Or(compareBools(a.Status == "unknown", b.Status == "unknown"), -compareBools(a.Shared, b.Shared), strings.Compare(a.Name, b.Name))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

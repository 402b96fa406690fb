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

package preflight

import (
	"context"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// MissingVolume returns which volume that is to be attached is not on a node. Proxmox VE would give its name to a disk that is created meanwhile, and
// attach that disk twice. It lists the volumes that the user may attach.
func (e *Checks) MissingVolume(ctx context.Context, volumes []string, node string) (missing, err error) {
	for _, volume := range volumes {
		m := Medium{Content: "images", volume: volume}
		there, err := e.volumesWith(ctx, m, node)
		if err != nil && !proxmox.IsAuthorization(err) {
			return nil, err
		}
		if err == nil && !m.among(there) {
			return conditions.Reject(conditions.Allocating, "volume %s not found on node %s: it cannot be attached", volume, node), nil
		}
	}
	return nil, nil
}

// CheckVolumesUnused returns an error if another VM uses a volume that is to be attached, or may use it. PVE does not check that, and two VMs that
// write to one disk destroy it.
func (e *Checks) CheckVolumesUnused(ctx context.Context, vm proxmox.Ref, volumes []string) error {
	return errors.Wrap(e.checkUnused(ctx, vm, volumes), "nothing is attached")
}

// CheckDiskUnshared returns an error if another VM uses the volume of a disk that is to be destroyed, or may use it. PVE destroys a volume with the
// VMID of the VM in its name, even if another VM has it attached by hand.
func (e *Checks) CheckDiskUnshared(ctx context.Context, vm proxmox.Ref, volume string) error {
	return errors.Wrap(e.checkUnused(ctx, vm, []string{volume}), "nothing is destroyed")
}

// CheckSourcesUnshared returns an error, which says what is not done, if another VM uses one of the volumes, or may use it. PVE would delete these
// volumes according to their names, once they are copied or replaced.
func (e *Checks) CheckSourcesUnshared(ctx context.Context, vm proxmox.Ref, undone string, volumes ...string) error {
	return errors.Wrap(e.checkUnused(ctx, vm, volumes), undone)
}

func (e *Checks) checkUnused(ctx context.Context, vm proxmox.Ref, volumes []string) error {
	if len(volumes) == 0 {
		return nil
	}
	storages, err := e.Inventory.Storages(ctx)
	if err != nil {
		return err
	}
	disks := vmcache.Disks{Volumes: volumes, Node: vm.Node, Storages: storages, MayName: tenancy.MayName(e.Tenant)}
	return e.Reader.CheckUnused(ctx, disks, vm.VMID)
}

// UnavailableVolumes returns the volumes of a VM that PVE could not remove with it now, because their storage is not available. PVE destroys the VM
// anyway, and only warns of what it leaves.
func (e *Checks) UnavailableVolumes(ctx context.Context, v *vmstate.VM) ([]string, error) {
	storages, err := e.Inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(v.Config.OwnVolumes(v.VMID), func(volume string) bool {
		name, _, _ := strings.Cut(volume, ":")
		return !slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == name && s.Node == v.Node && s.Status == "unknown" })
	}), nil
}

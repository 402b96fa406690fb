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
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// HintMissingPrivilege adds a hint to a not-found error: the object may exist, and the user lacks the privilege to see it.
func (e *Checks) HintMissingPrivilege(ctx context.Context, no error, n validate.PrivilegeRequirement) error {
	r := conditions.ValidationError{}
	if !errors.As(no, &r) {
		return no
	}
	r.Message += e.MissingReadPrivilege(ctx, n)
	return r
}

// MissingReadPrivilege returns, as the end of a not-found message, which privilege is missing to see the object. It is empty if the object may be seen.
func (e *Checks) MissingReadPrivilege(ctx context.Context, n validate.PrivilegeRequirement) string {
	if !proxmox.IsAuthorization(e.CheckPrivilegesOfNew(ctx, "see it", []validate.PrivilegeRequirement{n})) {
		return ""
	}
	return fmt.Sprintf("; what may not be seen is not found: Permission check failed %s", n.Named())
}

// StorageReadPrivilege returns the privilege to see a storage.
func StorageReadPrivilege(storage string) validate.PrivilegeRequirement {
	return validate.On("/storage/"+storage, "Datastore.Audit")
}

// NetworkPrivileges returns the privileges for the networks in a change of a VM on a node, if there are any.
func (e *Checks) NetworkPrivileges(ctx context.Context, change qemu.Difference, config qemu.Config, node string) ([]validate.PrivilegeRequirement, error) {
	if !slices.ContainsFunc(change.Options(), validate.IsNIC) {
		return nil, nil
	}
	bridges, err := e.Inventory.Bridges(ctx, node, inventory.Stable)
	if proxmox.IsAuthorization(err) {
		return nil, nil
	}
	return validate.NetworkPrivileges(change, config, zones(bridges)), err
}

// ImportPrivileges returns the privileges for disks that grow after they were filled.
func ImportPrivileges(p *v1alpha1.MachineParameters, at validate.Place) []validate.PrivilegeRequirement {
	grows := func(k v1alpha1.MachineDisk) bool { return k.ImportFrom != nil && k.Size != nil }
	if !slices.ContainsFunc(p.Disks, grows) {
		return nil
	}
	return []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.Config.Disk")}
}

// zones returns the zones of bridges: the bridges of the nodes themselves are in one zone. Bridges do not name the zones of VNets.
func zones(bridges []proxmox.Bridge) func(bridge string) string {
	return func(name string) string {
		for _, b := range bridges {
			if b.Name == name && b.Type != "vnet" {
				return "localnetwork"
			}
		}
		return ""
	}
}

// UploadPrivileges returns the privileges to upload an image and to remove it when it is no longer used, for which PVE requires more.
func UploadPrivileges(storage string) []validate.PrivilegeRequirement {
	path := "/storage/" + storage
	return []validate.PrivilegeRequirement{validate.On(path, "Datastore.AllocateTemplate"), validate.On(path, "Datastore.Allocate")}
}

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
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// hintMissingPrivilege adds to the refusal of what was not found that it may be there all the same, if
// it could not be seen.
func (e *preflight) hintMissingPrivilege(ctx context.Context, no error, n validate.PrivilegeRequirement) error {
	r := conditions.ValidationError{}
	if !errors.As(no, &r) {
		return no
	}
	r.Message += e.missingReadPrivilege(ctx, n)
	return r
}

// missingReadPrivilege says, after what was not found, which privilege is missing to see it; nothing if it
// may be seen.
func (e *preflight) missingReadPrivilege(ctx context.Context, n validate.PrivilegeRequirement) string {
	if !proxmox.IsAuthorization(e.checkPrivilegesOfNew(ctx, "see it", []validate.PrivilegeRequirement{n})) {
		return ""
	}
	return fmt.Sprintf("; what may not be seen is not found: Permission check failed %s", n.Named())
}

// storageReadPrivilege a storage.
func storageReadPrivilege(storage string) validate.PrivilegeRequirement {
	return validate.On("/storage/"+storage, "Datastore.Audit")
}

// checkStoragesVisible of the storages that a VM is to be on: those that may not be seen would not be
// found.
func (e creator) checkStoragesVisible(ctx context.Context, c *creation) error {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	names := c.Storages(c.sourceConfig())
	for _, device := range c.sourceConfig().Disks() {
		storage, _, _ := strings.Cut(c.sourceConfig().Volume(device), ":")
		names = append(names, storage)
	}
	var needs []validate.PrivilegeRequirement
	for _, name := range names {
		if !slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == name }) && name != "" {
			needs = append(needs, storageReadPrivilege(name))
		}
	}
	return e.checks.checkPrivilegesOfNew(ctx, fmt.Sprintf("create VM %d", c.Identity.VMID), needs)
}

// checkCreatePrivileges of a VM and what is to be done to it from then on, if it is to be changed
// at all. What PVE checks itself before it makes anything is left to it.
func (e creator) checkCreatePrivileges(ctx context.Context, m Machine, c *creation) error {
	if !kind.Manages(m) {
		return nil
	}
	at := validate.Place{VMID: c.Identity.VMID, Pool: ptr.Deref(c.Pool, "")}
	needs := []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.Allocate"), at.RequiredPrivileges("VM.Audit")}
	cloned, err := e.clonePrivileges(ctx, c, at)
	if err != nil {
		return err
	}
	needs = append(needs, cloned...)
	more, err := e.creationNeeds(ctx, c, at)
	if err != nil {
		return err
	}
	needs = append(needs, more...)
	return e.checks.checkPrivilegesOfNew(ctx, fmt.Sprintf("create VM %d", c.Identity.VMID), needs)
}

// clonePrivileges are those of what makes a clone the VM that is wanted: it gets its UUID, and
// loses the mark in its description.
func (e creator) clonePrivileges(ctx context.Context, c *creation, at validate.Place) ([]validate.PrivilegeRequirement, error) {
	if c.source == nil {
		return importPrivileges(c.MachineParameters, at), nil
	}
	config := c.sourceConfig()
	change := c.withPassword(c.Difference(config))
	needs := append(validate.RequiredPrivileges(change, config, at), at.RequiredPrivileges("VM.Config.HWType"), at.RequiredPrivileges("VM.Config.Options"))
	for _, r := range c.Resizes(config) {
		storage, _, _ := strings.Cut(config.Volume(r.Device), ":")
		needs = append(needs, at.RequiredPrivileges("VM.Config.Disk"), validate.On("/storage/"+storage, "Datastore.AllocateSpace"))
	}
	for _, v := range c.Moves(config) {
		needs = append(needs, at.RequiredPrivileges("VM.Config.Disk"), validate.On("/storage/"+v.Storage, "Datastore.AllocateSpace"))
	}
	attached, err := e.checks.networkPrivileges(ctx, change, config, c.node)
	return append(needs, attached...), err
}

// networkPrivileges are those of networks that a change of a VM on a node is about, if there are any.
func (e *preflight) networkPrivileges(ctx context.Context, change qemu.Difference, config qemu.Config, node string) ([]validate.PrivilegeRequirement, error) {
	if !slices.ContainsFunc(change.Options(), validate.IsNIC) {
		return nil, nil
	}
	bridges, err := e.inventory.Bridges(ctx, node, inventory.Stable)
	if proxmox.IsAuthorization(err) {
		return nil, nil
	}
	return validate.NetworkPrivileges(change, config, zones(bridges)), err
}

// importPrivileges are those of disks that grow when they have been filled.
func importPrivileges(p *v1alpha1.MachineParameters, at validate.Place) []validate.PrivilegeRequirement {
	grows := func(k v1alpha1.MachineDisk) bool { return k.ImportFrom != nil && k.Size != nil }
	if !slices.ContainsFunc(p.Disks, grows) {
		return nil
	}
	return []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.Config.Disk")}
}

// zones of bridges: those of the nodes themselves are in one. Of VNets, bridges do not
// tell.
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

// uploadPrivileges are those of an image that is uploaded, and removed when it is of no use any
// more: PVE asks for more for that.
func uploadPrivileges(storage string) []validate.PrivilegeRequirement {
	path := "/storage/" + storage
	return []validate.PrivilegeRequirement{validate.On(path, "Datastore.AllocateTemplate"), validate.On(path, "Datastore.Allocate")}
}

// checkUploadPrivileges of an image, and what is done with it. That comes first if the drive is
// emptied for it.
func (e *external) checkUploadPrivileges(ctx context.Context, s *noCloudImage) error {
	needs := validate.RequiredPrivileges(e.planned.change, e.vm.Config, validate.Place{VMID: e.vm.VMID})
	return e.checks.checkPrivileges(ctx, "upload an image to storage "+s.storage, append(needs, uploadPrivileges(s.storage)...))
}

// checkDeletePrivileges of a VM that is not off, or of which more is to be removed than itself:
// nothing is stopped, unprotected or taken out of rules for nothing.
func (e deletion) checkDeletePrivileges(ctx context.Context, m Machine) error {
	at := validate.Place{VMID: e.vm.VMID}
	needs := []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.Allocate")}
	if e.vm.Status.Running() {
		needs = append(needs, at.RequiredPrivileges("VM.PowerMgmt"))
	}
	if e.vm.Config["protection"] == "1" {
		needs = append(needs, at.RequiredPrivileges("VM.Config.Options"))
	}
	if m.GetAnnotations()[object.AnnotationHARules] != "" || e.vm.HAFailed() {
		needs = append(needs, validate.On("/", "Sys.Console"))
	}
	for _, p := range imageRefs(m) {
		needs = append(needs, validate.On("/storage/"+p.Storage(), "Datastore.Allocate"))
	}
	if len(needs) == 1 {
		return nil // PVE asks for it before it does the one thing that is left to do.
	}
	return e.checks.checkPrivileges(ctx, fmt.Sprintf("delete VM %d", e.vm.VMID), needs)
}

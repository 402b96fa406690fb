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
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// orUnseen adds to the refusal of what was not found that it may be there all the same, if
// it could not be seen.
func (e *external) orUnseen(ctx context.Context, no error, n qemu.Need) error {
	r := refusal{}
	if !errors.As(no, &r) {
		return no
	}
	r.error = errors.New(no.Error() + e.unseen(ctx, n))
	return r
}

// unseen says, after what was not found, which privilege is missing to see it; nothing if it
// may be seen.
func (e *external) unseen(ctx context.Context, n qemu.Need) string {
	if !proxmox.IsAuthorization(e.permitNew(ctx, "see it", []qemu.Need{n})) {
		return ""
	}
	return fmt.Sprintf("; what may not be seen is not found: Permission check failed %s", n.Named())
}

// sightOf a storage.
func sightOf(storage string) qemu.Need { return qemu.On("/storage/"+storage, "Datastore.Audit") }

// permitSight of the storages that a VM is to be on: those that may not be seen would not be
// found.
func (e *external) permitSight(ctx context.Context, c *creation) error {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	names := c.Storages(c.sourceConfig())
	for _, device := range c.sourceConfig().Disks() {
		storage, _, _ := strings.Cut(c.sourceConfig().Volume(device), ":")
		names = append(names, storage)
	}
	var needs []qemu.Need
	for _, name := range names {
		if !slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == name }) && name != "" {
			needs = append(needs, sightOf(name))
		}
	}
	return e.permitNew(ctx, fmt.Sprintf("create VM %d", c.Identity.VMID), needs)
}

// permitCreation of a VM and what is to be done to it from then on, if it is to be changed
// at all. What PVE checks itself before it makes anything is left to it.
func (e *external) permitCreation(ctx context.Context, m Machine, c *creation) error {
	if !kind.Manages(m) {
		return nil
	}
	at := qemu.Place{VMID: c.Identity.VMID, Pool: ptr.Deref(c.Pool, "")}
	needs := []qemu.Need{at.Needs("VM.Allocate"), at.Needs("VM.Audit")}
	if c.wish() == v1alpha1.PowerStateRunning {
		needs = append(needs, at.Needs("VM.PowerMgmt"))
	}
	if c.haOn() {
		needs = append(needs, qemu.On("/", "Sys.Audit"), qemu.On("/", "Sys.Console"))
	}
	if to := cmp.Or(ptr.Deref(c.Node, ""), c.placed, c.node); to != c.node {
		needs = append(needs, at.Needs("VM.Migrate"))
	}
	cloned, err := e.cloneNeeds(ctx, c, at)
	if err != nil {
		return err
	}
	seeded, err := e.seedNeeds(ctx, c, at)
	if err != nil {
		return err
	}
	return e.permitNew(ctx, fmt.Sprintf("create VM %d", c.Identity.VMID), append(append(needs, cloned...), seeded...))
}

// cloneNeeds are those of what makes a clone the VM that is wanted: it gets its UUID, and
// loses the mark in its description.
func (e *external) cloneNeeds(ctx context.Context, c *creation, at qemu.Place) ([]qemu.Need, error) {
	if c.source == nil {
		return importNeeds(withImage(c.MachineParameters), at), nil
	}
	config := c.sourceConfig()
	change := c.withPassword(c.Difference(config))
	needs := append(change.Needs(config, at), at.Needs("VM.Config.HWType"), at.Needs("VM.Config.Options"))
	for _, r := range c.Resizes(config) {
		storage, _, _ := strings.Cut(config.Volume(r.Device), ":")
		needs = append(needs, at.Needs("VM.Config.Disk"), qemu.On("/storage/"+storage, "Datastore.AllocateSpace"))
	}
	for _, v := range c.Moves(config) {
		needs = append(needs, at.Needs("VM.Config.Disk"), qemu.On("/storage/"+v.Storage, "Datastore.AllocateSpace"))
	}
	attached, err := e.networkNeeds(ctx, change, config, c.node)
	return append(needs, attached...), err
}

// networkNeeds are those of networks that a change of a VM on a node is about, if there are any.
func (e *external) networkNeeds(ctx context.Context, change qemu.Difference, config qemu.Config, node string) ([]qemu.Need, error) {
	if !slices.ContainsFunc(change.Options(), qemu.IsNIC) {
		return nil, nil
	}
	bridges, err := e.inventory.KnownBridges(ctx, node)
	if proxmox.IsAuthorization(err) {
		return nil, nil
	}
	return change.NetworkNeeds(config, zones(bridges)), err
}

// importNeeds are those of disks that grow when they have been filled.
func importNeeds(p *v1alpha1.MachineParameters, at qemu.Place) []qemu.Need {
	grows := func(k v1alpha1.MachineDisk) bool { return k.ImportFrom != nil && k.Size != nil }
	if !slices.ContainsFunc(p.Disks, grows) {
		return nil
	}
	return []qemu.Need{at.Needs("VM.Config.Disk")}
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

// seedNeeds are those of an image of cloud-init data, from its upload to its removal.
func (e *external) seedNeeds(ctx context.Context, c *creation, at qemu.Place) ([]qemu.Need, error) {
	if !c.CustomData() {
		return nil, nil
	}
	storage, err := e.seedStorage(ctx, c.desired, cmp.Or(ptr.Deref(c.Node, ""), c.node), "")
	if err != nil {
		return nil, err
	}
	device := c.SeedDrive(c.sourceConfig())
	attached := qemu.Difference{Set: proxmox.Params{device: storage + ":iso/" + c.Identity.SeedName("") + ",media=cdrom"}}
	return append(attached.Needs(c.sourceConfig(), at), imageNeeds(storage)...), nil
}

// imageNeeds are those of an image that is uploaded, and removed when it is of no use any
// more: PVE asks for more for that.
func imageNeeds(storage string) []qemu.Need {
	path := "/storage/" + storage
	return []qemu.Need{qemu.On(path, "Datastore.AllocateTemplate"), qemu.On(path, "Datastore.Allocate")}
}

// permitUpload of an image, and what is done with it. That comes first if the drive is
// emptied for it.
func (e *external) permitUpload(ctx context.Context, s *seed) error {
	needs := e.plan.change.Needs(e.vm.Config, qemu.Place{VMID: e.vm.VMID})
	return e.permit(ctx, "upload an image to storage "+s.storage, append(needs, imageNeeds(s.storage)...))
}

// permitDeletion of a VM that is not off, or of which more is to be removed than itself:
// nothing is stopped, unprotected or taken out of rules for nothing.
func (e *external) permitDeletion(ctx context.Context, m Machine) error {
	at := qemu.Place{VMID: e.vm.VMID}
	needs := []qemu.Need{at.Needs("VM.Allocate")}
	if e.vm.Status.Running() {
		needs = append(needs, at.Needs("VM.PowerMgmt"))
	}
	if e.vm.Config["protection"] == "1" {
		needs = append(needs, at.Needs("VM.Config.Options"))
	}
	if m.GetAnnotations()[AnnotationHARules] != "" || e.vm.haFailed() {
		needs = append(needs, qemu.On("/", "Sys.Console"))
	}
	for _, p := range plots(m) {
		needs = append(needs, qemu.On("/storage/"+p.storage(), "Datastore.Allocate"))
	}
	if len(needs) == 1 {
		return nil // PVE asks for it before it does the one thing that is left to do.
	}
	return e.permit(ctx, fmt.Sprintf("delete VM %d", e.vm.VMID), needs)
}

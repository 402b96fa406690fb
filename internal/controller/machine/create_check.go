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

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/nodechoice"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// creationChecks check whether the resources that a VM needs exist, and whether the user may create the VM from them.
type creationChecks struct {
	inventory Inventory
	checks    *preflight.Checks
	tenant    tenant.Checks
	noCloud   cloudinit.Keeper
	log       logging.Logger
}

// startError returns why a VM that is to run would not start. Faults that its source has too are not reported.
func (c *creation) startError() []string {
	if !scheduler.Runs(c.MachineParameters) {
		return nil
	}
	source := c.sourceConfig()
	return validate.StartError(qemu.State{Active: source, Config: c.Difference(source).After(source)})
}

// check checks whether the resources that the spec names exist where the VM is to be.
func (e creationChecks) check(ctx context.Context, c *creation) error {
	if err := e.checkStorages(ctx, c); err != nil {
		return err
	}
	var err error
	if c.capacity, err = e.checks.CheckCapacity(ctx, c.Growths(c.sourceConfig()), c.madeOn); err != nil {
		return err
	}
	if no := c.capacity.Rejections; len(no) > 0 {
		return conditions.Reject(conditions.Allocating, "%s", strings.Join(no, "; "))
	}
	source := c.sourceConfig()
	named, handedOver := c.Attached(c.Difference(source), source)
	if missing, err := e.checks.MissingVolume(ctx, append(named, handedOver...), c.madeOn); missing != nil || err != nil {
		return cmp.Or(err, missing)
	}
	return e.checkBridges(ctx, c)
}

// checkStorages checks the node that the VM is created on and the node that it then moves to.
func (e creationChecks) checkStorages(ctx context.Context, c *creation) error {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	if c.archive != nil {
		if err := c.archive.CheckStorages(storages, c.madeOn, "restore", e.tenant.AllowsStorage); err != nil {
			return err
		}
	}
	for _, name := range c.Storages(c.sourceConfig()) {
		if err := preflight.CheckStorage(storages, name, c.madeOn, e.tenant.AllowsStorage); err != nil {
			return err
		}
	}
	for _, name := range c.targetStorages() {
		if err := preflight.CheckStorage(storages, name, cmp.Or(ptr.Deref(c.Node, ""), c.goesTo), e.tenant.AllowsStorage); err != nil {
			return err
		}
	}
	return nil
}

// targetStorages returns the storages that the disks of a clone need on the node that it moves to after its creation.
func (c *creation) targetStorages() []string {
	if to := cmp.Or(ptr.Deref(c.Node, ""), c.goesTo); c.source == nil || c.source.Shared || to == "" || to == c.madeOn {
		return nil
	}
	names := c.Storages(c.sourceConfig())
	for _, device := range c.sourceConfig().Disks() {
		if d, err := proxmox.ParseDisk(c.sourceConfig()[device]); err == nil {
			names = append(names, d.Storage())
		}
	}
	return names
}

// checkBridges skips the check if the user may not list bridges.
func (e creationChecks) checkBridges(ctx context.Context, c *creation) error {
	names := c.Bridges(c.sourceConfig())
	if len(names) == 0 {
		return nil
	}
	bridges, err := e.checks.BridgesWith(ctx, names, c.madeOn)
	if proxmox.IsAuthorization(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(preflight.BridgeNames(bridges), name) {
			nodechoice.LogBridge(e.log, name, c.madeOn)
			return conditions.Reject(conditions.Networking, "%s", e.checks.BridgeNotFound(ctx, name, c.madeOn, bridges))
		}
	}
	return nil
}

// checkStoragesVisible checks the privilege to see the storages that a VM is to use: storages that the user may not see would not be found.
func (e creationChecks) checkStoragesVisible(ctx context.Context, c *creation) error {
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
			needs = append(needs, preflight.StorageReadPrivilege(name))
		}
	}
	return e.checks.CheckPrivilegesOfNew(ctx, fmt.Sprintf("create VM %d", c.Identity.VMID), needs)
}

// checkCreatePrivileges checks the privileges to create a VM and to make the later changes to it, if it is to be changed at all. It leaves out what
// PVE itself checks before it creates anything.
func (e creationChecks) checkCreatePrivileges(ctx context.Context, m Machine, c *creation) error {
	if !kind.Manages(m) {
		return nil
	}
	change := c.change()
	at := change.At
	needs := []validate.PrivilegeRequirement{at.RequiredPrivileges("VM.Allocate"), at.RequiredPrivileges("VM.Audit")}
	cloned, err := e.clonePrivileges(ctx, c, at)
	if err != nil {
		return err
	}
	needs = append(needs, cloned...)
	more, err := c.featureNeeds(ctx, e.noCloud, at)
	if err != nil {
		return err
	}
	for _, f := range more {
		needs = append(needs, f.Needs...)
	}
	err = e.checks.CheckPrivilegesOfNew(ctx, fmt.Sprintf("create VM %d", c.Identity.VMID), needs)
	return validate.NameFields(err, change, more...)
}

// clonePrivileges returns the privileges to turn a clone into the desired VM: it gets its UUID, and loses the mark in its description.
func (e creationChecks) clonePrivileges(ctx context.Context, c *creation, at validate.Place) ([]validate.PrivilegeRequirement, error) {
	if c.source == nil && c.archive == nil {
		return preflight.ImportPrivileges(c.MachineParameters, at), nil
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
	attached, err := e.checks.NetworkPrivileges(ctx, change, config, c.madeOn)
	if err != nil || c.archive == nil {
		return append(needs, attached...), err
	}
	restored, err := c.archive.Privileges(ctx, e.checks, c.madeOn)
	return slices.Concat(needs, attached, restored), err
}

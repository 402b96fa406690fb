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

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A cloudInitFeature gives the guest data that PVE's own cloud-init drive cannot hold, and keeps that drive current.
type cloudInitFeature struct {
	noopFeature

	noCloud cloudinit.Keeper
	secrets client.Reader
	tasks   *tasktrack.Tracker
	vm      *vmstate.VM
}

// complete adds the image to the desired state, or returns why it cannot be created. A VM that is to move to another node gets it there, and leaves
// behind an image that is on local storage.
func (f cloudInitFeature) complete(ctx context.Context, m Machine, d *desired) ([]string, error) {
	if meta.WasDeleted(m) || f.vm.BeingCreated() {
		return nil, nil
	}
	if err := f.addSSHKeys(ctx, m, d); err != nil || !d.CustomData() {
		return conditions.Rejections(err)
	}
	var err error
	if _, goes := d.migration(f.vm, m.GetAnnotations()[object.AnnotationNode]); goes {
		d.image, err = f.noCloud.EjectForMigration(ctx, d.Desired)
	} else {
		d.image, err = f.noCloud.Build(ctx, m, d.Desired)
	}
	d.NoCloudImage = d.image.Drive()
	return conditions.Rejections(err)
}

// addSSHKeys adds the SSH keys of Secrets and ConfigMaps to the desired state, unless the guest no longer receives data.
func (f cloudInitFeature) addSSHKeys(ctx context.Context, m Machine, d *desired) (err error) {
	if d.CloudInitFrozen && (!d.CustomData() || f.vm.HasImage()) {
		return nil
	}
	d.MachineParameters, err = secretref.WithSSHKeys(ctx, f.secrets, m, d.MachineParameters)
	return err
}

func (f cloudInitFeature) plan(ctx context.Context, m Machine, p *plan) (proposal, error) {
	stale, err := f.noCloud.Stale(ctx, m, p.image)
	return proposal{steps: f.driveSteps(m), annotations: f.noCloud.Annotation(m), staleImages: stale}, err
}

// lasts is true: an evaluation checks what decides about images, and a drive that must be renewed is a difference.
func (cloudInitFeature) lasts(Machine) bool { return true }

// driveSteps returns the steps that renew PVE's cloud-init drive if that has failed after a change.
func (f cloudInitFeature) driveSteps(m Machine) []step {
	if !f.tasks.DriveStale(m) {
		return nil
	}
	if !f.vm.Status.Running() {
		f.tasks.MarkDriveFresh(m)
		return nil
	}
	return []step{{
		difference: v1alpha1.MachinePendingChange{Option: "cloudinit", Current: "old data on the drive", Desired: "new data"},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			return "", f.noCloud.RegenerateDrive(ctx, m)
		},
	}}
}

// noCloudNeeds returns the privileges that an image of cloud-init data needs, from its upload to its removal.
func (c *creation) noCloudNeeds(ctx context.Context, k cloudinit.Keeper, at validate.Place) ([]validate.PrivilegeRequirement, error) {
	if !c.CustomData() {
		return nil, nil
	}
	storage, err := k.Storage(ctx, c.Desired, cmp.Or(ptr.Deref(c.Node, ""), c.madeOn), "")
	if err != nil {
		return nil, err
	}
	device := c.NoCloudDrive(c.sourceConfig())
	attached := qemu.Difference{Set: proxmox.Params{device: storage + ":iso/" + c.Identity.NoCloudImageName("") + ",media=cdrom"}}
	return append(validate.RequiredPrivileges(attached, c.sourceConfig(), at), preflight.UploadPrivileges(storage)...), nil
}

// checkNoCloud checks, before anything is created, whether the image of cloud-init data can be created.
func (c *creation) checkNoCloud(ctx context.Context, m Machine, k cloudinit.Keeper) error {
	if !c.CustomData() {
		return nil
	}
	at := proxmox.Ref{Node: cmp.Or(ptr.Deref(c.Node, ""), c.madeOn), VMID: c.Identity.VMID}
	k.VM = &vmstate.VM{Ref: at, State: qemu.State{Config: c.sourceConfig()}}
	return k.Check(ctx, m, c.Desired)
}

// noCloud returns the keeper of the VM's NoCloud images.
func (e *external) noCloud() cloudinit.Keeper {
	return cloudinit.Keeper{
		Client: e.client, Inventory: e.inventory, Nodes: e.reader, Checks: e.checks, Kube: e.kube, Secrets: e.reads, Tasks: e.tasks, Record: e.record,
		Log: e.log, Now: e.now,
		Password: e.password.Of, VM: e.vm, Stores: e.tenant.AllowsStorage, OwnershipProven: e.ownershipProven, ObstacleTime: obstacleTime,
	}
}

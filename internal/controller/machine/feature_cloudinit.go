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

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// A cloudInitFeature gives the guest data that PVE's own cloud-init drive cannot hold, and
// keeps that drive current.
type cloudInitFeature struct {
	*external
	passive
}

func (e cloudInitFeature) complete(ctx context.Context, m Machine, d *desired) ([]string, error) {
	return cloudInitFeature{external: e.external}.addImage(ctx, m, d)
}

func (e cloudInitFeature) plan(ctx context.Context, m Machine) (proposal, error) {
	p := proposal{steps: e.driveSteps(m), annotations: cloudInitFeature{external: e.external}.imageAnnotation(m)}
	var err error
	e.planned.staleImages, err = cloudInitFeature{external: e.external}.staleImages(ctx, m)
	return p, err
}

// driveSteps renew PVE's cloud-init drive where that has failed after a change.
func (e cloudInitFeature) driveSteps(m Machine) []step {
	if !e.tasks.DriveStale(m) {
		return nil
	}
	if !e.vm.Status.Running() {
		e.tasks.MarkDriveFresh(m)
		return nil
	}
	return []step{{
		difference: v1alpha1.MachinePendingChange{Option: "cloudinit", Current: "old data on the drive", Desired: "new data"},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			return "", cloudInitFeature{external: e.external}.regenerateDrive(ctx, m)
		},
	}}
}

// needs are those of an image of cloud-init data, from its upload to its removal.
func (e cloudInitFeature) needs(ctx context.Context, c *creation, at validate.Place) ([]validate.PrivilegeRequirement, error) {
	if !c.CustomData() {
		return nil, nil
	}
	storage, err := cloudInitFeature{external: e.external}.imageStorage(ctx, c.desired, cmp.Or(ptr.Deref(c.Node, ""), c.node), "")
	if err != nil {
		return nil, err
	}
	device := c.NoCloudDrive(c.sourceConfig())
	attached := qemu.Difference{Set: proxmox.Params{device: storage + ":iso/" + c.Identity.NoCloudImageName("") + ",media=cdrom"}}
	return append(validate.RequiredPrivileges(attached, c.sourceConfig(), at), preflight.UploadPrivileges(storage)...), nil
}

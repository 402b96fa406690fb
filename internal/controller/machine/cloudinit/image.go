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

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// An Image is a NoCloud image of our own, which replaces PVE's cloud-init drive: with two of them in a VM it would be undefined which one is read.
type Image struct {
	Node, Storage, Name string

	// Device that the image is put into.
	Device string

	// content is nil if there is nothing to upload.
	content []byte

	// Deferred is true if the image cannot be created yet, because PVE has not given a network its MAC address yet.
	Deferred bool

	// EjectFirst is true if the drive must be emptied first.
	EjectFirst bool
}

// Volume returns the volume of the image.
func (i *Image) Volume() string { return i.Storage + ":iso/" + i.Name }

// Drive returns the drive that the image is to be in, or nil if the drive is left as it is.
func (i *Image) Drive() *qemu.NoCloudImage {
	switch {
	case i == nil || i.Deferred:
		return nil
	case i.EjectFirst:
		return &qemu.NoCloudImage{Device: i.Device}
	}
	return &qemu.NoCloudImage{Device: i.Device, Volume: i.Volume()}
}

// Pending reports whether the VM must wait for its image before it starts.
func (i *Image) Pending() bool { return i != nil && (i.Deferred || i.EjectFirst) }

// The policies for data of cloud-init that change.
const (
	ChangeIgnore = "Ignore"
	changeRerun  = "RerunOnReboot"
)

// EjectForMigration ejects an image on local storage, with which PVE does not migrate a VM, from its drive.
func (k Keeper) EjectForMigration(ctx context.Context, d qemu.Desired) (*Image, error) {
	storages, err := k.Inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	for _, device := range k.VM.Config.CDROMs() {
		has := k.VM.Config.Volume(device)
		storage, _, _ := strings.Cut(has, ":")
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == storage })
		switch {
		case !d.Identity.OwnsNoCloudImage(has):
		case i < 0:
			no := conditions.Reject(conditions.Allocating, "storage '%s' not found, which has cloudInit's data", storage)
			return nil, k.Checks.HintMissingPrivilege(ctx, no, preflight.StorageReadPrivilege(storage))
		case !storages[i].Shared:
			return &Image{Device: device, Storage: storage, EjectFirst: true}, nil
		}
	}
	return &Image{Deferred: true}, nil
}

// Build creates the image of a spec with custom data, or returns nil if the VM keeps its current image.
func (k Keeper) Build(ctx context.Context, m object.Machine, d qemu.Desired) (*Image, error) {
	c := d.CloudInit
	image := &Image{Node: k.VM.Node, Device: d.NoCloudDrive(k.VM.Config)}
	has := k.VM.Config.Volume(image.Device)
	if ptr.Deref(c.ChangePolicy, "") == ChangeIgnore && d.Identity.OwnsNoCloudImage(has) {
		return nil, nil
	}
	if image.Device == "" {
		return nil, conditions.Reject(conditions.Allocating, "cloudInit needs a CD-ROM drive, and no ide or sata device is free for one")
	}
	var err error
	if image.Storage, err = k.Storage(ctx, d, image.Node, has); err != nil {
		return nil, err
	}
	data, err := k.data(ctx, m, d)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return &Image{Deferred: true}, nil
	}
	if image.content, err = data.Image(); err != nil {
		return nil, conditions.ValidationError{Aspect: conditions.Creating, Message: err.Error()}
	}
	image.Name = d.Identity.NoCloudImageName(nocloud.Sum(image.content))
	// PVE removes its own drive when a VM is stopped, or when the drive is emptied.
	image.EjectFirst = k.VM.Status.Running() && image.Device == k.VM.Config.CloudInitDrive()
	return image, nil
}

// Holds reports whether a VM that was up to date still is, as far as storages, nodes and the time affect its images: it keeps its image, and none is
// to be removed.
func (k Keeper) Holds(ctx context.Context, m object.Machine, id qemu.Identity) bool {
	if unused, err := k.unused(ctx, m, nil); len(unused) > 0 || err != nil {
		return false
	}
	d := qemu.Desired{MachineParameters: m.Parameters(), Identity: id}
	if !d.CustomData() {
		return true
	}
	has := k.VM.Config.Volume(d.NoCloudDrive(k.VM.Config))
	if ptr.Deref(d.CloudInit.ChangePolicy, "") == ChangeIgnore && id.OwnsNoCloudImage(has) {
		return true
	}
	storage, err := k.Storage(ctx, d, k.VM.Node, has)
	return err == nil && id.OwnsNoCloudImage(has) && strings.HasPrefix(has, storage+":")
}

// Check checks, before anything is created, whether the image can be created. VM then holds the source of the VM.
func (k Keeper) Check(ctx context.Context, m object.Machine, d qemu.Desired) error {
	if _, err := k.Storage(ctx, d, k.VM.Node, ""); err != nil {
		return err
	}
	data, err := k.data(ctx, m, d)
	if data == nil || err != nil {
		return err
	}
	if _, err := data.Image(); err != nil {
		return conditions.ValidationError{Aspect: conditions.Creating, Message: err.Error()}
	}
	return nil
}

// data returns all data for the guest, or nil if a network has no MAC address yet.
func (k Keeper) data(ctx context.Context, m object.Machine, d qemu.Desired) (*nocloud.Data, error) {
	c := d.CloudInit
	data, known := d.GuestData(k.VM.Config)
	data.InstanceID = strings.ToLower(d.Identity.UUID)
	data.Hostname = cmp.Or(ptr.Deref(d.Name, ""), k.VM.Config["name"], m.GetName())
	var err error
	if data.PasswordHash, err = k.passwordHash(ctx, m, d); err != nil {
		return nil, err
	}
	for _, from := range []struct {
		data *v1alpha1.CloudInitData
		to   **string
	}{{c.UserData, &data.UserData}, {c.VendorData, &data.VendorData}, {c.NetworkConfig, &data.NetworkConfig}} {
		if *from.to, err = secretref.DataOf(ctx, k.Secrets, m, from.data); err != nil {
			return nil, err
		}
	}
	if !known && data.NetworkConfig == nil {
		return nil, nil
	}
	if ptr.Deref(c.ChangePolicy, "") != changeRerun {
		return &data, nil
	}
	data, err = data.WithInstance(data.InstanceID)
	return &data, err
}

// passwordHash returns the hash of the password in the data, or an empty string if there is none.
func (k Keeper) passwordHash(ctx context.Context, m object.Machine, d qemu.Desired) (string, error) {
	p, err := k.Password(ctx, m, d.CloudInit)
	if p == nil || err != nil {
		return "", err
	}
	return nocloud.PasswordHash(p.Text, strings.ToLower(d.Identity.UUID))
}

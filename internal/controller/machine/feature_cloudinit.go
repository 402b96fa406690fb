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
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
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

// A noCloudImage is a NoCloud image of our own, which PVE's cloud-init drive gives way
// to: with two of them in a VM it would be left to chance which one is read.
type noCloudImage struct {
	node, storage, name string

	// device that the image is put into.
	device string

	image []byte

	// deferred is true if the image cannot be made yet, since PVE has yet to give a
	// network its MAC address.
	deferred bool

	// ejectFirst is true if the drive has to be emptied first.
	ejectFirst bool
}

// volume that the image is.
func (s *noCloudImage) volume() string { return s.storage + ":iso/" + s.name }

// drive that the image is to be in; nil if it is left as it is.
func (s *noCloudImage) drive() *qemu.NoCloudImage {
	switch {
	case s == nil || s.deferred:
		return nil
	case s.ejectFirst:
		return &qemu.NoCloudImage{Device: s.device}
	}
	return &qemu.NoCloudImage{Device: s.device, Volume: s.volume()}
}

// The policies for data of cloud-init that change.
const (
	changeIgnore = "Ignore"
	changeRerun  = "RerunOnReboot"
)

// addImage adds the image to what is desired, or says why it cannot be made. A VM
// that is to go to another node gets it there, and leaves one behind that is on
// local storage.
func (e cloudInitFeature) addImage(ctx context.Context, m Machine, d *desired) ([]string, error) {
	if meta.WasDeleted(m) || e.vm.BeingCreated() || !d.CustomData() {
		return nil, nil
	}
	var err error
	if _, goes := d.migration(e.vm, m.GetAnnotations()[object.AnnotationNode]); goes {
		d.image, err = e.ejectForMigration(ctx, *d)
	} else {
		d.image, err = e.buildImage(ctx, m, *d)
	}
	d.NoCloudImage = d.image.drive()
	if r := (conditions.ValidationError{}); errors.As(err, &r) {
		return []string{r.Error()}, nil
	}
	return nil, err
}

// ejectForMigration takes an image on local storage, with which PVE migrates no VM, out of
// its drive.
func (e cloudInitFeature) ejectForMigration(ctx context.Context, d desired) (*noCloudImage, error) {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	for _, device := range e.vm.Config.CDROMs() {
		has := e.vm.Config.Volume(device)
		storage, _, _ := strings.Cut(has, ":")
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == storage })
		switch {
		case !d.Identity.OwnsNoCloudImage(has):
		case i < 0:
			no := conditions.Reject(conditions.Allocating, "storage '%s' not found, which has cloudInit's data", storage)
			return nil, e.checks.HintMissingPrivilege(ctx, no, preflight.StorageReadPrivilege(storage))
		case !storages[i].Shared:
			return &noCloudImage{device: device, storage: storage, ejectFirst: true}, nil
		}
	}
	return &noCloudImage{deferred: true}, nil
}

// buildImage makes the image that the spec asks for, or returns nil if it asks for
// none, or if the VM keeps the one that it has.
func (e cloudInitFeature) buildImage(ctx context.Context, m Machine, d desired) (*noCloudImage, error) {
	c := d.CloudInit
	if !d.CustomData() {
		return nil, nil
	}
	s := &noCloudImage{node: e.vm.Node, device: d.NoCloudDrive(e.vm.Config)}
	has := e.vm.Config.Volume(s.device)
	if ptr.Deref(c.ChangePolicy, "") == changeIgnore && d.Identity.OwnsNoCloudImage(has) {
		return nil, nil
	}
	if s.device == "" {
		return nil, conditions.Reject(conditions.Allocating, "cloudInit needs a CD-ROM drive, and no ide or sata device is free for one")
	}
	var err error
	if s.storage, err = e.imageStorage(ctx, d, s.node, has); err != nil {
		return nil, err
	}
	data, err := e.guestData(ctx, m, d)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return &noCloudImage{deferred: true}, nil
	}
	if s.image, err = data.Image(); err != nil {
		return nil, conditions.ValidationError{Aspect: conditions.Creating, Message: err.Error()}
	}
	s.name = d.Identity.NoCloudImageName(nocloud.Sum(s.image))
	// PVE removes its own drive when a VM is stopped, or when the drive is emptied.
	s.ejectFirst = e.vm.Status.Running() && s.device == e.vm.Config.CloudInitDrive()
	return s, nil
}

// imageStorage is where images go: the storage of the spec, the one that has the
// present image, or one that holds ISO images, rather one that answers, and of these
// a shared one.
func (e cloudInitFeature) imageStorage(ctx context.Context, d desired, node, present string) (string, error) {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, s := range slices.SortedFunc(slices.Values(storages), compareForImage) { // Others read the list too.
		if s.Node == node && slices.Contains(s.Content, "iso") {
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
		return "", e.checks.HintMissingPrivilege(ctx, no, preflight.StorageReadPrivilege(wanted))
	case wanted == "" && len(names) == 0:
		no := conditions.Reject(conditions.Allocating, "no storage of node %s holds ISO images, which cloudInit's data need", node)
		return "", e.checks.HintMissingPrivilege(ctx, no, validate.On("/storage", "Datastore.Audit"))
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

// guestData are all data for the guest, or nil if a network has no MAC address
// yet.
func (e cloudInitFeature) guestData(ctx context.Context, m Machine, d desired) (*nocloud.Data, error) {
	c := d.CloudInit
	data, known := d.GuestData(e.vm.Config)
	data.InstanceID = strings.ToLower(d.Identity.UUID)
	data.Hostname = cmp.Or(ptr.Deref(d.Name, ""), e.vm.Config["name"], d.name)
	var err error
	if data.PasswordHash, err = (passwordFeature{external: e.external}).passwordHash(ctx, m, c, d.Identity); err != nil {
		return nil, err
	}
	for _, from := range []struct {
		data *v1alpha1.CloudInitData
		to   **string
	}{{c.UserData, &data.UserData}, {c.VendorData, &data.VendorData}, {c.NetworkConfig, &data.NetworkConfig}} {
		if *from.to, err = secretref.DataOf(ctx, e.kube, m, from.data); err != nil {
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

// checkImage looks, before anything is created, whether the image can be made.
func (e cloudInitFeature) checkImage(ctx context.Context, m Machine, c *creation) error {
	if !c.CustomData() {
		return nil
	}
	node := cmp.Or(ptr.Deref(c.Node, ""), c.node)
	if _, err := e.imageStorage(ctx, c.desired, node, ""); err != nil {
		return err
	}
	e.vm = &vmstate.VM{Ref: proxmox.Ref{Node: node, VMID: c.Identity.VMID}, State: qemu.State{Config: c.sourceConfig()}}
	defer func() { e.vm = nil }()
	data, err := e.guestData(ctx, m, c.desired)
	if data == nil || err != nil {
		return err
	}
	if _, err := data.Image(); err != nil {
		return conditions.ValidationError{Aspect: conditions.Creating, Message: err.Error()}
	}
	return nil
}

// imageAnnotation names images in the VM's drives that are its own and that the Machine does not
// know of any more, or not yet: another Machine has had the VM. They go with the VM.
func (e cloudInitFeature) imageAnnotation(m Machine) map[string]string {
	known := m.GetAnnotations()[object.AnnotationImages]
	all, id := known, qemu.Identity{UUID: m.GetAnnotations()[object.AnnotationUUID]}
	for _, device := range e.vm.Config.CDROMs() {
		if volume := e.vm.Config.Volume(device); id.OwnsNoCloudImage(volume) && !strings.Contains(all, "="+volume) {
			all = strings.TrimSpace(all + " " + e.vm.Node + "=" + volume)
		}
	}
	if all == known {
		return nil
	}
	return map[string]string{object.AnnotationImages: all}
}

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
	"maps"
	"slices"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/uuid"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/claims"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poweraction"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Initialize settles which VM a Machine is, before anything is created: a VMID
// and a UUID are chosen and kept, or those of an existing VM that the user named
// by its VMID are.
func (c *connector) Initialize(ctx context.Context, mg resource.Managed) error {
	m, ok := mg.(Machine)
	if !ok {
		return errors.Errorf("cannot initialize a %T: it is not a Machine", mg)
	}
	if err := kind.RenameAnnotations(ctx, c.kube, m, object.FormerAnnotations()); err != nil {
		return err
	}
	kind.Rename(m.Observation().Annotations, object.FormerAnnotations())
	if lost := object.LostAnnotations(m); lost != nil {
		return kind.Annotate(ctx, c.kube, m, lost)
	}
	if meta.WasDeleted(m) || m.GetAnnotations()[object.AnnotationUUID] != "" && meta.GetExternalName(m) != "" {
		return nil
	}
	if meta.GetExternalName(m) == "" && !object.MayCreate(m) {
		return nil
	}
	if err := act.RefuseEarly(ctx, c.kube, m, c.now(), actKinds()...); err != nil {
		return err
	}
	if waits, err := c.awaitSource(ctx, m); waits || err != nil {
		return err
	}
	e, err := c.external(ctx, m)
	if err != nil {
		return err
	}
	if meta.GetExternalName(m) != "" {
		return ownership{external: e}.adopt(ctx, m)
	}
	a, err := ownership{external: e}.allocate(ctx, m)
	if err != nil {
		return errors.Wrap(err, "cannot choose a VMID")
	}
	return kind.Annotate(ctx, c.kube, m, a)
}

// allocate chooses a VMID and a UUID for a VM to create.
func (e ownership) allocate(ctx context.Context, m Machine) (map[string]string, error) {
	a := map[string]string{object.AnnotationUUID: uuid.NewString()}
	if wanted := m.Parameters().VMID; wanted != nil {
		a[meta.AnnotationKeyExternalName] = strconv.Itoa(int(*wanted))
		return a, nil
	}
	id, err := e.reserveVMID(ctx, m)
	if err != nil {
		return nil, err
	}
	a[meta.AnnotationKeyExternalName] = strconv.Itoa(id)
	a[object.AnnotationAllocated] = strconv.Itoa(id)
	return a, nil
}

// reserveVMID reserves a VMID that no other Machine was given, longer ago than VMIDs are remembered, or before a restart: they may wait for a
// place. Annotations of other tenants' Machines keep none from a Machine.
func (e ownership) reserveVMID(ctx context.Context, m Machine) (int, error) {
	shares := e.sharesCluster(ctx)
	for {
		id, err := e.inventory.ReserveVMID(ctx, string(m.GetUID()), int(e.vmids.Min), int(e.vmids.Max))
		if err != nil {
			return 0, err
		}
		claimants, err := e.scheduler.OtherClaimants(ctx, m, object.ClaimOfVMID(strconv.Itoa(id)))
		i := slices.IndexFunc(claimants, func(o Machine) bool {
			chosen := o.GetAnnotations()[object.AnnotationAllocated] == meta.GetExternalName(o) && !meta.WasDeleted(o)
			return chosen && shares(o) && !e.tenant.Hides(m, o)
		})
		if i < 0 || err != nil {
			return id, err
		}
		e.inventory.HandVMID(id, string(claimants[i].GetUID()))
	}
}

// replaceVMID chooses another VMID for a VM that was not created yet, and notes it with other annotations. The list of those
// that are taken has turned out to be old.
func (e ownership) replaceVMID(ctx context.Context, m Machine, c *creation, notes map[string]string) error {
	if _, err := e.inventory.Guests(ctx, inventory.Fresh); err != nil {
		return errors.Wrap(err, "cannot choose another VMID")
	}
	a, err := e.allocate(ctx, m)
	if err != nil {
		return errors.Wrap(err, "cannot choose another VMID")
	}
	maps.Copy(a, notes)
	if err := kind.Annotate(ctx, e.kube, m, a); err != nil {
		return err
	}
	c.Identity, err = object.IdentityOf(m)
	c.first = true
	return err
}

// moveVMID chooses another VMID for a VM that was not created yet, and has what the quota let it have count there, before anything is made.
func (e ownership) moveVMID(ctx context.Context, m Machine, c *creation, notes map[string]string) error {
	if err := e.replaceVMID(ctx, m, c, notes); err != nil {
		return err
	}
	c.vmidTaken = false
	return e.tenant.Room(ctx, m, c.Desired, c.sourceConfig(), c.place())
}

// adopt takes over the VM that the user named by its VMID: what proves it ours
// from now on is the UUID that it has. Without a VM there, one is created only
// if vmid asks for it: the one that is meant may merely not be visible.
func (e ownership) adopt(ctx context.Context, m Machine) error {
	id, err := object.IdentityOf(m)
	if err != nil {
		return err
	}
	if err := e.tenant.Adoptable(ctx, m, id.VMID); err != nil {
		return err
	}
	v, err := e.reader.Find(ctx, id.VMID, ptr.Deref(m.Parameters().Node, ""))
	if err == nil && v != nil {
		err = e.tenant.Adoption(ctx, m, v)
	}
	switch {
	case err != nil:
		return err
	case v == nil && m.Parameters().VMID != nil && object.MayCreate(m):
		return kind.Annotate(ctx, e.kube, m, map[string]string{object.AnnotationUUID: uuid.NewString()})
	case v == nil:
		return errors.Errorf("cannot adopt VM %d: it does not exist, or the user may not see it", id.VMID)
	case v.Config.Stub():
		return errors.Errorf("cannot adopt VM %d: %s", id.VMID, qemu.NotStub)
	}
	if id.UUID = v.Config.UUID(); id.UUID == "" {
		return errors.Errorf("cannot adopt VM %d: %s", id.VMID, qemu.NoUUID)
	}
	if err := e.claims().CheckAdoptable(ctx, m, id.VMID, id.UUID); err != nil {
		claims.ShowConflict(m, err)
		return err
	}
	volumes, err := e.countedVolumes(ctx, m, id.UUID)
	if err != nil {
		return err
	}
	if err := e.tenant.RoomForAdopted(ctx, m, v, volumes); err != nil {
		return err
	}
	notes := map[string]string{object.AnnotationUUID: id.UUID, object.AnnotationNode: v.Node}
	if a := m.Parameters().PowerAction; a != nil {
		notes[object.AnnotationPowerAction] = poweraction.Done(m, a.Token, e.now())
	}
	if err := kind.Annotate(ctx, e.kube, m, notes); err != nil {
		return err
	}
	return e.powerActionFeature().showEarly(ctx, m)
}

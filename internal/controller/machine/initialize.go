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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/claims"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poweraction"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Initialize decides which VM a Machine has, before anything is created. It chooses and saves a VMID and a UUID, or saves those of an existing VM
// that the user named by its VMID.
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
		return e.adopt(ctx, m)
	}
	a, err := e.allocator().allocate(ctx, m)
	if err != nil {
		return errors.Wrap(err, "cannot choose a VMID")
	}
	return kind.Annotate(ctx, c.kube, m, a)
}

// An allocator chooses the VMIDs and UUIDs of VMs to create.
type allocator struct {
	kube          client.Client
	inventory     Inventory
	machines      *scheduler.Scheduler
	tenant        tenant.Checks
	vmids         v1alpha1.VMIDRange
	sharesCluster func(context.Context) func(resource.Managed) bool
}

// allocator returns the allocator of VMIDs and UUIDs.
func (e *external) allocator() allocator {
	return allocator{kube: e.kube, inventory: e.inventory, machines: e.scheduler, tenant: e.tenant, vmids: e.vmids, sharesCluster: e.sharesCluster}
}

// allocate chooses a VMID and a UUID for a VM to create.
func (a allocator) allocate(ctx context.Context, m Machine) (map[string]string, error) {
	notes := map[string]string{object.AnnotationUUID: uuid.NewString()}
	if wanted := m.Parameters().VMID; wanted != nil {
		notes[meta.AnnotationKeyExternalName] = strconv.Itoa(int(*wanted))
		return notes, nil
	}
	id, err := a.reserveVMID(ctx, m)
	if err != nil {
		return nil, err
	}
	notes[meta.AnnotationKeyExternalName] = strconv.Itoa(id)
	notes[object.AnnotationAllocated] = strconv.Itoa(id)
	return notes, nil
}

// reserveVMID reserves a VMID that no other Machine was given. Machines that wait for a place may have been given one before a restart, or longer ago
// than reservations are kept. Annotations of other tenants' Machines do not reserve a VMID.
func (a allocator) reserveVMID(ctx context.Context, m Machine) (int, error) {
	shares := a.sharesCluster(ctx)
	for {
		id, err := a.inventory.ReserveVMID(ctx, string(m.GetUID()), int(a.vmids.Min), int(a.vmids.Max))
		if err != nil {
			return 0, err
		}
		claimants, err := a.machines.OtherClaimants(ctx, m, object.ClaimOfVMID(strconv.Itoa(id)))
		i := slices.IndexFunc(claimants, func(o Machine) bool {
			chosen := o.GetAnnotations()[object.AnnotationAllocated] == meta.GetExternalName(o) && !meta.WasDeleted(o)
			return chosen && shares(o) && !a.tenant.Hides(m, o)
		})
		if i < 0 || err != nil {
			return id, err
		}
		a.inventory.RenewVMID(id, string(claimants[i].GetUID()))
	}
}

// moveVMID chooses another VMID for a VM that was not created yet, because the list of VMIDs in use has turned out to be out of date. It saves the
// VMID along with other annotations, and charges the VM to the quota there, before anything is created.
func (a allocator) moveVMID(ctx context.Context, m Machine, c *creation, notes map[string]string) error {
	var chosen map[string]string
	_, err := a.inventory.Guests(ctx, inventory.Fresh)
	if err == nil {
		chosen, err = a.allocate(ctx, m)
	}
	if err != nil {
		return errors.Wrap(err, "cannot choose another VMID")
	}
	maps.Copy(chosen, notes)
	if err := kind.Annotate(ctx, a.kube, m, chosen); err != nil {
		return err
	}
	if c.Identity, err = object.IdentityOf(m); err != nil {
		return err
	}
	c.first, c.vmidTaken = true, false
	return a.tenant.Room(ctx, m, c.Desired, c.sourceConfig(), c.place())
}

// claims returns the checker of what Machines claim.
func (e *external) claims() claims.Checker {
	return claims.Checker{
		Machines: e.scheduler, SharesCluster: e.sharesCluster, Hides: e.tenant.Hides, SignedUUID: e.tenant.SignedUUID, SpecCounts: e.isolation.specCounts,
		Holders: e.tenant.Holders,
	}
}

// adopt takes over the VM that the user named by its VMID. From then on its existing UUID proves that it is ours. If no VM is found, one is created
// only if vmid asks for it: the intended VM may merely not be visible.
func (e *external) adopt(ctx context.Context, m Machine) error {
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
	volumes, err := e.tenant.CountedVolumes(ctx, m, id.UUID, e.volumes)
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
	if err := kind.AnnotateWithFinalizer(ctx, e.kube, m, notes); err != nil {
		return err
	}
	return e.powerActionFeature().showEarly(ctx, m)
}

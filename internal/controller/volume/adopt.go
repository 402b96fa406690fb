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

package volume

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// reDisk matches the volume IDs of possible disks of a VM. It excludes images of templates, the state of a TPM or of memory, cloud-init's data, and
// volumes that others name differently.
var reDisk = regexp.MustCompile(`^[^:/]+:([0-9]+/|base-[0-9]+-[^/]+/)?vm-[0-9]+-disk-[0-9]+(\.(raw|qcow2|vmdk))?$`)

// csiVMID is the VMID under which CSI drivers keep their volumes.
const csiVMID = 9999

// An adoption determines which disk of a VM may become a Volume's. It only reads.
type adoption struct {
	// of is the Volume, and state its known state.
	of    Volume
	state *state

	reader *reader
	peers  peers
	tenant *tenancy.Tenant

	// refusals of disks that were not adopted.
	refusals *refusals
	now      func() time.Time
}

func (e *external) adoption(m Volume) adoption {
	return adoption{
		of: m, state: e.view.state, reader: e.reader, peers: e.peers(m), tenant: e.confinement.tenant, refusals: &e.refusals, now: e.Now,
	}
}

// selectDisk decides about the disk: if the Volume has none, the one that the user names or consents to, and otherwise the Volume's own.
func (e *external) selectDisk(ctx context.Context, m Volume) error {
	v := e.view
	if meta.WasDeleted(m) {
		e.refusals.forget(m)
	}
	var p *kind.Problem
	var err error
	if v.namesAnother(m) && (!v.Made() || v.Lost) {
		p, err = e.adopt(ctx, m)
	}
	if p == nil && err == nil {
		p, err = e.recoverLost(ctx, m)
	}
	if err != nil {
		return err
	}
	if p != nil {
		v.decision = decision{action: stuck, problem: p}
		return nil
	}
	if err := e.look(ctx, m); err != nil {
		return err
	}
	return e.checkOtherDisk(ctx, m)
}

// checkOtherDisk decides about another disk that the external name names while the Volume has one. It is adopted only if the identity of the Volume's
// disk is uncertain. A user who applies a manifest again names the disk that the Volume was created with, and the name may belong to another disk
// meanwhile.
func (e *external) checkOtherDisk(ctx context.Context, m Volume) error {
	v, named := e.view, meta.GetExternalName(m)
	if !v.namesAnother(m) || !v.Made() || v.Lost {
		return nil
	}
	if v.action == stuck && v.problem != nil && v.problem.Reason == reasonUnproven {
		p, err := e.adopt(ctx, m)
		switch {
		case err != nil:
			return err
		case p != nil:
			v.decision = decision{action: stuck, problem: p}
		case v.Volume == named:
			return e.look(ctx, m)
		default:
			v.problem.Message += v.hint
		}
		return nil
	}
	if v.WasNamed(named) {
		return e.restoreName(ctx, m)
	}
	v.beside = notAdoptable(named, "this Volume has %s: set the annotation %s back to that, and name %s in another Volume",
		v.Volume, meta.AnnotationKeyExternalName, named)
	return nil
}

// namesAnother reports whether the external name names another disk than the record does, while nothing was begun that has to be completed first.
func (s *state) namesAnother(m Volume) bool {
	named := meta.GetExternalName(m)
	return named != "" && named != s.Volume && s.Handover == nil && s.Begun == 0 && !meta.WasDeleted(m)
}

// adopt adopts the disk that the external name names, or returns the problem that prevents that. A former name of the disk requires consent, because
// a manifest may have set it. Nothing is written to PVE.
func (e *external) adopt(ctx context.Context, m Volume) (*kind.Problem, error) {
	v, named := e.view, meta.GetExternalName(m)
	owner, p, err := e.adoption(m).adoptable(ctx, named)
	switch {
	case err != nil:
		return nil, err
	case v.WasNamed(named):
		if takes, err := e.takesFormer(ctx, m, owner, p); !takes || err != nil {
			return nil, err
		}
	case p != nil:
		return p, nil
	}
	if p, err := e.admit(ctx, m, owner, named); p != nil || err != nil {
		return p, err
	}
	v.Rename(named)
	v.Place = placeOf(owner, named, "")
	v.Holder, v.Lost, v.LostAt, v.Message, v.Adopted, v.hint = owner.holder(), false, 0, "", !v.isStub(owner), ""
	v.found = nil
	e.confinement.unchecked()
	if !kind.MayChange(m) {
		return nil, nil
	}
	e.Event(m, event.Normal(eventAdopted, fmt.Sprintf("disk %s, unused in VM %d, is this resource's from now on", named, owner.VMID)))
	return nil, e.save(ctx, m)
}

// takesFormer reports whether a disk with a former name of the Volume's disk is adopted, to which the user has to consent. If the disk may not be
// adopted, for example because of the problem p, the name is replaced by the present one.
func (e *external) takesFormer(ctx context.Context, m Volume, owner *vm, p *kind.Problem) (bool, error) {
	v, named := e.view, meta.GetExternalName(m)
	if p != nil {
		return false, e.restoreName(ctx, m)
	}
	switch err := e.confinement.checkAdopted(ctx, named, owner.VMID); {
	case tenancy.IsRefusal(err):
		return false, e.restoreName(ctx, m)
	case err != nil:
		return false, err
	}
	sum := checksumOf(m.GetUID(), named, v.LostAt, v.Place, owner.VMID, owner.holder())
	if ptr.Deref(m.Parameters().RecoverLost, "") == sum {
		return true, nil
	}
	v.hint = fmt.Sprintf("; %s, which the annotation %s names, is a former name of the disk, and may be that of another one by now: if VM %d has the disk by it, "+
		"set recoverLost to %s", named, meta.AnnotationKeyExternalName, owner.VMID, sum)
	return false, nil
}

// namedAgain is how soon a former name in the external name is replaced again, in seconds. A program that applies a manifest continuously writes it
// each time, and must not keep the provider busy with that.
const namedAgain = 600

// restoreName replaces a former name of the disk in the external name by the present one.
func (e *external) restoreName(ctx context.Context, m Volume) error {
	v, now := e.view, e.Now().Unix()
	if !kind.MayChange(m) || now < v.NamedAt+namedAgain {
		return nil
	}
	v.NamedAt = now
	e.Event(m, event.Normal(eventNameRestored, fmt.Sprintf("%s is a former name of the disk, which is %s: the annotation %s is set to that",
		meta.GetExternalName(m), v.Volume, meta.AnnotationKeyExternalName)))
	return e.save(ctx, m)
}

// admit returns the problem that the quota has no room for a disk that may be adopted. If there is none, and the VM that has the disk is a stub VM
// that no longer belongs to a Volume, as that of a retained disk, it becomes the stub VM of this Volume.
func (e *external) admit(ctx context.Context, m Volume, owner *vm, volume string) (*kind.Problem, error) {
	v := e.view
	if p, err := e.room.checkAdopted(ctx, m, v.state, owner, volume); p != nil || err != nil {
		return p, err
	}
	free, err := e.adoption(m).isFreeStub(ctx, owner, volume)
	if free {
		v.VMID, v.UUID, v.Node, v.stub = owner.VMID, owner.Config.UUID(), owner.Node, owner
	}
	return nil, err
}

// isFreeStub reports whether the VM that has a disk is a stub VM of no other Volume, and the Volume has none, so that it may take it over.
func (a adoption) isFreeStub(ctx context.Context, owner *vm, volume string) (bool, error) {
	if a.state.VMID != 0 || !owner.Config.Stub() {
		return false, nil
	}
	of, err := a.peers.withStub(ctx, owner.Config.UUID(), volume)
	return of == "" && err == nil, err
}

// isStub reports whether a VM is the stub VM.
func (s *state) isStub(x *vm) bool {
	return s.VMID == x.VMID && strings.EqualFold(s.UUID, x.Config.UUID())
}

// notAdoptable returns the problem that a disk may not be adopted.
func notAdoptable(volume, format string, words ...any) *kind.Problem {
	return &kind.Problem{Reason: reasonNotAdoptable, Message: fmt.Sprintf("cannot adopt %s: ", volume) + fmt.Sprintf(format, words...)}
}

// adoptable returns the VM with a disk that may be adopted, or the problem that it may not be.
func (a adoption) adoptable(ctx context.Context, volume string) (*vm, *kind.Problem, error) {
	v, p, err := a.ownerOf(ctx, volume)
	if p != nil || err != nil {
		return nil, p, err
	}
	p, err = a.checkUnused(ctx, volume, v)
	return v, p, err
}

// checkUnused returns the problem that a VM other than its owner uses a disk.
func (a adoption) checkUnused(ctx context.Context, volume string, owner *vm) (*kind.Problem, error) {
	why, err := a.refusals.whether(a.of, volume, a.now(), func() (string, error) { return a.reader.used(ctx, a.tenant, volume, owner) })
	if why != "" {
		return notAdoptable(volume, "%s", why), nil
	}
	return nil, err
}

// ownerOf returns the VM with a disk that may be adopted unless other VMs use it, or the problem that it may not be.
func (a adoption) ownerOf(ctx context.Context, volume string) (*vm, *kind.Problem, error) {
	no := func(format string, words ...any) (*vm, *kind.Problem, error) {
		return nil, notAdoptable(volume, format, words...), nil
	}
	owner, known := qemu.VolumeOwner(volume)
	switch {
	case !known || !reDisk.MatchString(volume):
		return no("it is not named as a disk of a VM, such as local-lvm:vm-100-disk-1")
	case owner == csiVMID:
		return no("CSI drivers keep their volumes under VMID %d: leave it to them", csiVMID)
	}
	if older, err := a.peers.withDisk(ctx, volume); older != "" || err != nil {
		p := kind.OwnershipConflict("volume", volume, older)
		return nil, &p, err
	}
	v, err := a.reader.readVM(ctx, owner, "")
	switch {
	case err != nil:
		return nil, nil, err
	case v == nil:
		return no("VM %d does not exist, and Proxmox VE hands over disks of VMs only", owner)
	case v.offline != "":
		return no("%s", v.offline)
	case v.Config.Template():
		return no("VM %d is a template, whose disks its clones may need: adopt a disk of another VM", owner)
	case v.attached(volume) != "" && !a.state.isStub(v) && !a.state.On(v.Config.UUID()) && (a.state.VMID != 0 || !v.Config.Stub()):
		return no("it is %s of VM %d: detach it first", v.attached(volume), owner)
	case v.attached(volume) == "" && v.unused(volume) == "":
		return no("it is no unused disk of VM %d: run qm disk rescan --vmid %d on the node", owner, owner)
	case v.Config.UUID() == "":
		return no("%s", qemu.NoUUID)
	}
	return v, nil, nil
}

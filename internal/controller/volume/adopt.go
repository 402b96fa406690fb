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
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// reDisk finds what may be a disk of a VM in a volume ID: not an image of a template, the state of a TPM or of memory,
// cloud-init's data, nor what others name in their own way.
var reDisk = regexp.MustCompile(`^[^:/]+:([0-9]+/|base-[0-9]+-[^/]+/)?vm-[0-9]+-disk-[0-9]+(\.(raw|qcow2|vmdk))?$`)

// ofDrivers is the VMID under which CSI drivers keep their volumes.
const ofDrivers = 9999

// An adoption looks at disks that somebody names for a Volume.
type adoption struct{ *external }

// whichDisk decides about the disk: one that the user names or consents to, if the Volume has none, or else the one that it has.
func (e adoption) whichDisk(ctx context.Context, m Volume) error {
	p, err := e.adopt(ctx, m)
	if p == nil && err == nil {
		p, err = e.recoverLost(ctx, m)
	}
	if err != nil {
		return err
	}
	if p != nil {
		e.view.decision = decision{action: stuck, problem: p}
		return nil
	}
	if err := e.look(ctx, m); err != nil {
		return err
	}
	return e.beside(ctx, m)
}

// adopt takes over the disk that the user names by the external name, if the Volume has none yet, or one that is lost. It
// returns the problem that keeps it from that. Nothing is written in PVE.
func (e adoption) adopt(ctx context.Context, m Volume) (*kind.Problem, error) {
	if meta.WasDeleted(m) {
		e.refusals.forget(m)
	}
	if !e.namesAnother(m) || e.view.Made() && !e.view.Lost {
		return nil, nil
	}
	return e.take(ctx, m)
}

// beside decides about another disk that the external name names while the Volume has one. It is adopted only if it is not certain which one the
// Volume's is: whoever applies a manifest again names the disk that the Volume was made with, and by then the name may be that of another one.
func (e adoption) beside(ctx context.Context, m Volume) error {
	v, named := e.view, meta.GetExternalName(m)
	if !e.namesAnother(m) || !v.Made() || v.Lost {
		return nil
	}
	if v.action == stuck && v.problem != nil && v.problem.Reason == reasonUnproven {
		p, err := e.take(ctx, m)
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

// namesAnother reports whether the external name names another disk than the record has, while nothing was begun that is to be ended first.
func (e adoption) namesAnother(m Volume) bool {
	v, named := e.view, meta.GetExternalName(m)
	return named != "" && named != v.Volume && v.Handover == nil && v.Begun == 0 && !meta.WasDeleted(m)
}

// take takes over the disk that the external name names, or returns the problem that keeps it from that. A former name of the disk takes consent,
// because a manifest may have set it.
func (e adoption) take(ctx context.Context, m Volume) (*kind.Problem, error) {
	v, named := e.view, meta.GetExternalName(m)
	owner, p, err := e.adoptable(ctx, m, named)
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
	if p, err := confinement(e).roomForAdopted(ctx, m, owner, named); p != nil || err != nil {
		return p, err
	}
	if err := e.takeStub(ctx, m, owner, named); err != nil {
		return nil, err
	}
	v.Rename(named)
	v.Place = placeOf(owner, named, "")
	v.Holder, v.Lost, v.LostAt, v.Message, v.Adopted, v.hint = owner.holder(), false, 0, "", !v.isStub(owner), ""
	v.found = nil
	confinement(e).unchecked()
	if !kind.MayChange(m) {
		return nil, nil
	}
	e.Event(m, event.Normal(eventAdopted, fmt.Sprintf("disk %s, unused in VM %d, is this resource's from now on", named, owner.VMID)))
	return nil, e.save(ctx, m)
}

// takesFormer reports whether a disk by a former name of the Volume's is taken, to which the user has to consent. The name is replaced if the disk may
// not be adopted, as by the problem for it.
func (e adoption) takesFormer(ctx context.Context, m Volume, owner *vm, p *kind.Problem) (bool, error) {
	v, named := e.view, meta.GetExternalName(m)
	if p != nil {
		return false, e.restoreName(ctx, m)
	}
	switch err := confinement(e).adopts(ctx, named, owner); {
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

// namedAgain is how soon a former name in the external name is replaced again, in seconds. What applies a manifest without end writes it each
// time, and must not keep the provider busy by that.
const namedAgain = 600

// restoreName sets the external name, which has a former name of the disk, to the present one.
func (e adoption) restoreName(ctx context.Context, m Volume) error {
	v, now := e.view, e.Now().Unix()
	if !kind.MayChange(m) || now < v.NamedAt+namedAgain {
		return nil
	}
	v.NamedAt = now
	e.Event(m, event.Normal(eventNameRestored, fmt.Sprintf("%s is a former name of the disk, which is %s: the annotation %s is set to that",
		meta.GetExternalName(m), v.Volume, meta.AnnotationKeyExternalName)))
	return e.save(ctx, m)
}

// takeStub takes over a stub VM that is no Volume's any more, as that of a disk which was retained.
func (e adoption) takeStub(ctx context.Context, m Volume, owner *vm, volume string) error {
	v := e.view
	if v.VMID != 0 || !owner.Config.Stub() {
		return nil
	}
	of, err := e.other(ctx, m, func(other resource.Managed) bool {
		r, err := volumeref.RecordOf(other)
		if err != nil { // Anybody may have written it, about anything.
			return volumeref.Mentions(other, owner.Config.UUID()) || volumeref.Mentions(other, volume)
		}
		return strings.EqualFold(r.UUID, owner.Config.UUID())
	})
	if of == "" && err == nil {
		v.VMID, v.UUID, v.Node, v.stub = owner.VMID, owner.Config.UUID(), owner.Node, owner
	}
	return err
}

// isStub reports whether a VM is the stub VM.
func (v *view) isStub(x *vm) bool {
	return v.VMID == x.VMID && strings.EqualFold(v.UUID, x.Config.UUID())
}

// notAdoptable is the problem that a disk may not be adopted.
func notAdoptable(volume, format string, words ...any) *kind.Problem {
	return &kind.Problem{Reason: reasonNotAdoptable, Message: fmt.Sprintf("cannot adopt %s: ", volume) + fmt.Sprintf(format, words...)}
}

// adoptable returns the VM that has a disk which may be adopted, or the problem that it may not be.
func (e adoption) adoptable(ctx context.Context, m Volume, volume string) (*vm, *kind.Problem, error) {
	v, p, err := e.ownerOf(ctx, m, volume)
	if p != nil || err != nil {
		return nil, p, err
	}
	p, err = e.unusedBut(ctx, m, volume, v)
	return v, p, err
}

// unusedBut is the problem that another VM uses a disk than the one that has it.
func (e adoption) unusedBut(ctx context.Context, m Volume, volume string, owner *vm) (*kind.Problem, error) {
	why, err := e.refusals.whether(m, volume, e.Now(), func() (string, error) { return e.used(ctx, volume, owner) })
	if why != "" {
		return notAdoptable(volume, "%s", why), nil
	}
	return nil, err
}

// ownerOf returns the VM that has a disk which may be adopted unless other VMs use it, or the problem that it may not be.
func (e adoption) ownerOf(ctx context.Context, m Volume, volume string) (*vm, *kind.Problem, error) {
	no := func(format string, words ...any) (*vm, *kind.Problem, error) {
		return nil, notAdoptable(volume, format, words...), nil
	}
	owner, known := qemu.VolumeOwner(volume)
	switch {
	case !known || !reDisk.MatchString(volume):
		return no("it is not named as a disk of a VM, such as local-lvm:vm-100-disk-1")
	case owner == ofDrivers:
		return no("CSI drivers keep their volumes under VMID %d: leave it to them", ofDrivers)
	}
	if older, err := e.sameVolume(ctx, m, volume); older != "" || err != nil {
		p := kind.OwnershipConflict("volume", volume, older)
		return nil, &p, err
	}
	v, err := e.readVM(ctx, owner, "")
	switch {
	case err != nil:
		return nil, nil, err
	case v == nil:
		return no("VM %d does not exist, and Proxmox VE hands over disks of VMs only", owner)
	case v.offline != "":
		return no("%s", v.offline)
	case v.Config.Template():
		return no("VM %d is a template, whose disks its clones may need: adopt a disk of another VM", owner)
	case v.attached(volume) != "" && !e.view.isStub(v) && !e.view.On(v.Config.UUID()) && (e.view.VMID != 0 || !v.Config.Stub()):
		return no("it is %s of VM %d: detach it first", v.attached(volume), owner)
	case v.attached(volume) == "" && v.unused(volume) == "":
		return no("it is no unused disk of VM %d: run qm disk rescan --vmid %d on the node", owner, owner)
	case v.Config.UUID() == "":
		return no("%s", qemu.NoUUID)
	}
	return v, nil, nil
}

// sameVolume returns the name of another Volume that has the disk, or may be about to, whichever is older: what has it, keeps it.
func (e *external) sameVolume(ctx context.Context, m Volume, volume string) (string, error) {
	return e.other(ctx, m, func(other resource.Managed) bool {
		return claims(other, volume) || kind.Older(other, m) && meta.GetExternalName(other) == volume && !wasNamed(other, volume)
	})
}

// other returns the name of another Volume of the cluster that is as asked for, as far as its user may know that, and if its record counts.
func (e *external) other(ctx context.Context, m Volume, is func(resource.Managed) bool) (string, error) {
	for _, empty := range e.Peers.Lists {
		all, err := kind.ListCached(ctx, e.Kube, empty)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(all, func(other resource.Managed) bool {
			return other.GetUID() != m.GetUID() && e.sharesCluster(other) && is(other) && e.recordCounts(other)
		})
		switch of := tenancy.NamespaceOf(m); {
		case i < 0:
		case e.tenant != nil && (of == "" || of != tenancy.NamespaceOf(all[i])):
			return "another Volume", nil
		default:
			return strings.TrimPrefix(client.ObjectKeyFromObject(all[i]).String(), "/"), nil
		}
	}
	return "", nil
}

// sharesCluster reports whether the disk of another Volume may be in the same cluster.
func (e *external) sharesCluster(other resource.Managed) bool {
	has := other.GetAnnotations()[kind.AnnotationCluster]
	return has == "" || e.view.cluster == "" || has == e.view.cluster
}

// claims reports whether a Volume has a disk.
func claims(mg resource.Managed, volume string) bool {
	r, err := volumeref.RecordOf(mg)
	return err == nil && r.Volume == volume && !r.Lost
}

// wasNamed reports whether a volume ID is a former one of the disk of a Volume, which an external name may still have.
func wasNamed(mg resource.Managed, volume string) bool {
	r, err := volumeref.RecordOf(mg)
	return err == nil && r.WasNamed(volume)
}

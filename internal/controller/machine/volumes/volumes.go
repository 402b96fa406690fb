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

// Package volumes reads the Volumes that Machines list in disks[].volumeRef: which of them a VM has, to which node they pin it, and which block its
// removal. It queries only the Kubernetes API.
package volumes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A Reader reads the Volumes of the Machines of one scope.
type Reader struct {
	Kube client.Reader

	// Direct reads from the API server, not from the cache.
	Direct client.Reader

	// Object is an empty Volume of the scope, and Lists contains empty lists of Volumes of all scopes.
	Object client.Object
	Lists  []resource.ManagedList
}

// get reads a Volume of the Machine's namespace, or returns nil if there is none.
func (r Reader) get(ctx context.Context, m object.Machine, name string) (volumeref.Volume, error) {
	if r.Object == nil {
		return nil, errors.New("cannot read Volumes: their kind is not known")
	}
	v, ok := r.Object.DeepCopyObject().(volumeref.Volume)
	if !ok {
		return nil, errors.Errorf("cannot read a %T: it is not a Volume", r.Object)
	}
	err := r.Kube.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: name}, v)
	if kerrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return nil, nil
	}
	return v, errors.Wrapf(err, "cannot read Volume %q", name)
}

// Resolved holds what is known of the Volumes of a Machine.
type Resolved struct {
	// Parameters of the Machine, with the volume IDs of the Volumes that the VM has.
	Parameters *v1alpha1.MachineParameters

	// Waits lists why the VM does not have the other listed Volumes.
	Waits []string

	// Touching are the disks of Volumes that the VM has or may be about to have, listed or not, as far as Machines of this namespace know.
	Touching []Disk

	// Leaving are the volume IDs of Volumes that the VM has, and that its Machine does not list, or lists although they are kept for another Machine.
	Leaving []string
}

// Shares reports whether a resource belongs to the Machine's cluster.
type Shares func(resource.Managed) bool

// A VM is the current VM of a Machine.
type VM struct {
	UUID, Node string
	qemu.State
}

// has reports whether the VM has a disk where it was last seen. It is true if that place is not known.
func (v VM) has(volume string, at volumeref.Place) bool {
	return at.Device == "" || v.Active.Volume(at.Device) == volume || v.Config.Volume(at.Device) == volume
}

// displaces reports whether the VM has another disk where a disk was last seen, or is on another node without it: a migration may have given its
// disks the names of others. A disk that was unused on this node still has its name: it has been attached meanwhile, and another disk is now unused.
func (v VM) displaces(volume string, at volumeref.Place) bool {
	if qemu.IsUnused(at.Device) && (at.Node == "" || at.Node == v.Node) {
		return false
	}
	return !v.has(volume, at) && (v.Active.Volume(at.Device) != "" || at.Node != "" && at.Node != v.Node)
}

// Resolve finds the Volumes of a Machine and its VM.
func (r Reader) Resolve(ctx context.Context, m object.Machine, p *v1alpha1.MachineParameters, v VM, shares Shares) (Resolved, error) {
	if meta.WasDeleted(m) {
		return Resolved{Parameters: p}, nil
	}
	out, err := r.touching(ctx, m, p, v)
	if err != nil || !volumeref.Lists(p) {
		return out, err
	}
	out.Parameters, out.Waits, err = r.resolve(ctx, m, p, v, shares)
	return out, err
}

// touching finds the Volumes that concern the VM, and those of them that are to leave it. A Volume leaves only if its volume ID still names its disk:
// a disk is detached where its Volume has seen it.
func (r Reader) touching(ctx context.Context, m object.Machine, p *v1alpha1.MachineParameters, v VM) (Resolved, error) {
	out := Resolved{Parameters: p}
	all, err := r.mentioning(ctx, m, v.UUID)
	if err != nil {
		return out, err
	}
	for _, mg := range all {
		record, err := volumeref.RecordOf(mg)
		if err != nil || !record.Touches(v.UUID) {
			continue
		}
		at := volumeref.PlaceOf(mg, record)
		listed := volumeref.Listed(p, mg.GetName()) && (record.Machine == "" || record.Machine == string(m.GetUID()))
		out.Touching = append(out.Touching, Disk{
			Volume: mg.GetName(), ID: record.Volume, Moving: record.Handover != nil, Lost: record.Lost, Leaving: !listed,
			Displaced: !record.Lost && v.displaces(record.Volume, at),
		})
		if !listed && record.Settled(v.UUID) && v.has(record.Volume, at) {
			out.Leaving = append(out.Leaving, record.Volume)
		}
	}
	slices.Sort(out.Leaving)
	return out, nil
}

// Counted returns the volume IDs of Volumes that may concern the VM with the UUID and that count in a quota by themselves, as reported by a function.
// The disk of a lost Volume counts with whatever now has its name.
func (r Reader) Counted(
	ctx context.Context, m object.Machine, uuid string, counts func(context.Context, resource.Managed) (bool, error),
) ([]string, error) {
	all, err := r.mentioning(ctx, m, uuid)
	if err != nil {
		return nil, err
	}
	var volumes []string
	for _, mg := range all {
		record, err := volumeref.RecordOf(mg)
		if err != nil || !record.Made() || record.Lost {
			continue
		}
		apart, err := counts(ctx, mg)
		if err != nil {
			return nil, err
		}
		if apart {
			volumes = append(volumes, record.Volume)
		}
	}
	slices.Sort(volumes)
	return volumes, nil
}

// mentioning returns the Volumes of the Machine's namespace that mention the VM with the UUID, as most do not. Records in Volumes of other namespaces
// must not detach anything here.
func (r Reader) mentioning(ctx context.Context, m object.Machine, uuid string) ([]resource.Managed, error) {
	var found []resource.Managed
	for _, empty := range r.Lists {
		all, err := kind.ListCached(ctx, r.Kube, empty, client.InNamespace(m.GetNamespace()))
		if err != nil {
			return nil, err
		}
		for _, mg := range all {
			if mg.GetNamespace() == m.GetNamespace() && volumeref.Mentions(mg, uuid) {
				found = append(found, mg)
			}
		}
	}
	return found, nil
}

// resolve returns the parameters with the volume IDs of the Volumes that the VM has, and why it does not have the others.
func (r Reader) resolve(
	ctx context.Context, m object.Machine, p *v1alpha1.MachineParameters, v VM, shares Shares,
) (*v1alpha1.MachineParameters, []string, error) {
	out := *p
	out.Disks = slices.Clone(p.Disks)
	var waits, seen []string
	for i, k := range out.Disks {
		if k.VolumeRef == nil {
			continue
		}
		if slices.Contains(seen, k.VolumeRef.Name) {
			waits = append(waits, fmt.Sprintf("disk %q names Volume '%s', as another disk of the list does: take one of them off the list", k.Name, k.VolumeRef.Name))
			continue
		}
		seen = append(seen, k.VolumeRef.Name)
		volume, why, err := r.has(ctx, m, k.VolumeRef.Name, v, shares)
		if err != nil {
			return nil, nil, err
		}
		if why != "" {
			waits = append(waits, fmt.Sprintf("disk %q waits: %s", k.Name, why))
			continue
		}
		out.Disks[i].Volume = &volume
	}
	return &out, waits, nil
}

// has returns the volume ID of a Volume that the VM has, or why it does not have it.
func (r Reader) has(ctx context.Context, m object.Machine, name string, in VM, shares Shares) (volume, why string, err error) {
	v, err := r.get(ctx, m, name)
	if v == nil || err != nil {
		return "", notFound(name), err
	}
	record, err := volumeref.RecordOf(v)
	switch {
	case err != nil:
		return "", "", err
	case record.Settled(in.UUID) && in.displaces(record.Volume, volumeref.PlaceOf(v, record)):
		return "", fmt.Sprintf("the VM does not have the disk of Volume '%s' where it was, as after a migration: "+
			"the Volume's condition Ready says what comes of it", name), nil
	case record.Settled(in.UUID) && record.Machine == string(m.GetUID()):
		return record.Volume, "", nil
	case record.Machine != string(m.GetUID()) && !shares(v):
		return "", elsewhere(v), nil
	}
	return "", waitsFor(m, v, record), nil
}

// notFound returns the message that there is no Volume of a name.
func notFound(name string) string {
	return fmt.Sprintf("Volume '%s' not found: create it, or correct volumeRef", name)
}

// elsewhere returns the message that a Volume is in another cluster.
func elsewhere(v volumeref.Volume) string {
	return fmt.Sprintf("Volume '%s' is in another cluster: give it and this Machine a provider configuration of the same cluster", v.GetName())
}

// waitsFor returns why a Machine does not have a Volume.
func waitsFor(m object.Machine, v volumeref.Volume, r *volumeref.Record) string {
	name := v.GetName()
	switch {
	case r.Lost:
		return fmt.Sprintf("the disk of Volume '%s' is lost: %s", name, r.Message)
	case meta.WasDeleted(v) && r.Machine != string(m.GetUID()):
		return fmt.Sprintf("Volume '%s' is being deleted", name)
	case !r.Made():
		return fmt.Sprintf("Volume '%s' has no disk yet: see the condition Ready of the Volume", name)
	case r.Machine != "" && r.Machine != string(m.GetUID()) && tenancy.NamespaceOf(v) != tenancy.NamespaceOf(m):
		return fmt.Sprintf("Volume '%s' is kept for a Machine of another namespace, which lists it too", name)
	case r.Machine != "" && r.Machine != string(m.GetUID()):
		return fmt.Sprintf("Volume '%s' is kept for Machine %s, which lists it too", name, r.MachineName)
	}
	return fmt.Sprintf("Volume '%s' is not handed over yet: see the condition Ready of the Volume", name)
}

// Node returns the node that the Volumes of a Machine pin its VM to, or an empty string for any node. It returns an error if a Volume is missing, is
// not kept for this Machine, or is on another node than another Volume.
func (r Reader) Node(ctx context.Context, m object.Machine, storages []proxmox.Storage, shares Shares) (string, error) {
	pinned, by := "", ""
	for _, k := range m.Parameters().Disks {
		if k.VolumeRef == nil {
			continue
		}
		v, err := r.get(ctx, m, k.VolumeRef.Name)
		if err != nil {
			return "", err
		}
		if v == nil {
			return "", conditions.WaitForVolume("%s", notFound(k.VolumeRef.Name))
		}
		if !shares(v) {
			return "", conditions.Reject(conditions.Creating, "%s", elsewhere(v))
		}
		node, err := nodeOf(m, v, storages)
		switch {
		case err != nil:
			return "", err
		case pinned != "" && node != "" && node != pinned:
			return "", conditions.Reject(conditions.Allocating,

				"Volume '%s' is on node %s, and Volume '%s' on node %s, both on local storage: take one off disks, or move it to shared storage",
				by, pinned, v.GetName(), node)
		case node != "":
			pinned, by = node, v.GetName()
		}
	}
	return pinned, nil
}

// nodeOf returns the node of a Volume that is kept for the Machine, or an empty string if all nodes reach it.
func nodeOf(m object.Machine, v volumeref.Volume, storages []proxmox.Storage) (string, error) {
	r, err := volumeref.RecordOf(v)
	if err != nil {
		return "", err
	}
	if !r.Made() || r.Lost || r.Machine != string(m.GetUID()) {
		return "", conditions.WaitForVolume("%s", waitsFor(m, v, r))
	}
	storage, _, _ := strings.Cut(r.Volume, ":")
	if slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == storage && s.Shared }) {
		return "", nil
	}
	if v.Observation().Node == "" {
		return "", conditions.WaitForVolume("the node of Volume '%s' is not known yet: its condition Ready says why", v.GetName())
	}
	return v.Observation().Node, nil
}

// Awaits reports whether a VM with these disks on local storage waits for a Volume before it moves to another node. The Volume is on its way into the
// VM or out of it, or must be found again after a migration.
func Awaits(touching []Disk, local []proxmox.LocalDisk) bool {
	return slices.ContainsFunc(touching, func(d Disk) bool {
		return (d.Moving || d.Displaced) && hasDisks(local) || d.Leaving && !d.Lost && d.among(local)
	})
}

// hasDisks reports whether these include a disk that is not a medium.
func hasDisks(local []proxmox.LocalDisk) bool {
	return slices.ContainsFunc(local, func(l proxmox.LocalDisk) bool { return !l.CDROM })
}

// Pinned returns why a VM with these disks on local storage cannot move to another node, or an empty string if no Volume prevents it.
func Pinned(p *v1alpha1.MachineParameters, touching []Disk, local []proxmox.LocalDisk) string {
	for _, d := range touching {
		if d.Lost && hasDisks(local) {
			return fmt.Sprintf("the disk of Volume '%s' was lost in this VM, which may have it by another name on local storage: "+
				"its condition Ready says what to do", d.Volume)
		}
	}
	for _, k := range p.Disks {
		volume := ptr.Deref(k.Volume, "")
		if k.VolumeRef != nil && slices.ContainsFunc(local, func(l proxmox.LocalDisk) bool { return l.Volume == volume }) {
			return fmt.Sprintf("disk %q is Volume '%s' on local storage, which stays on its node: take it off the list first", k.Name, k.VolumeRef.Name)
		}
	}
	return ""
}

// InSnapshot returns why a VM cannot move to another node because of a disk on local storage that its snapshots have. It is empty if Proxmox VE may
// take the disk along (PVE::QemuMigrate, scan_local_volumes). A disk of a running VM moves only if it is replicated, and a disk on LVM never moves.
func InSnapshot(c proxmox.MigrationCheck, storages []proxmox.Storage) string {
	for _, d := range c.LocalDisks {
		if d.CDROM || len(d.Snapshots) == 0 {
			continue
		}
		storage, _, _ := strings.Cut(d.Volume, ":")
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == storage })
		switch in := fmt.Sprintf("disk %s is on local storage, and in the VM's snapshot %s", d.Volume, strings.Join(d.Snapshots, ", ")); {
		case i >= 0 && strings.HasPrefix(storages[i].Type, "lvm"):
			return in + ": remove the snapshot before the VM migrates"
		case c.Running && (i < 0 || storages[i].Type != proxmox.ReplicationStorage):
			return in + ": remove the snapshot or stop the VM before it migrates"
		}
	}
	return ""
}

// A Disk of a Volume that a VM has, or may be about to have.
type Disk struct {
	// Volume that the disk belongs to, with its namespace.
	Volume string

	// ID of the volume in PVE, as far as it is known.
	ID string

	// Device as which it was last seen, or empty if that is not known.
	Device string

	// Moving is true while it may be on its way into the VM, out of it, or to another storage.
	Moving bool

	// Lost is true if it was not found, Leaving if its Machine does not list it, and Displaced if it is not where it was, as after a migration.
	Lost, Leaving, Displaced bool
}

// among reports whether the disk is one of these disks on local storage.
func (d Disk) among(local []proxmox.LocalDisk) bool {
	return slices.ContainsFunc(local, func(l proxmox.LocalDisk) bool { return l.Volume == d.ID })
}

// In returns the disks of Volumes that the VM with the UUID has, or may be about to have. It reads from the API server: a handover is recorded there
// before it begins, and begins only if its Machine is not being deleted then.
func (r Reader) In(ctx context.Context, uuid string) ([]Disk, error) {
	all, err := kind.ListAll(ctx, r.Direct, r.Lists)
	if err != nil {
		return nil, err
	}
	var disks []Disk
	for _, mg := range all {
		name := strings.TrimPrefix(client.ObjectKeyFromObject(mg).String(), "/")
		if !volumeref.Mentions(mg, uuid) {
			continue // A forged record of another VM, or a malformed one, holds up nothing here.
		}
		record, err := volumeref.RecordOf(mg)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot tell which VM has the disk of Volume %s", name)
		}
		if record.Touches(uuid) {
			disks = append(disks, Disk{
				Volume: name, ID: record.Volume, Device: volumeref.PlaceOf(mg, record).Device, Moving: record.Handover != nil,
			})
		}
	}
	slices.SortFunc(disks, func(a, b Disk) int { return strings.Compare(a.Volume, b.Volume) })
	return disks, nil
}

// CheckRemovable returns an error while a Volume has its disk in the VM with the UUID, or may be about to: PVE would destroy the disk with the VM.
func (r Reader) CheckRemovable(ctx context.Context, uuid string, vmid int) error {
	disks, err := r.In(ctx, uuid)
	if err != nil || len(disks) == 0 {
		return err
	}
	var names []string
	for _, d := range disks {
		names = append(names, d.Volume)
	}
	return kind.Held(errors.Errorf(
		"VM %d is kept until it has handed back the disks of Volumes %s, which would be destroyed with it", vmid, strings.Join(names, ", ")))
}

// handedIn returns the disks of Volumes that a Machine has had, according to its record.
func handedIn(m object.Machine) (qemu.VolumeDisks, error) {
	id, err := object.IdentityOf(m)
	if err != nil {
		return nil, err
	}
	devices, err := object.RecordedDevices(m, id)
	return devices.Handed, err
}

// CheckHanded returns an error if the VM of a Machine, which has the UUID, has the disk of a Volume that no longer exists, and that will not be
// handed back. The Volume was deleted without Delete, or was not restored with the Machine. A user who kept the Volume's disk in that way has not
// asked to destroy it.
func (r Reader) CheckHanded(ctx context.Context, m object.Machine, uuid string, v *vmstate.VM) error {
	recorded, err := handedIn(m)
	if err != nil {
		return err
	}
	handed := recorded.In(v.State, v.VMID)
	for name := range handed {
		elsewhere, err := r.elsewhere(ctx, m, uuid, name, recorded[name].Volume)
		if err != nil {
			return err
		}
		if elsewhere {
			delete(handed, name)
		}
	}
	if len(handed) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(handed)))
	h, was := handed[name], recorded[name]
	is, look := "is", ""
	if h.Volume != was.Volume || h.Device != was.Device && !qemu.IsUnused(h.Device) {
		is, look = "may be", fmt.Sprintf(", which was %s (%s) when it was seen last: look at what is on it", was.Device, was.Volume)
	}
	return kind.Held(errors.Errorf("VM %d is kept since %s (%s) %s the disk of Volume '%s', which is gone, and would be destroyed with it%s. "+
		"To keep the disk, detach it and create a Volume with the annotation crossplane.io/external-name: %s, which gets it. "+
		"To destroy it, remove it from the VM", v.VMID, h.Device, h.Volume, is, name, look, h.Volume))
}

// elsewhere reports whether the Volume whose disk had a volume ID in the VM with the UUID now has its disk in another place. The disk with that name
// in the VM is then another one, because PVE gives a free name to the next disk. A Volume that was created again under the same name never had the
// volume ID.
func (r Reader) elsewhere(ctx context.Context, m object.Machine, uuid, name, volume string) (bool, error) {
	r.Kube = r.Direct
	v, err := r.get(ctx, m, name)
	if v == nil || err != nil {
		return false, err
	}
	record, err := volumeref.RecordOf(v)
	if err != nil {
		return false, errors.Wrapf(err, "cannot tell which VM has the disk of Volume %s", name)
	}
	return record.WasNamed(volume) && !record.Touches(uuid) && !record.Lost, nil
}

// CheckHandedReplaceable returns why these devices of a Machine's VM cannot be replaced by those of a backup: PVE would destroy the disk of a Volume
// that no longer exists. The result is empty if they can.
func CheckHandedReplaceable(m object.Machine, s qemu.State, vmid int, devices []string) (string, error) {
	recorded, err := handedIn(m)
	if err != nil {
		return "", err
	}
	name, device := recorded.Among(s, vmid, devices)
	if name == "" {
		return "", nil
	}
	return fmt.Sprintf("%s is, or may be, the disk of Volume '%s' (%s), which is gone, and would be removed for that of the backup: "+
		"detach it, or create Volume '%s' again with the annotation crossplane.io/external-name: %s",
		device, name, recorded[name].Volume, name, s.Config.Volume(device)), nil
}

// CheckReplaceable returns why these devices of a VM cannot be replaced by those of a backup: PVE would destroy the disk of a Volume. The result is
// empty if they can.
func (r Reader) CheckReplaceable(ctx context.Context, uuid string, config qemu.Config, devices []string) (string, error) {
	disks, err := r.In(ctx, uuid)
	if err != nil {
		return "", err
	}
	for _, d := range disks {
		if d.Moving {
			return fmt.Sprintf("the disk of Volume %s is on its way", d.Volume), nil
		}
		is := func(device string) bool {
			return config.Volume(device) == d.ID || device == d.Device && config.Volume(device) != ""
		}
		if i := slices.IndexFunc(devices, is); i >= 0 {
			return fmt.Sprintf("%s is the disk of Volume %s (%s), and would be removed for that of the backup: take it off disks first",
				devices[i], d.Volume, d.ID), nil
		}
	}
	return "", nil
}

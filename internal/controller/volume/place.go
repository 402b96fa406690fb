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
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A running VM that migrates gets new disks on its new node if its storage is local. The disks get the lowest free names in the order of their
// devices (PVE::QemuServer, vm_migrate_alloc_nbd_disks), so the name of a disk may then belong to another one. Its device stays the same. A name
// therefore identifies a disk only if the disk is still the device as which it was last seen, or if nothing suggests that the VM has it as another
// device now.

// at returns the device of the VM that a volume is, or the option of the unused disk; empty for none.
func (v *vm) at(volume string) string { return cmp.Or(v.attached(volume), v.unused(volume)) }

// placeOf returns where a VM has a disk. size is its previously known size.
func placeOf(v *vm, volume, size string) volumeref.Place {
	device := v.at(volume)
	return volumeref.Place{Node: v.Node, Device: device, Size: cmp.Or(v.sizeAt(device), size)}
}

// sizeAt returns the size of a device as PVE writes it; empty if PVE does not.
func (v *vm) sizeAt(device string) string {
	d, err := proxmox.ParseDisk(cmp.Or(v.Active[device], v.Config[device]))
	if err != nil {
		return ""
	}
	return d.Options.Get("size")
}

// A neighbour is another Volume whose disk is in the same VM, or whose record names a volume of that VM.
type neighbour struct {
	// volume and device in its record, and whether the VM is its holder.
	volume, device string
	held           bool
}

// contradicted reports whether the VM now has another disk as the device in the neighbour's record. The recorded name then belongs to another disk
// too.
func (n neighbour) contradicted(v *vm) bool {
	now := v.Active.Volume(n.device)
	return n.held && n.device != "" && now != "" && now != n.volume
}

// decidePlace decides about a disk that is not where it was last seen, unless it is proven to be the one that has its name. A disk keeps its name if
// all nodes have access to its storage.
func (s *state) decidePlace(v *vm) *decision {
	was, now := s.Place, v.at(s.Volume)
	there := v.Active.Volume(was.Device)
	switch {
	case now != "" && now == was.Device, s.shared:
		return nil
	case v.Config["lock"] == "migrate": // Its names may already be those of the other node.
		return because(wait, reasonLocked, "%s", vmstate.Locked(v.VMID, "migrate"))
	case was.Device == "" && now == "":
		return nil
	case was.Device != "" && s.migrated(v):
		return s.decideMigrated(v, there)
	case s.ofAnother(now):
		return s.unproven(v, "%s, which has the name now, is another disk of the Machine", now)
	case was.Device == "", qemu.IsUnused(was.Device): // A migration keeps the names of unused disks, and nothing renames disks without one.
		return nil
	case qemu.IsUnused(now) && s.ofAnother(was.Device): // The Machine has detached it, and attached another disk in its place.
		return nil
	case now != "" && there != "" && !s.isNeighbour(was.Device, there):
		return s.unproven(v, "%s is %s, and %s has the name", was.Device, there, now)
	}
	return nil
}

// decideMigrated decides about a disk of a VM that was migrated to another node, where the disk may have another name.
func (s *state) decideMigrated(v *vm, there string) *decision {
	device := s.Place.Device
	if why := s.implausible(v, there); why != "" {
		return s.unproven(v, "%s", why)
	}
	return &decision{action: follow, from: v, key: device}
}

// implausible returns why the volume that a VM has as the disk's device on its new node may be another disk; empty if it is the disk.
func (s *state) implausible(v *vm, there string) string {
	device := s.Place.Device
	was, err := proxmox.ParseSize(s.Place.Size)
	now, nowErr := proxmox.ParseSize(v.sizeAt(device))
	switch {
	case there == "":
		return fmt.Sprintf("the VM has no %s any more", device)
	case v.Config[device] != v.Active[device]:
		return fmt.Sprintf("a change of %s is pending", device)
	case !reDisk.MatchString(there) || !slices.Contains(v.volumes(), there):
		return fmt.Sprintf("%s is %s, which is no disk of its own", device, there)
	case storageOf(there) != storageOf(s.Volume):
		return fmt.Sprintf("%s is %s, on another storage", device, there)
	case v.unused(s.Volume) != "":
		return fmt.Sprintf("%s is %s, and %s has the former name", device, there, v.unused(s.Volume))
	case v.attached(s.Volume) != "" && !v.ascends(storageOf(there)):
		return fmt.Sprintf("%s is %s, and %s has the former name, as no live migration leaves them", device, there, v.attached(s.Volume))
	case err != nil || nowErr != nil || s.Place.Size == "" || v.sizeAt(device) == "":
		return fmt.Sprintf("%s is %s, and its size cannot be compared", device, there)
	case max(was, now)-min(was, now) > rounding:
		return fmt.Sprintf("%s is %s, with %s in place of %s", device, there, now, was)
	}
	for _, n := range s.neighbours {
		if n.held && n.device == device || n.volume == there && !n.contradicted(v) {
			return fmt.Sprintf("%s is %s, which another Volume has by its record", device, there)
		}
	}
	return ""
}

// ascends reports whether the disks of a storage have numbers that ascend with their devices, as after a live migration. The disks of a VM that is
// off keep their names, unless these are taken (PVE::QemuMigrate, sync_offline_local_volumes). Another disk as the device was then exchanged
// manually.
func (v *vm) ascends(storage string) bool {
	last := -1
	for _, device := range slices.Sorted(maps.Keys(v.Active)) {
		volume := v.Active.Volume(device)
		if !qemu.IsDisk(device) || device == qemu.TPMDevice || storageOf(volume) != storage || !reDisk.MatchString(volume) { // A TPM is copied first.
			continue
		}
		n, err := strconv.Atoi(reNumber.FindStringSubmatch(volume)[1])
		if err != nil || n <= last {
			return false
		}
		last = n
	}
	return true
}

// reNumber matches the number of a disk in its volume ID.
var reNumber = regexp.MustCompile(`-disk-([0-9]+)(?:\.[a-z0-9]+)?$`)

// ofAnother reports whether a device belongs to another entry of the Machine that has the VM.
func (s *state) ofAnother(device string) bool { return slices.Contains(s.others, device) }

// isNeighbour reports whether a volume as this device belongs to another Volume by its record.
func (s *state) isNeighbour(device, volume string) bool {
	return slices.ContainsFunc(s.neighbours, func(n neighbour) bool { return n.held && n.device == device && n.volume == volume })
}

// unproven returns the decision to leave a disk alone because its identity is uncertain.
func (s *state) unproven(v *vm, why string, words ...any) *decision {
	was, attach := "", ""
	if p := s.Place; p.Device != "" {
		was = fmt.Sprintf(", which was %s on node %s,", p.Device, cmp.Or(p.Node, v.Node))
	}
	if d := s.Place.Device; d != "" && !qemu.IsUnused(d) {
		attach = "attach the right one as the former device, or "
	}
	return because(stuck, reasonUnproven, "which disk of VM %d on node %s is this Volume's is not certain, since a migration gives local disks other names, "+
		"maybe those of others: %s%s was seen last, and now %s. Look at what is on the disks, then %sset the annotation crossplane.io/external-name "+
		"to its present name, if that is another one; nothing is done to it, and its VM is kept, until then",
		v.VMID, v.Node, s.Volume, was, fmt.Sprintf(why, words...), attach)
}

// consented shows the disk that has the name of one whose identity is uncertain, and reports whether the user has consented to take exactly that disk
// for it. In that case it is recorded.
func (e *external) consented(ctx context.Context, m Volume) (bool, error) {
	v := e.view
	if v.problem == nil || v.action != stuck || v.problem.Reason != reasonUnproven {
		return false, nil
	}
	owner, device := v.holder, v.holder.at(v.Volume)
	other := slices.ContainsFunc(v.neighbours, func(n neighbour) bool { return n.volume == v.Volume && !n.contradicted(owner) })
	if device == "" || owner.Active.Volume(device) != v.Volume || other {
		return false, nil
	}
	listed, err := e.reader.listed(ctx, owner, v.Volume)
	if listed == nil || err != nil {
		return false, err
	}
	v.found = &found{v1alpha1.VolumeFound{
		VMID: int32(owner.VMID), Device: device, SameVM: true, Size: listed.Size, //nolint:gosec // No VMID is that large.
		Checksum: checksumOf(m.GetUID(), v.Volume, v.Place, device, owner.Node, owner.VMID, owner.holder(), listed.Size),
	}}
	if ptr.Deref(m.Parameters().RecoverLost, "") != v.found.Checksum || !kind.MayChange(m) {
		v.problem.Message += fmt.Sprintf("; if it is %s, which has the name %s still, set recoverLost to %s", device, v.Volume, v.found.Checksum)
		return false, nil
	}
	e.Event(m, event.Normal(eventRecovered, fmt.Sprintf("disk %s, %s of VM %d, is this resource's", v.Volume, device, owner.VMID)))
	v.Place, v.found = placeOf(owner, v.Volume, proxmox.Size(v.found.Size).String()), nil
	return true, e.save(ctx, m)
}

// renamedHint describes the volume that a VM which is back on its node has in place of the disk; it is empty if there is none.
func (s *state) renamedHint(v *vm) string {
	there := v.Active.Volume(s.Place.Device)
	if storageOf(there) != storageOf(s.Volume) {
		return ""
	}
	return fmt.Sprintf("; but %s, which it was, is %s now: if the VM has migrated and come back, that may be the disk, by another name. Look at what is on it, "+
		"and do not delete the VM or the disk before; if it is the disk, set the annotation crossplane.io/external-name to that", s.Place.Device, there)
}

// migrated reports whether a VM is on another node than where the disk was last seen, on storage that not all nodes have access to.
func (s *state) migrated(v *vm) bool {
	return v != nil && v.offline == "" && !s.shared && s.Place.Node != "" && v.Node != s.Place.Node
}

// readNeighbours reads the other Volumes that concern the VM with the disk, if the disk is not where it was last seen.
func (s *state) readNeighbours(ctx context.Context, m Volume, among peers) (err error) {
	s.neighbours, s.unplaced = nil, s.unplaced || s.Place == volumeref.Place{}
	s.Place = volumeref.PlaceOf(m, s.Record)
	v := s.holder
	if v == nil || v.offline != "" || s.shared || s.Place.Device == "" || v.at(s.Volume) == s.Place.Device {
		return nil
	}
	s.neighbours, err = among.neighbours(ctx, v.Config.UUID(), v.Active.Volume(s.Place.Device))
	return err
}

// othersOf returns the devices that a Machine has for entries that name neither the Volume nor its disk.
func othersOf(x Machine, name, volume string) []string {
	var all []string
	for _, d := range x.Observation().Disks {
		for _, k := range x.Parameters().Disks {
			names := k.VolumeRef != nil && k.VolumeRef.Name == name || ptr.Deref(k.Volume, "") == volume
			if k.Name == d.Name && !names && !qemu.IsUnused(d.Device) {
				all = append(all, d.Device)
			}
		}
	}
	return all
}

// noteFollowed records the name that the disk has on the new node of its VM, and returns the event that reports it.
func (v *view) noteFollowed() event.Event {
	former := v.Volume
	v.Rename(v.from.Active.Volume(v.key))
	v.Place = placeOf(v.from, v.Volume, v.Place.Size)
	return event.Normal(eventRenamed,
		fmt.Sprintf("disk %s is %s since VM %d is on node %s: it is %s still", former, v.Volume, v.from.VMID, v.from.Node, v.key))
}

// placed reports whether the record contains where the disk is seen.
func (s *state) placed() bool {
	return s.holder != nil && !s.unplaced && s.Place == placeOf(s.holder, s.Volume, s.Place.Size)
}

// unsure reports whether the place of the disk is uncertain.
func (v *view) unsure() bool {
	return v.action == stuck && v.problem != nil && v.problem.Reason == reasonUnproven || v.action == wait && v.holder != nil && v.holder.Config["lock"] != ""
}

// notePlace records where the disk was seen, and reports whether that has changed. An uncertain place does not change the record, even if only the
// status contained the last one.
func (v *view) notePlace(m Volume) bool {
	before, unplaced := v.Place, v.unplaced
	switch {
	case !v.Made() || v.Lost || v.Handover != nil:
		return false
	case v.holder == nil || v.holder.offline != "" || v.unsure() || v.holder.at(v.Volume) == "":
		v.unplaced = unplaced && before == (volumeref.Place{})
		return unplaced && !v.unplaced && kind.MayChange(m)
	}
	v.Place, v.unplaced = placeOf(v.holder, v.Volume, before.Size), false
	return (unplaced || v.Place != before) && kind.MayChange(m)
}

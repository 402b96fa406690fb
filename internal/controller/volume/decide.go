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
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// An action is the next step for a Volume.
type action int

const (
	// keep the disk, which is where it is to be.
	keep action = iota

	// wait for a task, for the result of a call to appear, or for the next attempt.
	wait

	// makeStub creates the stub VM, with the disk if that was never created, and without any disk otherwise.
	makeStub

	// settle records that the stub VM exists.
	settle

	// arrive records that another VM has received the disk.
	arrive

	// follow records the name that the disk has received in a migration of its VM.
	follow

	// forget a handover that has not happened, or an attempt that has failed.
	forget

	// migrate the stub VM to the node where the disk is, or is to be.
	migrate

	// give the disk to another VM.
	give

	// move the disk to another storage.
	move

	// attach the disk to the stub VM, where it is unused.
	attach

	// grow the disk.
	grow

	// protect the retained stub VM from being destroyed in Proxmox VE.
	protect

	// destroy the stub VM.
	destroy

	// release the Volume, because there is nothing left to do about it.
	release

	// lose records that the disk no longer exists.
	lose

	// stuck does nothing, because a user has to act.
	stuck
)

// A vm holds the observations of a VM.
type vm struct {
	proxmox.Ref
	qemu.State

	// offline is why the VM cannot be read now; empty if it was read.
	offline string

	// busy is true while a task works on the VM. It is read for VMs that may be changed.
	busy bool

	// running is true unless the VM is off. It is read for a VM that a deleted Machine leaves behind.
	running bool
}

// holder returns what later proves that the VM is the same.
func (v *vm) holder() volumeref.Holder {
	return volumeref.Holder{UUID: v.Config.UUID(), Created: v.Config["meta"]}
}

// attached returns the device of the VM that a volume is, or is to be; empty for none.
func (v *vm) attached(volume string) string {
	for _, c := range []qemu.Config{v.Active, v.Config} {
		if i := slices.IndexFunc(c.Drives(), func(device string) bool { return c.Volume(device) == volume }); i >= 0 {
			return c.Drives()[i]
		}
	}
	return ""
}

// unused returns the option of the unused disk that a volume is; empty for none.
func (v *vm) unused(volume string) string {
	all := v.Config.Unused()
	i := slices.IndexFunc(all, func(option string) bool { return v.Config.Volume(option) == volume })
	if i < 0 {
		return ""
	}
	return all[i]
}

// staysAttached reports whether a volume is a device of the running VM, and remains so after the next start.
func (v *vm) staysAttached(device, volume string) bool {
	return v.Active.Volume(device) == volume && v.Config.Volume(device) == volume
}

// changes reports whether other options of a device wait for the next start of the VM. Such a change contains the former name of the disk.
func (v *vm) changes(device string) bool { return v.Active[device] != v.Config[device] }

// pending returns the decision to wait until a change of the device has been applied.
func pending(v *vm, device string) *decision {
	return because(wait, reasonAttached, "a change of %s is pending in VM %d: restart the VM, which applies it", device, v.VMID)
}

// freeUnused returns the first option for an unused disk that the VM does not have.
func (v *vm) freeUnused() string {
	for i := 0; ; i++ {
		if key := "unused" + strconv.Itoa(i); v.Config[key] == "" && v.Active[key] == "" {
			return key
		}
	}
}

// volumes returns the volumes that belong to the VM in PVE.
func (v *vm) volumes() []string {
	all := append(v.Config.OwnVolumes(v.VMID), v.Active.OwnVolumes(v.VMID)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// waits returns why nothing can be done to the VM now; nil if it can.
func (v *vm) waits() *decision {
	switch lock := v.Config["lock"]; {
	case v.offline != "":
		return because(wait, reasonNodeOffline, "%s", v.offline)
	case lock != "":
		return because(wait, reasonLocked, "%s", vmstate.Locked(v.VMID, lock))
	case v.busy:
		return because(wait, reasonLocked, "another task of Proxmox VE works on VM %d: the provider waits for it", v.VMID)
	}
	return nil
}

// A claim is a Machine that lists the Volume.
type claim struct {
	uid, name string

	// deleted is true for a Machine that is being deleted. It has the disk only until the disk is handed back.
	deleted bool

	// vm of the Machine; nil if it has none yet.
	vm *vm
}

// A state holds the observations of a Volume. Tasks were read before the VMs.
type state struct {
	*volumeref.Record

	// stub is the stub VM, or nil if there is none. foreign is true if another VM has its VMID.
	stub    *vm
	foreign bool

	// holder is the VM to which the disk belongs in PVE, or nil if there is none. It is the same as stub if that is the VM.
	holder *vm

	// target of the handover that is under way; nil if the VM does not exist.
	target *vm

	// claims of the Machines that list the Volume. Those that are not being deleted come first, and among them the one for which the disk is kept, then
	// the oldest.
	claims []claim

	// owned is true if the holder is the VM of a Machine that is not deleted, and leaving if it is the VM of a deleted one.
	owned, leaving bool

	// others are the devices of other entries of the Machine that has the holder, and neighbours the other Volumes that concern the holder. They are
	// read if the disk is not where it was last seen.
	others     []string
	neighbours []neighbour

	// unplaced is true if the record does not contain where the disk was.
	unplaced bool

	// task that is recorded, or nil if PVE does not know it. moving is true while a task is running that may be the one whose start was not confirmed.
	task   *proxmox.Task
	moving bool

	// offline is the problem that the node of the task cannot be asked; nil if it has answered.
	offline *kind.Problem

	// shared is true if all nodes reach the storage of the disk.
	shared bool

	// size and storage that the spec requires; 0 and empty for none. hasStorage is true if the node of the disk has the storage.
	size       proxmox.Size
	storage    string
	hasStorage bool

	deleted, retain bool
	now             int64

	// hint at what can be done about a lost disk; empty for none.
	hint string
}

// A decision is an action, and what to report about it.
type decision struct {
	action  action
	problem *kind.Problem

	// node to migrate the stub VM to, or to create it on.
	node string

	// from is the VM that has the disk as key, and to the VM to give it to. The disk may also grow in from.
	from, to *vm
	key      string
}

func because(a action, reason xpv2.ConditionReason, format string, words ...any) *decision {
	return &decision{action: a, problem: &kind.Problem{Reason: reason, Message: fmt.Sprintf(format, words...)}}
}

// decide decides what to do next about a Volume. What was begun is completed first, in this order: a handover between VMs, the removal of the stub
// VM, its creation, a task that works on the disk. Only then does it consider what the spec and the Machines require.
func (s *state) decide() *decision {
	switch {
	case s.offline != nil:
		return &decision{action: wait, problem: s.offline}
	case s.Handover != nil:
		return s.decideHandover()
	case s.Removing:
		return s.decideRemoval()
	case s.Begun != 0, !s.Made() && s.stub != nil: // If there is a stub VM but no recorded disk, the end of its creation was not seen.
		return s.decideMaking()
	case s.Task != "":
		return s.decideTask()
	case !s.Made() && s.deleted:
		return &decision{action: release}
	case !s.Made():
		return s.afterBackoff(&decision{action: makeStub})
	case s.Lost:
		return s.decideLost("")
	}
	return s.decideHeld()
}

// isRecordedHolder reports whether a VM is the one in which the disk was last seen.
func (s *state) isRecordedHolder(v *vm) bool {
	return strings.EqualFold(v.Config.UUID(), s.Holder.UUID) && v.Config["meta"] == s.Holder.Created
}

// decideTask decides about a task that grows the disk, or moves the stub VM.
func (s *state) decideTask() *decision {
	if s.task != nil && s.task.Running {
		return because(wait, reasonMoving, "a task works on the disk or on the stub VM: %s", s.task.Type)
	}
	return &decision{action: forget}
}

// decideRemoval decides about a stub VM that is being destroyed.
func (s *state) decideRemoval() *decision {
	switch {
	case s.task != nil && s.task.Running:
		return because(wait, xpv2.ReasonDeleting, "the stub VM is being removed")
	case s.task != nil && !s.task.OK():
		return &decision{action: forget}
	case s.stub == nil:
		return &decision{action: release}
	case s.retain && s.stub.waits() == nil:
		return &decision{action: forget} // A user has set the policy to Retain meanwhile.
	}
	return s.decideDestroy()
}

// backoff returns the delay after a number of failures, in seconds.
func backoff(failures int) int64 { return int64(min(10<<min(failures, 10), 600)) }

// afterBackoff returns the decision, or one to wait after a failure, or for a lock that PVE holds for a moment.
func (s *state) afterBackoff(d *decision) *decision {
	if s.Lock.BacksOff(time.Unix(s.now, 0)) {
		return &decision{action: wait, problem: new(target.HeldLock("tried again"))}
	}
	if s.Failures > 0 && s.now < s.FailedAt+backoff(s.Failures) {
		return because(wait, reasonFailed, "%s", s.Message)
	}
	return d
}

// decideMaking decides about a stub VM whose creation was begun.
func (s *state) decideMaking() *decision {
	switch {
	case s.task != nil && s.task.Running, s.moving:
		return because(wait, xpv2.ReasonCreating, "the stub VM is being made")
	case s.task != nil && !s.task.OK():
		return &decision{action: forget}
	case s.stub != nil && s.stub.offline != "":
		return because(wait, reasonNodeOffline, "%s", s.stub.offline)
	case s.stub != nil && s.stub.Config["lock"] == "create" && !s.stub.busy:
		return because(wait, reasonLocked, "%s", (&vmstate.VM{Ref: s.stub.Ref, State: s.stub.State}).Stuck())
	case s.stub != nil && s.stub.Config["lock"] != "":
		return because(wait, reasonLocked, "%s", vmstate.Locked(s.stub.VMID, s.stub.Config["lock"]))
	case s.stub != nil:
		return &decision{action: settle}
	case s.Task == "" && !s.foreign && s.now < s.Begun+target.Arrival:
		return because(wait, xpv2.ReasonCreating, "waiting for the stub VM to appear in Proxmox VE, since the answer to its creation was lost")
	}
	return &decision{action: forget} // It does not exist, or another VM has the VMID.
}

// decideHandover decides about a handover that was begun.
func (s *state) decideHandover() *decision {
	h := s.Handover
	switch {
	case s.task != nil && s.task.Running, s.moving:
		return because(wait, reasonMoving, "%s", h.Words())
	case s.holder != nil && s.holder.offline != "":
		return because(wait, reasonNodeOffline, "%s", s.holder.offline)
	case s.remained() && h.Task == "" && s.now < h.Begun+target.Arrival:
		return because(wait, reasonMoving, "waiting until Proxmox VE shows whether this was done, since the answer to the call was lost: %s", h.Words())
	case s.holder != nil && s.holder.restoreFailed():
		return waitForRestore(s.holder)
	case s.target != nil && s.target.offline == "" && s.target.restoreFailed():
		return waitForRestore(s.target)
	case s.remained():
		return &decision{action: forget}
	case s.target == nil:
		return because(lose, reasonLost, "VM %d, which was given the disk, was destroyed, and the disk with it"+newVolume, h.To)
	case s.target.offline != "":
		return because(wait, reasonNodeOffline, "%s", s.target.offline)
	case !strings.EqualFold(s.target.Config.UUID(), h.Holder.UUID) || s.target.Config["meta"] != h.Holder.Created:
		return because(lose, reasonLost, "VM %d, which was given the disk, was destroyed and created again, and the disk is gone"+newVolume, h.To)
	case s.arrived() == "":
		return because(stuck, reasonLost, "the disk %s has left VM %d and is not seen in VM %d: run qm disk rescan --vmid %d on the node",
			s.Volume, h.From, h.To, h.To)
	}
	return &decision{action: arrive}
}

// remained reports whether the disk is where it was before the handover. A disk of its name does not prove that. When the disk has left a VM, the
// next disk there may get the name. The stub VM does not receive disks of others, and takes part in each handover between VMs.
func (s *state) remained() bool {
	h := s.Handover
	switch {
	case s.holder == nil, s.task != nil && s.task.OK(), !s.has(s.holder) && !s.migrated(s.holder):
		return false
	case !s.has(s.holder), h.Storage != "", s.stub != nil && h.To == s.stub.VMID:
		return s.target == nil || s.target.offline != "" || !s.came(s.target.Config.Volume(h.TargetKey))
	}
	return true
}

// came reports whether the target of the handover has received a volume since, on the storage where the disk is to be.
func (s *state) came(volume string) bool {
	h := s.Handover
	return volume != "" && !slices.Contains(h.Before, volume) && storageOf(volume) == cmp.Or(h.Storage, storageOf(s.Volume))
}

// has reports whether a VM has the disk.
func (s *state) has(v *vm) bool { return v.attached(s.Volume) != "" || v.unused(s.Volume) != "" }

// arrived returns the name that the disk has received in the target of the handover: the volume on the storage that the target did not have before.
// It is empty if there is none, or more than one.
func (s *state) arrived() string {
	fresh := slices.DeleteFunc(s.target.volumes(), func(v string) bool { return !s.came(v) })
	if at := s.target.Config.Volume(s.Handover.TargetKey); slices.Contains(fresh, at) {
		return at
	}
	if len(fresh) != 1 || s.migrated(s.target) {
		return ""
	}
	return fresh[0]
}

// storageOf returns the storage of a volume.
func storageOf(volume string) string {
	storage, _, _ := strings.Cut(volume, ":")
	return storage
}

// newVolume is the remedy for a lost disk.
const newVolume = ": delete this Volume, and create another one"

// decideLost decides about a disk that no longer exists. What remains is the stub VM, which is removed with the Volume if it is empty.
func (s *state) decideLost(why string) *decision {
	switch {
	case s.deleted && s.stub != nil && s.stub.offline != "":
		return because(wait, reasonNodeOffline, "%s", s.stub.offline)
	case s.deleted && s.stub != nil && len(s.stub.volumes()) == 0:
		return s.decideDestroy()
	case s.deleted:
		return &decision{action: release}
	case !s.Lost:
		return because(lose, reasonLost, "%s", why)
	}
	return because(stuck, reasonLost, "%s%s", s.Message, s.hint)
}

// restoreFailed reports whether a restore in place of the VM has failed. That leaves no configuration and no identity, but all disks that the backup
// does not have. These are on their storages, and become unused disks of the VM once it is restored, or its disks are rescanned.
func (v *vm) restoreFailed() bool {
	c := maps.Clone(v.Config)
	maps.DeleteFunc(c, func(option, _ string) bool { return qemu.IsUnused(option) })
	return v.offline == "" && c.Unfinished()
}

// waitForRestore returns the decision to wait for another restore.
func waitForRestore(v *vm) *decision {
	return because(wait, reasonRestoreFailed, "a restore in place of VM %d has failed, and its configuration is lost. The disk is on its storage still: "+
		"restore the VM again, by restoreInPlace or qmrestore --force, and it is an unused disk of it. "+
		"Until then do not destroy the VM, and use its VMID for no other one", v.VMID)
}

// decideHeld decides about a disk that a VM has.
func (s *state) decideHeld() *decision {
	v := s.holder
	owner, _ := qemu.VolumeOwner(s.Volume)
	switch {
	case v == nil:
		return s.decideLost(fmt.Sprintf("VM %d, which had the disk, was destroyed, and the disk %s with it"+newVolume, owner, s.Volume))
	case v.offline != "":
		return because(wait, reasonNodeOffline, "%s", v.offline)
	case v.Config["lock"] == "create" || v.Config["lock"] == "clone":
		return because(wait, reasonLocked, "%s", vmstate.Locked(v.VMID, v.Config["lock"]))
	case v.restoreFailed():
		return waitForRestore(v)
	case !s.isRecordedHolder(v):
		return s.decideLost(fmt.Sprintf("VM %d, which had the disk %s, was destroyed and created again, and the disk is gone"+newVolume, owner, s.Volume))
	}
	if d := s.decidePlace(v); d != nil {
		return d
	}
	switch {
	case !s.has(v):
		return s.decideLost(fmt.Sprintf("VM %d no longer has the disk %s: it was removed, or moved by somebody; put it back, "+
			"or delete this Volume and adopt the disk by another one%s", owner, s.Volume, s.renamedHint(v)))
	case s.deleted:
		return s.decideReclaim()
	}
	w := s.firstClaim()
	waits := w == nil || w.vm == nil
	switch {
	case !waits && w.vm.VMID == v.VMID, waits && s.heldByStub():
		return s.decideSize(v)
	case !s.heldByStub():
		return s.decideReturn()
	}
	return s.decideBind(w)
}

// heldByStub reports whether the stub VM has the disk.
func (s *state) heldByStub() bool { return s.stub != nil && s.holder.VMID == s.stub.VMID }

// firstClaim returns the claim of the Machine that is to have the disk; nil for none.
func (s *state) firstClaim() *claim {
	if len(s.claims) == 0 || s.claims[0].deleted {
		return nil
	}
	return &s.claims[0]
}

// decideReclaim decides about a deleted Volume.
func (s *state) decideReclaim() *decision {
	if w := s.firstClaim(); w != nil {
		return because(stuck, xpv2.ReasonDeleting, "Machine %s lists the Volume: take it off its disks, which keeps the data, then the Volume goes", w.name)
	}
	switch {
	case s.retain && s.heldByStub():
		return s.decideRetain()
	case s.retain && s.Adopted && !s.owned && !s.leaving && s.holder.attached(s.Volume) == "":
		return &decision{action: release}
	case !s.heldByStub():
		return s.decideReturn()
	}
	return s.decideDestroy()
}

// decideRetain decides about a disk that stays in the stub VM. A user, or an attempt to destroy the stub VM, may have removed its protection.
func (s *state) decideRetain() *decision {
	if s.stub.Config[optionProtection] == "1" {
		return &decision{action: release}
	}
	if d := s.stub.waits(); d != nil {
		return d
	}
	return s.afterBackoff(&decision{action: protect, from: s.stub})
}

// decideDestroy decides about the stub VM and its contents.
func (s *state) decideDestroy() *decision {
	if s.stub == nil {
		return because(wait, xpv2.ReasonDeleting, "the stub VM is being removed")
	}
	if others := slices.DeleteFunc(s.stub.volumes(), func(v string) bool { return v == s.Volume }); len(others) > 0 {
		return because(stuck, xpv2.ReasonDeleting,
			"VM %d, the stub VM, has disks of others, which would be destroyed with it: move them to another VM, or remove them: %s",
			s.stub.VMID, strings.Join(others, ", "))
	}
	if d := s.stub.waits(); d != nil {
		return d
	}
	return s.afterBackoff(&decision{action: destroy, from: s.stub})
}

// decideReturn decides about a disk that is returned to the stub VM.
func (s *state) decideReturn() *decision {
	v := s.holder
	key := v.attached(s.Volume)
	switch {
	case key != "" && s.leaving && v.running:
		return because(wait, reasonAttached,
			"the disk is %s of VM %d, which its Machine is about to shut down and destroy: it is handed back in between", key, v.VMID)
	case key != "" && s.owned:
		return because(wait, reasonAttached, "the disk is %s of VM %d, whose Machine no longer lists it and is to detach it", key, v.VMID)
	case key != "" && !s.leaving:
		return because(wait, reasonAttached, "the disk is %s of VM %d, which no Machine manages: detach it there", key, v.VMID)
	}
	if d := s.stubAt(v); d != nil {
		return d
	}
	if key == "" || !v.attachedNow(key, s.Volume) {
		key = v.unused(s.Volume)
	}
	if key == "" {
		return because(wait, reasonAttached, "a change of the disk is pending in VM %d: restart the VM, which applies it", v.VMID)
	}
	return s.given(&decision{action: give, from: v, key: key, to: s.stub})
}

// attachedNow reports whether a volume is a device of the running VM, whatever is pending.
func (v *vm) attachedNow(device, volume string) bool { return v.Active.Volume(device) == volume }

// stubAt returns the decision that brings the stub VM to the node of another VM; nil if it is there.
func (s *state) stubAt(v *vm) *decision {
	switch {
	case s.stub == nil:
		return s.afterBackoff(&decision{action: makeStub, node: v.Node})
	case s.stub.Node == v.Node:
		return nil
	}
	if d := s.stub.waits(); d != nil {
		return d
	}
	if left := slices.DeleteFunc(s.stub.volumes(), func(x string) bool { return x == s.Volume && s.shared }); len(left) > 0 {
		return because(stuck, reasonWrongNode,
			"VM %d, the stub VM, is on node %s and cannot go to node %s with these disks: move them to another VM, or remove them: %s",
			s.stub.VMID, s.stub.Node, v.Node, strings.Join(left, ", "))
	}
	return s.afterBackoff(&decision{action: migrate, from: s.stub, node: v.Node})
}

// decideBind decides about a disk in the stub VM that a Machine is to have.
func (s *state) decideBind(w *claim) *decision {
	if w.vm.offline != "" {
		return because(wait, reasonNodeOffline, "%s", w.vm.offline)
	}
	away := w.vm.Node != s.holder.Node && !s.shared
	if away && s.storage != "" && s.storage != storageOf(s.Volume) {
		return s.decideMove(s.holder, s.holder.attached(s.Volume)) // All nodes may have access to the other storage.
	}
	if away {
		return because(stuck, reasonWrongNode,
			"the disk is on storage %s of node %s, and the VM of Machine %s on node %s: the storage is local, so set node of the Machine to %s",
			storageOf(s.Volume), s.holder.Node, w.name, w.vm.Node, s.holder.Node)
	}
	if d := s.stubAt(w.vm); d != nil {
		return d
	}
	key := s.holder.attached(s.Volume)
	if key == "" {
		key = s.holder.unused(s.Volume)
	}
	return s.given(&decision{action: give, from: s.holder, key: key, to: w.vm})
}

// given returns the decision to give the disk away, unless a task works on one of the VMs.
func (s *state) given(d *decision) *decision {
	for _, v := range []*vm{d.from, d.to} {
		if w := v.waits(); w != nil {
			return w
		}
	}
	return s.afterBackoff(d)
}

// decideSize decides about the size of a disk that is where it is to be.
func (s *state) decideSize(v *vm) *decision {
	device := v.attached(s.Volume)
	if s.storage != "" && s.storage != storageOf(s.Volume) {
		return s.decideMove(v, device)
	}
	disk, err := proxmox.ParseDisk(v.Config[device])
	has, known := disk.Size()
	switch {
	case s.size == 0, err == nil && known && has >= s.size && has-s.size <= rounding:
		return &decision{action: keep}
	case err == nil && known && has > s.size:
		return because(stuck, reasonImmutable, "the disk has %s and cannot shrink to %s: set size to %s or more", has, s.size, has)
	case device == "" && s.heldByStub():
		return s.decideAttach(v)
	case device == "" || !known || !v.staysAttached(device, s.Volume):
		return &decision{action: keep} // It is being attached or detached, and grows afterwards.
	case v.changes(device):
		return pending(v, device)
	}
	if d := v.waits(); d != nil {
		return d
	}
	return s.afterBackoff(&decision{action: grow, from: v, key: device})
}

// decideAttach decides about an unused disk of the stub VM. PVE changes only attached disks.
func (s *state) decideAttach(v *vm) *decision {
	if d := v.waits(); d != nil {
		return d
	}
	return s.afterBackoff(&decision{action: attach, from: v, key: v.unused(s.Volume)})
}

// decideMove decides about a disk that is to be on another storage.
func (s *state) decideMove(v *vm, device string) *decision {
	switch {
	case !s.hasStorage:
		return because(stuck, reasonNoStorage,
			"node %s, which the disk is on, has no storage %s for disks that is available: make it available there, or name another one", v.Node, s.storage)
	case device == "" && s.heldByStub():
		return s.decideAttach(v)
	case device == "" || !v.staysAttached(device, s.Volume):
		return &decision{action: keep} // It is being attached or detached, and moves afterwards.
	case v.changes(device):
		return pending(v, device)
	}
	if d := v.waits(); d != nil {
		return d
	}
	return s.afterBackoff(&decision{action: move, from: v, key: device, to: v})
}

// rounding is how much larger than requested a storage may create a disk. LVM, for example, allocates whole extents.
const rounding = 32 * proxmox.MiB

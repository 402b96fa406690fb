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
	"maps"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

const (
	stubID, ofA, ofB = 10000, 10001, 10002
	atStub, atA      = "lvm:vm-10000-disk-0", "lvm:vm-10001-disk-1"
)

// seen returns a VM on a node, with options in words: scsi0=volume.
func seen(vmid int, node string, options ...string) *vm {
	c := qemu.Config{"smbios1": "uuid=" + uuidOf(vmid), "meta": "ctime=1"}
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		c[key] = value
	}
	return &vm{Ref: proxmox.Ref{Node: node, VMID: vmid}, State: qemu.State{Config: c, Active: c}}
}

// pends adds a pending option of its scsi1 to a VM.
func pends(v *vm) *vm {
	c := maps.Clone(v.Config)
	c["scsi1"] += ",discard=on"
	return &vm{Ref: v.Ref, State: qemu.State{Config: c, Active: v.Active}}
}

// ruins returns what a failed restore in place has left of a VM.
func ruins(options ...string) *vm {
	v := seen(ofA, "n1", append(options, "memory=128")...)
	delete(v.Config, "smbios1")
	delete(v.Config, "meta")
	return v
}

func uuidOf(vmid int) string {
	return map[int]string{
		stubID: "00000000-0000-4000-8000-000000000000", ofA: "aaaaaaaa-0000-4000-8000-000000000000", ofB: "bbbbbbbb-0000-4000-8000-000000000000",
	}[vmid]
}

// there returns a state in which a VM has the disk.
func there(volume string, holder, stub *vm, claims ...claim) *state {
	s := &state{Record: &volumeref.Record{VMID: stubID, UUID: uuidOf(stubID), Volume: volume}, holder: holder, stub: stub, claims: claims, now: 1000}
	if holder != nil {
		s.Holder = holder.holder()
	}
	return s
}

func TestDecideHeld(t *testing.T) {
	stub, empty := seen(stubID, "n1", "scsi0="+atStub+",size=2G"), seen(stubID, "n1")
	safe := seen(stubID, "n1", "scsi0="+atStub+",size=2G", "protection=1")
	a := seen(ofA, "n1", "scsi1="+atA+",size=2G")
	loose := seen(ofA, "n1", "unused0="+atA)
	far := claim{uid: "b", name: "b", vm: seen(ofB, "n2")}
	cases := map[string]struct {
		reason string
		state  *state
		change func(*state)
		want   action
		says   string
	}{
		"Unbound": {reason: "No Machine lists it.", state: there(atStub, stub, stub), want: keep},
		"NoVM":    {reason: "The Machine has no VM yet.", state: there(atStub, stub, stub, claim{name: "a"}), want: keep},
		"Bind":    {reason: "The Machine gets it.", state: there(atStub, stub, stub, claim{name: "a", vm: seen(ofA, "n1")}), want: give},
		"WrongNode": {
			reason: "A disk on local storage stays on its node.",
			state:  there(atStub, stub, stub, far), want: stuck, says: "set node of the Machine to n1",
		},
		"OtherNode": {
			reason: "On shared storage the stub VM goes.",
			state:  there(atStub, stub, stub, far), change: func(s *state) { s.shared = true }, want: migrate,
		},
		"Bound": {reason: "The disk is attached to the VM of its Machine.", state: there(atA, a, empty, claim{name: "a", vm: a}), want: keep},
		"Off": {
			reason: "The Machine that has the disk detaches it.",
			state:  there(atA, a, empty), change: func(s *state) { s.owned = true }, want: wait, says: "is to detach it",
		},
		"NobodysVM": {reason: "Nobody detaches a disk from a VM without a Machine.", state: there(atA, a, empty), want: wait, says: "no Machine manages"},
		"Detached":  {reason: "A detached disk goes back to the stub VM.", state: there(atA, loose, empty), change: func(s *state) { s.owned = true }, want: give},
		"LeavingRuns": {
			reason: "The VM of a disk that leaves is shut down first.",
			state:  there(atA, a, empty), change: func(s *state) { s.leaving, a.running = true, true }, want: wait,
		},
		"NoStub":  {reason: "The stub VM was destroyed.", state: there(atA, loose, nil), want: makeStub},
		"Gone":    {reason: "The VM was destroyed.", state: there(atA, nil, empty), want: lose, says: "was destroyed"},
		"Removed": {reason: "The disk was removed from its VM.", state: there(atA, seen(ofA, "n1"), empty), want: lose, says: "no longer has"},
		"Anew": {
			reason: "A VM that is created again has another disk of the name.", state: there(atA, a, empty),
			change: func(s *state) { s.Holder.Created = "ctime=0" }, want: lose, says: "created again",
		},
		"Ruined": {
			reason: "A restore in place has failed, which leaves the disks that the backup does not have.",
			state:  there(atA, a, empty), change: func(s *state) { s.holder = ruins() }, want: wait, says: "restore the VM again",
		},
		"RuinedFound": {
			reason: "Somebody has looked for the disks of what is left.",
			state:  there(atA, a, empty), change: func(s *state) { s.holder = ruins("unused0=" + atA) }, want: wait, says: "restore the VM again",
		},
		"RuinedDeleted": {
			reason: "A deletion is no loss of the disk.", state: there(atA, a, empty),
			change: func(s *state) { s.holder, s.deleted = ruins(), true }, want: wait, says: "restore the VM again",
		},
		"Lost": {
			reason: "A disk that is gone stays so.", state: there(atA, seen(ofA, "n1"), empty),
			change: func(s *state) { s.Lost, s.Message = true, "gone" }, want: stuck, says: "gone",
		},
		"LostName": {
			reason: "The next disk of the VM may get the name of one that is gone.", state: there(atA, a, empty),
			change: func(s *state) { s.Lost, s.Message = true, "gone" }, want: stuck, says: "gone",
		},
		"Grow": {
			reason: "A disk that is smaller than asked for grows.",
			state:  there(atStub, stub, stub), change: func(s *state) { s.size = 3 * proxmox.GiB }, want: grow,
		},
		"Move": {
			reason: "A disk whose spec names another storage moves.",
			state:  there(atA, a, empty, claim{name: "a", vm: a}), change: func(s *state) { s.storage, s.hasStorage = "nas", true }, want: move,
		},
		"MoveWithChange": {
			reason: "A change that is pending names the disk where it is.", state: there(atA, pends(a), empty, claim{name: "a", vm: pends(a)}),
			change: func(s *state) { s.storage, s.hasStorage, s.claims[0].vm = "nas", true, s.holder }, want: wait, says: "a change of scsi1 is pending",
		},
		"GrowWithChange": {
			reason: "A disk waits to grow while a change is pending that names it.", state: there(atA, pends(a), empty, claim{name: "a", vm: pends(a)}),
			change: func(s *state) { s.size, s.claims[0].vm = 3*proxmox.GiB, s.holder }, want: wait, says: "a change of scsi1 is pending",
		},
		"MoveFromStub": {
			reason: "What is not attached does not move.", state: there(atStub, seen(stubID, "n1", "unused0="+atStub), nil),
			change: func(s *state) { s.stub, s.storage, s.hasStorage = s.holder, "nas", true }, want: attach,
		},
		"NoStorage": {
			reason: "The storage that the spec names is not there.",
			state:  there(atStub, stub, stub), change: func(s *state) { s.storage = "nas" }, want: stuck, says: "has no storage nas",
		},
		"LostStubOff": {
			reason: "The stub VM goes when it can be seen.", state: there(atA, nil, &vm{offline: "off"}),
			change: func(s *state) { s.Lost, s.deleted = true, true }, want: wait, says: "off",
		},
		"Shrink": {
			reason: "A disk that is larger than asked for is not shrunk.",
			state:  there(atStub, stub, stub), change: func(s *state) { s.size = proxmox.GiB }, want: stuck, says: "cannot shrink",
		},
		"Rounded": {
			reason: "LVM rounds a size up to whole extents.",
			state:  there(atStub, stub, stub), change: func(s *state) { s.size = 2*proxmox.GiB - 4*proxmox.MiB }, want: keep,
		},
		"Deleted": {
			reason: "The disk of a deleted Volume is destroyed.",
			state:  there(atStub, stub, stub), change: func(s *state) { s.deleted = true }, want: destroy,
		},
		"Retained": {
			reason: "The disk of a deleted Volume that is to be retained stays.",
			state:  there(atStub, safe, safe), change: func(s *state) { s.deleted, s.retain = true, true }, want: release,
		},
		"RetainedUnprotected": {
			reason: "An attempt to destroy it has taken the protection away.",
			state:  there(atStub, stub, stub), change: func(s *state) { s.deleted, s.retain = true, true }, want: protect,
		},
		"InUse": {
			reason: "A Machine lists it.", state: there(atA, a, empty, claim{name: "a", vm: a}),
			change: func(s *state) { s.deleted = true }, want: stuck, says: "Machine a lists",
		},
		"Foreign": {
			reason: "Somebody has put a disk into the stub VM.", state: there(atStub, stub, seen(stubID, "n1", "scsi0="+atStub, "scsi1=lvm:vm-10000-disk-1")),
			change: func(s *state) { s.holder, s.deleted = s.stub, true }, want: stuck, says: "disks of others",
		},
		"Rests": {
			reason: "Nothing is done just after a failure.", state: there(atStub, stub, stub, claim{name: "a", vm: seen(ofA, "n1")}),
			change: func(s *state) { s.Failures, s.FailedAt, s.Message = 1, 990, "no" }, want: wait, says: "no",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a.running = false
			if tc.change != nil {
				tc.change(tc.state)
			}
			got := tc.state.decide()
			if got.action != tc.want || tc.says != "" && (got.problem == nil || !strings.Contains(got.problem.Message, tc.says)) {
				t.Errorf("%s\ndecide(): action %d, %+v; want %d, %q", tc.reason, got.action, got.problem, tc.want, tc.says)
			}
		})
	}
}

func TestDecideHandover(t *testing.T) {
	stub, target := seen(stubID, "n1", "scsi0="+atStub), seen(ofA, "n1")
	begun := func(task proxmox.UPID, ago int64) *volumeref.Handover {
		return &volumeref.Handover{
			From: stubID, Key: "scsi0", To: ofA, TargetKey: "unused0", Holder: target.holder(),
			Before: []string{"lvm:vm-10001-disk-0"}, Begun: 1000 - ago, Task: task,
		}
	}
	has := func(options ...string) *vm { return seen(ofA, "n1", append(options, "scsi0=lvm:vm-10001-disk-0")...) }
	cases := map[string]struct {
		reason string
		h      *volumeref.Handover
		holder *vm
		target *vm
		moving bool
		task   *proxmox.Task
		want   action
	}{
		"Runs":     {reason: "The task of the handover runs.", h: begun("u", 60), holder: stub, target: target, task: &proxmox.Task{Running: true}, want: wait},
		"MayCome":  {reason: "The answer was lost just now.", h: begun("", 1), holder: stub, target: target, want: wait},
		"Seen":     {reason: "A task of its sort runs.", h: begun("", 60), holder: stub, target: target, moving: true, want: wait},
		"NotBegun": {reason: "Nothing has come of it.", h: begun("", 60), holder: stub, target: target, want: forget},
		"Failed": {
			reason: "The task of the handover has failed.",
			h:      begun("u", 1), holder: stub, target: target, task: &proxmox.Task{ExitStatus: "no"}, want: forget,
		},
		"Arrived": {reason: "The target has it.", h: begun("", 1), holder: seen(stubID, "n1"), target: has("unused0=" + atA), want: arrive},
		"Attached": {
			reason: "The target has attached the disk meanwhile.",
			h:      begun("", 1), holder: seen(stubID, "n1"), target: has("scsi5=" + atA), want: arrive,
		},
		"Ambiguous": {
			reason: "Another disk has come to the target as well.",
			h:      begun("", 1), holder: seen(stubID, "n1"), target: has("scsi5="+atA, "scsi6=lvm:vm-10001-disk-2"), want: stuck,
		},
		"Elsewhere": {
			reason: "A new one of another storage is not it.",
			h:      begun("", 1), holder: seen(stubID, "n1"), target: has("scsi5=nas:vm-10001-disk-1"), want: stuck,
		},
		"Refused": {reason: "The call of the handover was not carried out.", h: begun("", 1000), holder: stub, target: target, want: forget},
		"LateRefusal": {
			reason: "A call that was given up was carried out after all, so that the next one was refused.",
			h:      begun("", 1000), holder: seen(stubID, "n1"), target: has("unused0=" + atA), want: arrive,
		},
		"Gone":    {reason: "The target is gone.", h: begun("u", 60), holder: seen(stubID, "n1"), want: lose},
		"Offline": {reason: "The node of the target is.", h: begun("u", 60), holder: seen(stubID, "n1"), target: &vm{offline: "off"}, want: wait},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := there(atStub, stub, stub)
			s.Handover, s.holder, s.stub, s.target, s.moving, s.task = tc.h, tc.holder, tc.holder, tc.target, tc.moving, tc.task
			if got := s.decide(); got.action != tc.want {
				t.Errorf("%s\ndecide(): action %d, %+v; want %d", tc.reason, got.action, got.problem, tc.want)
			}
		})
	}
}

// TestDecideSameName checks the case that the next disk of a VM gets the name of the one that has left it.
func TestDecideSameName(t *testing.T) {
	moved := &volumeref.Handover{From: ofA, Key: "scsi5", To: ofA, TargetKey: "scsi5", Storage: "nas", Before: []string{atA}, Task: "u"}
	returned := &volumeref.Handover{From: ofA, Key: "unused0", To: stubID, TargetKey: "unused0", Task: "u"}
	ok := &proxmox.Task{ExitStatus: "OK"}
	empty := seen(stubID, "n1")
	cases := map[string]struct {
		reason string
		h      *volumeref.Handover
		a      *vm
		stub   *vm
		task   *proxmox.Task
		want   action
	}{
		"Moved": {
			reason: "The disk has moved, and another one has come.",
			h:      moved, a: seen(ofA, "n1", "scsi5=nas:vm-10001-disk-0", "unused0="+atA), stub: empty, want: arrive,
		},
		"NotMoved": {reason: "The disk has not moved.", h: moved, a: seen(ofA, "n1", "scsi5="+atA), stub: empty, want: forget},
		"MovedOff": {
			reason: "The disk has moved, and was detached.",
			h:      moved, a: seen(ofA, "n1", "unused0=nas:vm-10001-disk-0", "scsi5="+atA), stub: empty, task: ok, want: arrive,
		},
		"Returned": {
			reason: "The stub VM has it, and the VM another one.", h: returned, a: seen(ofA, "n1", "scsi7="+atA),
			stub: seen(stubID, "n1", "unused0="+atStub), want: arrive,
		},
		"NotReturned": {reason: "The stub VM does not have it.", h: returned, a: seen(ofA, "n1", "unused0="+atA), stub: empty, want: forget},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := there(atA, tc.a, tc.stub)
			s.target, s.task, s.Handover = tc.a, tc.task, tc.h
			if tc.h.To == stubID {
				s.target = tc.stub
			}
			tc.h.Holder = s.target.holder()
			if got := s.decide(); got.action != tc.want {
				t.Errorf("%s\ndecide(): action %d, %+v; want %d", tc.reason, got.action, got.problem, tc.want)
			}
		})
	}
}

func TestDecideMaking(t *testing.T) {
	stub, busy := seen(stubID, "n1", "scsi0="+atStub), seen(stubID, "n1", "scsi0="+atStub)
	busy.busy = true
	cases := map[string]struct {
		reason string
		state  state
		want   action
	}{
		"New":     {reason: "Nothing was begun for a new Volume.", state: state{Record: &volumeref.Record{}}, want: makeStub},
		"Deleted": {reason: "Nothing is left of a deleted Volume.", state: state{Record: &volumeref.Record{}, deleted: true}, want: release},
		"Runs": {
			reason: "The task that creates the stub VM runs.",
			state:  state{Record: &volumeref.Record{Begun: 1, Task: "u"}, task: &proxmox.Task{Running: true}}, want: wait,
		},
		"MayCome":  {reason: "The answer was lost just now.", state: state{Record: &volumeref.Record{Begun: 995}}, want: wait},
		"NotBegun": {reason: "Nothing has come of it.", state: state{Record: &volumeref.Record{Begun: 1}}, want: forget},
		"Foreign":  {reason: "Somebody else has the VMID.", state: state{Record: &volumeref.Record{Begun: 995}, foreign: true}, want: forget},
		"There":    {reason: "The stub VM is there.", state: state{Record: &volumeref.Record{Begun: 995}, stub: stub}, want: settle},
		"Late":     {reason: "The stub VM has come later than was waited.", state: state{Record: &volumeref.Record{}, stub: stub}, want: settle},
		"Locked": {
			reason: "The stub VM is being made.",
			state:  state{Record: &volumeref.Record{Begun: 1}, stub: seen(stubID, "n1", "lock=create")}, want: wait,
		},
		"Failed": {
			reason: "The task that creates the stub VM has failed.",
			state:  state{Record: &volumeref.Record{Begun: 1, Task: "u"}, task: &proxmox.Task{ExitStatus: "no"}}, want: forget,
		},
		"Removing": {reason: "The disk to remove is gone.", state: state{Record: &volumeref.Record{Volume: atStub, Removing: true}, deleted: true}, want: release},
		"NotRemoved": {
			reason: "A disk to remove is to be retained after all.",
			state:  state{Record: &volumeref.Record{Volume: atStub, Removing: true}, stub: stub, deleted: true, retain: true}, want: forget,
		},
		"BeingRemoved": {
			reason: "A disk that is being removed cannot be retained any more.", want: wait,
			state: state{Record: &volumeref.Record{Volume: atStub, Removing: true}, stub: busy, deleted: true, retain: true},
		},
		"Undone": {
			reason: "The removal has failed.",
			state:  state{Record: &volumeref.Record{Volume: atStub, Removing: true}, task: &proxmox.Task{ExitStatus: "no"}, stub: stub}, want: forget,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.state.now = 1000
			if got := tc.state.decide(); got.action != tc.want {
				t.Errorf("%s\ndecide(): action %d, %+v; want %d", tc.reason, got.action, got.problem, tc.want)
			}
		})
	}
}

func TestDeleting(t *testing.T) {
	s := there(atA, seen(ofA, "n1", "scsi1="+atA), seen(stubID, "n1"))
	s.leaving = true
	if d := s.decide(); d.action != give || d.key != "scsi1" || d.to != s.stub {
		t.Errorf("the disk of a VM that is off and about to be destroyed goes back as it is: %+v", d)
	}
	s.holder.Config["lock"] = "backup"
	if d := s.decide(); d.action != wait || d.problem.Reason != xpv2.ConditionReason("Locked") {
		t.Errorf("but not while the VM is locked: %+v", d)
	}
}

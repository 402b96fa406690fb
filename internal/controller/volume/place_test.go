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
	"strings"
	"testing"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// TestDecidePlace checks VMs whose disks got the names of others in a migration, which keeps their devices.
func TestDecidePlace(t *testing.T) {
	const mine, another, thirds = "lvm:vm-10001-disk-2", "lvm:vm-10001-disk-1", "lvm:vm-10001-disk-3"
	was := volumeref.Place{Node: "n1", Device: "scsi6", Size: "2G"}
	cases := map[string]struct {
		reason string
		vm     *vm
		change func(*state)
		want   action
		says   string
	}{
		"Same": {reason: "The disk is where it was seen last.", vm: seen(ofA, "n1", "scsi6="+mine+",size=2G"), want: keep},
		"Elsewhere": {
			reason: "A device keeps its name on another node where that is free.", vm: seen(ofA, "n2", "scsi6="+mine+",size=2G"), want: keep,
		},
		"Renamed": {
			reason: "The device is the disk, by a name that is free there.", vm: seen(ofA, "n2", "scsi6="+another+",size=2G"), want: follow,
		},
		"Permuted": {
			reason: "The name is another disk's.", vm: seen(ofA, "n2", "scsi6="+another+",size=2G", "scsi7="+mine+",size=2G"),
			change: func(s *state) { s.others = []string{"scsi0", "scsi7"} }, want: follow,
		},
		"Exchanged": {
			reason: "A live migration numbers the disks in the order of their devices, and one of a VM that is off keeps their names.",
			vm:     seen(ofA, "n2", "scsi6="+thirds+",size=2G", "scsi7="+mine+",size=2G"),
			change: func(s *state) { s.others = []string{"scsi7"} }, want: stuck, says: "scsi7 has the former name",
		},
		"ByText": {
			reason: "The order of devices is that of their names as texts, and each storage has its own numbers.",
			vm: seen(ofA, "n2", "efidisk0=lvm:vm-10001-disk-0,size=4M", "scsi10="+another+",size=2G", "scsi6="+mine+",size=2G",
				"scsi7="+thirds+",size=2G", "scsi8=nas:10001/vm-10001-disk-0.qcow2,size=2G", "tpmstate0=lvm:vm-10001-disk-4"),
			change: func(s *state) { s.Place.Device, s.others = "scsi10", []string{"scsi6"} }, want: follow,
		},
		"Cyclic": {
			reason: "A record that the VM contradicts claims nothing.", vm: seen(ofA, "n2", "scsi6="+another+",size=2G", "scsi7="+mine+",size=2G", "scsi8="+thirds),
			change: func(s *state) { s.neighbours = []neighbour{{volume: another, device: "scsi8", held: true}} }, want: follow,
		},
		"Claimed": {
			reason: "Another Volume has it by its record, and was seen nowhere else.", vm: seen(ofA, "n2", "scsi6="+another+",size=2G"),
			change: func(s *state) { s.neighbours = []neighbour{{volume: another, held: true}} }, want: stuck, says: "another Volume has",
		},
		"SameDevice": {
			reason: "Another Volume was seen as the same device.", vm: seen(ofA, "n2", "scsi6="+another+",size=2G"),
			change: func(s *state) { s.neighbours = []neighbour{{volume: thirds, device: "scsi6", held: true}} }, want: stuck, says: "another Volume has",
		},
		"OtherSize": {
			reason: "A disk of another size is another one.", vm: seen(ofA, "n2", "scsi6="+another+",size=3G"), want: stuck, says: "with 3G in place of 2G",
		},
		"NoSize": {
			reason: "The size of an unused disk is not known.", vm: seen(ofA, "n2", "unused0="+another),
			change: func(s *state) { s.Place.Device = "unused0" }, want: stuck, says: "cannot be compared",
		},
		"OtherStorage": {
			reason: "Somebody may have put it there.", vm: seen(ofA, "n2", "scsi6=nas:vm-10001-disk-1,size=2G"), want: stuck, says: "on another storage",
		},
		"NoDisk": {
			reason: "A medium is none.", vm: seen(ofA, "n2", "scsi6=lvm:iso/a.iso,media=cdrom,size=2G"), want: stuck, says: "no disk of its own",
		},
		"Detached": {
			reason: "The name of a disk that was detached since is no proof.", vm: seen(ofA, "n2", "unused0="+mine), want: stuck, says: "no scsi6 any more",
		},
		"Replaced": {
			reason: "A disk was detached and another one attached in its place.", vm: seen(ofA, "n2", "scsi6="+another+",size=2G", "unused0="+mine),
			want: stuck, says: "unused0 has the former name",
		},
		"Locked": {
			reason: "The names are those of the other node before the VM is there.", vm: seen(ofA, "n1", "scsi6="+another+",size=2G", "scsi7="+mine, "lock=migrate"),
			want: wait, says: "migrat",
		},
		"Deleted": {
			reason: "What may be another's is not destroyed.", vm: seen(ofA, "n2", "scsi6="+another+",size=3G", "scsi7="+mine),
			change: func(s *state) { s.deleted = true }, want: stuck, says: "is not certain",
		},
		"Returned": {
			reason: "The disks of a VM that is back on its node may have other names.", vm: seen(ofA, "n1", "scsi6="+another+",size=2G", "scsi7="+mine+",size=2G"),
			want: stuck, says: "scsi7 has the name",
		},
		"ReturnedGone": {
			reason: "The disk may be there by another name.", vm: seen(ofA, "n1", "scsi6="+another+",size=2G"), want: lose, says: "external-name",
		},
		"DetachedHere": {
			reason: "The Machine detaches it.", vm: seen(ofA, "n1", "unused0="+mine), change: func(s *state) { s.claims, s.owned = nil, true }, want: give,
		},
		"Attached": {
			reason: "The Machine attaches it, and detaches another one, which is the same unused disk then.",
			vm:     seen(ofA, "n1", "scsi6="+mine+",size=2G", "unused0="+another), change: func(s *state) { s.Place.Device = "unused0" }, want: keep,
		},
		"AttachedAway": {
			reason: "A migration names attached disks again.", vm: seen(ofA, "n2", "scsi6="+mine+",size=2G", "unused0="+another),
			change: func(s *state) { s.Place.Device = "unused0" }, want: stuck, says: "then set the annotation",
		},
		"TakenOver": {
			reason: "The Machine has detached it, and another disk of it has its device.", vm: seen(ofA, "n1", "scsi6="+another+",size=2G", "unused0="+mine),
			change: func(s *state) { s.claims, s.owned, s.others = nil, true, []string{"scsi6"} }, want: give,
		},
		"ReplacedHere": {
			reason: "Somebody has attached another disk in its place.", vm: seen(ofA, "n1", "scsi6="+another+",size=2G", "unused0="+mine),
			want: stuck, says: "unused0 has the name",
		},
		"ReturnedTakenOver": {
			reason: "The disks of a VM that is back on its node may have other names.", vm: seen(ofA, "n1", "scsi6="+another+",size=2G", "scsi7="+mine+",size=2G"),
			change: func(s *state) { s.others = []string{"scsi6"} }, want: stuck, says: "scsi7 has the name",
		},
		"Swapped": {
			reason: "Another Volume has the device now.", vm: seen(ofA, "n1", "scsi6="+another+",size=2G", "unused0="+mine),
			change: func(s *state) {
				s.claims, s.owned, s.neighbours = nil, true, []neighbour{{volume: another, device: "scsi6", held: true}}
			},
			want: give,
		},
		"OtherEntry": {
			reason: "The Machine has another disk where the name is.", vm: seen(ofA, "n1", "scsi7="+mine+",size=2G"),
			change: func(s *state) { s.others = []string{"scsi7"} }, want: stuck, says: "another disk of the Machine",
		},
		"Shared": {
			reason: "A migration names no disk again that all nodes reach.", vm: seen(ofA, "n2", "scsi7="+mine+",size=2G", "scsi6="+another),
			change: func(s *state) { s.shared = true }, want: keep,
		},
		"Old": {
			reason: "An old record does not tell where the disk was.", vm: seen(ofA, "n2", "scsi7="+mine+",size=2G"),
			change: func(s *state) { s.Place = volumeref.Place{} }, want: keep,
		},
		"OldOtherEntry": {
			reason: "The Machine tells of an old record.", vm: seen(ofA, "n2", "scsi7="+mine+",size=2G"),
			change: func(s *state) { s.Place, s.others = volumeref.Place{}, []string{"scsi7"} }, want: stuck, says: "another disk of the Machine",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := there(mine, tc.vm, seen(stubID, tc.vm.Node), claim{name: "a", vm: tc.vm})
			s.Place = was
			if tc.change != nil {
				tc.change(s)
			}
			got := s.decide()
			if got.action != tc.want || tc.says != "" && (got.problem == nil || !strings.Contains(got.problem.Message, tc.says)) {
				t.Errorf("%s\ndecide(): action %d, %+v; want %d, %q", tc.reason, got.action, got.problem, tc.want, tc.says)
			}
		})
	}
}

// TestHandoverMigrated moves the VM of a handover, whose answer was lost, to another node, where its disks have other names.
func TestHandoverMigrated(t *testing.T) {
	const mine, another = "lvm:vm-10001-disk-2", "lvm:vm-10001-disk-1"
	base := func(holder, stub *vm) *state {
		s := there(mine, holder, stub)
		s.Place = volumeref.Place{Node: "n1", Device: "scsi6", Size: "2G"}
		s.Handover = &volumeref.Handover{From: ofA, Key: "scsi6", To: stubID, TargetKey: "unused0", Holder: stub.holder()}
		s.target = stub
		return s
	}
	stays := base(seen(ofA, "n2", "scsi6="+another+",size=2G"), seen(stubID, "n1"))
	if got := stays.decide(); got.action != forget {
		t.Errorf("a disk that has stayed, by another name: action %d, %+v", got.action, got.problem)
	}
	left := base(seen(ofA, "n2", "scsi7="+another+",size=2G"), seen(stubID, "n1", "unused0="+atStub))
	if got := left.decide(); got.action != arrive {
		t.Errorf("a disk that has arrived before: action %d, %+v", got.action, got.problem)
	}
	to := base(seen(stubID, "n1"), seen(stubID, "n1"))
	to.target = seen(ofA, "n2", "scsi0=lvm:vm-10001-disk-0", "scsi6="+another)
	to.Handover = &volumeref.Handover{
		From: stubID, Key: "scsi0", To: ofA, TargetKey: "unused0", Holder: to.target.holder(), Before: []string{"lvm:vm-10001-disk-0"},
	}
	if got := to.decide(); got.action != stuck {
		t.Errorf("a disk with a new name is taken for the one that was given: action %d, %+v", got.action, got.problem)
	}
}

// TestUnsurePlace reconciles twice a disk whose record does not contain where it was, as in an earlier release. The place in the status stays while
// the place of the disk is uncertain, and is recorded.
func TestUnsurePlace(t *testing.T) {
	const mine, another = "lvm:vm-10001-disk-2", "lvm:vm-10001-disk-1"
	was := volumeref.Place{Node: "n1", Device: "scsi6", Size: "2G"}
	for name, tc := range map[string]struct {
		reason string
		vm     *vm
		want   action
	}{
		"Detached": {reason: "The disk was detached on another node.", vm: seen(ofA, "n2", "unused0="+another, "scsi7="+mine+",size=3G"), want: stuck},
		"Migrating": {
			reason: "The names may be those of the other node.", vm: seen(ofA, "n1", "scsi6="+another+",size=2G", "scsi7="+mine+",size=3G", "lock=migrate"), want: wait,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Volume{}
			*m.Observation() = v1alpha1.VolumeObservation{Volume: mine, Node: was.Node, Device: was.Device, Size: was.Size}
			for range 2 {
				s := there(mine, tc.vm, seen(stubID, "n1"), claim{name: "a", vm: tc.vm})
				s.unplaced, s.Place = true, volumeref.PlaceOf(m, s.Record)
				e := &external{view: &view{state: s, decision: *s.decide()}}
				if e.view.action != tc.want {
					t.Fatalf("%s decide(): %d, %+v, want %d", tc.reason, e.view.action, e.view.problem, tc.want)
				}
				if noted := e.view.notePlace(m); !noted || s.Place != was {
					t.Errorf("%s notePlace(): %t, %+v", tc.reason, noted, s.Place)
				}
				e.observation(m)
				if o := m.Observation(); o.Node != was.Node || o.Device != was.Device || o.Size != was.Size {
					t.Errorf("%s the status has %+v", tc.reason, *o)
				}
			}
		})
	}
}

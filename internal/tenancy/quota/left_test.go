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

package quota

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// disksOf returns the amounts of a VM with disks of some GiB.
func disksOf(gib int64) Amounts {
	return Amounts{VMs: 1, Cores: 1, Disks("ceph"): gib, Addresses("vmbr0"): 1}
}

// onlyDisks returns the amounts that the list of VMs does not show.
func onlyDisks(gib int64) Amounts { return Amounts{Disks("ceph"): gib, Addresses("vmbr0"): 1} }

// TestLeave checks that an entry keeps what the cluster's list of VMs does not show.
func TestLeave(t *testing.T) {
	cases := map[string]struct {
		reason  string
		entry   Entry
		outside bool
		want    Ledger
	}{
		"Nowhere": {reason: "What was in no VM leaves nothing.", entry: Entry{Has: disksOf(4)}, want: Ledger{}},
		"Nothing": {reason: "VMs without disks are listed.", entry: Entry{Has: vm(4), VMID: 100}, want: Ledger{}},
		"Waited":  {reason: "What was wanted is not there.", entry: Entry{Wants: disksOf(4), VMID: 100, Whole: true}, want: Ledger{}},
		"Disks": {
			reason: "Disks and interfaces are left, also those that were yet to come.",
			entry:  Entry{Name: "web", Has: disksOf(4), Pending: onlyDisks(4), VMID: 100},
			want:   Ledger{"me/100/": {Name: "web", Has: onlyDisks(4), VMID: 100, Left: true}},
		},
		"Unseen": {
			reason: "A VM that nobody has seen counts with all that it is to have.",
			entry:  Entry{Name: "web", Has: disksOf(4), Pending: disksOf(4), VMID: 100},
			want:   Ledger{"me/100/": {Name: "web", Has: disksOf(4), VMID: 100, Left: true, Creating: now().Unix()}},
		},
		"Unplaced": {reason: "A VM without a VMID was not begun.", entry: Entry{Has: disksOf(4), Pending: disksOf(4)}, want: Ledger{}},
		"Adopted": {
			reason: "A VM that stays where it was adopted is listed only as long as an entry names it.", entry: Entry{Claim: "a", Has: vm(4), VMID: 100},
			outside: true, want: Ledger{"me/100/": {Claim: "a", Has: Amounts{}, VMID: 100, Left: true}},
		},
		"Volume": {
			reason: "The disk of a Volume is known by its name.",
			entry:  Entry{Has: Amounts{VMs: 1, Disks("ceph"): 4}, VMID: 100, Volume: "ceph:vm-100-disk-1"},
			want: Ledger{"me/100/ceph:vm-100-disk-1": {
				Has: Amounts{Disks("ceph"): 4}, VMID: 100, Volume: "ceph:vm-100-disk-1", Left: true,
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := Ledger{"me": tc.entry}
			l.Leave("me", tc.outside, now())
			if diff := cmp.Diff(tc.want, l); diff != "" {
				t.Errorf("Leave(): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLeaveBegun counts a VM that may be under creation for a resource that has no entry for it and requests another one.
func TestLeaveBegun(t *testing.T) {
	begun := Ledger{"me/100/": {Name: "web", Has: disksOf(4), VMID: 100, Left: true, Creating: now().Unix()}}
	ask := Request{UID: "me", Entry: Entry{Name: "web", VMID: 101, Whole: true}}
	seen, grows := ask, ask
	seen.There, grows.Whole = vm(1), false
	for name, tc := range map[string]struct {
		reason string
		ledger Ledger
		ask    Request
		vmid   int
		want   Ledger
	}{
		"Unknown": {reason: "Nobody has entered what was begun.", ask: ask, vmid: 100, want: begun},
		"Entered": {
			reason: "What was granted is entered.", ledger: Ledger{"me": {Has: vm(1), VMID: 100}}, ask: ask, vmid: 100,
			want: Ledger{"me": {Has: vm(1), VMID: 100}},
		},
		"Waits":   {reason: "Who waits was granted nothing.", ledger: Ledger{"me": {Wants: vm(1)}}, ask: ask, vmid: 100, want: Ledger{"me": {Wants: vm(1)}}},
		"NoVMID":  {reason: "No VM is made without a VMID.", ask: ask, want: Ledger{}},
		"Seen":    {reason: "The VM is there, and counts with the resource.", ask: seen, vmid: 100, want: Ledger{}},
		"Growing": {reason: "A VM that is there is not made.", ask: grows, vmid: 100, want: Ledger{}},
	} {
		t.Run(name, func(t *testing.T) {
			l := Ledger{}
			maps.Copy(l, tc.ledger)
			changed := l.LeaveBegun(tc.ask, disksOf(4), tc.vmid, now())
			if diff := cmp.Diff(tc.want, l); diff != "" || changed != (name == "Unknown") {
				t.Errorf("LeaveBegun(): %s changed: %v, -want, +got:\n%s", tc.reason, changed, diff)
			}
		})
	}
}

// TestReplaces checks when a resource requests something in addition to what it was granted before.
func TestReplaces(t *testing.T) {
	seen := Entry{Has: disksOf(4), VMID: 100}
	unseen := Entry{Has: disksOf(4), Pending: disksOf(4), VMID: 100}
	disk := Entry{Has: disksOf(4), VMID: 100, Volume: "ceph:vm-100-disk-1"}
	cases := map[string]struct {
		reason string
		entry  Entry
		ask    Request
		want   bool
	}{
		"First":  {reason: "Who has nothing replaces nothing.", ask: Request{Entry: Entry{VMID: 100, Whole: true}}},
		"Same":   {reason: "The VM is the same.", entry: seen, ask: Request{Entry: Entry{VMID: 100}, There: disksOf(4)}},
		"Other":  {reason: "The VM is another one.", entry: seen, ask: Request{Entry: Entry{VMID: 101, Whole: true}}, want: true},
		"Anew":   {reason: "The VM is to be made again.", entry: seen, ask: Request{Entry: Entry{VMID: 100, Whole: true}}, want: true},
		"Unseen": {reason: "The VM may be being made.", entry: unseen, ask: Request{Entry: Entry{VMID: 101, Whole: true}}, want: true},
		"Unsaid": {reason: "The VM may be being made, and its VMID is taken.", entry: unseen, ask: Request{Entry: Entry{Whole: true}}, want: true},
		"Still":  {reason: "The VM is the one that was granted.", entry: unseen, ask: Request{Entry: Entry{VMID: 100, Whole: true}}},
		"Waits": {
			reason: "Who waits was granted nothing.", entry: Entry{Wants: disksOf(4), VMID: 100, Whole: true}, ask: Request{Entry: Entry{VMID: 101, Whole: true}},
		},
		"Placed": {reason: "The VM was not begun.", entry: Entry{Has: disksOf(4), Pending: disksOf(4)}, ask: Request{Entry: Entry{VMID: 101, Whole: true}}},
		"UnseenDisk": {
			reason: "The disk is another one than that of the VM which may be being made.", entry: unseen,
			ask: Request{Entry: Entry{VMID: 101, Volume: "ceph:vm-101-disk-0"}, Owner: 101}, want: true,
		},
		"DiskGiven": {
			reason: "The disk has just been made, and goes to another VM.", entry: unseen,
			ask: Request{Entry: Entry{VMID: 101, Volume: "ceph:vm-100-disk-0"}, Owner: 100},
		},
		"SameDisk":   {reason: "The disk has gone to another VM.", entry: disk, ask: Request{Entry: Entry{VMID: 101, Volume: "ceph:vm-100-disk-1"}}},
		"OtherDisk":  {reason: "The disk is another one, or has another name.", entry: disk, ask: Request{Entry: Entry{Volume: "ceph:vm-101-disk-0"}}, want: true},
		"RecordGone": {reason: "A resource without its record does not know of its disk.", entry: disk, ask: Request{Entry: Entry{Whole: true}}, want: true},
		"FirstDisk":  {reason: "The disk has just been made.", entry: seen, ask: Request{Entry: Entry{VMID: 100, Volume: "ceph:vm-100-disk-1"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.ask.UID = "me"
			if got := (Ledger{"me": tc.entry}).Replaces(tc.ask); got != tc.want {
				t.Errorf("Replaces(): %s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

// TestLeaveTwice checks that a VM that a resource leaves twice counts with the most that the resource was granted there.
func TestLeaveTwice(t *testing.T) {
	l := Ledger{}
	for _, gib := range []int64{4, 9, 2} {
		l["me"] = Entry{Has: disksOf(gib), Pending: disksOf(gib), VMID: 100}
		l.Leave("me", false, now())
	}
	l["me"] = Entry{Has: disksOf(3), VMID: 100}
	l.Leave("me", false, now())
	want := Ledger{"me/100/": {Has: disksOf(9), VMID: 100, Left: true, Creating: now().Unix()}}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("Leave(): -want, +got:\n%s", diff)
	}
}

// TestComplete checks that a complete VM counts as one that was observed.
func TestComplete(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		has     Amounts
		outside bool
		want    Ledger
	}{
		"Disks":   {reason: "The list of VMs tells all but disks and interfaces.", has: disksOf(4), want: Ledger{"left": {Has: onlyDisks(4), VMID: 100, Left: true}}},
		"Nothing": {reason: "A VM without disks is listed.", has: vm(4), want: Ledger{}},
		"Adopted": {
			reason: "A VM outside of the tenant's is listed because of its entry.", has: vm(4), outside: true,
			want: Ledger{"left": {Has: Amounts{}, VMID: 100, Left: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := Ledger{"left": {Has: tc.has, VMID: 100, Left: true, Creating: 1}}
			l.Complete("left", tc.outside)
			if diff := cmp.Diff(tc.want, l); diff != "" {
				t.Errorf("Complete(): %s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReject checks that a grant is for another VM if its VM was refused.
func TestReject(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		ledger   Ledger
		rejected int
		want     Ledger // Nil for the former one.
	}{
		"Rejected": {
			reason: "Somebody else has the VMID.", ledger: Ledger{"me": {Has: vm(4), Pending: vm(4), VMID: 100}}, rejected: 100,
			want: Ledger{"me": {Has: vm(4), Pending: vm(4)}},
		},
		"Late": {
			reason: "The resource has asked for another VM before that was told.", rejected: 100,
			ledger: Ledger{"me": {Has: vm(4), Pending: vm(4), VMID: 101}, "me/100/": {Has: vm(4), VMID: 100, Left: true, Creating: 1}},
			want:   Ledger{"me": {Has: vm(4), Pending: vm(4), VMID: 101}},
		},
		"Again": {
			reason: "The resource has come back to the VM.", rejected: 100,
			ledger: Ledger{"me": {Has: vm(4), Pending: vm(4), VMID: 100}, "me/100/": {Has: vm(4), VMID: 100, Left: true, Creating: 1}},
			want:   Ledger{"me": {Has: vm(4), Pending: vm(4)}},
		},
		"LeftSeen": {
			reason: "What was left of a VM that was seen is there.", ledger: Ledger{"me/100/": {Has: onlyDisks(4), VMID: 100, Left: true}}, rejected: 100,
		},
		"Another": {reason: "The VM of the entry is another one.", ledger: Ledger{"me": {Has: vm(4), Pending: vm(4), VMID: 101}}, rejected: 100},
		"Seen":    {reason: "A VM that was seen is there.", ledger: Ledger{"me": {Has: vm(4), VMID: 100}}, rejected: 100},
		"None":    {reason: "Proxmox VE has refused no VMID.", ledger: Ledger{"me": {Has: vm(4), Pending: vm(4), VMID: 100}}},
		"Unsaid":  {reason: "Nothing was refused, and no VM is known.", ledger: Ledger{"me": {Has: vm(4), Pending: vm(4)}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := maps.Clone(tc.ledger)
			changed, want := l.Reject(Request{UID: "me", Rejected: tc.rejected}), tc.want
			if want == nil {
				want = tc.ledger
			}
			if diff := cmp.Diff(want, l); diff != "" || changed != (tc.want != nil) {
				t.Errorf("Reject(): %s changed: %v, -want, +got:\n%s", tc.reason, changed, diff)
			}
		})
	}
}

// TestSettle checks that a VM that two resources were granted counts for the one that has it. The grant of the other one is for another VM.
func TestSettle(t *testing.T) {
	unseen := func(vmid int) Entry { return Entry{Has: disksOf(4), Pending: disksOf(4), VMID: vmid} }
	free := unseen(0)
	cases := map[string]struct {
		reason string
		mine   Entry
		other  Entry
		ask    Request
		want   Entry
	}{
		"Made": {
			reason: "The VM is not the other one's.", mine: unseen(100), other: unseen(100), ask: Request{There: disksOf(4), Entry: Entry{VMID: 100}},
			want: free,
		},
		"Another": {
			reason: "The other one was granted another VM.", mine: unseen(100), other: unseen(101), ask: Request{There: disksOf(4), Entry: Entry{VMID: 100}},
			want: unseen(101),
		},
		"Unseen": {
			reason: "A VMID stays granted to two until one was seen to have the VM.", mine: unseen(100), other: unseen(100),
			ask:  Request{Entry: Entry{VMID: 100, Whole: true}, Beside: true},
			want: unseen(100),
		},
		"Ungranted": {
			reason: "Who was not granted the VM has not made it.", mine: unseen(101), other: unseen(100),
			ask: Request{There: disksOf(4), Entry: Entry{VMID: 100}}, want: unseen(100),
		},
		"Disk": {
			reason: "Who has a disk of the VM may not have made the VM.", mine: unseen(100), other: unseen(100),
			ask: Request{There: disksOf(4), Entry: Entry{VMID: 100, Volume: "ceph:vm-100-disk-1"}}, want: unseen(100),
		},
		"Seen": {
			reason: "Another resource that was seen to have a VM keeps its VMID.", mine: unseen(100), other: Entry{Has: disksOf(4), VMID: 100},
			ask: Request{There: disksOf(4), Entry: Entry{VMID: 100}}, want: Entry{Has: disksOf(4), VMID: 100},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.ask.UID, tc.ask.Wants = "me", disksOf(4)
			l := Ledger{"me": tc.mine, "other": tc.other}
			l.Decide(Amounts{}, Seen{}, tc.ask, now())
			if diff := cmp.Diff(tc.want, l["other"]); diff != "" {
				t.Errorf("Decide(): %s: the other entry: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWith checks that a VM under creation counts once: with its entry, by the larger of what it was granted and what it has.
func TestWith(t *testing.T) {
	guests := []proxmox.Guest{
		{VMID: 100, Type: "qemu", MaxCPU: 1, MaxMemory: 9},
		{VMID: 101, Type: "qemu", MaxCPU: 2, MaxMemory: 1},
		{VMID: 102, Type: "qemu", MaxCPU: 4, MaxMemory: 2},
		{VMID: 104, Type: "qemu", MaxCPU: 1, MaxMemory: 3},
	}
	owns := func(proxmox.Guest) bool { return true }
	seen := See([]Resource{{UID: "other", VMID: 102}}, guests, owns)
	l := Ledger{
		"gone/100/": {Has: Amounts{VMs: 1, Cores: 8, Memory: 4, Disks("ceph"): 5}, VMID: 100, Left: true, Creating: 1},
		"gone/102/": {Has: Amounts{VMs: 1, Cores: 8}, VMID: 102, Left: true, Creating: 1},
		"gone/103/": {Has: Amounts{VMs: 1}, VMID: 103, Left: true, Creating: 1},
		"edited":    {Has: Amounts{VMs: 1, Cores: 4}, Pending: Amounts{VMs: 1, Cores: 4}, VMID: 104},
		"seen":      {Has: Amounts{VMs: 1, Cores: 4}, VMID: 101},
	}
	with := seen.With(l)
	want := Amounts{VMs: 7, Cores: 30, Memory: 15, Disks("ceph"): 5}
	if diff := cmp.Diff(want, l.Used(with, "")); diff != "" || with.OtherNumber != 1 {
		t.Errorf("With(): %d others, -want, +got:\n%s", with.OtherNumber, diff)
	}
	if seen.OtherNumber != 3 || seen.Others[VMs] != 3 || len(seen.Named) != 1 {
		t.Errorf("With(): want what was seen left as it was, got %+v", seen)
	}
}

// TestDecideLeft checks that what was left behind counts once, until a resource has it and counts it.
func TestDecideLeft(t *testing.T) {
	const left = "gone/100/"
	const disk = "ceph:vm-100-disk-1"
	entry := Entry{Has: Amounts{Disks("ceph"): 6}, VMID: 100, Left: true}
	named := entry
	named.Volume = disk
	want := Amounts{Disks("ceph"): 6}
	cases := map[string]struct {
		reason string
		left   Entry
		ask    Request
		short  string
		stays  bool
	}{
		"Other": {
			reason: "The VM that was left takes the room of others.",
			left:   entry, ask: Request{Entry: Entry{Wants: want, Whole: true, VMID: 101}}, short: Disks("ceph"), stays: true,
		},
		"Adopted": {reason: "Who takes the VM over counts it.", left: entry, ask: Request{Entry: Entry{Wants: want, Whole: true, VMID: 100}}},
		"Beside": {
			reason: "Who only names the VM does not.", left: entry, ask: Request{Entry: Entry{Wants: want, Whole: true, VMID: 100}, Beside: true},
			short: Disks("ceph"), stays: true,
		},
		"TooLarge": {
			reason: "Who has no room for the VM does not have it.", left: entry,
			ask: Request{Entry: Entry{Wants: Amounts{Disks("ceph"): 12}, Whole: true, VMID: 100}}, short: Disks("ceph"), stays: true,
		},
		"Attached": {
			reason: "The Machine of the VM counts the disk.", left: named,
			ask: Request{Entry: Entry{Wants: want, VMID: 100}, There: want, Volumes: []string{disk}},
		},
		"Detached": {
			reason: "A Machine that has not seen it does not.", left: named, ask: Request{Entry: Entry{Wants: want, VMID: 100}}, short: Disks("ceph"), stays: true,
		},
		"Volume": {reason: "Another Volume takes it over.", left: named, ask: Request{Entry: Entry{Wants: want, Whole: true, VMID: 100, Volume: disk}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.ask.UID = "me"
			l := Ledger{left: tc.left}
			d := l.Decide(Amounts{Disks("ceph"): 10}, Seen{}, tc.ask, now())
			var short []string
			for _, s := range d.Short {
				short = append(short, s.Name)
			}
			_, stays := l[left]
			if got := strings.Join(short, " "); got != tc.short || stays != tc.stays || !d.Changed {
				t.Errorf("Decide(): %s\nshort: want %q, got %q; it counts on: want %v, got %v, of %v",
					tc.reason, tc.short, got, tc.stays, stays, slices.Collect(maps.Keys(l)))
			}
		})
	}
}

// TestDecideTaken checks that the disk of a VM that was left counts once when it is a Volume's, and that the rest of the VM still counts.
func TestDecideTaken(t *testing.T) {
	const vm, disk = "gone/100/", "ceph:vm-100-disk-1"
	has := func(gib int64) Amounts { return Amounts{Disks("ceph"): gib} }
	cases := map[string]struct {
		reason string
		others Ledger
		ask    Request
		left   int64 // Of the VM that was left.
		short  bool
	}{
		"Adopted": {reason: "The disk is the Volume's.", ask: Request{Entry: Entry{Wants: has(4), Whole: true, VMID: 100, Volume: disk}}, left: 2},
		"Found": {
			reason: "The record of the Volume has it already.", ask: Request{Entry: Entry{Wants: has(4), VMID: 100, Volume: disk}, There: has(4)}, left: 2,
		},
		"Grows": {
			reason: "What it grows by is no part of the VM.",
			ask:    Request{Entry: Entry{Wants: has(5), VMID: 100, Volume: disk}, There: has(4)}, left: 2,
		},
		"All": {reason: "The VM has no other disk.", ask: Request{Entry: Entry{Wants: has(6), Whole: true, VMID: 100, Volume: disk}}},
		"NoRoom": {
			reason: "A disk for which there is no room stays the VM's.", others: Ledger{"other": {Has: has(6), VMID: 101}},
			ask: Request{Entry: Entry{Wants: has(6), Whole: true, VMID: 100, Volume: disk}}, left: 6, short: true,
		},
		"Elsewhere": {
			reason: "The disk is one of another VM.", ask: Request{Entry: Entry{Wants: has(2), Whole: true, VMID: 101, Volume: "ceph:vm-101-disk-1"}}, left: 6,
		},
		"Again": {
			reason: "The Volume counted beside the VM before.", others: Ledger{"me": {Has: has(2), VMID: 100, Volume: disk}},
			ask: Request{Entry: Entry{Wants: has(2), VMID: 100, Volume: disk}, There: has(2)}, left: 6,
		},
		"PutBack": {
			reason: "The disk of a record that was taken away counted beside the VM before.",
			others: Ledger{"me/100/" + disk: {Has: has(2), VMID: 100, Volume: disk, Left: true}},
			ask:    Request{Entry: Entry{Wants: has(2), VMID: 100, Volume: disk}, There: has(2)}, left: 6,
		},
		"Theirs": {
			reason: "Another Volume says that it has it.", others: Ledger{"other": {Has: has(2), VMID: 100, Volume: disk}},
			ask: Request{Entry: Entry{Wants: has(2), Whole: true, VMID: 100, Volume: disk}}, left: 6,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := Ledger{vm: {Has: has(6), VMID: 100, Left: true}}
			maps.Copy(l, tc.others)
			tc.ask.UID = "me"
			for range 2 { // A second request has the same result.
				d := l.Decide(Amounts{Disks("ceph"): 10}, Seen{}, tc.ask, now())
				if short := len(d.Short) > 0; short != tc.short || l[vm].Has[Disks("ceph")] != tc.left {
					t.Errorf("Decide(): %s\nwant %d left and short: %v, got %v, %v", tc.reason, tc.left, tc.short, l, d.Short)
				}
			}
		})
	}
}

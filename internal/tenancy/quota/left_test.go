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
)

// disksOf is what a VM with disks of some GiB has.
func disksOf(gib int64) Amounts {
	return Amounts{VMs: 1, Cores: 1, Disks("ceph"): gib, Addresses("vmbr0"): 1}
}

// onlyDisks is what the list of VMs does not tell of it.
func onlyDisks(gib int64) Amounts { return Amounts{Disks("ceph"): gib, Addresses("vmbr0"): 1} }

// TestLeave leaves of an entry what the cluster's list of VMs does not tell.
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
			entry:  Entry{Name: "web", Has: disksOf(4), Pending: disksOf(4), VMID: 100},
			want:   Ledger{"me/100/": {Name: "web", Has: onlyDisks(4), VMID: 100, Left: true}},
		},
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
			l.Leave("me", tc.outside)
			if diff := cmp.Diff(tc.want, l); diff != "" {
				t.Errorf("Leave(): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReplaces tells when a resource asks for something beside what it was let have before.
func TestReplaces(t *testing.T) {
	seen := Entry{Has: disksOf(4), VMID: 100}
	disk := Entry{Has: disksOf(4), VMID: 100, Volume: "ceph:vm-100-disk-1"}
	cases := map[string]struct {
		reason string
		entry  Entry
		ask    Request
		want   bool
	}{
		"First": {reason: "Who has nothing replaces nothing.", ask: Request{Entry: Entry{VMID: 100, Whole: true}}},
		"Same":  {reason: "The VM is the same.", entry: seen, ask: Request{Entry: Entry{VMID: 100}, There: disksOf(4)}},
		"Other": {reason: "The VM is another one.", entry: seen, ask: Request{Entry: Entry{VMID: 101, Whole: true}}, want: true},
		"Anew":  {reason: "The VM is to be made again.", entry: seen, ask: Request{Entry: Entry{VMID: 100, Whole: true}}, want: true},
		"Unseen": {
			reason: "There was no VM yet.", entry: Entry{Has: disksOf(4), Pending: disksOf(4), VMID: 100}, ask: Request{Entry: Entry{VMID: 101, Whole: true}},
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

// TestDecideLeft has what was left behind count once: until somebody has it who counts it.
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

// TestDecideTaken has the disk of a VM that was left count once when it is a Volume's, and the rest of the VM on.
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
			for range 2 { // It is the same when it asks again.
				d := l.Decide(Amounts{Disks("ceph"): 10}, Seen{}, tc.ask, now())
				if short := len(d.Short) > 0; short != tc.short || l[vm].Has[Disks("ceph")] != tc.left {
					t.Errorf("Decide(): %s\nwant %d left and short: %v, got %v, %v", tc.reason, tc.left, tc.short, l, d.Short)
				}
			}
		})
	}
}

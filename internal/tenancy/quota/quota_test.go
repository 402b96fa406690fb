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
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// now returns the time of all decisions.
func now() time.Time { return time.Unix(100000, 0) }

// vm returns the amounts of a VM with some cores.
func vm(cores int64) Amounts { return Amounts{VMs: 1, Cores: cores} }

func TestDecide(t *testing.T) {
	type want struct {
		granted Amounts
		short   string
		offered []string
		ledger  Ledger
	}
	made := func(created, cores int64) Entry { return Entry{Created: created, Has: vm(cores)} }
	pending := func(created, cores int64) Entry { return Entry{Created: created, Has: vm(cores), Pending: vm(cores)} }
	waits := func(created, cores, offered int64) Entry {
		return Entry{Created: created, Wants: vm(cores), Whole: true, Offered: offered}
	}
	ask := func(created, cores int64) Request {
		return Request{UID: "me", Entry: Entry{Created: created, Wants: vm(cores), Whole: true}}
	}
	beside := func(cores int64) Request {
		r := ask(2, cores)
		r.Beside = true
		return r
	}
	names := func(cores int64, uids ...string) Seen {
		var all []Resource
		for _, uid := range uids {
			all = append(all, Resource{UID: uid, VMID: 100})
		}
		return See(all, []proxmox.Guest{{VMID: 100, Type: "qemu", MaxCPU: int(cores)}}, func(proxmox.Guest) bool { return true })
	}
	limits := Amounts{VMs: 10, Cores: 8}
	cases := map[string]struct {
		reason string
		limits Amounts
		ledger Ledger
		seen   Seen
		ask    Request
		want   want
	}{
		"Room": {
			reason: "What fits is granted, up to the limit.",
			limits: limits, ledger: Ledger{"a": made(1, 4)}, ask: ask(2, 4),
			want: want{granted: vm(4), ledger: Ledger{"a": made(1, 4), "me": pending(2, 4)}},
		},
		"None": {
			reason: "What does not fit waits, and has nothing of what would fit.",
			limits: limits, ledger: Ledger{"a": made(1, 4)}, ask: ask(2, 5),
			want: want{granted: Amounts{}, short: "cores", ledger: Ledger{"a": made(1, 4), "me": waits(2, 5, 0)}},
		},
		"Unlimited": {
			reason: "What the quota does not name is not limited.",
			limits: Amounts{VMs: 1}, ask: ask(2, 500),
			want: want{granted: vm(500), ledger: Ledger{"me": pending(2, 500)}},
		},
		"SeenOnly": {
			reason: "What is there without an entry counts.",
			limits: limits, seen: Seen{Of: map[string]Amounts{"a": vm(6)}}, ask: ask(2, 4),
			want: want{granted: Amounts{}, short: "cores", ledger: Ledger{"me": waits(2, 4, 0)}},
		},
		"SeenMore": {
			reason: "What is there counts if it is more than what was granted.",
			limits: limits, ledger: Ledger{"a": made(1, 2)}, seen: Seen{Of: map[string]Amounts{"a": vm(6)}}, ask: ask(2, 4),
			want: want{granted: Amounts{}, short: "cores", ledger: Ledger{"a": made(1, 2), "me": waits(2, 4, 0)}},
		},
		"Others": {
			reason: "VMs that no Machine manages count.",
			limits: limits, seen: Seen{Others: vm(6), OtherNumber: 1}, ask: ask(2, 4),
			want: want{granted: Amounts{}, short: "cores", ledger: Ledger{"me": waits(2, 4, 0)}},
		},
		"Beside": {
			reason: "A VM that is named by who is yet to have one, and is no one's, counts beside what is asked for.",
			limits: limits, seen: names(4, "me"), ask: beside(5),
			want: want{granted: Amounts{}, short: "cores", ledger: Ledger{"me": waits(2, 5, 0)}},
		},
		"BesideRoom": {
			reason: "Who only names a VM may have what there is room for beside it.",
			limits: limits, seen: names(4, "me"), ask: beside(4), want: want{granted: vm(4), ledger: Ledger{"me": pending(2, 4)}},
		},
		"BesideAgain": {
			reason: "A VM that is only named counts beside what was granted and is not there yet.",
			limits: limits, ledger: Ledger{"me": pending(2, 4)}, seen: names(4, "me"),
			ask:  beside(5),
			want: want{granted: vm(4), short: "cores", ledger: Ledger{"me": {Created: 2, Has: vm(4), Pending: vm(4), Wants: vm(5), Whole: true}}},
		},
		"BesideWaiting": {
			reason: "Another one that waits too does not have it.",
			limits: limits, ledger: Ledger{"a": pending(1, 1)}, seen: names(4, "me", "a"), ask: beside(4),
			want: want{granted: Amounts{}, short: "cores", ledger: Ledger{"a": pending(1, 1), "me": waits(2, 4, 0)}},
		},
		"BesideOther": {
			reason: "A VM that is only named counts with another resource that has it.",
			limits: limits, ledger: Ledger{"a": made(1, 4)}, seen: names(4, "me", "a"), ask: beside(4),
			want: want{granted: vm(4), ledger: Ledger{"a": made(1, 4), "me": pending(2, 4)}},
		},
		"BesideLarger": {
			reason: "A VM that is larger than the resource which it counts with counts with the rest for the one that names it.",
			limits: limits, ledger: Ledger{"z": made(1, 2)}, seen: names(5, "me", "z"), ask: beside(4),
			want: want{granted: Amounts{}, short: "cores", ledger: Ledger{"z": made(1, 2), "me": waits(2, 4, 0)}},
		},
		"Adopted": {
			reason: "A VM that is taken over counts once.",
			limits: limits, seen: names(4, "me"), ask: ask(2, 8), want: want{granted: vm(8), ledger: Ledger{"me": pending(2, 8)}},
		},
		"OlderFirst": {
			reason: "What is left is for one that came before, which is told.",
			limits: limits, ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, 0)}, ask: ask(3, 2),
			want: want{
				granted: Amounts{}, short: "cores", offered: []string{"b"},
				ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, now().Unix()), "me": waits(3, 2, 0)},
			},
		},
		"SameSecond": {
			reason: "The UID decides between two of the same second.",
			limits: limits, ledger: Ledger{"a": made(1, 4), "z": waits(3, 3, 0)}, ask: ask(3, 2),
			want: want{granted: vm(2), ledger: Ledger{"a": made(1, 4), "z": waits(3, 3, 0), "me": pending(3, 2)}},
		},
		"SmallPasses": {
			reason: "A small one passes a large one that cannot fit.",
			limits: limits, ledger: Ledger{"a": made(1, 4), "b": waits(2, 6, 0)}, ask: ask(3, 2),
			want: want{granted: vm(2), ledger: Ledger{"a": made(1, 4), "b": waits(2, 6, 0), "me": pending(3, 2)}},
		},
		"Expired": {
			reason: "One that does not take what it may have holds up nobody for long.",
			limits: limits, ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, now().Add(-offerLasts).Unix())}, ask: ask(3, 2),
			want: want{granted: vm(2), ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, now().Add(-offerLasts).Unix()), "me": pending(3, 2)}},
		},
		"Withdrawn": {
			reason: "An offer ends when there is no room any more.",
			limits: limits, ledger: Ledger{"a": made(1, 7), "b": waits(2, 3, 5)}, ask: ask(3, 1),
			want: want{granted: vm(1), offered: []string{"b"}, ledger: Ledger{"a": made(1, 7), "b": waits(2, 3, 0), "me": pending(3, 1)}},
		},
		"Unfit": {
			reason: "An offer that does not suffice is not created again whenever that is found.",
			limits: limits, ledger: Ledger{"a": made(1, 6), "me": waits(2, 4, 5)}, ask: ask(2, 4),
			want: want{granted: Amounts{}, short: "cores", ledger: Ledger{"a": made(1, 6), "me": waits(2, 4, 5)}},
		},
		"Overtaken": {
			reason: "One that waits for its turn is offered nothing yet.",
			limits: limits, ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, 0), "me": waits(3, 2, 5)}, ask: ask(3, 2),
			want: want{
				granted: Amounts{}, short: "cores", offered: []string{"b"},
				ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, now().Unix()), "me": waits(3, 2, 0)},
			},
		},
		"NamedOnly": {
			reason: "Nothing of a VM that one names who waits for another one is reserved less.",
			limits: limits, ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, 0)}, seen: names(1, "b"), ask: ask(3, 1),
			want: want{
				granted: Amounts{}, short: "cores", offered: []string{"b"},
				ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, now().Unix()), "me": waits(3, 1, 0)},
			},
		},
		"Deleting": {
			reason: "One that is being deleted waits for nothing.",
			limits: limits, ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, 0)}, seen: Seen{Deleting: map[string]bool{"b": true}}, ask: ask(3, 2),
			want: want{granted: vm(2), ledger: Ledger{"a": made(1, 4), "b": waits(2, 3, 0), "me": pending(3, 2)}},
		},
		"Again": {
			reason: "What was granted is granted again without being counted twice.",
			limits: limits, ledger: Ledger{"a": made(1, 4), "me": made(2, 4)}, ask: ask(2, 4),
			want: want{granted: vm(4), ledger: Ledger{"a": made(1, 4), "me": pending(2, 4)}},
		},
		"GrowsInPart": {
			reason: "A VM that is there gets what there is room for, and waits for the rest.",
			limits: Amounts{Cores: 8, Memory: 100}, ledger: Ledger{"a": made(1, 4)},
			ask: Request{UID: "me", There: Amounts{Cores: 2, Memory: 10}, Entry: Entry{Created: 2, Wants: Amounts{Cores: 6, Memory: 20}}},
			want: want{granted: Amounts{Cores: 2, Memory: 20}, short: "cores", ledger: Ledger{
				"a":  made(1, 4),
				"me": {Created: 2, Has: Amounts{Cores: 2, Memory: 20}, Pending: Amounts{Memory: 10}, Wants: Amounts{Cores: 6, Memory: 20}},
			}},
		},
		"OverAlready": {
			reason: "What is there is never refused, however small the quota has become.",
			limits: Amounts{Cores: 1},
			ask:    Request{UID: "me", There: vm(4), Entry: Entry{Created: 2, Wants: vm(4)}},
			want:   want{granted: vm(4), ledger: Ledger{"me": made(2, 4)}},
		},
		"Shrinks": {
			reason: "What became less is free.",
			limits: limits, ledger: Ledger{"me": made(2, 8)},
			ask:  Request{UID: "me", There: vm(2), Entry: Entry{Created: 2, Wants: vm(2)}},
			want: want{granted: vm(2), ledger: Ledger{"me": made(2, 2)}},
		},
		"Gone": {
			reason: "What went since, which another may count by now, is not had again without room for it.",
			limits: limits, ledger: Ledger{"a": made(1, 4), "me": made(2, 4)},
			ask: Request{UID: "me", There: vm(2), Entry: Entry{Created: 2, Wants: vm(5)}},
			want: want{granted: vm(2), short: "cores", ledger: Ledger{
				"a": made(1, 4), "me": {Created: 2, Has: vm(2), Wants: vm(5)},
			}},
		},
		"UnderWay": {
			reason: "What was granted, and is not there yet, stays granted.",
			limits: Amounts{Cores: 4}, ledger: Ledger{"a": made(1, 4), "me": {Created: 2, Has: vm(4), Pending: Amounts{Cores: 2}}},
			ask: Request{UID: "me", There: vm(2), Entry: Entry{Created: 2, Wants: vm(4)}},
			want: want{granted: vm(4), ledger: Ledger{
				"a": made(1, 4), "me": {Created: 2, Has: vm(4), Pending: Amounts{Cores: 2}},
			}},
		},
		"GoneUnderWay": {
			reason: "What went meanwhile is none of that.",
			limits: Amounts{Cores: 4}, ledger: Ledger{"a": made(1, 4), "me": {Created: 2, Has: vm(4), Pending: Amounts{Cores: 2}}},
			ask: Request{UID: "me", There: vm(1), Entry: Entry{Created: 2, Wants: vm(4)}},
			want: want{granted: vm(3), short: "cores", ledger: Ledger{
				"a": made(1, 4), "me": {Created: 2, Has: vm(3), Pending: Amounts{Cores: 2}, Wants: vm(4)},
			}},
		},
		"Immense": {
			reason: "What somebody writes in a status makes no room, however large it is.",
			limits: limits, ask: ask(2, 4),
			seen: Seen{Of: map[string]Amounts{"a": {Cores: math.MaxInt64 / 2}, "b": {Cores: math.MaxInt64 / 2}, "c": {Cores: math.MaxInt64 / 2}}},
			want: want{granted: Amounts{}, short: "cores", ledger: Ledger{"me": waits(2, 4, 0)}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := Ledger{}
			maps.Copy(l, tc.ledger)
			d := l.Decide(tc.limits, tc.seen, tc.ask, now())
			var short []string
			for _, s := range d.Short {
				short = append(short, s.Name)
			}
			got := want{granted: d.Granted, short: strings.Join(short, " "), offered: d.Offered, ledger: l}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Decide(): %s: -want, +got:\n%s", tc.reason, diff)
			}
			if changed := !cmp.Equal(tc.ledger, l, cmpopts.EquateEmpty()); changed != d.Changed {
				t.Errorf("Decide(): %s: the ledger has changed: %v, and Changed is %v", tc.reason, changed, d.Changed)
			}
		})
	}
}

// TestFitting checks that it finds the waiting resources that have room, in order of creation, without giving the same room to two of them.
func TestFitting(t *testing.T) {
	waits := func(created, cores, offered int64) Entry {
		return Entry{Created: created, Wants: vm(cores), Whole: true, Offered: offered}
	}
	former := now().Add(-offerLasts).Unix()
	cases := map[string]struct {
		reason string
		ledger Ledger
		seen   Seen
		want   []string
	}{
		"Order": {
			reason: "What is kept for one is not for the next.", ledger: Ledger{"b": waits(2, 3, 0), "c": waits(3, 2, 0), "d": waits(4, 1, 0)},
			want: []string{"b", "d"},
		},
		"Large": {reason: "What cannot fit holds up nobody.", ledger: Ledger{"b": waits(2, 5, 0), "c": waits(3, 2, 0)}, want: []string{"c"}},
		"Expired": {
			reason: "Nothing is kept any more for one that has not taken it.", ledger: Ledger{"b": waits(2, 3, former), "c": waits(3, 2, 0)}, want: []string{"b", "c"},
		},
		"Deleting": {
			reason: "One that is being deleted waits for nothing.", ledger: Ledger{"b": waits(2, 3, 0), "c": waits(3, 2, 0)},
			seen: Seen{Deleting: map[string]bool{"b": true}}, want: []string{"c"},
		},
		"Part": {
			reason: "What is there grows by what there is room for.",
			ledger: Ledger{"b": {Created: 2, Has: vm(1), Wants: Amounts{VMs: 2, Cores: 9}}}, want: []string{"b"},
		},
		"None": {reason: "There is no room for any.", ledger: Ledger{"b": {Created: 2, Has: vm(1), Wants: vm(9)}, "c": waits(3, 4, 0)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.ledger["a"] = Entry{Created: 1, Has: vm(4)}
			before := maps.Clone(tc.ledger)
			got := tc.ledger.Fitting(Amounts{VMs: 10, Cores: 8}, tc.seen, now())
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Fitting(): %s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.ledger); diff != "" {
				t.Errorf("Fitting(): want the ledger left as it is: -before, +after:\n%s", diff)
			}
		})
	}
}

// TestMessage checks that the message names the shortage and its users, and of other namespaces only their number.
func TestMessage(t *testing.T) {
	entry := func(namespace, name string, gib int64) Entry {
		return Entry{Namespace: namespace, Name: name, Created: 1, Has: Amounts{Memory: gib << 30}}
	}
	cases := map[string]struct {
		reason    string
		namespace string
		claim     string
		ledger    Ledger
		want      string
	}{
		"All": {
			reason: "Resources of the same namespace are named, the largest first.", namespace: "mine",
			ledger: Ledger{"a": entry("mine", "small", 1), "b": entry("mine", "large", 6)},
			want:   "7Gi are used by 2 resources (large: 6Gi, small: 1Gi)",
		},
		"Some": {
			reason: "Three are named, and those of other namespaces never.", namespace: "mine",
			ledger: Ledger{
				"a": entry("other", "secret", 3),
				"b": entry("mine", "b", 1), "c": entry("mine", "c", 1), "d": entry("mine", "d", 1), "e": entry("mine", "e", 1),
			},
			want: "7Gi are used by 5 resources (b: 1Gi, c: 1Gi, d: 1Gi, …)",
		},
		"Claims": {
			reason: "Cluster-scoped ones are named if their claims are in the same namespace.", claim: "mine",
			ledger: Ledger{
				"a": {Claim: "mine", Name: "web", Has: Amounts{Memory: 4 << 30}}, "b": {Claim: "other", Name: "secret", Has: Amounts{Memory: 2 << 30}},
				"c": entry("", "nobodys", 1),
			},
			want: "7Gi are used by 3 resources (web: 4Gi, …)",
		},
		"None": {
			reason: "No cluster-scoped one without a claim is named: it may be anybody's.",
			ledger: Ledger{"a": entry("", "secret", 7)},
			want:   "7Gi are used by 1 resource",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := tc.ledger.Decide(Amounts{Memory: 8 << 30}, Seen{}, Request{UID: "me", Entry: Entry{
				Namespace: tc.namespace, Claim: tc.claim, Created: 3, Wants: Amounts{Memory: 2 << 30}, Whole: true,
			}}, now())
			got := (&ExceededError{Tenant: "team-a", Short: d.Short}).Error()
			want := `the quota of tenant "team-a" has no room: memory: 2Gi more, of 8Gi ` + tc.want
			if got != want {
				t.Errorf("%s: want %q, got %q", tc.reason, want, got)
			}
		})
	}
}

// TestAsked checks that the amounts can be parsed from a sentence.
func TestAsked(t *testing.T) {
	cases := map[string]struct {
		reason string
		want   Amounts
	}{
		"Nothing": {reason: "Nothing is asked for where nothing is short.", want: Amounts{}},
		"Number":  {reason: "A number is told as it is.", want: Amounts{Cores: 4}},
		"Bytes":   {reason: "Bytes are told exactly, also where they are no whole number of a unit.", want: Amounts{Memory: 2<<30 + 1}},
		"Many":    {reason: "All that is short is told.", want: Amounts{Disks("ceph-1.a"): 3 << 30, Addresses("vmbr0"): 1, Snapshots: 2000}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := &ExceededError{Tenant: "a: 1 more, of"}
			for name, n := range tc.want {
				e.Short = append(e.Short, Shortage{Name: name, More: n, Limit: 5 << 30, Used: 1, Users: 1, Most: []Use{{Name: "db", Amount: 1}}, Turn: true})
			}
			if diff := cmp.Diff(tc.want, Asked("would wait: "+e.Error())); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSee checks that each VM counts once, by whatever shows most of it.
func TestSee(t *testing.T) {
	guest := func(id int, pool string, cores int) proxmox.Guest {
		return proxmox.Guest{VMID: id, Type: "qemu", Pool: pool, MaxCPU: cores}
	}
	template := guest(104, "mine", 4)
	template.Template = true
	container := guest(105, "mine", 4)
	container.Type = "lxc"
	got := See([]Resource{
		{UID: "more", VMID: 100, There: vm(2)},
		{UID: "less", VMID: 101, There: vm(8)},
		{UID: "waits", VMID: 199},
		{UID: "ahead", VMID: 100},
		{UID: "theirs", VMID: 103},
		{UID: "goes", VMID: 198, Deleting: true},
	}, []proxmox.Guest{guest(100, "mine", 4), guest(101, "mine", 4), guest(102, "mine", 3), guest(103, "other", 4), template, container},
		func(g proxmox.Guest) bool { return g.Pool == "mine" })
	want := Seen{
		Of:     map[string]Amounts{"more": vm(4), "less": vm(8)},
		Listed: map[int]Amounts{100: vm(4), 101: vm(4), 102: vm(3), 104: vm(4)}, Named: map[string]int{"more": 100, "less": 101, "ahead": 100},
		Others: Amounts{VMs: 2, Cores: 7}, OtherNumber: 2, Deleting: map[string]bool{"goes": true},
	}
	for _, a := range append(slices.Collect(maps.Values(got.Listed)), got.Others) {
		delete(a, Memory) // The list above does not have it.
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("See(): -want, +got:\n%s", diff)
	}
}

// TestLimits parses a quota, and shows its usage.
func TestLimits(t *testing.T) {
	l := Limits(&v1alpha1.TenantQuota{
		VMs: new(int32(3)), Memory: new(resource.MustParse("8Gi")), Disks: []v1alpha1.TenantStorageQuota{{Storage: "ceph", Size: resource.MustParse("1Ti")}},
		PublicAddresses: []v1alpha1.TenantAddressQuota{{Bridge: "vmbr0", Count: 2}},
	})
	if diff := cmp.Diff(Amounts{VMs: 3, Memory: 8 << 30, "disks/ceph": 1 << 40, "publicAddresses/vmbr0": 2}, l); diff != "" {
		t.Errorf("Limits(): -want, +got:\n%s", diff)
	}
	ledger := Ledger{"a": {Has: Amounts{VMs: 1, Memory: 1 << 30}}, "b": {Wants: Amounts{VMs: 1, Memory: 8 << 30}, Whole: true}}
	var got []string
	for _, u := range ledger.Usage(l, Seen{}) {
		text := u.Resource + " " + u.Used.String() + " of " + u.Limit.String()
		if u.Waiting != nil {
			text += " waited for"
		}
		got = append(got, text)
	}
	want := []string{"disks/ceph 0 of 1Ti", "memory 1Gi of 8Gi waited for", "publicAddresses/vmbr0 0 of 2", "vms 1 of 3 waited for"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Usage(): -want, +got:\n%s", diff)
	}
}

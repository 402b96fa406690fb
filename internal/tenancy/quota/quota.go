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

// Package quota decides what there is room for in the quota of a tenant: what its resources have
// together, and who is next. It is arithmetic, and calls nobody.
//
// A Ledger has an entry for each resource that was granted something, and for each that waits.
// The entry stays until its resource is gone, and then there is one of what the resource has left in a
// VM, so that the sum of the entries is never less than what there is or will be, whatever any cache
// shows. State has the table of what becomes of an entry. What is there without an entry, since it was
// there before the quota, counts as it is seen.
package quota

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// offerLasts is how long room is kept for a resource that waits and may have it now. Then it is for
// others, as the resource may be paused, or cannot be made for another reason.
const offerLasts = 2 * time.Minute

// An Entry is what a resource was granted, and what it waits for.
type Entry struct {
	// Kind of the resource with its group, its namespace if it has one, and its name.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`

	// Claim is the namespace of the claim that a cluster-scoped resource is made for.
	Claim string `json:"claim,omitempty"`

	// Config is the provider configuration of the resource, whose lists tell which VMs there are.
	Config string `json:"config,omitempty"`

	// Created is when the resource came, in seconds since 1970.
	Created int64 `json:"created"`

	// Has is what counts of the resource.
	Has Amounts `json:"has,omitempty"`

	// Pending is the part of Has that was granted and was not seen yet.
	Pending Amounts `json:"pending,omitempty"`

	// Wants is all that the resource is to have, if it waits for some of it.
	Wants Amounts `json:"wants,omitempty"`

	// Whole is true for what is yet to be made, which gets all that it wants or nothing. What is there
	// gets as much as there is room for.
	Whole bool `json:"whole,omitempty"`

	// Offered is since when there is room for it, in seconds since 1970; 0 if there is none.
	Offered int64 `json:"offered,omitempty"`

	// VMID of the VM that has what counts, or is to have it; 0 if none is known. Volume is the disk that a Volume is.
	VMID   int    `json:"vmid,omitempty"`
	Volume string `json:"volume,omitempty"`

	// Taken is the snapshot that a Snapshot was let take last, or waits for.
	Taken Taken `json:"taken,omitzero"`

	// Left is true for an entry of what a resource has left in a VM: it is gone, or has another VM or disk.
	Left bool `json:"left,omitempty"`

	// Creating is since when a VM is left that nobody had seen by then, in seconds since 1970; 0 once it is complete.
	Creating int64 `json:"creating,omitempty"`
}

// Taken is a snapshot of a VM.
type Taken struct {
	VMID int    `json:"vmid"`
	Name string `json:"name"`
}

// whose is the namespace whose users may know of the resource; empty if that is not known.
func (e Entry) whose() string { return cmp.Or(e.Namespace, e.Claim) }

// A Ledger has the entries of a tenant, by the UIDs of their resources. Those of what was left have names that begin with such a UID.
type Ledger map[string]Entry

// A Request is that of a resource to have something.
type Request struct {
	UID string

	// Entry says whose request it is, and what all that is which the resource is to have.
	Entry

	// There is what the resource has now, which is not asked for.
	There Amounts

	// Beside is true if the VM that the resource names is not its own, and is there beside what is asked for.
	Beside bool

	// Volumes are the disks that count with the resource, where that is a VM which was seen, and Owner is the VMID that its own disk is named
	// after, if it is one.
	Volumes []string
	Owner   int

	// Rejected is the VMID of the VM that the resource was granted, if Proxmox VE has refused to make it since somebody else was faster.
	Rejected int
}

// A Shortage is that of one limit.
type Shortage struct {
	// Name of what is short.
	Name string

	// Limit of the quota, how much of it is used, by how many resources, and how much more is
	// asked for.
	Limit, Used, More int64
	Users             int

	// Most are the names of those of the same namespace that use most of it, and how much.
	Most []Use

	// Turn is true if there is room, and it is kept for those that have waited longer.
	Turn bool
}

// A Use is how much a resource uses.
type Use struct {
	Name   string
	Amount int64
}

// A Decision about a request.
type Decision struct {
	// Granted is what the resource may have.
	Granted Amounts

	// Short is what there is no room for; nothing if all is granted.
	Short []Shortage

	// Offered are the UIDs of resources that waited and have room now.
	Offered []string

	// Changed is true if the ledger is another than before.
	Changed bool
}

// Decide about a request, and enter the decision.
func (l Ledger) Decide(limits Amounts, seen Seen, r Request, now time.Time) Decision {
	was := l[r.UID]
	base := Most(was.remains(r.There), r.There)
	d := Decision{Granted: base}
	after := l.withoutTaken(r)
	used := after.Used(seen, r.UID)
	used.add(base)
	used.add(l.othersUsage(seen, r))
	reserved := maps.Clone(used)
	for _, uid := range l.ahead(seen, r) {
		if l.offer(limits, seen, reserved, uid, now) {
			d.Offered = append(d.Offered, uid)
			d.Changed = true
		}
	}
	d.Short = shortages(limits, used, reserved, r.Wants.Beyond(base))
	for i := range d.Short {
		d.Short[i].Users, d.Short[i].Most = l.users(seen, r, d.Short[i].Name)
	}
	if len(d.Short) == 0 || !r.Whole {
		d.Granted = Most(r.There, r.Wants)
		for _, s := range d.Short {
			d.Granted[s.Name] = min(base[s.Name], d.Granted[s.Name])
		}
		if l.TakesOver(r) {
			clear(l)
			maps.Copy(l, after)
			d.Changed = true
		}
	}
	d = l.enter(r, d)
	if was.State() == StateCreating && was.VMID == r.VMID && r.Volume == "" && !r.Beside && l[r.UID].State() == StateHeld {
		l.settle(r)
	}
	return d
}

// shortages are what there is no room for among what is asked for beside what is used, or reserved for those that have waited longer.
func shortages(limits, used, reserved, more Amounts) []Shortage {
	var all []Shortage
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if limit, limited := limits[name]; limited && sum(reserved[name], more[name]) > limit {
			all = append(all, Shortage{Name: name, Limit: limit, Used: used[name], More: more[name], Turn: sum(used[name], more[name]) <= limit})
		}
	}
	return all
}

// othersUsage returns the amounts of a VM that a resource names but does not own. They count in addition to the request, except what already counts for another
// resource that names the VM and has received everything it was granted.
func (l Ledger) othersUsage(seen Seen, r Request) Amounts {
	vmid, named := seen.Named[r.UID]
	if !r.Beside || !named {
		return nil
	}
	there := seen.Listed[vmid]
	var uncounted Amounts
	for uid, other := range seen.Named {
		if e := l[uid]; uid != r.UID && other == vmid && len(e.Has) > 0 && len(e.Pending) == 0 {
			uncounted = Most(uncounted, there.Beyond(Most(e.Has, seen.Of[uid])))
		}
	}
	if uncounted != nil {
		return uncounted
	}
	return there
}

// remains is the part of what a resource was granted that is there now or was not seen yet. What has gone since is asked for again, since another resource
// may count it by now, as a Volume does a disk that it takes over from a Machine.
func (e Entry) remains(there Amounts) Amounts {
	all := Amounts{}
	for name, n := range e.Has {
		all[name] = min(n, e.Pending[name]+there[name])
	}
	return all
}

// enter a decision.
func (l Ledger) enter(r Request, d Decision) Decision {
	e := r.Entry
	e.Has, e.Pending, e.Offered = d.Granted, d.Granted.Beyond(r.There), 0
	if slices.ContainsFunc(d.Short, func(s Shortage) bool { return !s.Turn }) {
		e.Offered = l[r.UID].Offered // It could not take what is kept for it, which ends after offerLasts.
	}
	if len(d.Short) == 0 {
		e.Wants, e.Whole = nil, false
	}
	if was, ok := l[r.UID]; !ok || !was.equal(e) {
		l[r.UID] = e
		d.Changed = true
	}
	return d
}

func (e Entry) equal(o Entry) bool {
	same := maps.Equal(e.Has, o.Has) && maps.Equal(e.Pending, o.Pending) && maps.Equal(e.Wants, o.Wants)
	e.Has, e.Pending, e.Wants, o.Has, o.Pending, o.Wants = nil, nil, nil, nil, nil, nil
	return same && reflect.DeepEqual(e, o)
}

// offer reserves room for a resource that waits, before others have it. It reports whether the entry has changed by that.
func (l Ledger) offer(limits Amounts, seen Seen, reserved Amounts, uid string, now time.Time) bool {
	e, room := l[uid], l.room(limits, seen, reserved, uid)
	was := e.Offered
	switch {
	case len(room) == 0:
		e.Offered = 0
	case was == 0:
		e.Offered = now.Unix()
	}
	if len(room) > 0 && !e.expired(now) {
		reserved.add(room)
	}
	l[uid] = e
	return was != e.Offered
}

// expired reports whether no room is kept any more for a resource that was offered some.
func (e Entry) expired(now time.Time) bool {
	return e.Offered != 0 && now.Sub(time.Unix(e.Offered, 0)) >= offerLasts
}

// room is what there is room for of what a resource waits for, beside what is reserved.
func (l Ledger) room(limits Amounts, seen Seen, reserved Amounts, uid string) Amounts {
	room := Amounts{}
	for name, n := range l.lacks(seen, uid) {
		if limit, limited := limits[name]; !limited || sum(reserved[name], n) <= limit {
			room[name] = n
		} else if l[uid].Whole {
			return nil
		}
	}
	return room
}

// lacks is what a resource waits for. One that waits for a VM without a VMID has nothing of the VM that it names, which is somebody else's.
func (l Ledger) lacks(seen Seen, uid string) Amounts {
	e, there := l[uid], seen.Of[uid]
	if _, names := seen.Named[uid]; names && e.Whole && e.VMID == 0 {
		there = nil
	}
	return e.Wants.Beyond(Most(e.Has, there))
}

// Fitting are the UIDs of the resources that wait and have room now beside what is kept for those which came before them.
func (l Ledger) Fitting(limits Amounts, seen Seen, now time.Time) []string {
	reserved := l.Used(seen, "")
	var all []string
	for _, uid := range l.waiting(seen, func(string, Entry) bool { return true }) {
		room := l.room(limits, seen, reserved, uid)
		if len(room) == 0 {
			continue
		}
		if all = append(all, uid); !l[uid].expired(now) {
			reserved.add(room)
		}
	}
	return all
}

// ahead are the resources that wait and came before one.
func (l Ledger) ahead(seen Seen, r Request) []string {
	return l.waiting(seen, func(uid string, e Entry) bool { return uid != r.UID && came(uid, r.UID, e, r.Entry) < 0 })
}

// waiting are those of the resources that wait, in order of coming.
func (l Ledger) waiting(seen Seen, those func(uid string, e Entry) bool) []string {
	var all []string
	for uid, e := range l {
		if len(e.Wants) > 0 && !seen.Deleting[uid] && those(uid, e) {
			all = append(all, uid)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return came(a, b, l[a], l[b]) })
	return all
}

// came compares when two resources came.
func came(a, b string, ofA, ofB Entry) int {
	return cmp.Or(cmp.Compare(ofA.Created, ofB.Created), cmp.Compare(a, b))
}

// Used is what all resources have, without one of them, which may be empty.
func (l Ledger) Used(seen Seen, without string) Amounts {
	all := Most(seen.Others, nil)
	for uid, has := range l.each(seen) {
		if uid != without {
			all.add(has)
		}
	}
	return all
}

// each is what every resource has.
func (l Ledger) each(seen Seen) map[string]Amounts {
	all := make(map[string]Amounts, len(l))
	for uid, e := range l {
		all[uid] = Most(e.Has, seen.Of[uid])
	}
	for uid, there := range seen.Of {
		if _, ok := l[uid]; !ok {
			all[uid] = there
		}
	}
	return all
}

// mostNamed is how many resources a message names.
const mostNamed = 3

// users are how many have something, and those of a namespace that have most of it. What others are called is not for its users to know.
func (l Ledger) users(seen Seen, r Request, name string) (n int, named []Use) {
	all := l.each(seen)
	all[r.UID] = Most(all[r.UID], r.There)
	for uid, has := range all {
		if has[name] == 0 {
			continue
		}
		n++
		if e := l[uid]; r.whose() != "" && e.whose() == r.whose() {
			named = append(named, Use{Name: e.Name, Amount: has[name]})
		}
	}
	if seen.Others[name] > 0 {
		n += seen.OtherNumber
	}
	slices.SortFunc(named, func(a, b Use) int { return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.Name, b.Name)) })
	return n, named[:min(len(named), mostNamed)]
}

// Waiting is how many resources wait for something.
func (l Ledger) Waiting(seen Seen, name string) int {
	n := 0
	for uid, e := range l {
		if len(e.Wants) > 0 && l.lacks(seen, uid)[name] > 0 && !seen.Deleting[uid] {
			n++
		}
	}
	return n
}

// Usage of all that a quota limits, by name.
func (l Ledger) Usage(limits Amounts, seen Seen) []v1alpha1.TenantUsage {
	used := l.Used(seen, "")
	all := make([]v1alpha1.TenantUsage, 0, len(limits))
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		u := v1alpha1.TenantUsage{Resource: name, Used: Quantity(name, used[name]), Limit: Quantity(name, limits[name])}
		if n := l.Waiting(seen, name); n > 0 {
			u.Waiting = ptr.To(int32(n)) //nolint:gosec // No tenant has that many.
		}
		all = append(all, u)
	}
	return all
}

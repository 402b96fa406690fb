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

// Package quota decides what the quota of a tenant has room for: what its resources have together, and which of them is next. It only computes, and
// makes no calls.
//
// A Ledger has an entry for each resource that was granted something, and for each that waits. The entry stays until its resource no longer exists. It
// is then replaced by an entry of what the resource has left in a VM, so that the sum of the entries is never less than what exists or will exist,
// whatever any cache shows. State documents how the state of an entry changes. A VM without an entry, since it existed before the quota, counts as it
// is observed.
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

// offerLasts is how long room is kept for a waiting resource once there is some. Afterwards the room is for others, since the resource may be paused,
// or its creation may fail for another reason.
const offerLasts = 2 * time.Minute

// An Entry has what a resource was granted, and what it waits for.
type Entry struct {
	// Kind of the resource with its group, its namespace if it has one, and its name.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`

	// Claim is the namespace of the claim that a cluster-scoped resource is created for.
	Claim string `json:"claim,omitempty"`

	// Config is the provider configuration of the resource, whose lists show the existing VMs.
	Config string `json:"config,omitempty"`

	// Created is the creation time of the resource, in seconds since 1970.
	Created int64 `json:"created"`

	// Has are the amounts that count for the resource.
	Has Amounts `json:"has,omitempty"`

	// Pending is the part of Has that was granted and has not been observed yet.
	Pending Amounts `json:"pending,omitempty"`

	// Wants is all that the resource will have, if it waits for some of it.
	Wants Amounts `json:"wants,omitempty"`

	// Whole is true for what does not exist yet, which gets all that it wants or nothing. What exists gets as much as there is room for.
	Whole bool `json:"whole,omitempty"`

	// Offered is when room became available for it, in seconds since 1970; 0 if there is none.
	Offered int64 `json:"offered,omitempty"`

	// VMID of the VM that has, or will have, what counts; 0 if none is known. Volume is the disk of a Volume.
	VMID   int    `json:"vmid,omitempty"`
	Volume string `json:"volume,omitempty"`

	// Taken is the snapshot that a Snapshot was last allowed to take, or waits for.
	Taken Taken `json:"taken,omitzero"`

	// Left is true for an entry of what a resource has left in a VM: the resource no longer exists, or has another VM or disk.
	Left bool `json:"left,omitempty"`

	// Creating is when a VM was left that had not been observed, in seconds since 1970; 0 once the VM is complete.
	Creating int64 `json:"creating,omitempty"`
}

// Taken identifies a snapshot of a VM.
type Taken struct {
	VMID int    `json:"vmid"`
	Name string `json:"name"`
}

// whose returns the namespace whose users may know of the resource, or an empty string if that is not known.
func (e Entry) whose() string { return cmp.Or(e.Namespace, e.Claim) }

// A Ledger has the entries of a tenant, by the UIDs of their resources. Entries of what was left have keys that begin with such a UID.
type Ledger map[string]Entry

// A Request asks for amounts for a resource.
type Request struct {
	UID string

	// Entry identifies the resource and has all that it will have.
	Entry

	// There is what the resource has now and therefore does not ask for.
	There Amounts

	// Beside is true if the VM that the resource names is not its own, and exists in addition to what is requested.
	Beside bool

	// Volumes are the disks that count with the resource, if it is a VM that was observed. Owner is the VMID in the name of the resource's disk, if it is
	// a disk.
	Volumes []string
	Owner   int

	// Rejected is the VMID of the VM that the resource was granted, if Proxmox VE has refused to create it since the VMID was taken meanwhile.
	Rejected int
}

// A Shortage is the lack of room under one limit.
type Shortage struct {
	// Name of the limited amount.
	Name string

	// Limit of the quota, how much of it is used, by how many resources, and how much more is requested.
	Limit, Used, More int64
	Users             int

	// Most are the names of the resources of the same namespace that use most, with their amounts.
	Most []Use

	// Turn is true if there is room that is kept for resources that have waited longer.
	Turn bool
}

// A Use is how much a resource uses.
type Use struct {
	Name   string
	Amount int64
}

// A Decision answers a request.
type Decision struct {
	// Granted is what the resource may have.
	Granted Amounts

	// Short are the shortages; none if all is granted.
	Short []Shortage

	// Offered are the UIDs of resources that waited and have room now.
	Offered []string

	// Changed is true if the ledger has changed.
	Changed bool
}

// Decide decides about a request, and enters the decision.
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

// shortages returns the shortages for a request, in addition to what is used or reserved for resources that have waited longer.
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

// remains returns the part of what a resource was granted that exists now or has not been observed yet. What has disappeared is requested again, since
// another resource may already count it: a Volume counts a disk that it takes over from a Machine.
func (e Entry) remains(there Amounts) Amounts {
	all := Amounts{}
	for name, n := range e.Has {
		all[name] = min(n, e.Pending[name]+there[name])
	}
	return all
}

// enter enters a decision.
func (l Ledger) enter(r Request, d Decision) Decision {
	e := r.Entry
	e.Has, e.Pending, e.Offered = d.Granted, d.Granted.Beyond(r.There), 0
	if slices.ContainsFunc(d.Short, func(s Shortage) bool { return !s.Turn }) {
		e.Offered = l[r.UID].Offered // It could not use the room that is kept for it, which ends after offerLasts.
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

// offer reserves room for a waiting resource before others get it. It reports whether this has changed the entry.
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

// expired reports whether room is no longer kept for a resource that was offered some.
func (e Entry) expired(now time.Time) bool {
	return e.Offered != 0 && now.Sub(time.Unix(e.Offered, 0)) >= offerLasts
}

// room returns the part of what a resource waits for that there is room for, in addition to what is reserved.
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

// lacks returns what a resource waits for. One that waits for a VM without a VMID has nothing of the VM that it names, which is another resource's.
func (l Ledger) lacks(seen Seen, uid string) Amounts {
	e, there := l[uid], seen.Of[uid]
	if _, names := seen.Named[uid]; names && e.Whole && e.VMID == 0 {
		there = nil
	}
	return e.Wants.Beyond(Most(e.Has, there))
}

// Fitting returns the UIDs of the waiting resources that have room now, apart from the room that is kept for those before them.
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

// ahead returns the waiting resources that were created before the requesting one.
func (l Ledger) ahead(seen Seen, r Request) []string {
	return l.waiting(seen, func(uid string, e Entry) bool { return uid != r.UID && came(uid, r.UID, e, r.Entry) < 0 })
}

// waiting returns the selected waiting resources, in order of creation.
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

// came compares two resources by their creation.
func came(a, b string, ofA, ofB Entry) int {
	return cmp.Or(cmp.Compare(ofA.Created, ofB.Created), cmp.Compare(a, b))
}

// Used returns what all resources have except one, whose UID may be empty.
func (l Ledger) Used(seen Seen, without string) Amounts {
	all := Most(seen.Others, nil)
	for uid, has := range l.each(seen) {
		if uid != without {
			all.add(has)
		}
	}
	return all
}

// each returns what each resource has.
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

// users returns how many resources have an amount, and those of a namespace that have most of it. The users of a namespace must not see the names of
// other resources.
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

// Waiting returns how many resources wait for something.
func (l Ledger) Waiting(seen Seen, name string) int {
	n := 0
	for uid, e := range l {
		if len(e.Wants) > 0 && l.lacks(seen, uid)[name] > 0 && !seen.Deleting[uid] {
			n++
		}
	}
	return n
}

// Usage returns the usage of each limit of a quota, by name.
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

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
	"fmt"
	"slices"
	"time"
)

// Leave has an entry stand for what its resource has left behind in a VM. Of one that was seen, that is what the list of VMs does not tell: disks and
// interfaces. It goes if there is nothing, unless the VM is outside of where the tenant's are, and so listed only because of an entry. A VM that nobody
// has seen may be being made, and counts with all that was granted.
func (l Ledger) Leave(uid string, outside bool, now time.Time) {
	e := l[uid]
	delete(l, uid)
	if e.VMID == 0 {
		return
	}
	name := fmt.Sprintf("%s/%d/%s", uid, e.VMID, e.Volume)
	was := l[name] // It had the same VM before.
	left := Entry{
		Kind: e.Kind, Namespace: e.Namespace, Claim: e.Claim, Name: e.Name, Config: e.Config, Created: e.Created, VMID: e.VMID, Volume: e.Volume,
		Left: true, Has: Most(was.Has, unlisted(e.Has)), Creating: was.Creating,
	}
	if e.unseen() {
		left.Has, left.Creating = Most(was.Has, e.Has), now.Unix()
	}
	if len(left.Has) > 0 || outside {
		l[name] = left
	}
}

// Complete has an entry stand for what the list of VMs does not tell of a VM that is complete by now.
func (l Ledger) Complete(uid string, outside bool) {
	e := l[uid]
	e.Has, e.Creating = unlisted(e.Has), 0
	if l[uid] = e; len(e.Has) == 0 && !outside {
		delete(l, uid)
	}
}

// unlisted are those among amounts that the list of VMs does not tell.
func unlisted(a Amounts) Amounts {
	all := Amounts{}
	for name, n := range a {
		_, isDisk := StorageOf(name)
		_, isAddress := BridgeOf(name)
		if (isDisk || isAddress) && n > 0 {
			all[name] = n
		}
	}
	return all
}

// unseen reports whether a resource was granted a VM that nobody has seen since.
func (e Entry) unseen() bool {
	return e.Volume == "" && e.VMID != 0 && len(e.Has) > 0 && len(e.Has.Beyond(e.Pending)) == 0
}

// Reject has what a resource was granted be for its next VM, once Proxmox VE has refused to make the one that it was for, since somebody else has its
// VMID. What it has left of that VM goes: it asked for the next one before that was told. It reports whether the ledger has changed.
func (l Ledger) Reject(r Request) bool {
	if r.Rejected == 0 {
		return false
	}
	name, e := fmt.Sprintf("%s/%d/", r.UID, r.Rejected), l[r.UID]
	left, granted := l[name].Creating != 0, e.VMID == r.Rejected && e.unseen()
	if left {
		delete(l, name)
	}
	if granted {
		e.VMID = 0
		l[r.UID] = e
	}
	return left || granted
}

// Replaces reports whether a resource asks with another VM, or another disk, than it had, or was granted: its record was taken away, or is another
// one. What it had may be there, also if nobody has seen it yet.
func (l Ledger) Replaces(r Request) bool {
	e := l[r.UID]
	switch {
	case e.Volume != "":
		return e.Volume != r.Volume
	case e.VMID == 0 || len(e.Has) == 0:
		return false
	case r.Volume != "" && r.Owner == e.VMID: // The disk has just been made there.
		return false
	case e.VMID != r.VMID:
		return true
	}
	return r.Volume == "" && !e.unseen() && r.Whole && len(r.There) == 0
}

// inherits reports whether a resource counts what another one has left: it was seen to have the VM, or the disk.
func (r Request) inherits(e Entry) bool {
	switch {
	case !e.Left || r.Beside:
		return false
	case e.Volume != "":
		return e.Volume == r.Volume || slices.Contains(r.Volumes, e.Volume)
	}
	return e.VMID == r.VMID && r.Volume == ""
}

// takes reports whether a resource is a disk of a VM that another one has left, and that counts with that VM so far.
func (l Ledger) takes(r Request, e Entry) bool {
	if !e.Left || e.Volume != "" || r.Volume == "" || e.VMID != r.VMID {
		return false
	}
	for uid, other := range l {
		if (uid == r.UID || other.Volume == r.Volume) && len(disksAmong(other.Has)) > 0 {
			return false // It counted beside the VM before.
		}
	}
	return true
}

// Inherits reports whether a resource counts what others have left in these entries.
func (l Ledger) Inherits(r Request) bool {
	for _, e := range l {
		if r.inherits(e) || l.takes(r, e) {
			return true
		}
	}
	return false
}

// heirs are the entries without what others have left and a resource counts, once it is granted what it asks for.
func (l Ledger) heirs(r Request) Ledger {
	all := make(Ledger, len(l))
	for uid, e := range l {
		switch {
		case r.inherits(e):
		case l.takes(r, e):
			if e.Has = e.Has.Beyond(r.disks()); len(e.Has) > 0 {
				all[uid] = e
			}
		default:
			all[uid] = e
		}
	}
	return all
}

// disks of a resource as they are, without what it grows by.
func (r Request) disks() Amounts {
	if r.Whole {
		return disksAmong(r.Wants)
	}
	return disksAmong(r.There)
}

// disksAmong are the disks among amounts.
func disksAmong(a Amounts) Amounts {
	all := Amounts{}
	for name, n := range a {
		if _, is := StorageOf(name); is && n > 0 {
			all[name] = n
		}
	}
	return all
}

// Leaves reports whether something counts that a resource has left: when it goes, nobody tells.
func (l Ledger) Leaves(name string) bool {
	for _, e := range l {
		if e.Left && e.Has[name] > 0 {
			return true
		}
	}
	return false
}

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

// Leave replaces the entry of a resource that no longer exists, or that has another VM or disk now, by an entry of what it has left in the VM. If the
// VM was observed, these are disks and interfaces: the list of VMs shows all other amounts. Without them, no entry is needed unless the VM is listed
// only because of one, since it was adopted and is outside of the tenant's pools and range. A VM that has not been observed may be under creation, and
// counts with all that was granted.
func (l Ledger) Leave(uid string, outside bool, now time.Time) {
	e := l[uid]
	delete(l, uid)
	if e.VMID == 0 {
		return
	}
	name := leftName(uid, e.VMID, e.Volume)
	was := l[name] // The resource has left the same VM before.
	left := Entry{
		Kind: e.Kind, Namespace: e.Namespace, Claim: e.Claim, Name: e.Name, Config: e.Config, Created: e.Created, VMID: e.VMID, Volume: e.Volume,
		Left: true, Has: Most(was.Has, unlisted(e.Has)), Creating: was.Creating,
	}
	if e.State() == StateCreating {
		left.Has, left.Creating = Most(was.Has, e.Has), now.Unix()
	}
	if len(left.Has) > 0 || outside {
		l[name] = left
	}
}

// LeaveBegun enters what a resource may have left, with the amounts that the resource shows. It applies to a resource without an entry that requests a
// VM although the creation of one has already begun for it. It reports whether the ledger has changed.
func (l Ledger) LeaveBegun(r Request, begun Amounts, vmid int, now time.Time) bool {
	if _, entered := l[r.UID]; entered || !r.Whole || len(r.There) > 0 || len(begun) == 0 || vmid == 0 {
		return false
	}
	e := r.Entry
	e.VMID, e.Volume, e.Has, e.Pending = vmid, "", begun, begun
	l[r.UID] = e
	l.Leave(r.UID, false, now)
	return true
}

// leftName returns the name of the entry of what a resource has left in a VM: all of the VM, or a disk.
func leftName(uid string, vmid int, volume string) string {
	return fmt.Sprintf("%s/%d/%s", uid, vmid, volume)
}

// Complete changes the state of an entry from LeftCreating to Left, since its VM is complete. The entry keeps disks and interfaces, as in Leave.
func (l Ledger) Complete(uid string, outside bool) {
	e := l[uid]
	e.Has, e.Creating = unlisted(e.Has), 0
	if l[uid] = e; len(e.Has) == 0 && !outside {
		delete(l, uid)
	}
}

// unlisted returns the disks and interfaces among amounts, which the list of VMs does not show.
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

// Reject records that Proxmox VE has refused to create the VM that a resource was granted, since its VMID is taken: the grant is for the next VM. If
// the resource had already requested the next VM, the entry of the first one is removed. It reports whether the ledger has changed.
func (l Ledger) Reject(r Request) bool {
	if r.Rejected == 0 {
		return false
	}
	name, e := leftName(r.UID, r.Rejected, ""), l[r.UID]
	left, granted := l[name].State() == StateLeftCreating, e.State() == StateCreating && e.VMID == r.Rejected
	if left {
		delete(l, name)
	}
	if granted {
		e.VMID = 0
		l[r.UID] = e
	}
	return left || granted
}

// settle records that a resource has the VM that it was granted. Other resources that were granted a VM with this VMID still have to get theirs, with
// another VMID.
func (l Ledger) settle(r Request) {
	for uid, e := range l {
		if uid != r.UID && e.VMID == r.VMID && e.State() == StateCreating {
			e.VMID = 0
			l[uid] = e
		}
	}
}

// Replaces reports whether a resource makes a request with another VM or disk than that of its entry, since its record was removed or changed. The
// former VM or disk may exist even if it was not observed yet.
func (l Ledger) Replaces(r Request) bool {
	switch e := l[r.UID]; {
	case e.Volume != "":
		return e.Volume != r.Volume
	case e.VMID == 0, len(e.Has) == 0:
		return false
	case r.Volume != "" && r.Owner == e.VMID: // The disk was just created in that VM.
		return false
	case e.VMID != r.VMID:
		return true
	default: // The VM existed and is to be created again.
		return r.Volume == "" && e.State() == StateHeld && r.Whole && len(r.There) == 0
	}
}

// takesOver reports whether a resource has the VM or the disk that another one has left, so that all of it counts with this resource.
func (r Request) takesOver(e Entry) bool {
	switch {
	case !e.Left || r.Beside:
		return false
	case e.Volume != "":
		return e.Volume == r.Volume || slices.Contains(r.Volumes, e.Volume)
	}
	return e.VMID == r.VMID && r.Volume == ""
}

// takesDisk reports whether a resource is a disk of a VM that another one has left, and that has counted with the rest of that VM so far.
func (l Ledger) takesDisk(r Request, e Entry) bool {
	if !e.Left || e.Volume != "" || r.Volume == "" || e.VMID != r.VMID {
		return false
	}
	for uid, other := range l {
		if (uid == r.UID || other.Volume == r.Volume) && len(disksAmong(other.Has)) > 0 {
			return false // The disk already has an entry.
		}
	}
	return true
}

// TakesOver reports whether a resource takes over what others have left.
func (l Ledger) TakesOver(r Request) bool {
	for _, e := range l {
		if r.takesOver(e) || l.takesDisk(r, e) {
			return true
		}
	}
	return false
}

// withoutTaken returns the ledger without what a resource takes over, as it will be once the request is granted.
func (l Ledger) withoutTaken(r Request) Ledger {
	all := make(Ledger, len(l))
	for uid, e := range l {
		switch {
		case r.takesOver(e):
		case l.takesDisk(r, e):
			if e.Has = e.Has.Beyond(r.disks()); len(e.Has) > 0 {
				all[uid] = e
			}
		default:
			all[uid] = e
		}
	}
	return all
}

// disks returns the disks of a resource as they are, without their growth.
func (r Request) disks() Amounts {
	if r.Whole {
		return disksAmong(r.Wants)
	}
	return disksAmong(r.There)
}

// disksAmong returns the disks among amounts.
func disksAmong(a Amounts) Amounts {
	all := Amounts{}
	for name, n := range a {
		if _, is := StorageOf(name); is && n > 0 {
			all[name] = n
		}
	}
	return all
}

// HasLeft reports whether the ledger counts an amount that a resource has left. Only a list that is read again shows that it no longer exists.
func (l Ledger) HasLeft(name string) bool {
	for _, e := range l {
		if e.Left && e.Has[name] > 0 {
			return true
		}
	}
	return false
}

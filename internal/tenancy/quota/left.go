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
)

// Leave has an entry stand for what its resource has left behind in a VM, as far as the list of VMs does not tell that: disks and interfaces. It goes
// if there is nothing.
func (l Ledger) Leave(uid string) {
	e := l[uid]
	delete(l, uid)
	has := Amounts{}
	for name, n := range e.Has {
		_, isDisk := StorageOf(name)
		_, isAddress := BridgeOf(name)
		if (isDisk || isAddress) && n > 0 {
			has[name] = n
		}
	}
	if e.VMID == 0 || len(has) == 0 {
		return
	}
	l[fmt.Sprintf("%s/%d/%s", uid, e.VMID, e.Volume)] = Entry{
		Kind: e.Kind, Namespace: e.Namespace, Name: e.Name, Created: e.Created, Has: has, VMID: e.VMID, Volume: e.Volume, Left: true,
	}
}

// Replaces reports whether a resource asks with another VM, or another disk, than it had: its record was taken away, or is another one. What it had
// may be there.
func (l Ledger) Replaces(r Request) bool {
	e := l[r.UID]
	switch {
	case e.Volume != "" || r.Volume != "":
		return e.Volume != "" && e.Volume != r.Volume
	case e.VMID == 0 || len(e.Has.Beyond(e.Pending)) == 0: // It was not seen.
		return false
	}
	return e.VMID != r.VMID || r.Whole && len(r.There) == 0
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

// Inherits reports whether a resource counts what others have left in these entries.
func (l Ledger) Inherits(r Request) bool {
	for _, e := range l {
		if r.inherits(e) {
			return true
		}
	}
	return false
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

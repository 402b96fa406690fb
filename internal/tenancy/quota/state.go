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

// A State describes the VM or the disk of an entry. It follows from the fields of the entry and is not stored, so that it cannot contradict them and applies
// to ledgers of all versions of the provider.
//
//	state         fields of the entry                          value of Has
//	Waiting       Has is empty                                 nothing
//	Granted       all of Has is Pending, and there is no VMID  all that was granted
//	Creating      all of Has is Pending, and there is a VMID   all that was granted
//	Held          some of Has was observed, or Volume is set   what was observed, and what was granted in addition
//	LeftCreating  the entry has Left, and a time in Creating   all that was granted
//	Left          the entry has Left                           disks and interfaces
//
// The larger of Has and the observed amounts counts. In state Left, the VM counts in addition to Has as the list of VMs shows it.
//
//	from                         to            when
//	no entry                     Waiting       a resource makes a request, and there is no room
//	no entry, Waiting            Granted       there is room for a resource without a VMID: a VM that will get one, a Snapshot or a Backup
//	no entry, Waiting, Granted   Creating      there is room, and a VMID is chosen, before Proxmox VE is called to create the VM
//	all of these                 Held          the resource was observed to have some of it
//	Creating                     Granted       Proxmox VE has refused to create the VM since its VMID is taken, or another resource that was granted the VMID
//	                                           has it
//	Creating                     LeftCreating  the resource no longer exists, or requests another VM: a call that creates the first one may be in progress
//	LeftCreating                 Left          the VM is complete
//	LeftCreating                 no entry      there is no VM after a minute, or it is another resource's, or Proxmox VE has refused to create it
//	Held                         Left          the resource no longer exists, or has another VM or disk
//	Left                         no entry      the VM or the disk no longer exists
//	LeftCreating, Left           no entry      a resource takes over the VM or the disk, and counts it
//
// An entry in state Waiting or Granted is removed with its resource. Wants, Whole and Offered have what a resource waits for, also in other states.
type State string

// The states of an entry.
const (
	StateWaiting      State = "Waiting"
	StateGranted      State = "Granted"
	StateCreating     State = "Creating"
	StateHeld         State = "Held"
	StateLeftCreating State = "LeftCreating"
	StateLeft         State = "Left"
)

// State returns the state of the entry.
func (e Entry) State() State {
	switch seen := len(e.Has.Beyond(e.Pending)) > 0; {
	case e.Left && e.Creating != 0:
		return StateLeftCreating
	case e.Left:
		return StateLeft
	case len(e.Has) == 0:
		return StateWaiting
	case seen || e.Volume != "":
		return StateHeld
	case e.VMID == 0:
		return StateGranted
	}
	return StateCreating
}

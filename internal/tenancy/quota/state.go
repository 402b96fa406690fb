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

// A State is what is known of the VM or the disk that an entry is about. It follows from the fields of the entry, and no field has it: so it cannot contradict
// them, and ledgers of all versions of the provider have it.
//
//	state         fields of the entry                          what Has is
//	Waiting       Has is empty                                 nothing
//	Granted       all of Has is Pending, and there is no VMID  all that was granted
//	Creating      all of Has is Pending, and there is a VMID   all that was granted
//	Held          some of Has was seen, or Volume is set       what was seen, and what was granted beside that
//	LeftCreating  it has Left, and a time in Creating          all that was granted
//	Left          it has Left                                  disks and interfaces
//
// Has counts, or what is seen if that is more. In state Left, the VM counts beside Has as the list of VMs shows it.
//
//	from                         to            when
//	no entry                     Waiting       a resource asks, and there is no room
//	no entry, Waiting            Granted       there is room for what has no VMID: a VM that is yet to get one, a Snapshot or a Backup
//	no entry, Waiting, Granted   Creating      there is room, and a VMID is chosen, before Proxmox VE is asked to make the VM
//	all of these                 Held          the resource was seen to have some of it
//	Creating                     Granted       Proxmox VE has refused to make the VM, since somebody else has its VMID, or another resource that was granted it
//	                                           has it
//	Creating                     LeftCreating  the resource is gone, or asks for another VM: a call that makes the first one may be under way
//	LeftCreating                 Left          the VM is complete
//	LeftCreating                 no entry      there is no VM after a minute, or it is somebody else's, or Proxmox VE has refused to make it
//	Held                         Left          the resource is gone, or has another VM or disk
//	Left                         no entry      the VM or the disk is gone
//	LeftCreating, Left           no entry      a resource takes over the VM or the disk, and counts it
//
// An entry in state Waiting or Granted goes with its resource. What a resource waits for is in Wants, Whole and Offered, also in other states.
type State string

// States of an entry.
const (
	StateWaiting      State = "Waiting"
	StateGranted      State = "Granted"
	StateCreating     State = "Creating"
	StateHeld         State = "Held"
	StateLeftCreating State = "LeftCreating"
	StateLeft         State = "Left"
)

// State of the entry.
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

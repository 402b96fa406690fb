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

package machine

import (
	"fmt"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A vm is a virtual machine as it is seen.
type vm struct {
	proxmox.Ref

	// State of the options.
	qemu.State

	// HA is what HA was told of the VM, if that was asked for.
	HA proxmox.HASettings

	// agentUnavailable is why the guest agent cannot be asked.
	agentUnavailable string

	// inHA is true if HA was told of the VM, even if it is to ignore it.
	inHA bool

	// haUnavailable is why that cannot be read.
	haUnavailable string

	// Pool that the VM is a member of.
	Pool string
	pool poolVisibility

	// values that PVE has told, from which State is sorted out.
	values []proxmox.PendingValue

	Status     proxmox.Status
	Interfaces []proxmox.Interface

	// identityPending is true for a clone that has not got its identity yet.
	identityPending bool
}

// lock of PVE on the VM's configuration.
func (v *vm) lock() string { return v.Config["lock"] }

// hasUUID reports whether the VM has the UUID that is its identity: a clone gets it
// when it is configured first.
func (v *vm) hasUUID(id qemu.Identity) bool { return strings.EqualFold(v.Config.UUID(), id.UUID) }

// beingCreated reports whether the VM is not complete yet.
func (v *vm) beingCreated() bool { return v.Config.BeingCreated() }

// stuck says what to do about a VM that is locked for its creation for ever.
func (v *vm) stuck() string {
	return fmt.Sprintf("VM %d on node %s is locked (%s), but no task works on it: if that lasts, its creation died, "+
		"and its remains are removed on the node by \"qm unlock %d && qm destroy %d\"", v.VMID, v.Node, v.lock(), v.VMID, v.VMID)
}

func (v *vm) template() bool { return v.Config.Template() }

// on reports whether the VM is on. One that is off, or that its guest has shut down meanwhile,
// has a process too while PVE backs it up.
func (v *vm) on() bool {
	backedUpOff := v.lock() == "backup" && (v.Status.QMPStatus == qmpPrelaunch || v.Status.QMPStatus == qmpShutdown)
	return v.Status.Running() && !backedUpOff
}

// agentOn reports whether the guest agent is turned on.
func (v *vm) agentOn() bool { return v.Active.Agent() }

// read what PVE says of a VM's options.
func (v *vm) read(values []proxmox.PendingValue) {
	v.values, v.State = values, qemu.Read(values)
}

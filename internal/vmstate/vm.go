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

// Package vmstate represents the observed state of a VM: what Proxmox VE and its guest report, and how the status and the connection Secret of its
// Machine show that. It makes no calls.
package vmstate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A VM is the observed state of a virtual machine.
type VM struct {
	proxmox.Ref

	// State of the options.
	qemu.State

	// HA has the settings of the VM in HA, if they were read.
	HA proxmox.HASettings

	// AgentUnavailable is the reason why the guest agent cannot be asked.
	AgentUnavailable string

	// InHA is true if the VM is in HA, even if HA ignores it.
	InHA bool

	// HAUnavailable is the reason why the HA settings cannot be read.
	HAUnavailable string

	// Pool that the VM is a member of.
	Pool           string
	PoolVisibility poolVisibility

	// Values that PVE has returned, from which State is derived.
	Values []proxmox.PendingValue

	Status proxmox.Status

	// StatusListed is true if the status is from the cluster's list, which has the last report of the node and is some seconds old.
	StatusListed bool

	Usage      *Usage
	Interfaces []proxmox.Interface

	// ShowConfig adds all options in force to the observation.
	ShowConfig bool

	// IdentityPending is true for a clone that does not have its identity yet.
	IdentityPending bool
}

// A Usage is the usage of a running VM, as its node last reported it.
type Usage struct {
	Node string

	// CPU in use, from 0 to 1 of CPUs.
	CPU  float64
	CPUs int

	// Memory in use, and what was read from disks and written to them since the VM's start, in bytes.
	Memory, DiskRead, DiskWritten int64

	At time.Time
}

// lockSuspended is the lock of a VM that is suspended to disk. The next start removes it.
const lockSuspended = "suspended"

// Lock returns the lock of PVE on the VM's configuration.
func (v *VM) Lock() string { return v.Config["lock"] }

// HasUUID reports whether the VM has the UUID of its identity. A clone gets it when it is first configured.
func (v *VM) HasUUID(id qemu.Identity) bool { return strings.EqualFold(v.Config.UUID(), id.UUID) }

// BeingCreated reports whether the VM is not complete yet.
func (v *VM) BeingCreated() bool { return v.Config.BeingCreated() }

// Stuck returns a message about what to do if a VM stays locked for its creation forever.
func (v *VM) Stuck() string {
	return fmt.Sprintf("VM %d on node %s is locked (%s), but no task works on it: if that lasts, its creation was interrupted, "+
		"and its remains are removed on the node by \"qm unlock %d && qm destroy %d\"", v.VMID, v.Node, v.Lock(), v.VMID, v.VMID)
}

// Locked returns a message that a VM is locked, and what removes the lock.
func Locked(vmid int, lock string) string {
	if lock == lockSuspended {
		return fmt.Sprintf("VM %d is locked (%s): start it, which lifts the lock", vmid, lock)
	}
	return fmt.Sprintf("VM %d is locked (%s), as while a task of Proxmox VE works on it: if none does, \"qm unlock %d\" on its node lifts the lock",
		vmid, lock, vmid)
}

// Template reports whether the VM is a template.
func (v *VM) Template() bool { return v.Config.Template() }

// On reports whether the VM is on. A VM that is off, or was shut down by its guest meanwhile, also has a process while PVE backs it up.
func (v *VM) On() bool {
	backedUpOff := v.Lock() == "backup" && (v.Status.QMPStatus == QMPPrelaunch || v.Status.QMPStatus == qmpShutdown)
	return v.Status.Running() && !backedUpOff
}

// AgentOn reports whether the guest agent is turned on.
func (v *VM) AgentOn() bool { return v.Active.Agent() }

// Read evaluates the values of a VM's options in PVE.
func (v *VM) Read(values []proxmox.PendingValue) {
	v.Values, v.State = values, qemu.Read(values)
}

// HasImage reports whether a drive of the VM has a NoCloud image that a provider has created.
func (v *VM) HasImage() bool {
	for _, value := range v.Config {
		volume, _, _ := strings.Cut(value, ",")
		if strings.Contains(volume, ":iso/") && nocloud.IsImage(volume) {
			return true
		}
	}
	return false
}

// MediumBeingRemoved reports whether a medium is in a drive that is pending removal.
func (v *VM) MediumBeingRemoved(medium string) bool {
	return v.Config.Uses(medium) == "" && slices.ContainsFunc(v.Active.CDROMs(), func(device string) bool {
		return v.Active.Volume(device) == medium
	})
}

// A poolVisibility is what can be read of the desired pool of the VM.
type poolVisibility int

// The visibilities of a pool.
const (
	PoolKnown poolVisibility = iota
	PoolHidden
	PoolAbsent
)

// MACs returns the MAC addresses of the VM's network cards that are plugged in.
func (v *VM) MACs() []string {
	return v.macs(func(n proxmox.NIC) bool { return n.Options.Get("link_down") != "1" })
}

// AllMACs returns the MAC addresses of all network cards.
func (v *VM) AllMACs() []string { return v.macs(func(proxmox.NIC) bool { return true }) }

func (v *VM) macs(counts func(proxmox.NIC) bool) []string {
	var all []string
	for _, device := range v.Active.NICs() {
		if n, err := proxmox.ParseNIC(v.Active[device]); err == nil && n.MAC != "" && counts(n) {
			all = append(all, n.MAC)
		}
	}
	return all
}

// ListedName returns the name of the VM in a list. PVE generates one if the VM has none.
func (v *VM) ListedName() string { return cmp.Or(v.Config["name"], fmt.Sprintf("VM %d", v.VMID)) }

// SizesMatch reports whether the VM has the sizes in a list.
func (v *VM) SizesMatch(g proxmox.Guest) bool {
	cpus, memory, disk := false, false, g.MaxDisk == 0
	for _, config := range []qemu.Config{v.Active, v.Config} {
		n := config.Integer("cores", 1) * config.Integer("sockets", 1)
		cpus = cpus || g.MaxCPU == int(config.Integer("vcpus", n))
		memory = memory || g.MaxMemory == config.Memory()
		for _, device := range config.Disks() {
			k, err := proxmox.ParseDisk(config[device])
			size, known := k.Size()
			disk = disk || err == nil && known && int64(size) == g.MaxDisk
		}
	}
	return cpus && memory && disk
}

// The states that can be requested from HA.
const (
	HAStarted  = "started"
	HAStopped  = "stopped"
	HADisabled = "disabled"
	HAIgnored  = "ignored"

	// haError is a state that cannot be requested.
	haError = "error"
)

// HAFailed reports whether HA has given the VM up. HA accepts no requests for it until an administrator has disabled it there.
func (v *VM) HAFailed() bool { return v.Status.HAManaged && v.Status.HAState == haError }

// The states of QEMU that are used here.
const (
	QMPRunning       = "running"
	QMPPaused        = "paused"
	QMPPrelaunch     = "prelaunch"
	qmpShutdown      = "shutdown"
	qmpAsleep        = "suspended"
	QMPPanicked      = "guest-panicked"
	QMPInternalError = "internal-error"
)

// Suspended reports whether the VM's memory is on disk.
func (v *VM) Suspended() bool { return v.Lock() == lockSuspended && !v.Status.Running() }

// Paused reports whether the VM's CPUs were stopped and its memory is kept, as suspension in RAM does.
func (v *VM) Paused() bool { return v.On() && v.Status.QMPStatus == QMPPaused }

// Asleep reports whether the guest has suspended itself to RAM.
func (v *VM) Asleep() bool { return v.On() && v.Status.QMPStatus == qmpAsleep }

// RefusesShutdown reports whether Proxmox VE does not ask the guest to shut down, since the guest would not react. Proxmox VE then stops the VM hard or
// refuses.
func (v *VM) RefusesShutdown() bool {
	return v.Paused() || v.Asleep() || v.Status.QMPStatus == QMPPrelaunch
}

// WaitsFor returns a message about what ends the lock that prevents changes of the VM.
func (v *VM) WaitsFor() string {
	if v.Suspended() {
		return "changes wait until the VM is resumed"
	}
	return fmt.Sprintf("changes wait until the VM is no longer locked (%s)", v.Lock())
}

// Halted reports whether the VM is on and its guest does not run. Under a lock, the VM may pass through states that last only for the task.
func (v *VM) Halted() bool {
	state := v.Status.QMPStatus
	return v.On() && (slices.Contains(haltedStates, state) || v.Lock() == "" && state != "" && state != QMPRunning)
}

// haltedStates are the states of a running QEMU that no task of PVE causes.
//
//nolint:gochecknoglobals // A constant.
var haltedStates = []string{QMPPaused, "io-error", QMPInternalError, QMPPanicked}

// MissingBootDisk returns a message if the VM has disks and none is attached. It is empty if one is, or if the VM has no disks at all.
func (v *VM) MissingBootDisk() string {
	unused := v.Config.Unused()
	if len(v.Config.Disks()) > 0 || len(v.Active.Disks()) > 0 || len(unused) == 0 {
		return ""
	}
	return unused[0] + " (" + v.Config[unused[0]] + ") is not attached"
}

// Bridges returns the bridges of the VM's networks.
func (v *VM) Bridges() map[string]bool {
	all := map[string]bool{}
	for _, device := range v.Active.NICs() {
		if n, err := proxmox.ParseNIC(v.Active[device]); err == nil && n.Bridge() != "" {
			all[n.Bridge()] = true
		}
	}
	return all
}

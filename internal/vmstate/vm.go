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

// Package vmstate knows a VM as it is seen: what Proxmox VE and its guest tell of it, and how the status and the connection Secret of
// its Machine show that. It calls nobody.
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

// A VM is a virtual machine as it is seen.
type VM struct {
	proxmox.Ref

	// State of the options.
	qemu.State

	// HA is what HA was told of the VM, if that was asked for.
	HA proxmox.HASettings

	// AgentUnavailable is why the guest agent cannot be asked.
	AgentUnavailable string

	// InHA is true if HA was told of the VM, even if it is to ignore it.
	InHA bool

	// HAUnavailable is why that cannot be read.
	HAUnavailable string

	// Pool that the VM is a member of.
	Pool           string
	PoolVisibility poolVisibility

	// Values that PVE has told, from which State is sorted out.
	Values []proxmox.PendingValue

	Status proxmox.Status

	// StatusListed is true if the cluster's list has told the status: it goes by the last report of the node, which is some seconds old.
	StatusListed bool

	Usage      *Usage
	Interfaces []proxmox.Interface

	// ShowConfig has the observation show all options in force.
	ShowConfig bool

	// IdentityPending is true for a clone that has not got its identity yet.
	IdentityPending bool
}

// A Usage is what a VM that is on uses, as its node reported it last.
type Usage struct {
	Node string

	// CPU in use, from 0 to 1 of CPUs.
	CPU  float64
	CPUs int

	// Memory in use, and what was read from disks and written to them since the VM's start, in bytes.
	Memory, DiskRead, DiskWritten int64

	At time.Time
}

// lockSuspended is the lock of a VM that is suspended to disk, which its next start lifts.
const lockSuspended = "suspended"

// Lock returns the lock of PVE on the VM's configuration.
func (v *VM) Lock() string { return v.Config["lock"] }

// HasUUID reports whether the VM has the UUID that is its identity: a clone gets it
// when it is configured first.
func (v *VM) HasUUID(id qemu.Identity) bool { return strings.EqualFold(v.Config.UUID(), id.UUID) }

// BeingCreated reports whether the VM is not complete yet.
func (v *VM) BeingCreated() bool { return v.Config.BeingCreated() }

// Stuck returns what to do about a VM that is locked for its creation for ever.
func (v *VM) Stuck() string {
	return fmt.Sprintf("VM %d on node %s is locked (%s), but no task works on it: if that lasts, its creation was interrupted, "+
		"and its remains are removed on the node by \"qm unlock %d && qm destroy %d\"", v.VMID, v.Node, v.Lock(), v.VMID, v.VMID)
}

// Locked returns that a VM is locked, and what lifts the lock.
func Locked(vmid int, lock string) string {
	if lock == lockSuspended {
		return fmt.Sprintf("VM %d is locked (%s): start it, which lifts the lock", vmid, lock)
	}
	return fmt.Sprintf("VM %d is locked (%s), as while a task of Proxmox VE works on it: if none does, \"qm unlock %d\" on its node lifts the lock",
		vmid, lock, vmid)
}

// Template reports whether the VM is a template.
func (v *VM) Template() bool { return v.Config.Template() }

// On reports whether the VM is on. One that is off, or that its guest has shut down meanwhile,
// has a process too while PVE backs it up.
func (v *VM) On() bool {
	backedUpOff := v.Lock() == "backup" && (v.Status.QMPStatus == QMPPrelaunch || v.Status.QMPStatus == qmpShutdown)
	return v.Status.Running() && !backedUpOff
}

// AgentOn reports whether the guest agent is turned on.
func (v *VM) AgentOn() bool { return v.Active.Agent() }

// Read reads what PVE says of a VM's options.
func (v *VM) Read(values []proxmox.PendingValue) {
	v.Values, v.State = values, qemu.Read(values)
}

// HasImage reports whether a NoCloud image that a provider has made is in a drive of the VM.
func (v *VM) HasImage() bool {
	for _, value := range v.Config {
		volume, _, _ := strings.Cut(value, ",")
		if strings.Contains(volume, ":iso/") && nocloud.IsImage(volume) {
			return true
		}
	}
	return false
}

// MediumBeingRemoved reports whether a medium is in a drive whose removal is pending.
func (v *VM) MediumBeingRemoved(medium string) bool {
	return v.Config.Uses(medium) == "" && slices.ContainsFunc(v.Active.CDROMs(), func(device string) bool {
		return v.Active.Volume(device) == medium
	})
}

// A poolVisibility is what can be seen of the pool that the VM is to be in.
type poolVisibility int

// What can be seen of a pool.
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

// ListedName returns the name that a list has. PVE makes one up where there is none.
func (v *VM) ListedName() string { return cmp.Or(v.Config["name"], fmt.Sprintf("VM %d", v.VMID)) }

// SizesMatch reports whether the VM has the sizes that a list has.
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

// The states that HA may be asked for.
const (
	HAStarted  = "started"
	HAStopped  = "stopped"
	HADisabled = "disabled"
	HAIgnored  = "ignored"

	// haError is no state that anybody asks for.
	haError = "error"
)

// HAFailed reports whether HA has given the VM up: until somebody has disabled it there,
// HA takes no request for it.
func (v *VM) HAFailed() bool { return v.Status.HAManaged && v.Status.HAState == haError }

// The states of QEMU that matter here.
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

// RefusesShutdown reports whether Proxmox VE does not ask the guest to shut down, because it would
// not react, and stops the VM hard or refuses.
func (v *VM) RefusesShutdown() bool {
	return v.Paused() || v.Asleep() || v.Status.QMPStatus == QMPPrelaunch
}

// WaitsFor returns what ends the lock that keeps changes from the VM.
func (v *VM) WaitsFor() string {
	if v.Suspended() {
		return "changes wait until the VM is resumed"
	}
	return fmt.Sprintf("changes wait until the VM is no longer locked (%s)", v.Lock())
}

// Halted reports whether the VM is on and its guest does not run. Under a lock it may pass
// through states that last for the task only.
func (v *VM) Halted() bool {
	state := v.Status.QMPStatus
	return v.On() && (slices.Contains(haltedStates, state) || v.Lock() == "" && state != "" && state != QMPRunning)
}

// haltedStates are the states of a running QEMU that no task of PVE brings about.
//
//nolint:gochecknoglobals // A constant.
var haltedStates = []string{QMPPaused, "io-error", QMPInternalError, QMPPanicked}

// MissingBootDisk returns that the VM has disks and none is attached; empty if one is, or if it
// has none at all.
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

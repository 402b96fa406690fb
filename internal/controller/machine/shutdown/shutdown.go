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

// Package shutdown decides how a guest is asked to shut down, and describes what that waits for. It makes no calls.
package shutdown

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Timeout returns how long the guest of a Machine has to shut down before its VM is stopped hard.
func Timeout(m object.Machine) time.Duration {
	return time.Duration(ptr.Deref(m.Parameters().ShutdownTimeoutSeconds, 0)) * time.Second
}

// A Guest is a guest that is to shut down.
type Guest struct {
	Machine object.Machine
	VM      *vmstate.VM
	Tasks   *tasktrack.Tracker

	// Begun is when the guest was first asked, if that is saved outside the memory of tasks, or zero otherwise.
	Begun time.Time
}

// Request returns the next request to shut down. High availability accepts one request.
func (g Guest) Request() proxmox.ShutdownOptions {
	total, round := Timeout(g.Machine), tasktrack.BootingRound
	if g.VM.Status.HAManaged || total == 0 || g.VM.RefusesShutdown() {
		return proxmox.ShutdownOptions{Timeout: total, ForceStop: true}
	}
	if restart.Booted(g.VM) {
		round = tasktrack.BootedRound
	}
	return g.Tasks.RequestShutdown(g.Machine, g.Begun, total, round)
}

// HardStop returns when the VM is stopped hard, or the zero time while no request was sent.
func (g Guest) HardStop() time.Time {
	begun := cmp.Or(g.Tasks.ShutdownBegun(g.Machine), g.Begun)
	if begun.IsZero() {
		return begun
	}
	return begun.Add(Timeout(g.Machine))
}

// Wait returns what a VM that is to be off waits for.
func (g Guest) Wait() string {
	if g.VM.Status.HAManaged {
		return "high availability is to stop the VM"
	}
	if g.VM.RefusesShutdown() {
		return fmt.Sprintf("the VM is stopped hard, since its guest cannot receive a request to shut down (state %s)", g.VM.Status.QMPStatus)
	}
	at := g.HardStop()
	if at.IsZero() {
		return "the guest is asked to shut down"
	}
	return "the guest is asked to shut down; the VM is stopped hard at " + at.UTC().Format(time.RFC3339)
}

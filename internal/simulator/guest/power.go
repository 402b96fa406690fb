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

package guest

import (
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// Startable fails for a guest that cannot start.
func Startable(o *engine.Op, node string, vmid int, skipLock bool) error {
	g, err := o.State.Guest(node, vmid)
	if err != nil {
		return err
	}
	if g.Template() {
		return apierr.Errorf("you can't start a vm if it's a template")
	}
	if err := g.Lock(); err != nil && !skipLock && g.Config["lock"] != "suspended" {
		return err
	}
	if g.Power != state.Stopped {
		return apierr.Errorf("VM %d already running", vmid)
	}
	applyPending(o, g)
	if cpus := o.State.Nodes[node].CPUs; Vcpus(o.Engine, g.Config) > cpus {
		return apierr.Errorf("MAX %d vcpus allowed per VM on this node", cpus)
	}
	if err := Fits(o.Engine, g.Config); err != nil {
		return err
	}
	return devicesExist(o, g)
}

// noBridge returns the error of a start without a bridge. Before PVE 9, only QEMU noticed that.
func noBridge(o *engine.Op, bridge string) error {
	if o.State.Version == "8.4" {
		o.Logf("bridge '%s' does not exist", bridge)
		return apierr.Errorf("start failed: QEMU exited with code 1")
	}
	return apierr.Errorf("bridge '%s' does not exist", bridge)
}

// devicesExist checks the bridges and volumes that a VM needs on its node.
func devicesExist(o *engine.Op, g *state.Guest) error {
	for key, value := range g.Config {
		if IsNIC(key) {
			bridge := o.Engine.Parse(key, value)["bridge"]
			if bridge != "" && !o.State.HasBridge(g.Node, bridge) {
				return noBridge(o, bridge)
			}
		}
		if !IsDrive(key) {
			continue
		}
		if file := ParseDrive(o.Engine, key, value).File(); file != "none" && file != "cdrom" && o.State.Volume(g.Node, file) == nil {
			return apierr.Errorf("volume '%s' does not exist", file)
		}
	}
	return nil
}

// Vcpus returns the number of processors in a configuration.
func Vcpus(_ *engine.Engine, config map[string]string) int {
	return max(schema.Int(config["sockets"]), 1) * max(schema.Int(config["cores"]), 1)
}

// Boot starts a VM.
func Boot(o *engine.Op, g *state.Guest) {
	o.State.Sequence++
	g.Power, g.Started, g.PID = state.Running, o.Engine.Clock.Now(), o.State.Sequence
	g.CloudInit, g.Frozen = nil, false
	for key, value := range g.Config {
		if IsDrive(key) && ParseDrive(o.Engine, key, value).CloudInit() {
			o.Logf("generating cloud-init ISO")
		}
	}
	if g.Config["lock"] == "suspended" {
		volume.Free(o, g.Config["vmstate"])
		for _, key := range []string{"lock", "vmstate", "runningmachine", "runningcpu"} {
			delete(g.Config, key)
		}
	}
}

// Halt stops a VM and applies its pending changes.
func Halt(o *engine.Op, g *state.Guest) {
	HaltForReboot(o, g)
	cleanUp(o, g.VMID)
}

// HaltForReboot stops a VM that PVE starts again. qm cleanup does that, after it has released the VM's lock.
func HaltForReboot(o *engine.Op, g *state.Guest) {
	g.Power, g.PID = state.Stopped, 0
	applyPending(o, g)
}

// maxCleanup is how long PVE waits for the end of a process that has announced its end.
const maxCleanup = 30 * time.Second

// PowerOff stops a VM whose guest has powered itself off. Pending changes stay pending until the next start, or change.
func PowerOff(o *engine.Op, g *state.Guest) {
	g.Power, g.PID = state.Stopped, 0
	cleanUp(o, g.VMID)
}

// cleanUp simulates qm cleanup, which PVE runs when the process of a VM has ended. It runs a little later and takes the VM's lock. If the VM is running
// again meanwhile, it takes the new process for the old one and keeps the lock until that ends, but for at most half a minute.
func cleanUp(o *engine.Op, vmid int) {
	s, state := o.Engine, o.State
	if s.Instant() {
		return
	}
	ctx := s.Ctx
	s.Workers.Go(func() {
		if !s.Wait(ctx, s.Duration("cleanup")) || !s.LockGuest(ctx, vmid) {
			return
		}
		defer s.Locks.Release(vmid, engine.Exclusive)
		for waited := time.Duration(0); waited < maxCleanup && s.Runs(state, vmid) && s.Wait(ctx, time.Second); {
			waited += time.Second
		}
	})
}

// ShutdownTimeout is the timeout of a shutdown without its own.
const ShutdownTimeout = 60 * time.Second

// An Ending describes how a VM is stopped.
type Ending struct {
	Node     string
	VMID     int
	Shutdown bool
	Force    bool
	SkipLock bool
	Reboot   bool
	Timeout  time.Duration
	// Given is true if the call has set the timeout.
	Given bool
}

// DefaultTimeout sets the timeout of a shutdown, in seconds, to the value in the configuration of the VM, unless the call has set it.
func (e *Ending) DefaultTimeout(seconds string) {
	if n := schema.Int(seconds); n > 0 && e.Shutdown && !e.Given {
		e.Timeout = time.Duration(n) * time.Second
	}
}

// ReactsToShutdown reports whether the guest's system reacts to a power-off request, for which it must have booted.
func ReactsToShutdown(o *engine.Op, g *state.Guest) bool {
	return booted(o, g) && (g.Agent == nil || !g.Agent.IgnoresShutdown)
}

// booted reports whether the guest's system has booted.
func booted(o *engine.Op, g *state.Guest) bool {
	ready := g.Started.Add(o.Engine.Scale(o.Engine.Duration("boot")))
	return g.Power == state.Running && hasSystem(o, g) && !o.Engine.Clock.Now().Before(ready)
}

// hasSystem reports whether one of the guest's disks contains a system.
func hasSystem(o *engine.Op, g *state.Guest) bool {
	if g.Agent != nil {
		return true
	}
	for key, value := range g.Config {
		if !IsDrive(key) {
			continue
		}
		if v := o.State.Volume(g.Node, ParseDrive(o.Engine, key, value).File()); v != nil && v.System {
			return true
		}
	}
	return false
}

// BackedUpNow reports whether a backup holds the lock. A VM with that lock may still be paused and resumed.
func BackedUpNow(g *state.Guest) bool { return g.Config["lock"] == "backup" }

// Suspendable performs the checks of a suspension to disk before its task.
func Suspendable(o *engine.Op, g *state.Guest, storage string) error {
	if o.State.HAManaged(g.VMID) {
		return apierr.Errorf("Cannot suspend HA managed VM to disk")
	}
	if err := (&Access{Op: o, VMID: g.VMID}).May("VM.Config.Disk"); err != nil {
		return err
	}
	for key := range g.Config {
		if Indexed(key, "hostpci") {
			return apierr.Errorf("cannot suspend VM to disk due to passed-through PCI device(s), which lack the possibility to save/restore their internal state")
		}
	}
	if storage == "" {
		storage = stateStorage(o, g)
	}
	return o.State.Check(o.Who, "/storage/"+storage, "Datastore.AllocateSpace")
}

// Suspend saves a VM's memory until its next start, and stops the VM.
func Suspend(o *engine.Op, g *state.Guest, storage string) error {
	if storage == "" {
		storage = stateStorage(o, g)
	}
	if err := saveMemory(o, g, storage, "suspend-"+o.Engine.Clock.Now().Format(time.DateOnly), g.Config); err != nil {
		return err
	}
	rememberMachine(o, g.Config)
	delete(g.Config, "running-nets-host-mtu")
	g.Config["lock"] = "suspended"
	g.Power, g.PID = state.Stopped, 0
	return nil
}

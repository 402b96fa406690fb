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

package qemu

import (
	"fmt"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/api/ha"
	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// statusAction starts the task of a power action that needs a running VM.
func statusAction(c *engine.Call, kind string, w func(*engine.Worker, int, bool) error) (any, error) {
	return statusActionIf(c, func(*state.Guest) error { return nil }, kind, w)
}

// statusActionIf performs another check of the running VM before the task.
func statusActionIf(c *engine.Call, check func(*state.Guest) error, kind string, w func(*engine.Worker, int, bool) error) (any, error) {
	if err := c.RootOnly("skiplock"); err != nil {
		return nil, err
	}
	vmid, skipLock := c.VMID(), c.Flag("skiplock")
	g, err := c.State.Process(c.Node, vmid)
	if err != nil {
		return nil, err
	}
	if g.Power == state.Stopped {
		return nil, apierr.Errorf("VM %d not running", vmid)
	}
	if err := check(g); err != nil {
		return nil, err
	}
	return c.SpawnFor(vmid, kind, func(wk *engine.Worker) error { return w(wk, vmid, skipLock) })
}

func startGuest(c *engine.Call) (any, error) {
	if err := c.RootOnly("stateuri", "skiplock", "migratedfrom", "migration_type", "migration_network", "targetstorage", "force-cpu", "with-conntrack-state",
		"nets-host-mtu"); err != nil {
		return nil, err
	}
	node, vmid, skipLock := c.Node, c.VMID(), c.Flag("skiplock")
	if c.State.HAManaged(vmid) {
		return c.SpawnFor(vmid, "hastart", func(w *engine.Worker) error { return requestHA(w, vmid, "started") })
	}
	return c.SpawnFor(vmid, "qmstart", func(w *engine.Worker) error { return start(w, node, vmid, skipLock) })
}

// requestHA requests a state from HA. HA starts a separate task a little later.
func requestHA(w *engine.Worker, vmid int, wanted string) error {
	verb := map[string]string{"started": "start", "stopped": "stop"}[wanted]
	w.Logf("Requesting HA %s for VM %d", verb, vmid)
	return w.Do(func(st *state.State) error {
		sid := state.HAID(vmid)
		h := st.HA[sid]
		switch {
		case h == nil:
			return apierr.Errorf("command 'ha-manager set %s --state %s' failed: exit code 255", sid, wanted)
		case h.Failed && wanted == "started":
			return apierr.Errorf("command 'ha-manager set %s --state started' failed: exit code 255", sid)
		case h.Failed: // HA ignores the request.
		case wanted == "started":
			h.State = wanted
			ha.Keep(w.Op(st))
		default:
			ha.Ask(w.Op(st), "stop", sid, "0")
		}
		return nil
	})
}

// start starts a VM.
func start(w *engine.Worker, node string, vmid int, skipLock bool) error {
	return w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error {
		if err := w.Do(func(st *state.State) error { return guest.Startable(w.Op(st), node, vmid, skipLock) }); err != nil {
			return err
		}
		if err := w.PauseFor("qmstart"); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			g, err := st.Guest(node, vmid)
			if err == nil {
				guest.Boot(w.Op(st), g)
			}
			return err
		})
	})
}

func ending(c *engine.Call) *guest.Ending {
	e := &guest.Ending{Node: c.Node, VMID: c.VMID(), SkipLock: c.Flag("skiplock"), Timeout: guest.ShutdownTimeout}
	if c.Has("timeout") {
		e.Given, e.Timeout = true, time.Duration(c.Num("timeout"))*time.Second
	}
	return e
}

func stopGuest(c *engine.Call) (any, error) {
	if err := c.RootOnly("skiplock", "keepActive", "migratedfrom"); err != nil {
		return nil, err
	}
	e := ending(c)
	e.Force = true
	if c.State.HAManaged(e.VMID) {
		if c.Flag("overrule-shutdown") {
			return nil, apierr.Param("overrule-shutdown", "Not applicable for HA resources.")
		}
		return c.SpawnFor(e.VMID, "hastop", func(w *engine.Worker) error { return requestHA(w, e.VMID, "stopped") })
	}
	if c.Flag("overrule-shutdown") {
		abortShutdowns(c, e.VMID)
	}
	return c.SpawnFor(e.VMID, "qmstop", func(w *engine.Worker) error { return end(w, e) })
}

func abortShutdowns(c *engine.Call, vmid int) {
	for _, t := range c.State.Tasks {
		if t.Type == "qmshutdown" && t.ID == fmt.Sprint(vmid) && t.Running() {
			t.Stop()
		}
	}
}

func shutdownGuest(c *engine.Call) (any, error) {
	if err := c.RootOnly("skiplock", "keepActive"); err != nil {
		return nil, err
	}
	e := ending(c)
	e.Shutdown, e.Force = true, c.Flag("forceStop")
	if g := c.State.Guests[e.VMID]; g != nil && g.Power == state.Paused {
		if !e.Force {
			return nil, apierr.Errorf("VM is paused - cannot shutdown")
		}
		e.Shutdown = false
	}
	if c.State.HAManaged(e.VMID) {
		return c.SpawnFor(e.VMID, "hastop", func(w *engine.Worker) error { return requestHA(w, e.VMID, "stopped") })
	}
	return c.SpawnFor(e.VMID, "qmshutdown", func(w *engine.Worker) error { return end(w, e) })
}

// end stops or shuts down a VM. The configuration stays locked until the VM is down.
func end(w *engine.Worker, e *guest.Ending) error {
	return w.Locked(e.VMID, engine.Exclusive, engine.ConfigLockWait, func() error {
		on, hears := false, false
		err := w.Do(func(st *state.State) error {
			g, err := st.Process(e.Node, e.VMID)
			if err != nil || g.Power == state.Stopped {
				return err
			}
			on, hears = true, guest.ReactsToShutdown(w.Op(st), g)
			e.DefaultTimeout(w.Engine.Parse("startup", g.Config["startup"])["down"])
			if e.SkipLock {
				return nil
			}
			return g.Lock()
		})
		if err != nil || !on {
			return err
		}
		if err := powerDown(w, e, hears); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			switch g := st.Guests[e.VMID]; {
			case g == nil:
			case e.Reboot:
				guest.HaltForReboot(w.Op(st), g)
			default:
				guest.Halt(w.Op(st), g)
			}
			return nil
		})
	})
}

// powerDown waits until the guest's system is off, or its process is killed.
func powerDown(w *engine.Worker, e *guest.Ending, hears bool) error {
	if !e.Shutdown {
		return w.PauseFor("qmstop")
	}
	if takes := w.Engine.Duration("qmshutdown"); hears && takes < e.Timeout {
		return w.Sleep(takes)
	}
	if err := w.Sleep(e.Timeout); err != nil {
		agentSilent(w, e.VMID, err)
		return err
	}
	if !e.Force {
		return apierr.Errorf("VM quit/powerdown failed - got timeout")
	}
	w.Logf("VM still running - terminating now with SIGTERM")
	return nil
}

// agentSilent logs why a shutdown through the guest agent ended early.
func agentSilent(w *engine.Worker, vmid int, reason error) {
	asked := false
	w.Engine.Update(func(st *state.State) {
		g := st.Guests[vmid]
		asked = g != nil && w.Engine.Parse("agent", g.Config["agent"])["enabled"] == "1"
	})
	if asked {
		w.Logf("QEMU Guest Agent is not running - %s", reason)
	}
}

func rebootGuest(c *engine.Call) (any, error) {
	e := ending(c)
	e.Shutdown, e.Reboot = true, true
	g, err := c.State.Process(c.Node, e.VMID)
	switch {
	case err != nil:
		return nil, err
	case g.Power == state.Paused:
		return nil, apierr.Errorf("VM is paused - cannot shutdown")
	case g.Power == state.Stopped:
		return nil, apierr.Errorf("VM %d not running", e.VMID)
	}
	return c.SpawnFor(e.VMID, "qmreboot", func(w *engine.Worker) error {
		if err := end(w, e); err != nil {
			return err
		}
		// The node itself starts the VM again after the task's end (qm cleanup).
		w.SpawnAs(state.Root, e.Node, "qmstart", e.VMID, func(w *engine.Worker) error { return start(w, e.Node, e.VMID, false) })
		return nil
	})
}

// process makes a small change, such as a reset or a pause, to a VM that is still running on the task's node once the lock is free. A migration may have
// moved it away.
func process(w *engine.Worker, kind string, vmid int, skipLock bool, fn func(*engine.Op, *state.Guest) error) error {
	return w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error {
		if err := w.PauseFor(kind); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			g, err := st.Guest(w.Task.Node, vmid)
			switch {
			case err != nil:
				return err
			case g.Power == state.Stopped:
				return apierr.Errorf("VM %d not running", vmid)
			}
			if err := g.Lock(); err != nil && !skipLock {
				return err
			}
			return fn(w.Op(st), g)
		})
	})
}

func resetGuest(c *engine.Call) (any, error) {
	return statusAction(c, "qmreset", func(w *engine.Worker, vmid int, skip bool) error {
		return process(w, "qmreset", vmid, skip, func(_ *engine.Op, g *state.Guest) error {
			g.Started = w.Engine.Clock.Now()
			return nil
		})
	})
}

func suspendGuest(c *engine.Call) (any, error) {
	if c.Flag("todisk") {
		return suspendToDisk(c)
	}
	return statusAction(c, "qmpause", func(w *engine.Worker, vmid int, skip bool) error {
		return process(w, "qmpause", vmid, true, func(_ *engine.Op, g *state.Guest) error {
			if err := g.Lock(); err != nil && !skip && !guest.BackedUpNow(g) {
				return err
			}
			g.Power = state.Paused
			return nil
		})
	})
}

func suspendToDisk(c *engine.Call) (any, error) {
	storage := c.Str("statestorage")
	suspendable := func(g *state.Guest) error { return guest.Suspendable(c.Op(), g, storage) }
	return statusActionIf(c, suspendable, "qmsuspend", func(w *engine.Worker, vmid int, skip bool) error {
		return process(w, "qmsuspend", vmid, true, func(o *engine.Op, g *state.Guest) error {
			switch err := g.Lock(); {
			case guest.BackedUpNow(g):
				return apierr.Errorf("cannot suspend to disk during backup")
			case err != nil && !skip:
				return err
			}
			return guest.Suspend(o, g, storage)
		})
	})
}

// resumeGuest resumes a paused VM, or starts one whose memory is on disk.
func resumeGuest(c *engine.Call) (any, error) {
	if err := c.RootOnly("nocheck"); err != nil {
		return nil, err
	}
	node := c.Node
	if g, err := c.Guest(); err == nil && g.Power == state.Stopped && g.Config["lock"] == "suspended" {
		vmid := g.VMID
		return c.SpawnFor(vmid, "qmresume", func(w *engine.Worker) error { return start(w, node, vmid, false) })
	}
	return statusAction(c, "qmresume", func(w *engine.Worker, vmid int, skip bool) error {
		return process(w, "qmresume", vmid, true, func(_ *engine.Op, g *state.Guest) error {
			if err := g.Lock(); err != nil && g.Power != state.Running && !skip && !guest.BackedUpNow(g) {
				return err
			}
			g.Power = state.Running
			return nil
		})
	})
}

// sendKey accepts keys, which are ignored.
func sendKey(c *engine.Call) (any, error) {
	if err := c.RootOnly("skiplock"); err != nil {
		return nil, err
	}
	g, err := c.Guest()
	if err == nil && !c.Flag("skiplock") {
		err = g.Lock()
	}
	if err == nil && g.Power == state.Stopped {
		err = apierr.Errorf("VM %d not running", g.VMID)
	}
	return nil, err
}

func statusIndex(*engine.Call) (any, error) {
	return engine.Subdirs("current", "start", "stop", "reset", "shutdown", "suspend", "reboot"), nil
}

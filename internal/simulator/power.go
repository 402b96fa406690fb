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

package simulator

import (
	"fmt"
	"time"
)

// statusAction starts the task of a power action that needs a running VM.
func (c *call) statusAction(kind string, w func(*worker, int, bool) error) (any, error) {
	return c.statusActionIf(func(*Guest) error { return nil }, kind, w)
}

// statusActionIf makes a further check of the running VM before the task.
func (c *call) statusActionIf(check func(*Guest) error, kind string, w func(*worker, int, bool) error) (any, error) {
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	vmid, skipLock := c.vmid(), c.flag("skiplock")
	g, err := c.state.process(c.node, vmid)
	if err != nil {
		return nil, err
	}
	if g.Power == Stopped {
		return nil, die("VM %d not running", vmid)
	}
	if err := check(g); err != nil {
		return nil, err
	}
	return c.spawnFor(vmid, kind, func(wk *worker) error { return w(wk, vmid, skipLock) })
}

func (c *call) startGuest() (any, error) {
	if err := c.rootOnly("stateuri", "skiplock", "migratedfrom", "migration_type", "migration_network", "targetstorage", "force-cpu", "with-conntrack-state",
		"nets-host-mtu"); err != nil {
		return nil, err
	}
	node, vmid, skipLock := c.node, c.vmid(), c.flag("skiplock")
	if c.state.haManaged(vmid) {
		return c.spawnFor(vmid, "hastart", func(w *worker) error { return w.requestHA(node, vmid, "started") })
	}
	return c.spawnFor(vmid, "qmstart", func(w *worker) error { return w.start(node, vmid, skipLock) })
}

func haID(vmid int) string { return fmt.Sprintf("vm:%d", vmid) }

// requestHA asks HA for a state; HA starts a task of its own a little later.
func (w *worker) requestHA(node string, vmid int, wanted string) error {
	verb := map[string]string{"started": "start", "stopped": "stop"}[wanted]
	w.logf("Requesting HA %s for VM %d", verb, vmid)
	failed := false
	err := w.do(func(st *State) error {
		h := st.HA[haID(vmid)]
		if failed = h.Failed; !failed {
			h.State = wanted
		}
		return nil
	})
	switch {
	case failed && wanted == "started":
		return die("command 'ha-manager set %s --state started' failed: exit code 255", haID(vmid))
	case failed:
		return err // HA lets the request be.
	case wanted == "started":
		w.spawnAs(root, node, "qmstart", vmid, func(w *worker) error { return w.start(node, vmid, false) })
		return err
	}
	w.spawnAs(root, node, "qmshutdown", vmid, func(w *worker) error {
		return w.end(&ending{node: node, vmid: vmid, shutdown: true, force: true, timeout: shutdownTimeout})
	})
	return err
}

// start starts a VM.
func (w *worker) start(node string, vmid int, skipLock bool) error {
	return w.locked(vmid, exclusive, configLockWait, func() error {
		if err := w.do(func(st *State) error { return w.op(st).startable(node, vmid, skipLock) }); err != nil {
			return err
		}
		if err := w.pauseFor("qmstart"); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			w.op(st).boot(st.Guests[vmid])
			return nil
		})
	})
}

func (o *op) startable(node string, vmid int, skipLock bool) error {
	g, err := o.st.guest(node, vmid)
	if err != nil {
		return err
	}
	if g.template() {
		return die("you can't start a vm if it's a template")
	}
	if err := g.lock(); err != nil && !skipLock && g.Config["lock"] != "suspended" {
		return err
	}
	if g.Power != Stopped {
		return die("VM %d already running", vmid)
	}
	o.applyPending(g)
	if cpus := o.st.Nodes[node].CPUs; o.s.vcpus(g.Config) > cpus {
		return die("MAX %d vcpus allowed per VM on this node", cpus)
	}
	if err := o.s.fits(g.Config); err != nil {
		return err
	}
	return o.devicesExist(g)
}

// noBridge is how a start fails without a bridge. Before PVE 9 only QEMU noticed.
func (o *op) noBridge(bridge string) error {
	if o.st.Version == "8.4" {
		o.logf("bridge '%s' does not exist", bridge)
		return die("start failed: QEMU exited with code 1")
	}
	return die("bridge '%s' does not exist", bridge)
}

// devicesExist checks what a VM needs of its node: bridges and volumes.
func (o *op) devicesExist(g *Guest) error {
	for key, value := range g.Config {
		if isNIC(key) {
			bridge := o.s.parse(key, value)["bridge"]
			if bridge != "" && !o.st.hasBridge(g.Node, bridge) {
				return o.noBridge(bridge)
			}
		}
		if !isDrive(key) {
			continue
		}
		if file := o.s.parseDrive(key, value).file(); file != "none" && file != "cdrom" && o.st.volume(g.Node, file) == nil {
			return die("volume '%s' does not exist", file)
		}
	}
	return nil
}

func (s *engine) vcpus(config map[string]string) int {
	return max(atoi(config["sockets"]), 1) * max(atoi(config["cores"]), 1)
}

// boot makes a VM run.
func (o *op) boot(g *Guest) {
	o.st.sequence++
	g.Power, g.started, g.pid = Running, o.s.clock.Now(), o.st.sequence
	g.cloudInd, g.Frozen = nil, false
	for key, value := range g.Config {
		if isDrive(key) && o.s.parseDrive(key, value).cloudInit() {
			o.logf("generating cloud-init ISO")
		}
	}
	if g.Config["lock"] == "suspended" {
		o.free(g.Config["vmstate"])
		for _, key := range []string{"lock", "vmstate", "runningmachine", "runningcpu"} {
			delete(g.Config, key)
		}
	}
}

// halt makes a VM stop, and what was pending takes force.
func (o *op) halt(g *Guest) {
	g.Power, g.pid = Stopped, 0
	o.applyPending(g)
}

// shutdownTimeout is how long a shutdown waits without a timeout of its own.
const shutdownTimeout = 60 * time.Second

// ending is how a VM is to be stopped.
type ending struct {
	node     string
	vmid     int
	shutdown bool
	force    bool
	skipLock bool
	timeout  time.Duration
	// given is true when the timeout is the call's own.
	given bool
}

func (c *call) ending() *ending {
	e := &ending{node: c.node, vmid: c.vmid(), skipLock: c.flag("skiplock"), timeout: shutdownTimeout}
	if c.has("timeout") {
		e.given, e.timeout = true, time.Duration(c.num("timeout"))*time.Second
	}
	return e
}

// patience takes over how many seconds the VM's own configuration gives a shutdown, unless the call says so.
func (e *ending) patience(seconds string) {
	if n := atoi(seconds); n > 0 && e.shutdown && !e.given {
		e.timeout = time.Duration(n) * time.Second
	}
}

func (c *call) stopGuest() (any, error) {
	if err := c.rootOnly("skiplock", "keepActive", "migratedfrom"); err != nil {
		return nil, err
	}
	e := c.ending()
	e.force = true
	if c.state.haManaged(e.vmid) {
		if c.flag("overrule-shutdown") {
			return nil, paramError("overrule-shutdown", "Not applicable for HA resources.")
		}
		return c.spawnFor(e.vmid, "hastop", func(w *worker) error { return w.requestHA(e.node, e.vmid, "stopped") })
	}
	if c.flag("overrule-shutdown") {
		c.abortShutdowns(e.vmid)
	}
	return c.spawnFor(e.vmid, "qmstop", func(w *worker) error { return w.end(e) })
}

func (c *call) abortShutdowns(vmid int) {
	for _, t := range c.state.tasks {
		if t.Type == "qmshutdown" && t.ID == fmt.Sprint(vmid) && t.Running() {
			t.stop()
		}
	}
}

func (c *call) shutdownGuest() (any, error) {
	if err := c.rootOnly("skiplock", "keepActive"); err != nil {
		return nil, err
	}
	e := c.ending()
	e.shutdown, e.force = true, c.flag("forceStop")
	if g := c.state.Guests[e.vmid]; g != nil && g.Power == Paused {
		if !e.force {
			return nil, die("VM is paused - cannot shutdown")
		}
		e.shutdown = false
	}
	if c.state.haManaged(e.vmid) {
		return c.spawnFor(e.vmid, "hastop", func(w *worker) error { return w.requestHA(e.node, e.vmid, "stopped") })
	}
	return c.spawnFor(e.vmid, "qmshutdown", func(w *worker) error { return w.end(e) })
}

// end stops or shuts down a VM. The configuration stays locked until the VM is down.
func (w *worker) end(e *ending) error {
	return w.locked(e.vmid, exclusive, configLockWait, func() error {
		on, hears := false, false
		err := w.do(func(st *State) error {
			g, err := st.process(e.node, e.vmid)
			if err != nil || g.Power == Stopped {
				return err
			}
			on, hears = true, w.op(st).hearsShutdown(g)
			e.patience(w.s.parse("startup", g.Config["startup"])["down"])
			if e.skipLock {
				return nil
			}
			return g.lock()
		})
		if err != nil || !on {
			return err
		}
		if err := w.powerDown(e, hears); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			if g := st.Guests[e.vmid]; g != nil {
				w.op(st).halt(g)
			}
			return nil
		})
	})
}

// powerDown waits until the guest's system is off, or its process is killed.
func (w *worker) powerDown(e *ending, hears bool) error {
	if !e.shutdown {
		return w.pauseFor("qmstop")
	}
	if takes := w.s.duration("qmshutdown"); hears && takes < e.timeout {
		return w.sleep(takes)
	}
	if err := w.sleep(e.timeout); err != nil {
		w.agentSilent(e.vmid, err)
		return err
	}
	if !e.force {
		return die("VM quit/powerdown failed - got timeout")
	}
	w.logf("VM still running - terminating now with SIGTERM")
	return nil
}

// agentSilent logs why a shutdown through the guest agent ended early.
func (w *worker) agentSilent(vmid int, reason error) {
	asked := false
	w.s.update(func(st *State) {
		g := st.Guests[vmid]
		asked = g != nil && w.s.parse("agent", g.Config["agent"])["enabled"] == "1"
	})
	if asked {
		w.logf("QEMU Guest Agent is not running - %s", reason)
	}
}

// hearsShutdown reports whether the guest's system acts on a request to power off: it must have booted.
func (o *op) hearsShutdown(g *Guest) bool {
	return o.booted(g) && (g.Agent == nil || !g.Agent.IgnoresShutdown)
}

// booted reports whether a system runs in the guest.
func (o *op) booted(g *Guest) bool {
	ready := g.started.Add(o.s.scale(o.s.duration("boot")))
	return g.Power == Running && o.hasSystem(g) && !o.s.clock.Now().Before(ready)
}

// hasSystem reports whether one of the guest's disks holds a system.
func (o *op) hasSystem(g *Guest) bool {
	if g.Agent != nil {
		return true
	}
	for key, value := range g.Config {
		if !isDrive(key) {
			continue
		}
		if v := o.st.volume(g.Node, o.s.parseDrive(key, value).file()); v != nil && v.System {
			return true
		}
	}
	return false
}

func (c *call) rebootGuest() (any, error) {
	e := c.ending()
	e.shutdown = true
	g, err := c.state.process(c.node, e.vmid)
	switch {
	case err != nil:
		return nil, err
	case g.Power == Paused:
		return nil, die("VM is paused - cannot shutdown")
	case g.Power == Stopped:
		return nil, die("VM %d not running", e.vmid)
	}
	return c.spawnFor(e.vmid, "qmreboot", func(w *worker) error {
		if err := w.end(e); err != nil {
			return err
		}
		// The VM comes back after the task's end, started by the node itself: qm cleanup.
		w.spawnAs(root, e.node, "qmstart", e.vmid, func(w *worker) error { return w.start(e.node, e.vmid, false) })
		return nil
	})
}

// process makes a small change to a running VM: a reset, a pause.
func (w *worker) process(kind string, vmid int, skipLock bool, fn func(*op, *Guest) error) error {
	return w.locked(vmid, exclusive, configLockWait, func() error {
		if err := w.pauseFor(kind); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			g := st.Guests[vmid]
			if g == nil || g.Power == Stopped {
				return die("VM %d not running", vmid)
			}
			if err := g.lock(); err != nil && !skipLock {
				return err
			}
			return fn(w.op(st), g)
		})
	})
}

func (c *call) resetGuest() (any, error) {
	return c.statusAction("qmreset", func(w *worker, vmid int, skip bool) error {
		return w.process("qmreset", vmid, skip, func(_ *op, g *Guest) error {
			g.started = w.s.clock.Now()
			return nil
		})
	})
}

// backedUpNow reports whether a backup holds the lock, under which a VM may still be paused and go on.
func (g *Guest) backedUpNow() bool { return g.Config["lock"] == "backup" }

func (c *call) suspendGuest() (any, error) {
	if c.flag("todisk") {
		return c.suspendToDisk()
	}
	return c.statusAction("qmpause", func(w *worker, vmid int, skip bool) error {
		return w.process("qmpause", vmid, true, func(_ *op, g *Guest) error {
			if err := g.lock(); err != nil && !skip && !g.backedUpNow() {
				return err
			}
			g.Power = Paused
			return nil
		})
	})
}

func (c *call) suspendToDisk() (any, error) {
	storage := c.str("statestorage")
	return c.statusActionIf(func(g *Guest) error { return c.op().suspendable(g, storage) }, "qmsuspend", func(w *worker, vmid int, skip bool) error {
		return w.process("qmsuspend", vmid, true, func(o *op, g *Guest) error {
			switch err := g.lock(); {
			case g.backedUpNow():
				return die("cannot suspend to disk during backup")
			case err != nil && !skip:
				return err
			}
			return o.suspend(g, storage)
		})
	})
}

// suspendable makes the checks of a suspension to disk that come before its task.
func (o *op) suspendable(g *Guest, storage string) error {
	if o.st.haManaged(g.VMID) {
		return die("Cannot suspend HA managed VM to disk")
	}
	if err := (&guestAccess{op: o, vmid: g.VMID}).may("VM.Config.Disk"); err != nil {
		return err
	}
	for key := range g.Config {
		if indexed(key, "hostpci") {
			return die("cannot suspend VM to disk due to passed-through PCI device(s), which lack the possibility to save/restore their internal state")
		}
	}
	if storage == "" {
		storage = o.stateStorage(g)
	}
	return o.st.check(o.who, "/storage/"+storage, "Datastore.AllocateSpace")
}

// suspend keeps a VM's memory until its next start, and stops it.
func (o *op) suspend(g *Guest, storage string) error {
	if storage == "" {
		storage = o.stateStorage(g)
	}
	if err := o.saveMemory(g, storage, "suspend-"+o.s.clock.Now().Format(time.DateOnly), g.Config); err != nil {
		return err
	}
	o.rememberMachine(g.Config)
	delete(g.Config, "running-nets-host-mtu")
	g.Config["lock"] = "suspended"
	g.Power, g.pid = Stopped, 0
	return nil
}

// resumeGuest lets a paused VM go on; one whose memory is on disk starts.
func (c *call) resumeGuest() (any, error) {
	if err := c.rootOnly("nocheck"); err != nil {
		return nil, err
	}
	node := c.node
	if g, err := c.guest(); err == nil && g.Power == Stopped && g.Config["lock"] == "suspended" {
		vmid := g.VMID
		return c.spawnFor(vmid, "qmresume", func(w *worker) error { return w.start(node, vmid, false) })
	}
	return c.statusAction("qmresume", func(w *worker, vmid int, skip bool) error {
		return w.process("qmresume", vmid, true, func(_ *op, g *Guest) error {
			if err := g.lock(); err != nil && g.Power != Running && !skip && !g.backedUpNow() {
				return err
			}
			g.Power = Running
			return nil
		})
	})
}

// sendKey presses keys, which nobody looks at.
func (c *call) sendKey() (any, error) {
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	g, err := c.guest()
	if err == nil && !c.flag("skiplock") {
		err = g.lock()
	}
	if err == nil && g.Power == Stopped {
		err = die("VM %d not running", g.VMID)
	}
	return nil, err
}

func (c *call) statusIndex() (any, error) {
	return subdirs("current", "start", "stop", "reset", "shutdown", "suspend", "reboot"), nil
}

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
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// show is the configuration of a snapshot with the fields that only snapshots have.
func (s *Snapshot) show() map[string]string {
	out := maps.Clone(s.Config)
	out["snaptime"] = strconv.FormatInt(s.Time.Unix(), 10)
	for key, value := range map[string]string{"description": s.Description, "parent": s.Parent} {
		delete(out, key)
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// restored are the options that a guest made from the snapshot has.
func (s *Snapshot) restored() map[string]string {
	out := maps.Clone(s.Config)
	delete(out, "description")
	if s.Description != "" {
		out["description"] = s.Description
	}
	return out
}

func (c *call) listSnapshots() (any, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(g.Snapshots)) {
		s := g.Snapshots[name]
		entry := map[string]any{
			"name": name, "description": s.Description, "snaptime": s.Time.Unix(), "vmstate": boolInt(s.VMState),
		}
		if s.Parent != "" {
			entry["parent"] = s.Parent
		}
		out = append(out, entry)
	}
	current := map[string]any{
		"name": "current", "description": "You are here!", "running": boolInt(g.Power != Stopped), "digest": g.digest(),
	}
	if p := g.Config["parent"]; p != "" {
		current["parent"] = p
	}
	return append(out, current), nil
}

func (c *call) snapshotIndex() (any, error) {
	return []map[string]any{{"cmd": "rollback"}, {"cmd": "config"}}, nil
}

func (c *call) snapshot() (*Snapshot, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	s := g.Snapshots[c.str("snapname")]
	if s == nil {
		return nil, die("snapshot '%s' does not exist", c.str("snapname"))
	}
	return s, nil
}

func (c *call) getSnapshotConfig() (any, error) {
	s, err := c.snapshot()
	if err != nil {
		return nil, err
	}
	out := c.s.show(s.show())
	out["snaptime"] = s.Time.Unix()
	return out, nil
}

func (c *call) putSnapshotConfig() (any, error) {
	return &locked{vmid: c.vmid(), wait: configLockWait, then: func(c *call) (any, error) {
		g, err := c.guest()
		if err == nil {
			err = g.lock()
		}
		if err != nil {
			return nil, err
		}
		s, err := c.snapshot()
		if err == nil && c.has("description") {
			s.Description = c.str("description")
		}
		return nil, err
	}}, nil
}

func (c *call) createSnapshot() (any, error) {
	name, vmid, node := c.str("snapname"), c.vmid(), c.node
	if reserved := strings.ToLower(name); name == "current" || reserved == "pending" {
		return nil, die("unable to use snapshot name '%s' (reserved name)", reserved)
	}
	if err := c.snapshottable(); err != nil {
		return nil, err
	}
	description, memory := c.str("description"), c.flag("vmstate")
	return c.spawnFor(vmid, "qmsnapshot", func(w *worker) error {
		return w.onGuest("qmsnapshot", node, vmid, func(o *op, g *Guest) error { return o.snapshot(g, name, description, memory) })
	})
}

// snapshottable makes the checks that PVE 9 makes before the task of a snapshot.
func (c *call) snapshottable() error {
	if c.state.Version == "8.4" {
		return nil
	}
	g, err := c.guest()
	if err != nil || !c.flag("vmstate") {
		return err
	}
	blockers := []string{}
	for _, key := range []string{"amd-sev", "intel-tdx"} {
		if g.Config[key] != "" {
			blockers = append(blockers, key)
		}
	}
	for key := range g.Config {
		if indexed(key, "virtiofs") && !slices.Contains(blockers, "virtiofs") {
			blockers = append(blockers, "virtiofs")
		}
	}
	if len(blockers) > 0 {
		return die("Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: %s", strings.Join(blockers, ", "))
	}
	return nil
}

// onGuest does the work of a task on an unlocked guest while its configuration is locked.
func (w *worker) onGuest(kind, node string, vmid int, fn func(*op, *Guest) error) error {
	return w.locked(vmid, exclusive, configLockWait, func() error {
		if err := w.pauseFor(kind); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			g, err := st.guest(node, vmid)
			if err != nil {
				return err
			}
			if err := g.lock(); err != nil {
				return err
			}
			return fn(w.op(st), g)
		})
	})
}

func (o *op) snapshot(g *Guest, name, description string, memory bool) error {
	if g.template() {
		return die("you can't take a snapshot if it's a template")
	}
	if g.Snapshots[name] != nil {
		return die("snapshot name '%s' already used", name)
	}
	config := maps.Clone(g.Config)
	maps.DeleteFunc(config, func(key, _ string) bool { return isUnused(key) || key == "parent" || key == "description" })
	for _, key := range slices.Sorted(maps.Keys(config)) {
		d := o.s.parseDrive(key, config[key])
		if !isDrive(key) || d.cdrom() {
			continue
		}
		if !o.hasFeature(d, "snapshot") {
			return die("snapshot feature is not available")
		}
		o.logf("snapshotting 'drive-%s' (%s)", key, d.file())
	}
	memory = memory && g.Power != Stopped
	g.Snapshots[name] = &Snapshot{
		Config: config, Description: description, Parent: g.Config["parent"], Time: o.s.clock.Now(), VMState: memory,
	}
	if memory {
		saved := g.Snapshots[name].Config
		if err := o.saveMemory(g, o.stateStorage(g), name, saved); err != nil {
			delete(g.Snapshots, name)
			return err
		}
		o.rememberMachine(saved)
	}
	g.Config["parent"] = name
	return nil
}

// stateStorage is where a VM's memory is kept: on the storage that is set for it, or beside its first disk.
func (o *op) stateStorage(g *Guest) string {
	storages := []string{g.Config["vmstatestorage"]}
	for _, key := range o.s.bootDevices(g.Config) {
		if d := o.s.parseDrive(key, g.Config[key]); isDrive(key) && !d.cdrom() {
			storages = append(storages, storageOf(d.file()))
		}
	}
	for _, id := range storages {
		if o.st.Storages[id] != nil {
			return id
		}
	}
	return "local"
}

// saveMemory keeps the VM's memory in a volume.
func (o *op) saveMemory(g *Guest, storage, name string, into map[string]string) error {
	s, err := o.st.storage(storage)
	if err != nil {
		return err
	}
	base := fmt.Sprintf("vm-%d-state-%s", g.VMID, name)
	into["vmstate"], err = o.allocate(s, g.VMID, base, "raw", o.s.memory(g.Config)*2+(500<<20))
	return err
}

// rememberMachine notes the machine that the memory fits to.
func (o *op) rememberMachine(config map[string]string) {
	config["runningmachine"] = "pc-i440fx-" + o.st.machine()
	config["runningcpu"] = "qemu64,+lahf_lm,+sep"
	if o.st.Version == "8.4" {
		return
	}
	nics := []string{}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if isNIC(key) {
			nics = append(nics, key+"=1500")
		}
	}
	if len(nics) > 0 {
		config["running-nets-host-mtu"] = strings.Join(nics, ",")
	}
}

func (c *call) rollbackSnapshot() (any, error) {
	name, vmid, node, start := c.str("snapname"), c.vmid(), c.node, c.flag("start")
	if start && c.state.Version != "8.4" {
		if err := c.state.check(c.who, vmPath(vmid), "VM.PowerMgmt"); err != nil {
			return nil, err
		}
	}
	return c.spawnFor(vmid, "qmrollback", func(w *worker) error {
		again := false
		err := w.onSnapshot("qmrollback", node, vmid, name, func(o *op, g *Guest, s *Snapshot) error {
			if err := o.mayRollBack(g, name); err != nil {
				return err
			}
			if err := g.lock(); err != nil {
				return err
			}
			o.rollback(g, name, s)
			again = start && !s.VMState
			return nil
		})
		if err == nil && again {
			w.spawnStart(node, vmid)
		}
		return err
	})
}

// onSnapshot does the work of a task on a snapshot while the guest's configuration is locked.
func (w *worker) onSnapshot(kind, node string, vmid int, name string, fn func(*op, *Guest, *Snapshot) error) error {
	return w.locked(vmid, exclusive, configLockWait, func() error {
		if err := w.pauseFor(kind); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			g, err := st.guest(node, vmid)
			if err != nil {
				return err
			}
			s := g.Snapshots[name]
			if s == nil {
				return die("snapshot '%s' does not exist", name)
			}
			return fn(w.op(st), g, s)
		})
	})
}

// mayRollBack fails for volumes of ZFS, which go back to their latest snapshot only.
func (o *op) mayRollBack(g *Guest, name string) error {
	for key, value := range g.Snapshots[name].Config {
		d := o.s.parseDrive(key, value)
		if s := o.st.Storages[storageOf(d.file())]; !isDrive(key) || d.cdrom() || s == nil || s.Type != "zfspool" {
			continue
		}
		for _, other := range g.Snapshots {
			if other.Time.After(g.Snapshots[name].Time) && strings.HasPrefix(other.Config[key], d.file()) {
				return die("can't rollback, '%s' is not most recent snapshot on '%s'", name, d.file())
			}
		}
	}
	return nil
}

// rollback puts the guest back; it is off afterwards unless its memory was kept. The description stays, and so do unused
// disks; disks that the snapshot does not know become unused.
func (o *op) rollback(g *Guest, name string, s *Snapshot) {
	before := g.Config
	g.Power, g.Pending, g.Delete = Stopped, map[string]string{}, map[string]bool{}
	g.Config = maps.Clone(s.Config)
	maps.DeleteFunc(g.Config, func(key, _ string) bool { return key == "vmstate" || strings.HasPrefix(key, "running") })
	for key, value := range before {
		if isUnused(key) || key == "description" {
			g.Config[key] = value
		}
	}
	kept := map[string]bool{}
	for key, value := range s.Config {
		d := o.s.parseDrive(key, value)
		kept[d.file()] = true
		if v := o.st.volume(g.Node, d.file()); isDrive(key) && v != nil && !d.cdrom() {
			v.Size = sizeOf(d, v.Size)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if d := o.s.parseDrive(key, before[key]); isDrive(key) && !kept[d.file()] {
			o.keepUnused(g, d)
		}
	}
	o.dropReattached(g)
	g.Config["parent"] = name
	if g.Config["vmgenid"] != "" {
		g.Config["vmgenid"] = newUUID()
	}
	if s.VMState {
		o.boot(g)
	}
}

// dropReattached forgets unused disks that are in use again.
func (o *op) dropReattached(g *Guest) {
	for key, value := range g.Config {
		if isDrive(key) {
			o.reattached(g, o.s.parseDrive(key, value).file())
		}
	}
}

// sizeOf is the size that a drive's option tells, or else another one.
func sizeOf(d drive, otherwise int64) int64 {
	if size, ok := schema.ParseSize(d["size"]); ok && size > 0 {
		return size
	}
	return otherwise
}

func (c *call) deleteSnapshot() (any, error) {
	name, vmid, node := c.str("snapname"), c.vmid(), c.node
	return c.spawnFor(vmid, "qmdelsnapshot", func(w *worker) error {
		return w.onSnapshot("qmdelsnapshot", node, vmid, name, func(o *op, g *Guest, s *Snapshot) error {
			if err := g.lock(); err != nil {
				return err
			}
			o.free(s.Config["vmstate"])
			delete(g.Snapshots, name)
			g.reparent(name, s.Parent)
			return nil
		})
	})
}

// reparent puts what stood on a snapshot onto another one, or onto none.
func (g *Guest) reparent(from, to string) {
	for _, other := range g.Snapshots {
		if other.Parent == from {
			other.Parent = to
		}
	}
	if g.Config["parent"] != from {
		return
	}
	delete(g.Config, "parent")
	if to != "" {
		g.Config["parent"] = to
	}
}

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
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// evacuation moves the guests of a node to another one.
type evacuation struct {
	node, target string
	only         []string
	local        bool
	workers      int
}

// migrateAll moves the guests of a node, or the named ones, each in a separate task.
func migrateAll(c *engine.Call) (any, error) {
	e := &evacuation{node: c.Node, target: c.Str("target"), only: schema.SplitList(c.Str("vms")), local: c.Flag("with-local-disks")}
	if err := e.permitted(c); err != nil {
		return nil, err
	}
	switch {
	case e.target == e.node:
		return nil, apierr.Param("target", "target is local node.")
	case c.State.Nodes[e.target] == nil:
		return nil, apierr.Errorf("no such cluster node '%s'", e.target)
	}
	for _, given := range []string{c.Str("max-workers"), c.Str("maxworkers"), c.State.Options["max_workers"]} {
		if e.workers == 0 {
			e.workers = schema.Int(given)
		}
	}
	if e.workers == 0 {
		return nil, apierr.Errorf("either 'max-workers' parameter or max_workers in datacenter.cfg must be set!")
	}
	return c.Spawn("migrateall", "", e.run)
}

// permitted requires VM.Migrate on everything, or on each named guest.
func (e *evacuation) permitted(c *engine.Call) error {
	err := c.State.Check(c.Who, "/", "VM.Migrate")
	if err == nil || len(e.only) == 0 {
		return err
	}
	for _, vmid := range e.only {
		if err := c.State.Check(c.Who, "/vms/"+vmid, "VM.Migrate"); err != nil {
			return err
		}
	}
	return nil
}

// run starts the migrations, up to a number at the same time, and waits for them.
func (e *evacuation) run(w *engine.Worker) error {
	var vmids []int
	w.Engine.Update(func(st *state.State) {
		for _, vmid := range slices.Sorted(maps.Keys(st.Guests)) {
			if g := st.Guests[vmid]; g.Node == e.node && (len(e.only) == 0 || slices.Contains(e.only, state.VmidText(vmid))) {
				vmids = append(vmids, vmid)
			}
		}
	})
	if len(vmids) == 0 {
		w.Logf("no virtual guests matched, nothing to do..")
		return nil
	}
	begun, running, ended := 0, 0, make(chan struct{}, len(vmids))
	drain := func(until int) error {
		for ; running > until; running-- {
			select {
			case <-ended:
			case <-w.Ctx.Done():
				return w.Ctx.Err()
			}
		}
		return nil
	}
	for _, vmid := range vmids {
		if err := drain(e.workers - 1); err != nil {
			return err
		}
		if e.begin(w, vmid, ended) {
			begun++
			running++
		}
	}
	if err := drain(0); err != nil {
		return err
	}
	if begun == 0 {
		return apierr.Errorf("no migrations worker started...")
	}
	w.Logf("All jobs finished, used %d workers in total.", begun)
	return nil
}

// begin starts the migration of one guest, unless it cannot be moved. The channel receives a value when it ends.
func (e *evacuation) begin(w *engine.Worker, vmid int, ended chan<- struct{}) bool {
	m := &guest.Migration{Node: e.node, VMID: vmid, Target: e.target, Local: e.local, Storages: &guest.StorageMap{}}
	kind, body := "qmigrate", func(w *engine.Worker) error {
		return w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error { return migrate(w, m) })
	}
	err := w.Do(func(st *state.State) error {
		g, err := st.Guest(e.node, vmid)
		if err == nil {
			err = g.Lock()
		}
		if err != nil {
			return err
		}
		if st.HAManaged(vmid) {
			kind, body = "hamigrate", func(w *engine.Worker) error { return requestMove(w, m) }
		}
		m.Online = g.Power != state.Stopped
		return e.movable(w.Op(st), g)
	})
	if err != nil {
		w.Logf("%s", err)
		return false
	}
	w.Logf("Migrating VM %d", vmid)
	w.SpawnAs(state.Identity(w.Task.User), e.node, kind, vmid, func(w *engine.Worker) error {
		defer func() { ended <- struct{}{} }()
		return body(w)
	})
	return true
}

// movable fails for a guest that cannot be moved in its current state.
func (e *evacuation) movable(o *engine.Op, g *state.Guest) error {
	var reasons []string
	if g.Power != state.Stopped && !e.local {
		for _, id := range guest.Volumes(o, g) {
			if s := o.State.Storages[guest.StorageOf(id)]; s != nil && !s.Shared {
				reasons = append(reasons, "Has local disks: "+id)
			}
		}
	}
	if missing := guest.MissingStorages(o, g, e.target); len(missing) > 0 {
		reasons = append(reasons, "Has unavailable storages: "+strings.Join(missing, ", "))
	}
	if len(reasons) > 0 {
		return apierr.Errorf("%s", strings.Join(reasons, "; "))
	}
	return nil
}

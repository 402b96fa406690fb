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
	"maps"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func createGuest(c *engine.Call) (any, error) {
	cr := &guest.Creation{
		VMID: c.VMID(), Node: c.Node, Options: maps.Clone(c.Values), Pool: c.Str("pool"), Storage: c.Str("storage"), Start: c.Flag("start"),
		HA: c.Flag("ha-managed"),
	}
	for _, name := range guest.CreateControls() {
		delete(cr.Options, name)
	}
	if err := checkCreate(c, cr); err != nil {
		return nil, err
	}
	if c.Has("archive") {
		return restoreGuest(c, cr)
	}
	for key, value := range cr.Options {
		switch {
		case guest.IsNIC(key):
			cr.Options[key] = guest.WithMAC(c.Engine, key, value)
		case key == "cpuunits":
			cr.Options[key] = guest.ClampedUnits(value)
		}
	}
	if err := claim(c, cr.VMID, "create"); err != nil {
		return nil, apierr.Errorf("unable to create VM %d - %s", cr.VMID, err)
	}
	return c.SpawnFor(cr.VMID, "qmcreate", func(w *engine.Worker) error { return create(w, cr) })
}

// claim claims a VMID by writing a configuration that contains only a lock.
func claim(c *engine.Call, vmid int, lock string) error {
	if g := c.State.Taken(vmid); g != nil {
		return apierr.Errorf("VM %d already exists on node '%s'", vmid, g.Node)
	}
	c.State.Guests[vmid] = &state.Guest{
		VMID: vmid, Node: c.Node, Config: map[string]string{"lock": lock}, Pending: map[string]string{}, Delete: map[string]bool{},
		Snapshots: map[string]*state.Snapshot{}, Power: state.Stopped,
	}
	return nil
}

func checkCreate(c *engine.Call, cr *guest.Creation) error {
	if keys, ok := cr.Options["sshkeys"]; ok {
		if err := guest.CheckSSHKeys(keys); err != nil {
			return err
		}
	}
	if cr.Pool != "" && c.State.Pools[cr.Pool] == nil {
		return apierr.Forbidden(fmt.Sprintf("pool '%s' does not exist", cr.Pool))
	}
	a := &guest.Access{Op: c.Op(), VMID: cr.VMID, Pool: cr.Pool}
	if err := mayCreate(c, a, cr); err != nil {
		return err
	}
	if c.Has("archive") {
		if err := checkArchive(c, a, cr); err != nil {
			return err
		}
	}
	guest.ResolveCDROM(cr.Options)
	for _, check := range []func() error{
		func() error { return a.Storages(cr.Options, cr.Storage) },
		func() error { return a.Options(slices.Sorted(maps.Keys(cr.Options))) },
		func() error { return a.Devices(cr.Options) },
		func() error { return a.Bridges(cr.Options) },
		func() error { return a.Processor(cr.Options["cpu"], "") },
		func() error { return a.CheckDrives(cr.Options) },
		func() error { return guest.CheckValues(c.Engine, cr.Options) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func mayCreate(c *engine.Call, a *guest.Access, cr *guest.Creation) error {
	if c.Has("storage") && c.State.Storages[cr.Storage] != nil {
		if err := c.State.Check(c.Who, "/storage/"+cr.Storage, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	if cr.HA {
		if err := c.State.Check(c.Who, "/", "Sys.Console"); err != nil {
			return err
		}
	}
	if cr.Start {
		if err := a.May("VM.PowerMgmt"); err != nil {
			return err
		}
	}
	if c.State.May(c.Who, fmt.Sprintf("/vms/%d", cr.VMID), "VM.Allocate") {
		return nil
	}
	if cr.Pool != "" && c.State.May(c.Who, "/pool/"+cr.Pool, "VM.Allocate") {
		return nil
	}
	if c.Has("archive") && c.Flag("force") && c.State.Guests[cr.VMID] != nil && c.State.May(c.Who, state.VMPath(cr.VMID), "VM.Backup") {
		return nil
	}
	return apierr.Forbidden("")
}

// create runs the task that creates a VM.
func create(w *engine.Worker, cr *guest.Creation) error {
	err := w.Locked(cr.VMID, engine.Exclusive, engine.BriefLockWait, func() error {
		if err := w.PauseFor("qmcreate"); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error { return guest.Build(w.Op(st), cr) })
	})
	if err != nil {
		return w.Do(func(st *state.State) error { // A worker that ended with its node removes nothing.
			delete(st.Guests, cr.VMID)
			return apierr.Errorf("unable to create VM %d - %s", cr.VMID, err)
		})
	}
	if cr.Start {
		w.Logf("Execute autostart")
		spawnStart(w, cr.Node, cr.VMID)
	}
	return nil
}

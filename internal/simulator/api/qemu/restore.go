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

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// checkArchive performs the checks of a backup that precede those of the options which override its own.
func checkArchive(c *engine.Call, a *guest.Access, cr *guest.Creation) error {
	for _, key := range slices.Sorted(maps.Keys(cr.Options)) {
		if guest.IsDrive(key) {
			return apierr.Param(key, "option conflicts with option 'archive'")
		}
	}
	archive := c.Str("archive")
	if archive == "-" {
		return apierr.Errorf("pipe requires cli environment")
	}
	storage, name, ok := state.SplitVolume(archive)
	if !ok {
		return a.Volume(archive)
	}
	s, err := c.State.EnabledStorage(storage, c.Node)
	if err != nil {
		return err
	}
	v := c.State.Volume(c.Node, archive)
	if kind, _, err := s.KindOf(name); err != nil || kind != "backup" {
		return apierr.Errorf("volume '%s' does not exist", archive)
	}
	if err := mayRestore(c, storage, v); err != nil {
		return err
	}
	if v == nil || v.Backup == nil {
		return apierr.Errorf("volume '%s' does not exist", archive)
	}
	return nil
}

// mayRestore checks access to a backup.
func mayRestore(c *engine.Call, storage string, v *state.Volume) error {
	if c.State.May(c.Who, "/storage/"+storage, "Datastore.Allocate") {
		return nil
	}
	if err := c.State.Check(c.Who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil || v == nil {
		return err
	}
	return c.State.Check(c.Who, state.VMPath(v.VMID), "VM.Backup")
}

// restoreGuest creates a VM from a backup, or restores an existing one.
func restoreGuest(c *engine.Call, cr *guest.Creation) (any, error) {
	r := &guest.Restoration{Creation: cr, Archive: c.Str("archive"), Force: c.Flag("force"), Unique: c.Flag("unique")}
	g := c.State.Guests[cr.VMID]
	switch {
	case g == nil || !r.Force || g.Node != c.Node:
		if err := claim(c, cr.VMID, "create"); err != nil {
			return nil, apierr.Errorf("unable to restore VM %d - %s", cr.VMID, err)
		}
	default:
		if err := g.Lock(); err != nil {
			return nil, apierr.Errorf("unable to restore VM %d - %s", cr.VMID, err)
		}
		g.Config["lock"] = "create"
	}
	return c.SpawnFor(cr.VMID, "qmrestore", func(w *engine.Worker) error { return restore(w, r) })
}

// restore runs the task that creates a VM from a backup. If it fails, the VM stays in its current state.
func restore(w *engine.Worker, r *guest.Restoration) error {
	err := w.Locked(r.VMID, engine.Exclusive, engine.BriefLockWait, func() error {
		if err := w.Do(func(st *state.State) error { return guest.BeginRestore(w.Op(st), r) }); err != nil {
			return err
		}
		if err := w.PauseFor("qmrestore"); err != nil {
			return err
		}
		if err := w.Do(func(st *state.State) error { return guest.Restore(w.Op(st), r) }); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error { return guest.Rescan(w.Op(st), r.Node, r.VMID) })
	})
	if err != nil {
		return unfinished(w, r.VMID, err)
	}
	if r.Start {
		w.Logf("Execute autostart")
		spawnStart(w, r.Node, r.VMID)
	}
	return nil
}

// unfinished ends a failed restore: it removes the lock and leaves the rest of the VM. The worker of a lost node does not even remove the lock.
func unfinished(w *engine.Worker, vmid int, err error) error {
	done := w.Do(func(st *state.State) error {
		if g := st.Guests[vmid]; g != nil && g.Config["lock"] == "create" {
			delete(g.Config, "lock")
		}
		return nil
	})
	if done != nil {
		return done
	}
	w.Logf("error before or during data restore, some or all disks were not completely restored. VM %d state is NOT cleaned up.", vmid)
	return err
}

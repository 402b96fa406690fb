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
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func listSnapshots(c *engine.Call) (any, error) {
	g, err := c.Guest()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(g.Snapshots)) {
		s := g.Snapshots[name]
		entry := map[string]any{
			"name": name, "description": s.Description, "snaptime": s.Time.Unix(), "vmstate": schema.Flag(s.VMState),
		}
		if s.Parent != "" {
			entry["parent"] = s.Parent
		}
		if s.State != "" {
			entry["snapstate"] = s.State
		}
		out = append(out, entry)
	}
	current := map[string]any{
		"name": "current", "description": "You are here!", "running": schema.Flag(g.Power != state.Stopped), "digest": g.Digest(),
	}
	if p := g.Config["parent"]; p != "" {
		current["parent"] = p
	}
	return append(out, current), nil
}

func snapshotIndex(*engine.Call) (any, error) {
	return []map[string]any{{"cmd": "rollback"}, {"cmd": "config"}}, nil
}

func snapshot(c *engine.Call) (*state.Snapshot, error) {
	g, err := c.Guest()
	if err != nil {
		return nil, err
	}
	s := g.Snapshots[c.Str("snapname")]
	if s == nil {
		return nil, apierr.Errorf("snapshot '%s' does not exist", c.Str("snapname"))
	}
	return s, nil
}

func getSnapshotConfig(c *engine.Call) (any, error) {
	s, err := snapshot(c)
	if err != nil {
		return nil, err
	}
	out := c.Engine.Show(guest.Show(s))
	out["snaptime"] = s.Time.Unix()
	return out, nil
}

func putSnapshotConfig(c *engine.Call) (any, error) {
	return &engine.Locked{VMID: c.VMID(), Wait: engine.ConfigLockWait, Then: func(c *engine.Call) (any, error) {
		g, err := c.Guest()
		if err == nil {
			err = g.Lock()
		}
		if err != nil {
			return nil, err
		}
		s, err := snapshot(c)
		if err == nil && c.Has("description") {
			s.Description = c.Str("description")
		}
		return nil, err
	}}, nil
}

func createSnapshot(c *engine.Call) (any, error) {
	name, vmid, node := c.Str("snapname"), c.VMID(), c.Node
	if reserved := strings.ToLower(name); name == "current" || reserved == "pending" {
		return nil, apierr.Errorf("unable to use snapshot name '%s' (reserved name)", reserved)
	}
	if err := snapshottable(c); err != nil {
		return nil, err
	}
	description, memory := c.Str("description"), c.Flag("vmstate")
	return c.SpawnFor(vmid, "qmsnapshot", func(w *engine.Worker) error {
		err := begin(w, "qmsnapshot", node, vmid, func(o *engine.Op, g *state.Guest) error {
			if err := g.Lock(); err != nil {
				return err
			}
			return guest.PrepareSnapshot(o, g, name, description, memory)
		})
		if err != nil {
			return err
		}
		if err := w.PauseFor("qmsnapshot"); err != nil {
			return errors.Join(err, withGuest(w, node, vmid, func(o *engine.Op, g *state.Guest) error {
				o.Logf("snapshot create failed: starting cleanup")
				return guest.DropSnapshot(o, g, name, "snapshot")
			}))
		}
		return withGuest(w, node, vmid, func(_ *engine.Op, g *state.Guest) error { return guest.CommitSnapshot(g, name) })
	})
}

// begin starts the work of a task on a guest. An error occurs before anything is done, but a failing task takes as long as a successful one.
func begin(w *engine.Worker, kind, node string, vmid int, fn func(*engine.Op, *state.Guest) error) error {
	if err := w.Sleep(0); err != nil {
		return err
	}
	failed := withGuest(w, node, vmid, fn)
	if failed == nil {
		return nil
	}
	if err := w.PauseFor(kind); err != nil {
		return err
	}
	return failed
}

// withGuest changes a guest while its configuration is locked. A worker whose node is lost changes nothing.
func withGuest(w *engine.Worker, node string, vmid int, fn func(*engine.Op, *state.Guest) error) error {
	return w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error {
		return w.Do(func(st *state.State) error {
			g, err := st.Guest(node, vmid)
			if err != nil {
				return err
			}
			return fn(w.Op(st), g)
		})
	})
}

// snapshottable performs the checks of PVE 9 before the task of a snapshot.
func snapshottable(c *engine.Call) error {
	if c.State.Version == "8.4" {
		return nil
	}
	g, err := c.Guest()
	if err != nil || !c.Flag("vmstate") {
		return err
	}
	blockers := []string{}
	for _, key := range []string{"amd-sev", "intel-tdx"} {
		if g.Config[key] != "" {
			blockers = append(blockers, key)
		}
	}
	for key := range g.Config {
		if guest.Indexed(key, "virtiofs") && !slices.Contains(blockers, "virtiofs") {
			blockers = append(blockers, "virtiofs")
		}
	}
	if len(blockers) > 0 {
		return apierr.Errorf("Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: %s", strings.Join(blockers, ", "))
	}
	return nil
}

// onGuest performs the work of a task on an unlocked guest while its configuration is locked.
func onGuest(w *engine.Worker, kind, node string, vmid int, fn func(*engine.Op, *state.Guest) error) error {
	return w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error {
		if err := w.PauseFor(kind); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			g, err := st.Guest(node, vmid)
			if err != nil {
				return err
			}
			if err := g.Lock(); err != nil {
				return err
			}
			return fn(w.Op(st), g)
		})
	})
}

func rollbackSnapshot(c *engine.Call) (any, error) {
	name, vmid, node, start := c.Str("snapname"), c.VMID(), c.Node, c.Flag("start")
	if start && c.State.Version != "8.4" {
		if err := c.State.Check(c.Who, state.VMPath(vmid), "VM.PowerMgmt"); err != nil {
			return nil, err
		}
	}
	return c.SpawnFor(vmid, "qmrollback", func(w *engine.Worker) error {
		ran, off := false, false
		err := inTwoSteps(w, "qmrollback", node, vmid, func(o *engine.Op, g *state.Guest) (err error) {
			ran, err = guest.BeginRollback(o, g, name)
			return err
		}, func(o *engine.Op, g *state.Guest) (err error) {
			off, err = guest.EndRollback(o, g, name, ran)
			return err
		})
		if err == nil && off && start {
			spawnStart(w, node, vmid)
		}
		return err
	})
}

// inTwoSteps performs the work of a task on a guest whose configuration shows the operation in between. A task that ends in between leaves it like that.
func inTwoSteps(w *engine.Worker, kind, node string, vmid int, first, second func(*engine.Op, *state.Guest) error) error {
	if err := begin(w, kind, node, vmid, first); err != nil {
		return err
	}
	if err := w.PauseFor(kind); err != nil {
		return err
	}
	return withGuest(w, node, vmid, second)
}

func deleteSnapshot(c *engine.Call) (any, error) {
	name, vmid, node := c.Str("snapname"), c.VMID(), c.Node
	return c.SpawnFor(vmid, "qmdelsnapshot", func(w *engine.Worker) error {
		return inTwoSteps(w, "qmdelsnapshot", node, vmid, func(_ *engine.Op, g *state.Guest) error {
			return guest.MarkSnapshotDeleted(g, name)
		}, func(o *engine.Op, g *state.Guest) error {
			return guest.DropSnapshot(o, g, name, "snapshot-delete")
		})
	})
}

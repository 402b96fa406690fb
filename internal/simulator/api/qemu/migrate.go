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

	"github.com/vitistack/provider-proxmox/internal/simulator/api/ha"
	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// migrateCheck returns the possible targets of a guest, and what would be migrated with it.
func migrateCheck(c *engine.Call) (any, error) {
	g, err := c.Guest()
	if err == nil {
		err = g.Lock()
	}
	if err != nil {
		return nil, err
	}
	allowed, refused, o := []string{}, map[string]any{}, c.Op()
	for _, name := range slices.Sorted(maps.Keys(c.State.Nodes)) {
		if name == g.Node {
			continue // PVE does not check whether a node is online.
		}
		if missing := guest.MissingStorages(o, g, name); len(missing) > 0 {
			refused[name] = map[string]any{"unavailable_storages": missing}
			continue
		}
		if blocking := ha.Blocking(c.State, g.VMID, name); len(blocking) > 0 && c.State.Version != "8.4" {
			refused[name] = map[string]any{"blocking-ha-resources": blocking}
			continue
		}
		allowed = append(allowed, name)
		if c.State.Version != "8.4" {
			refused[name] = map[string]any{} // It lists all nodes, even those without a reason.
		}
	}
	local := []map[string]any{}
	for _, id := range guest.Volumes(o, g) {
		if s := c.State.Storages[guest.StorageOf(id)]; s != nil && !s.Shared {
			local = append(local, localDisk(o, g, id))
		}
	}
	for _, file := range guest.LocalMedia(o, g) {
		local = append(local, localDisk(o, g, file))
	}
	out := map[string]any{
		"running": schema.Flag(g.Power != state.Stopped), "allowed_nodes": allowed, "not_allowed_nodes": refused, "local_disks": local,
		"local_resources": []string{}, "mapped-resources": []string{}, "mapped-resource-info": map[string]any{}, "has-dbus-vmstate": 1,
	}
	if c.State.HAManaged(g.VMID) && c.State.Version != "8.4" {
		out["dependent-ha-resources"] = ha.Dependent(c.State, g.VMID)
	}
	return out, nil
}

// localDisk returns the data of the migration check about a volume that only one node has.
func localDisk(o *engine.Op, g *state.Guest, id string) map[string]any {
	out := map[string]any{
		"volid": id, "cdrom": 0, "is_attached": 0, "is_cloudinit": 0, "is_tpmstate": 0, "is_unused": 0, "is_vmstate": 0, "replicate": 1, "shared": 0,
	}
	if describeVolume(o, g, out, id, g.Config) {
		out["is_attached"] = 1
	}
	if describeVolume(o, g, out, id, g.Pending) {
		out["referenced_in_pending"] = 1
	}
	for _, s := range g.Snapshots {
		describeVolume(o, g, out, id, s.Config)
	}
	if names := guest.SnapshotsWith(o, g, id); len(names) > 0 {
		in := map[string]any{}
		for _, name := range names {
			in[name] = 1
		}
		out["referenced_in_snapshot"] = in
	}
	return out
}

// describeVolume adds the data about a volume from the drives of a configuration. It reports whether one of them has the volume.
func describeVolume(o *engine.Op, g *state.Guest, out map[string]any, id string, config map[string]string) bool {
	found := false
	for key, value := range config {
		if key == "vmstate" && value == id {
			out["is_vmstate"], found = 1, true
		}
		if d := guest.ParseDrive(o.Engine, key, value); d.File() == id {
			describeDrive(o, g, out, key, d)
			found = found || guest.IsDrive(key)
		}
	}
	return found
}

// describeDrive adds the data about its volume from a drive in force, pending or in a snapshot.
func describeDrive(o *engine.Op, g *state.Guest, out map[string]any, key string, d guest.Drive) {
	if guest.IsUnused(key) {
		out["is_unused"] = 1
	}
	if !guest.IsDrive(key) {
		return
	}
	out["drivename"], out["is_tpmstate"] = key, schema.Flag(key == "tpmstate0")
	out["cdrom"], out["is_cloudinit"], out["replicate"] = schema.Flag(d.CDROM()), schema.Flag(d.CloudInit()), schema.Flag(d["replicate"] != "0")
	if v := o.State.Volume(g.Node, d.File()); v != nil && !d.CloudInit() {
		out["size"] = v.Size
	}
}

func migrateGuest(c *engine.Call) (any, error) {
	m := &guest.Migration{
		Node: c.Node, VMID: c.VMID(), Target: c.Str("target"), Online: c.Flag("online"), Local: c.Flag("with-local-disks"),
	}
	switch {
	case m.Target == c.Node:
		return nil, apierr.Param("target", "target is local node.")
	case c.State.Nodes[m.Target] == nil:
		return nil, apierr.Errorf("no such cluster node '%s'", m.Target)
	}
	if err := c.RootOnly("force", "migration_type", "migration_network"); err != nil {
		return nil, err
	}
	g, err := c.Guest()
	if err == nil {
		err = g.Lock()
	}
	if err == nil && g.Power != state.Stopped {
		err = liveMigratable(c, m)
	}
	if err == nil {
		m.Storages, err = targetStorages(c, g, m.Target)
	}
	if err != nil {
		return nil, err
	}
	if c.State.HAManaged(m.VMID) {
		return c.SpawnFor(m.VMID, "hamigrate", func(w *engine.Worker) error { return requestMove(w, m) })
	}
	return c.SpawnFor(m.VMID, "qmigrate", func(w *engine.Worker) error {
		return w.Locked(m.VMID, engine.Exclusive, engine.ConfigLockWait, func() error { return migrate(w, m) })
	})
}

// liveMigratable fails for a running guest that cannot be migrated live.
func liveMigratable(c *engine.Call, m *guest.Migration) error {
	switch {
	case !m.Online:
		return apierr.Errorf("can't migrate running VM without --online")
	case !c.Flag("force") && guest.Replicates(c.State, m.VMID) != nil && guest.JobTo(c.State, m.VMID, m.Target) == "":
		return apierr.Errorf("Cannot live-migrate replicated VM to node '%s' - not a replication target. Use 'force' to override.", m.Target)
	}
	return nil
}

// targetStorages reads the target storages of disks, and checks them.
func targetStorages(c *engine.Call, g *state.Guest, node string) (*guest.StorageMap, error) {
	m, err := guest.ParseStorageMap(c.Str("targetstorage"))
	if err != nil {
		return nil, err
	}
	if len(m.Entries) == 0 && m.Fallback == "" {
		for _, id := range guest.StoragesOf(c.Op(), g) {
			if _, err := c.State.EnabledStorage(id, node); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	if err := (&guest.Access{Op: c.Op(), VMID: g.VMID}).May("VM.Config.Disk"); err != nil {
		return nil, err
	}
	targets := slices.Sorted(maps.Values(m.Entries))
	if m.Fallback != "" {
		targets = append(targets, m.Fallback)
	}
	for _, id := range targets {
		s, err := c.State.EnabledStorage(id, node)
		if err == nil {
			err = c.State.Check(c.Who, "/storage/"+id, "Datastore.AllocateSpace")
		}
		if err == nil && !s.Holds("images") {
			err = apierr.Errorf("storage '%s' does not support vm images", id)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// requestMove requests HA to move a guest. HA starts a separate task a little later.
func requestMove(w *engine.Worker, m *guest.Migration) error {
	w.Logf("Requesting HA migration for VM %d to node %s", m.VMID, m.Target)
	return w.Do(func(st *state.State) error {
		sid := state.HAID(m.VMID)
		if len(ha.Blocking(st, m.VMID, m.Target)) > 0 {
			return apierr.Errorf("command 'ha-manager migrate %s %s' failed: exit code 2", sid, m.Target)
		}
		ha.Ask(w.Op(st), "migrate", sid, m.Target)
		return nil
	})
}

// unlockThere ends a migration whose guest has arrived. The guest stays locked until everything is cleaned up.
func unlockThere(w *engine.Worker, vmid int) error {
	lock := func(lock bool) func(*state.State) error {
		return func(st *state.State) error {
			if g := st.Guests[vmid]; g != nil && lock {
				g.Config["lock"] = "migrate"
			} else if g != nil {
				delete(g.Config, "lock")
			}
			return nil
		}
	}
	if w.Engine.Instant() {
		return nil
	}
	if err := w.Do(lock(true)); err != nil {
		return err
	}
	if err := w.Sleep(w.Engine.Duration("qmigrate") / 5); err != nil {
		return err
	}
	return w.Do(lock(false))
}

// migrate runs the migration task of a VM. Its log contains all errors, and its exit status only that it was aborted.
func migrate(w *engine.Worker, m *guest.Migration) error {
	w.Logf("starting migration of VM %d to node '%s'", m.VMID, m.Target)
	if err := w.Sleep(w.Engine.Duration("qmigrate") / 32); err != nil {
		return err
	}
	err := w.Do(func(st *state.State) error {
		g, err := st.Guest(m.Node, m.VMID)
		if err != nil {
			return err
		}
		if err := guest.Migratable(w.Op(st), g, m); err != nil {
			return err
		}
		g.Config["lock"] = "migrate"
		return nil
	})
	if err == nil {
		wait := w.PauseFor("qmigrate")
		err = w.Do(func(st *state.State) error { return guest.Arrive(w.Op(st), m, wait) })
	}
	if err == nil {
		err = unlockThere(w, m.VMID)
	}
	if err != nil {
		w.Logf("ERROR: migration aborted: %s", err)
		return guest.MigrationEnd(err)
	}
	w.Logf("migration finished successfully")
	return nil
}

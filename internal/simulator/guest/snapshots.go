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
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// Show returns the configuration of a snapshot, including the fields that only snapshots have.
func Show(s *state.Snapshot) map[string]string {
	out := maps.Clone(s.Config)
	out["snaptime"] = strconv.FormatInt(s.Time.Unix(), 10)
	for key, value := range map[string]string{"description": s.Description, "parent": s.Parent, "snapstate": s.State} {
		delete(out, key)
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// restored returns the options of a guest that is created from the snapshot.
func restored(s *state.Snapshot) map[string]string {
	out := maps.Clone(s.Config)
	delete(out, "description")
	if s.Description != "" {
		out["description"] = s.Description
	}
	return out
}

// The locks of a guest whose snapshots change.
const (
	lockSnapshot = "snapshot"
	lockDelete   = "snapshot-delete"
	lockRollback = "rollback"
)

// PrepareSnapshot begins a snapshot of a guest, and locks the guest.
func PrepareSnapshot(o *engine.Op, g *state.Guest, name, description string, memory bool) error {
	if g.Template() {
		return apierr.Errorf("you can't take a snapshot if it's a template")
	}
	if g.Snapshots[name] != nil {
		return apierr.Errorf("snapshot name '%s' already used", name)
	}
	config := maps.Clone(g.Config)
	maps.DeleteFunc(config, func(key, _ string) bool { return IsUnused(key) || key == "parent" || key == "description" })
	for _, key := range slices.Sorted(maps.Keys(config)) {
		d := ParseDrive(o.Engine, key, config[key])
		if !IsDrive(key) || d.CDROM() {
			continue
		}
		if !HasFeature(o, d, "snapshot") {
			return apierr.Errorf("snapshot feature is not available")
		}
		o.Logf("snapshotting 'drive-%s' (%s)", key, d.File())
	}
	memory = memory && g.Power != state.Stopped
	if why := freezeWarning(o, g); g.Power != state.Stopped && !memory && why != "" {
		o.Logf("%s", why)
	}
	g.Snapshots[name] = &state.Snapshot{
		Config: config, Description: description, Parent: g.Config["parent"], Time: o.Engine.Clock.Now(), VMState: memory, State: "prepare",
	}
	if memory {
		saved := g.Snapshots[name].Config
		if err := saveMemory(o, g, stateStorage(o, g), name, saved); err != nil {
			delete(g.Snapshots, name)
			return err
		}
		rememberMachine(o, saved)
	}
	g.Config["lock"] = lockSnapshot
	return nil
}

// hasLock returns the snapshot for which a task has locked a guest.
func hasLock(g *state.Guest, name, lock string) (*state.Snapshot, error) {
	s := g.Snapshots[name]
	switch {
	case g.Config["lock"] != lock:
		return nil, apierr.Errorf("encountered invalid lock, expected '%s'", lock)
	case s == nil:
		return nil, apierr.Errorf("snapshot '%s' does not exist", name)
	}
	return s, nil
}

// CommitSnapshot completes a prepared snapshot.
func CommitSnapshot(g *state.Guest, name string) error {
	switch s := g.Snapshots[name]; {
	case g.Config["lock"] != lockSnapshot:
		return apierr.Errorf("missing snapshot lock")
	case s == nil:
		return apierr.Errorf("snapshot '%s' does not exist", name)
	case s.State != "prepare":
		return apierr.Errorf("wrong snapshot state")
	default:
		s.State = ""
	}
	delete(g.Config, "lock")
	g.Config["parent"] = name
	return nil
}

// MarkSnapshotDeleted begins to remove a snapshot, and locks the guest.
func MarkSnapshotDeleted(g *state.Guest, name string) error {
	s := g.Snapshots[name]
	if s == nil {
		return apierr.Errorf("snapshot '%s' does not exist", name)
	}
	if err := g.Lock(); err != nil {
		return err
	}
	g.Config["lock"], s.State = lockDelete, "delete"
	return nil
}

// DropSnapshot removes a snapshot for which the guest is locked, and unlocks the guest.
func DropSnapshot(o *engine.Op, g *state.Guest, name, lock string) error {
	s, err := hasLock(g, name, lock)
	if err != nil {
		return err
	}
	volume.Free(o, s.Config["vmstate"])
	delete(g.Snapshots, name)
	reparent(g, name, s.Parent)
	delete(g.Config, "lock")
	return nil
}

// stateStorage returns the storage for a VM's memory: the one that is set for it, or that of its first disk.
func stateStorage(o *engine.Op, g *state.Guest) string {
	storages := []string{g.Config["vmstatestorage"]}
	for _, key := range bootDevices(o.Engine, g.Config) {
		if d := ParseDrive(o.Engine, key, g.Config[key]); IsDrive(key) && !d.CDROM() {
			storages = append(storages, StorageOf(d.File()))
		}
	}
	for _, id := range storages {
		if o.State.Storages[id] != nil {
			return id
		}
	}
	return "local"
}

// saveMemory saves the VM's memory to a volume.
func saveMemory(o *engine.Op, g *state.Guest, storage, name string, into map[string]string) error {
	s, err := o.State.Storage(storage)
	if err != nil {
		return err
	}
	base := fmt.Sprintf("vm-%d-state-%s", g.VMID, name)
	into["vmstate"], err = volume.Allocate(o, s, g.VMID, base, "raw", memory(o.Engine, g.Config)*2+(500<<20))
	return err
}

// rememberMachine records the machine that matches the memory.
func rememberMachine(o *engine.Op, config map[string]string) {
	config["runningmachine"] = "pc-i440fx-" + machine(o.State)
	config["runningcpu"] = "qemu64,+lahf_lm,+sep"
	if o.State.Version == "8.4" {
		return
	}
	nics := []string{}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if IsNIC(key) {
			nics = append(nics, key+"=1500")
		}
	}
	if len(nics) > 0 {
		config["running-nets-host-mtu"] = strings.Join(nics, ",")
	}
}

// BeginRollback stops and locks a guest for a rollback. It reports whether the guest was running.
func BeginRollback(o *engine.Op, g *state.Guest, name string) (ran bool, err error) {
	s := g.Snapshots[name]
	if s == nil {
		return false, apierr.Errorf("snapshot '%s' does not exist", name)
	}
	if err := mayRollBack(o, g, name); err != nil {
		return false, err
	}
	if s.State != "" {
		return false, apierr.Errorf("unable to rollback to incomplete snapshot (snapstate = %s)", s.State)
	}
	if err := g.Lock(); err != nil {
		return false, err
	}
	ran = g.Power != state.Stopped
	g.Power, g.Config["lock"] = state.Stopped, lockRollback
	return ran, nil
}

// EndRollback completes the rollback of a guest that is locked for it. It reports whether the guest is off afterwards.
func EndRollback(o *engine.Op, g *state.Guest, name string, ran bool) (off bool, err error) {
	s, err := hasLock(g, name, lockRollback)
	if err != nil {
		return false, err
	}
	if ran {
		cleanUp(o, g.VMID)
	}
	rollback(o, g, name, s)
	return !s.VMState, nil
}

// mayRollBack fails for volumes of ZFS, which can only be rolled back to their latest snapshot.
func mayRollBack(o *engine.Op, g *state.Guest, name string) error {
	for key, value := range g.Snapshots[name].Config {
		d := ParseDrive(o.Engine, key, value)
		if s := o.State.Storages[StorageOf(d.File())]; !IsDrive(key) || d.CDROM() || s == nil || s.Type != "zfspool" {
			continue
		}
		for _, other := range g.Snapshots {
			if other.Time.After(g.Snapshots[name].Time) && strings.HasPrefix(other.Config[key], d.File()) {
				return apierr.Errorf("can't rollback, '%s' is not most recent snapshot on '%s'", name, d.File())
			}
		}
	}
	return nil
}

// rollback restores the guest, which is off afterwards unless its memory was saved. The description and unused disks stay. Disks that the snapshot does
// not contain become unused.
func rollback(o *engine.Op, g *state.Guest, name string, s *state.Snapshot) {
	before := g.Config
	g.Pending, g.Delete = map[string]string{}, map[string]bool{}
	g.Config = maps.Clone(s.Config)
	maps.DeleteFunc(g.Config, func(key, _ string) bool { return key == "vmstate" || strings.HasPrefix(key, "running") })
	for key, value := range before {
		if IsUnused(key) || key == "description" {
			g.Config[key] = value
		}
	}
	kept := map[string]bool{}
	for key, value := range s.Config {
		d := ParseDrive(o.Engine, key, value)
		kept[d.File()] = true
		if v := o.State.Volume(g.Node, d.File()); IsDrive(key) && v != nil && !d.CDROM() {
			v.Size = sizeOf(d, v.Size)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if d := ParseDrive(o.Engine, key, before[key]); IsDrive(key) && !kept[d.File()] {
			keepUnused(o, g, d)
		}
	}
	dropReattached(o, g)
	g.Config["parent"] = name
	if g.Config["vmgenid"] != "" {
		g.Config["vmgenid"] = random.UUID()
	}
	if s.VMState {
		Boot(o, g)
	}
}

// dropReattached removes unused disks that are in use again.
func dropReattached(o *engine.Op, g *state.Guest) {
	for key, value := range g.Config {
		if IsDrive(key) {
			reattached(o, g, ParseDrive(o.Engine, key, value).File())
		}
	}
}

// sizeOf returns the size in a drive's option, or another one if there is none.
func sizeOf(d Drive, otherwise int64) int64 {
	if size, ok := schema.ParseSize(d["size"]); ok && size > 0 {
		return size
	}
	return otherwise
}

// reparent replaces the parent of snapshots by another one, or by none.
func reparent(g *state.Guest, from, to string) {
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

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

package backup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// compressedShare is the part of a disk's content that its backup takes: one of so many.
const compressedShare = 2

// vzdump backs guests of the node up.
func vzdump(c *engine.Call) (any, error) {
	s, err := backupStorage(c)
	if err != nil {
		return nil, err
	}
	guests, err := backedUp(c)
	if err != nil {
		return nil, err
	}
	subject := ""
	if len(guests) == 1 && !c.Flag("all") {
		subject = state.VmidText(guests[0])
	}
	mode := c.Str("mode")
	if mode == "" {
		mode = "snapshot"
	}
	return c.Spawn("vzdump", subject, func(w *engine.Worker) error {
		failed := 0
		for _, vmid := range guests {
			if err := backupGuest(w, s, vmid, mode); err != nil {
				w.Logf("ERROR: Backup of VM %d failed - %s", vmid, err)
				failed++
			}
		}
		w.Logf("INFO: Backup job finished%s", map[bool]string{true: " with errors", false: " successfully"}[failed > 0])
		if failed > 0 {
			return apierr.Errorf("job errors")
		}
		return nil
	})
}

// backupStorage is where backups go.
func backupStorage(c *engine.Call) (*state.Storage, error) {
	if c.Has("dumpdir") && c.Who != state.Root {
		return nil, apierr.Param("dumpdir", "Only root may set this option.")
	}
	id := c.Str("storage")
	if id == "" {
		id = "local"
	}
	if err := c.State.Check(c.Who, "/storage/"+id, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	s, err := c.State.EnabledStorage(id, c.Node)
	if err == nil && !s.Holds("backup") {
		err = apierr.Errorf("can't use storage '%s' for backups - wrong content type", id)
	}
	return s, err
}

// backedUp are the guests that a call names: VMIDs, a pool, or all that the caller may back up but some.
func backedUp(c *engine.Call) ([]int, error) {
	if !c.Has("vmid") && !c.Has("pool") && !c.Flag("all") {
		return nil, apierr.Param("vmid", "property is missing and it is not optional")
	}
	out, excluded := []int{}, schema.SplitList(c.Str("exclude"))
	for _, vmid := range slices.Sorted(maps.Keys(c.State.Guests)) {
		p := c.State.Pools[c.Str("pool")]
		named := slices.Contains(schema.SplitList(c.Str("vmid")), state.VmidText(vmid)) || (p != nil && p.VMs[vmid]) ||
			(c.Flag("all") && !slices.Contains(excluded, state.VmidText(vmid)))
		if !named || c.State.Guests[vmid].Node != c.Node {
			continue
		}
		if err := c.State.Check(c.Who, state.VMPath(vmid), "VM.Backup"); err != nil {
			if c.Has("vmid") {
				return nil, err
			}
			continue
		}
		out = append(out, vmid)
	}
	return out, nil
}

// backupGuest writes the backup of one VM.
func backupGuest(w *engine.Worker, s *state.Storage, vmid int, mode string) error {
	w.Logf("INFO: Starting Backup of VM %d (qemu)", vmid)
	return w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error {
		if err := w.PauseFor("vzdump"); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			g := st.Guests[vmid]
			if g == nil {
				return apierr.Errorf("unable to find VM '%d'", vmid)
			}
			if err := g.Lock(); err != nil {
				return err
			}
			return writeBackup(w.Op(st), s, g, mode)
		})
	})
}

// backupOf takes what belongs into a backup: not what waits, unused disks, snapshots and disks that are left out.
func backupOf(o *engine.Op, g *state.Guest) *state.Backup {
	out := &state.Backup{Config: maps.Clone(g.Config), Disks: map[string]state.Volume{}}
	maps.DeleteFunc(out.Config, func(key, _ string) bool {
		return guest.IsUnused(key) || slices.Contains([]string{"lock", "parent", "vmstate"}, key) || strings.HasPrefix(key, "running")
	})
	for key, value := range out.Config {
		d := guest.ParseDrive(o.Engine, key, value)
		if !guest.IsDrive(key) || d.CDROM() {
			continue
		}
		if v := o.State.Volume(g.Node, d.File()); v != nil && d["backup"] != "0" {
			out.Disks[key] = *v
		}
	}
	return out
}

func writeBackup(o *engine.Op, s *state.Storage, g *state.Guest, mode string) error {
	o.Logf("INFO: status = %s", map[bool]string{true: "stopped", false: "running"}[g.Power == state.Stopped])
	o.Logf("INFO: backup mode: %s", map[bool]string{true: "stop", false: mode}[g.Power == state.Stopped])
	content, size := backupOf(o, g), int64(0)
	for _, disk := range content.Disks {
		size += disk.Used
	}
	now := o.Engine.Clock.Now()
	name := fmt.Sprintf("backup/vzdump-qemu-%d-%s.vma.zst", g.VMID, now.Format("2006_01_02-15_04_05"))
	v := &state.Volume{VMID: g.VMID, Format: "vma.zst", Content: "backup", Size: size, Used: size / compressedShare, Created: now, Backup: content}
	if err := volume.Store(o, s, name, v); err != nil {
		return apierr.Errorf("vma_queue_write: write error - Broken pipe")
	}
	o.Logf("INFO: creating vzdump archive '%s'", s.Root()+"/dump/"+strings.TrimPrefix(name, "backup/"))
	o.Logf("INFO: Finished Backup of VM %d (00:00:00)", g.VMID)
	return nil
}

// backupDefaults are the settings of backups on a node that has none of its own.
func backupDefaults(c *engine.Call) (any, error) {
	out := map[string]any{
		"all": 0, "bwlimit": 0, "compress": "0", "fleecing": map[string]any{"enabled": 0}, "ionice": 7, "lockwait": 180,
		"mailnotification": "always", "mode": "snapshot", "notification-mode": "auto", "pigz": 0, "quiet": 0, "remove": 1,
		"performance":   map[string]any{"max-workers": 16, "pbs-entries-max": 1048576},
		"prune-backups": "keep-all=1", "stdexcludes": 1, "stop": 0, "stopwait": 10, "zstd": 1,
	}
	if c.State.Version == "8.4" {
		out["notification-policy"] = "always"
	}
	id := c.Str("storage")
	if id == "" {
		id = "local"
	}
	s, err := c.State.Storage(id)
	if err != nil {
		return nil, err
	}
	out["storage"] = id
	if s.FileBased() {
		out["dumpdir"] = fmt.Sprintf("%s/dump", s.Root())
	}
	return out, nil
}

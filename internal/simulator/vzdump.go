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
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// compressedShare is the part of a disk's content that its backup takes: one of so many.
const compressedShare = 2

// vzdump backs guests of the node up.
func (c *call) vzdump() (any, error) {
	s, err := c.backupStorage()
	if err != nil {
		return nil, err
	}
	guests, err := c.backedUp()
	if err != nil {
		return nil, err
	}
	subject := ""
	if len(guests) == 1 && !c.flag("all") {
		subject = vmidText(guests[0])
	}
	mode := c.str("mode")
	if mode == "" {
		mode = "snapshot"
	}
	return c.spawn("vzdump", subject, func(w *worker) error {
		failed := 0
		for _, vmid := range guests {
			if err := w.backup(s, vmid, mode); err != nil {
				w.logf("ERROR: Backup of VM %d failed - %s", vmid, err)
				failed++
			}
		}
		w.logf("INFO: Backup job finished%s", map[bool]string{true: " with errors", false: " successfully"}[failed > 0])
		if failed > 0 {
			return die("job errors")
		}
		return nil
	})
}

// backupStorage is where backups go.
func (c *call) backupStorage() (*Storage, error) {
	if c.has("dumpdir") && c.who != root {
		return nil, paramError("dumpdir", "Only root may set this option.")
	}
	id := c.str("storage")
	if id == "" {
		id = "local"
	}
	if err := c.state.check(c.who, "/storage/"+id, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	s, err := c.state.enabledStorage(id, c.node)
	if err == nil && !s.holds("backup") {
		err = die("can't use storage '%s' for backups - wrong content type", id)
	}
	return s, err
}

// backedUp are the guests that a call names: VMIDs, a pool, or all that the caller may back up but some.
func (c *call) backedUp() ([]int, error) {
	if !c.has("vmid") && !c.has("pool") && !c.flag("all") {
		return nil, paramError("vmid", "property is missing and it is not optional")
	}
	out, excluded := []int{}, schema.SplitList(c.str("exclude"))
	for _, vmid := range slices.Sorted(maps.Keys(c.state.Guests)) {
		p := c.state.Pools[c.str("pool")]
		named := slices.Contains(schema.SplitList(c.str("vmid")), vmidText(vmid)) || (p != nil && p.VMs[vmid]) ||
			(c.flag("all") && !slices.Contains(excluded, vmidText(vmid)))
		if !named || c.state.Guests[vmid].Node != c.node {
			continue
		}
		if err := c.state.check(c.who, vmPath(vmid), "VM.Backup"); err != nil {
			if c.has("vmid") {
				return nil, err
			}
			continue
		}
		out = append(out, vmid)
	}
	return out, nil
}

// backup writes the backup of one VM.
func (w *worker) backup(s *Storage, vmid int, mode string) error {
	w.logf("INFO: Starting Backup of VM %d (qemu)", vmid)
	return w.locked(vmid, exclusive, configLockWait, func() error {
		if err := w.pauseFor("vzdump"); err != nil {
			return err
		}
		return w.do(func(st *State) error {
			g := st.Guests[vmid]
			if g == nil {
				return die("unable to find VM '%d'", vmid)
			}
			if err := g.lock(); err != nil {
				return err
			}
			return w.op(st).backup(s, g, mode)
		})
	})
}

// Backup is what a backup holds of a guest: its configuration, and its disks by the options that they belong to.
type Backup struct {
	Config map[string]string
	Disks  map[string]Volume
}

// backupOf takes what belongs into a backup: not what waits, unused disks, snapshots and disks that are left out.
func (o *op) backupOf(g *Guest) *Backup {
	out := &Backup{Config: maps.Clone(g.Config), Disks: map[string]Volume{}}
	maps.DeleteFunc(out.Config, func(key, _ string) bool {
		return isUnused(key) || slices.Contains([]string{"lock", "parent", "vmstate"}, key) || strings.HasPrefix(key, "running")
	})
	for key, value := range out.Config {
		d := o.s.parseDrive(key, value)
		if !isDrive(key) || d.cdrom() {
			continue
		}
		if v := o.st.volume(g.Node, d.file()); v != nil && d["backup"] != "0" {
			out.Disks[key] = *v
		}
	}
	return out
}

func (o *op) backup(s *Storage, g *Guest, mode string) error {
	o.logf("INFO: status = %s", map[bool]string{true: "stopped", false: "running"}[g.Power == Stopped])
	o.logf("INFO: backup mode: %s", map[bool]string{true: "stop", false: mode}[g.Power == Stopped])
	content, size := o.backupOf(g), int64(0)
	for _, disk := range content.Disks {
		size += disk.Used
	}
	now := o.s.clock.Now()
	name := fmt.Sprintf("backup/vzdump-qemu-%d-%s.vma.zst", g.VMID, now.Format("2006_01_02-15_04_05"))
	v := &Volume{VMID: g.VMID, Format: "vma.zst", Content: "backup", Size: size, Used: size / compressedShare, Created: now, Backup: content}
	if err := o.store(s, name, v); err != nil {
		return die("vma_queue_write: write error - Broken pipe")
	}
	o.logf("INFO: creating vzdump archive '%s'", s.root()+"/dump/"+strings.TrimPrefix(name, "backup/"))
	o.logf("INFO: Finished Backup of VM %d (00:00:00)", g.VMID)
	return nil
}

// backupDefaults are the settings of backups on a node that has none of its own.
func (c *call) backupDefaults() (any, error) {
	out := map[string]any{
		"all": 0, "bwlimit": 0, "compress": "0", "fleecing": map[string]any{"enabled": 0}, "ionice": 7, "lockwait": 180,
		"mailnotification": "always", "mode": "snapshot", "notification-mode": "auto", "pigz": 0, "quiet": 0, "remove": 1,
		"performance":   map[string]any{"max-workers": 16, "pbs-entries-max": 1048576},
		"prune-backups": "keep-all=1", "stdexcludes": 1, "stop": 0, "stopwait": 10, "zstd": 1,
	}
	if c.state.Version == "8.4" {
		out["notification-policy"] = "always"
	}
	id := c.str("storage")
	if id == "" {
		id = "local"
	}
	s, err := c.state.storage(id)
	if err != nil {
		return nil, err
	}
	out["storage"] = id
	if s.fileBased() {
		out["dumpdir"] = fmt.Sprintf("%s/dump", s.root())
	}
	return out, nil
}

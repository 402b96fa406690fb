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
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
)

// storageOf a volume, by its ID.
func storageOf(volume string) string {
	storage, _, _ := strings.Cut(volume, ":")
	return storage
}

// findNode finds a node that is online and sees the backups of the storage: the one that has
// made the backup if it can be, and no other one if the storage is not shared. It returns
// nothing if there is none.
func (e *external) findNode(ctx context.Context, storage string) (string, error) {
	made := e.view.record.Node
	all, err := e.inventory.Storages(ctx)
	if err != nil {
		return "", err
	}
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil {
		return "", err
	}
	var able []string
	for _, s := range all {
		off := slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == s.Node && n.Offline() })
		if s.Name == storage && !off && (s.Shared || made == "" || s.Node == made) {
			able = append(able, s.Node)
		}
	}
	if slices.Contains(able, made) || len(able) == 0 {
		return ifAny(able, made), nil
	}
	return slices.Min(able), nil
}

// ifAny returns the name if the list has any.
func ifAny(list []string, name string) string {
	if len(list) == 0 {
		return ""
	}
	return name
}

// readVolume reads a backup from the list of its storage, or nil if it is not there. A list
// that may be old is good enough if it has the backup as it was made.
func (e *external) readVolume(ctx context.Context, id string) (*proxmox.Volume, error) {
	ages := []time.Duration{inventory.Fresh}
	if e.view.record.Done {
		ages = []time.Duration{inventory.Relaxed, inventory.Fresh}
	}
	for _, age := range ages {
		all, err := e.inventory.Volumes(ctx, e.view.node, storageOf(id), "backup", age)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(all, func(v proxmox.Volume) bool { return v.ID == id }); i >= 0 {
			return &all[i], nil
		}
	}
	return nil, nil
}

// slack is how much older than its task a backup may look: its name has the local time of the node, in seconds.
const slack = 5 * time.Minute

// mayHaveMade reports whether the recorded task may have made a backup: one of its VM, and not before it has begun. A log has words of users too.
func (e *external) mayHaveMade(v *proxmox.Volume) bool {
	return v != nil && v.VMID == e.view.target.VMID && !time.Unix(v.Changed, 0).Before(e.view.record.Task.Start().Add(-slack))
}

// findMade finds the backup that a task has made, by the log of the task, or else by the mark
// in its notes.
func (e *external) findMade(ctx context.Context, m Backup, log []string) (*proxmox.Volume, error) {
	storage := m.Parameters().Storage
	if id := backuplog.Volume(log, storage); id != "" {
		if v, err := e.readVolume(ctx, id); err != nil || e.mayHaveMade(v) {
			return v, err
		}
	}
	all, err := e.inventory.Volumes(ctx, e.view.node, storage, "backup", inventory.Fresh)
	if err != nil {
		return nil, err
	}
	for i, v := range all {
		if v.VMID != e.view.target.VMID {
			continue
		}
		is, err := e.hasMark(ctx, m, v)
		if is || err != nil {
			return &all[i], err
		}
	}
	return nil, nil
}

// findSecond tells of another backup with the mark: a call whose answer was lost was made again, and carried out late. It is left where it is, since
// notes can be copied.
func (e *external) findSecond(ctx context.Context, m Backup) error {
	v, r := e.view, e.view.record
	if v.action != keep || !r.Again || r.Second != "" || !kind.MayChange(m) {
		return nil
	}
	all, err := e.inventory.Volumes(ctx, v.node, storageOf(r.Volume), "backup", inventory.Relaxed)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ID == r.Volume || other.VMID != r.VMID {
			continue
		}
		is, err := e.hasMark(ctx, m, other)
		if err != nil {
			return err
		}
		if is {
			r.Second = other.ID
			e.Event(m, event.Warning(target.EventLeftBehind, errors.Errorf("backup %s was made beside %s, by a call whose answer was lost: nothing removes it, "+
				"so remove it unless you need it", other.ID, r.Volume)))
			return e.save(ctx, m)
		}
	}
	return nil
}

// hasMark reports whether a backup has the mark in its notes. Lists have the first line of
// them only.
func (e *external) hasMark(ctx context.Context, m Backup, v proxmox.Volume) (bool, error) {
	first, _, _ := strings.Cut(wantedNotes(m), "\n")
	if marked(v.Notes, m) || strings.TrimSpace(v.Notes) != strings.TrimSpace(first) {
		return marked(v.Notes, m), nil
	}
	notes, err := e.client.VolumeNotes(ctx, e.view.node, v.ID)
	return marked(notes, m), err
}

// same reports whether a volume is the backup of the record.
func (r *record) same(v *proxmox.Volume) bool {
	return v != nil && v.ID == r.Volume && v.Changed == r.Time
}

// toSee are the privileges without which PVE lists no backups of a VM.
func toSee(storage string, vmid int) []proxmox.Privilege {
	return []proxmox.Privilege{
		{Path: "/storage/" + storage, Names: []string{"Datastore.AllocateSpace"}},
		{Path: fmt.Sprintf("/vms/%d", vmid), Names: []string{"VM.Backup"}},
	}
}

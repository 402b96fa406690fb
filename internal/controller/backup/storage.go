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
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
)

// storageOf returns the storage in a volume ID.
func storageOf(volume string) string {
	storage, _, _ := strings.Cut(volume, ":")
	return storage
}

// findNode finds a node that is online and sees the backups of the storage. It prefers the node that has created the backup. If the storage is not
// shared, it accepts no other node, unless that node is no longer a member of the cluster. It finds nothing if there is no such node.
func (e *external) findNode(ctx context.Context, storage string) error {
	v, made := e.view, e.view.record.Node
	all, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil {
		return err
	}
	if made != "" {
		_, removed, err := target.NodeState(ctx, e.inventory, made)
		if err != nil {
			return err
		}
		if removed {
			made = ""
		}
	}
	v.node, v.able, v.away = "", nil, nil
	shared := false
	for _, s := range all {
		off := slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == s.Node && n.Offline() })
		switch {
		case s.Name != storage, !s.Shared && made != "" && s.Node != made:
		case off:
			v.away = append(v.away, s.Node)
		default:
			v.able = append(v.able, s.Node)
			shared = shared || s.Shared
		}
	}
	slices.Sort(v.able)
	if len(v.able) > 0 {
		v.node = v.able[0]
	}
	if slices.Contains(v.able, made) {
		v.node = made
	}
	if shared || made != "" {
		v.able, v.away = nil, nil
	}
	return nil
}

// lost explains why no node can ever be asked again for a backup whose storage no node lists: the storage is no longer defined, or was only on nodes
// that are no longer members of the cluster. It returns an empty text if the backup may become visible again, for example if the storage is disabled
// or the token may not see it.
func (e *external) lost(ctx context.Context, storage string) (string, error) {
	v := e.view
	nodes, err := e.inventory.Nodes(ctx)
	i := slices.IndexFunc(nodes, proxmox.Node.Online)
	if err != nil || i < 0 || len(v.away) > 0 {
		return "", err
	}
	_, err = e.inventory.Volumes(ctx, nodes[i].Name, storage, "backup", inventory.Relaxed)
	switch {
	case proxmox.IsNoStorage(err):
		return "its storage is not defined any more", nil
	case proxmox.IsDisabledStorage(err):
		v.problem.Message = fmt.Sprintf("storage %s is disabled: enable it", storage)
	}
	if !proxmox.IsStorageElsewhere(err) {
		return "", ctx.Err()
	}
	member, err := inventory.MemberStateOf(ctx, e.inventory, v.record.Node)
	if err != nil || member != inventory.Removed {
		return "", err
	}
	seen := proxmox.Privilege{Path: "/storage/" + storage, Names: []string{"Datastore.Audit"}}
	if err := kind.CheckPrivileges(ctx, e.client, "see storage "+storage, seen); err != nil {
		return "", resource.Ignore(proxmox.IsAuthorization, err) // The storage may be on a node that does not list it.
	}
	return "its storage was on nodes that are not members of the cluster any more", nil
}

// readNamed reads the backup that the user has named. A storage that is not shared has different contents on each node. All nodes are then asked, and
// from then on the node that has the backup.
func (e *external) readNamed(ctx context.Context, id string) (*proxmox.Volume, error) {
	v := e.view
	if len(v.able) < 2 {
		return e.readVolume(ctx, id)
	}
	var failed []error
	for _, v.node = range v.able {
		volume, err := e.readVolume(ctx, id)
		if volume != nil {
			return volume, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// unasked returns the problem that a backup that the user has named was not found, while nodes that may have it are offline. It returns nil if no
// such node is offline.
func (e *external) unasked(id string) *kind.Problem {
	if len(e.view.away) == 0 {
		return nil
	}
	slices.Sort(e.view.away)
	return &kind.Problem{Reason: reasonStorageUnavailable, Message: fmt.Sprintf("backup %s is on no node that is online, and storage %s is another one on each: "+
		"it is looked for on these once they are back: %s", id, storageOf(id), strings.Join(e.view.away, ", "))}
}

// readVolume reads a backup from the list of its storage, or returns nil if it does not exist. A cached list is sufficient if it has the backup as it
// was created.
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

// slack is how much older than its task a backup may appear. Its name has the local time of the node, in seconds.
const slack = 5 * time.Minute

// mayHaveMade reports whether the recorded task may have created a backup: it belongs to the task's VM, and is not older than the task. That is
// checked because a log contains texts of users too.
func (e *external) mayHaveMade(v *proxmox.Volume) bool {
	return v != nil && v.VMID == e.view.target.VMID && !time.Unix(v.Changed, 0).Before(e.view.record.Task.Start().Add(-slack))
}

// findMade finds the backup that a task has created, by the log of the task, or by the mark in its notes.
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

// findSecond reports another backup with the mark: a call whose answer was lost was repeated, and carried out late. The backup stays, because notes
// can be copied.
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

// hasMark reports whether a backup has the mark in its notes. Lists contain only the first line of the notes.
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

// toSee returns the privileges without which PVE lists no backups of a VM.
func toSee(storage string, vmid int) []proxmox.Privilege {
	return []proxmox.Privilege{
		{Path: "/storage/" + storage, Names: []string{"Datastore.AllocateSpace"}},
		{Path: fmt.Sprintf("/vms/%d", vmid), Names: []string{"VM.Backup"}},
	}
}

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

package image

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A reader reads what Proxmox VE has of an Image, on which the decisions about its files and templates depend.
type reader struct {
	client    Client
	inventory Inventory
	now       func() time.Time
}

func (e *external) reader() reader {
	return reader{client: e.client, inventory: e.inventory, now: e.now}
}

// undefined reports whether a storage is listed nowhere, and unknown to the node of the place. A storage that is hidden or disabled is not undefined.
// This is determined once per observation. Otherwise, an item that was forgotten as lost could be found again, and removed.
func (r reader) undefined(ctx context.Context, v *view, p place) (bool, error) {
	if is, decided := v.undefined[p.Storage]; decided {
		return is, nil
	}
	if !v.online(p.Node) || slices.ContainsFunc(v.storages, func(s proxmox.Storage) bool { return s.Name == p.Storage }) {
		return false, nil
	}
	_, err := r.client.Volumes(ctx, p.Node, p.Storage, "images")
	if err != nil && !proxmox.IsNoStorage(err) && !proxmox.IsDisabledStorage(err) {
		return false, errors.Wrapf(err, "cannot look at %s", p)
	}
	v.undefined[p.Storage] = proxmox.IsNoStorage(err)
	return v.undefined[p.Storage], nil
}

// fileStateOf returns the state of a file: the volume with its name, and the tasks that create it. If a storage cannot be listed, that is reported,
// and does not affect items elsewhere.
func (r reader) fileStateOf(ctx context.Context, m Image, v *view, i *item) (fileState, error) {
	s := fileState{unknown: !v.online(i.place.Node)}
	switch {
	case s.unknown && !i.place.Shared:
		s.task = gone(i.file.Task)
		return s, nil
	case s.unknown:
		i.unlisted = unlisted
	case i.place.Down:
		s.unknown, i.unlisted = true, fmt.Sprintf("node %s reports the storage as not available: %s", i.place.Node, unlisted)
	default:
		var err error
		s.volume, err = r.findVolume(ctx, m, i)
		if proxmox.IsAuthorization(err) || ctx.Err() != nil {
			return s, errors.Wrapf(err, "cannot look for the file on %s", i.place)
		}
		if s.unknown = err != nil; s.unknown {
			i.unlisted = err.Error()
		}
	}
	return s, r.readFileTasks(ctx, m, i, &s)
}

// readFileTasks reads the tasks that create a file, or may do so. They may be on another node than the one that is asked for the file.
func (r reader) readFileTasks(ctx context.Context, m Image, i *item, s *fileState) error {
	var offline *kind.Problem
	var err error
	switch {
	case i.file.Task != "":
		s.task, offline, err = target.Task(ctx, r.inventory, r.client, proxmox.UPID(i.file.Task))
	case i.file.Begun != 0 && !i.file.Done:
		s.others, offline, err = r.downloads(ctx, m, i.file.Node, i.rev.File)
	}
	if offline != nil {
		s.offline = offline.Message
	}
	return err
}

// findVolume returns the volume with the file's name, or nil. A cached list is sufficient if it has the file as it was created. Only a fresh list
// proves that the file is gone.
func (r reader) findVolume(ctx context.Context, m Image, i *item) (*proxmox.Volume, error) {
	ages := []time.Duration{inventory.Current}
	if i.file.Done && i.file.Removal == "" {
		ages = []time.Duration{inventory.Stable, inventory.Current, inventory.Fresh}
	}
	var found *proxmox.Volume
	for _, maxAge := range ages {
		volumes, err := r.inventory.Volumes(ctx, i.place.Node, i.place.Storage, string(contentOf(m.Parameters())), maxAge)
		if err != nil {
			return nil, err
		}
		if found = volumeNamed(volumes, i.rev.File); found != nil && i.file.is(*found) {
			break
		}
	}
	return found, nil
}

// gone returns a task on a node that cannot be asked, as running, because it may be.
func gone(upid string) *proxmox.Task {
	if upid == "" {
		return nil
	}
	return &proxmox.Task{UPID: proxmox.UPID(upid), Running: true}
}

// volumeNamed returns the volume with a file name, or nil.
func volumeNamed(volumes []proxmox.Volume, name string) *proxmox.Volume {
	i := slices.IndexFunc(volumes, func(v proxmox.Volume) bool { return v.File() == name })
	if i < 0 {
		return nil
	}
	return &volumes[i]
}

// task returns the task as PVE knows it, or nil. A task on a node that cannot be asked may still run.
func (r reader) task(ctx context.Context, upid string) (*proxmox.Task, error) {
	t, _, err := target.Task(ctx, r.inventory, r.client, proxmox.UPID(upid))
	return t, err
}

// downloads returns our tasks on a node that fetch a file of the name, and the problem that the node cannot be asked.
func (r reader) downloads(ctx context.Context, m Image, node, name string) ([]proxmox.Task, *kind.Problem, error) {
	taskType := proxmox.TaskDownload
	if m.Parameters().Source.OCI != nil {
		taskType = proxmox.TaskPullOCI
	}
	tasks, err := target.NodeTasks(ctx, r.inventory, r.client, node, taskType)
	return slices.DeleteFunc(tasks.All, func(t proxmox.Task) bool {
		return t.UPID.ID() != name || t.UPID.User() != r.client.Identity().ID
	}), tasks.Offline, err
}

// progressLines is how many lines of a log contain at least one with a percentage.
const progressLines = 5

func (r reader) readProgress(ctx context.Context, i *item, u proxmox.UPID) error {
	if !u.Valid() {
		return nil
	}
	log, err := r.client.TaskLog(ctx, u, progressLines)
	if err != nil {
		return err
	}
	if percent, known := proxmox.DownloadProgress(log); known {
		i.progress = ptr.To(int32(percent)) //nolint:gosec // It is 100 at most.
		i.message = fmt.Sprintf("downloading, %d%%", percent)
	}
	return nil
}

// lookForVolume finds the nodes that have the file that the source names.
func (r reader) lookForVolume(ctx context.Context, volume string, v *view) error {
	storage, content, file := splitVolume(volume)
	all := placement{}
	all.add(storage, content, nil, v.storages, v.nodes)
	v.files.problems = all.problems
	var unseen []kind.Problem
	for _, p := range all.places {
		volumes, err := r.inventory.Volumes(ctx, p.Node, p.Storage, content, inventory.Current)
		if proxmox.IsAuthorization(err) {
			return errors.Wrapf(err, "cannot look for %s", volume)
		}
		if err != nil {
			unseen = append(unseen, kind.Problem{Reason: reasonUnavailable, Message: fmt.Sprintf("cannot look for %s on %s: %v", volume, p, err)})
			continue
		}
		if volumeNamed(volumes, file) != nil {
			v.files.places = append(v.files.places, p)
		}
	}
	v.files.problems = append(v.files.problems, unseen...)
	if len(v.files.places) == 0 && len(v.files.problems) == 0 {
		v.files.problems = append(v.files.problems, kind.Problem{Reason: reasonNotFound, Message: fmt.Sprintf("volume '%s' not found on any node", volume)})
	}
	return nil
}

// vmStateOf returns the state of a template's VM. Its configuration is read only while the list does not show that the VM is as it was created.
func (r reader) vmStateOf(ctx context.Context, v *view, t *template) (vmState, error) {
	s := vmState{}
	if t.VMID == 0 {
		return s, nil
	}
	if i := slices.IndexFunc(v.guests, func(g proxmox.Guest) bool { return g.VMID == t.VMID }); i >= 0 {
		s.guest = &v.guests[i]
		t.Node = s.guest.Node // The VM may have been moved.
	}
	if t.Done && t.Removal == "" && s.guest != nil && s.guest.Template || !v.online(t.Node) {
		s.unknown = true
		return s, nil
	}
	var err error
	if t.Task != "" {
		if s.task, err = r.task(ctx, t.Task); err != nil || s.task != nil && s.task.Running {
			return s, err
		}
	}
	s.config, s.busy, err = r.vm(ctx, t)
	return s, err
}

// vm returns the configuration of a template's VM, or nil if there is none, and whether a task works on it. The tasks are read first, so that the
// configuration shows their results.
func (r reader) vm(ctx context.Context, t *template) (qemu.Config, bool, error) {
	busy, err := target.Works(ctx, r.inventory, t.VMID, inventory.Recent)
	if err != nil {
		return nil, false, err
	}
	c, err := r.client.Config(ctx, proxmox.Ref{Node: t.Node, VMID: t.VMID})
	if proxmox.IsNotFound(err) {
		config, err := t.findMoved(ctx, r.inventory, r.client)
		return config, busy, err
	}
	return qemu.Config(c.Values), busy, err
}

// findMoved returns the configuration of the VM with the template's VMID on another node than it was listed on, or nil if there is none. If it is the
// template's VM, the template is there from then on.
func (t *template) findMoved(ctx context.Context, in Inventory, c Client) (qemu.Config, error) {
	guests, err := in.Guests(ctx, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	g, listed := proxmox.GuestOf(guests, t.VMID)
	if !listed || g.Node == t.Node {
		return nil, nil
	}
	read, err := c.Config(ctx, g.Ref())
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read VM %d, which is on node %s now", t.VMID, g.Node)
	}
	config := qemu.Config(read.Values)
	if t.identity().Prove(config) == ours {
		t.Node = g.Node
	}
	return config, nil
}

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
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
	"github.com/vitistack/provider-proxmox/internal/proxmox/consistency"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// A view holds what was found about a Backup, and the decision.
type view struct {
	decision

	record  *record
	cluster string

	// target is the VM as it is known, and guest its entry in the list of guests; nil for none.
	target target.VM
	guest  *proxmox.Guest

	// node is the node that is asked for the backup, and volume the backup, or nil.
	node   string
	volume *proxmox.Volume

	// able are the nodes that are online and may have the backup, while it is unknown which one has it. away are those that are offline.
	able, away []string

	difference []v1alpha1.OptionDifference
	problems   []kind.Problem
}

// Observe finds the backup, and decides what to do.
func (e *external) Observe(ctx context.Context, m Backup) (managed.ExternalObservation, error) {
	switch {
	case e.waits != nil:
		e.view.decision = because(wait, *e.waits)
		e.show(m)
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	case e.client == nil:
		e.retain(m)
		return managed.ExternalObservation{}, nil
	}
	o, err := e.observe(ctx, m)
	switch {
	case tenancy.IsRefusal(err):
		tenancy.ShowRefusal(m, err)
	case err != nil:
		target.ShowError(m, err)
	}
	return o, err
}

func (e *external) observe(ctx context.Context, m Backup) (managed.ExternalObservation, error) {
	v := e.view
	var err error
	if v.cluster, err = e.ClusterOf(ctx, e.inventory, m, e.volumeID(m)); err != nil {
		return managed.ExternalObservation{}, err
	}
	if meta.WasDeleted(m) {
		return e.observeDeleted(ctx, m)
	}
	if err := e.look(ctx, m); err != nil {
		return managed.ExternalObservation{}, err
	}
	if v.action == start && v.problem == nil {
		if v.problem, err = e.preflight(ctx, m); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	if v.action == start && v.problem == nil && kind.MayChange(m) {
		if err := e.findEarlier(ctx, m); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	if v.action == start && v.problem == nil && kind.MayChange(m) {
		if err := e.checkRoom(ctx); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	if err := e.findSecond(ctx, m); err != nil {
		return managed.ExternalObservation{}, err
	}
	e.compare(m)
	e.show(m)
	switch {
	case v.action == start && (v.problem == nil || !kind.MayChange(m)):
		return managed.ExternalObservation{}, nil
	case v.action == keep && len(v.difference) > 0:
		return managed.ExternalObservation{ResourceExists: true}, nil
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

// volumeID returns the volume that the resource stands for. It is empty before the backup is created.
func (e *external) volumeID(m Backup) string {
	if e.view.record.Volume != "" {
		return e.view.record.Volume
	}
	return meta.GetExternalName(m)
}

// mostTurns is how often the decision is repeated after the record was updated.
const mostTurns = 5

// look reads the backup, records its state, and decides what to do.
func (e *external) look(ctx context.Context, m Backup) error {
	v := e.view
	storage := m.Parameters().Storage
	if id := e.volumeID(m); id != "" {
		declared := storage
		if storage = storageOf(id); declared != "" && storage != declared {
			return errors.Errorf("backup %s is not on storage %q, which the spec names: a backup cannot be moved, so set storage to %s",
				id, declared, storage)
		}
	}
	if err := e.findNode(ctx, storage); err != nil {
		return err
	}
	if v.node == "" && (v.record.made() || e.volumeID(m) != "") {
		v.decision = because(wait, e.unseen(storage))
		return nil
	}
	for range mostTurns {
		s, err := e.stateOf(ctx, m)
		if err != nil {
			return err
		}
		if err := e.prove(ctx, m, s); err != nil {
			return err
		}
		v.volume = s.volume
		v.decision = v.record.decide(s, e.Now().Unix(), m.GetGeneration())
		if p := e.unasked(e.volumeID(m)); p != nil && s.volume == nil && (s.looks || s.named) {
			v.decision = because(wait, *p)
		}
		noted, err := e.note(ctx, m, s)
		if err != nil || !noted {
			return err
		}
	}
	return errors.New("cannot determine the state of the backup yet: it is checked again")
}

// unseen returns the problem that no node can be asked for the backup.
func (e *external) unseen(storage string) kind.Problem {
	where := ""
	if n := e.view.record.Node; n != "" {
		where = " with the backup, which was made on node " + n
	}
	return kind.Problem{Reason: reasonStorageUnavailable, Message: fmt.Sprintf("no node that is online has storage %s%s, or the token may not see it: "+
		"bring such a node back, or grant Datastore.Audit on /storage/%s", storage, where, storage)}
}

// stateOf returns the state of the backup. The tasks are read before the backup, so that it shows their results.
func (e *external) stateOf(ctx context.Context, m Backup) (state, error) {
	r := e.view.record
	s := state{looks: !kind.MayChange(m), named: meta.GetExternalName(m) != "" && !r.made()}
	var err error
	switch {
	case s.looks && !r.made() || s.named:
		if id := e.volumeID(m); id != "" {
			s.volume, err = e.readNamed(ctx, id)
		}
	case s.looks || r.Done:
		if id := e.volumeID(m); id != "" {
			s.volume, err = e.readVolume(ctx, id)
		}
	case r.Task != "":
		err = e.readTask(ctx, m, &s)
	case r.Begun != 0:
		err = e.readLost(ctx, m, &s)
	}
	if s.volume == nil && (r.Done || s.task != nil && s.task.OK()) && err == nil {
		err = e.permitToSee(ctx, m)
	}
	return s, err
}

// logHead is how many lines of a task's log are read to learn what the task creates.
const logHead = 200

// readTask reads the recorded task, and what it has created.
func (e *external) readTask(ctx context.Context, m Backup, s *state) error {
	t, offline, err := target.Task(ctx, e.inventory, e.client, e.view.record.Task)
	s.task, s.offline = t, offline
	if t == nil || t.Running || err != nil {
		return err
	}
	log, err := e.client.TaskHead(ctx, t.UPID, logHead)
	s.log = log
	if err == nil && (t.OK() || backuplog.Volume(log, m.Parameters().Storage) != "") {
		s.volume, err = e.findMade(ctx, m, log)
	}
	return err
}

// readLost looks for the task whose start was not confirmed, and for what it has created.
func (e *external) readLost(ctx context.Context, m Backup, s *state) error {
	r := e.view.record
	tasks, err := target.NodeTasks(ctx, e.inventory, e.client, r.Node, "vzdump")
	if s.offline = tasks.Offline; err != nil {
		return err
	}
	for i, t := range tasks.All {
		if t.ID != strconv.Itoa(r.VMID) || t.UPID.User() != e.client.Identity().ID || !r.mayBe(t) {
			continue
		}
		log, err := e.client.TaskHead(ctx, t.UPID, logHead)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(log, func(line string) bool { return marked(line, m) }) {
			s.found = &tasks.All[i]
			return nil
		}
		s.unclear = s.unclear || t.Running
	}
	s.volume, err = e.findMade(ctx, m, nil)
	return err
}

// note updates the record with the state of the backup, and reports whether the decision has to be
// repeated.
func (e *external) note(ctx context.Context, m Backup, s state) (bool, error) {
	r := e.view.record
	switch e.view.action {
	case adopt:
		return e.adopt(ctx, m)
	case settle:
		return e.settle(ctx, m, s)
	case claim:
		r.Task = s.found.UPID
	case fail:
		if err := e.noteFailure(ctx, m, *s.task); err != nil {
			return false, err
		}
	case forget:
		r.Task = ""
	case lose:
		r.Done, r.Gone, r.Task = true, true, ""
	case keep, wait, start, stuck:
		return false, nil
	}
	return true, e.save(ctx, m)
}

// shownLog is how many lines of the log of a failed task are kept.
const shownLog = 10

// noteFailure records why the task has failed.
func (e *external) noteFailure(ctx context.Context, m Backup, t proxmox.Task) error {
	log, err := e.client.TaskLog(ctx, t.UPID, logHead)
	if err != nil {
		return err
	}
	problem, message := backuplog.Failure(t.ExitStatus, log)
	end := backuplog.Lines(log[max(0, len(log)-shownLog):])
	e.view.record.fail(e.Now().Unix(), m.GetGeneration(), problem, message, end)
	e.inventory.InvalidateGuest(e.view.target.VMID)
	e.Event(m, event.Warning(eventFailed, errors.New(message)))
	return nil
}

// settle records that the backup exists.
func (e *external) settle(ctx context.Context, m Backup, s state) (bool, error) {
	r, volume := e.view.record, e.view.volume
	if !r.Done {
		r.Consistency = e.consistency(ctx, s)
	}
	r.Done, r.Gone, r.Task = true, false, ""
	r.succeed()
	r.Volume, r.Time = volume.ID, volume.Changed
	e.Event(m, event.Normal(eventMade, "backup "+r.Volume+" is made"))
	return true, e.save(ctx, m)
}

// consistency returns the consistency of a backup that was just created. Without a known log, it is unknown.
func (e *external) consistency(ctx context.Context, s state) v1alpha1.Consistency {
	version, err := e.inventory.Version(ctx)
	if err != nil {
		return v1alpha1.ConsistencyUnknown
	}
	return v1alpha1.Consistency(consistency.OfBackup(s.log, version))
}

// adopt records that the backup that the user has named belongs to this resource. It writes nothing to PVE.
func (e *external) adopt(ctx context.Context, m Backup) (bool, error) {
	v, r := e.view, e.view.record
	owner, err := e.Older(ctx, m, e.to, func(other resource.Managed) (string, bool) {
		o, err := recordOf(other)
		return o.UUID, err == nil && o.Done && o.Volume == v.volume.ID
	})
	if err != nil {
		return false, err
	}
	if owner != "" {
		v.decision = because(stuck, kind.OwnershipConflict("backup", v.volume.ID, owner))
		return false, nil
	}
	r.VMID, r.Node, r.Adopted, r.Done = v.volume.VMID, v.node, true, true
	r.Volume, r.Time, r.Notes = v.volume.ID, v.volume.Changed, v.volume.Notes
	r.Tenant = "" // The tenant of its VM was not checked.
	e.unchecked()
	v.target.VMID = r.VMID
	e.Event(m, event.Normal(target.EventAdopted, "backup "+r.Volume+" is this resource's from now on"))
	return true, e.save(ctx, m)
}

// save writes the record, with the annotations that belong to it. The volume becomes the external name once the backup exists. An external name that
// exists before was set by the user, who requests adoption with it.
func (e *external) save(ctx context.Context, m Backup) error {
	name := ""
	if e.view.record.Done {
		name = e.view.record.Volume
	}
	if err := e.Save(ctx, m, e.signed(m, e.view.record.String()), name, e.view.cluster); err != nil {
		return err
	}
	m.Observation().Annotations = annotations().Copy(m, m.Observation().Annotations)
	return nil
}

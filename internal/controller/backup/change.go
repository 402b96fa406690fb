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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
)

// Create starts to create the backup. The intent is recorded first. If the answer is lost, Observe determines the outcome.
func (e *external) Create(ctx context.Context, m Backup) (managed.ExternalCreation, error) {
	v, none := e.view, managed.ExternalCreation{}
	if v.guest == nil || v.target.UUID == "" || v.action != start || v.problem != nil {
		return none, errors.New("cannot make a backup that was not looked for")
	}
	r := v.record
	r.Again = r.Again || r.Begun != 0
	r.UUID, r.VMID, r.Node = v.target.UUID, v.target.VMID, v.guest.Node
	r.Begun, r.Task, r.Notes, r.Guarded = e.Now().Unix(), "", wantedNotes(m), m.Parameters().Protected == nil
	e.begins()
	if err := e.save(ctx, m); err != nil {
		return none, err
	}
	u, err := e.client.BackUp(ctx, v.guest.Ref(), options(m))
	e.inventory.InvalidateGuest(v.target.VMID)
	if proxmox.IsOutcomeUnknown(err) {
		r.Begun = e.Now().Unix()
		return none, errors.Join(err, kind.AfterCall(ctx, func(ctx context.Context) error { return e.save(ctx, m) }))
	}
	if err != nil {
		return none, errors.Join(err, e.refused(ctx, m, err))
	}
	r.Task = u
	e.Follow(e.inventory, m, u)
	return none, e.save(kind.AtCreationEnd(ctx), m)
}

// options returns the options of the backup. It is protected unless the spec says otherwise, so that no retention removes it. The retention of a job
// also removes backups that others have created.
func options(m Backup) proxmox.BackupOptions {
	p := m.Parameters()
	o := proxmox.BackupOptions{
		Storage: p.Storage, Mode: ptr.Deref(p.Mode, "snapshot"), Compress: ptr.Deref(p.Compression, "zstd"),
		Notes: fullNotes(m, wantedNotes(m)), Protected: ptr.Deref(p.Protected, true), Bandwidth: p.BandwidthLimit,
	}
	if o.Compress == "none" {
		o.Compress = "0"
	}
	return o
}

// refused records that a call was certainly not carried out. A call that only has to wait for its turn, and one for a VM that has moved, have not
// failed.
func (e *external) refused(ctx context.Context, m Backup, err error) error {
	r := e.view.record
	if _, waits := proxmox.Waiting(err); waits || errors.Is(err, proxmox.ErrNotOnNode) {
		r.Begun = 0
		return e.save(ctx, m)
	}
	problem, message := backuplog.Failure(err.Error(), nil)
	r.fail(e.Now().Unix(), m.GetGeneration(), problem, message, nil)
	return e.save(ctx, m)
}

// Update changes the notes, and whether the backup is protected.
func (e *external) Update(ctx context.Context, m Backup) (managed.ExternalUpdate, error) {
	none := managed.ExternalUpdate{}
	v := e.view
	if v.volume == nil || len(v.difference) == 0 {
		return none, errors.New("cannot change a backup that was not looked at")
	}
	if there, err := e.stillThere(ctx); err != nil || there == nil {
		return none, err
	}
	if err := e.permitToSee(ctx, m); err != nil {
		return none, err
	}
	var (
		notes     *string
		protected *bool
	)
	for _, d := range v.difference {
		switch d.Option {
		case optionNotes:
			notes = ptr.To(fullNotes(m, wantedNotes(m)))
		case optionProtected:
			protected = m.Parameters().Protected
		}
	}
	if err := e.client.ChangeVolume(ctx, v.node, v.record.Volume, notes, protected); err != nil {
		return none, err
	}
	e.Event(m, event.Normal(eventChanged, "backup "+v.record.Volume+" is changed"))
	if notes != nil {
		v.record.Notes = wantedNotes(m)
		if err := e.save(ctx, m); err != nil {
			return none, err
		}
	}
	_, err := e.inventory.Volumes(ctx, v.node, storageOf(v.record.Volume), "backup", inventory.Fresh)
	m.Observation().Difference = nil
	m.SetConditions(kind.UpToDate(nil, v.problems...).WithObservedGeneration(m.GetGeneration()))
	return none, err
}

// stillThere reads the current state of the backup, and returns it if it is the one that was created or adopted. If it is not, the next reconcile
// determines more.
func (e *external) stillThere(ctx context.Context) (*proxmox.Volume, error) {
	v := e.view
	all, err := e.inventory.Volumes(ctx, v.node, storageOf(v.record.Volume), "backup", inventory.Fresh)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if v.record.same(&all[i]) {
			return &all[i], nil
		}
	}
	return nil, nil
}

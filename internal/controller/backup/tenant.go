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
	"cmp"
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// confine limits a Backup to what belongs to its tenant. Users can write its annotations. Without a valid signature, no task of the record is read,
// and only a volume with a mark that it was created for this resource. A deleted Backup of another tenant leaves nothing to remove.
func (e *external) confine(ctx context.Context, m Backup, to *connect.Connection) (leaves bool, err error) {
	e.records, e.tenant = to.Records, to.Tenant
	if _, e.trusted = to.Records.Backup(m); to.Tenant == nil || e.trusted && e.view.record.Done {
		return false, nil // A backup outlives its VM.
	}
	r := e.view.record
	if !e.trusted {
		r.Task, r.Tried, r.Removal, r.Tenant = "", "", "", ""
	}
	if id := e.volumeID(m); !e.trusted && id != "" && (!r.made() || !to.Tenant.AllowsStorage(storageOf(id))) {
		return e.refuse(m, id)
	}
	leaves, err = target.CheckTenant(ctx, to, m, e.view.target)
	switch {
	case leaves:
		e.leave(m, to.Tenant.RefuseBackup(cmp.Or(e.volumeID(m), fmt.Sprintf("of VM %d", e.view.target.VMID))))
	case err == nil && r.Begun != 0 && !r.Done && r.Tenant == "":
		r.Tenant = to.Tenant.Name // The VM was just seen to belong to the tenant.
	}
	return leaves, err
}

// refuse refuses a volume that is not proven to belong to the Backup.
func (e *external) refuse(m Backup, volume string) (leaves bool, err error) {
	err = e.tenant.RefuseBackup(volume)
	if meta.WasDeleted(m) {
		e.leave(m, err)
		return true, nil
	}
	tenancy.ShowRefusal(m, err)
	return false, err
}

// leave reports that nothing is removed with a Backup, because the volume that it names is not proven to belong to it.
func (e *external) leave(m Backup, why error) {
	e.view.record.Done = false // A retained backup would belong to it.
	e.Event(m, event.Warning(target.EventLeftBehind, errors.Wrap(why, "nothing is removed from Proxmox VE")))
}

// prove checks that the volume that was found belongs to the Backup, if the record is not trusted. The notes of the volume must name the Backup.
// Whether other volumes exist is not revealed. The result is recorded, and thereby signed.
func (e *external) prove(ctx context.Context, m Backup, s state) error {
	id := e.volumeID(m)
	if e.tenant == nil || id == "" || e.trusted && id == e.view.record.Volume {
		return nil
	}
	if s.volume != nil {
		notes, err := e.client.VolumeNotes(ctx, e.view.node, s.volume.ID)
		if err != nil {
			return err
		}
		if marked(notes, m) {
			e.trusted = true
			if r := e.view.record; s.volume.VMID == r.VMID {
				r.Tenant = e.tenant.Name // That VM belongs to the tenant, or the Backup would have been refused.
			}
			return e.save(ctx, m)
		}
	}
	return e.tenant.RefuseBackup(id)
}

// findEarlier finds the backup of a Backup without a record of one, before one is created for a tenant. Otherwise, users could remove the record to
// get any number of backups, of which one counts. The VM is proven, and nothing works on it.
func (e *external) findEarlier(ctx context.Context, m Backup) error {
	v, r := e.view, e.view.record
	if e.tenant == nil {
		return nil
	}
	var err error
	if err = e.findNode(ctx, m.Parameters().Storage); v.node == "" || err != nil {
		return err
	}
	if v.volume, err = e.findMade(ctx, m, nil); v.volume == nil || err != nil {
		return err
	}
	r.UUID, r.VMID, r.Node, r.Begun, r.Guarded = v.target.UUID, v.target.VMID, v.node, v.volume.Changed, m.Parameters().Protected == nil
	e.begins()
	if _, err := e.settle(ctx, m, state{}); err != nil {
		return err
	}
	v.decision = decision{action: keep}
	return nil
}

// signed returns a record with its signature. A record is not signed where nothing is checked, for example while refusals are only shown, because a
// forged record would then be signed too.
func (e *external) signed(m Backup, record string) map[string]string {
	a := map[string]string{AnnotationRecord: record}
	if signature := e.records.SignBackup(m, record); signature != "" && (e.tenant != nil || e.trusted) {
		a[tenancy.AnnotationBackupSignature] = signature
	}
	return a
}

// unchecked ends the trust in a record, even a signed one, if the backup that it refers to from now on is not checked.
func (e *external) unchecked() {
	e.trusted = e.trusted && e.tenant != nil
}

// begins records which tenant owns the VM when its backup begins: the tenant that was just checked, or none if no tenant is checked.
func (e *external) begins() {
	e.unchecked()
	e.view.record.Tenant = ""
	if e.tenant != nil {
		e.view.record.Tenant = e.tenant.Name
	}
}

// checkRoom checks whether the quota prevents the backup now.
func (e *external) checkRoom(ctx context.Context) error {
	p, err := target.NoRoom(ctx, e.room)
	if p != nil {
		e.view.decision = because(wait, *p)
	}
	return err
}

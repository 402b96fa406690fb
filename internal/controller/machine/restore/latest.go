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

package restore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
)

// A subject is the VM whose newest backup is intended.
type subject struct {
	vmid string

	// uuid that the VM must have in the backup, or empty if it is not known.
	uuid string

	// storage that has the backups.
	storage string
}

// subject returns the subject of a spec. It queries only the Kubernetes API.
func (b Backups) subject(ctx context.Context, m object.Machine, l *v1alpha1.MachineRestoreLatest) (subject, error) {
	storage, err := b.storage(ctx, m, &l.Storage, l.StorageRef)
	if err != nil {
		return subject{}, err
	}
	if l.VMID != nil {
		return subject{vmid: strconv.Itoa(int(*l.VMID)), storage: *storage}, nil
	}
	empty, err := b.Kube.Scheme().New(b.GroupVersion.WithKind("Machine"))
	if err != nil {
		return subject{}, errors.Wrap(err, "cannot read a Machine")
	}
	of, ok := empty.(object.Machine)
	if !ok {
		return subject{}, errors.Errorf("%T is no Machine", empty)
	}
	name := l.MachineRef.Name
	err = b.Kube.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: name}, of)
	switch {
	case kerrors.IsNotFound(err):
		return subject{}, conditions.WaitForBackup("Machine '%s' of restore.latestOf not found", name)
	case err != nil:
		return subject{}, errors.Wrapf(err, "cannot read Machine %q", name)
	}
	vmid, uuid := meta.GetExternalName(of), of.GetAnnotations()[object.AnnotationUUID]
	if vmid == "" || uuid == "" {
		return subject{}, conditions.WaitForBackup("Machine '%s' of restore.latestOf has no VM yet", name)
	}
	return subject{vmid: vmid, uuid: uuid, storage: *storage}, nil
}

// latest returns the newest backup of a VM that is not known to be damaged, and the UUID that the VM must have in it.
func (f Finder) latest(ctx context.Context, m object.Machine, l *v1alpha1.MachineRestoreLatest) (volume, uuid string, err error) {
	of, err := f.subject(ctx, m, l)
	if err != nil {
		return "", "", err
	}
	if err := f.checkPrivileges(ctx, "restore a backup of VM "+of.vmid, of.storage, of.vmid); err != nil {
		return "", "", err
	}
	var all []proxmox.Volume
	for _, age := range []time.Duration{inventory.Relaxed, inventory.Fresh} { // As long as there is none, the shared list suffices.
		if all, err = f.backupsOf(ctx, of.vmid, of.storage, age); err != nil {
			return "", "", err
		}
		if len(all) == 0 {
			return "", "", conditions.WaitForBackup("storage '%s' has no backup of VM %s yet", of.storage, of.vmid)
		}
	}
	newest := slices.MaxFunc(all, func(a, b proxmox.Volume) int { return cmp.Compare(a.Changed, b.Changed) })
	return newest.ID, of.uuid, nil
}

// backupsOf returns the backups of a VM on a storage, on all nodes that are online.
func (f Finder) backupsOf(ctx context.Context, vmid, storage string, maxAge time.Duration) ([]proxmox.Volume, error) {
	rows, err := f.reachable(ctx, storage)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		no := conditions.Reject(conditions.Creating, "storage '%s' not found on a node that is up", storage)
		return nil, f.Checks.HintMissingPrivilege(ctx, no, preflight.StorageReadPrivilege(storage))
	}
	var found []proxmox.Volume
	for _, s := range rows {
		all, err := f.Inventory.Volumes(ctx, s.Node, storage, "backup", maxAge)
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			if ownerOf(v.ID) == vmid && !backuplog.Damaged(v) {
				found = append(found, v)
			}
		}
		if s.Shared {
			break
		}
	}
	return found, nil
}

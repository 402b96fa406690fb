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

// Package restore creates VMs from backups. backups.go determines the intended backup, and why a Machine waits for it. latest.go finds the newest
// backup of a VM. archive.go finds the backup in the cluster and reads its configuration. record.go keeps the call that restores a VM, which is the
// only proof that an unfinished VM is ours.
package restore

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// A Backup of either scope.
type Backup interface {
	resource.Managed

	Parameters() *v1alpha1.BackupParameters
	Observation() *v1alpha1.BackupObservation
}

// Backups reads the Backups that Machines of one scope name. It queries only the Kubernetes API.
type Backups struct {
	Kube         client.Client
	GroupVersion schema.GroupVersion
}

// Wait returns why a Machine must wait for a Backup before anything is decided about its VM, or nil. The VM has no VMID until then.
func (b Backups) Wait(ctx context.Context, m object.Machine) error {
	if m.Parameters().Restore == nil || meta.GetExternalName(m) != "" || meta.WasDeleted(m) || !object.MayCreate(m) {
		return nil
	}
	from := SourceOf(m)
	if _, err := b.storage(ctx, m, from.Storage, from.StorageRef); err != nil {
		return err
	}
	if from.Latest != nil {
		_, err := b.subject(ctx, m, from.Latest)
		return err
	}
	_, _, err := b.Volume(ctx, m, from)
	return err
}

// A Source is a backup as a spec names it.
type Source struct {
	// Field of the spec that names it.
	Field string

	// BackupRef names a Backup, Volume the backup itself, and Latest the VM whose newest backup is intended.
	BackupRef *v1alpha1.Reference
	Volume    *string
	Latest    *v1alpha1.MachineRestoreLatest

	// Storage that the disks are put on, or StorageRef for its Storage. Both are nil if each disk goes to its original storage.
	Storage    *string
	StorageRef *v1alpha1.Reference
}

// SourceOf returns the backup that a Machine is created from.
func SourceOf(m object.Machine) Source {
	r := m.Parameters().Restore
	return Source{Field: "restore", BackupRef: r.BackupRef, Volume: r.Volume, Latest: r.LatestOf, Storage: r.Storage, StorageRef: r.StorageRef}
}

// Volume returns the intended backup, with its Backup if the spec of the Machine names one.
func (b Backups) Volume(ctx context.Context, m object.Machine, from Source) (string, Backup, error) {
	if from.BackupRef == nil {
		return *from.Volume, nil, nil
	}
	name := from.BackupRef.Name
	found, err := b.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: name})
	if err != nil {
		return "", nil, err
	}
	if found == nil {
		return "", nil, conditions.WaitForBackup("Backup '%s' not found", name)
	}
	switch o := found.Observation(); {
	case meta.WasDeleted(found):
		return "", nil, conditions.WaitForBackup("Backup '%s' is being deleted", name)
	case o.State == v1alpha1.BackupGone:
		return "", nil, conditions.WaitForBackup("the backup of Backup '%s' was removed in Proxmox VE", name)
	case o.State != v1alpha1.BackupComplete || o.Volume == "":
		return "", nil, conditions.WaitForBackup("Backup '%s' is not complete yet", name)
	default:
		return o.Volume, found, nil
	}
}

// storage returns the name in PVE of a storage that is named directly, or by a Storage of the Machine's scope and namespace.
func (b Backups) storage(ctx context.Context, m object.Machine, name *string, ref *v1alpha1.Reference) (*string, error) {
	if ref == nil {
		return name, nil
	}
	empty, err := b.Kube.Scheme().New(b.GroupVersion.WithKind("Storage"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot read a Storage")
	}
	of, ok := empty.(client.Object)
	if !ok {
		return nil, errors.Errorf("%T is no Storage", empty)
	}
	err = b.Kube.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: ref.Name}, of)
	external := meta.GetExternalName(of)
	switch {
	case kerrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return nil, conditions.WaitForStorage("Storage '%s' not found", ref.Name)
	case err != nil:
		return nil, errors.Wrapf(err, "cannot read Storage %q", ref.Name)
	case external == "":
		return nil, conditions.WaitForStorage("Storage '%s' is not there in Proxmox VE yet", ref.Name)
	}
	return &external, nil
}

// New returns an empty Backup of the scope.
func (b Backups) New() (Backup, error) {
	empty, err := b.Kube.Scheme().New(b.GroupVersion.WithKind("Backup"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a Backup")
	}
	made, ok := empty.(Backup)
	if !ok {
		return nil, errors.Errorf("%T is no Backup", empty)
	}
	return made, nil
}

// Get reads a Backup, or returns nil if there is none.
func (b Backups) Get(ctx context.Context, key client.ObjectKey) (Backup, error) {
	found, err := b.New()
	if err != nil {
		return nil, err
	}
	err = b.Kube.Get(ctx, key, found)
	if kerrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return nil, nil
	}
	return found, errors.Wrapf(err, "cannot read Backup %q", key.Name)
}

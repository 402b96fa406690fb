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
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// A Notifier informs controllers of Machines of changed Backups.
type Notifier = kind.Notifier[Backup]

// NewNotifier returns a Notifier without subscribers.
func NewNotifier() *Notifier { return kind.NewNotifier(changed) }

// changed reports whether a change of a Backup may end the wait of a Machine.
func changed(before, after Backup) bool {
	was, is := before.Observation(), after.Observation()
	return was.State != is.State || was.Volume != is.Volume || meta.WasDeleted(before) != meta.WasDeleted(after)
}

// WaitingFor returns the Machines of a kind that wait for a Backup: to be created from it, or to be restored in place once it exists.
func WaitingFor(ctx context.Context, kube client.Reader, list resource.ManagedList, backup client.ObjectKey) ([]object.Machine, error) {
	all, err := kind.ListCached(ctx, kube, list, client.InNamespace(backup.Namespace))
	if err != nil {
		return nil, err
	}
	var waiting []object.Machine
	for _, mg := range all {
		if m, ok := mg.(object.Machine); ok && !meta.WasDeleted(m) && waitsFor(m, backup.Name) {
			copied, _ := m.DeepCopyObject().(object.Machine)
			waiting = append(waiting, copied)
		}
	}
	return waiting, nil
}

func waitsFor(m object.Machine, name string) bool {
	if o := m.Observation().RestoreInPlace; o != nil && !o.State.Final() && o.SafetyBackup == name {
		return true
	}
	return m.Observation().UUID == "" && refersTo(m) == name
}

// refersTo returns the name of the Backup that a Machine is created from, or an empty string if there is none.
func refersTo(m object.Machine) string {
	if r := m.Parameters().Restore; r != nil && r.BackupRef != nil {
		return r.BackupRef.Name
	}
	return ""
}

// WaitsForBackup reports whether a Machine waits for a Backup that wakes it, so that it need not be polled. A Machine that waits for the Storage of
// its disks is not woken, and has another reason.
func WaitsForBackup(m object.Machine) bool {
	return refersTo(m) != "" && m.GetCondition(conditions.TypeVMCreated).Reason == conditions.ReasonWaitingForBackup
}

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

// Package restoreinplace restores a VM from a backup of it, at most once for each token. kind.go reads the request of a Machine, preflight.go checks
// whether the restore can be done, safety.go creates the backup to return to, and act.go does the restore.
package restoreinplace

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A Client makes the calls to PVE that a restore in place needs.
type Client interface {
	act.Client

	SnapshotTree(ctx context.Context, ref proxmox.Ref) (proxmox.SnapshotTree, error)
	Create(ctx context.Context, ref proxmox.Ref, p proxmox.Params) (proxmox.UPID, error)
}

// An Inventory reads the state of a cluster.
type Inventory interface {
	restore.Inventory

	Replications(ctx context.Context, maxAge time.Duration) ([]proxmox.Replication, error)
}

// A Kind does the restores in place of a Machine.
type Kind struct {
	act.Env

	Client    Client
	Inventory Inventory
	Finder    restore.Finder
	Holds     kind.Holds
	Volumes   volumes.Reader

	// Room returns why a quota has no room for a configuration that the VM is to go back to, or an empty string if it has.
	Room func(context.Context, qemu.Config) (string, error)

	// Labels returns the labels that a resource must have to be managed by the same provider.
	Labels func(client.Object) map[string]string

	// Lost is true if an earlier restore has left the VM without its configuration.
	Lost bool
}

// Texts returns the texts of restores in place.
func (Kind) Texts() act.Texts {
	return act.Texts{
		Field: "restoreInPlace", Annotation: object.AnnotationRestoreInPlace, Noun: "restore in place",
		Refused: "RestoreRefused", Failed: "RestoreFailed",
	}
}

// Asked returns the restore that a spec asks for.
func (Kind) Asked(m object.Machine) *act.Asked {
	s := m.Parameters().RestoreInPlace
	if s == nil {
		return nil
	}
	return &act.Asked{Token: s.Token, Target: target(s), AllowRunning: ptr.Deref(s.AllowRunning, false)}
}

// target returns what the spec names: a Backup, or a backup.
func target(s *v1alpha1.MachineRestoreInPlace) string {
	if s.BackupRef != nil {
		return s.BackupRef.Name
	}
	return ptr.Deref(s.Volume, "")
}

// Shown returns the record of a restore as far as the status shows it.
func (Kind) Shown(m object.Machine) *act.Record {
	o := m.Observation().RestoreInPlace
	if o == nil {
		return nil
	}
	return &act.Record{Token: o.Token, Target: o.Volume, State: o.State, Message: o.Message}
}

// Show shows the record in the status.
func (Kind) Show(m object.Machine, r *act.Record) {
	if r.Token == "" {
		return
	}
	o := &v1alpha1.MachineRestoreInPlaceObservation{
		Token: r.Token, Volume: r.Target, State: r.State, Message: r.Explanation(), Time: ptr.To(metav1.NewTime(time.Unix(r.At, 0))),
	}
	if r.Taken || r.State == v1alpha1.ActMakingSafetyBackup { // The Machine is woken by the Backup that it shows.
		o.SafetyBackup = r.Safety
	}
	m.Observation().RestoreInPlace = o
}

// Settle determines the result of a recorded call.
func (k Kind) Settle(ctx context.Context, m object.Machine, r *act.Record) error {
	return k.on(m, r).settle(ctx)
}

// Next makes the next call.
func (k Kind) Next(ctx context.Context, m object.Machine, r *act.Record) (proxmox.UPID, error) {
	return k.on(m, r).next(ctx)
}

func (k Kind) on(m object.Machine, r *act.Record) *restoring {
	return &restoring{Act: k.On(m, k.Client, r), kind: k, machine: m, spec: ptr.Deref(m.Parameters().RestoreInPlace, v1alpha1.MachineRestoreInPlace{})}
}

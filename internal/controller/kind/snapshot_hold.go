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

package kind

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// AnnotationSnapshot records what was done for a Snapshot, as JSON: the VM, and whether the snapshot was taken. It is written before each call to
// Proxmox VE that it concerns.
const AnnotationSnapshot = "proxmox.vitistack.io/snapshot-record"

// AnnotationRestore records the call of a Machine that restores its VM from a backup, as JSON.
const AnnotationRestore = "proxmox.vitistack.io/restore"

// SnapshotAnnotations returns the annotations of a Snapshot that its status copies.
func SnapshotAnnotations() Persisted {
	return Persisted{Record: AnnotationSnapshot, Others: []string{AnnotationCluster}}
}

// A SnapshotState is the part of the record of a Snapshot that concerns its VM.
type SnapshotState struct {
	// UUID of the VM.
	UUID string `json:"uuid,omitempty"`

	// Begun is when the intent to take the snapshot was recorded, in seconds.
	Begun int64 `json:"begun,omitempty"`

	// Done is true once the snapshot existed, and Gone once it was seen to no longer exist.
	Done bool `json:"done,omitempty"`
	Gone bool `json:"gone,omitempty"`
}

// holds reports whether a snapshot of the VM exists, or may exist.
func (s SnapshotState) holds(uuid string) bool {
	return uuid != "" && strings.EqualFold(s.UUID, uuid) && !s.Gone && (s.Done || s.Begun != 0)
}

// A snapshot is a Snapshot of either scope.
type snapshot interface {
	resource.Managed

	Parameters() *v1alpha1.SnapshotParameters
	Observation() *v1alpha1.SnapshotObservation
}

// Holds finds the Snapshots that block the removal of a VM, without a call to Proxmox VE. The zero value finds none.
type Holds struct {
	// Reader of the Snapshots, preferably a cache.
	Reader client.Reader

	// Direct reads from the API server, not from the cache.
	Direct client.Reader

	// Lists of Snapshots in each scope, all empty. A kind that is not installed has no
	// resources.
	Lists []resource.ManagedList
}

// Uncached returns Holds that read from the API server. The cache may not have a Snapshot yet that was begun, or set to Retain, a moment before its
// VM is destroyed.
func (h Holds) Uncached() Holds {
	h.Reader = h.Direct
	return h
}

// Of returns the names of the Snapshots that keep a snapshot of the VM with the UUID:
// those with the removal policy Retain, which are not being deleted.
func (h Holds) Of(ctx context.Context, uuid string) ([]string, error) {
	all, err := ListAll(ctx, h.Reader, h.Lists)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, mg := range all {
		if s, ok := mg.(snapshot); ok && retained(s, uuid) {
			names = append(names, strings.TrimPrefix(client.ObjectKeyFromObject(s).String(), "/"))
		}
	}
	slices.Sort(names)
	return names, nil
}

// CheckRemovable returns an error while a Snapshot retains a snapshot of the VM with the UUID. The snapshot would be deleted with the VM.
func (h Holds) CheckRemovable(ctx context.Context, uuid string, vmid int) error {
	names, err := h.Of(ctx, uuid)
	if err != nil || len(names) == 0 {
		return err
	}
	return Held(errors.Errorf("VM %d is kept for the snapshots that are to be retained, which would be removed with it: "+
		"delete the Snapshot or set its removalPolicy to Delete: %s", vmid, strings.Join(names, ", ")))
}

// retained reports whether a Snapshot keeps a snapshot of the VM.
func retained(s snapshot, uuid string) bool {
	if ptr.Deref(s.Parameters().RemovalPolicy, "") != v1alpha1.SnapshotRetain || meta.WasDeleted(s) {
		return false
	}
	state := SnapshotState{}
	text := SnapshotAnnotations().Text(s, s.Observation().Annotations)
	err := json.Unmarshal([]byte(text), &state)
	return err == nil && state.holds(uuid)
}

// A heldError is an error that ends when a user gives up a resource.
type heldError struct{ error }

func (e heldError) Unwrap() error { return e.error }

// Held returns an error after which the resource is reconciled at regular intervals, because the cause is not a failure and no event reports its end.
func Held(err error) error { return heldError{err} }

// isHeld reports whether an error was returned by Held.
func isHeld(err error) bool { return errors.As(err, &heldError{}) }

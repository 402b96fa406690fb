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

// Package snapshotpolicy takes snapshots of Machines on schedules, and removes those that are
// not kept.
//
// It has a reconciler of its own in place of the managed one with an external client: a policy
// stands for nothing in Proxmox VE. What it makes and removes are Snapshots, resources of
// Kubernetes with a controller of their own, and its record is its status, which has to be
// written before it acts, not after. To learn how, read:
//
//   - reconcile.go: the cycle; look.go: what there is, issued.go: what the cache does not know
//     of yet, and finish.go: how a policy ends.
//   - decide.go: runs and what they take, and prune.go: what is removed, without asking anybody.
//   - make.go: the names of Snapshots, and what they are like.
//   - show.go: conditions and events.
package snapshotpolicy

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
)

// A Policy of either scope.
type Policy interface {
	resource.Managed

	Parameters() *v1alpha1.SnapshotPolicyParameters
	Observation() *v1alpha1.SnapshotPolicyObservation
}

// A Snapshot of either scope.
type Snapshot interface {
	resource.Managed

	Parameters() *v1alpha1.SnapshotParameters
	Observation() *v1alpha1.SnapshotObservation
}

// A Machine of either scope, as far as a policy looks at it.
type Machine interface {
	resource.Managed

	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
}

// Kinds are what a controller of policies has to know.
type Kinds struct {
	// Identity of the policies of one scope.
	kind.Identity

	// Snapshot and Machine of the same scope.
	Snapshot, Machine kind.Identity
}

// Setup adds a controller of the policies of one scope to the manager.
func Setup(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	return kind.SetupStandalone(mgr, o, kind.Standalone{
		Identity: k.Identity, Owned: k.Snapshot.Object,
		Reconciler: func(p kind.Parts) reconcile.Reconciler {
			return &reconciler{
				Parts: p, kinds: k, now: o.Clock(), labels: o.Shard.Labels,
				finalizer: resource.NewAPIFinalizer(p.Client, finalizer), issued: &issued{},
				sameTenant: o.SameTenant(),
			}
		},
	})
}

// finalizer of policies: the one that every managed resource has.
const finalizer = "finalizer.managedresource.crossplane.io"

const (
	// defaultConcurrent is how many snapshots are taken or removed at a time.
	defaultConcurrent = 4

	// beginTimeout is how long a Snapshot may wait for the start of its task, before another
	// Machine gets its place.
	beginTimeout = 2 * time.Minute

	// firstRetry is how long a Machine waits for another attempt after the first one, and
	// longestRetry how long at most.
	firstRetry, longestRetry = beginTimeout, time.Hour

	// tolerance is by how much a clock may be behind the last run: clocks are adjusted.
	tolerance = time.Minute
)

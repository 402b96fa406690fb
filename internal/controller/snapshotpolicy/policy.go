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

// Package snapshotpolicy takes snapshots of Machines on schedules, and removes those that are not kept.
//
// It has its own reconciler instead of the managed one with an external client, because a policy stands for nothing in Proxmox VE. A policy creates
// and removes Snapshots, which are Kubernetes resources with a separate controller. Its record is its status, which must be written before it acts,
// not after. The files are:
//
//   - reconcile.go: the cycle; look.go: the current state; issued.go: changes that the cache
//     does not show yet; and finish.go: the end of a policy.
//   - decide.go: runs and their snapshots, and prune.go: what is removed, without any request.
//   - make.go: the names and the contents of Snapshots.
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

// A Machine of either scope, reduced to what a policy needs.
type Machine interface {
	resource.Managed

	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
}

// Kinds are the kinds that a controller of policies needs.
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
	// defaultConcurrent is how many snapshots are taken or removed at the same time.
	defaultConcurrent = 4

	// beginTimeout is how long a Snapshot may wait for the start of its task, before another Machine takes its place.
	beginTimeout = 2 * time.Minute

	// firstRetry is the delay before the second attempt for a Machine, and longestRetry the maximum delay.
	firstRetry, longestRetry = beginTimeout, time.Hour

	// tolerance is how far a clock may be behind the last run, because clocks are adjusted.
	tolerance = time.Minute
)

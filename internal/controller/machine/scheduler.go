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

package machine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/placement"
)

// A Node is a ProxmoxNode of either scope.
type Node interface {
	resource.Managed

	Parameters() *v1alpha1.ProxmoxNodeParameters
}

// A Scheduler is what all controllers of Machines know together: the Machines and
// ProxmoxNodes of both scopes, and the nodes that were chosen lately. It is safe
// for concurrent use.
type Scheduler struct {
	now func() time.Time

	mu           sync.Mutex
	sources      []schedulerSource
	claims       []schedulerSource // Of Machines only, with their claims indexed.
	reservations map[types.UID]reservation
}

// A schedulerSource lists one kind.
type schedulerSource struct {
	reader client.Reader
	list   resource.ManagedList
}

// A reservation is a place that was chosen for a Machine. It counts until PVE shows
// the VM, and is a memory only: what is forgotten in a restart is told by the
// annotations of the Machines.
type reservation struct {
	placement.Occupant

	until time.Time
}

// reservedFor is how long a booking may count: longer than the annotation takes
// that tells the same, and than any VM takes to be created.
const reservedFor = time.Hour

// NewScheduler makes a Fleet that knows of nothing.
func NewScheduler() *Scheduler {
	return &Scheduler{now: time.Now, reservations: map[types.UID]reservation{}}
}

// Add a kind of Machines, ProxmoxNodes or ProxmoxClusters, which are listed with the reader, which
// should be a cache.
func (f *Scheduler) Add(reader client.Reader, list resource.ManagedList) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources = append(f.sources, schedulerSource{reader: reader, list: list})
}

// A clusterMembers sorts what is for the same PVE cluster.
type clusterMembers struct {
	machines []Machine
	nodes    []Node

	// clusters are the ProxmoxClusters whose nodes are meant, wherever those have
	// their own provider configurations.
	clusters map[types.NamespacedName]bool
}

// members of the fleet that share the cluster. They are the cache's own: they
// must not be changed.
func (f *Scheduler) members(ctx context.Context, shares func(resource.Managed) bool) (*clusterMembers, error) {
	f.mu.Lock()
	sources := f.sources
	f.mu.Unlock()
	ms := &clusterMembers{clusters: map[types.NamespacedName]bool{}}
	for _, s := range sources {
		list, ok := s.list.DeepCopyObject().(resource.ManagedList)
		if !ok {
			continue
		}
		if err := s.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, errors.Wrapf(err, "cannot list a %T", list)
		}
		for _, mg := range list.GetItems() {
			ms.add(mg, shares)
		}
	}
	ms.nodes = slices.DeleteFunc(ms.nodes, func(n Node) bool { return !ms.has(n, shares) })
	return ms, nil
}

func (ms *clusterMembers) add(mg resource.Managed, shares func(resource.Managed) bool) {
	switch mg := mg.(type) {
	case Machine:
		if shares(mg) {
			ms.machines = append(ms.machines, mg)
		}
	case Node:
		ms.nodes = append(ms.nodes, mg)
	case interface {
		Parameters() *v1alpha1.ProxmoxClusterParameters
	}:
		if o, ok := mg.(resource.Managed); ok && shares(o) {
			ms.clusters[client.ObjectKeyFromObject(o)] = true
		}
	}
}

// has the node: by its ProxmoxCluster, or by its own provider configuration.
func (ms *clusterMembers) has(n Node, shares func(resource.Managed) bool) bool {
	if c := n.Parameters().Cluster; c != nil {
		return ms.clusters[types.NamespacedName{Namespace: n.GetNamespace(), Name: *c}]
	}
	return shares(n)
}

// A decideFunc lets a function choose a place for a Machine, knowing all bookings. The
// function says whether its choice is final.
type decideFunc func(m Machine, need placement.Occupant, choose chooseFunc) (placement.Decision, bool, error)

type chooseFunc func(bookings map[types.UID]reservation) (placement.Decision, bool, error)

// decide on a place, one Machine at a time, so that each sees what the others
// were given. A final choice is booked.
func (f *Scheduler) decide(m Machine, need placement.Occupant, choose chooseFunc) (placement.Decision, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.reservations, func(_ types.UID, b reservation) bool { return f.now().After(b.until) })
	d, final, err := choose(f.reservations)
	if err == nil && final {
		need.Node = d.Node
		f.reservations[m.GetUID()] = reservation{Occupant: need, until: f.now().Add(reservedFor)}
	}
	return d, final, err
}

// evaluate whether there is a place, without booking it.
func (f *Scheduler) evaluate(_ Machine, _ placement.Occupant, choose chooseFunc) (placement.Decision, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return choose(f.reservations)
}

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

// Package scheduler reads the Machines, the ProxmoxNodes and the ProxmoxClusters of both scopes: which of them share a cluster of Proxmox VE, which
// Machines claim a VM, on which nodes a VM may be placed, and what uses these nodes. Package placement chooses among them.
package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/placement"
)

// A Node is a ProxmoxNode of either scope.
type Node interface {
	resource.Managed

	Parameters() *v1alpha1.ProxmoxNodeParameters
}

// A Scheduler is shared by all controllers of Machines. It has the Machines and ProxmoxNodes of both scopes, and the nodes that were recently chosen.
// It is safe for concurrent use.
type Scheduler struct {
	mu      sync.Mutex
	sources []schedulerSource

	now          func() time.Time
	deciding     sync.Mutex
	reservations *placement.Reservations
	populations  map[populationKey]*population
}

// A schedulerSource lists one kind. Machines have their claims indexed.
type schedulerSource struct {
	reader   client.Reader
	list     resource.ManagedList
	machines bool
}

// New returns a Scheduler without Machines.
func New() *Scheduler {
	return newScheduler(time.Now)
}

func newScheduler(now func() time.Time) *Scheduler {
	return &Scheduler{now: now, reservations: placement.NewReservations(now), populations: map[populationKey]*population{}}
}

// Add adds a kind of ProxmoxNodes or ProxmoxClusters. The reader, which should be a cache, lists them.
func (f *Scheduler) Add(reader client.Reader, list resource.ManagedList) {
	f.add(schedulerSource{reader: reader, list: list})
}

// AddMachines adds a kind of Machines, whose claims are indexed.
func (f *Scheduler) AddMachines(reader client.Reader, list resource.ManagedList) {
	f.add(schedulerSource{reader: reader, list: list, machines: true})
}

func (f *Scheduler) add(s schedulerSource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources = append(f.sources, s)
}

// Members are the objects of one PVE cluster.
type Members struct {
	Machines []object.Machine
	Nodes    []Node

	// clusters are the ProxmoxClusters whose nodes count, even if these nodes have separate provider configurations.
	clusters map[types.NamespacedName]bool
}

// Members returns the objects that share the cluster. They belong to the cache and must not be changed.
func (f *Scheduler) Members(ctx context.Context, shares func(resource.Managed) bool) (*Members, error) {
	return f.members(ctx, shares, func(schedulerSource) bool { return true })
}

// members returns the objects of some kinds.
func (f *Scheduler) members(ctx context.Context, shares func(resource.Managed) bool, of func(schedulerSource) bool) (*Members, error) {
	ms := &Members{clusters: map[types.NamespacedName]bool{}}
	for _, s := range f.sourcesOf(of) {
		listed, err := kind.ListCached(ctx, s.reader, s.list)
		if err != nil {
			return ms, err
		}
		for _, mg := range listed {
			ms.add(mg, shares)
		}
	}
	ms.Nodes = slices.DeleteFunc(ms.Nodes, func(n Node) bool { return !ms.has(n, shares) })
	return ms, nil
}

func (ms *Members) add(mg resource.Managed, shares func(resource.Managed) bool) {
	switch mg := mg.(type) {
	case object.Machine:
		if shares(mg) {
			ms.Machines = append(ms.Machines, mg)
		}
	case Node:
		ms.Nodes = append(ms.Nodes, mg)
	case interface {
		Parameters() *v1alpha1.ProxmoxClusterParameters
	}:
		if o, ok := mg.(resource.Managed); ok && shares(o) {
			ms.clusters[client.ObjectKeyFromObject(o)] = true
		}
	}
}

// has reports whether the node is in the cluster, because of its ProxmoxCluster or of its own provider configuration.
func (ms *Members) has(n Node, shares func(resource.Managed) bool) bool {
	if c := n.Parameters().Cluster; c != nil {
		return ms.clusters[types.NamespacedName{Namespace: n.GetNamespace(), Name: *c}]
	}
	return shares(n)
}

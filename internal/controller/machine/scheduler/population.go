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

package scheduler

import (
	"context"
	"maps"
	"slices"
	"time"
	"weak"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// populationAge is the maximum age of a population: changes of Machines, and decisions of other providers, count after that.
const populationAge = time.Second

// A View is the input for the choice of a VM's node.
type View struct {
	// Guests are the guests that PVE lists, and Storage is where new disks go unless the spec says otherwise.
	Guests  []proxmox.Guest
	Storage string

	// Shares reports whether a resource belongs to the same cluster. Once the view was used to decide, only the Scheduler may call it.
	Shares func(resource.Managed) bool

	// AnnotationsCount reports whether the annotations of a Machine determine where its VM is to be, whichever Machine a node is chosen for. If it is
	// nil, all count. It may be called as Shares may.
	AnnotationsCount func(resource.Managed) bool

	// GuestCounts reports whether a guest counts as the VM of a Machine that names its VMID, whichever Machine a node is chosen for. If it is nil, all
	// count. It may be called as Shares may.
	GuestCounts func(resource.Managed, proxmox.Guest) bool
}

// key returns the key of the list of guests. An empty list may belong to any cluster.
func (v View) key() (k populationKey, named bool) {
	if len(v.Guests) == 0 {
		return k, false
	}
	return populationKey{storage: v.Storage, guests: weak.Make(&v.Guests[0])}, true
}

// A populationKey identifies the list of guests from which a population is created. Each new list has another key.
type populationKey struct {
	guests  weak.Pointer[proxmox.Guest]
	storage string
}

// A population holds the users of the nodes of a cluster: all that existed when it was created, and the decisions since. Reading all Machines for
// each one that is created would take quadratic time.
type population struct {
	occupancy *placement.Occupancy
	made      time.Time

	// shares caches configurations, so that it must be called only while deciding is held.
	shares func(resource.Managed) bool
}

// A Choice chooses a node among occupants. It reports whether the choice is final.
type Choice func(*placement.Occupancy) (placement.Decision, bool, error)

// A DecideFunc runs a choice of a node for a VM: Decide or Evaluate.
type DecideFunc func(ctx context.Context, v View, m object.Machine, need placement.Occupant, choose Choice) (placement.Decision, bool, error)

// Decide runs choices one at a time, so that each sees the results of the others. A final choice is reserved for the Machine.
func (f *Scheduler) Decide(ctx context.Context, v View, m object.Machine, need placement.Occupant, choose Choice) (placement.Decision, bool, error) {
	f.deciding.Lock()
	defer f.deciding.Unlock()
	d, final, err := f.evaluate(ctx, v, choose)
	if err == nil && final {
		need.Node = d.Node
		f.reserve(m, need)
	}
	return d, final, err
}

// Evaluate runs a choice without reserving it.
func (f *Scheduler) Evaluate(ctx context.Context, v View, _ object.Machine, _ placement.Occupant, choose Choice) (placement.Decision, bool, error) {
	f.deciding.Lock()
	defer f.deciding.Unlock()
	return f.evaluate(ctx, v, choose)
}

func (f *Scheduler) evaluate(ctx context.Context, v View, choose Choice) (placement.Decision, bool, error) {
	p, err := f.populationOf(ctx, v)
	if err != nil {
		return placement.Decision{}, false, err
	}
	return choose(p.occupancy)
}

// reserve reserves a node for a Machine, in all populations of its cluster. They keep its labels and rules in a copy, because its reconcile later
// decodes answers of the API server into the same maps.
func (f *Scheduler) reserve(m object.Machine, need placement.Occupant) {
	f.reservations.Reserve(string(m.GetUID()), need)
	kept, _ := m.DeepCopyObject().(object.Machine)
	o, _ := occupantOf(kept, proxmox.Guest{}, f.reservations.Of, nil, nil, "")
	if need.Node != m.GetAnnotations()[object.AnnotationNode] { // An earlier target no longer applies.
		o.Node = need.Node
	}
	for _, p := range f.populations {
		if p.shares(m) {
			p.occupancy.Set(o)
		}
	}
}

// Release ends the reservation for a Machine, if there is one: its VM is not created now.
func (f *Scheduler) Release(m object.Machine) {
	f.deciding.Lock()
	defer f.deciding.Unlock()
	if !f.reservations.Release(string(m.GetUID())) {
		return
	}
	for _, p := range f.populations {
		p.occupancy.Remove(string(m.GetUID()))
	}
}

// populationOf returns the population of a view, which is created again if it is too old.
func (f *Scheduler) populationOf(ctx context.Context, v View) (*population, error) {
	f.dropOld()
	key, named := v.key()
	if p := f.populations[key]; p != nil && named {
		return p, nil
	}
	now := f.now()
	machines, err := f.machinesOf(ctx, v.Shares)
	if err != nil {
		return nil, err
	}
	occupants := occupantsOf(v, machines, f.reservations.Of)
	p := &population{occupancy: placement.OccupancyOf(occupants), shares: v.Shares, made: now}
	if !named {
		return p, nil
	}
	f.populations[key] = p
	time.AfterFunc(2*populationAge, func() { // It takes the memory of all Machines.
		f.deciding.Lock()
		defer f.deciding.Unlock()
		f.dropOld()
	})
	return p, nil
}

func (f *Scheduler) dropOld() {
	maps.DeleteFunc(f.populations, func(_ populationKey, p *population) bool { return f.now().Sub(p.made) >= populationAge })
}

// machinesOf returns the Machines that share a cluster.
func (f *Scheduler) machinesOf(ctx context.Context, shares func(resource.Managed) bool) ([]object.Machine, error) {
	ms, err := f.members(ctx, shares, func(s schedulerSource) bool { return s.machines })
	return ms.Machines, err
}

// Nodes returns the ProxmoxNodes that share the cluster. They belong to the cache and must not be changed.
func (f *Scheduler) Nodes(ctx context.Context, shares func(resource.Managed) bool) ([]Node, error) {
	ms, err := f.members(ctx, shares, func(s schedulerSource) bool { return !s.machines })
	return ms.Nodes, err
}

// OtherClaimants returns the other Machines, of all scopes, that make a claim. They belong to the cache and must not be changed.
func (f *Scheduler) OtherClaimants(ctx context.Context, m object.Machine, claim string) ([]object.Machine, error) {
	var all []object.Machine
	for _, s := range f.sourcesOf(func(s schedulerSource) bool { return s.machines }) {
		listed, err := kind.ListCached(ctx, s.reader, s.list, client.MatchingFields{object.ClaimIndex: claim})
		if err != nil {
			return nil, err
		}
		for _, mg := range listed {
			if other, ok := mg.(object.Machine); ok && other.GetUID() != m.GetUID() {
				all = append(all, other)
			}
		}
	}
	return all, nil
}

// sourcesOf returns the kinds that a function selects.
func (f *Scheduler) sourcesOf(want func(schedulerSource) bool) []schedulerSource {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.sources), func(s schedulerSource) bool { return !want(s) })
}

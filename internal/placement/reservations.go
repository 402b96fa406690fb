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

package placement

import (
	"maps"
	"sync"
	"time"
)

// reservedFor is how long a reservation counts: longer than it takes to write the annotation that says the same, and to create any VM.
const reservedFor = time.Hour

// Reservations are the nodes that were chosen lately. Each counts until PVE shows the VM. They are a memory only: after a restart the
// annotations of the objects say the same.
type Reservations struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]reservation
}

type reservation struct {
	Occupant

	until time.Time
}

// NewReservations returns none.
func NewReservations(now func() time.Time) *Reservations {
	return &Reservations{now: now, all: map[string]reservation{}}
}

// A Choice chooses a node, given the reservations by ID. It reports whether the choice is final.
type Choice func(reserved map[string]Occupant) (Decision, bool, error)

// Decide runs choices one at a time, so that each sees what the others have got. A final choice is reserved for the ID.
func (r *Reservations) Decide(id string, need Occupant, choose Choice) (Decision, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.all, func(_ string, o reservation) bool { return r.now().After(o.until) })
	d, final, err := choose(r.occupants())
	if err == nil && final {
		need.Node = d.Node
		r.all[id] = reservation{Occupant: need, until: r.now().Add(reservedFor)}
	}
	return d, final, err
}

// Release ends the reservation for an ID, if there is one: what it was for is not made now.
func (r *Reservations) Release(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, id)
}

// Evaluate runs a choice without reserving it.
func (r *Reservations) Evaluate(_ string, _ Occupant, choose Choice) (Decision, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return choose(r.occupants())
}

func (r *Reservations) occupants() map[string]Occupant {
	all := make(map[string]Occupant, len(r.all))
	for id, o := range r.all {
		all[id] = o.Occupant
	}
	return all
}

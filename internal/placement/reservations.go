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

// sweepInterval is how often those that have ended are removed.
const sweepInterval = time.Minute

// Reservations are the nodes that were chosen lately. Each counts until PVE shows the VM. They are a memory only: after a restart the
// annotations of the objects say the same.
type Reservations struct {
	now func() time.Time

	mu    sync.Mutex
	all   map[string]reservation
	swept time.Time // when those that had ended were removed last
}

type reservation struct {
	Occupant

	until time.Time
}

// NewReservations returns none.
func NewReservations(now func() time.Time) *Reservations {
	return &Reservations{now: now, all: map[string]reservation{}}
}

// Reserve reserves a node, which the need names, for an ID.
func (r *Reservations) Reserve(id string, need Occupant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.After(r.swept.Add(sweepInterval)) {
		r.swept = now
		maps.DeleteFunc(r.all, func(_ string, o reservation) bool { return now.After(o.until) })
	}
	r.all[id] = reservation{Occupant: need, until: r.now().Add(reservedFor)}
}

// Of returns what is reserved for an ID, if anything is.
func (r *Reservations) Of(id string) (Occupant, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.all[id]
	return o.Occupant, ok && !r.now().After(o.until)
}

// Release ends the reservation for an ID: what it was for is not made now. It reports whether there was one.
func (r *Reservations) Release(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, had := r.all[id]
	delete(r.all, id)
	return had
}

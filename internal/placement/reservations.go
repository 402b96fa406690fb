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

// reservedFor is how long a reservation counts. It is longer than it takes to write the annotation with the same information and to create any VM.
const reservedFor = time.Hour

// sweepInterval is how often expired reservations are removed.
const sweepInterval = time.Minute

// Reservations has the nodes that were chosen recently. Each reservation counts until PVE shows the VM. It is kept only in memory: after a restart, the
// annotations of the objects have the same information.
type Reservations struct {
	now func() time.Time

	mu    sync.Mutex
	all   map[string]reservation
	swept time.Time // when expired reservations were last removed
}

type reservation struct {
	Occupant

	until time.Time
}

// NewReservations returns empty Reservations.
func NewReservations(now func() time.Time) *Reservations {
	return &Reservations{now: now, all: map[string]reservation{}}
}

// Reserve reserves the node of a need for an ID.
func (r *Reservations) Reserve(id string, need Occupant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.After(r.swept.Add(sweepInterval)) {
		r.swept = now
		maps.DeleteFunc(r.all, func(_ string, o reservation) bool { return now.After(o.until) })
	}
	r.all[id] = reservation{Occupant: need, until: r.now().Add(reservedFor)}
}

// Of returns the reservation for an ID, if there is one.
func (r *Reservations) Of(id string) (Occupant, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.all[id]
	return o.Occupant, ok && !r.now().After(o.until)
}

// Release ends the reservation for an ID, since its VM is not created now. It reports whether there was one.
func (r *Reservations) Release(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, had := r.all[id]
	delete(r.all, id)
	return had
}

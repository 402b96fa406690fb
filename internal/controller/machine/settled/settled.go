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

// Package settled remembers what the options of the VMs of Machines were last found to be as their specs have them for, and which
// generations of Machines were up to date.
package settled

import (
	"encoding/json"
	"hash/maphash"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// A Store remembers, for each Machine, what the options of its VM were last found to be as
// the spec has them for. As long as none of that changes there is nothing to compare.
type Store struct {
	seed maphash.Seed
	sums objectstate.Store[uint64]

	// upToDate are the generations of Machines that were found to be up to date.
	upToDate objectstate.Store[int64]
}

// New returns a Store that remembers nothing yet.
func New() *Store { return &Store{seed: maphash.MakeSeed()} }

// Sum returns a checksum of all that the difference of options depends on.
func (s *Store) Sum(values ...any) (uint64, error) {
	text, err := json.Marshal(values)
	return maphash.Bytes(s.seed, text), err
}

// Is reports whether the checksum is the one that was kept for a Machine.
func (s *Store) Is(m object.Machine, sum uint64) bool {
	s.sums.Lock()
	defer s.sums.Unlock()
	has := s.sums.Get(m)
	return has != nil && *has == sum
}

// Keep keeps the checksum of a Machine whose options are as the spec has them.
func (s *Store) Keep(m object.Machine, sum uint64) {
	s.sums.Lock()
	defer s.sums.Unlock()
	s.sums.Set(m, &sum)
}

// Reset forgets the checksum of a Machine.
func (s *Store) Reset(m object.Machine) {
	s.sums.Lock()
	defer s.sums.Unlock()
	s.sums.Delete(m)
}

// MarkUpToDate notes that the VM is as this generation of its Machine has it.
func (s *Store) MarkUpToDate(m object.Machine) {
	s.upToDate.Lock()
	defer s.upToDate.Unlock()
	s.upToDate.Set(m, new(m.GetGeneration()))
}

// WasUpToDate reports whether the VM was as this generation of its Machine has it: what differs
// was changed by others since.
func (s *Store) WasUpToDate(m object.Machine) bool {
	s.upToDate.Lock()
	defer s.upToDate.Unlock()
	generation := s.upToDate.Get(m)
	return generation != nil && *generation == m.GetGeneration()
}

// Forget forgets a Machine.
func (s *Store) Forget(m object.Machine) {
	s.Reset(m)
	s.upToDate.Lock()
	defer s.upToDate.Unlock()
	s.upToDate.Delete(m)
}

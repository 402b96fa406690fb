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

// Package settled remembers for which inputs the options of VMs were last found to be as their specs have them, what Machines asked for when they
// were up to date, and the last evaluations of Machines that are up to date.
package settled

import (
	"encoding/json"
	"hash/maphash"
	"time"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/secretref"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Store remembers, for each Machine, for which inputs the options of its VM were last found to be as the spec has them. As long as none of these
// changes, there is nothing to compare.
type Store struct {
	seed maphash.Seed
	sums objectstate.Store[uint64]

	// upToDate are the checksums of what Machines asked for when they were found to be up to date.
	upToDate objectstate.Store[uint64]

	evaluations objectstate.Store[Evaluation]
}

// An Evaluation holds the inputs of the observation of a VM that is up to date.
type Evaluation struct {
	// Sum of the Machine and its connection, and the version of the VM in the cache.
	Sum uint64
	VM  int

	// Until is how long the status stays as it is while nothing changes.
	Until time.Time

	// VMAlone is true for a VM without a tenant, network, drive, guest agent, cloud-init data and connection Secret.
	VMAlone bool

	// Bridges and Addresses are what the networks of the spec name and take from pools.
	Bridges   *networks.Bridges
	Addresses *ipam.Addresses

	// Read are the versions of the Secrets and ConfigMaps that were read.
	Read secretref.Versions

	// Interfaces and AgentUnavailable are what the guest agent has reported, or why it cannot.
	Interfaces       []proxmox.Interface
	AgentUnavailable string
}

// Evaluated returns the last evaluation of a Machine that was kept, or nil.
func (s *Store) Evaluated(m object.Machine) *Evaluation {
	s.evaluations.Lock()
	defer s.evaluations.Unlock()
	return s.evaluations.Get(m)
}

// KeepEvaluation keeps the last evaluation of a Machine, which must not be changed any more. It is nil if the evaluation does not last.
func (s *Store) KeepEvaluation(m object.Machine, e *Evaluation) {
	s.evaluations.Lock()
	defer s.evaluations.Unlock()
	if e == nil {
		s.evaluations.Delete(m)
		return
	}
	s.evaluations.Set(m, e)
}

// New returns a Store that remembers nothing yet.
func New() *Store { return &Store{seed: maphash.MakeSeed()} }

// Sum returns a checksum of everything that the difference of options depends on.
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

// MarkUpToDate records that the VM is as its Machine asks for, by the checksum of the request.
func (s *Store) MarkUpToDate(m object.Machine, wanted uint64) {
	s.upToDate.Lock()
	defer s.upToDate.Unlock()
	s.upToDate.Set(m, &wanted)
}

// WasUpToDate reports whether the VM was as its Machine asks for, by the checksum of the request. If so, others have changed what now differs.
func (s *Store) WasUpToDate(m object.Machine, wanted uint64) bool {
	s.upToDate.Lock()
	defer s.upToDate.Unlock()
	before := s.upToDate.Get(m)
	return before != nil && *before == wanted && wanted != 0
}

// Forget forgets a Machine.
func (s *Store) Forget(m object.Machine) {
	s.Reset(m)
	s.upToDate.Lock()
	defer s.upToDate.Unlock()
	s.upToDate.Delete(m)
	s.evaluations.Lock()
	defer s.evaluations.Unlock()
	s.evaluations.Delete(m)
}

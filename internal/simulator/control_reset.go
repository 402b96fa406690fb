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

package simulator

import (
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// begin creates the state that the scenario describes. Nothing may use the old state.
func (s *Server) begin() error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	state, err := s.options.Scenario.build(s.options.Version, s.Clock.Now())
	if err != nil {
		return err
	}
	s.Begin(state)
	s.faults.clear()
	for _, f := range s.options.Faults {
		s.faults.add(f)
	}
	return s.populate(s.options.Scenario)
}

// Reset restores the initial state of the cluster: the scenario, with the secrets of SetToken and the faults of the options. It interrupts tasks and
// empties the request log.
func (s *Server) Reset() error {
	s.Mu.Lock()
	s.Interrupt()
	s.Mu.Unlock()
	s.gate.Lock()
	defer s.gate.Unlock()
	s.Workers.Wait()
	if err := s.begin(); err != nil {
		return errors.Wrap(err, "cannot build the scenario")
	}
	for id, secret := range maps.Clone(s.tokens) {
		if err := s.SetToken(id, secret); err != nil {
			return err
		}
	}
	s.ClearRequests()
	s.ChangeCount.Add(1)
	return nil
}

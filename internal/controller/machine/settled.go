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
	"encoding/json"
	"hash/maphash"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// settled remembers, for each Machine, what the options of its VM were last found to be as
// the spec has them for. As long as none of that changes there is nothing to compare.
type settled struct {
	seed maphash.Seed

	all objectstate.Store[uint64]

	// upToDate are the generations of Machines that were found to be up to date.
	upToDate objectstate.Store[int64]
}

func newSettled() *settled { return &settled{seed: maphash.MakeSeed()} }

func (s *settled) is(m Machine, sum uint64) bool {
	s.all.Lock()
	defer s.all.Unlock()
	has := s.all.Get(m)
	return has != nil && *has == sum
}

func (s *settled) keep(m Machine, sum uint64) {
	s.all.Lock()
	defer s.all.Unlock()
	s.all.Set(m, &sum)
}

func (s *settled) forget(m Machine) {
	s.all.Lock()
	defer s.all.Unlock()
	s.all.Delete(m)
}

// markUpToDate notes that the VM is as this generation of its Machine has it.
func (s *settled) markUpToDate(m Machine) {
	s.upToDate.Lock()
	defer s.upToDate.Unlock()
	s.upToDate.Set(m, new(m.GetGeneration()))
}

// wasUpToDate reports whether the VM was as this generation of its Machine has it: what differs
// was changed by others since.
func (s *settled) wasUpToDate(m Machine) bool {
	s.upToDate.Lock()
	defer s.upToDate.Unlock()
	generation := s.upToDate.Get(m)
	return generation != nil && *generation == m.GetGeneration()
}

// leave forgets a Machine.
func (s *settled) leave(m Machine) {
	s.forget(m)
	s.upToDate.Lock()
	defer s.upToDate.Unlock()
	s.upToDate.Delete(m)
}

// optionsSettled reports whether the options of the VM were found to be as the spec has them,
// and neither has changed since. What cloud-init is given and what a migration takes out of
// drives depend on more than that.
func (e planner) optionsSettled(m Machine, d desired) bool {
	if d.CloudInit != nil || meta.WasDeleted(m) {
		return false
	}
	if d.Node != nil || d.placedNode != "" {
		if _, goes := d.migration(e.vm, m.GetAnnotations()[object.AnnotationNode]); goes {
			return false
		}
	}
	sum, err := e.optionsSum(m, d)
	return err == nil && e.settled.is(m, sum)
}

// rememberSettled remembers that the options are as the spec has them, if they are.
func (e planner) rememberSettled(m Machine) {
	p := e.planned
	sum, err := e.optionsSum(m, p.desired)
	if err != nil || !p.change.Empty() || !p.deferred.Empty() || len(p.rejections) > 0 || len(p.annotations) > 0 || len(p.Growths(p.Restored(e.vm.State))) > 0 {
		e.settled.forget(m)
		return
	}
	e.settled.keep(m, sum)
}

// optionsSum returns a checksum of all that the difference of options depends on.
func (e planner) optionsSum(m Machine, d desired) (uint64, error) {
	text, err := json.Marshal([]any{
		d.MachineParameters, d.Identity, d.Tenant, d.Defaults, d.Created, m.GetGeneration(), m.GetAnnotations()[object.AnnotationDevices],
		e.checks.Superuser, e.vm.Values, e.vm.VMID, e.vm.Node, e.vm.Status.Running(),
	})
	return maphash.Bytes(e.settled.seed, text), err
}

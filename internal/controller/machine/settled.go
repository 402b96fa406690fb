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
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

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
	return err == nil && e.settled.Is(m, sum)
}

// rememberSettled remembers that the options are as the spec has them, if they are.
func (e planner) rememberSettled(m Machine) {
	p := e.planned
	sum, err := e.optionsSum(m, p.desired)
	if err != nil || !p.change.Empty() || !p.deferred.Empty() || len(p.rejections) > 0 || len(p.annotations) > 0 || len(p.Growths(p.Restored(e.vm.State))) > 0 {
		e.settled.Reset(m)
		return
	}
	e.settled.Keep(m, sum)
}

// optionsSum returns a checksum of all that the difference of options depends on.
func (e planner) optionsSum(m Machine, d desired) (uint64, error) {
	return e.settled.Sum(
		d.MachineParameters, d.Identity, d.Tenant, d.Defaults, d.Created, m.GetGeneration(), m.GetAnnotations()[object.AnnotationDevices],
		e.checks.Superuser, d.Leaving, e.vm.Values, e.vm.VMID, e.vm.Node, e.vm.Status.Running(),
	)
}

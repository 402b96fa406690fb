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
	"github.com/vitistack/provider-proxmox/internal/controller/machine/settled"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// settledOptions know for which VMs the options were found to be as their specs have them.
type settledOptions struct {
	store     *settled.Store
	vm        *vmstate.VM
	superuser bool // The connection is that of root.
	limited   bool // The tenant has a quota.
}

// settledOptions returns what knows whether the options of the VM are settled.
func (e *external) settledOptions() settledOptions {
	return settledOptions{store: e.settled, vm: e.vm, superuser: e.checks.Superuser, limited: e.tenant.Limited()}
}

// unchanged reports whether the options of the VM were found to be as the spec has them,
// and neither has changed since. What cloud-init is given and what a migration takes out of
// drives depend on more than that.
func (o settledOptions) unchanged(m Machine, d desired) bool {
	if d.CloudInit != nil || meta.WasDeleted(m) {
		return false
	}
	if d.Node != nil || d.placedNode != "" {
		if _, goes := d.migration(o.vm, m.GetAnnotations()[object.AnnotationNode]); goes {
			return false
		}
	}
	sum, err := o.sum(m, d)
	return err == nil && o.store.Is(m, sum)
}

// keep remembers that the options are as the spec has them, if the plan has nothing to do for them.
func (o settledOptions) keep(m Machine, p plan) {
	sum, err := o.sum(m, p.desired)
	waits := len(p.rejections) > 0 || p.exceeded != nil || len(p.Growths(p.Restored(o.vm.State))) > 0
	if err != nil || waits || !p.change.Empty() || !p.deferred.Empty() || len(p.annotations) > 0 {
		o.store.Reset(m)
		return
	}
	o.store.Keep(m, sum)
}

// sum returns a checksum of all that the difference of options depends on.
func (o settledOptions) sum(m Machine, d desired) (uint64, error) {
	return o.store.Sum(
		d.MachineParameters, d.Identity, d.Tenant, d.CarriedTags, d.Defaults, d.Created, m.GetGeneration(), m.GetAnnotations()[object.AnnotationDevices],
		o.superuser, d.Leaving, o.vm.Values, o.vm.VMID, o.vm.Node, o.vm.Status.Running(), o.limited, d.Counted,
	)
}

// wanted is a checksum of what a Machine asks for, with what other objects add to that; 0 if there is none.
func (p plan) wanted(m Machine, store *settled.Store) uint64 {
	sum, err := store.Sum(p.MachineParameters, p.Tenant, p.CarriedTags, p.Defaults, m.GetGeneration())
	if err != nil {
		return 0
	}
	return sum
}

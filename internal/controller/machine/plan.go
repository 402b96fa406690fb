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
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A plan is what has to be done to a VM.
type plan struct {
	desired

	// unkept is true when the devices are not written down as they are.
	unkept bool

	refusals []string
	change   difference
	resizes  []resize
	power    powerChange
}

type powerChange int

const (
	keepPower powerChange = iota
	powerOn
	powerOff
)

func (p plan) empty() bool {
	return !p.unkept && len(p.refusals) == 0 && p.change.empty() && len(p.resizes) == 0 && p.power == keepPower
}

// makePlan finds what separates the VM from the spec.
func (e *external) makePlan(ctx context.Context, m Machine, id identity) error {
	d := e.desired(m, id)
	before, err := parseDevices(m.GetAnnotations()[AnnotationDevices])
	if err != nil {
		return err
	}
	if d.devices, err = before.assign(m.Parameters(), e.vm.Config); err != nil {
		e.plan = plan{desired: d, refusals: []string{err.Error()}, power: d.powerChange(e.vm)}
		return nil //nolint:nilerr // The plan has it.
	}
	d.devices = d.devices.without(d.devices.settled(m.Parameters(), e.vm.Config)).see(e.vm.Config)
	change := d.difference(e.vm.Config)
	prohibited, err := e.prohibited(ctx, change, e.vm.Config)
	if err != nil {
		return err
	}
	e.plan = plan{
		desired:  d,
		unkept:   !before.assigned || !before.equal(d.devices),
		refusals: slices.Concat(d.refusals(e.vm.Config), prohibited, e.nodeRefusal(m)),
		change:   change,
		resizes:  d.resizes(e.vm.Config),
		power:    d.powerChange(e.vm),
	}
	e.vm.unfinished = !strings.EqualFold(smbiosUUID(e.vm.Config), id.UUID)
	return nil
}

// nodeRefusal is a node that was changed in the spec. A VM that was moved in PVE
// is followed.
func (e *external) nodeRefusal(m Machine) []string {
	wanted, created := value(m.Parameters().Node), m.GetAnnotations()[AnnotationNode]
	if wanted == "" || wanted == e.vm.Node || wanted == created || created == "" {
		return nil
	}
	return []string{fmt.Sprintf("the VM is on node %s and cannot move to %s: migration is not served yet", e.vm.Node, wanted)}
}

// powerChange that brings the VM to the power state of the spec. Without one, a
// VM that was adopted is left as it is.
func (d desired) powerChange(v *vm) powerChange {
	running := v.Status.Running()
	switch {
	case v.template(), d.PowerState == nil && !d.created:
		return keepPower
	case !running && (d.PowerState == nil || *d.PowerState == v1alpha1.PowerStateRunning):
		return powerOn
	case running && value(d.PowerState) == v1alpha1.PowerStateStopped:
		return powerOff
	}
	return keepPower
}

// desired is the spec with what else decides how it is carried out.
func (e *external) desired(m Machine, id identity) desired {
	return desired{
		MachineParameters: withImage(m.Parameters()),
		name:              m.GetName(),
		created:           !meta.GetExternalCreatePending(m).IsZero(),
		identity:          id,
		tenant:            tenantOf(m.GetLabels()),
		defaults:          e.defaults,
	}
}

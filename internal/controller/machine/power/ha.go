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

package power

import (
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// HAEnabled reports whether the spec asks HA to manage the VM.
func (d Policy) HAEnabled() bool { return HAEnabled(d.MachineParameters) }

// HAEnabled reports whether a spec asks high availability to manage the VM.
func HAEnabled(p *v1alpha1.MachineParameters) bool {
	ha := p.HighAvailability
	return ha != nil && (ha.Enabled == nil || *ha.Enabled)
}

// HAState returns the state that HA is to keep the VM in, or an empty string if the spec names none.
func (d Policy) HAState(v *vmstate.VM) string {
	switch {
	case !d.HAEnabled():
		return ""
	case d.HighAvailability.State != nil:
		return *d.HighAvailability.State
	case ptr.Deref(d.RunStrategy, "") == Manual:
		return vmstate.HAIgnored
	}
	switch d.DesiredPower(v) {
	case v1alpha1.PowerStateRunning, v1alpha1.PowerStatePaused: // HA treats a paused VM as running.
		return vmstate.HAStarted
	case v1alpha1.PowerStateStopped:
		return vmstate.HAStopped
	case v1alpha1.PowerStateSuspended:
	}
	return ""
}

// managedByHA reports whether HA controls the VM's power.
func (d Policy) managedByHA(v *vmstate.VM) bool {
	s := d.HAState(v)
	return s != "" && s != vmstate.HAIgnored
}

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
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

func TestPowerChange(t *testing.T) {
	running, stopped := proxmox.Status{Status: "running"}, proxmox.Status{Status: "stopped"}
	cases := map[string]struct {
		reason  string
		state   *v1alpha1.PowerState
		adopted bool
		vm      vmstate.VM
		want    Change
	}{
		"Adopted": {reason: "An adopted VM is left as it is.", adopted: true, vm: vmstate.VM{Status: stopped}, want: Keep},
		"AdoptedStart": {
			reason: "An adopted VM is started if the spec says so.", adopted: true, state: new(v1alpha1.PowerStateRunning),
			vm: vmstate.VM{Status: stopped}, want: On,
		},
		"DefaultStopped": {reason: "A VM runs unless the spec says otherwise.", vm: vmstate.VM{Status: stopped}, want: On},
		"DefaultRunning": {reason: "A running VM is left alone.", vm: vmstate.VM{Status: running}, want: Keep},
		"Start":          {reason: "A stopped VM is started.", state: new(v1alpha1.PowerStateRunning), vm: vmstate.VM{Status: stopped}, want: On},
		"Stop":           {reason: "A running VM is stopped.", state: new(v1alpha1.PowerStateStopped), vm: vmstate.VM{Status: running}, want: Off},
		"Stopped":        {reason: "A stopped VM stays stopped.", state: new(v1alpha1.PowerStateStopped), vm: vmstate.VM{Status: stopped}, want: Keep},
		"Paused":         {reason: "A VM that was paused is resumed.", vm: vmstate.VM{Status: proxmox.Status{Status: "running", QMPStatus: "paused"}}, want: Resume},
		"Template":       {reason: "A template cannot run.", vm: vmstate.VM{Status: stopped, State: qemu.State{Config: qemu.Config{"template": "1"}}}, want: Keep},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Policy{Desired: qemu.Desired{MachineParameters: &v1alpha1.MachineParameters{PowerState: tc.state}, Created: !tc.adopted}}
			if got := d.PowerChange(&tc.vm); got != tc.want {
				t.Errorf("\n%s\nwant %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}

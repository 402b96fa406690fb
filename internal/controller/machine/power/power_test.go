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
	"strings"
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

func TestUnmanagedPower(t *testing.T) {
	cases := map[string]struct {
		reason string
		state  v1alpha1.PowerState
		vm     proxmox.Status
		want   string
	}{
		"Start": {"High availability is to start the VM.", v1alpha1.PowerStateRunning, proxmox.Status{Status: "stopped"}, "is to start it"},
		"Stop":  {"High availability is to stop the VM.", v1alpha1.PowerStateStopped, proxmox.Status{Status: "running"}, "is to stop it"},
		"GivenUp": {
			"High availability does not start what it has given up.",
			v1alpha1.PowerStatePaused,
			proxmox.Status{Status: "stopped", HAState: "error"},
			"has given the VM up",
		},
		"Failed": {
			"High availability does not stop what it has given up.",
			v1alpha1.PowerStateStopped,
			proxmox.Status{Status: "running", HAState: "error"},
			"has given the VM up",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.vm.HAManaged = true
			d := Policy{Desired: qemu.Desired{
				MachineParameters: &v1alpha1.MachineParameters{PowerState: &tc.state, HighAvailability: &v1alpha1.MachineHighAvailability{}}, Created: true,
			}}
			if got := d.UnmanagedPower(&vmstate.VM{Status: tc.vm}).Message; !strings.Contains(got, tc.want) {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

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

package ha

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// settings of a VM that high availability is to keep running.
func settings(state *string) Settings {
	p := &v1alpha1.MachineParameters{HighAvailability: &v1alpha1.MachineHighAvailability{State: state, MaxRestart: new(int32(3))}}
	return Settings{Policy: power.Policy{Desired: qemu.Desired{MachineParameters: p, Created: true}}}
}

func TestChange(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		state  *string
		told   proxmox.HASettings
		want   proxmox.HASettings
	}{
		"Same":    {reason: "What HA was told stays.", state: new("started"), told: proxmox.HASettings{"state": "started", "max_restart": "3"}},
		"Default": {reason: "What holds by default need not be told.", state: new("started"), told: proxmox.HASettings{"max_restart": "3"}},
		"Enabled": {reason: "Older versions say enabled.", state: new("started"), told: proxmox.HASettings{"state": "enabled", "max_restart": "3"}},
		"Restarts": {
			reason: "What differs is told.", state: new("started"), told: proxmox.HASettings{"state": "started"},
			want: proxmox.HASettings{"max_restart": "3"},
		},
		"State": {
			reason: "A state that differs is told to HA.", state: new("ignored"), told: proxmox.HASettings{"state": "started", "max_restart": "3"},
			want: proxmox.HASettings{"state": "ignored"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &vmstate.VM{InHA: true, HA: tc.told}
			got := settings(tc.state).Change(v)
			if diff := cmp.Diff(tc.want, got); diff != "" && len(tc.want)+len(got) > 0 {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFirst checks that HA is told a state: it starts a VM without one.
func TestFirst(t *testing.T) {
	s := settings(nil)
	s.Created = false // The spec does not say how an adopted VM is to be.
	for status, want := range map[string]string{"running": vmstate.HAStarted, "stopped": vmstate.HAStopped} {
		v := &vmstate.VM{Status: proxmox.Status{Status: status, QMPStatus: status}}
		if got := s.First(v); got["state"] != want || got["max_restart"] != "3" {
			t.Errorf("a VM that is %s: want it %s, got %v", status, want, got)
		}
	}
}

func TestRefuses(t *testing.T) {
	failed := &vmstate.VM{InHA: true, HA: proxmox.HASettings{"state": "started"}, Status: proxmox.Status{HAManaged: true, HAState: "error"}}
	if !settings(new("started")).Refuses(failed) {
		t.Error("a VM that HA has given up takes no change")
	}
	well := &vmstate.VM{InHA: true, HA: failed.HA, Status: proxmox.Status{HAManaged: true, HAState: "started"}}
	if settings(new("started")).Refuses(well) {
		t.Error("another one does")
	}
}

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

package faults

import (
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// recreated returns the scenario of a VM whose creation is lost with its node.
func recreated() scenario {
	return scenario{
		reason: "A creation is lost with its node, the VM is created again at most once, and what comes back is removed.",
		spec:   empty(),
		faults: []simulator.Fault{{Task: "qmcreate", Count: 1, Hold: true}},
		meanwhile: func(t *testing.T, w *env) {
			t.Helper()
			if w.m.Parameters().Recreation == nil && len(w.running()) > 0 {
				w.pve.PowerOff("pve2")
				w.change(t, func(p *v1alpha1.MachineParameters) {
					p.Node, p.Recreation = new("pve3"), &v1alpha1.MachineRecreation{LostNode: "pve2", Token: "1", RemoveRemains: new(true)}
				})
			}
		},
		acts:  []act{{"the node comes back, and its VM is unlocked", comesBack}},
		holds: on("pve3"),
	}
}

// comesBack lets the node return with a VM that shows its owner and has been unlocked manually.
func comesBack(t *testing.T, w *env) {
	t.Helper()
	o := w.m.Observation().Recreation
	if len(o.Remains) != 1 || o.State != v1alpha1.ActSucceeded {
		t.Fatalf("one creation was lost, got %+v", o)
	}
	half := o.Remains[0]
	w.pve.PowerOn("pve2")
	w.pve.Edit(func(s *simulator.State) {
		s.Guests[int(half.VMID)].Config = map[string]string{"smbios1": "uuid=" + half.UUID}
	})
	w.until(t, "what came back is removed", func() bool {
		_, there := w.pve.Guest(int(half.VMID))
		return !there
	})
}

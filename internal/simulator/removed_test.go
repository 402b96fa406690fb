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

package simulator_test

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// TestRemovedMeanwhile removes the file of a VM's configuration while a task works on it, like rm on the node. A task that only writes the file creates it
// again, and one that reads it fails.
func TestRemovedMeanwhile(t *testing.T) {
	const gone = "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"
	for name, tc := range map[string]struct {
		reason  string
		request string
		params  []string
		vmid    int
		exit    string
		made    bool
	}{
		"Create": {
			reason:  "A creation writes what it has made.",
			request: "POST /nodes/pve1/qemu", params: []string{"vmid=200", "scsi0=local:1"}, vmid: 200, exit: "OK", made: true,
		},
		"Clone": {
			reason:  "A clone is written with each of its disks.",
			request: "POST /nodes/pve1/qemu/100/clone", params: []string{"newid=200"}, vmid: 200, exit: "OK", made: true,
		},
		"Start": {
			reason:  "What is started is read.",
			request: "POST /nodes/pve1/qemu/100/status/start", vmid: 100, exit: gone,
		},
		"Destroy": {
			reason:  "What is destroyed is read.",
			request: "DELETE /nodes/pve1/qemu/100", vmid: 100, exit: gone,
		},
		"Resize": {
			reason:  "What grows is read.",
			request: "PUT /nodes/pve1/qemu/100/resize", params: []string{"disk=scsi0", "size=2G"}, vmid: 100, exit: gone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newHandClock()
			s := simulatortest.NewTest(t, simulator.Options{Scenario: lab(), Speed: 1, Clock: clock})
			c := connect(t, s)
			clock.ended(t, s, c.start("POST /nodes/pve1/qemu", "vmid=100", "scsi0=local:1"))
			upid := c.start(tc.request, tc.params...)
			clock.await(t, 1)
			s.Edit(func(st *state.State) { delete(st.Guests, tc.vmid) })
			if exit := clock.ended(t, s, upid); exit != tc.exit {
				t.Errorf("%s got %q, want %q", tc.reason, exit, tc.exit)
			}
			if g, made := s.Guest(tc.vmid); made != tc.made || made && (g.Node != "pve1" || g.Config["scsi0"] == "" || g.Config["lock"] != "") {
				t.Errorf("%s got %+v", tc.reason, g)
			}
		})
	}
}

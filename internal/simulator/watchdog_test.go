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
	"testing/synctest"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// TestWatchdog checks that a node that holds its HA lock and loses the quorum is reset after a minute, and that one with quorum is not.
func TestWatchdog(t *testing.T) {
	cases := map[string]struct {
		reason string
		off    []string
		cutOff bool
		reset  bool
	}{
		"NoQuorum": {reason: "Alone it cannot renew its lock.", off: []string{"pve2", "pve3"}, reset: true},
		"Quorum":   {reason: "A node with another one renews its lock.", off: []string{"pve2"}},
		"CutOff":   {reason: "The others have quorum, and it has none.", cutOff: true, reset: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := &recordedCluster{}
				readYAML(t, "testdata/cluster.yaml", cluster)
				p := newClusterReplay(t, cluster)
				defer p.server.Close()
				p.unrecorded([]string{"POST /nodes/pve1/qemu vmid=800 memory=64", "POST /cluster/ha/resources sid=vm:800 state=started", "GET /cluster/ha/status/current"})
				p.letPass(time.Minute)
				if g, _ := p.server.Guest(800); g.Power != state.Running {
					t.Fatalf("the VM runs first, got %v", g.Power)
				}
				if p.power(tc.off, false); tc.cutOff {
					p.server.CutOff("pve1")
				}
				var reset time.Time
				look := func() {
					p.server.Edit(func(st *state.State) { reset = st.Nodes["pve1"].Reset })
				}
				p.letPass(50 * time.Second)
				if look(); !reset.IsZero() {
					t.Errorf("\n%s\nwant it on for a minute, got it reset at %v", tc.reason, reset)
				}
				p.letPass(time.Minute)
				look()
				g, _ := p.server.Guest(800)
				if runs := g.Power != state.Stopped && g.Node == "pve1"; reset.IsZero() == tc.reset || runs == tc.reset {
					t.Errorf("\n%s\nwant it reset: %t, got it reset at %v and its VM %v on %s", tc.reason, tc.reset, reset, g.Power, g.Node)
				}
			})
		})
	}
}

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

package proxmox_test

import (
	"net/http"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestRemoveUnknownHARule checks that removing a rule that was removed meanwhile is no error. Proxmox VE reports success when it deletes a rule or a group
// that does not exist.
func TestRemoveUnknownHARule(t *testing.T) {
	for version, what := range map[string]string{"9.2": proxmox.HANodeAffinity, "8.4": proxmox.HAGroup} {
		t.Run(version, func(t *testing.T) {
			l := newLab(t, simulator.Options{Version: version}, func(c *proxmox.Config) {
				c.Credentials = proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword}
			})
			if err := l.RemoveHARule(t.Context(), proxmox.HARule{Name: "gone", Type: what}); err != nil {
				t.Errorf("want no error, got %v", err)
			}
			all, err := l.HARules(t.Context())
			if err != nil || len(all.Rules) > 0 {
				t.Errorf("want no rules, got %v, %v", all, err)
			}
		})
	}
}

// TestLeaveHA removes a VM from high availability that a rule names. The rule must stay, whether PVE knows the parameter for that or not.
func TestLeaveHA(t *testing.T) {
	for version, deletes := range map[string]int{"9.2": 1, "8.4": 2} {
		t.Run(version, func(t *testing.T) {
			l := newLab(t, simulator.Options{Version: version}, func(c *proxmox.Config) {
				c.Credentials = proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword}
			})
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(l.AddHAResource(t.Context(), 100, proxmox.HASettings{"state": "stopped"}))
			rules := 0
			if version == "9.2" {
				must(l.AddHARule(t.Context(), proxmox.HARule{Name: "pinned", Type: proxmox.HANodeAffinity, Resources: []string{"vm:100"}, Nodes: []string{"pve1"}}))
				rules = 1
			}
			l.pve.ClearRequests()
			must(l.LeaveHA(t.Context(), 100))
			n := 0
			for _, r := range l.pve.Requests() {
				if r.Method == http.MethodDelete {
					n++
				}
			}
			left, err := l.HAResources(t.Context())
			must(err)
			all, err := l.HARules(t.Context())
			must(err)
			if n != deletes || len(left) > 0 || len(all.Rules) != rules {
				t.Errorf("want %d calls, no resource and %d rules, got %d, %v and %v", deletes, rules, n, left, all)
			}
			if err := l.LeaveHA(t.Context(), 100); !proxmox.IsNotInHA(err) {
				t.Errorf("want the error of a VM that is not there any more, got %v", err)
			}
		})
	}
}

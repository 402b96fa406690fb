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
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// as returns the client of a token of the test, or of a user who logs in.
func as(t *testing.T, s *simulator.Server, who string) *client {
	t.Helper()
	c := &client{t: t, server: s, header: map[string]string{}}
	if strings.Contains(who, "!") {
		return c.with("Authorization", "PVEAPIToken="+who+"="+simulatortest.TestSecret)
	}
	password := "worker"
	if who == "root@pam" {
		password = simulatortest.RootPassword
	}
	login, _ := c.ok("POST /access/ticket", "username="+who, "password="+password).Data.(map[string]any)
	ticket, _ := login["ticket"].(string)
	token, _ := login["CSRFPreventionToken"].(string)
	return c.with("Cookie", "PVEAuthCookie="+ticket).with("CSRFPreventionToken", token)
}

// TestWhoSeesTasks starts one task each of a token, of its user and of root. PVE's lists show them to different users. PVE::API2::Cluster compares the
// owner without the name of the token, and PVE::API2::Tasks compares the full name, or that of the user.
func TestWhoSeesTasks(t *testing.T) {
	const user, owner, other, separate = "worker@pve", "worker@pve!a", "worker@pve!b", "worker@pve!c"
	cases := map[string]struct {
		reason string
		audit  string
		who    string
		// cluster and node are how many of the three tasks the lists of the cluster and of the node contain.
		cluster, node int
	}{
		"User":             {reason: "A user sees its tasks and those of its tokens.", who: user, cluster: 2, node: 2},
		"Token":            {reason: "A token sees its own task on the node, and none in the cluster's list.", who: owner, node: 1},
		"SeparateToken":    {reason: "Privilege separation does not matter to that.", who: separate},
		"OtherToken":       {reason: "The task of another token is not its own.", who: other},
		"TokenOfAuditor":   {reason: "An auditor's token sees all.", audit: "/", who: other, cluster: 3, node: 3},
		"SeparateAuditor":  {reason: "An auditor's token without the privileges of its user sees nothing.", audit: "/", who: separate},
		"AuditorOfAPool":   {reason: "A pool that the VM is in matters to no list of tasks.", audit: "/pool/p", who: owner, node: 1},
		"AuditorOfTheNode": {reason: "The privilege on the node is for the node's list.", audit: "/nodes", who: owner, node: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{Version: "9.2"})
			s.Edit(func(st *state.State) {
				st.Users[user] = &state.User{Password: "worker", Tokens: map[string]*state.Token{}}
				for token, separated := range map[string]bool{"a": false, "b": false, "c": true} {
					st.Users[user].Tokens[token] = &state.Token{Secret: simulatortest.TestSecret, NoSeparation: !separated}
				}
				st.Pools["p"] = &state.Pool{VMs: map[int]bool{100: true}, Storages: map[string]bool{}}
				st.ACL = append(st.ACL, state.Grant{Path: "/vms", Kind: "user", ID: user, Role: "PVEVMAdmin", Propagate: true})
				if tc.audit != "" {
					st.ACL = append(st.ACL, state.Grant{Path: tc.audit, Kind: "user", ID: user, Role: "PVEAuditor", Propagate: true})
				}
			})
			for _, starter := range []string{user, owner, "root@pam"} {
				as(t, s, starter).ok("POST /nodes/pve1/qemu/100/status/start")
			}
			c := as(t, s, tc.who)
			for path, want := range map[string]int{"/cluster/tasks": tc.cluster, "/nodes/pve1/tasks": tc.node} {
				if list, _ := c.ok("GET " + path).Data.([]any); len(list) != want {
					t.Errorf("%s\n%s has %d tasks, want %d", tc.reason, path, len(list), want)
				}
			}
		})
	}
}

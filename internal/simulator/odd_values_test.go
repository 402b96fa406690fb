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
)

// TestOddValues makes requests with unusual bodies or values, and checks that they are read like by pveproxy and PVE::JSONSchema.
func TestOddValues(t *testing.T) {
	const kind = "application/json"
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	for name, tc := range map[string]struct{ reason, verb, path, body, line, has string }{
		"NullVMID": {
			reason: "A required parameter that is null is missing.", verb: "POST", path: "/nodes/pve1/qemu", body: `{"vmid":null}`, line: wrong,
			has: `"vmid":"property is missing and it is not optional"`,
		},
		"NullGroup": {
			reason: "A name that is null is missing.", verb: "POST", path: "/access/groups", body: `{"groupid":null}`, line: wrong,
			has: `"groupid":"property is missing and it is not optional"`,
		},
		"Garbage": {
			reason: "Nothing may stand behind the object.", verb: "POST", path: "/access/groups", body: `{"groupid":"g9"} x`,
			line: "500 garbage after JSON object, at character offset 17 (before \"x\") at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 934.",
		},
		"Blank": {reason: "Blanks may stand behind the object.", verb: "POST", path: "/access/groups", body: "{\"groupid\":\"g8\"} \n", line: "200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.send(tc.verb, tc.path, kind, tc.body); got.Line != tc.line || !strings.Contains(got.Body, tc.has) {
				t.Errorf("%s got %s %s", tc.reason, got.Line, got.Body)
			}
		})
	}
	if got := c.send("POST", "/nodes/pve1/qemu", "application/x-www-form-urlencoded", "vmid=966%0a"); got.Line != "200 OK" {
		t.Errorf("a number may end with a newline, which does not count: %s %s", got.Line, got.Body)
	}
	if _, there := s.Guest(0); there {
		t.Error("no VM has the VMID 0")
	}
	if _, there := s.Guest(966); !there {
		t.Error("VM 966 is missing")
	}
	if got := c.ok("GET /nodes/pve1/tasks?limit=99999999999999999999"); got.Total == 0 || len(got.Data.([]any)) != got.Total {
		t.Errorf("a limit beyond all numbers limits nothing: %s", got.Body)
	}
	if got := c.ok("GET /"); !strings.Contains(
		got.Body,
		`{"data":[{"subdir":"version"},{"subdir":"cluster"},{"subdir":"nodes"},{"subdir":"storage"},{"subdir":"access"},{"subdir":"pools"}]}`,
	) {
		t.Errorf("the root lists its folders: %s", got.Body)
	}
	root := login(t, s, "root@pam", simulatortest.RootPassword)
	if got := root.do("DELETE /access/users/none@pve"); got.Line != "200 OK" {
		t.Errorf("root@pam removes a user who is not there: %s", got.Line)
	}
	if got := c.do("DELETE /access/users/none@pve"); got.Line != "500 no such user ('none@pve')" {
		t.Errorf("somebody else fails at the check of permissions: %s", got.Line)
	}
}

// TestEmptyOptions checks that an option without a value is absent after it was set, because it is not written to a file of sections
// (PVE::SectionConfig::write_config).
func TestEmptyOptions(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	for name, tc := range map[string]struct {
		path, at string
		params   []string
		empty    []string
	}{
		"Realm": {
			path: "/access/domains", at: "r1", params: []string{"realm=r1", "type=openid", "issuer-url=https://a", "client-id=x"}, empty: []string{"scopes", "comment"},
		},
		"Storage": {path: "/storage", at: "s1", params: []string{"storage=s1", "type=nfs", "server=192.0.2.9", "export=/x"}, empty: []string{"options"}},
		"Zone":    {path: "/cluster/sdn/zones", at: "z1", params: []string{"zone=z1", "type=simple"}, empty: []string{"dns", "ipam"}},
		"Job":     {path: "/cluster/backup", at: "j1", params: []string{"id=j1", "schedule=daily", "all=1", "storage=local"}, empty: []string{"comment", "mailto"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range tc.empty {
				tc.params = append(tc.params, key+"=")
			}
			c.ok("POST "+tc.path, tc.params...)
			got, _ := c.ok("GET " + tc.path + "/" + tc.at).Data.(map[string]any)
			for _, key := range tc.empty {
				if value, there := got[key]; there || len(got) == 0 {
					t.Errorf("want no %s, got %q of %v", key, value, got)
				}
			}
		})
	}
	c.ok("PUT /access/domains/r1", "comment=a")
	c.ok("PUT /access/domains/r1", "comment=")
	if got, _ := c.ok("GET /access/domains/r1").Data.(map[string]any); got["comment"] != nil {
		t.Errorf("an option is removed by an empty value: %v", got)
	}
}

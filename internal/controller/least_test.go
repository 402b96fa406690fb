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

package controller_test

import (
	"maps"
	"net/http"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestLeastPrivilege lives through a Machine's life with no privilege but those
// that are documented.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	lives := map[string]func(*world){"template": fromTemplate, "change": change, "grow": grow, "full": full}
	for name, version := range map[string]proxmox.Version{"8.4": {Version: "8.4.21"}, "9.2": {Version: "9.2.11"}} {
		for life, live := range lives {
			t.Run(name+"/"+life, func(t *testing.T) {
				t.Parallel()
				w := newLeast(t, "least-"+name[:1]+"-"+life, name, proxmox.Needed(version, proxmox.FeatureMachines))
				live(w)
				w.wasPermitted()
			})
		}
	}
}

// wasPermitted sees that nothing was refused but what the provider can do without.
func (w *world) wasPermitted() {
	w.Helper()
	for _, r := range w.pve.Requests() {
		if r.Status == http.StatusForbidden && r.Path != "/cluster/status" {
			w.Errorf("%s %s: %s", r.Method, r.Path, r.Message)
		}
	}
}

// newLeast is a world in which the provider's user has privileges on paths, and
// no other.
func newLeast(t *testing.T, name, version string, privileges map[string][]string) *world {
	t.Helper()
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Durations = map[string]string{"boot": "200ms", "resources": "200ms", "qmshutdown": "100ms", "copydisk": "100ms"}
	w := &world{T: t, scope: scopes()["Cluster"], name: name, pve: simulator.NewTest(t, simulator.Options{Scenario: scenario, Version: version, Speed: 1})}
	w.pve.Edit(func(s *simulator.State) { grantOnly(s, privileges) })
	if w.kube, err = client.New(apiServer, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	w.admin, err = proxmox.New(proxmox.Config{
		Endpoints: []string{w.pve.URL()}, TLS: proxmox.TLS{CA: w.pve.CA()},
		Credentials: proxmox.Credentials{Username: "root@pam", Password: simulator.RootPassword},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.admin.Close)
	w.configure()
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

func grantOnly(s *simulator.State, privileges map[string][]string) {
	s.ACL = nil
	for path, names := range maps.All(privileges) {
		role := &simulator.Role{Privileges: map[string]bool{}}
		for _, p := range names {
			role.Privileges[p] = true
		}
		s.Roles["Least"+path] = role
		s.ACL = append(s.ACL, simulator.Grant{Path: path, Kind: "user", ID: "crossplane@pve", Role: "Least" + path, Propagate: true})
	}
}

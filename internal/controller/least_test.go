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
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestLeastPrivilege runs the life of a Machine with only the documented privileges.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	lives := map[string]func(*world){"template": fromTemplate, "change": change, "grow": grow, "full": full, "userdata": userData}
	for name, life := range pairs(updated(), lives) {
		t.Run(name+"/"+life, func(t *testing.T) {
			t.Parallel()
			features := []proxmox.Feature{proxmox.FeatureMachines}
			if life == "userdata" {
				features = append(features, proxmox.FeatureUserData)
			}
			w := newLeast(t, "least-"+name[:1]+"-"+life, name, proxmox.Needed(updated()[name], features...))
			lives[life](w)
			w.wasPermitted()
		})
	}
}

// TestTeam runs lives of Machines with privileges on the VMs of one pool. VMs that do not exist yet, or no longer exist, are in no pool, and the user
// may not look for them.
func TestTeam(t *testing.T) {
	t.Parallel()
	lives := map[string]func(*world){
		"lives":     func(w *world) { w.create(pooledUbuntu()); w.ready(); w.finish() },
		"removed":   removedFromPool,
		"fails":     failsInPool,
		"restarted": restartedInPool,
		"leaves":    leavesPool,
	}
	for name, life := range pairs(updated(), lives) {
		t.Run(name+"/"+life, func(t *testing.T) {
			t.Parallel()
			needed := proxmox.Needed(updated()[name], proxmox.FeatureMachines)
			needed["/pool/"+team] = slices.Concat(needed["/vms"], []string{"Datastore.AllocateSpace", "Datastore.Audit"})
			delete(needed, "/vms")
			delete(needed, "/")
			lives[life](newLeast(t, "team-"+name[:1]+"-"+life, name, needed))
		})
	}
}

// updated returns the releases of PVE with their last updates.
func updated() map[string]proxmox.Version {
	return map[string]proxmox.Version{"8.4": {Version: "8.4.21"}, "9.2": {Version: "9.2.11"}}
}

const team = "crossplane"

// pooledUbuntu is a clone of a template of the team.
func pooledUbuntu() v1alpha1.MachineParameters {
	spec := ubuntu()
	spec.Pool = new(team)
	return spec
}

func removedFromPool(w *world) {
	w.create(pooledUbuntu())
	w.ready()
	first := w.vm().Config["vmgenid"]
	w.pve.Edit(func(s *simulator.State) {
		delete(s.Guests, 10000)
		delete(s.Pools[team].VMs, 10000)
	})
	w.eventually("another VM is created", func() bool {
		v, ok := w.pve.Guest(10000)
		return ok && v.Config["vmgenid"] != first && v.Power == simulator.Running
	})
	w.ready()
	w.finish()
}

func failsInPool(w *world) {
	w.pve.Inject(simulator.Fault{Task: "qmclone", TaskExit: "no space left on device", Count: 1})
	w.create(pooledUbuntu())
	w.ready()
	w.finish()
}

func restartedInPool(w *world) {
	w.create(pooledUbuntu())
	w.ready()
	w.stop()
	w.pve.Edit(func(s *simulator.State) {
		delete(s.Guests, 10000)
		delete(s.Pools[team].VMs, 10000)
	})
	w.delete()
	w.start()
	w.gone()
}

// leavesPool removes the VM from the pool. It is then unknown whether the VM still exists, so no other VM is created, and the Machine is not deleted
// without it.
func leavesPool(w *world) {
	w.create(pooledUbuntu())
	w.ready()
	n := len(w.writes())
	w.pve.Edit(func(s *simulator.State) { delete(s.Pools[team].VMs, 10000) })
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "Permission check failed (/vms/10000, VM.Audit)")
	w.delete()
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "Permission check failed (/vms/10000, VM.Audit)")
	if got := w.writes(); len(got) != n || !slices.Equal(w.ours(), []int{10000}) {
		w.Errorf("want the VM left alone:\n%s", w)
	}
	w.pve.Edit(func(s *simulator.State) { s.Pools[team].VMs[10000] = true })
	w.gone()
}

// wasPermitted checks that only requests were refused that the provider can do without. It also checks that the provider has not requested a list
// that PVE answers with 500 while any VM of the node is being removed, because it reads the configuration of each VM for that list.
func (w *world) wasPermitted() {
	w.Helper()
	for _, r := range w.pve.Requests() {
		if r.Status == http.StatusForbidden && r.Path != "/cluster/status" {
			w.Errorf("%s %s: %s", r.Method, r.Path, r.Message)
		}
		if r.Method == http.MethodGet && (r.Template == "/nodes/{node}/qemu" || r.Template == "/nodes/{node}/lxc") {
			w.Errorf("%s %s fails while a VM is removed: ask for the list of the cluster", r.Method, r.Path)
		}
	}
}

// newLeast returns a world in which the provider's user has only the given privileges on paths.
func newLeast(t *testing.T, name, version string, privileges map[string][]string) *world {
	t.Helper()
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Durations = brief()
	w := &world{T: t, scope: scopes()["Cluster"], name: name, pve: simulatortest.NewTest(t, simulator.Options{Scenario: scenario, Version: version, Speed: 1})}
	w.pve.Edit(func(s *simulator.State) {
		grantOnly(s, privileges)
		s.Pools[team].VMs[9000] = true
	})
	if w.kube, err = client.NewWithWatch(apiServer, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	w.admin, err = proxmox.New(proxmox.Config{
		Endpoints: []string{w.pve.URL()}, TLS: proxmox.TLS{CA: w.pve.CA()},
		Credentials: proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword},
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

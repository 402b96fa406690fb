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
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	xpresource "github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// asked returns the number of the provider's calls so far whose path template has a prefix.
func (w *world) asked(prefix string) int {
	return len(slices.DeleteFunc(w.pve.Requests(), func(r simulator.Request) bool {
		return strings.HasPrefix(r.User, "root@pam") || !strings.HasPrefix(r.Template, prefix)
	}))
}

// newStoppedPopulation returns a population of n stopped VMs that are reconciled repeatedly.
func newStoppedPopulation(t *testing.T, scopeName, name string, n int, spec v1alpha1.MachineParameters) (*population, *witness) {
	t.Helper()
	c := populations()[scopeName]
	c.world = emptyWorld(t, scopes()[scopeName], strings.ToLower(scopeName)+"-"+name, map[string]string{"qmcreate": "50ms"}, "")
	c.options = leisurely // How much is read because of its age depends on how long this takes.
	c.configure()
	c.grant("/", "PVESysAdmin")
	seen := watched(c.world)
	spec.Memory, spec.PowerState = new(resource.MustParse("64Mi")), new(v1alpha1.PowerStateStopped)
	c.create(n, spec)
	c.ready(n)
	return &c, seen
}

// TestManyOfHA checks that the HA configuration of many Machines whose VMs HA manages is read for all of them together.
func TestManyOfHA(t *testing.T) {
	t.Parallel()
	const n = 50
	c, seen := newStoppedPopulation(
		t, "Namespaced", "many-ha", n,
		v1alpha1.MachineParameters{HighAvailability: &v1alpha1.MachineHighAvailability{MaxRestart: new(int32(2))}},
	)
	seen.further(c.world, 1, 2*n) // A VM that was just created is read more often.
	vms, ha := c.asked("/nodes/{node}/qemu/{vmid}"), c.asked("/cluster/ha")
	seen.further(c.world, 1, 5*n)
	if got := c.asked("/nodes/{node}/qemu/{vmid}") - vms; got > n/10 {
		t.Errorf("Nothing has happened to the VMs: want next to no reads of them, got %d", got)
	}
	if got := c.asked("/cluster/ha") - ha; got > n/2 {
		t.Errorf("want what HA was told read for all together, got %d reads", got)
	}
	t.Logf("%d Machines: %d reads of VMs and %d of HA in five looks at each", n, c.asked("/nodes/{node}/qemu/{vmid}")-vms, c.asked("/cluster/ha")-ha)
	if got := c.asked("/cluster/ha/resources/{sid}"); got > 0 {
		t.Errorf("want no read of a resource of HA, got %d", got)
	}
	c.pve.Edit(func(s *simulator.State) {
		for _, r := range s.HA {
			r.Options["max_restart"] = "9"
		}
	})
	c.slowly("what was edited is as it should be", func() string {
		wrong := 0
		c.pve.Edit(func(s *simulator.State) {
			for _, r := range s.HA {
				if r.Options["max_restart"] != "2" {
					wrong++
				}
			}
		})
		if wrong == 0 {
			return ""
		}
		return fmt.Sprintf("%d are not", wrong)
	})
}

// TestRotated replaces the token of a provider by another one, which leads to the same cluster, and checks that the known state of the VMs is kept.
func TestRotated(t *testing.T) {
	t.Parallel()
	eachScope(t, func(t *testing.T, scopeName string) {
		t.Helper()
		const n = 20
		c, seen := newStoppedPopulation(t, scopeName, "rotated", n, v1alpha1.MachineParameters{Tags: []string{"ours"}})
		seen.further(c.world, 1, 2*n)
		before, since := c.asked("/nodes/{node}/qemu/{vmid}"), time.Now()
		c.pve.Edit(func(s *simulator.State) {
			s.Users["crossplane@pve"].Tokens["next"] = &simulator.Token{Secret: simulatortest.TestSecret, NoSeparation: true}
		})
		secret := &corev1.Secret{}
		if err := c.kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: c.name}, secret); err != nil {
			t.Fatal(err)
		}
		secret.Data["tokenID"] = []byte("crossplane@pve!next")
		if err := c.kube.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		c.eventually("the new token is used", func() bool {
			return slices.ContainsFunc(c.pve.Requests(), func(r simulator.Request) bool { return r.User == "crossplane@pve!next" })
		})
		c.pve.Edit(func(s *simulator.State) { delete(s.Users["crossplane@pve"].Tokens, "demo") })
		seen.further(c.world, 1, 5*n)
		t.Logf("%d Machines: %d reads of VMs in five looks at each", n, c.asked("/nodes/{node}/qemu/{vmid}")-before)
		// All VMs are read once within ten minutes, one after the other.
		most := n/4 + int(n*time.Since(since)/(10*time.Minute))
		if got := c.asked("/nodes/{node}/qemu/{vmid}") - before; got > most {
			t.Errorf("want at most %d reads of %d VMs because of the new token, got %d", most, n, got)
		}
		c.ready(n)
		vmid := int(*c.machines()[0].Observation().VMID)
		c.pve.Edit(func(s *simulator.State) { s.Guests[vmid].Config["tags"] = "theirs" })
		c.eventually("what is edited is still seen", func() bool {
			g, _ := c.pve.Guest(vmid)
			return g.Config["tags"] == "ours"
		})
	})
}

// TestSteadyCluster reconciles a cluster of 16 nodes and the nodes repeatedly, and checks that what rarely changes is read for all of them together,
// and rarely.
func TestSteadyCluster(t *testing.T) {
	t.Parallel()
	const nodes = 16
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	for i := len(scenario.Nodes); i < nodes; i++ {
		more := scenario.Nodes[0]
		more.Name, more.Address = fmt.Sprintf("pve%d", i+1), fmt.Sprintf("192.0.2.%d", i+11)
		scenario.Nodes = append(scenario.Nodes, more)
	}
	w := worldOf(t, scopes()["Cluster"], "steady-cluster", scenario, nil, "")
	w.poll = 200 * time.Millisecond
	w.options = func(mgr ctrl.Manager) kind.Options {
		o := kindOptions(mgr)
		o.Connections = connect.New(mgr.GetClient()) // All cached data gets as old as in production.
		return o
	}
	w.configure()
	w.promote()
	seen := watched(w)
	all := []xpresource.Managed{w.cluster("", v1alpha1.ProxmoxClusterParameters{
		Networks: []string{"vmbr0"}, Options: &v1alpha1.ProxmoxClusterOptions{Console: new("html5")},
	})}
	for i := range nodes {
		name := fmt.Sprintf("pve%d", i+1)
		all = append(all, w.node("-"+name, v1alpha1.ProxmoxNodeParameters{NodeName: &name, Description: new("A node."), TimeZone: new("Etc/UTC")}))
	}
	for _, mg := range all {
		w.make(mg)
		w.well(mg)
	}
	seen.further(w, 2, 2*nodes)
	begun, before := time.Now(), w.pve.Requests()
	seen.further(w, 2, 10*nodes)
	calls := map[string]int{}
	for _, r := range w.pve.Requests()[len(before):] {
		calls[r.Method+" "+r.Template]++
	}
	// Lists of resources are at most ten seconds old, and the health of the cluster 20.
	spans, total := int(time.Since(begun)/(10*time.Second)), 0
	for call, n := range calls {
		if strings.HasPrefix(call, http.MethodGet+" /nodes/") {
			t.Errorf("%d times %s: want nodes left alone", n, call)
		}
		total += n
	}
	t.Logf("%d calls in %s: %v", total, time.Since(begun), calls)
	if most := 6 + 4*spans; total > most {
		t.Errorf("want at most %d calls in ten looks at a cluster and at each of its %d nodes, got %d: %v", most, nodes, total, calls)
	}
	for _, mg := range all {
		w.remove(mg)
	}
}

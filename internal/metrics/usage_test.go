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

package metrics

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// machineMetrics returns the names of the metrics of each Machine.
func machineMetrics() []string {
	return []string{
		"proxmox_machine_cpu_used_cores", "proxmox_machine_memory_used_bytes",
		"proxmox_machine_disk_read_bytes_total", "proxmox_machine_disk_written_bytes_total",
	}
}

// TestMachineUsage checks that an existing Machine has the usage of its VM, if that was enabled.
func TestMachineUsage(t *testing.T) {
	web := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "a"}}
	off := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "off", UID: "b"}}
	m := New(WithMachineUsage())
	m.Machines(listed(kube(t, web, off), &namespaced.MachineList{}), closed())
	m.Usages(func() map[types.UID]vmstate.Usage {
		return map[types.UID]vmstate.Usage{
			"a":    {Node: "pve1", CPU: 0.5, CPUs: 4, Memory: 100, DiskRead: 7, DiskWritten: 9},
			"gone": {Node: "pve1", CPU: 1, CPUs: 1},
		}
	})
	r := registered(t, m)
	for name, want := range map[string]string{
		"proxmox_machine_cpu_used_cores": `
# HELP proxmox_machine_cpu_used_cores Virtual CPUs that a running Machine uses.
# TYPE proxmox_machine_cpu_used_cores gauge
proxmox_machine_cpu_used_cores{machine="web",machine_namespace="team"} 2
`,
		"proxmox_machine_memory_used_bytes": `
# HELP proxmox_machine_memory_used_bytes Memory that a running Machine uses.
# TYPE proxmox_machine_memory_used_bytes gauge
proxmox_machine_memory_used_bytes{machine="web",machine_namespace="team"} 100
`,
		"proxmox_machine_disk_read_bytes_total": `
# HELP proxmox_machine_disk_read_bytes_total Bytes that a running Machine has read from its disks since its VM was started.
# TYPE proxmox_machine_disk_read_bytes_total counter
proxmox_machine_disk_read_bytes_total{machine="web",machine_namespace="team"} 7
`,
		"proxmox_machine_disk_written_bytes_total": `
# HELP proxmox_machine_disk_written_bytes_total Bytes that a running Machine has written to its disks since its VM was started.
# TYPE proxmox_machine_disk_written_bytes_total counter
proxmox_machine_disk_written_bytes_total{machine="web",machine_namespace="team"} 9
`,
	} {
		compare(t, r, name, want)
	}
}

// TestNoMachineUsage checks that by default no Machine has separate series.
func TestNoMachineUsage(t *testing.T) {
	m := New()
	m.Machines(listed(kube(t, &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "a"}}), &namespaced.MachineList{}), closed())
	m.Usages(func() map[types.UID]vmstate.Usage { return map[types.UID]vmstate.Usage{"a": {Node: "pve1"}} })
	if got := series(t, m); got != 0 {
		t.Errorf("want no series of Machines, got %d", got)
	}
}

// series returns the number of series of Machines at a scrape.
func series(t *testing.T, m *Metrics) int {
	t.Helper()
	all, err := registered(t, m).Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, family := range all {
		for _, name := range machineMetrics() {
			if family.GetName() == name {
				n += len(family.GetMetric())
			}
		}
	}
	return n
}

// TestUsageCosts checks that scrapes make no calls: they show what the list of resources contains, which is read anyway.
func TestUsageCosts(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c, err := proxmox.New(proxmox.Config{
		Endpoints: []string{s.URL()}, TLS: proxmox.TLS{CA: s.CA()},
		Credentials: proxmox.Credentials{TokenID: simulatortest.TestToken, TokenSecret: simulatortest.TestSecret},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	const vmid = 100
	s.Edit(func(st *simulator.State) { st.Guests[vmid].Power = simulator.Running })
	seen, vms := inventory.New(c, inventory.WithMaxAge(time.Hour), inventory.WithEventPollInterval(time.Hour)), vmcache.New(time.Now, time.Hour)
	t.Cleanup(seen.Close)
	m := New(WithMachineUsage())
	m.Machines(listed(kube(t, &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "a"}}), &namespaced.MachineList{}), closed())
	m.Usages(vms.Usages)
	w := vmcache.Watcher{Cache: vms, UID: objectstate.UID("a"), Wake: func() {}}
	seen.Watch(t.Context(), "a", vmid, w)
	vms.BeginRead(w.UID, qemu.Identity{VMID: vmid}, seen, false)
	if _, err := seen.Guests(t.Context(), inventory.Fresh); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); series(t, m) == 0; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the list of resources was read, and no series is there")
		}
	}
	s.ClearRequests()
	for range 10 {
		if got := series(t, m); got != len(machineMetrics()) {
			t.Fatalf("want %d series, got %d", len(machineMetrics()), got)
		}
	}
	if all := s.Requests(); len(all) > 0 {
		t.Errorf("ten scrapes cost %d calls: %s %s", len(all), all[0].Method, all[0].Path)
	}
}

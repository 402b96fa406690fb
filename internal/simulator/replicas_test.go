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
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// pools returns the lab with a ZFS pool on each of three nodes.
func pools() *simulator.Scenario {
	sc := lab()
	sc.Nodes = append(sc.Nodes, simulator.ScenarioNode{Name: "pve3"})
	sc.Durations = map[string]string{"qmdestroy": "0s", "qmigrate": "0s"}
	sc.Storages = append(sc.Storages, simulator.ScenarioStorage{ID: "tank", Type: "zfspool", Content: []string{"images"}})
	return sc
}

// volumesOf returns a guest's volumes on all nodes, with the job that created them.
func volumesOf(s *simulator.Server, vmid int) []string {
	out := []string{}
	s.Edit(func(st *state.State) {
		for k, v := range st.Volumes {
			if v.VMID == vmid {
				out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s:%s %s", k.Node, k.Storage, k.Name, v.Replica)))
			}
		}
	})
	slices.Sort(out)
	return out
}

// TestReplication checks a guest with a volume on pve1 that a job has replicated to pve2.
func TestReplication(t *testing.T) {
	const (
		job, vm = "/cluster/replication/100-0", "/nodes/pve1/qemu/100"
		here    = "pve1 tank:vm-100-disk-0"
		there   = "pve2 tank:vm-100-disk-0 100-0"
	)
	off := func(st *state.State) { st.Nodes["pve2"].Offline = true }
	do := func(request string, params ...string) func(*testing.T, *simulator.Server, *client) {
		return func(_ *testing.T, _ *simulator.Server, c *client) { c.ok(request, params...) }
	}
	for name, tc := range map[string]struct {
		reason  string
		do      []func(*testing.T, *simulator.Server, *client)
		volumes []string
		jobs    string // A part of the list of jobs.
	}{
		"Sent":     {reason: "A job sends the guest's volumes.", volumes: []string{here, there}, jobs: `"guest":100,"id":"100-0","jobnum":0`},
		"Removed":  {reason: "A job is removed with what it has made.", do: list(do("DELETE " + job)), volumes: []string{here}},
		"Kept":     {reason: "What it has made stays on request.", do: list(do("DELETE "+job, "keep=1")), volumes: []string{here, there}},
		"Forced":   {reason: "What a job has made stays if the job is not to clean up.", do: list(do("DELETE "+job, "force=1")), volumes: []string{here, there}},
		"Disabled": {reason: "A job that is off is removed all the same.", do: list(do("PUT "+job, "disable=1"), do("DELETE "+job)), volumes: []string{here}},
		"Offline": {
			reason: "A job cannot be removed without its target.", do: list(edit(off), do("DELETE "+job)),
			volumes: []string{here, there}, jobs: `"remove_job":"full"`,
		},
		"Back": {
			reason: "A job is removed when its target is back.", do: list(edit(off), do("DELETE "+job), pass(time.Minute), edit(func(st *state.State) {
				st.Nodes["pve2"].Offline = false
			})),
			volumes: []string{here},
		},
		"Purged": {
			reason: "A job is forgotten with its guest, and what it has made stays.", do: list(do("DELETE "+vm, "purge=1"), pass(time.Minute)),
			volumes: []string{there},
		},
		"Destroyed": {
			reason: "A job that is removed too late does not clean up.",
			do:     list(do("DELETE "+job), do("DELETE "+vm, "purge=1"), pass(time.Minute)), volumes: []string{there},
		},
		"Grown": {
			reason:  "What comes is sent by the next run, and what was removed goes.",
			do:      list(do("PUT "+vm+"/config", "scsi1=tank:1"), pass(time.Minute), do("PUT "+vm+"/unlink", "idlist=scsi0", "force=1"), pass(15*time.Minute)),
			volumes: []string{"pve1 tank:vm-100-disk-1", "pve2 tank:vm-100-disk-1 100-0"}, jobs: `"100-0"`,
		},
		"LeftOut": {
			reason: "A disk may be left out.", do: list(do("PUT "+vm+"/config", "scsi1=tank:1,replicate=0"), pass(15*time.Minute)),
			volumes: []string{here, "pve1 tank:vm-100-disk-1", there}, jobs: `"100-0"`,
		},
		"Migrated": {
			reason: "Source and target change places.", do: list(do("POST "+vm+"/migrate", "target=pve2"), pass(time.Minute)),
			volumes: []string{here + " 100-0", strings.TrimSuffix(there, " 100-0")}, jobs: `"source":"pve2","target":"pve1"`,
		},
		"Stolen": {
			reason: "A guest whose configuration was taken to the target is replicated back.", do: list(edit(func(st *state.State) {
				st.Guests[100].Node = "pve2"
			}), pass(time.Minute)),
			volumes: []string{here + " 100-0", strings.TrimSuffix(there, " 100-0")}, jobs: `"source":"pve2","target":"pve1"`,
		},
		"RemovedThere": {
			reason:  "Replicas of a guest whose configuration was taken to the target are removed from where it was.",
			do:      list(do("POST "+vm+"/migrate", "target=pve2"), pass(time.Minute), do("DELETE "+job)),
			volumes: []string{strings.TrimSuffix(there, " 100-0")},
		},
		"InTheWay": {
			reason: "What others have on the target is not overwritten.",
			do: list(do("DELETE "+job), pass(time.Minute), edit(func(st *state.State) {
				st.Volumes[state.VolumeKey{Storage: "tank", Node: "pve2", Name: "vm-100-disk-0"}] = &state.Volume{VMID: 100, Size: 7}
			}), do("POST /cluster/replication", "id=100-1", "type=local", "target=pve2")),
			volumes: []string{here, strings.TrimSuffix(there, " 100-0")}, jobs: `"100-1"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newHandClock()
			s := simulatortest.NewTest(t, simulator.Options{Scenario: pools(), Speed: 1, Clock: clock})
			c := connect(t, s)
			s.Edit(func(st *state.State) {
				g := st.NewGuest(100, "pve1", map[string]string{"scsi0": "tank:vm-100-disk-0,size=1G"})
				st.Volumes[state.VolumeKey{
					Storage: "tank", Node: g.Node, Name: "vm-100-disk-0",
				}] = &state.Volume{VMID: 100, Format: "raw", Content: "images", Size: 1 << 30}
			})
			c.ok("POST /cluster/replication", "id=100-0", "type=local", "target=pve2")
			pass(time.Minute)(t, s, c)
			for _, do := range tc.do {
				do(t, s, c)
			}
			pass(time.Minute)(t, s, c)
			if diff := cmp.Diff(tc.volumes, volumesOf(s, 100)); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
			if got := c.ok("GET /cluster/replication").Body; !strings.Contains(got, tc.jobs) || tc.jobs == "" && strings.Contains(got, "100-") {
				t.Errorf("%s got jobs %s, want %q", tc.reason, got, tc.jobs)
			}
		})
	}
}

func list(do ...func(*testing.T, *simulator.Server, *client)) []func(*testing.T, *simulator.Server, *client) {
	return do
}

func edit(fn func(*state.State)) func(*testing.T, *simulator.Server, *client) {
	return func(_ *testing.T, s *simulator.Server, _ *client) { s.Edit(fn) }
}

// pass advances the time when all tasks have ended.
func pass(d time.Duration) func(*testing.T, *simulator.Server, *client) {
	return func(t *testing.T, s *simulator.Server, _ *client) {
		t.Helper()
		s.Workers.Wait()
		clock, _ := s.Clock.(*handClock)
		clock.advance(d)
		s.Edit(func(*state.State) {})
	}
}

// TestReplicationPrivileges checks who may remove jobs, which depends on the version.
func TestReplicationPrivileges(t *testing.T) {
	for version, line := range map[string]string{"8.4": "403 Permission check failed (/storage, Datastore.Allocate)", "9.2": "500 no such job '100-0'"} {
		c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: pools(), Version: version})).with(
			"Authorization", "PVEAPIToken=vmuser@pve!t1="+simulatortest.TestSecret,
		)
		if got := c.do("DELETE /cluster/replication/100-0"); got.Line != line {
			t.Errorf("%s: got %s, want %s", version, got.Line, line)
		}
	}
}

// TestReplicationTrouble checks what a node reports about a job that fails, and what a migration must not do to it.
func TestReplicationTrouble(t *testing.T) {
	clock := newHandClock()
	s := simulatortest.NewTest(t, simulator.Options{Scenario: pools(), Clock: clock})
	c := connect(t, s)
	c.ok("POST /nodes/pve1/qemu", "vmid=100", "scsi0=tank:1")
	c.ok("POST /cluster/replication", "id=100-0", "type=local", "target=pve2")
	s.Edit(func(st *state.State) { st.Nodes["pve2"].Offline = true })
	c.ok("DELETE /cluster/replication/100-0")
	converse(t, c, []step{
		{request: "GET /nodes/pve1/replication", params: []string{"guest=100"}, has: `"error":"command '/usr/bin/ssh `},
		{request: "GET /nodes/pve1/replication", params: []string{"guest=101"}, has: `"data":[]`},
		{request: "GET /nodes/pve3/replication", has: `"data":[]`},
		{request: "PUT /nodes/pve1/qemu/100/config", params: []string{"scsi1=local:1"}, line: "500 cannot add non-replicatable volume to a replicated VM"},
		{request: "PUT /nodes/pve1/qemu/100/config", params: []string{"scsi1=nfs:1", "ide2=local:iso/tiny.iso,media=cdrom"}},
	})
	s.Edit(func(st *state.State) {
		st.Replications["100-0"] = map[string]string{"type": "local", "target": "pve2", "source": "pve1"}
	})
	c.ok("POST /nodes/pve1/qemu/100/status/start")
	if got := c.do("POST /nodes/pve1/qemu/100/migrate", "target=pve3", "online=1", "with-local-disks=1"); !strings.Contains(got.Line, "not a replication target") {
		t.Errorf("a live migration past the target: %s", got.Line)
	}
	s.Edit(func(st *state.State) { st.Nodes["pve2"].Offline, st.Guests[100].Power = false, state.Stopped })
	s.Edit(func(st *state.State) { st.Nodes["pve3"].Offline = true })
	c.ok("POST /cluster/replication", "id=100-1", "type=local", "target=pve3")
	c.ok("DELETE /cluster/replication/100-1")
	if exit := c.task("POST /nodes/pve1/qemu/100/migrate", "target=pve3"); exit != "migration aborted" {
		t.Errorf("a migration to where a job is being removed: %s", exit)
	}
}

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
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// backedUp returns a cluster with a VM and storages for backups: a file storage and a backup server.
func backedUp(t *testing.T) (*simulator.Server, *client) {
	t.Helper()
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	c.ok("PUT /storage/local", "content=images,iso,import,backup")
	c.ok("POST /storage", "storage=pbs", "type=pbs", "server=10.0.0.9", "datastore=d", "username=u@pbs", "password=secret-word", "content=backup")
	s.Edit(func(st *state.State) { st.Storages["pbs"].Total = 1 << 40 })
	c.task("POST /nodes/pve1/qemu", "vmid=100", "name=web", "scsi0=local:0,import-from=local:import/tiny.qcow2", "scsi1=local:1,backup=0")
	return s, c
}

// backups returns the backups of a cluster, the latest first.
func backups(s *simulator.Server) []string {
	var names []string
	s.Edit(func(st *state.State) {
		for key, v := range st.Volumes {
			if v.Content == "backup" {
				names = append(names, key.Storage+":"+key.Name)
			}
		}
	})
	slices.Sort(names)
	slices.Reverse(names)
	return names
}

// logOf returns the log of the latest task.
func logOf(s *simulator.Server) string {
	log := ""
	s.Edit(func(st *state.State) { log = strings.Join(st.Tasks[len(st.Tasks)-1].Log, "\n") })
	return log
}

func TestBackupAttributes(t *testing.T) {
	s, c := backedUp(t)
	const content = "GET /nodes/pve1/storage/local/content"
	notes := `notes-template=of {{guestname}}\nmore`
	if exit := c.task("POST /nodes/pve1/vzdump", "vmid=100", "storage=local", "compress=zstd", "protected=1", notes); exit != "OK" {
		t.Fatalf("backup: %s\n%s", exit, logOf(s))
	}
	name := backups(s)[0]
	for _, line := range []string{
		"starting new backup job: vzdump 100", "exclude disk 'scsi1'", "include disk 'scsi0'",
		"creating vzdump archive '/var/lib/vz/dump/" + strings.TrimPrefix(name, "local:backup/") +
			"'", "marking backup as protected", "Backup job finished successfully",
	} {
		if !strings.Contains(logOf(s), line) {
			t.Errorf("want %q in the log:\n%s", line, logOf(s))
		}
	}
	const one = "/nodes/pve1/storage/local/content/"
	converse(t, c, []step{
		{request: content, params: []string{"content=backup"}, has: `"notes":"of web","protected":1`},
		{request: "GET " + one + name, has: `"notes":"of web\nmore"`},
		{request: "GET /nodes/pve1/vzdump/extractconfig", params: []string{"volume=" + name}, has: `name: web`},
		{request: "PUT " + one + name, params: []string{"notes=other"}},
		{request: content, params: []string{"content=backup"}, has: `"notes":"other","protected":1`},
		{request: "PUT /nodes/pve1/storage/local/content/local:iso/x.iso", params: []string{"notes=other"}, line: "500 only backups can have notes"},
	})
	if exit := c.task("DELETE " + one + name); !strings.HasPrefix(exit, "cannot remove protected volume 'backup/vzdump-qemu-100-") {
		t.Errorf("a protected backup is kept, got %q", exit)
	}
	c.ok("PUT "+one+name, "protected=0")
	if exit := c.task("DELETE " + one + name); exit != "OK" || len(backups(s)) > 0 {
		t.Errorf("it is removed then, got %q and %v", exit, backups(s))
	}
}

func TestBackupServer(t *testing.T) {
	s, c := backedUp(t)
	if exit := c.task("POST /nodes/pve1/vzdump", "vmid=100", "storage=pbs", `notes-template=a\nb`); exit != "OK" {
		t.Fatalf("backup: %s\n%s", exit, logOf(s))
	}
	name := backups(s)[0]
	if !strings.HasPrefix(name, "pbs:backup/vm/100/") || !strings.Contains(logOf(s), "creating Proxmox Backup Server archive 'vm/100/") {
		t.Errorf("got %s\n%s", name, logOf(s))
	}
	s.Edit(func(st *state.State) { st.Volume("pve1", name).Verification = "ok" })
	converse(t, c, []step{{request: "GET /nodes/pve1/storage/pbs/content", has: `"format":"pbs-vm","notes":"a\nb"`}})
	converse(t, c, []step{{request: "GET /nodes/pve1/storage/pbs/content", has: `"verification":{"state":"ok"`}})
	if exit := c.task("POST /nodes/pve1/qemu", "vmid=300", "archive="+name, "storage=local", "unique=1"); exit != "OK" {
		t.Errorf("restore: %s", exit)
	}
}

// TestBackupFails checks that the task finds the problems.
func TestBackupFails(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		prepare func(*simulator.Server, *client)
		params  []string
		exit    string
		log     string
	}{
		"Content": {
			reason: "A storage without backups.", params: []string{"vmid=100", "storage=data2"},
			exit: "could not get storage information for 'data2': can't use storage 'data2' for backups - wrong content type",
		},
		"NoVM": {reason: "A VM that is nowhere.", params: []string{"vmid=999", "storage=local"}, exit: "job errors", log: "unable to find VM '999'"},
		"Limit": {
			reason: "A storage has as many backups as it keeps.", prepare: func(_ *simulator.Server, c *client) {
				c.task("POST /nodes/pve1/vzdump", "vmid=100", "storage=local")
				c.ok("PUT /storage/local", "prune-backups=keep-last=1")
			}, params: []string{"vmid=100", "storage=local", "remove=0"},
			exit: "job errors", log: "There is a max backup limit of 1 enforced by the target storage",
		},
		"Protected": {
			reason: "A storage has as many protected backups as it keeps.", prepare: func(_ *simulator.Server, c *client) {
				c.ok("PUT /storage/local", "max-protected-backups=0")
			},
			params: []string{"vmid=100", "storage=local", "protected=1"}, exit: "job errors", log: "limited to 0 on storage 'local'",
		},
		"Locked": {
			reason: "A VM that is locked.", prepare: func(s *simulator.Server, _ *client) {
				s.Edit(func(st *state.State) { st.Guests[100].Config["lock"] = "snapshot" })
			},
			params: []string{"vmid=100", "storage=local"}, exit: "job errors", log: "VM is locked (snapshot)",
		},
		"HA": {
			reason: "A VM that HA keeps running is not stopped.", prepare: func(_ *simulator.Server, c *client) {
				c.ok("POST /cluster/ha/resources", "sid=vm:100", "state=started")
			},
			params: []string{"vmid=100", "storage=local", "mode=stop"}, exit: "job errors", log: "Cannot execute a backup with stop mode",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := backedUp(t)
			if tc.prepare != nil {
				tc.prepare(s, c)
			}
			before := len(backups(s))
			if exit := c.task("POST /nodes/pve1/vzdump", tc.params...); exit != tc.exit || !strings.Contains(logOf(s), tc.log) {
				t.Errorf("%s got %q\n%s", tc.reason, exit, logOf(s))
			}
			if after := len(backups(s)); after != before {
				t.Errorf("%s a failure leaves nothing, got %v", tc.reason, backups(s))
			}
		})
	}
}

// TestPrune checks that older backups are removed by the retention of the storage, except those that are protected.
func TestPrune(t *testing.T) {
	s, c := backedUp(t)
	for range 4 {
		c.task("POST /nodes/pve1/vzdump", "vmid=100", "storage=local")
		s.Edit(func(st *state.State) {
			all := maps.Clone(st.Volumes)
			maps.DeleteFunc(st.Volumes, func(_ state.VolumeKey, v *state.Volume) bool { return v.Content == "backup" })
			for key, v := range all { // Names have seconds: make the earlier ones older.
				if v.Content == "backup" {
					v.Created = v.Created.Add(-time.Hour)
					key.Name = "backup/vzdump-qemu-100-" + v.Created.Format("2006_01_02-15_04_05") + ".vma"
					st.Volumes[key] = v
				}
			}
		})
	}
	made := backups(s)
	c.ok("PUT /nodes/pve1/storage/local/content/"+made[3], "protected=1")
	c.ok("PUT /storage/local", "prune-backups=keep-last=2")
	c.task("POST /nodes/pve1/vzdump", "vmid=100", "storage=local")
	left := backups(s)
	if len(left) != 3 || left[1] != made[0] || left[2] != made[3] {
		t.Errorf("want the new one, the latest and the protected one, got %v of %v", left, made)
	}
}

// TestRestoreInPlace restores an existing VM: the disks of the backup's drives are replaced, the snapshots are deleted, and all other disks of the VM stay
// as unused ones.
func TestRestoreInPlace(t *testing.T) {
	s, c := backedUp(t)
	const vm = "/nodes/pve1/qemu/100"
	c.task("POST "+vm+"/config", "scsi2=data2:1", "scsi3=data2:2")
	c.ok("PUT "+vm+"/config", "delete=scsi3")
	if exit := c.task("POST /nodes/pve1/vzdump", "vmid=100", "storage=local"); exit != "OK" {
		t.Fatalf("backup: %s\n%s", exit, logOf(s))
	}
	archive := "archive=" + backups(s)[0]
	c.task("POST "+vm+"/config", "scsi4=data2:3", "delete=scsi1")
	before := c.config(vm)
	s.Edit(func(st *state.State) {
		g := st.Guests[100]
		g.Snapshots["s1"] = &state.Snapshot{Config: map[string]string{"vmstate": "data2:100/vm-100-state-s1.raw"}}
		g.Config["parent"] = "s1"
		st.Volumes[st.Storages["data2"].Key("pve1", "100/vm-100-state-s1.raw")] = &state.Volume{VMID: 100, Content: "images", Format: "raw"}
	})
	c.ok("PUT "+vm+"/config", "protection=1")
	if exit := c.task("POST /nodes/pve1/qemu", "vmid=100", archive, "force=1"); exit != "unable to restore VM 100 - protection mode enabled" {
		t.Errorf("a VM that is protected is left alone, got %q", exit)
	}
	if now := c.config(vm); now["lock"] != nil || now["scsi4"] != before["scsi4"] || now["parent"] != "s1" {
		t.Errorf("nothing is changed by that, got %v", now)
	}
	c.ok("PUT "+vm+"/config", "protection=0")
	if exit := c.task("POST /nodes/pve1/qemu", "vmid=100", archive, "force=1"); exit != "OK" {
		t.Fatalf("restore: %s\n%s", exit, logOf(s))
	}
	now := c.config(vm)
	unused := map[string]bool{}
	for key, value := range now {
		if strings.HasPrefix(key, "unused") {
			unused[value.(string)] = true
		}
	}
	volumeOf := func(key string) string { id, _, _ := strings.Cut(before[key].(string), ","); return id }
	want := map[string]bool{"local:100/vm-100-disk-1.raw": true, volumeOf("unused0"): true, volumeOf("scsi4"): true}
	if !maps.Equal(unused, want) || now["parent"] != nil || now["scsi0"] == nil || now["scsi2"] == nil || now["scsi4"] != nil {
		t.Errorf("want the unused disks %v, got %v", want, now)
	}
	s.Edit(func(st *state.State) {
		if len(st.Guests[100].Snapshots) > 0 || st.Volume("pve1", "data2:100/vm-100-state-s1.raw") != nil {
			t.Error("the snapshots are gone, with the memory that they had")
		}
	})
}

// TestRunBackupJob makes each node run a job as its scheduler does.
func TestRunBackupJob(t *testing.T) {
	s, c := backedUp(t)
	c.task("POST /nodes/pve2/qemu", "vmid=910", "name=db")
	c.ok("POST /cluster/backup", "id=nightly", "schedule=daily", "vmid=910,100", "storage=pbs", "comment=x", "notes-template={{guestname}}")
	if status, _ := steer(t, s, "POST backup-jobs/none/run", ""); status != http.StatusNotFound {
		t.Errorf("a job that is not there: %d", status)
	}
	runs := func() []string {
		var all []string
		if status, body := steer(t, s, "POST backup-jobs/nightly/run", ""); status != http.StatusOK {
			t.Fatalf("a run: %d %v", status, body)
		}
		s.Edit(func(st *state.State) {
			for _, task := range st.Tasks {
				if task.Type == "vzdump" {
					all = append(all, fmt.Sprintf("%s %s %s %s: %s", task.Node, task.User, task.ID, task.Exit, strings.Join(task.Log[:2], "; ")))
				}
			}
			st.Tasks = nil
		})
		return all
	}
	const command, options = "INFO: starting new backup job: vzdump 910 100 ", "--notes-template '{{guestname}}' --quiet 1 --storage pbs; "
	want := []string{
		"pve1 root@pam 100 OK: " + command + options + "INFO: skip external VMs: 910",
		"pve2 root@pam 910 OK: " + command + options + "INFO: skip external VMs: 100",
	}
	if diff := cmp.Diff(want, runs()); diff != "" {
		t.Errorf("runs: -want, +got:\n%s", diff)
	}
	c.ok("PUT /cluster/backup/nightly", "node=pve2")
	want = []string{"pve2 root@pam 910 OK: " + command + "--node pve2 " + options + "INFO: Starting Backup of VM 910 (qemu)"}
	if diff := cmp.Diff(want, runs()); diff != "" {
		t.Errorf("runs of a job for one node: -want, +got:\n%s", diff)
	}
}

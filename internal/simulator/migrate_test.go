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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// TestLocalMediaBeforeMigration checks that the check of a migration reports media in drives that are pending or in a snapshot, like those in force.
func TestLocalMediaBeforeMigration(t *testing.T) {
	const vm = "/nodes/pve1/qemu/100"
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	c.ok("POST /nodes/pve1/qemu", "vmid=100", "scsi0=nfs:1")
	c.ok("POST " + vm + "/status/start")
	c.ok("PUT "+vm+"/config", "ide0=local:iso/tiny.iso,media=cdrom")
	data, _ := c.ok("GET " + vm + "/migrate").Data.(map[string]any)
	disks, _ := data["local_disks"].([]any)
	if len(disks) != 1 {
		t.Fatalf("want one local medium, got %v", disks)
	}
	disk, _ := disks[0].(map[string]any)
	if disk["cdrom"] != 1.0 || disk["is_attached"] != 0.0 || disk["drivename"] != "ide0" {
		t.Errorf("want a medium of a drive to come, got %v", disk)
	}
}

func TestMigrate(t *testing.T) {
	const vm = "/nodes/pve1/qemu/100"
	for name, tc := range map[string]struct {
		reason  string
		create  []string
		running bool
		params  []string
		line    string
		exit    string
		disk    string
	}{
		"Shared": {reason: "Shared disks stay where they are.", create: []string{"scsi0=nfs:1"}, exit: "OK", disk: "nfs:100/vm-100-disk-0.raw,size=1G"},
		"Local":  {reason: "Local ones go with a VM that is off.", create: []string{"scsi0=local:1"}, exit: "OK", disk: "local:100/vm-100-disk-0.raw,size=1G"},
		"Live": {
			reason: "Local disks go with a VM that runs only on request.", create: []string{"scsi0=local:1"}, running: true, params: []string{"online=1"},
			exit: "migration aborted",
		},
		"LiveLocal": {
			reason: "Local disks of a running VM go along on request.",
			create: []string{"scsi0=local:1"}, running: true, params: []string{"online=1", "with-local-disks=1"},
			exit: "OK", disk: "local:100/vm-100-disk-0.raw,format=raw,size=1G",
		},
		"LiveSeed": {
			reason: "A drive for cloud-init goes along unasked.",
			create: []string{"scsi0=nfs:1", "ide2=local:cloudinit"}, running: true, params: []string{"online=1"}, exit: "OK", disk: "nfs:100/vm-100-disk-0.raw,size=1G",
		},
		"LiveTPM": {
			reason: "The state of a TPM goes along unasked.",
			create: []string{"scsi0=nfs:1", "tpmstate0=local:1"}, running: true, params: []string{"online=1"}, exit: "OK", disk: "nfs:100/vm-100-disk-0.raw,size=1G",
		},
		"Storage": {
			reason: "Local disks may go to another storage.", create: []string{"scsi0=local:1"}, params: []string{"targetstorage=data2"}, exit: "OK",
			disk: "data2:100/vm-100-disk-0.raw,size=1G",
		},
		"Mapped": {
			reason: "Only some disks may go to another storage.", create: []string{"scsi0=local:1"}, params: []string{"targetstorage=data2:nfs"}, exit: "OK",
			disk: "local:100/vm-100-disk-0.raw,size=1G",
		},
		"ISO": {
			reason: "An ISO image on local storage holds it back.", create: []string{"scsi0=nfs:1", "ide0=local:iso/tiny.iso,media=cdrom"},
			exit: "migration aborted",
		},
		"CDROM": {reason: "The drive of the node holds a VM back.", create: []string{"scsi0=nfs:1", "ide0=cdrom,media=cdrom"}, exit: "migration aborted"},
		"Empty": {
			reason: "An empty drive does not.", create: []string{"scsi0=nfs:1", "ide0=none,media=cdrom"}, exit: "OK",
			disk: "nfs:100/vm-100-disk-0.raw,size=1G",
		},
		"NoOnline": {
			reason: "A running VM needs to be named one.", create: []string{"scsi0=nfs:1"}, running: true,
			line: "500 can't migrate running VM without --online",
		},
		"NoStorage": {
			reason: "The storage must be there.", create: []string{"scsi0=nfs:1"}, params: []string{"targetstorage=nostore"},
			line: "500 storage 'nostore' does not exist",
		},
		"NoImages": {
			reason: "The storage that disks go to must hold images.", create: []string{"scsi0=nfs:1"}, params: []string{"targetstorage=isostore"},
			line: "500 storage 'isostore' does not support vm images",
		},
		"TwoDefaults": {reason: "One storage is for all.", create: []string{"scsi0=nfs:1"}, params: []string{"targetstorage=data2,local"}, line: wrong},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
			c := connect(t, s)
			c.ok("POST /nodes/pve1/qemu", append(tc.create, "vmid=100")...)
			if tc.running {
				c.ok("POST " + vm + "/status/start")
			}
			params := append([]string{"target=pve2"}, tc.params...)
			if tc.line != "" {
				if got := c.do("POST "+vm+"/migrate", params...); got.Line != tc.line {
					t.Errorf("%s got %s %s, want %s", tc.reason, got.Line, got.Body, tc.line)
				}
				return
			}
			if exit := c.task("POST "+vm+"/migrate", params...); exit != tc.exit {
				t.Errorf("%s got %q, want %q", tc.reason, exit, tc.exit)
			}
			if tc.exit != "OK" {
				return
			}
			g, _ := s.Guest(100)
			if g.Node != "pve2" || g.Config["scsi0"] != tc.disk {
				t.Errorf("%s got %s on %s, want %s", tc.reason, g.Config["scsi0"], g.Node, tc.disk)
			}
			if tc.running {
				c.ok("POST /nodes/pve2/qemu/100/status/stop")
			}
			if exit := c.task("DELETE /nodes/pve2/qemu/100"); exit != "OK" {
				t.Errorf("cannot destroy it: %s", exit)
			}
		})
	}
}

// TestProcessAfterMigration resets and suspends a VM while it is migrated. Each task waits for the VM's lock, and then finds that the VM is no longer on
// its node.
func TestProcessAfterMigration(t *testing.T) {
	const vm = "/nodes/pve1/qemu/100"
	for request, params := range map[string][]string{"status/suspend": {"todisk=1"}, "status/reset": nil} {
		t.Run(request, func(t *testing.T) {
			clock := newHandClock()
			s := simulatortest.NewTest(t, simulator.Options{Scenario: lab(), Speed: 1, Clock: clock})
			c := connect(t, s)
			for _, step := range []struct {
				request string
				params  []string
			}{{"POST /nodes/pve1/qemu", []string{"vmid=100", "scsi0=local:1"}}, {"POST " + vm + "/status/start", nil}} {
				upid, _ := c.ok(step.request, step.params...).Data.(string)
				clock.ended(t, s, upid)
			}
			migration, _ := c.ok("POST "+vm+"/migrate", "target=pve2", "online=1", "with-local-disks=1").Data.(string)
			for !strings.Contains(c.ok("GET /nodes/pve1/tasks/"+migration+"/log").Body, "starting migration") { // The task has the lock then.
				<-time.After(time.Millisecond)
			}
			upid, _ := c.ok("POST "+vm+"/"+request, params...).Data.(string)
			if exit := clock.ended(t, s, migration); exit != "OK" {
				t.Fatal(exit)
			}
			const want = "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"
			if exit := clock.ended(t, s, upid); exit != want {
				t.Errorf("got %q, want %q", exit, want)
			}
			if g, _ := s.Guest(100); g.Power != state.Running || g.Config["vmstate"] != "" {
				t.Errorf("the VM is %s, its memory in %q", g.Power, g.Config["vmstate"])
			}
		})
	}
}

// TestMigrateSnapshots migrates VMs with a disk on local storage that a snapshot contains.
func TestMigrateSnapshots(t *testing.T) {
	const vm = "/nodes/pve1/qemu/300"
	for name, tc := range map[string]struct {
		reason, disk string
		running      bool
		exit, line   string
	}{
		"Running": {
			reason: "QEMU's mirror copies no snapshots.", disk: "local:1,format=qcow2", running: true,
			exit: "migration aborted", line: "online storage migration not possible if non-replicated snapshot exists",
		},
		"Off":  {reason: "A file has its snapshots in it.", disk: "local:1,format=qcow2", exit: "OK"},
		"Thin": {reason: "Volumes of LVM cannot take theirs along.", disk: "local-lvm:1", exit: "migration aborted", line: "non-migratable snapshot exists"},
		"Shared": {
			reason: "What both nodes have stays where it is.", disk: "nfs:1,format=qcow2", running: true, exit: "OK",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{})
			c := connect(t, s)
			c.ok("POST /nodes/pve1/qemu", "vmid=300", "scsi0="+tc.disk)
			if tc.running {
				c.ok("POST " + vm + "/status/start")
			}
			c.ok("POST "+vm+"/snapshot", "snapname=one")
			check, _ := c.ok("GET " + vm + "/migrate").Data.(map[string]any)
			disks, _ := check["local_disks"].([]any)
			for _, d := range disks {
				if in, _ := d.(map[string]any)["referenced_in_snapshot"].(map[string]any); in["one"] != 1.0 {
					t.Errorf("the check does not tell of the snapshot: %v", d)
				}
			}
			if len(disks) == 0 && name != "Shared" {
				t.Error("the check tells of no disk")
			}
			if exit := c.task("POST "+vm+"/migrate", "target=pve2", "online=1", "with-local-disks=1"); exit != tc.exit {
				t.Errorf("%s got %q, want %q", tc.reason, exit, tc.exit)
			}
			log := s.Tasks()[len(s.Tasks())-1].Log
			if tc.line != "" && !slices.ContainsFunc(log, func(l string) bool { return strings.HasSuffix(l, ": "+tc.line) }) {
				t.Errorf("%s the log is %q", tc.reason, log)
			}
		})
	}
}

// TestMigrateNames migrates a running VM. QEMU copies its disks to new ones, which get the lowest free names in the order of their devices. Volumes that
// are copied as files keep their names.
func TestMigrateNames(t *testing.T) {
	const vm = "/nodes/pve1/qemu/300"
	for name, tc := range map[string]struct {
		reason  string
		running bool
		steps   []string
		want    map[string]string
	}{
		"Permuted": {
			reason: "All names are there still, and each is another disk's.", running: true, steps: []string{"scsi8=local-lvm:4"},
			want: map[string]string{
				"scsi0": "local-lvm:vm-300-disk-0,format=raw,size=1G", "scsi6": "local-lvm:vm-300-disk-1,format=raw,size=3G",
				"scsi8": "local-lvm:vm-300-disk-2,format=raw,size=4G",
			},
		},
		"Unused": {
			reason: "A disk that is detached is copied first, and keeps its name.", running: true,
			steps: []string{"scsi8=local-lvm:4", "delete=scsi8"},
			want: map[string]string{
				"scsi0": "local-lvm:vm-300-disk-0,format=raw,size=1G", "scsi6": "local-lvm:vm-300-disk-2,format=raw,size=3G",
				"unused0": "local-lvm:vm-300-disk-1",
			},
		},
		"Off": {
			reason: "A VM that is off keeps the names of its disks.", steps: []string{"scsi8=local-lvm:4"},
			want: map[string]string{"scsi0": "local-lvm:vm-300-disk-0,size=1G", "scsi6": "local-lvm:vm-300-disk-2,size=3G", "scsi8": "local-lvm:vm-300-disk-1,size=4G"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{})
			c := connect(t, s)
			c.ok("POST /nodes/pve1/qemu", "vmid=300", "scsi0=local-lvm:1", "scsi5=local-lvm:2", "scsi6=local-lvm:3")
			for _, step := range append([]string{"delete=scsi5", "delete=unused0"}, tc.steps...) {
				c.ok("PUT "+vm+"/config", step)
			}
			if tc.running {
				c.ok("POST " + vm + "/status/start")
			}
			if exit := c.task("POST "+vm+"/migrate", "target=pve2", "online=1", "with-local-disks=1"); exit != "OK" {
				t.Fatal(exit)
			}
			g, _ := s.Guest(300)
			for device, want := range tc.want {
				if g.Config[device] != want {
					t.Errorf("%s %s is %q, want %q", tc.reason, device, g.Config[device], want)
				}
			}
		})
	}
}

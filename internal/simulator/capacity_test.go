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

func TestFullStorages(t *testing.T) {
	const qemu, source = "/nodes/pve1/qemu", "local:import/tiny.qcow2"
	scenario := func() *simulator.Scenario {
		sc := lab()
		sc.Storages = append(sc.Storages,
			simulator.ScenarioStorage{ID: "vg", Type: "lvm", Content: []string{"images"}, Total: "10G"},
			simulator.ScenarioStorage{ID: "tank", Type: "zfspool", Content: []string{"images"}, Total: "10G"},
			simulator.ScenarioStorage{ID: "thin", Type: "lvmthin", Content: []string{"images"}, Total: "10G"},
			simulator.ScenarioStorage{ID: "small", Type: "dir", Path: "/small", Content: []string{"images", "iso"}, Total: "50M"},
		)
		return sc
	}
	for name, tc := range map[string]struct {
		reason  string
		request string
		params  []string
		exit    string
	}{
		"LVM": {
			reason: "LVM sets aside the whole size.", request: "POST " + qemu, params: []string{"vmid=101", "scsi0=vg:11"},
			exit: "unable to create VM 101 - not enough free space (10737418240 < 11811160064)",
		},
		"ZFS": {
			reason: "ZFS sets aside the whole size.", request: "POST " + qemu, params: []string{"vmid=101", "scsi0=tank:11"},
			exit: "unable to create VM 101 - zfs error: cannot create 'tank/vm-101-disk-0': out of space",
		},
		"Thin":   {reason: "A thin pool may hold more than it has.", request: "POST " + qemu, params: []string{"vmid=101", "scsi0=thin:11"}, exit: "OK"},
		"Sparse": {reason: "Files on a storage may hold more than it has.", request: "POST " + qemu, params: []string{"vmid=101", "scsi0=small:11"}, exit: "OK"},
		"Huge": {
			reason: "A file has a largest size.", request: "POST " + qemu, params: []string{"vmid=101", "scsi0=small:99999"},
			exit: "unable to create VM 101 - unable to create image: qemu-img: /small/images/101/vm-101-disk-0.raw: The image size is too large for file format 'raw'",
		},
		"Import": {
			reason: "What is copied must fit.", request: "POST " + qemu, params: []string{"vmid=101", "scsi0=small:0,import-from=" + source},
			exit: "unable to create VM 101 - cannot import from '" + source +
				"' - copy failed: command '/usr/bin/qemu-img convert -p -n -f qcow2 -O qcow2 /var/lib/vz/import/tiny.qcow2 " +
				"zeroinit:/small/images/101/vm-101-disk-0.qcow2' failed: exit code 1",
		},
		"Clone": {
			reason: "A clone must fit.", request: "POST " + qemu + "/100/clone", params: []string{"newid=101", "full=1", "storage=small"},
			exit: "clone failed: copy failed: command '/usr/bin/qemu-img convert -p -n -f qcow2 -O qcow2 " +
				"/var/lib/vz/images/100/vm-100-disk-0.qcow2 zeroinit:/small/images/101/vm-101-disk-0.qcow2' failed: exit code 1",
		},
		"Move": {
			reason: "A disk that moves must fit.", request: "POST " + qemu + "/100/move_disk", params: []string{"disk=scsi0", "storage=small"},
			exit: "storage migration failed: copy failed: command '/usr/bin/qemu-img convert -p -n -f qcow2 -O qcow2 " +
				"/var/lib/vz/images/100/vm-100-disk-0.qcow2 zeroinit:/small/images/100/vm-100-disk-0.qcow2' failed: exit code 1",
		},
		"Resize": {
			reason: "A disk grows as far as there is room.", request: "PUT " + qemu + "/100/resize", params: []string{"disk=scsi1", "size=20G"},
			exit: "zfs error: cannot set property for 'tank/vm-100-disk-0': size is greater than available space",
		},
		"Download": {
			reason: "A file from outside that cannot be had.", request: "POST /nodes/pve1/storage/small/download-url",
			params: []string{"content=iso", "filename=a.iso", "url=http://127.0.0.1:1/a.iso"},
			exit:   "download failed: Connecting to 127.0.0.1:1... failed: Connection refused.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{Scenario: scenario()})
			c := connect(t, s)
			c.ok("POST "+qemu, "vmid=100", "scsi0=local:0,import-from="+source, "scsi1=tank:1")
			before := len(c.ok("GET /nodes/pve1/storage/small/content").Body)
			exit := c.task(tc.request, tc.params...)
			if exit != tc.exit {
				t.Errorf("%s got  %s\nwant %s", tc.reason, exit, tc.exit)
			}
			left := c.ok("GET /nodes/pve1/storage/small/content").Body
			if exit != "OK" && len(left) != before {
				t.Errorf("something is left: %s", left)
			}
			if _, made := s.Guest(101); made != (exit == "OK") {
				t.Errorf("the VM is there: %t", made)
			}
		})
	}
}

func TestStorageFillsUp(t *testing.T) {
	sc := lab()
	sc.Storages = append(sc.Storages, simulator.ScenarioStorage{ID: "vg", Type: "lvm", Content: []string{"images"}, Total: "10G"})
	c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: sc}))
	for _, tc := range []struct{ request, exit string }{
		{"vmid=100 scsi0=vg:6", "OK"}, {"vmid=101 scsi0=vg:6", "unable to create VM 101 - not enough free space (4294967296 < 6442450944)"},
	} {
		if exit := c.task("POST /nodes/pve1/qemu", strings.Fields(tc.request)...); exit != tc.exit {
			t.Errorf("%s: got %q, want %q", tc.request, exit, tc.exit)
		}
	}
	c.task("DELETE /nodes/pve1/qemu/100")
	if exit := c.task("POST /nodes/pve1/qemu", "vmid=101", "scsi0=vg:6"); exit != "OK" {
		t.Errorf("after the first is gone: %q", exit)
	}
}

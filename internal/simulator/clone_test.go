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

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

func TestClone(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	const template, vm = "/nodes/pve1/qemu/900", "/nodes/pve1/qemu/800"
	c.task("POST /nodes/pve1/qemu", "vmid=900", "name=tmpl", "scsi0=local:1,format=qcow2", "scsi1=local:1", "net0=virtio=BC:24:11:00:09:00,bridge=vmbr0",
		"ide2=local:cloudinit", "tags=tpl", "protection=1", "onboot=1", "description=notes")
	c.task("POST " + template + "/template")
	c.task("POST /nodes/pve1/qemu", "vmid=800", "name=plain", "scsi0=local:1,format=qcow2", "net0=virtio,bridge=vmbr0")
	c.task("POST /nodes/pve1/qemu", "vmid=700", "scsi0=nfs:1")
	c.task("POST /nodes/pve2/qemu", "vmid=600", "name=other")

	for name, tc := range map[string]struct {
		reason  string
		request string
		params  []string
		line    string
		exit    string
		node    string
		want    map[string]any
	}{
		"Linked": {
			reason: "A clone of a template stands on it.", request: "POST " + template + "/clone", params: []string{"newid=901"},
			want: map[string]any{
				"name": "Copy-of-VM-tmpl", "scsi0": "local:900/base-900-disk-0.qcow2/901/vm-901-disk-0.qcow2,size=1G",
				"scsi1": "local:900/base-900-disk-1.raw/901/vm-901-disk-1.qcow2,size=1G", "ide2": "local:901/vm-901-cloudinit.qcow2,media=cdrom,size=4M",
				"tags": "tpl", "protection": 1.0, "onboot": 1.0, "description": "notes", "template": nil,
			},
		},
		"Full": {
			reason: "A full clone stands alone, on another storage if told so.", request: "POST " + template + "/clone",
			params: []string{"newid=902", "full=1", "storage=data2", "name=fc", "description=mine", "pool=testpool"},
			want: map[string]any{
				"name": "fc", "description": "mine", "scsi0": "data2:902/vm-902-disk-0.qcow2,size=1G", "scsi1": "data2:902/vm-902-disk-1.raw,size=1G",
			},
		},
		"Plain": {
			reason: "A VM is cloned in full.", request: "POST " + vm + "/clone", params: []string{"newid=801"},
			want: map[string]any{"scsi0": "local:801/vm-801-disk-0.qcow2,size=1G", "name": "Copy-of-VM-plain"},
		},
		"Format": {
			reason: "The format may change.", request: "POST " + vm + "/clone", params: []string{"newid=802", "format=raw"},
			want: map[string]any{"scsi0": "local:802/vm-802-disk-0.raw,size=1G"},
		},
		"Target": {
			reason: "On shared storage a clone may land on another node.", request: "POST /nodes/pve1/qemu/700/clone",
			params: []string{"newid=701", "target=pve2"}, node: "pve2", want: map[string]any{"scsi0": "nfs:701/vm-701-disk-0.raw,size=1G"},
		},
		"LocalTarget": {
			reason: "On local storage it may not.", request: "POST " + vm + "/clone", params: []string{"newid=803", "target=pve2"},
			line: "500 can't clone VM to node 'pve2' (VM uses local storage)",
		},
		"UnknownTarget": {
			reason: "The node must exist.", request: "POST " + vm + "/clone", params: []string{"newid=803", "target=nope"},
			line: "500 no such cluster node 'nope'",
		},
		"Taken": {
			reason: "The VMID must be free.", request: "POST " + vm + "/clone", params: []string{"newid=900"},
			line: "500 unable to create VM 900: config file already exists",
		},
		"TakenElsewhere": {
			reason: "A VMID that another node has is noticed by the task only.", request: "POST " + vm + "/clone", params: []string{"newid=600"},
			exit: "close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/600.conf' failed: File exists",
		},
		"LinkedPlain": {
			reason: "Only templates have linked clones.", request: "POST " + vm + "/clone", params: []string{"newid=803", "full=0"},
			line: "500 Linked clone feature is not supported for 'local:800/vm-800-disk-0.qcow2' (scsi0)",
		},
		"LinkedStorage": {
			reason: "A linked clone stays where it is.", request: "POST " + template + "/clone", params: []string{"newid=903", "storage=data2"},
			line: "500 parameter 'storage' not allowed for linked clones",
		},
		"LinkedFormat": {
			reason: "A linked clone keeps its format.", request: "POST " + template + "/clone", params: []string{"newid=903", "format=raw"},
			line: "500 parameter 'format' not allowed for linked clones",
		},
		"UnknownStorage": {
			reason: "The storage must exist.", request: "POST " + vm + "/clone", params: []string{"newid=803", "full=1", "storage=nostore"},
			line: "500 storage 'nostore' does not exist",
		},
		"WrongStorage": {
			reason: "The storage of a clone must hold images.", request: "POST " + vm + "/clone", params: []string{"newid=803", "full=1", "storage=isostore"},
			line: "400 Parameter verification failed.",
		},
		"Snapshot": {
			reason: "The snapshot must exist.", request: "POST " + vm + "/clone", params: []string{"newid=803", "snapname=nosnap"},
			line: "500 snapshot 'nosnap' does not exist",
		},
		"Pool": {
			reason: "The pool must exist.", request: "POST " + vm + "/clone", params: []string{"newid=803", "pool=nopool"},
			line: "403 Permission check failed (pool 'nopool' does not exist)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			if tc.line != "" {
				if got := c.do(tc.request, tc.params...); got.Line != tc.line {
					t.Errorf("%s: got %q, want %q", tc.reason, got.Line, tc.line)
				}
				return
			}
			if tc.exit == "" {
				tc.exit = "OK"
			}
			if exit := c.task(tc.request, tc.params...); exit != tc.exit {
				t.Fatalf("%s: exit status %q, want %q", tc.reason, exit, tc.exit)
			}
			if tc.want == nil {
				return
			}
			if tc.node == "" {
				tc.node = "pve1"
			}
			config := c.config("/nodes/" + tc.node + "/qemu/" + strings.TrimPrefix(tc.params[0], "newid="))
			got := map[string]any{}
			for key := range tc.want {
				got[key] = config[key]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
	checkIdentity(t, c)
	c.t = t
	if got := c.config("/nodes/pve2/qemu/600")["name"]; got != "other" {
		t.Errorf("a clone that failed left the name %v to the VM with its VMID", got)
	}
}

// checkIdentity checks what clones must not share, and what protects a template from deletion.
func checkIdentity(t *testing.T, c *client) {
	t.Helper()
	c.t = t
	source, clone := c.config("/nodes/pve1/qemu/900"), c.config("/nodes/pve1/qemu/901")
	for _, key := range []string{"smbios1", "vmgenid", "net0"} {
		if source[key] == clone[key] || clone[key] == nil {
			t.Errorf("clone and template share %s: %v", key, clone[key])
		}
	}
	c.ok("PUT /nodes/pve1/qemu/900/config", "protection=0")
	if exit := c.task("DELETE /nodes/pve1/qemu/900"); exit != "base volume 'local:900/base-900-disk-0.qcow2' is still in use by linked cloned" {
		t.Errorf("destroy of a template with clones: %q", exit)
	}
	pool, _ := c.ok("GET /pools/testpool").Data.(map[string]any)
	if members, _ := pool["members"].([]any); len(members) != 1 {
		t.Errorf("members of the pool: %v", members)
	}
}

func TestDisks(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	const vm = "/nodes/pve1/qemu/400"
	c.task("POST /nodes/pve1/qemu", "vmid=400", "scsi0=local:1,format=qcow2")
	for _, step := range []struct {
		request string
		params  []string
		line    string
		exit    string
		scsi0   string
	}{
		{request: "PUT " + vm + "/resize", params: []string{"disk=scsi0", "size=+1G"}, exit: "OK", scsi0: "local:400/vm-400-disk-0.qcow2,size=2G"},
		{request: "PUT " + vm + "/resize", params: []string{"disk=scsi0", "size=3G"}, exit: "OK", scsi0: "local:400/vm-400-disk-0.qcow2,size=3G"},
		{request: "PUT " + vm + "/resize", params: []string{"disk=scsi0", "size=3G"}, exit: "OK", scsi0: "local:400/vm-400-disk-0.qcow2,size=3G"},
		{request: "PUT " + vm + "/resize", params: []string{"disk=scsi0", "size=1G"}, exit: "shrinking disks is not supported"},
		{request: "PUT " + vm + "/resize", params: []string{"disk=scsi0", "size=3"}, exit: "shrinking disks is not supported"},
		{request: "PUT " + vm + "/resize", params: []string{"disk=scsi7", "size=4G"}, exit: "disk 'scsi7' does not exist"},
		{request: "PUT " + vm + "/resize", params: []string{"disk=scsi0", "size=4G", "digest=0000"}, exit: "checksum mismatch (file change by other user?)"},
		{
			request: "POST " + vm + "/move_disk", params: []string{"disk=scsi0", "storage=data2", "delete=1"}, exit: "OK",
			scsi0: "data2:400/vm-400-disk-0.qcow2,size=3G",
		},
		{request: "POST " + vm + "/move_disk", params: []string{"disk=scsi0", "storage=data2"}, line: "500 you can't move to the same storage with same format"},
		{request: "POST " + vm + "/move_disk", params: []string{"disk=scsi9", "storage=local"}, line: "500 disk 'scsi9' does not exist"},
		{request: "POST " + vm + "/move_disk", params: []string{"disk=scsi0", "storage=nostore"}, line: "500 storage 'nostore' does not exist"},
		{request: "POST " + vm + "/snapshot", params: []string{"snapname=s1"}, exit: "OK"},
		{request: "POST " + vm + "/snapshot", params: []string{"snapname=s1"}, exit: "snapshot name 's1' already used"},
		{request: "POST " + vm + "/snapshot", params: []string{"snapname=current"}, line: "500 unable to use snapshot name 'current' (reserved name)"},
		{
			request: "POST " + vm + "/move_disk", params: []string{"disk=scsi0", "storage=local", "delete=1"},
			line: "500 you can't move a disk with snapshots and delete the source",
		},
		{request: "POST " + vm + "/template", line: "500 unable to create template, because VM contains snapshots"},
		{request: "PUT " + vm + "/config", params: []string{"cores=4"}, line: "200 OK"},
		{request: "POST " + vm + "/snapshot/s1/rollback", exit: "OK"},
		{request: "POST " + vm + "/snapshot/nosnap/rollback", exit: "snapshot 'nosnap' does not exist"},
		{request: "DELETE " + vm + "/snapshot/s1", exit: "OK"},
		{request: "PUT " + vm + "/unlink", params: []string{"idlist=scsi0"}, line: "200 OK"},
		{request: "POST " + vm + "/migrate", params: []string{"target=pve2"}, exit: "OK"},
	} {
		if step.line != "" {
			if got := c.do(step.request, step.params...); got.Line != step.line {
				t.Errorf("%s %v: got %q, want %q", step.request, step.params, got.Line, step.line)
			}
			continue
		}
		if got := c.task(step.request, step.params...); got != step.exit {
			t.Errorf("%s %v: exit status %q, want %q", step.request, step.params, got, step.exit)
		}
		if step.scsi0 == "" {
			continue
		}
		if got := c.config(vm)["scsi0"]; got != step.scsi0 {
			t.Errorf("%s %v: scsi0 %v, want %q", step.request, step.params, got, step.scsi0)
		}
	}
	config := c.config("/nodes/pve2/qemu/400")
	if config["cores"] != nil || config["unused0"] != "data2:400/vm-400-disk-0.qcow2" {
		t.Errorf("config on the other node: %v", config)
	}
}

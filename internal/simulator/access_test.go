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
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestAccess changes users, groups, roles, tokens and grants one after another, as in the recordings.
func TestAccess(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	c.task("POST /nodes/pve1/qemu", "vmid=501")
	for _, step := range []struct {
		request string
		params  []string
		line    string
		body    string
	}{
		{request: "POST /access/users", params: []string{"userid=u1@pve", "password=secret12", "comment=c", "email=a@b.c", "enable=1"}, body: `{"data":null}`},
		{request: "POST /access/users", params: []string{"userid=u9@pve", "comment= a b ", "firstname= A "}, body: `{"data":null}`},
		{request: "GET /access/users/u9@pve", body: `{"data":{"comment":"a b","enable":1,"expire":0,"firstname":"A","groups":[],"tokens":null}}`},
		{request: "DELETE /access/users/u9@pve"},
		{request: "POST /pools", params: []string{"poolid=p9", "comment= a b "}},
		{request: "GET /pools/p9", body: `{"data":{"comment":"a b","members":[],"poolid":"p9"}}`},
		{request: "DELETE /pools/p9"},
		{request: "POST /access/users", params: []string{"userid=u1@pve"}, line: "500 create user failed: user 'u1@pve' already exists"},
		{request: "POST /access/users", params: []string{"userid=u1"}, line: "500 user name 'u1' is too short"},
		{request: "GET /access/users/u1@pve", body: `{"data":{"comment":"c","email":"a@b.c","enable":1,"expire":0,"groups":[],"tokens":null}}`},
		{request: "GET /access/users/nobody2@pve", line: "500 no such user ('nobody2@pve')"},
		{request: "PUT /access/users/u1@pve", params: []string{"groups=nogroup"}, line: "500 update user failed: no such group 'nogroup'"},
		{request: "POST /access/groups", params: []string{"groupid=g1"}},
		{request: "PUT /access/users/u1@pve", params: []string{"groups=g1", "append=1"}},
		{request: "GET /access/groups/g1", body: `{"data":{"members":["u1@pve"]}}`},
		{request: "POST /access/users/u1@pve/token/t1", params: []string{"privsep=0", "comment=x"}},
		{
			request: "POST /access/users/u1@pve/token/t1", line: "400 Parameter verification failed.",
			body: `{"data":null,"errors":{"tokenid":"Token already exists."},"message":"Parameter verification failed.\n"}`,
		},
		{request: "GET /access/users/u1@pve/token", body: `{"data":[{"comment":"x","expire":0,"privsep":0,"tokenid":"t1"}]}`},
		{request: "GET /access/users/u1@pve/token/none", line: "500 no such token 'none' for user 'u1@pve'"},
		{request: "PUT /access/users/u1@pve/token/t1", params: []string{"expire=1"}, body: `{"data":{"comment":"x","expire":"1","privsep":0}}`},
		{request: "DELETE /access/users/u1@pve/token/t1"},
		{request: "DELETE /access/users/u1@pve/token/t1", line: "500 no such token 't1' for user 'u1@pve'"},
		{request: "PUT /access/acl", params: []string{"path=/vms/501", "roles=PVEVMUser", "users=u1@pve", "propagate=0"}},
		{request: "PUT /access/acl", params: []string{"path=/vms/501", "roles=NoRole", "users=u1@pve"}, line: "500 ACL update failed: role 'NoRole' does not exist"},
		{
			request: "PUT /access/acl", params: []string{"path=/bogus", "roles=PVEVMUser", "users=u1@pve"},
			line: "400 Parameter verification failed.",
			body: `{"data":null,"errors":{"path":"invalid ACL path '/bogus'"},"message":"Parameter verification failed.\n"}`,
		},
		{
			request: "PUT /access/acl", params: []string{"path=/vms", "roles=PVEVMUser", "users=ghost@pve"},
			line: "500 ACL update failed: user 'ghost@pve' does not exist",
		},
		{request: "POST /access/roles", params: []string{"roleid=r1", "privs=VM.Audit,VM.PowerMgmt"}},
		{request: "GET /access/roles/r1", body: `{"data":{"VM.Audit":1,"VM.PowerMgmt":1}}`},
		{request: "GET /access/roles/none", line: "500 role 'none' does not exist"},
		{request: "DELETE /access/roles/Administrator", line: "500 auto-generated role 'Administrator' cannot be deleted"},
		{request: "DELETE /access/roles/r1"},
		{request: "DELETE /access/users/u1@pve"},
		{request: "DELETE /access/users/u1@pve", line: "500 no such user ('u1@pve')"},
		{request: "DELETE /access/groups/g1"},
		{request: "POST /pools", params: []string{"poolid=p1", "comment=hello"}},
		{request: "POST /pools", params: []string{"poolid=p1"}, line: "500 create pool failed: pool 'p1' already exists"},
		{request: "GET /pools/p1", body: `{"data":{"comment":"hello","members":[],"poolid":"p1"}}`},
		{request: "PUT /pools/p1", params: []string{"vms=501", "storage=local"}},
		{
			request: "PUT /pools/testpool", params: []string{"vms=501"},
			line: "500 update pools failed: VM 501 belongs already to pool 'p1' and 'allow-move' is not set",
		},
		{request: "DELETE /pools/p1", line: "500 delete pool failed: pool 'p1' is not empty (contains VM 501)"},
		{request: "PUT /pools/p1", params: []string{"vms=501", "storage=local", "delete=1"}},
		{request: "DELETE /pools/p1"},
		{request: "GET /pools/p1", line: "500 pool 'p1' does not exist"},
		{
			request: "POST /storage", params: []string{"storage=st1", "type=dir", "path=/var/lib/st1", "content=images,iso"},
			body: `{"data":{"storage":"st1","type":"dir"}}`,
		},
		{
			request: "POST /storage", params: []string{"storage=st1", "type=dir", "path=/var/lib/st1"},
			line: "500 create storage failed: storage ID 'st1' already defined",
		},
		{request: "POST /storage", params: []string{"storage=st2", "type=dir"}, line: "500 missing value for required option 'path'"},
		{
			request: "POST /nodes/pve1/storage/st1/content",
			params:  []string{"vmid=700", "filename=vm-700-disk-0.qcow2", "size=100M", "format=qcow2"},
			body:    `{"data":"st1:700/vm-700-disk-0.qcow2"}`,
		},
		{
			request: "POST /nodes/pve1/storage/st1/content",
			params:  []string{"vmid=700", "filename=vm-700-disk-0.qcow2", "size=100M", "format=qcow2"},
			line:    "500 disk image '/var/lib/st1/images/700/vm-700-disk-0.qcow2' already exists",
		},
		{
			request: "GET /nodes/pve1/storage/st1/content/st1:700/vm-700-disk-9.qcow2",
			line:    "500 volume_size_info on 'st1:700/vm-700-disk-9.qcow2' failed - no format",
		},
		{request: "DELETE /storage/st1"},
		{request: "DELETE /storage/st1", line: "500 delete storage failed: storage 'st1' does not exist"},
	} {
		if step.line == "" {
			step.line = "200 OK"
		}
		got := c.do(step.request, step.params...)
		if got.Line != step.line {
			t.Errorf("%s %v: got %q, want %q", step.request, step.params, got.Line, step.line)
		}
		if step.body != "" && got.Body != step.body {
			t.Errorf("%s %v: got %s, want %s", step.request, step.params, got.Body, step.body)
		}
	}
}

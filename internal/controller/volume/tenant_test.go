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

package volume

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// TestVMIDsOf checks that all VMs are returned that a record leads to, each of which must belong to the tenant.
func TestVMIDsOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		record volumeref.Record
		want   []int
	}{
		"Nothing": {reason: "What is yet to be made leads nowhere."},
		"Stub":    {reason: "The stub VM is destroyed with its disk.", record: volumeref.Record{VMID: 200}, want: []int{200}},
		"Disk":    {reason: "A disk is of the VM that it is named after.", record: volumeref.Record{Volume: "ceph:vm-300-disk-0"}, want: []int{300}},
		"Linked": {
			reason: "The name of the VM may be behind that of a base.",
			record: volumeref.Record{Volume: "nfs:100/base-100-disk-0.qcow2/300/vm-300-disk-0.qcow2"}, want: []int{300},
		},
		"Misplaced": {
			reason: "What is in the folder of another VM is nobody's.", record: volumeref.Record{Volume: "nfs:400/vm-300-disk-0.qcow2"}, want: []int{0},
		},
		"Unnamed": {reason: "What is named otherwise is nobody's.", record: volumeref.Record{Volume: "ceph:pvc-1"}, want: []int{0}},
		"Handover": {
			reason: "The two VMs of a handover are changed.",
			record: volumeref.Record{VMID: 200, Volume: "ceph:vm-200-disk-0", Handover: &volumeref.Handover{From: 200, To: 300}}, want: []int{200, 200, 200, 300},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, vmidsOf(&tc.record)); diff != "" {
				t.Errorf("\n%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAmounts checks that a record alone does not prove that anything exists. Users can write its VMID, and what exists needs no room.
func TestAmounts(t *testing.T) {
	v := &view{state: &state{Record: &volumeref.Record{VMID: 200, UUID: "u"}}}
	if got, known := v.amounts(&namespaced.Volume{}); len(got) != 0 || !known {
		t.Errorf("without a VM: want nothing, got %v, %v", got, known)
	}
	v.stub = &vm{}
	if got, _ := v.amounts(&namespaced.Volume{}); got[quota.VMs] != 1 {
		t.Errorf("with one: want a VM, got %v", got)
	}
}

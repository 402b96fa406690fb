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

package machine

import (
	"strings"
	"testing"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// lacking returns a missing privilege on a path.
func lacking(path, name string) proxmox.Privilege {
	return proxmox.Privilege{Path: path, Names: []string{name}}
}

// TestPermit checks that nothing is created if a later step would be refused, and that nothing is done to a VM that may not be removed in the end.
func TestPermit(t *testing.T) {
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		spec    string
		there   *guest
		lacks   []proxmox.Privilege

		// want is part of the error. Nothing is refused if it is empty.
		want string
	}{
		"Create": {reason: "What is permitted is done.", spec: "{}"},
		"Start": {
			reason: "A VM is not made that may not be started.", spec: "{}",
			lacks: []proxmox.Privilege{lacking("/vms", "VM.PowerMgmt"), lacking("/vms/10000", "VM.PowerMgmt")},
			want:  "Permission check failed (/vms/10000, VM.PowerMgmt), needed for powerState",
		},
		"Stopped": {
			reason: "One that is to be off needs no such privilege.", spec: "powerState: Stopped",
			lacks: []proxmox.Privilege{lacking("/vms", "VM.PowerMgmt"), lacking("/vms/10000", "VM.PowerMgmt")},
		},
		"Above": {reason: "What is granted on the VM alone is enough.", spec: "{}", lacks: []proxmox.Privilege{lacking("/vms", "VM.PowerMgmt")}},
		"Pool": {
			reason: "What is granted on the pool is enough for a VM to be made.", spec: "pool: team",
			lacks: []proxmox.Privilege{lacking("/vms", "VM.Allocate"), lacking("/vms/10000", "VM.Allocate")},
		},
		"Configure": {
			reason: "A clone is not made that may not be configured.", spec: "{template: debian, cpu: {cores: 3}}",
			lacks: []proxmox.Privilege{lacking("/vms", "VM.Config.CPU"), lacking("/vms/10000", "VM.Config.CPU")},
			want:  "(/vms/10000, VM.Config.CPU), needed for cpu.cores (cores)",
		},
		"Unseen": {
			reason: "A template that is not found may be one that may not be seen.", spec: "{template: fedora}",
			lacks: []proxmox.Privilege{lacking("/vms", "VM.Audit"), lacking("/", "VM.Audit")},
			want:  "template 'fedora' not found; the templates are debian; what may not be seen is not found: Permission check failed (/vms, VM.Audit)",
		},
		"Storage": {
			reason: "A storage that is not found may be one that may not be seen.", spec: "disks: [{name: a, size: 1G, storage: hidden}]",
			lacks: []proxmox.Privilege{lacking("/storage", "Datastore.Audit"), lacking("/storage/hidden", "Datastore.Audit")},
			want:  "(/storage/hidden, Datastore.Audit)",
		},
		"Several": {
			reason: "All that is missing is told at once.", spec: "{template: debian, cpu: {cores: 3}, memory: 3Gi}",
			lacks: []proxmox.Privilege{
				lacking("/vms", "VM.Config.CPU"), lacking("/vms/10000", "VM.Config.CPU"), lacking("/vms", "VM.Config.Memory"),
				lacking("/vms/10000", "VM.Config.Memory"),
			},
			want: "(/vms/10000, VM.Config.CPU), (/vms/10000, VM.Config.Memory), needed for cpu.cores (cores), memory",
		},
		"HA": {
			reason: "A VM is not made that high availability may not be given.", spec: "highAvailability: {}",
			lacks: []proxmox.Privilege{lacking("/", "Sys.Console")}, want: "(/, Sys.Console), needed for highAvailability",
		},
		"UserData": {
			reason: "An image is not uploaded that may not be removed.", spec: "cloudInit: {userData: {inline: x}}",
			lacks: []proxmox.Privilege{lacking("/storage", "Datastore.Allocate"), lacking("/storage/files", "Datastore.Allocate")},
			want:  "(/storage/files, Datastore.Allocate), needed for cloudInit",
		},
		"Delete": {
			reason: "A VM that may not be removed is not stopped.", machine: deleted, there: ourVM("running"),
			lacks: []proxmox.Privilege{lacking("/vms/10000", "VM.Allocate")},
			want:  "cannot delete VM 10000: Permission check failed (/vms/10000, VM.Allocate)",
		},
		"Image": {
			reason: "A VM whose image may not be removed is not stopped.", machine: all(deleted, seeded), there: ourVM("stopped"),
			lacks: []proxmox.Privilege{lacking("/storage/files", "Datastore.Allocate")}, want: "(/storage/files, Datastore.Allocate)",
		},
		"Off": {
			reason: "PVE itself refuses to delete a VM that is off.", machine: deleted, there: ourVM("stopped"),
			lacks: []proxmox.Privilege{lacking("/vms/10000", "VM.Allocate")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			if tc.spec != "" {
				b.m.Spec.ForProvider = parameters(t, tc.spec)
			}
			if tc.there != nil {
				b.vms[10000] = tc.there
			}
			b.vms[9000] = &guest{
				node: "pve1", status: "stopped",
				config: map[string]string{"name": "debian", "template": "1", "cores": "1", "scsi0": "ceph:base-9000-disk-0,size=1G"},
			}
			b.lacks = tc.lacks
			s := b.reconcile(t.Context())
			if tc.want == "" {
				if s.err != nil || len(b.writes) == 0 {
					t.Errorf("\n%s\nwant a call, got %v", tc.reason, s.err)
				}
				return
			}
			if s.err == nil || !strings.Contains(s.err.Error(), tc.want) || len(b.writes) > 0 {
				t.Errorf("\n%s\nwant %q and no call, got %v and %q", tc.reason, tc.want, s.err, b.writes)
			}
		})
	}
}

// seeded is a Machine with one of our images.
func seeded(m *namespaced.Machine) {
	m.Annotations[object.AnnotationImages] = "pve1=files:iso/" + qemu.Identity{VMID: 10000, UUID: ourUUID}.NoCloudImageName(strings.Repeat("a", 16))
}

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
	"net/http"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/categorytest"
)

// TestCategories checks which category of errors a ProxmoxVM of the examples shows for the real conditions of its Machine.
func TestCategories(t *testing.T) {
	cases := map[string]struct {
		reason, spec string
		there        bool
		pve          func(*bench)
		want         string
	}{
		"Creation": {reason: "A VM that is being made lacks nothing.", spec: "{}", want: categorytest.None},
		"There":    {reason: "A VM that is there lacks nothing.", spec: "{}", there: true, want: categorytest.None},
		"Memory":   {reason: "No node has so much.", spec: "memory: 65Gi", want: categorytest.Quota},
		"Storage":  {reason: "The storage is not there.", spec: "disks: [{name: a, size: 1G, storage: nowhere}]", want: categorytest.Validation},
		"Bridge":   {reason: "The bridge is not there.", spec: "networks: [{name: a, bridge: vmbr9}]", want: categorytest.Validation},
		"Template": {reason: "The template is not there.", spec: "template: fedora", want: categorytest.Validation},
		"Shrink": {
			reason: "A disk cannot shrink.", spec: "disks: [{name: a, size: 1G, device: scsi0}]", there: true,
			pve: func(b *bench) { b.vms[10000].config["scsi0"] = "local-lvm:vm-10000-disk-0,size=2G" }, want: categorytest.Validation,
		},
		"Parameter": {
			reason: "Proxmox VE refuses a value.", spec: "{}",
			pve: func(b *bench) { b.errs["Create"] = refused(http.StatusBadRequest, "Parameter verification failed.") }, want: categorytest.Validation,
		},
		"NoNode": {
			reason: "The node of the spec is off.", spec: "node: pve1", pve: func(b *bench) { b.nodes[0].Status = "offline" }, want: categorytest.Node,
		},
		"Offline": {
			reason: "The node of the VM is off.", spec: "{}", there: true, pve: func(b *bench) { b.nodes[0].Status = "offline" }, want: categorytest.Node,
		},
		"NoQuorum": {
			reason: "The cluster has lost most nodes.", spec: "{}",
			pve: func(b *bench) {
				b.errs["Create"] = refused(http.StatusInternalServerError, "cluster not ready - no quorum?")
			}, want: categorytest.Node,
		},
		"Privilege": {
			reason: "A privilege is missing.", spec: "{}", want: categorytest.Authentication,
			pve: func(b *bench) {
				b.lacks = append(b.lacks, lacking("/vms", "VM.PowerMgmt"), lacking("/vms/10000", "VM.PowerMgmt"))
			},
		},
		"Forbidden": {
			reason: "Proxmox VE does not always name one.", spec: "{}", pve: func(b *bench) { b.errs["Create"] = refused(http.StatusForbidden, "") },
			want: categorytest.Authentication,
		},
		"Token": {
			reason: "The token has gone meanwhile.", spec: "{}", pve: func(b *bench) { b.errs["Create"] = refused(http.StatusUnauthorized, "") },
			want: categorytest.Authentication,
		},
		"Gateway": {
			reason: "A proxy says so.", spec: "{}", pve: func(b *bench) { b.errs["Create"] = refused(http.StatusBadGateway, "") },
			want: categorytest.Network,
		},
		"Node": {
			reason: "The node that is to do it does not answer.", spec: "{}",
			pve: func(b *bench) { b.errs["Create"] = refused(596, "Connection timed out") }, want: categorytest.Network,
		},
		"Locked": {
			reason: "A lock is waited for.", spec: "{}", want: categorytest.None,
			pve: func(b *bench) {
				b.errs["Create"] = refused(http.StatusInternalServerError, "can't lock file '/var/lock/qemu-server/lock-10000.conf' - got timeout")
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.m.Spec.ForProvider = parameters(t, tc.spec)
			if tc.there {
				b.vms[10000] = ourVM("running")
			}
			if tc.pve != nil {
				tc.pve(b)
			}
			conditions := []xpv2.Condition{}
			if s := b.reconcile(t.Context()); s.err != nil {
				conditions = append(conditions, xpv2.ReconcileError(s.err))
			}
			conditions = append(conditions, b.m.Status.Conditions...)
			if got := categorytest.Of(t, conditions...); got != tc.want {
				t.Errorf("%s\nwant %s, got %s of %v", tc.reason, tc.want, got, conditions)
			}
		})
	}
}

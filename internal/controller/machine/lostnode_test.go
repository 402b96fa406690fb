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

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestGoneWithNode checks that the VM of a Machine that is being deleted counts as removed with its node only if the list that lacks it is that of
// the whole cluster.
func TestGoneWithNode(t *testing.T) {
	forbidden := refused(403, "Permission check failed (/, Sys.Audit)")
	cases := map[string]struct {
		reason string
		pve    func(*bench)
		err    string
	}{
		"Removed": {reason: "A node that was removed has taken its VM along.", pve: func(b *bench) { b.nodes = b.nodes[1:] }},
		"Offline": {reason: "The list has the VMs of nodes that are offline.", pve: func(b *bench) { b.nodes[0].Status = "offline" }},
		"Starting": {
			reason: "A node that has not joined yet does not know the others.", pve: func(b *bench) { b.nodes, b.cluster = b.nodes[1:], "" },
			err: "cannot tell whether VM 10000 is gone",
		},
		"CutOff": {
			reason: "A node that is cut off lists what it knew last.", pve: func(b *bench) { b.nodes[0].Status, b.cutOff = "offline", true },
			err: "cannot tell whether VM 10000 is gone",
		},
		"Forbidden": {
			reason: "Who may not see the quorum cannot tell.", pve: func(b *bench) { b.nodes, b.errs["ClusterStatus"] = b.nodes[1:], forbidden },
			err: "needs Sys.Audit on /",
		},
		"Failed": {
			reason: "What cannot be asked now may be later.",
			pve:    func(b *bench) { b.nodes, b.errs["ClusterStatus"] = b.nodes[1:], refused(500, "boom") }, err: "boom",
		},
		"Asked": {reason: "A node that answers is believed.", pve: func(b *bench) { b.cutOff = true }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) { m.DeletionTimestamp = new(metav1.Now()) })
			tc.pve(b)
			s := b.reconcile(t.Context())
			if tc.err == "" && (s.err != nil || s.exists) || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
				t.Errorf("\n%s\nwant error %q, got %v and a VM that exists: %t", tc.reason, tc.err, s.err, s.exists)
			}
		})
	}
}

// TestLeftBehind covers VMs whose node was removed from the cluster: PVE keeps their configurations, and lists them with an unknown status.
func TestLeftBehind(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("running")
	for range 2 {
		b.reconcile(t.Context())
	}
	if c := b.m.GetCondition(xpv2.TypeReady); c.Status != "True" {
		t.Fatalf("the VM is ready first, got %v", c)
	}
	asked := 0
	b.nodes, b.on["Pending"] = []proxmox.Node{b.nodes[1]}, func() { asked++ }
	s := b.reconcile(t.Context())
	c := b.m.GetCondition(xpv2.TypeReady)
	if s.err == nil || asked != 0 || c.Reason != conditions.ReasonNodeOffline || !strings.Contains(c.Message, "/etc/pve/nodes/pve1/qemu-server") {
		t.Errorf("want a condition that tells what to do and no call to the node, got %v, %v and %d calls", s.err, c, asked)
	}
}

// TestUnknownNode covers a node whose daemon hangs: the cluster shows it as unknown, but it answers.
func TestUnknownNode(t *testing.T) {
	b := newBench(t, spec(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(true) }))
	b.vms[10000], b.nodes[0].Status = ourVM("running"), "unknown"
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 1 {
		t.Errorf("want the VM managed, got %v and %q", s.err, b.writes)
	}
}

// TestCreationLostWithNode checks the condition of a VM whose creation was lost with its node.
func TestCreationLostWithNode(t *testing.T) {
	const creating, complete = "the VM was being created there", "the VM is complete, and is set up when the node is back"
	cases := map[string]struct {
		reason string
		lock   string
		uuid   string
		want   string
		not    string
	}{
		"Creating": {reason: "The VM is locked for its creation.", lock: "create", want: creating, not: complete},
		"Cloning":  {reason: "The VM is locked for its creation.", lock: "clone", want: "name it in recreation.lostNode", not: complete},
		"Complete": {
			reason: "A clone for a node that was off is complete: it is not created again.",
			want: complete + "; if the node never comes back, make sure that it stays off, " +
				"and move the VM's configuration in /etc/pve/nodes/pve1/qemu-server", not: "lostNode",
		},
		"Seen": {reason: "A VM that was seen complete comes back with its node.", uuid: ourUUID, want: "is offline", not: complete},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.vms[10000] = ourVM("stopped")
			b.vms[10000].config["lock"] = tc.lock
			b.nodes[0].Status = "offline"
			b.m.Status.AtProvider.UUID = tc.uuid
			b.reconcile(t.Context())
			ready := b.m.GetCondition(xpv2.TypeReady)
			if ready.Reason != conditions.ReasonNodeOffline || !strings.Contains(ready.Message, tc.want) || strings.Contains(ready.Message, tc.not) {
				t.Errorf("\n%s\nwant %q and not %q, got %s: %s", tc.reason, tc.want, tc.not, ready.Reason, ready.Message)
			}
		})
	}
}

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
	"net/netip"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// settledBench has a VM with a disk, a network and a guest agent whose evaluation was kept.
func settledBench(t *testing.T, change func(*v1alpha1.MachineParameters)) *bench {
	t.Helper()
	b := newBench(t, spec(change))
	g := ourVM("running")
	g.config["scsi0"], g.config["net0"], g.config["agent"] = "local-lvm:vm-10000-disk-0,size=8G", "virtio=BC:24:11:00:00:01,bridge=vmbr0", "1"
	g.config["onboot"] = "1"
	g.agent = reports("10.0.0.5")
	g.now.Uptime = time.Hour
	b.vms[10000] = g
	for range 4 {
		if s := b.reconcile(t.Context()); s.err != nil {
			t.Fatal(s.err)
		}
		b.runOn(time.Minute)
	}
	if s := b.reconcile(t.Context()); s.err != nil {
		t.Fatal(s.err)
	}
	return b
}

// reports returns what the guest agent reports of the VM's network.
func reports(address string) []proxmox.Interface {
	return []proxmox.Interface{{Name: "eth0", MAC: "BC:24:11:00:00:01", Addresses: []netip.Addr{netip.MustParseAddr(address)}}}
}

func TestEvaluationHolds(t *testing.T) {
	is := func(want xpv2.ConditionType, status corev1.ConditionStatus) func(*testing.T, *bench) {
		return func(t *testing.T, b *bench) {
			t.Helper()
			if c := b.m.GetCondition(want); c.Status != status {
				t.Errorf("want %s %s, got %s: %s", want, status, c.Status, c.Message)
			}
		}
	}
	for name, tc := range map[string]struct {
		reason string
		spec   func(*v1alpha1.MachineParameters)
		change func(*bench)
		holds  bool
		want   func(*testing.T, *bench)
	}{
		"Nothing": {reason: "What is as it was is not evaluated again.", change: func(*bench) {}, holds: true, want: is(kind.TypeUpToDate, corev1.ConditionTrue)},
		"Read":    {reason: "A VM that was read and is as it was need not be evaluated again.", change: (*bench).touch, holds: true},
		"Spec": {reason: "The VM differs from the new spec.", want: is(kind.TypeUpToDate, corev1.ConditionFalse), change: func(b *bench) {
			b.m.Generation, b.m.Spec.ForProvider.OnBoot = 2, new(false)
		}},
		"Label":      {reason: "Labels of a Machine become tags.", change: func(b *bench) { b.m.Labels = map[string]string{"a": "b"} }},
		"Annotation": {reason: "Annotations may ask for something.", change: func(b *bench) { b.m.Annotations["a"] = "b" }},
		"Status":     {reason: "A status that was lost is written again.", change: func(b *bench) { b.m.Status.AtProvider.Node = "" }},
		"Option": {reason: "Somebody changed an option of the VM.", want: is(kind.TypeUpToDate, corev1.ConditionFalse), change: func(b *bench) {
			b.vms[10000].config["onboot"] = "0"
			b.touch()
		}},
		"Stopped": {reason: "The VM was stopped.", want: is(kind.TypeUpToDate, corev1.ConditionFalse), change: func(b *bench) {
			b.vms[10000].status, b.vms[10000].now.Uptime = "stopped", 0
			b.touch()
		}},
		"Restarted": {reason: "The VM has another start.", change: func(b *bench) {
			b.vms[10000].now.Uptime = time.Second
			b.touch()
		}},
		"Pool": {reason: "The status shows the pool.", change: func(b *bench) { b.vms[10000].pool = "prod" }, want: func(t *testing.T, b *bench) {
			t.Helper()
			if b.m.Status.AtProvider.Pool != "prod" {
				t.Error("the status does not show the pool")
			}
		}},
		"Cluster": {reason: "The status shows the cluster.", change: func(b *bench) { b.cluster = "renamed" }},
		"Bridge": {
			reason: "The bridge has gone.", change: func(b *bench) { b.bridges = nil },
			want: is(conditions.TypeNetworkConfigured, corev1.ConditionFalse),
		},
		"Storage": {
			reason: "The storage is not available.", change: func(b *bench) { b.storages[0].Status = "unknown" },
			want: is(conditions.TypeResourcesAllocated, corev1.ConditionFalse),
		},
		"Node": {
			reason: "The node is offline.", change: func(b *bench) { b.nodes[0].Status = "offline" },
			want: is(xpv2.TypeReady, corev1.ConditionFalse),
		},
		"Address": {reason: "The guest has another address.", change: func(b *bench) {
			b.agents.Record(b.m, b.clock.now().Add(-b.vms[10000].now.Uptime), guestagent.Node{Name: "pve1"}, reports("10.0.0.6"))
		}, want: func(t *testing.T, b *bench) {
			t.Helper()
			if got := b.m.Status.AtProvider.IPAddresses; len(got) != 1 || got[0] != "10.0.0.6" {
				t.Errorf("want the new address, got %q", got)
			}
		}},
		"Uptime": {reason: "The uptime that is shown is too old.", change: func(b *bench) { b.clock.wait(9 * time.Minute) }},
		"Task": {reason: "A task works on the VM.", change: func(b *bench) {
			b.tasks.Started(b.m, upid("pve1", "qmconfig", 10000))
		}},
		"Ended task": {reason: "The status shows the last task.", change: func(b *bench) {
			u := upid("pve1", "qmconfig", 10000)
			b.tasks.Started(b.m, u)
			b.tasks.Ended(b.m, proxmox.Task{UPID: u, Type: "qmconfig", ID: "10000", ExitStatus: "OK"}, nil)
		}, want: func(t *testing.T, b *bench) {
			t.Helper()
			if b.m.Status.AtProvider.LastTask == nil {
				t.Error("the status does not show the task")
			}
		}},
		"Listed task": {reason: "A task of somebody else works on the VM.", change: func(b *bench) {
			b.pve.tasks = []proxmox.Task{{UPID: upid("pve1", "qmigrate", 10000), Type: "qmigrate", ID: "10000", Running: true}}
		}},
		"Deleted":          {reason: "The Machine is deleted.", change: func(b *bench) { deleted(b.m) }},
		"Other connection": {reason: "Another endpoint is shown.", change: func(b *bench) { b.defaultNode = "pve2" }},
		"Other VM":         {reason: "A Machine that says that it is another one's has no evaluation.", change: func(b *bench) { b.m.UID = types.UID("other") }},
		"By failures": {
			reason: "The strategy depends on when the node was booted.", change: func(*bench) {},
			spec: func(p *v1alpha1.MachineParameters) { p.RunStrategy = new(power.RerunOnFailure) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			change := tc.spec
			if change == nil {
				change = func(p *v1alpha1.MachineParameters) {
					p.OnBoot = new(true)
					p.PowerState = new(v1alpha1.PowerStateRunning)
				}
			}
			b := settledBench(t, change)
			tc.change(b)
			e := b.external()
			if _, err := e.Observe(t.Context(), b.m); err != nil && tc.holds {
				t.Fatalf("%s\nerror %v", tc.reason, err)
			}
			if e.evaluated != tc.holds {
				t.Errorf("%s\nwant the evaluation to hold %t, got %t", tc.reason, tc.holds, e.evaluated)
			}
			if tc.want != nil {
				tc.want(t, b)
			}
		})
	}
}

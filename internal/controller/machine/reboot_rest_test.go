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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// TestRebootHoldsUp changes a spec after a reboot whose task has ended and before Proxmox VE has started the VM again. Changes that take no lock of
// the VM continue, and the rest waits.
func TestRebootHoldsUp(t *testing.T) {
	pooled := spec(func(p *v1alpha1.MachineParameters) { p.Pool = new("a") })
	onBoot := spec(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(true) })
	staleImage := func(m *namespaced.Machine) { m.Annotations[object.AnnotationImages] = "pve1=" + ourImage }
	onPVE1 := ruled(&v1alpha1.MachinePlacement{Nodes: []string{"pve1"}})
	underHA := func(b *bench) { managedByHA(b.vms[10000], "started") }
	grouped := func(b *bench) { b.rules.Grouped = true }
	const configured = "Configure 10000 set onboot delete  digest d1"
	cases := map[string]struct {
		reason string
		edit   func(*namespaced.Machine)
		pve    func(*bench)
		during []string
		after  []string
		waits  bool // Whether that is shown.
		err    string
	}{
		"Nothing": {reason: "Proxmox VE starts the VM.", edit: func(*namespaced.Machine) {}, after: []string{"Start 10000"}},
		"Pool":    {reason: "A pool takes no lock.", edit: pooled, during: []string{"JoinPool a 10000"}, after: []string{"Start 10000"}},
		"Options": {reason: "Options wait for the lock of a start.", edit: onBoot, after: []string{configured, "Start 10000"}, waits: true},
		"Both": {
			reason: "The pool does not wait for the options.", edit: all(pooled, onBoot),
			during: []string{"JoinPool a 10000"}, after: []string{configured, "Start 10000"}, waits: true,
		},
		"Refused": {
			reason: "What is refused is told, and does not end the wait.", edit: all(pooled, onBoot),
			pve: func(b *bench) {
				b.errs["JoinPool"] = refused(http.StatusForbidden, "Permission check failed (/pool/a, Pool.Allocate)")
			},
			during: []string{"JoinPool a 10000", "JoinPool a 10000"}, err: "Pool.Allocate",
		},
		"Unknown": {
			reason: "What may have been done is looked for before it is done again.", edit: pooled,
			pve:    func(b *bench) { b.errs["JoinPool"] = refused(http.StatusGatewayTimeout, "no answer") },
			during: []string{"JoinPool a 10000"}, after: []string{"Start 10000"},
		},
		"Rejected": {
			reason: "A spec that cannot be carried out is not carried out in part.",
			edit:   all(spec(func(p *v1alpha1.MachineParameters) { p.Pool = new("nowhere") }), staleImage), err: "pool 'nowhere' not found",
		},
		"Rule": {
			reason: "HA takes a rule of a VM that it manages.", edit: onPVE1, pve: underHA,
			during: []string{"AddHARule " + ownRule + " vm:10000: only pve1"},
		},
		"Resource": {
			reason: "HA acts on a VM that it is to manage, and takes no rule before.", edit: onPVE1,
			after: []string{"AddHAResource 10000 map[state:started]", "AddHARule " + ownRule + " vm:10000: only pve1"}, waits: true,
		},
		"Group": {
			reason: "The group of PVE 8 is there before the resource names it.", edit: onPVE1, pve: all2(underHA, grouped),
			during: []string{"AddHARule " + ownRule + " " + onlyPVE1},
			after:  []string{"ChangeHAResource 10000 map[group:" + ownRule + "]"}, waits: true,
		},
		"Image": {
			reason: "An image that no VM has is removed, by a task that does not end the wait.",
			edit:   staleImage,
			during: []string{"DeleteVolume pve1"}, after: []string{"Start 10000"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, action("Reboot", "1"))
			b.scheduler = schedulerOf(t, b.m.DeepCopy())
			b.vms[10000] = hasBooted(ourVM("running"))
			b.volumes = map[string][]string{"pve1": {ourImage}}
			b.on["JoinPool"] = func() {
				if !proxmox.IsAuthorization(b.errs["JoinPool"]) { // Whether or not the answer arrives.
					b.vms[10000].pool = "a"
				}
			}
			b.on["AddHAResource"] = func() { managedByHA(b.vms[10000], "started") }
			b.on["ChangeHAResource"] = func() { b.ha = proxmox.HASettings{"group": ownRule} }
			b.on["Configure"] = func() { b.vms[10000].config["onboot"] = "1" }
			if tc.pve != nil {
				tc.pve(b)
			}
			b.reconcile(t.Context())
			b.end(t, upid("pve1", "qmreboot", 10000), "OK")
			b.vms[10000].status, b.writes = "stopped", nil
			tc.edit(b.m)
			b.m.Generation++
			b.lookTwice(t, tc.err)
			if diff := cmp.Diff(tc.during, b.writes); diff != "" {
				t.Errorf("\n%s\nduring the wait: -want, +got:\n%s", tc.reason, diff)
			}
			waits := strings.Contains(b.m.GetCondition(kind.TypeUpToDate).Message, "waits for a reboot of the VM to end")
			if tc.err != "" {
				return
			}
			if waits != tc.waits {
				t.Errorf("\n%s\nwant the wait told: %t, got %+v", tc.reason, tc.waits, b.m.GetCondition(kind.TypeUpToDate))
			}
			b.writes = nil
			b.clock.wait(tasktrack.RebootTime)
			b.lookTwice(t, tc.err)
			if diff := cmp.Diff(tc.after, b.writes); diff != "" {
				t.Errorf("\n%s\nafter the wait: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// lookTwice reconciles, removes an image that is to be removed, and reconciles again. An error must contain the message.
func (b *bench) lookTwice(t *testing.T, message string) {
	t.Helper()
	for range 2 {
		if s := b.reconcile(t.Context()); s.err != nil && (message == "" || !strings.Contains(s.err.Error(), message)) && !proxmox.IsUnavailable(s.err) {
			t.Errorf("got %v", s.err)
		}
		if removal := upid("pve1", "imgdel", 0); b.ends[removal] != nil {
			b.end(t, removal, "OK")
			delete(b.ends, removal)
		}
		b.clock.wait(tasktrack.Arrival)
	}
}

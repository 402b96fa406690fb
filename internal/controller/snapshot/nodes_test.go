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

package snapshot_test

import (
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestNodeDies fails the node that takes the snapshot, while HA moves its VM to another one. The task is waited for until the node is no longer a
// member of the cluster.
func TestNodeDies(t *testing.T) {
	cases := map[string]struct {
		reason string
		died   func(g *simulator.Guest)
		writes int
		told   string
		left   int
	}{
		"Lost":  {reason: "What was not taken is taken again.", died: func(g *simulator.Guest) { delete(g.Snapshots, "s1") }, writes: 2},
		"Taken": {reason: "What was taken is noted.", died: func(*simulator.Guest) {}, writes: 1},
		"Half":  {reason: "What was begun is told.", died: func(g *simulator.Guest) { g.Snapshots["s1"].State = "prepare" }, told: "Incomplete", writes: 1},
		"Theirs": {
			reason: "Another snapshot of the name is left alone.", told: "AlreadyExists", writes: 1, left: 1,
			died: func(g *simulator.Guest) { g.Snapshots["s1"].Time = g.Snapshots["s1"].Time.Add(time.Hour) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			l.ReplaceVM("ceph:1", uuid)
			l.Edit(func(s *simulator.State) { s.Guests[vmid].Node = "pve2" })
			s := l.snapshot("s1", ofVMID)
			l.Until(s, "it is begun", func() bool { return strings.Contains(s.GetAnnotations()[kind.AnnotationSnapshot], `"task":"UPID:pve2`) })
			l.Edit(func(s *simulator.State) {
				s.Nodes["pve2"].Offline, s.Guests[vmid].Node = true, "pve1"
				tc.died(s.Guests[vmid])
			})
			l.Restart()
			l.Until(s, "it waits for the node", configtest.Says(s, xpv2.TypeReady, "NodeOffline", "pve2"))
			l.Edit(func(s *simulator.State) {
				delete(s.Nodes, "pve2")
				for id, g := range s.Guests {
					if g.Node == "pve2" {
						delete(s.Guests, id)
					}
				}
			})
			if tc.told == "" {
				l.Until(s, "it is taken", configtest.Settled(s))
			} else {
				l.Until(s, "it is told", configtest.Says(s, xpv2.TypeReady, xpv2.ConditionReason(tc.told)))
			}
			if w := l.Writes(); len(w) != tc.writes {
				t.Errorf("%s Got %v", tc.reason, w)
			}
			if tc.told == "Incomplete" {
				l.Edit(func(s *simulator.State) { s.Guests[vmid].Snapshots["s1"].State = "" })
				l.Restart()
				l.Until(s, "it is whole", configtest.Settled(s))
			}
			l.Delete(s)
			if all := l.snapshots(); len(all) != tc.left {
				t.Errorf("%s Left: %v", tc.reason, all)
			}
		})
	}
}

// TestDeletedWithTask deletes a Snapshot whose task was on a node that is offline, while HA has moved its VM to another one. The deletion waits for
// that node, which a policy can see too.
func TestDeletedWithTask(t *testing.T) {
	cases := map[string]struct {
		reason  string
		settles bool
		task    string
	}{
		"Taking":   {reason: "A snapshot whose task cannot be asked for may have been taken.", task: `"task":"UPID:pve2`},
		"Removing": {reason: "A snapshot whose removal cannot be asked for may be there yet.", settles: true, task: `"removal":"UPID:pve2`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			l.ReplaceVM("ceph:1", uuid)
			l.Edit(func(s *simulator.State) { s.Guests[vmid].Node = "pve2" })
			s := l.snapshot("s1", ofVMID)
			if tc.settles {
				l.Until(s, "it is taken", configtest.Settled(s))
				l.StartDelete(s)
			}
			l.Until(s, "it is begun", func() bool { return strings.Contains(s.GetAnnotations()[kind.AnnotationSnapshot], tc.task) })
			l.Edit(func(s *simulator.State) { s.Nodes["pve2"].Offline, s.Guests[vmid].Node = true, "pve1" })
			l.Restart()
			if !tc.settles {
				l.StartDelete(s)
			}
			l.Until(s, "it waits for the node", configtest.Says(s, xpv2.TypeReady, xpv2.ReasonDeleting, "node pve2"))
			if c := s.GetCondition(kind.TypeUpToDate); c.Reason != "NodeOffline" || !strings.Contains(c.Message, "node pve2") {
				t.Errorf("%s Got %v", tc.reason, c)
			}
			l.Edit(func(s *simulator.State) { delete(s.Nodes, "pve2") })
			l.Until(s, configtest.Gone, func() bool { return false })
			if all := l.snapshots(); len(all) > 0 {
				t.Errorf("%s Left: %v", tc.reason, all)
			}
		})
	}
}

// TestOnRemovedNode removes the node of the VM from the cluster, where the configuration of the VM stays, and checks that the remedy is reported,
// even if the Snapshot is deleted.
func TestOnRemovedNode(t *testing.T) {
	const way = "move the VM's configuration in /etc/pve/nodes/pve2/qemu-server"
	for name, taken := range map[string]bool{"Taken": true, "New": false} {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			l.ReplaceVM("ceph:1", uuid)
			l.Edit(func(s *simulator.State) { s.Guests[vmid].Node = "pve2" })
			s := l.snapshot("s1", ofVMID)
			if taken {
				l.Until(s, "it is taken", configtest.Settled(s))
			}
			l.Edit(func(s *simulator.State) { delete(s.Nodes, "pve2") })
			l.Restart()
			l.Until(s, "the way out is told", configtest.Says(s, xpv2.TypeReady, "NodeOffline", "node pve2", way))
			if c := s.GetCondition(xpv2.TypeSynced); c.Status != corev1.ConditionTrue {
				t.Errorf("a wait is no error, got %s", c.Message)
			}
			if taken {
				l.StartDelete(s)
				l.Until(s, "the deletion waits", configtest.Says(s, xpv2.TypeReady, xpv2.ReasonDeleting, way))
			}
			l.Edit(func(s *simulator.State) { s.Guests[vmid].Node = "pve1" })
			if !taken {
				l.Until(s, "it is taken", configtest.Settled(s))
			}
			l.Delete(s)
			if all := l.snapshots(); len(all) > 0 {
				t.Errorf("left: %v", all)
			}
		})
	}
}

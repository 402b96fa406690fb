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

package backup_test

import (
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/backup"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// moveTo moves the VM to a node, on shared storage.
func (l *lab) moveTo(node string) {
	l.Helper()
	l.ReplaceVM("ceph:1", uuid)
	l.Edit(func(s *simulator.State) { s.Guests[vmid].Node = node })
}

// off takes a node down, or brings it back.
func (l *lab) off(node string, is bool) {
	l.Edit(func(s *simulator.State) { s.Nodes[node].Offline = is })
}

// leaves removes a node from the cluster permanently. The VM continues on another one.
func (l *lab) leaves(node string) {
	l.Edit(func(s *simulator.State) {
		delete(s.Nodes, node)
		for id, g := range s.Guests {
			if g.Node == node && id != vmid {
				delete(s.Guests, id)
			}
		}
		s.Guests[vmid].Node = "pve1"
		for key := range s.Volumes {
			if key.Node == node {
				delete(s.Volumes, key)
			}
		}
	})
}

// TestNodeDies fails the node that creates the backup, on a storage that other nodes have. The node is waited for until it is no longer a member of
// the cluster.
func TestNodeDies(t *testing.T) {
	lost := func(l *lab) {
		l.Edit(func(s *simulator.State) {
			for key := range s.Volumes {
				if key.Storage == "nas" {
					delete(s.Volumes, key)
				}
			}
		})
	}
	cases := map[string]struct {
		reason string
		before func(l *lab)
		writes int
	}{
		"Lost": {reason: "What was not made is made again.", before: lost, writes: 2},
		"Made": {reason: "What was made is found by its mark.", before: func(*lab) {}, writes: 1},
	}
	for name, tc := range cases {
		for _, deleted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				l := here(t)
				l.moveTo("pve2")
				l.Machine(uuid)
				b := l.backup("b1", removed+"protected: false\n")
				l.Until(b, "it is begun", func() bool { return strings.Contains(b.GetAnnotations()[backup.AnnotationRecord], `"task":"UPID:pve2`) })
				tc.before(l)
				l.off("pve2", true)
				l.Until(b, "it waits for the node", configtest.Says(b, xpv2.TypeReady, "NodeOffline", "pve2"))
				l.leaves("pve2")
				if !deleted {
					l.Until(b, "it is made", configtest.Settled(b))
					if w := l.Writes(); len(w) != tc.writes || l.only().ID != b.Observation().Volume {
						t.Errorf("%s Got %v", tc.reason, w)
					}
				}
				l.Delete(b)
				if all := l.volumes("nas"); len(all) > 0 {
					t.Errorf("left: %v", all)
				}
			})
		}
	}
}

// TestVMOnRemovedNode removes the node of the VM from the cluster, where the configuration of the VM stays, and checks that the remedy is reported.
func TestVMOnRemovedNode(t *testing.T) {
	l := here(t)
	l.moveTo("pve2")
	l.Machine(uuid)
	b := l.backup("b1", removed)
	l.Edit(func(s *simulator.State) { delete(s.Nodes, "pve2") })
	l.Until(b, "the way out is told", configtest.Says(b, xpv2.TypeReady, "NodeOffline", "node pve2", "/etc/pve/nodes/pve2/qemu-server"))
	if c := b.GetCondition(xpv2.TypeSynced); c.Status != corev1.ConditionTrue {
		t.Errorf("a wait is no error, got %s", c.Message)
	}
	l.Edit(func(s *simulator.State) { s.Guests[vmid].Node = "pve1" })
	l.Until(b, "it is made", configtest.Settled(b))
	l.Delete(b)
}

// TestLeavesWithBackup removes a node from the cluster with the backup on its own storage, and checks that the backup is considered deleted, and the
// deletion ends.
func TestLeavesWithBackup(t *testing.T) {
	l := here(t)
	l.moveTo("pve2")
	l.Machine(uuid)
	b := l.backup("b1", "machine: web\nstorage: local\nremovalPolicy: Delete\nprotected: false\n")
	l.Until(b, "it is made", configtest.Settled(b))
	l.leaves("pve2")
	l.Restart()
	l.Until(b, "it is gone", configtest.Says(b, xpv2.TypeReady, "Gone"))
	l.Delete(b)
}

// TestStorageLost deletes a Backup that no node can be asked for. It is given up once it can never be removed, and waits as long as the backup may
// become visible again, unless its user gives it up.
func TestStorageLost(t *testing.T) {
	nas := func(s *simulator.State) *state.Storage { return s.Storages["nas"] }
	undefine := func(s *simulator.State) { delete(s.Storages, "nas") }
	on := func(nodes ...string) func(*lab) {
		return func(l *lab) { l.Edit(func(s *simulator.State) { nas(s).Nodes = nodes }) }
	}
	denied := func(path string) func(*simulator.State) {
		return func(s *simulator.State) {
			s.ACL = append(s.ACL, simulator.Grant{Path: path, Kind: "user", ID: "crossplane@pve", Role: "NoAccess", Propagate: true})
		}
	}
	const node = "bring such a node back"
	cases := map[string]struct {
		reason string
		change func(*lab)
		left   string // why it is left behind; empty if it waits
		waits  string
		back   func(*simulator.State) // makes it visible again; nil if its user gives it up
	}{
		"NodeRemoved": {
			reason: "The storage is on no member of the cluster.", left: "nodes that are not members of the cluster any more",
			change: func(l *lab) { on("pve2")(l); l.leaves("pve2") },
		},
		"Undefined": {
			reason: "The storage is not defined any more.", left: "its storage is not defined any more",
			change: func(l *lab) { l.Edit(undefine) },
		},
		"NodeOffline": {
			reason: "The node with the storage may come back.", waits: node,
			change: func(l *lab) { on("pve2")(l); l.off("pve2", true) }, back: func(s *simulator.State) { s.Nodes["pve2"].Offline = false },
		},
		"OtherOffline": {
			reason: "Another node with the storage may come back.", waits: node,
			change: func(l *lab) { on("pve2", "pve3")(l); l.leaves("pve2"); l.off("pve3", true) },
			back:   func(s *simulator.State) { s.Nodes["pve3"].Offline = false },
		},
		"Withdrawn": {reason: "The storage may be given back to its node.", waits: node, change: on("gone"), back: func(s *simulator.State) { nas(s).Nodes = nil }},
		"Disabled": {
			reason: "The storage may be enabled again.", waits: "storage nas is disabled: enable it",
			change: func(l *lab) { l.Edit(func(s *simulator.State) { nas(s).Disabled = true }) },
			back:   func(s *simulator.State) { nas(s).Disabled = false },
		},
		"DisabledForGood": {
			reason: "The user need not wait for a storage that is disabled.", waits: "removalPolicy to Retain",
			change: func(l *lab) {
				on("pve2")(l)
				l.leaves("pve2")
				l.Edit(func(s *simulator.State) { nas(s).Disabled = true })
			},
		},
		"Denied": {
			reason: "A token that may not see the storage does not tell what became of it.", waits: "grant Datastore.Audit on /storage/nas",
			change: func(l *lab) { l.Edit(undefine); l.Edit(denied("/storage/nas")) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			l.moveTo("pve2")
			l.Machine(uuid)
			b := l.backup("b1", removed)
			l.Until(b, "it is made", configtest.Settled(b))
			tc.change(l)
			l.Restart()
			l.StartDelete(b)
			if tc.waits != "" {
				l.Until(b, "it waits", configtest.Says(b, xpv2.TypeReady, xpv2.ReasonDeleting, tc.waits, "removalPolicy to Retain"))
			}
			switch {
			case tc.back != nil:
				l.Edit(tc.back)
			case tc.waits != "":
				l.ChangeSpec(b, func() { b.Parameters().RemovalPolicy = new(v1alpha1.BackupRetain) })
			}
			l.Until(b, configtest.Gone, func() bool { return false })
			told := slices.ContainsFunc(l.Events.All(), func(e string) bool { return strings.Contains(e, "LeftBehind") && strings.Contains(e, tc.left) })
			if told != (tc.left != "") {
				t.Errorf("%s Told: %v", tc.reason, l.Events.All())
			}
			there := false
			l.Edit(func(s *simulator.State) {
				for key := range s.Volumes {
					there = there || key.Storage == "nas"
				}
			})
			if there != (tc.back == nil) {
				t.Errorf("%s It is there: %t", tc.reason, there)
			}
		})
	}
}

// TestNamedOnNode adopts and observes a backup that is on a node's own storage, on a node that is not the first.
func TestNamedOnNode(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.moveTo("pve2")
		l.Succeeded(l.Client.BackUp(l.Context(), proxmox.Ref{Node: "pve2", VMID: vmid}, proxmox.BackupOptions{Storage: "local", Notes: "as it was"}))
		all, err := l.Client.Volumes(l.Context(), "pve2", "local", "backup")
		l.Must(err)
		if len(all) != 1 {
			l.Fatalf("want one backup, got %v", all)
		}
		local := strings.Replace(removed, "nas", "local", 1)
		looks := l.named("looks", local+"notes: other", all[0].ID)
		l.ChangeSpec(looks, func() { looks.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
		l.Until(looks, "the difference is shown", configtest.Says(looks, kind.TypeUpToDate, kind.ReasonDifferent, "notes"))
		if c := looks.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue || looks.Observation().Node != "pve2" {
			l.Errorf("want it found on pve2, got %v on %q", c, looks.Observation().Node)
		}
		l.off("pve2", true)
		l.Restart()
		l.Until(looks, "it tells which node was not asked", configtest.Says(looks, xpv2.TypeReady, "StorageUnavailable", "pve2"))
		other := l.named("other", local, "local:backup/vzdump-qemu-500-2026_01_01-00_00_00.vma.zst")
		l.Until(other, "the other one waits", configtest.Says(other, xpv2.TypeReady, "StorageUnavailable", "pve2"))
		l.off("pve2", false)
		l.Restart()
		l.Until(other, "there is no other one", configtest.Says(other, xpv2.TypeReady, "NotFound"))
		l.Delete(looks)
		mine := l.named("mine", local+"notes: mine now", all[0].ID)
		l.Until(mine, "it is adopted", configtest.Settled(mine))
		l.Delete(mine)
		if all, err = l.Client.Volumes(l.Context(), "pve2", "local", "backup"); err != nil || len(all) > 0 {
			l.Errorf("an adopted backup is removed with its resource: %v, %v", all, err)
		}
	})
}

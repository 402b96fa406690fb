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

package replication

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A pve is a Client, an Inventory, and what a Reader reads.
type pve struct {
	nodes      []proxmox.Node
	storages   []proxmox.Storage
	old, fresh []proxmox.Replication
	failures   map[string]string
	denied     bool
	removed    []string
}

func (p *pve) Nodes(context.Context) ([]proxmox.Node, error) { return p.nodes, nil }

func (p *pve) Storages(context.Context) ([]proxmox.Storage, error) { return p.storages, nil }

func (p *pve) Replications(_ context.Context, maxAge time.Duration) ([]proxmox.Replication, error) {
	if maxAge == inventory.Fresh {
		return p.fresh, nil
	}
	return p.old, nil
}

func (p *pve) RemoveReplication(_ context.Context, id string) error {
	p.removed = append(p.removed, id)
	if p.denied {
		return &proxmox.Error{Op: "remove", Method: http.MethodDelete, Status: http.StatusForbidden, Message: "Permission check failed (VM.Replicate)"}
	}
	return nil
}

func (p *pve) ReplicationFailures(context.Context, proxmox.Ref) (map[string]string, error) {
	return p.failures, nil
}

func (p *pve) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) { return nil, nil }

func (p *pve) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	return proxmox.ClusterStatus{}, nil
}

func (p *pve) VMIDTaken(context.Context, int) (bool, error) { return false, nil }

func (p *pve) Pending(context.Context, proxmox.Ref) ([]proxmox.PendingValue, error) { return nil, nil }

// A recorder counts events.
type recorder struct{ events int }

func (r *recorder) Event(runtime.Object, xpevent.Event) { r.events++ }

func (r *recorder) WithAnnotations(...string) xpevent.Recorder { return r }

func TestRemove(t *testing.T) {
	const obstacleTime = 15 * time.Minute
	job := proxmox.Replication{ID: "100-0", VMID: 100, Target: "pve2"}
	marked, local, theirs := job, job, job
	marked.Removal, local.Removal, theirs.VMID = proxmox.RemovalFull, proxmox.RemovalLocal, 101
	zfs := []proxmox.Storage{{Name: "tank", Node: "pve1", Type: proxmox.ReplicationStorage}}
	lvm := []proxmox.Storage{{Name: "lvm", Node: "pve1", Type: "lvm"}}
	two, off := []proxmox.Node{
		{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "online"},
	}, []proxmox.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "offline"}}
	cases := map[string]struct {
		reason   string
		pve      pve
		disk     string
		later    time.Duration
		removed  []string
		waits    string
		left     int
		announce int
	}{
		"None": {
			reason: "A VM without jobs waits for nothing.",
			pve:    pve{nodes: two, storages: zfs, old: []proxmox.Replication{theirs}, fresh: []proxmox.Replication{theirs}},
		},
		"Alone": {
			reason: "One node replicates nothing.",
			pve:    pve{nodes: two[:1], storages: zfs, old: []proxmox.Replication{job}, fresh: []proxmox.Replication{job}},
		},
		"Storage": {
			reason: "Other storages replicate nothing.",
			pve:    pve{nodes: two, storages: lvm, old: []proxmox.Replication{job}, fresh: []proxmox.Replication{job}}, disk: "lvm:vm-100-disk-0",
		},
		"Outdated": {reason: "A job that is gone meanwhile is none.", pve: pve{nodes: two, storages: zfs, old: []proxmox.Replication{job}}},
		"Local": {
			reason: "A job that somebody removes without its copies is left alone.",
			pve:    pve{nodes: two, storages: zfs, old: []proxmox.Replication{local}, fresh: []proxmox.Replication{local}},
		},
		"Hidden": {
			reason: "A disk on a storage that may not be seen may be replicated.", disk: "tank:vm-100-disk-0", removed: []string{"100-0"}, announce: 1,
			pve: pve{nodes: two, storages: lvm, old: []proxmox.Replication{job}, fresh: []proxmox.Replication{job}}, waits: "VM 100 waits until Proxmox VE has removed",
		},
		"Job": {
			reason: "A job is marked, and waited for.", removed: []string{"100-0"}, announce: 1,
			pve: pve{nodes: two, storages: zfs, old: []proxmox.Replication{job}, fresh: []proxmox.Replication{job}}, waits: "node pve2 (job 100-0)",
		},
		"Marked": {
			reason: "A job that is marked is not marked again.", waits: "node pve2 (job 100-0)",
			pve: pve{nodes: two, storages: zfs, old: []proxmox.Replication{marked}, fresh: []proxmox.Replication{marked}},
		},
		"Queued": {
			reason: "A node that may be busy is waited for longer than an obstacle.", later: obstacleTime, waits: "waits until Proxmox VE has removed",
			pve: pve{nodes: two, storages: zfs, old: []proxmox.Replication{marked}, fresh: []proxmox.Replication{marked}},
		},
		"Forgotten": {
			reason: "Copies are left once nobody waits any more.", later: QueueTime, left: 1,
			pve: pve{nodes: two, storages: zfs, old: []proxmox.Replication{marked}, fresh: []proxmox.Replication{marked}},
		},
		"Off": {
			reason: "A node that is off is waited for.", waits: "node pve2 is offline",
			pve: pve{nodes: off, storages: zfs, old: []proxmox.Replication{marked}, fresh: []proxmox.Replication{marked}},
		},
		"Dead": {
			reason: "A node that stays off is not waited for.", later: obstacleTime, left: 1,
			pve: pve{nodes: off, storages: zfs, old: []proxmox.Replication{marked}, fresh: []proxmox.Replication{marked}},
		},
		"Early": {
			reason: "A failure of before the removal does not count.", later: Round - time.Second, waits: "waits until Proxmox VE has removed",
			pve: pve{
				nodes: two, storages: zfs, old: []proxmox.Replication{marked}, fresh: []proxmox.Replication{marked},
				failures: map[string]string{"100-0": "no ssh"},
			},
		},
		"Failed": {
			reason: "A failure of the removal is told.", later: Round, waits: "job 100-0 has failed: no ssh",
			pve: pve{
				nodes: two, storages: zfs, old: []proxmox.Replication{marked}, fresh: []proxmox.Replication{marked},
				failures: map[string]string{"100-0": "no ssh"},
			},
		},
		"Denied": {
			reason: "A missing privilege is told.", removed: []string{"100-0"}, waits: "VM.Replicate",
			pve: pve{nodes: two, storages: zfs, old: []proxmox.Replication{job}, fresh: []proxmox.Replication{job}, denied: true},
		},
		"StillDenied": {
			reason: "A missing privilege is waited for a minute.", removed: []string{"100-0"}, later: RefusedTime, left: 1,
			pve: pve{nodes: two, storages: zfs, old: []proxmox.Replication{job}, fresh: []proxmox.Replication{job}, denied: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now, told := time.Unix(1_800_000_000, 0), &recorder{}
			m := &namespaced.Machine{}
			r := &Remover{
				Client: &tc.pve, Inventory: &tc.pve, Reader: vmcache.NewReader(&tc.pve, &tc.pve), Record: told, Log: logging.NewNopLogger(),
				Tasks: tasktrack.New(func() time.Time { return now }), ObstacleTime: obstacleTime,
				VM: &vmstate.VM{Ref: proxmox.Ref{Node: "pve1", VMID: 100}, State: qemu.State{Config: qemu.Config{"scsi0": tc.disk}}},
			}
			r.Tasks.Waited(m, removing)
			now = now.Add(tc.later)
			left, waits, err := r.Remove(t.Context(), m)
			if err != nil || len(left) != tc.left || (waits != nil) != (tc.waits != "") || waits != nil && !strings.Contains(waits.Error(), tc.waits) {
				t.Errorf("%s Want %d copies left and wait %q, got %v, %v, %v", tc.reason, tc.left, tc.waits, left, waits, err)
			}
			if diff := cmp.Diff(tc.removed, tc.pve.removed); diff != "" {
				t.Errorf("%s Removed jobs: -want, +got:\n%s", tc.reason, diff)
			}
			if told.events != tc.announce {
				t.Errorf("%s Want %d events, got %d", tc.reason, tc.announce, told.events)
			}
		})
	}
}

// TestEmitOrphaned checks that copies that are left are reported once, and that nothing is reported if there are none.
func TestEmitOrphaned(t *testing.T) {
	told := &recorder{}
	r := &Remover{Record: told, VM: &vmstate.VM{Ref: proxmox.Ref{VMID: 100}}}
	r.EmitOrphaned(&namespaced.Machine{}, nil)
	if told.events != 0 {
		t.Errorf("want no event, got %d", told.events)
	}
	r.EmitOrphaned(&namespaced.Machine{}, []proxmox.Replication{{ID: "100-0", VMID: 100, Target: "pve2"}})
	if told.events != 1 {
		t.Errorf("want one event, got %d", told.events)
	}
}

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
	"context"
	"strings"
	"testing"
	"time"

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/replication"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// heard holds the reasons and the messages of events.
type heard struct{ reasons, messages []string }

func (h *heard) Event(_ runtime.Object, e xpevent.Event) {
	h.reasons, h.messages = append(h.reasons, string(e.Reason)), append(h.messages, e.Message)
}

// of reports whether there was an event with a text in its message.
func (h *heard) of(r xpevent.Reason, text string) bool {
	for i, message := range h.messages {
		if h.reasons[i] == string(r) && strings.Contains(message, text) {
			return true
		}
	}
	return false
}

func (h *heard) WithAnnotations(...string) xpevent.Recorder { return h }

// TestReplicasOfDeletedMachines checks that copies of a VM on other nodes are removed before the VM, if possible.
func TestReplicasOfDeletedMachines(t *testing.T) {
	const remove, destroy, shutdown = "RemoveReplication 10000-0", "Delete 10000 purge true", "Shutdown 10000 0s force true"
	job := proxmox.Replication{ID: "10000-0", VMID: 10000, Target: "pve2"}
	marked, kept, theirs := job, job, proxmox.Replication{ID: "10001-0", VMID: 10001, Target: "pve2"}
	marked.Removal, kept.Removal = proxmox.RemovalFull, proxmox.RemovalLocal
	pool := []proxmox.Storage{{Name: "tank", Node: "pve1", Type: "zfspool"}}
	none := refused(403, "Permission check failed (/vms/10000, VM.Replicate)")
	off, failing := []proxmox.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "offline"}}, map[string]string{"10000-0": "no ssh"}
	asked, left := string(events.ReasonUnreplicating), string(events.ReasonOrphanedReplicas)
	cases := map[string]struct {
		reason   string
		status   string
		disk     string
		jobs     []proxmox.Replication
		storages []proxmox.Storage
		nodes    []proxmox.Node
		failures map[string]string
		errs     map[string]error
		later    time.Duration // Until the last of several attempts.
		writes   []string
		events   []string
		err      string
	}{
		"None": {reason: "A VM without copies is destroyed at once.", storages: pool, jobs: []proxmox.Replication{theirs}, writes: []string{destroy}},
		"Marked": {
			reason: "Jobs are marked for their removal, and waited for.", storages: pool, jobs: []proxmox.Replication{theirs, job},
			writes: []string{remove}, events: []string{asked}, err: "node pve2 (job 10000-0)",
		},
		"Waiting": {
			reason: "One that is marked is not marked again.", storages: pool, jobs: []proxmox.Replication{marked},
			err: "VM 10000 waits until Proxmox VE has removed",
		},
		"Running": {
			reason: "Meanwhile the guest is shut down.", status: "running", storages: pool, jobs: []proxmox.Replication{job},
			writes: []string{remove, shutdown}, events: []string{asked},
		},
		"Queue": {
			reason: "A node may have other jobs to do first.", storages: pool, jobs: []proxmox.Replication{marked}, later: obstacleTime,
			err: "VM 10000 waits until",
		},
		"Patience": {
			reason:   "A node that has other jobs to do first is waited for for a limited time.",
			storages: pool, jobs: []proxmox.Replication{marked}, later: replication.QueueTime,
			writes: []string{destroy}, events: []string{left},
		},
		"Off": {reason: "A node that is off is waited for.", storages: pool, nodes: off, jobs: []proxmox.Replication{marked}, err: "node pve2 is offline"},
		"Dead": {
			reason: "A node that is off is waited for less long.", storages: pool, nodes: off, jobs: []proxmox.Replication{marked}, later: obstacleTime,
			writes: []string{destroy}, events: []string{left},
		},
		"Old": {
			reason: "What became of the job before it was to be removed does not count.", storages: pool, jobs: []proxmox.Replication{marked},
			failures: failing, later: time.Minute, err: "VM 10000 waits until",
		},
		"Failing": {
			reason: "What PVE says of the removal is told.", storages: pool, jobs: []proxmox.Replication{marked}, failures: failing,
			later: replication.Round, err: "job 10000-0 has failed: no ssh",
		},
		"Hopeless": {
			reason: "A removal that keeps failing is waited for for a limited time.", storages: pool, jobs: []proxmox.Replication{marked}, failures: failing,
			later: obstacleTime, writes: []string{destroy}, events: []string{left},
		},
		"Unknown": {
			reason: "If PVE does not say, it is waited for.", storages: pool, jobs: []proxmox.Replication{marked},
			errs: map[string]error{"ReplicationFailures": refused(500, "got timeout")}, later: obstacleTime, err: "VM 10000 waits until",
		},
		"Forbidden": {
			reason: "Who may not have copies removed is told so.", storages: pool, jobs: []proxmox.Replication{job},
			errs: map[string]error{"RemoveReplication": none}, writes: []string{remove}, err: "VM.Replicate",
		},
		"Allowed": {
			reason: "Who may not have copies removed is told what is left in the end.", storages: pool, jobs: []proxmox.Replication{job},
			errs: map[string]error{"RemoveReplication": none}, later: replication.RefusedTime, writes: []string{remove, remove, destroy},
			events: []string{left},
		},
		"Kept": {reason: "Copies that somebody has decided to keep stay.", storages: pool, jobs: []proxmox.Replication{kept}, writes: []string{destroy}},
		"Failed": {
			reason: "A job that cannot be removed is tried again.", storages: pool, jobs: []proxmox.Replication{job},
			errs: map[string]error{"RemoveReplication": refused(500, "got timeout")}, later: obstacleTime, writes: []string{remove, remove},
			err: "got timeout",
		},
		"Unlisted": {
			reason: "A VM of which nobody knows whether there are copies stays.", storages: pool,
			errs: map[string]error{"Replications": refused(500, "got timeout")}, err: "got timeout",
		},
		"NoPool": {
			reason: "Where nothing can be replicated, nobody is asked.", errs: map[string]error{"Replications": refused(500, "asked")},
			writes: []string{destroy},
		},
		"Alone": {
			reason: "Where there is one node only, nobody is asked for replication jobs.", storages: pool, nodes: []proxmox.Node{{Name: "pve1", Status: "online"}},
			errs: map[string]error{"Replications": refused(500, "asked")}, writes: []string{destroy},
		},
		"Hidden": {
			reason: "A storage that the user may not see may be a pool.", disk: "secret:vm-10000-disk-0,size=1G", jobs: []proxmox.Replication{job},
			writes: []string{remove}, events: []string{asked}, err: "job 10000-0",
		},
		"Device": {reason: "A device of the node is none.", disk: "/dev/sdb,size=1G", jobs: []proxmox.Replication{job}, writes: []string{destroy}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, deleted)
			vm := ourVM("stopped")
			if tc.status != "" {
				vm.status = tc.status
			}
			if tc.disk != "" {
				vm.config["scsi0"] = tc.disk
			}
			b.vms[10000], b.replications, b.failures, b.storages = vm, tc.jobs, tc.failures, append(b.storages, tc.storages...)
			if tc.nodes != nil {
				b.nodes = tc.nodes
			}
			if tc.errs != nil {
				b.errs = tc.errs
			}
			h := &heard{}
			s := b.reconcileHeard(t.Context(), h)
			if tc.later > 0 {
				b.clock.wait(tc.later)
				s = b.reconcileHeard(t.Context(), h)
			}
			if tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
				t.Errorf("%s want error %q, got %v", tc.reason, tc.err, s.err)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("%s writes: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.events, h.reasons); diff != "" {
				t.Errorf("%s events: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func (b *bench) reconcileHeard(ctx context.Context, h *heard) reconcileResult {
	e := b.external()
	e.record = h
	return b.reconcileWith(ctx, e)
}

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

package target

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A pve is an Inventory and a Client.
type pve struct {
	old, fresh []proxmox.Guest // The list of guests, as cached and as read now.
	tasks      []proxmox.Task
	taken      bool
	name       string
	denied     bool
	followed   func(proxmox.Task)
}

func (p *pve) Guests(_ context.Context, maxAge time.Duration) ([]proxmox.Guest, error) {
	if maxAge == inventory.Fresh {
		return p.fresh, nil
	}
	return p.old, nil
}

func (p *pve) Nodes(context.Context) ([]proxmox.Node, error) {
	return []proxmox.Node{{Name: "on", Status: "online"}, {Name: "off", Status: "offline"}}, nil
}

func (p *pve) Tasks(context.Context, time.Duration) ([]proxmox.Task, error) { return p.tasks, nil }

func (p *pve) ClusterName(context.Context) (string, error) {
	if p.denied {
		return "", &proxmox.Error{Op: "call", Method: http.MethodGet, Status: http.StatusForbidden, Message: "Permission check failed"}
	}
	return p.name, nil
}

func (p *pve) Follow(_ proxmox.UPID, done func(proxmox.Task)) { p.followed = done }

func (p *pve) VMIDTaken(context.Context, int) (bool, error) { return p.taken, nil }

func (p *pve) Task(context.Context, proxmox.UPID) (proxmox.Task, error) { return proxmox.Task{}, nil }

func TestVMOf(t *testing.T) {
	has := v1alpha1.MachineObservation{Phase: v1alpha1.MachineRunning, UUID: "u", VMID: new(int32(100))}
	cases := map[string]struct {
		reason    string
		namespace string
		has       v1alpha1.MachineObservation
		deleted   bool
		others    bool // The VM belongs to another tenant.
		want      VM
		problem   xpv2.ConditionReason
		message   string
	}{
		"Running": {reason: "A Machine with a VM has it.", namespace: "team", has: has, want: VM{VMID: 100, UUID: "u"}},
		"Elsewhere": {
			reason: "A Machine of another namespace is none.", namespace: "other", has: has, problem: ReasonMachineNotFound,
			message: `Machine "web" does not exist: the backup is made once it has its VM`,
		},
		"Creating": {
			reason: "A Machine whose VM is being created has none yet.", namespace: "team", problem: ReasonMachineNotReady,
			has:     v1alpha1.MachineObservation{Phase: v1alpha1.MachineCreating, UUID: "u", VMID: new(int32(100))},
			message: `Machine "web" does not have its VM yet: the backup is made then`,
		},
		"Incomplete": {
			reason: "A VM that has not had all disks of its spec yet is not whole.", namespace: "team", problem: ReasonMachineNotReady,
			has: v1alpha1.MachineObservation{Phase: v1alpha1.MachineStopped, UUID: "u", VMID: new(int32(100)), PendingDisks: []string{"data", "logs"}},
			message: `Machine "web" does not have all of its disks yet, and the backup is made once it does: it lacks data, logs; ` +
				`see its condition UpToDate, or take them off its disks`,
		},
		"Others": {
			reason: "A Machine of another tenant is as if it were not there.", namespace: "team", has: has, deleted: true, others: true, problem: ReasonMachineNotFound,
			message: `Machine "web" does not exist: the backup is made once it has its VM`,
		},
		"Deleted": {
			reason: "A Machine that is being deleted gives no VM.", namespace: "team", has: has, deleted: true, problem: ReasonMachineNotReady,
			message: `Machine "web" is being deleted: no backup is made`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := runtime.NewScheme()
			if err := namespaced.SchemeBuilder.AddToScheme(s); err != nil {
				t.Fatal(err)
			}
			m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: "web"}}
			m.Status.AtProvider = tc.has
			if tc.deleted {
				m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"x"}
			}
			p := Parts[*namespaced.Backup]{
				Kube: fake.NewClientBuilder().WithScheme(s).WithObjects(m).Build(), Machine: &namespaced.Machine{}, Noun: "backup", Made: "made",
			}
			p.SameTenant = func(context.Context) connect.SameTenantFunc {
				return func(_, _ resource.Managed) (own, operators bool) { return !tc.others, false }
			}
			got, problem, err := p.VMOf(t.Context(), &namespaced.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}, "web")
			if err != nil || got != tc.want {
				t.Errorf("%s Want %v, got %v, %v", tc.reason, tc.want, got, err)
			}
			if (problem != nil) != (tc.problem != "") || problem != nil && (problem.Reason != tc.problem || problem.Message != tc.message) {
				t.Errorf("%s Want %s: %s, got %v", tc.reason, tc.problem, tc.message, problem)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	here, gone := []proxmox.Guest{{VMID: 99}, {VMID: 100, Node: "on"}}, []proxmox.Guest{{VMID: 99}}
	cases := map[string]struct {
		reason string
		pve    pve
		node   string
		err    string
	}{
		"Known":  {reason: "A VM of the known list is there.", pve: pve{old: here}, node: "on"},
		"New":    {reason: "A VM that only the new list has is there.", pve: pve{old: gone, fresh: here}, node: "on"},
		"Gone":   {reason: "A VM that nobody knows is gone.", pve: pve{old: gone, fresh: gone}},
		"Hidden": {reason: "A VM that may not be seen is not gone.", pve: pve{taken: true}, err: "VM.Audit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Locate(t.Context(), &tc.pve, &tc.pve, 100)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s Want error %q, got %v", tc.reason, tc.err, err)
			}
			if (got != nil) != (tc.node != "") || got != nil && (got.Node != tc.node || got.VMID != 100) {
				t.Errorf("%s Want VM 100 on node %q, got %v", tc.reason, tc.node, got)
			}
		})
	}
}

func TestLocked(t *testing.T) {
	cases := map[string]struct {
		reason  string
		tasks   []proxmox.Task
		config  qemu.Config
		message string
	}{
		"Free":  {reason: "A task of another VM is no obstacle.", tasks: []proxmox.Task{{UPID: "u", Type: "vzdump", ID: "101", Running: true}}},
		"Ended": {reason: "A task that has ended is no obstacle.", tasks: []proxmox.Task{{UPID: "u", Type: "vzdump", ID: "100"}}},
		"Dead": {
			reason: "What ran on a node that has gone down is listed as running until it is back, and is no obstacle.",
			tasks:  []proxmox.Task{{UPID: "u", Type: "vzdump", ID: "100", Node: "off", Running: true}},
		},
		"Lock": {reason: "A lock is an obstacle.", config: qemu.Config{"lock": "backup"}, message: `"qm unlock 100"`},
		"Occupied": {
			reason: "A task is an obstacle.", tasks: []proxmox.Task{{UPID: "u", Type: "vzdump", ID: "100", Running: true}},
			message: "works on VM 100",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Locked(t.Context(), &pve{tasks: tc.tasks}, 100, tc.config)
			if err != nil || (got != nil) != (tc.message != "") || got != nil && (!strings.Contains(got.Message, tc.message) || got.Reason != ReasonLocked) {
				t.Errorf("%s Want %q, got %v, %v", tc.reason, tc.message, got, err)
			}
		})
	}
}

func TestNodeOffline(t *testing.T) {
	for node, want := range map[string]bool{"on": false, "off": true, "unknown": false} {
		if got, err := nodeOffline(t.Context(), &pve{}, node); got != want || err != nil {
			t.Errorf("NodeOffline(%q): got %t, %v, want %t", node, got, err, want)
		}
	}
}

func TestClusterOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		pve    pve
		want   string
		err    string
	}{
		"First":  {reason: "A resource without a cluster gets that of the connection.", pve: pve{name: "lab"}, want: "lab"},
		"Same":   {reason: "A resource stays in its cluster.", in: "lab", pve: pve{name: "lab"}, want: "lab"},
		"Other":  {reason: "A connection to another cluster is an error.", in: "lab", pve: pve{name: "prod"}, want: "prod", err: "backup"},
		"Hidden": {reason: "A cluster that may not be seen is not compared.", in: "lab", pve: pve{denied: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Backup{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{kind.AnnotationCluster: tc.in}}}
			got, err := Parts[*namespaced.Backup]{Noun: "backup"}.ClusterOf(t.Context(), &tc.pve, m, "nas:backup/a")
			if got != tc.want || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s Want %q and error %q, got %q, %v", tc.reason, tc.want, tc.err, got, err)
			}
			if err == nil {
				return
			}
			ShowError(m, err)
			if c := m.GetCondition(xpv2.TypeReady); c.Reason == xpv2.ReasonUnavailable || c.Message != err.Error() {
				t.Errorf("%s Want the reason of the problem, got %s: %s", tc.reason, c.Reason, c.Message)
			}
		})
	}
}

// TestLooksAgain checks that a resource that is not ready is polled more often, and that one that waits for a task is reconciled when the task has
// ended.
func TestLooksAgain(t *testing.T) {
	m := &namespaced.Backup{}
	every := pollEvery(10 * time.Second)
	if got := every(m, time.Minute); got != 10*time.Second {
		t.Errorf("want 10 s for a resource that is not ready, got %s", got)
	}
	upToDate := xpv2.Condition{Type: kind.TypeUpToDate, Status: corev1.ConditionTrue}
	m.SetConditions(xpv2.Available(), upToDate)
	if got := every(m, time.Minute); got != time.Minute {
		t.Errorf("want the configured minute for a resource that is ready, got %s", got)
	}
	woken := make(chan client.Object)
	p := Parts[resource.Managed]{Wake: func(mg resource.Managed) { woken <- mg }}
	in := &pve{}
	if p.Follow(in, m, ""); in.followed != nil {
		t.Error("without a task there is nothing to follow")
	}
	p.Follow(in, m, "u")
	in.followed(proxmox.Task{})
	if got := <-woken; got.GetName() != m.Name || got == client.Object(m) {
		t.Errorf("want a copy of the resource woken, got %v", got)
	}
}

// TestShowDeleting checks that the condition UpToDate of a deleted resource shows whether a node is waited for, as long as it is.
func TestShowDeleting(t *testing.T) {
	offline := &kind.Problem{Reason: ReasonNodeOffline, Message: "node off is offline"}
	cases := map[string]struct {
		reason  string
		problem *kind.Problem
		failure string
		before  xpv2.ConditionReason
		want    xpv2.ConditionReason
		message string
		waits   bool
	}{
		"Offline": {reason: "A node that is waited for is told.", problem: offline, want: ReasonNodeOffline, message: "node off is offline", waits: true},
		"Back":    {reason: "Nobody waits for a node that is back.", before: ReasonNodeOffline, want: xpv2.ReasonDeleting},
		"Locked": {
			reason:  "Other problems are told in words.",
			problem: &kind.Problem{Reason: ReasonLocked, Message: "locked"}, want: xpv2.ReasonDeleting, message: "locked",
		},
		"Failed": {reason: "A removal that has failed is told.", failure: "full", want: xpv2.ReasonDeleting, message: "full"},
		"Goes":   {reason: "Nothing is told of a removal that waits for nothing.", before: kind.ReasonUpToDate, want: kind.ReasonUpToDate},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Backup{}
			m.SetConditions(xpv2.Condition{Type: xpv2.TypeReady, Reason: tc.before}, xpv2.Condition{Type: kind.TypeUpToDate, Reason: tc.before})
			Parts[*namespaced.Backup]{Noun: "backup"}.ShowDeleting(m, tc.problem, tc.failure)
			ready, upToDate := m.GetCondition(xpv2.TypeReady), m.GetCondition(kind.TypeUpToDate)
			if ready.Reason != xpv2.ReasonDeleting || upToDate.Reason != tc.want || !strings.Contains(upToDate.Message, tc.message) {
				t.Errorf("%s Got %v, %v", tc.reason, ready, upToDate)
			}
			if got := WaitsForNode(m); got != tc.waits {
				t.Errorf("%s Want it to wait for a node: %t, got %t", tc.reason, tc.waits, got)
			}
		})
	}
}

func TestRests(t *testing.T) {
	f := kind.Failures{Count: 3, FailedAt: 100, Generation: 1, Problem: string(ReasonStorageFull)}
	if !BacksOff(f, 100+59, 1, 15) || BacksOff(f, 100+60, 1, 15) {
		t.Error("want the third failure to rest for a minute")
	}
	f.Problem = string(ReasonLocked)
	if !BacksOff(f, 100+14, 1, 15) || BacksOff(f, 100+15, 1, 15) {
		t.Error("want what is locked to be tried again soon")
	}
}

func TestReasonOf(t *testing.T) {
	for problem, want := range map[string]xpv2.ConditionReason{"Locked": ReasonLocked, "Stopped": "Failed", "": "Failed"} {
		if got := ReasonOf(problem, "Failed", ReasonStorageFull, ReasonLocked); got != want {
			t.Errorf("ReasonOf(%q): want %s, got %s", problem, want, got)
		}
	}
}

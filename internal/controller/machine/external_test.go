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
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// kept returns an annotation as the API server has it.
func (b *bench) kept(t *testing.T, name string) string {
	t.Helper()
	m := &namespaced.Machine{}
	if err := b.kube.Get(t.Context(), client.ObjectKeyFromObject(b.m), m); err != nil {
		t.Fatal(err)
	}
	return m.GetAnnotations()[name]
}

func TestTaskFails(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	start := upid("pve1", "qmstart", 10000)
	reconcile := func(why string, wantErr bool, writes int) {
		t.Helper()
		s := b.reconcile(t.Context())
		if (s.err != nil) != wantErr || len(b.writes) != writes {
			t.Errorf("%s: want error %t and %d calls in all, got %v and %q", why, wantErr, writes, s.err, b.writes)
		}
	}
	reconcile("A stopped VM is started", false, 1)
	reconcile("A task that runs is waited for", false, 1)
	b.end(t, start, "KVM virtualisation configured, but not available")
	reconcile("A failure is shown, and not tried again at once", true, 1)
	if p := b.m.Observation().Phase; p != v1alpha1.MachineError {
		t.Errorf("The phase after a failure is %s", p)
	}
	if s := b.reconcile(t.Context()); proxmox.ClassOf(s.err) != proxmox.ClassTaskFailed || !strings.Contains(s.err.Error(), "KVM virtualisation") {
		t.Errorf("Want the task's own message, got %v", s.err)
	}
	if l := b.m.Observation().LastTask; l == nil || l.Type != "qmstart" || !strings.Contains(l.Result, "KVM") {
		t.Errorf("The last task is shown, got %v", l)
	}
	b.m.Generation = 2
	reconcile("A changed spec is tried at once", false, 2)
	b.end(t, start, "boom")
	b.clock.wait(tasktrack.LastRetry)
	reconcile("Who looks late is told, too", true, 2)
	reconcile("In time it is tried again", false, 3)
	b.end(t, start, "WARNINGS: 1")
	b.vms[10000].status = "running"
	reconcile("Warnings are no failure", false, 3)
	if c := b.m.GetCondition(xpv2.TypeReady); c.Reason != xpv2.ReasonAvailable {
		t.Errorf("Ready is %v", c)
	}
}

func TestAdoptionIsKept(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		delete(m.Annotations, object.AnnotationDevices)
		delete(m.Annotations, object.AnnotationAllocated)
		m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a"}, {Name: "b"}}
	})
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["scsi0"], b.vms[10000].config["scsi1"], b.vms[10000].config["scsi2"] = "s:a,size=1G", "s:b,size=1G", "s:c,size=1G"
	for range 2 {
		if s := b.reconcile(t.Context()); s.err != nil {
			t.Fatal(s.err)
		}
	}
	if got, want := b.kept(t, object.AnnotationDevices), `{"disks":{"a":"scsi0","b":"scsi1"},"source":{"disks":["scsi0","scsi1","scsi2"]},`+
		`"seen":{"a":true,"b":true},"volumes":{"a":"s:a","b":"s:b"}}`; got != want {
		t.Errorf("Which device an entry stands for is kept, got %s", got)
	}
	if s := b.reconcile(t.Context()); !s.upToDate || len(b.writes) != 0 {
		t.Errorf("Adoption changes nothing: %+v, %q", s, b.writes)
	}
	b.m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "b"}, {Name: "a", Size: new("5G")}, {Name: "c"}, {Name: "new", Size: new("1G")}}
	b.reconcile(t.Context())
	if diff := cmp.Diff([]string{"ConfigureAsync 10000 set scsi3 delete  digest d1"}, b.writes); diff != "" {
		t.Errorf("A third entry is the third disk, and the next one is a new device: -want, +got:\n%s", diff)
	}
}

func TestForgetDetached(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Annotations[object.AnnotationDevices] = `{"disks":{"a":"scsi0","b":"scsi1"},"made":{"disks/b":true}}`
	})
	b.m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a"}}
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["scsi0"], b.vms[10000].config["scsi1"] = "s:a,size=1G", "s:b,size=1G"
	b.reconcile(t.Context())
	if diff := cmp.Diff([]string{"Configure 10000 set  delete scsi1 digest d1"}, b.writes); diff != "" {
		t.Errorf("A disk that was taken off the list is detached: -want, +got:\n%s", diff)
	}
	delete(b.vms[10000].config, "scsi1")
	b.reconcile(t.Context())
	b.vms[10000].config["scsi1"] = "s:hers,size=1G"
	if s := b.reconcile(t.Context()); !s.upToDate || len(b.writes) != 1 {
		t.Errorf("What a person attaches in its place stays: %+v, %q", s, b.writes)
	}
}

func TestDifferenceIsShown(t *testing.T) {
	b := newBench(t, all(observed, func(m *namespaced.Machine) {
		m.Spec.ForProvider.Memory = quantity("2Gi")
		m.Spec.ForProvider.Description = new("")
	}))
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["memory"], b.vms[10000].config["description"] = "1024", "x"
	b.vms[10000].pending = map[string]string{"memory": "4096"}
	b.reconcile(t.Context())
	want := []v1alpha1.MachinePendingChange{{Option: "memory", Current: "4096", Desired: "2048"}, {Option: "description", Current: "x"}}
	if diff := cmp.Diff(want, b.m.Observation().Difference); diff != "" {
		t.Errorf("The difference is shown without being made: -want, +got:\n%s", diff)
	}
	if len(b.writes) != 0 {
		t.Errorf("Nothing may be written, got %q", b.writes)
	}
}

func TestAgent(t *testing.T) {
	eth0 := []proxmox.Interface{{Name: "eth0", Addresses: addrs("192.0.2.1")}}
	cases := map[string]struct {
		reason  string
		agent   string
		answer  []proxmox.Interface
		err     error
		before  []string
		want    []string
		network xpv2.ConditionReason
	}{
		"Answers": {reason: "What the agent reports is shown.", agent: "1", answer: eth0, want: []string{"192.0.2.1"}, network: conditions.ReasonNetworkReady},
		"Boots": {
			reason: "An agent that is not up yet is waited for.", agent: "1", err: refused(500, "QEMU guest agent is not running"),
			network: conditions.ReasonWaitingForAddress,
		},
		"Silent": {
			reason: "What it reported before stays while it does not answer.", agent: "1", err: refused(500, "QEMU guest agent is not running"),
			before: []string{"192.0.2.2"}, want: []string{"192.0.2.2"}, network: conditions.ReasonNetworkReady,
		},
		"Off": {
			reason: "An agent that was turned off is not asked, and what it reported is out of date.", agent: "0", answer: eth0,
			before: []string{"192.0.2.2"}, network: conditions.ReasonNetworkReady,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.vms[10000] = ourVM("running")
			b.vms[10000].config["agent"], b.vms[10000].config["net0"] = tc.agent, "virtio=BC:24:11:00:00:01,bridge=vmbr0"
			b.vms[10000].agent, b.errs["Interfaces"] = tc.answer, tc.err
			if tc.err != nil {
				b.vms[10000].agent = nil
			}
			b.m.Observation().IPAddresses = tc.before
			if s := b.reconcile(t.Context()); s.err != nil || !s.upToDate {
				t.Errorf("\n%s\nan agent is no reason to stop: %+v", tc.reason, s)
			}
			if diff := cmp.Diff(tc.want, b.m.Observation().IPAddresses); diff != "" {
				t.Errorf("\n%s\naddresses: -want, +got:\n%s", tc.reason, diff)
			}
			if got := b.m.GetCondition(conditions.TypeNetworkConfigured).Reason; got != tc.network {
				t.Errorf("\n%s\nwant %s, got %s", tc.reason, tc.network, got)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	for _, call := range []string{"Status", "Pending", "RecentTasks", "Nodes", "FreshGuests", "Storages"} {
		t.Run(call, func(t *testing.T) {
			b := newBench(t, nil)
			if call == "Status" || call == "Pending" {
				b.vms[10000] = ourVM("stopped")
				b.pve.tasks = []proxmox.Task{{ID: "10000", UPID: upid("pve1", "qmstop", 10000)}} // The list of VMs may be older.
			}
			b.errs[call] = refused(595, "No route to host")
			if s := b.reconcile(t.Context()); !proxmox.IsUnavailable(s.err) || len(b.writes) != 0 {
				t.Errorf("What cannot be read must be an error and nothing may be done, got %v and %q", s.err, b.writes)
			}
		})
	}
}

func TestBrokenAnnotation(t *testing.T) {
	b := newBench(t, nil)
	b.m.Annotations[object.AnnotationDevices] = "scsi0"
	b.vms[10000] = ourVM("stopped")
	if s := b.reconcile(t.Context()); s.err == nil || len(b.writes) != 0 {
		t.Errorf("Devices that cannot be read must be an error and nothing may be done, got %v and %q", s.err, b.writes)
	}
}

func TestWithoutObserve(t *testing.T) {
	e := newBench(t, nil).external()
	m := resourceOf("a", 1)
	if _, err := e.Create(t.Context(), m); err == nil {
		t.Error("Nothing may be created that was not looked for")
	}
	if _, err := e.Update(t.Context(), m); err == nil {
		t.Error("Nothing may be changed that was not looked at")
	}
	if _, err := e.Delete(t.Context(), m); err != nil {
		t.Errorf("What is not there is deleted: %v", err)
	}
	if err := e.Disconnect(t.Context()); err != nil {
		t.Error(err)
	}
}

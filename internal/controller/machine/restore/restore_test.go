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

package restore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

const (
	ours   = "crossplane@pve!provider"
	volume = "nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst"
)

// pve has tasks, and storages with backups on its nodes.
type pve struct {
	Client
	preflight.Inventory

	tasks   []proxmox.Task
	nodes   []proxmox.Node
	stores  []proxmox.Storage
	volumes map[string][]string
	changed map[string]int64
	damaged string
	err     error
}

func (p *pve) Identity() proxmox.Identity { return proxmox.Identity{ID: ours, Token: true} }

func (p *pve) NodeTasks(context.Context, string, string) ([]proxmox.Task, error) {
	return slices.Clone(p.tasks), p.err
}

func (p *pve) Task(_ context.Context, u proxmox.UPID) (proxmox.Task, error) {
	for _, t := range p.tasks {
		if t.UPID == u {
			return t, p.err
		}
	}
	return proxmox.Task{}, &proxmox.Error{Status: 500, Message: "no such task"}
}

func (p *pve) Nodes(context.Context) ([]proxmox.Node, error) { return p.nodes, nil }

func (p *pve) Storages(context.Context) ([]proxmox.Storage, error) { return p.stores, nil }

func (p *pve) Volumes(_ context.Context, node, _, _ string, _ time.Duration) ([]proxmox.Volume, error) {
	var all []proxmox.Volume
	for _, id := range p.volumes[node] {
		v := proxmox.Volume{ID: id, Changed: p.changed[id]}
		if id == p.damaged {
			v.Verification = "failed"
		}
		all = append(all, v)
	}
	return all, nil
}

// task of a user that has restored a VMID, at a second in hexadecimal digits.
func task(second, vmid, user, status string) proxmox.Task {
	u := proxmox.UPID("UPID:pve1:00000001:00000001:" + second + ":qmrestore:" + vmid + ":" + user + ":")
	return proxmox.Task{UPID: u, Node: "pve1", Type: "qmrestore", ID: vmid, Start: u.Start(), Running: status == "", ExitStatus: status}
}

// members of a cluster.
type members []proxmox.Node

func (m members) Nodes(context.Context) ([]proxmox.Node, error) { return m, nil }

func (members) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	return proxmox.ClusterStatus{}, nil
}

func TestSettle(t *testing.T) {
	now := time.Unix(0x1000, 0)
	online := members{{Name: "pve1", Status: "online"}}
	before := task("00000800", "200", ours, "OK")
	cases := map[string]struct {
		reason string
		record record
		tasks  []proxmox.Task
		err    error
		want   callOutcome
		found  proxmox.UPID
	}{
		"Arriving": {reason: "What was just sent may be yet to show.", record: record{Call: act.Call{Begun: 0x0fff}}, want: outcomePending},
		"Late":     {reason: "One call may have taken half a minute.", record: record{Call: act.Call{Begun: 0x0fd8}}, want: outcomePending},
		"LostNow":  {reason: "PVE works off what it has received.", record: record{Call: act.Call{Begun: 0x0f00, Lost: 0x0fe1}}, want: outcomePending},
		"LostLong": {reason: "What is not there after a minute has not arrived.", record: record{Call: act.Call{Begun: 0x0f00, Lost: 0x0fc4}}, want: outcomeNothing},
		"Lost":     {reason: "What does not show for long has not arrived.", record: record{Call: act.Call{Begun: 0x0f00}}, want: outcomeNothing},
		"Running": {
			reason: "A task of ours that is new is that of the call.", record: record{Call: act.Call{Begun: 0x0f00, Before: []proxmox.UPID{before.UPID}}},
			tasks: []proxmox.Task{task("00000f01", "200", ours, ""), before}, want: outcomeRunning, found: task("00000f01", "200", ours, "").UPID,
		},
		"Before": {
			reason: "One that was there before is not.", record: record{Call: act.Call{Begun: 0x0f00, Before: []proxmox.UPID{before.UPID}}},
			tasks: []proxmox.Task{before}, want: outcomeNothing,
		},
		"Theirs": {
			reason: "Somebody else's task is not ours.", record: record{Call: act.Call{Begun: 0x0f00}},
			tasks: []proxmox.Task{task("00000f01", "200", "root@pam", "")}, want: outcomeNothing,
		},
		"OtherVM": {
			reason: "The task of another VM is not that of the call.", record: record{Call: act.Call{Begun: 0x0f00}},
			tasks: []proxmox.Task{task("00000f01", "201", ours, "")}, want: outcomeNothing,
		},
		"Failed": {
			reason: "A task that is known is asked for by its name.", record: record{Call: act.Call{Begun: 0x0f00, Task: task("00000f01", "200", ours, "").UPID}},
			tasks: []proxmox.Task{task("00000f01", "200", ours, "no space left")}, want: outcomeFailed, found: task("00000f01", "200", ours, "").UPID,
		},
		"Succeeded": {
			reason: "One that has warned has ended well.", record: record{Call: act.Call{Begun: 0x0f00, Task: task("00000f01", "200", ours, "").UPID}},
			tasks: []proxmox.Task{task("00000f01", "200", ours, "WARNINGS: 1")}, want: outcomeSucceeded, found: task("00000f01", "200", ours, "").UPID,
		},
		"Forgotten": {
			reason: "What its node has forgotten proves nothing, however fresh.", record: record{Call: act.Call{Begun: 0x0fff, Task: before.UPID}},
			want: outcomeNothing, found: before.UPID,
		},
		"Unreadable": {
			reason: "Without an answer nothing is decided.", record: record{Call: act.Call{Begun: 0x0f00}}, err: errors.New("offline"), want: outcomeNothing,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := tc.record
			r.VMID, r.Node = 200, "pve1"
			got, err := r.settle(t.Context(), online, &pve{tasks: tc.tasks, err: tc.err}, now)
			if got != tc.want || r.Task != tc.found || !errors.Is(err, tc.err) {
				t.Errorf("\n%s\nwant %d of %q, got %d of %q, %v", tc.reason, tc.want, tc.found, got, r.Task, err)
			}
		})
	}
}

// TestSettleOffline checks that nothing is decided by a call on a node that cannot be asked.
func TestSettleOffline(t *testing.T) {
	known := task("00000f01", "200", ours, "OK").UPID
	for _, u := range []proxmox.UPID{"", known} {
		r := &record{VMID: 200, Node: "pve1", Call: act.Call{Begun: 0x0f00, Task: u}}
		got, err := r.settle(t.Context(), members{{Name: "pve1", Status: "offline"}}, &pve{err: errors.New("no route to host")}, time.Unix(0x9000, 0))
		if got != outcomePending || r.Task != u || err != nil {
			t.Errorf("task %q: want it pending, got %d of %q, %v", u, got, r.Task, err)
		}
	}
}

// TestNoteLost loses the answer to a restore: its task may appear for a minute from then on.
func TestNoteLost(t *testing.T) {
	now := time.Unix(0x1000, 0)
	r := record{VMID: 200, Node: "pve1", Call: act.Call{Begun: 0x0f00}}
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Annotations: map[string]string{object.AnnotationRestore: r.String()}}}
	scheme := runtime.NewScheme()
	if err := namespaced.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(m).Build()
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	if err := (Tracker{Kube: kube, Now: func() time.Time { return now }}).NoteLost(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	kept, err := recorded(m)
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]callOutcome{59 * time.Second: outcomePending, time.Minute: outcomeNothing} {
		if got, err := kept.settle(t.Context(), members{{Name: "pve1", Status: "online"}}, &pve{}, now.Add(after)); got != want || err != nil {
			t.Errorf("%s after the answer was lost want %d, got %d, %v", after, want, got, err)
		}
	}
}

func TestBegin(t *testing.T) {
	now, ref := time.Unix(0x1000, 0), proxmox.Ref{Node: "pve1", VMID: 200}
	first := task("00000f01", "200", ours, "")
	cases := map[string]struct {
		reason  string
		earlier *record
		want    []proxmox.UPID
	}{
		"First":   {reason: "Tasks that are there are not those of the call.", want: []proxmox.UPID{first.UPID}},
		"Unknown": {reason: "The task of a call whose answer was lost is ours.", earlier: &record{VMID: 200, Node: "pve1", Call: act.Call{Begun: 0x0f00}}},
		"Known": {
			reason: "The task of a call that has ended is not that of the next one.", earlier: &record{VMID: 200, Node: "pve1", Call: act.Call{Task: first.UPID}},
			want: []proxmox.UPID{first.UPID},
		},
		"OtherVMID": {reason: "What was noted for another VMID does not count.", earlier: &record{VMID: 201, Node: "pve1"}, want: []proxmox.UPID{first.UPID}},
		"OtherNode": {reason: "What was noted for another node does not count.", earlier: &record{VMID: 200, Node: "pve2"}, want: []proxmox.UPID{first.UPID}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := newRecord(t.Context(), &pve{tasks: []proxmox.Task{first}}, tc.earlier, ref, volume, now)
			if err != nil {
				t.Fatal(err)
			}
			want := &record{VMID: 200, Node: "pve1", Volume: volume, Call: act.Call{Begun: 0x1000, Before: tc.want}}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if again, err := parseRecord(r.String()); err != nil || !cmp.Equal(again, r) {
				t.Errorf("What is kept is what is read: got %+v, %v", again, err)
			}
		})
	}
	if r, err := parseRecord(""); r != nil || err != nil {
		t.Errorf("Nothing is no record, got %v, %v", r, err)
	}
	if _, err := parseRecord("{"); err == nil {
		t.Error("What this provider did not write is not guessed at")
	}
}

func TestUnfinished(t *testing.T) {
	cases := map[string]struct {
		reason string
		config qemu.Config
		want   bool
	}{
		"Empty":  {reason: "The restore failed before the head of the backup was read.", want: true},
		"Memory": {reason: "The restore failed after the head of the backup was read.", config: qemu.Config{"memory": "128"}, want: true},
		"Grown":  {reason: "Somebody has given it memory.", config: qemu.Config{"memory": "256"}},
		"Named":  {reason: "Somebody has given it a name.", config: qemu.Config{"memory": "128", "name": "a"}},
		"Locked": {reason: "Something works on it.", config: qemu.Config{"memory": "128", "lock": "create"}},
		"Disk":   {reason: "The VM has a disk.", config: qemu.Config{"scsi0": "local-lvm:vm-200-disk-0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Unfinished(tc.config); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestNodes(t *testing.T) {
	up := []proxmox.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "online"}, {Name: "pve3", Status: "offline"}}
	on := func(shared bool) []proxmox.Storage {
		var all []proxmox.Storage
		for _, n := range up {
			all = append(all, proxmox.Storage{Name: "nas", Node: n.Name, Shared: shared})
		}
		return all
	}
	cases := map[string]struct {
		reason  string
		stores  []proxmox.Storage
		volumes map[string][]string
		want    []string
		err     string
	}{
		"Shared":    {reason: "All nodes that are up reach it.", stores: on(true), volumes: map[string][]string{"pve1": {volume}}, want: []string{"pve1", "pve2"}},
		"Local":     {reason: "One node has it.", stores: on(false), volumes: map[string][]string{"pve2": {volume}}, want: []string{"pve2"}},
		"Off":       {reason: "The node that has it is off.", stores: on(false), volumes: map[string][]string{"pve3": {volume}}, err: "not found"},
		"Gone":      {reason: "The backup was removed.", stores: on(true), err: "backup '" + volume + "' not found"},
		"NoStorage": {reason: "There is no such storage.", err: "storage 'nas'"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &pve{nodes: up, stores: tc.stores, volumes: tc.volumes}
			f := Finder{Inventory: p, Checks: &preflight.Checks{Superuser: true}}
			got, err := f.nodes(t.Context(), volume)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("\n%s\nwant %v, got %v, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

func TestArchive(t *testing.T) {
	a := &Archive{Volume: volume, Nodes: []string{"pve1"}, Config: qemu.Config{
		"scsi0": "ceph:vm-100-disk-0,size=4G", "efidisk0": "ceph:vm-100-disk-1,size=1M", "ide2": "local:iso/a.iso,media=cdrom",
		"ide3": "ceph:vm-100-cloudinit,media=cdrom", "virtio0": "/dev/sdb,size=1G",
	}}
	a.putOn("fast")
	a.Storage = new("fast")
	if p := a.Params(&v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{}}, "web", ""); p["storage"] != "fast" {
		t.Errorf("All disks go to the storage, got %v", p)
	}
	want := qemu.Config{
		"scsi0": "fast:vm-100-disk-0,size=4G", "efidisk0": "fast:vm-100-disk-1,size=1M", "ide2": "local:iso/a.iso,media=cdrom",
		"ide3": "fast:vm-100-cloudinit,media=cdrom", "virtio0": "/dev/sdb,size=1G",
	}
	if diff := cmp.Diff(want, a.Config); diff != "" {
		t.Errorf("A restore makes all volumes on the storage, and leaves media and devices of the host: -want, +got:\n%s", diff)
	}
	if got := a.Storages(); !slices.Equal(got, []string{"fast"}) {
		t.Errorf("want the one storage, got %v", got)
	}
	if a.Lacks("pve1") != nil || a.Lacks("pve2") == nil {
		t.Error("The VM is made where the backup is")
	}
	storages := []proxmox.Storage{{Name: "fast", Node: "pve1", Content: []string{"iso"}}}
	if err := a.CheckStorages(storages, "pve1", "restore", func(string) bool { return true }); err == nil || !strings.Contains(err.Error(), "restore.storage") {
		t.Errorf("What a backup asks for that is not there can be put elsewhere, got %v", err)
	}
	storages[0].Content = []string{"images"}
	if err := a.CheckStorages(storages, "pve1", "restore", func(string) bool { return true }); err != nil {
		t.Errorf("The storage takes disks, got %v", err)
	}
}

func TestNotOfAVM(t *testing.T) {
	for _, id := range []string{"nas:backup/vzdump-lxc-100-2026_11_22-17_00_00.tar.zst", "pbs:backup/ct/100/2026-11-22T17:00:00Z", "nas:backup/a.vma"} {
		f, from := Finder{Checks: &preflight.Checks{Superuser: true}}, Source{Field: "restore", Volume: &id}
		if _, _, err := f.choose(t.Context(), &namespaced.Machine{}, from); err == nil || !strings.Contains(err.Error(), "is not the backup of a VM") {
			t.Errorf("%s cannot become a VM, got %v", id, err)
		}
	}
	for _, id := range []string{volume, "pbs:backup/vm/100/2026-11-22T17:00:00Z", "pbs:backup/ns/team/vm/100/2026-11-22T17:00:00Z"} {
		if vmid := ownerOf(id); vmid != "100" {
			t.Errorf("%s can, and is of VM 100, got %q", id, vmid)
		}
	}
}

// TestLatest chooses the newest backup of a VM.
func TestLatest(t *testing.T) {
	const older, newer, others = volume, "nas:backup/vzdump-qemu-100-2026_11_23-17_00_00.vma.zst", "nas:backup/vzdump-qemu-1001-2026_11_24-17_00_00.vma.zst"
	web := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Annotations: map[string]string{
		meta.AnnotationKeyExternalName: "100", object.AnnotationUUID: "of-web",
	}}}
	none := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	nas := []proxmox.Storage{{Name: "nas", Node: "pve1"}, {Name: "nas", Node: "pve2"}}
	shared := []proxmox.Storage{{Name: "nas", Node: "pve1", Shared: true}, {Name: "nas", Node: "pve2", Shared: true}}
	ofVMID, ofMachine := v1alpha1.MachineRestoreLatest{VMID: new(int32(100))}, v1alpha1.MachineRestoreLatest{MachineRef: &v1alpha1.Reference{Name: "web"}}
	byStorage := v1alpha1.MachineRestoreLatest{VMID: new(int32(100)), StorageRef: &v1alpha1.Reference{Name: "backups"}}
	storage := func(external string) *namespaced.Storage {
		s := &namespaced.Storage{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "backups"}}
		if external != "" {
			meta.SetExternalName(s, external)
		}
		return s
	}
	cases := map[string]struct {
		reason   string
		of       v1alpha1.MachineRestoreLatest
		machine  *namespaced.Machine
		storage  *namespaced.Storage
		stores   []proxmox.Storage
		volumes  map[string][]string
		damaged  string
		want     string
		uuid     string
		err      string
		kubeOnly bool
	}{
		"Newest": {
			reason: "The newest of all nodes is meant, not that of another VM.", of: ofVMID, stores: nas,
			volumes: map[string][]string{"pve1": {newer, others}, "pve2": {older}}, want: newer,
		},
		"Shared": {
			reason: "Each node has the same list of a shared storage.", of: ofVMID, stores: shared,
			volumes: map[string][]string{"pve1": {older}}, want: older,
		},
		"Damaged": {
			reason: "What the backup server knows to be damaged is left out.", of: ofVMID, stores: nas,
			volumes: map[string][]string{"pve1": {newer, older}}, damaged: newer, want: older,
		},
		"Machine": {
			reason: "The backup of a Machine has its UUID.", of: ofMachine, machine: web, stores: nas,
			volumes: map[string][]string{"pve1": {older, newer}}, want: newer, uuid: "of-web",
		},
		"NoBackup": {
			reason: "A backup that does not exist yet is waited for.",
			of:     ofVMID, stores: nas, volumes: map[string][]string{"pve1": {others}}, err: "no backup of VM 100 yet",
		},
		"NoStorage": {reason: "There has to be one.", of: ofVMID, err: "storage 'nas' not found"},
		"NoMachine": {reason: "A Machine that does not exist yet is waited for.", of: ofMachine, err: "Machine 'web' of restore.latestOf not found", kubeOnly: true},
		"NoVM":      {reason: "A Machine without a VM is waited for.", of: ofMachine, machine: none, err: "has no VM yet", kubeOnly: true},
		"StorageRef": {
			reason: "A Storage stands for the storage in PVE.", of: byStorage, storage: storage("nas"), stores: nas,
			volumes: map[string][]string{"pve1": {newer}}, want: newer,
		},
		"StorageMissing": {
			reason: "One that is not there in PVE yet is waited for.", of: byStorage, storage: storage(""), err: "not there in Proxmox VE yet", kubeOnly: true,
		},
		"StorageGone": {reason: "A Storage that does not exist yet is waited for.", of: byStorage, err: "Storage 'backups' not found", kubeOnly: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := namespaced.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			b := fake.NewClientBuilder().WithScheme(scheme)
			if tc.machine != nil {
				b = b.WithObjects(tc.machine)
			}
			if tc.storage != nil {
				b = b.WithObjects(tc.storage)
			}
			p := &pve{
				nodes:  []proxmox.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "online"}},
				stores: tc.stores, volumes: tc.volumes, damaged: tc.damaged, changed: map[string]int64{older: 1, newer: 2, others: 3},
			}
			f := Finder{
				Backups: Backups{Kube: b.Build(), GroupVersion: namespaced.SchemeGroupVersion}, Inventory: p, Checks: &preflight.Checks{Superuser: true},
			}
			if tc.of.StorageRef == nil {
				tc.of.Storage = "nas"
			}
			m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "copy"}}
			m.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionAll}
			m.Spec.ForProvider.Restore = &v1alpha1.MachineRestore{LatestOf: &tc.of}
			if err := f.Wait(t.Context(), m); (err != nil) != tc.kubeOnly {
				t.Errorf("\n%s\nwant a wait without a call: %t, got %v", tc.reason, tc.kubeOnly, err)
			}
			got, uuid, err := f.choose(t.Context(), m, SourceOf(m))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil || got != tc.want || uuid != tc.uuid {
				t.Errorf("\n%s\nwant %q of %q, got %q of %q, %v", tc.reason, tc.want, tc.uuid, got, uuid, err)
			}
		})
	}
}

// TestWaitingFor finds the Machines that a Backup wakes.
func TestWaitingFor(t *testing.T) {
	machine := func(name string, change func(*namespaced.Machine)) *namespaced.Machine {
		m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
		m.Spec.ForProvider.Restore = &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: "nightly"}}
		change(m)
		return m
	}
	putBack := func(state v1alpha1.MachineActState) func(*namespaced.Machine) {
		return func(m *namespaced.Machine) {
			m.Status.AtProvider.UUID = "u"
			m.Status.AtProvider.RestoreInPlace = &v1alpha1.MachineRestoreInPlaceObservation{State: state, SafetyBackup: "nightly"}
		}
	}
	scheme := runtime.NewScheme()
	if err := namespaced.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		machine("new", func(*namespaced.Machine) {}),
		machine("has", func(m *namespaced.Machine) { m.Status.AtProvider.UUID = "u" }),
		machine("other", func(m *namespaced.Machine) { m.Spec.ForProvider.Restore.BackupRef.Name = "weekly" }),
		machine("elsewhere", func(m *namespaced.Machine) { m.Namespace = "others" }),
		machine("back", putBack(v1alpha1.ActMakingSafetyBackup)),
		machine("done", putBack(v1alpha1.ActSucceeded)),
	).Build()
	all, err := WaitingFor(t.Context(), kube, &namespaced.MachineList{}, client.ObjectKey{Namespace: "team", Name: "nightly"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		got = append(got, m.GetName())
	}
	slices.Sort(got)
	if want := []string{"back", "new"}; !slices.Equal(got, want) {
		t.Errorf("want those that are to be made of it, or wait for it before they are put back, got %q", got)
	}
	waits := machine("new", func(m *namespaced.Machine) {
		m.SetConditions(xpv2.Condition{Type: conditions.TypeVMCreated, Reason: conditions.ReasonWaitingForBackup})
	})
	latest := waits.DeepCopy()
	latest.Spec.ForProvider.Restore = &v1alpha1.MachineRestore{LatestOf: &v1alpha1.MachineRestoreLatest{Storage: "nas"}}
	unstored := waits.DeepCopy()
	unstored.Spec.ForProvider.Restore.StorageRef = &v1alpha1.Reference{Name: "fast"}
	err = Backups{Kube: kube, GroupVersion: namespaced.SchemeGroupVersion}.Wait(t.Context(), unstored)
	reason, _ := conditions.WaitsForSource(err)
	unstored.SetConditions(xpv2.Condition{Type: conditions.TypeVMCreated, Reason: reason})
	if reason != conditions.ReasonWaitingForStorage || WaitsForBackup(unstored) {
		t.Errorf("for want of its Storage a Machine waits for the reason %s, and has to look for itself: %v", reason, err)
	}
	if !WaitsForBackup(waits) || WaitsForBackup(latest) || WaitsForBackup(machine("new", func(*namespaced.Machine) {})) {
		t.Error("only what a Backup wakes need not look for itself")
	}
}

// TestChanged checks which changes end a wait.
func TestChanged(t *testing.T) {
	creating, complete := &namespaced.Backup{}, &namespaced.Backup{}
	complete.Status.AtProvider.State, complete.Status.AtProvider.Volume = v1alpha1.BackupComplete, volume
	sized := complete.DeepCopy()
	sized.Status.AtProvider.Size = new(int64(1))
	if !changed(creating, complete) || changed(complete, sized) {
		t.Error("a Backup that is complete wakes those that wait, and what is shown of it later does not")
	}
}

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

package metrics

import (
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

const (
	lastSnapshot = "proxmox_machine_last_snapshot_timestamp_seconds"
	lastBackup   = "proxmox_machine_last_backup_timestamp_seconds"
	created      = "proxmox_machine_created_timestamp_seconds"

	createdHelp = `
# HELP proxmox_machine_created_timestamp_seconds When a Machine was created in Kubernetes, in seconds since 1970.
# TYPE proxmox_machine_created_timestamp_seconds gauge
`

	snapshotHelp = `
# HELP proxmox_machine_last_snapshot_timestamp_seconds When the newest Snapshot of a Machine was taken, in seconds since 1970.
# TYPE proxmox_machine_last_snapshot_timestamp_seconds gauge
`
	backupHelp = "# HELP proxmox_machine_last_backup_timestamp_seconds When the newest backup of a Machine was made " +
		"that a Backup or a BackupJob shows, in seconds since 1970.\n# TYPE proxmox_machine_last_backup_timestamp_seconds gauge\n"
)

func at(seconds int64) *metav1.Time { return new(metav1.NewTime(time.Unix(seconds, 0))) }

func snapshotOf(machine, name string, ready bool, time *metav1.Time) *namespaced.Snapshot {
	s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	s.Spec.ForProvider.Machine = &machine
	s.Status.AtProvider.ReadyToUse, s.Status.AtProvider.Time = ready, time
	return s
}

func backupOf(machine, name string, state v1alpha1.BackupState, time *metav1.Time) *namespaced.Backup {
	b := &namespaced.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	b.Spec.ForProvider.Machine = &machine
	b.Status.AtProvider.State, b.Status.AtProvider.Time = state, time
	return b
}

// TestCopies tells of the newest copies that are whole, and of no Machine that is gone.
func TestCopies(t *testing.T) {
	web := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", CreationTimestamp: *at(50)}}
	bare := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "bare", CreationTimestamp: *at(60)}}
	db := clusterMachine("db", v1alpha1.MachineRunning, "pve1")
	meta.SetExternalName(db, "101")
	db.CreationTimestamp = *at(70)
	db.Status.AtProvider.Cluster = "demo"
	job := &namespaced.BackupJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "nightly"}}
	job.Status.AtProvider.Cluster = "demo"
	job.Status.AtProvider.Guests = []v1alpha1.BackupJobGuest{{VMID: 100, LastBackup: at(1)}, {VMID: 101, LastBackup: at(500)}, {VMID: 102}}
	elsewhere := job.DeepCopy()
	elsewhere.Name, elsewhere.Status.AtProvider.Cluster = "elsewhere", "other"
	elsewhere.Status.AtProvider.Guests[1].LastBackup = at(900)
	c := kube(t, web, bare, db, job, elsewhere,
		snapshotOf("web", "a", true, at(100)), snapshotOf("web", "b", true, at(200)), snapshotOf("web", "c", false, at(300)),
		snapshotOf("gone", "d", true, at(400)), snapshotOf("web", "e", true, nil),
		backupOf("web", "a", v1alpha1.BackupComplete, at(150)), backupOf("web", "b", v1alpha1.BackupGone, at(250)),
	)
	m := New()
	m.Machines(c, &cluster.MachineList{}, closed())
	m.Machines(c, &namespaced.MachineList{}, closed())
	m.Copies(c, &namespaced.SnapshotList{}, closed())
	m.Copies(c, &namespaced.BackupList{}, closed())
	m.Copies(c, &namespaced.BackupJobList{}, closed())
	r := registered(t, m)
	compare(t, r, lastSnapshot, snapshotHelp+lastSnapshot+`{machine="web",machine_namespace="team"} 200
`)
	compare(t, r, lastBackup, backupHelp+lastBackup+`{machine="db",machine_namespace=""} 500
`+lastBackup+`{machine="web",machine_namespace="team"} 150
`)

	// One that has no backup is told by the rest.
	compare(t, r, created, createdHelp+created+`{machine="bare",machine_namespace="team"} 60
`+created+`{machine="db",machine_namespace=""} 70
`+created+`{machine="web",machine_namespace="team"} 50
`)

	if err := c.Delete(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	if n, err := testutil.GatherAndCount(r, lastSnapshot); err != nil || n != 0 {
		t.Errorf("without its Machine: %d metrics and %v", n, err)
	}
	compare(t, r, lastBackup, backupHelp+lastBackup+`{machine="db",machine_namespace=""} 500
`)
}

// TestCopiesNotLeading has a replica that does not lead tell nothing.
func TestCopiesNotLeading(t *testing.T) {
	web := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	c := kube(t, web, snapshotOf("web", "a", true, at(100)))
	m := New()
	m.Machines(c, &namespaced.MachineList{}, closed())
	m.Copies(c, &namespaced.SnapshotList{}, make(chan struct{}))
	if n, err := testutil.GatherAndCount(registered(t, m), lastSnapshot); err != nil || n != 0 {
		t.Errorf("%d metrics and %v, want none", n, err)
	}
}

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
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

const (
	lastSnapshot = "proxmox_machine_last_snapshot_timestamp_seconds"
	lastBackup   = "proxmox_machine_last_backup_timestamp_seconds"
	created      = "proxmox_machine_created_timestamp_seconds"

	oldestSnapshot = "proxmox_machine_oldest_snapshot_timestamp_seconds"
	jobGuests      = "proxmox_backupjob_guests"

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

// TestCopies checks that the newest complete copies are reported, and no Machine that no longer exists.
func TestCopies(t *testing.T) {
	web := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", CreationTimestamp: *at(50)}}
	bare := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "bare", CreationTimestamp: *at(60)}}
	db := clusterMachine("db", v1alpha1.MachineRunning, "pve1")
	db.CreationTimestamp = *at(70)
	db.Status.AtProvider.Cluster, db.Status.AtProvider.VMID, db.Status.AtProvider.UUID = "demo", new(int32(101)), "u-db"
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
	m.Machines(listed(c, &cluster.MachineList{}), closed())
	m.Machines(listed(c, &namespaced.MachineList{}), closed())
	m.Copies(listed(c, &namespaced.SnapshotList{}), closed())
	m.Copies(listed(c, &namespaced.BackupList{}), closed())
	m.Copies(listed(c, &namespaced.BackupJobList{}), closed())
	r := registered(t, m)
	compare(t, r, lastSnapshot, snapshotHelp+lastSnapshot+`{machine="web",machine_namespace="team"} 200
`)
	compare(t, r, lastBackup, backupHelp+lastBackup+`{machine="db",machine_namespace=""} 500
`+lastBackup+`{machine="web",machine_namespace="team"} 150
`)

	// A Machine without a backup has only the other metrics.
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

// TestCopiesNotLeading checks that a replica that is not the leader reports nothing.
func TestCopiesNotLeading(t *testing.T) {
	web := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	c := kube(t, web, snapshotOf("web", "a", true, at(100)))
	m := New()
	m.Machines(listed(c, &namespaced.MachineList{}), closed())
	m.Copies(listed(c, &namespaced.SnapshotList{}), make(chan struct{}))
	if n, err := testutil.GatherAndCount(registered(t, m), lastSnapshot); err != nil || n != 0 {
		t.Errorf("%d metrics and %v, want none", n, err)
	}
}

// TestCopiesThatCount checks that backups that cannot be restored and copies of other VMs are not reported.
func TestCopiesThatCount(t *testing.T) {
	const own, other = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"
	backup := func(change func(*v1alpha1.BackupObservation)) *namespaced.Backup {
		b := backupOf("web", "a", v1alpha1.BackupComplete, at(150))
		change(&b.Status.AtProvider)
		return b
	}
	job := func(namespace string, o v1alpha1.BackupJobObservation) *namespaced.BackupJob {
		j := &namespaced.BackupJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly"}}
		j.Status.AtProvider = o
		return j
	}
	old := snapshotOf("web", "old", true, at(10))
	former := old.DeepCopy()
	former.Status.AtProvider.VMUUID = other
	kept := old.DeepCopy()
	kept.OwnerReferences = []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "SnapshotPolicy", Name: "nightly", UID: "u", Controller: new(true)}}
	cases := map[string]struct {
		reason  string
		objects []client.Object
		metric  string
		want    int
	}{
		"Backup": {
			reason: "A backup of the VM counts.", metric: lastBackup, want: 1,
			objects: []client.Object{backup(func(o *v1alpha1.BackupObservation) { o.Verified, o.VMUUID = new(true), strings.ToUpper(own) })},
		},
		"Damaged": {
			reason: "One whose verification has failed does not.", metric: lastBackup,
			objects: []client.Object{backup(func(o *v1alpha1.BackupObservation) { o.Verified = new(false) })},
		},
		"Former": {
			reason: "A backup of a former VM, whose Machine had the name, does not count.", metric: lastBackup,
			objects: []client.Object{backup(func(o *v1alpha1.BackupObservation) { o.VMUUID = other })},
		},
		"Named": {
			reason: "A job names the Machine where the cluster has no name.", metric: lastBackup, want: 1,
			objects: []client.Object{job("team", v1alpha1.BackupJobObservation{Guests: []v1alpha1.BackupJobGuest{{VMID: 100, Machine: "web", LastBackup: at(1)}}})},
		},
		"Standalone": {
			reason: "A node that is in no cluster is known by its provider configuration.", metric: lastBackup, want: 1,
			objects: []client.Object{job("ops", v1alpha1.BackupJobObservation{Guests: []v1alpha1.BackupJobGuest{{VMID: 100, LastBackup: at(1)}}})},
		},
		"Elsewhere": {
			reason: "The VMID means another VM in another cluster.", metric: lastBackup,
			objects: []client.Object{job("ops", v1alpha1.BackupJobObservation{
				ObjectObservation: v1alpha1.ObjectObservation{Cluster: "other"}, Guests: []v1alpha1.BackupJobGuest{{VMID: 100, LastBackup: at(1)}},
			})},
		},
		"FormerSnapshot": {reason: "A snapshot went with its VM.", metric: lastSnapshot, objects: []client.Object{former}},
		"Old":            {reason: "A Snapshot that nobody removes is told of.", metric: oldestSnapshot, want: 1, objects: []client.Object{old}},
		"Policy":         {reason: "What a policy keeps is not.", metric: oldestSnapshot, objects: []client.Object{kept}},
		"Guests": {
			reason: "A job with guests is told of.", metric: jobGuests, want: 1,
			objects: []client.Object{job("ops", v1alpha1.BackupJobObservation{Guests: []v1alpha1.BackupJobGuest{{VMID: 7}}})},
		},
		"NoGuests": {reason: "A job without any backs nothing up.", metric: jobGuests, objects: []client.Object{job("ops", v1alpha1.BackupJobObservation{})}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			web := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
			web.Status.AtProvider.VMID, web.Status.AtProvider.UUID = new(int32(100)), own
			c := kube(t, append(tc.objects, web)...)
			m := New()
			m.Machines(listed(c, &namespaced.MachineList{}), closed())
			m.Copies(listed(c, &namespaced.SnapshotList{}), closed())
			m.Copies(listed(c, &namespaced.BackupList{}), closed())
			m.Copies(listed(c, &namespaced.BackupJobList{}), closed())
			if n, err := testutil.GatherAndCount(registered(t, m), tc.metric); err != nil || n != tc.want {
				t.Errorf("%s got %d and %v, want %d", tc.reason, n, err, tc.want)
			}
		})
	}
}

// TestOldestSnapshot checks that the oldest of several snapshots is reported.
func TestOldestSnapshot(t *testing.T) {
	web := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	c := kube(t, web, snapshotOf("web", "a", true, at(200)), snapshotOf("web", "b", true, at(100)), snapshotOf("web", "c", true, at(300)))
	m := New()
	m.Machines(listed(c, &namespaced.MachineList{}), closed())
	m.Copies(listed(c, &namespaced.SnapshotList{}), closed())
	compare(t, registered(t, m), oldestSnapshot, `
# HELP proxmox_machine_oldest_snapshot_timestamp_seconds When the oldest Snapshot of a Machine was taken that no SnapshotPolicy removes, in seconds since 1970.
# TYPE proxmox_machine_oldest_snapshot_timestamp_seconds gauge
proxmox_machine_oldest_snapshot_timestamp_seconds{machine="web",machine_namespace="team"} 100
`)
}

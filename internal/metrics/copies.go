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
	"context"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// copies tells when each Machine was created, and when its newest snapshot and its newest backup was made, from
// what the resources in the cache say.
type copies struct {
	machines, copies             sources
	created, snapshots, backedUp *prometheus.Desc
}

func newCopies() *copies {
	labels := []string{"machine_namespace", "machine"}
	return &copies{
		created: prometheus.NewDesc("proxmox_machine_created_timestamp_seconds",
			"When a Machine was created in Kubernetes, in seconds since 1970.", labels, nil),
		snapshots: prometheus.NewDesc("proxmox_machine_last_snapshot_timestamp_seconds",
			"When the newest Snapshot of a Machine was taken, in seconds since 1970.", labels, nil),
		backedUp: prometheus.NewDesc("proxmox_machine_last_backup_timestamp_seconds",
			"When the newest backup of a Machine was made that a Backup or a BackupJob shows, in seconds since 1970.", labels, nil),
	}
}

// Copies has resources of a kind tell of copies of Machines: Snapshots, Backups or
// BackupJobs. They are listed as those of Machines are.
func (m *Metrics) Copies(reader client.Reader, list resource.ManagedList, ready <-chan struct{}) {
	m.copies.copies.add(source{reader: reader, list: list, ready: ready})
}

// Describe sends the descriptions of the metrics.
func (c *copies) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.created
	ch <- c.snapshots
	ch <- c.backedUp
}

// Collect sends the metrics of the Machines that exist.
func (c *copies) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	f := found{snapshots: newest{}, backups: newest{}, vms: map[vm]types.NamespacedName{}, machines: newest{}}
	for _, s := range c.machines.list() {
		for _, mg := range s.items(ctx) {
			f.addMachine(mg)
		}
	}
	for _, s := range c.copies.list() {
		for _, mg := range s.items(ctx) {
			f.addCopies(mg)
		}
	}
	f.send(ch, c.created, f.machines)
	f.send(ch, c.snapshots, f.snapshots)
	f.send(ch, c.backedUp, f.backups)
}

// A vm is a virtual machine of a named cluster.
type vm struct{ cluster, vmid string }

// newest has the time of the newest copy of each Machine.
type newest map[types.NamespacedName]int64

func (n newest) add(namespace string, name *string, at *metav1.Time) {
	if name == nil || at == nil {
		return
	}
	key := types.NamespacedName{Namespace: namespace, Name: *name}
	n[key] = max(n[key], at.Unix())
}

// found is what the resources tell.
type found struct {
	snapshots, backups newest
	vms                map[vm]types.NamespacedName

	// machines are those that exist, with the times at which they were created.
	machines newest
}

func (f found) addMachine(mg resource.Managed) {
	m, ok := mg.(machine)
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(m)
	f.machines[key] = m.GetCreationTimestamp().Unix()
	// The VMIDs of nodes that are in no cluster cannot be told from one another.
	if in, id := m.Observation().Cluster, meta.GetExternalName(m); in != "" && id != "" {
		f.vms[vm{in, id}] = key
	}
}

func (f found) addCopies(mg resource.Managed) {
	switch r := mg.(type) {
	case interface {
		Parameters() *v1alpha1.SnapshotParameters
		Observation() *v1alpha1.SnapshotObservation
	}:
		if o := r.Observation(); o.ReadyToUse {
			f.snapshots.add(mg.GetNamespace(), r.Parameters().Machine, o.Time)
		}
	case interface {
		Parameters() *v1alpha1.BackupParameters
		Observation() *v1alpha1.BackupObservation
	}:
		if o := r.Observation(); o.State == v1alpha1.BackupComplete {
			f.backups.add(mg.GetNamespace(), r.Parameters().Machine, o.Time)
		}
	case interface {
		Observation() *v1alpha1.BackupJobObservation
	}:
		f.addGuests(r.Observation())
	}
}

// addGuests adds the backups of a job to the Machines of its guests.
func (f found) addGuests(o *v1alpha1.BackupJobObservation) {
	for _, g := range o.Guests {
		if key, ok := f.vms[vm{o.Cluster, strconv.Itoa(int(g.VMID))}]; ok {
			f.backups.add(key.Namespace, &key.Name, g.LastBackup)
		}
	}
}

func (f found) send(ch chan<- prometheus.Metric, desc *prometheus.Desc, of newest) {
	for key, at := range of {
		if _, exists := f.machines[key]; exists {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(at), key.Namespace, key.Name)
		}
	}
}

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
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
)

// copies reports when each Machine was created, and when its newest snapshot and its newest backup were created, according to the resources in the
// cache.
type copies struct {
	machines, copies             sources
	created, snapshots, backedUp *prometheus.Desc
	oldest, jobs                 *prometheus.Desc
}

func newCopies() *copies {
	labels := []string{"machine_namespace", "machine"}
	return &copies{
		created: prometheus.NewDesc("proxmox_machine_created_timestamp_seconds",
			"When a Machine was created in Kubernetes, in seconds since 1970.", labels, nil),
		snapshots: prometheus.NewDesc("proxmox_machine_last_snapshot_timestamp_seconds",
			"When the newest Snapshot of a Machine was taken, in seconds since 1970.", labels, nil),
		oldest: prometheus.NewDesc("proxmox_machine_oldest_snapshot_timestamp_seconds",
			"When the oldest Snapshot of a Machine was taken that no SnapshotPolicy removes, in seconds since 1970.", labels, nil),
		jobs: prometheus.NewDesc("proxmox_backupjob_guests", "How many guests the BackupJobs back up, as far as their users may see them.", nil, nil),
		backedUp: prometheus.NewDesc("proxmox_machine_last_backup_timestamp_seconds",
			"When the newest backup of a Machine was made that a Backup or a BackupJob shows, in seconds since 1970.", labels, nil),
	}
}

// Copies adds the copies of Machines that resources of a kind show: Snapshots, Backups or BackupJobs. The function list is called as for Machines.
func (m *Metrics) Copies(list ListFunc, ready <-chan struct{}) {
	m.copies.copies.add(source{list: list, ready: ready})
}

// Describe sends the descriptions of the metrics.
func (c *copies) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.created
	ch <- c.snapshots
	ch <- c.backedUp
	ch <- c.oldest
	ch <- c.jobs
}

// Collect sends the metrics of the Machines that exist.
func (c *copies) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	f := &found{
		snapshots: newest{}, backups: newest{}, oldest: newest{}, machines: newest{},
		vms: map[vm]types.NamespacedName{}, uuids: map[types.NamespacedName]string{},
	}
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
	f.send(ch, c.oldest, f.oldest)
	if f.guests > 0 {
		ch <- prometheus.MustNewConstMetric(c.jobs, prometheus.GaugeValue, float64(f.guests))
	}
}

// A vm is a virtual machine of a cluster, which is identified by its name or by a provider configuration.
type vm struct {
	cluster string
	config  connect.Key
	vmid    int32
}

// vmOf returns a VM that a resource names. The VMIDs of nodes that are in no cluster are distinguished by the provider configurations.
func vmOf(mg resource.Managed, cluster string, vmid int32) vm {
	if cluster != "" {
		return vm{cluster: cluster, vmid: vmid}
	}
	config, err := connect.KeyOf(mg)
	if err != nil {
		return vm{}
	}
	return vm{config: config, vmid: vmid}
}

// newest has the time of the newest copy of each Machine.
type newest map[types.NamespacedName]int64

func (n newest) add(namespace string, name *string, at *metav1.Time) {
	if name == nil || at == nil {
		return
	}
	key := types.NamespacedName{Namespace: namespace, Name: *name}
	n[key] = max(n[key], at.Unix())
}

// addOldest keeps the oldest time instead of the newest.
func (n newest) addOldest(namespace string, name *string, at *metav1.Time) {
	if name == nil || at == nil {
		return
	}
	key := types.NamespacedName{Namespace: namespace, Name: *name}
	if known, ok := n[key]; !ok || at.Unix() < known {
		n[key] = at.Unix()
	}
}

// found has what the resources show.
type found struct {
	snapshots, backups, oldest newest
	vms                        map[vm]types.NamespacedName
	guests                     int

	// uuids of the VMs of Machines, if they are known.
	uuids map[types.NamespacedName]string

	// machines are the existing Machines, with the times at which they were created.
	machines newest
}

func (f *found) addMachine(mg resource.Managed) {
	m, ok := mg.(machine)
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(m)
	f.machines[key] = m.GetCreationTimestamp().Unix()
	if o := m.Observation(); o.UUID != "" && o.VMID != nil { // The VM is proven to be the Machine's.
		f.uuids[key] = o.UUID
		if at := vmOf(m, o.Cluster, *o.VMID); at != (vm{}) {
			f.vms[at] = key
		}
	}
}

// isOf reports whether a copy of a VM with the UUID belongs to the Machine as it is now, and not to a former one with its name.
func (f *found) isOf(namespace string, name *string, uuid string) bool {
	own := f.uuids[types.NamespacedName{Namespace: namespace, Name: ptr.Deref(name, "")}]
	return own == "" || uuid == "" || strings.EqualFold(own, uuid)
}

func (f *found) addCopies(mg resource.Managed) {
	switch r := mg.(type) {
	case interface {
		Parameters() *v1alpha1.SnapshotParameters
		Observation() *v1alpha1.SnapshotObservation
	}:
		f.addSnapshot(mg, r.Parameters().Machine, r.Observation())
	case interface {
		Parameters() *v1alpha1.BackupParameters
		Observation() *v1alpha1.BackupObservation
	}:
		f.addBackup(mg.GetNamespace(), r.Parameters().Machine, r.Observation())
	case interface {
		Observation() *v1alpha1.BackupJobObservation
	}:
		f.addGuests(mg, r.Observation())
	}
}

// addSnapshot adds an existing Snapshot. Snapshots of a policy do not count as the oldest, since the policy removes them in time.
func (f *found) addSnapshot(mg resource.Managed, of *string, o *v1alpha1.SnapshotObservation) {
	if !o.ReadyToUse || !f.isOf(mg.GetNamespace(), of, o.VMUUID) {
		return
	}
	f.snapshots.add(mg.GetNamespace(), of, o.Time)
	if c := metav1.GetControllerOf(mg); c == nil || c.Kind != "SnapshotPolicy" {
		f.oldest.addOldest(mg.GetNamespace(), of, o.Time)
	}
}

// addBackup adds a complete Backup.
func (f *found) addBackup(namespace string, of *string, o *v1alpha1.BackupObservation) {
	if o.State == v1alpha1.BackupComplete && ptr.Deref(o.Verified, true) && f.isOf(namespace, of, o.VMUUID) {
		f.backups.add(namespace, of, o.Time)
	}
}

// addGuests adds the backups of a job to the Machines of its guests.
func (f *found) addGuests(mg resource.Managed, o *v1alpha1.BackupJobObservation) {
	f.guests += len(o.Guests)
	for _, g := range o.Guests {
		if g.Machine != "" {
			f.backups.add(mg.GetNamespace(), &g.Machine, g.LastBackup)
		} else if key, ok := f.vms[vmOf(mg, o.Cluster, g.VMID)]; ok {
			f.backups.add(key.Namespace, &key.Name, g.LastBackup)
		}
	}
}

func (f *found) send(ch chan<- prometheus.Metric, desc *prometheus.Desc, of newest) {
	for key, at := range of {
		if _, exists := f.machines[key]; exists {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(at), key.Namespace, key.Name)
		}
	}
}

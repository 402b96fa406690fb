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

package controller_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// victimDisk is the disk of the VM of team-b.
const victimDisk = "ceph:vm-30001-disk-0"

// volumeOf returns a Volume of a team.
func (w *tenantWorld) volumeOf(team, name string) volumeref.Volume {
	var v volumeref.Volume = &cluster.Volume{}
	if w.namespaced {
		v = &namespaced.Volume{}
	}
	w.give(v, team, w.name+"-volume-"+name)
	*v.Parameters() = v1alpha1.VolumeParameters{Size: new("1G"), Storage: new("ceph")}
	return v
}

// volumeAttempts returns attempts of team-a to get a disk of team-b, or to create one where it may not, and to delete it.
func (w *tenantWorld) volumeAttempts() map[string]tried[volumeref.Volume] {
	record := func(format string, words ...any) func(v volumeref.Volume) {
		return func(v volumeref.Volume) {
			meta.AddAnnotations(v, map[string]string{tenancy.AnnotationVolume: fmt.Sprintf(format, words...)})
			meta.AddFinalizer(v, managed.FinalizerName)
		}
	}
	const foreign = "VM 30001, which is not the tenant's"
	return map[string]tried[volumeref.Volume]{
		"storageref": {change: func(v volumeref.Volume) {
			v.Parameters().Storage, v.Parameters().StorageRef = nil, &v1alpha1.Reference{Name: w.forged()}
		}, says: "(storages): a disk on storage nfs"},
		"storageselector": {change: func(v volumeref.Volume) {
			v.Parameters().Storage = nil
			v.Parameters().StorageSelector = &v1alpha1.Selector{MatchLabels: map[string]string{redteam: "forged"}}
		}, says: "(storages): a disk on storage nfs"},
		"elsewhere": {change: func(v volumeref.Volume) { v.Parameters().Storage = new("nfs") }, says: "(storages): a disk on storage nfs"},
		"node":      {change: func(v volumeref.Volume) { v.Parameters().Node = new("pve3") }, says: "(nodes): no VM on node pve3"},
		"adopted":   {change: func(v volumeref.Volume) { meta.SetExternalName(v, victimDisk) }, says: "(allow.adopt): disk " + victimDisk},
		"own": {change: func(v volumeref.Volume) {
			meta.SetExternalName(v, fmt.Sprintf("ceph:vm-%d-disk-0", w.vmid()))
		}, says: "(allow.adopt): disk ceph:vm-20000-disk-0"},
		"observed": {change: func(v volumeref.Volume) {
			meta.SetExternalName(v, victimDisk)
			v.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
		}, says: "(allow.adopt): disk " + victimDisk},
		"secret": {
			change: func(v volumeref.Volume) { keptIn(v, w.space("b")) }, says: "(namespaces): writeConnectionSecretToRef", clusterScoped: true,
		},
		"recorded": {change: record(`{"volume":%q,"holder":{"uuid":%q}}`, victimDisk, victimUUID), says: foreign},
		"stub":     {change: record(`{"vmid":%d,"uuid":%q,"node":"pve1","removing":true}`, victim, victimUUID), says: foreign},
		"handover": {change: record(
			`{"volume":"ceph:vm-20000-disk-0","handover":{"from":20000,"key":"scsi0","to":%d,"targetKey":"unused0","holder":{"uuid":%q}}}`, victim, victimUUID,
		), says: foreign},
	}
}

// tryVolumes makes team-a try to get the disk of team-b.
func (w *tenantWorld) tryVolumes() {
	w.Helper()
	n, made, attempts := len(w.writes()), map[string]volumeref.Volume{}, w.volumeAttempts()
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		if w.namespaced && attempts[name].clusterScoped {
			continue
		}
		v := w.volumeOf("a", name)
		attempts[name].change(v)
		w.make(v)
		made[name] = v
	}
	for name, v := range made {
		w.refused(v, attempts[name].says)
		w.remove(v)
	}
	w.wroteNothing(n)
}

// ownVolumeOf makes a team create a disk.
func (w *tenantWorld) ownVolumeOf(team string) volumeref.Volume {
	w.Helper()
	v := w.volumeOf(team, "own")
	w.make(v)
	w.becomes(v, "is made", func() bool { return isSynced(v) && v.Observation().StubVMID != nil })
	return v
}

func isSynced(v volumeref.Volume) bool {
	return v.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue && v.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionTrue
}

// ownVolume makes team-a create a disk, give it to its Machine, claim that it is that of team-b, and destroy it.
func (w *tenantWorld) ownVolume() {
	w.Helper()
	v := w.ownVolumeOf("a")
	stub := int(*v.Observation().StubVMID)
	if g, there := w.pve.Guest(stub); !there || stub > 20099 || g.Node == "pve3" || g.Config["tags"] != "team-a" {
		w.Errorf("want a VM of the tenant with its tag, got %d, %+v", stub, g)
	}
	w.pve.Edit(func(s *simulator.State) {
		if !s.Pools["team-a"].VMs[stub] {
			w.Errorf("want VM %d in pool team-a: %+v", stub, s.Pools["team-a"])
		}
	})
	list := func(disks ...v1alpha1.MachineDisk) {
		w.edit(w.m, func() { w.m.Parameters().Disks = disks })
	}
	list(v1alpha1.MachineDisk{Name: "data", VolumeRef: &v1alpha1.VolumeReference{Name: v.GetName()}})
	w.becomes(v, "is the Machine's", func() bool { return isSynced(v) && v.GetCondition("Bound").Status == corev1.ConditionTrue })
	text := v.GetAnnotations()[tenancy.AnnotationVolume]
	w.edit(v, func() {
		meta.AddAnnotations(v, map[string]string{tenancy.AnnotationVolume: fmt.Sprintf(`{"volume":%q,"holder":{"uuid":%q}}`, victimDisk, victimUUID)})
	})
	w.refused(v, "VM 30001, which is not the tenant's")
	w.edit(v, func() { meta.AddAnnotations(v, map[string]string{tenancy.AnnotationVolume: text}) })
	w.becomes(v, "is its own again", func() bool { return isSynced(v) })
	w.edit(v, func() { delete(v.GetAnnotations(), tenancy.AnnotationVolumeSignature) })
	w.becomes(v, "is its own by its VMs, and signed again", func() bool {
		return isSynced(v) && v.GetAnnotations()[tenancy.AnnotationVolumeSignature] != ""
	})
	list()
	w.remove(v)
	if _, there := w.pve.Guest(stub); there {
		w.Error("the disk is left")
	}
}

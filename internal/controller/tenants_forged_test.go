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
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	nodenets "github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// forge makes team-a create resources that it may not have and write their status and names, so that they seem to be an image and a template of
// others, a storage, a bridge, a node and a VM that are not for it.
func (w *tenantWorld) forge() {
	w.Helper()
	var image imageref.Image = &cluster.Image{}
	var network nodenets.NodeNetwork = &cluster.NodeNetwork{}
	var storage interface {
		resource.Managed
		Parameters() *v1alpha1.StorageParameters
	} = &cluster.Storage{}
	if w.namespaced {
		image, network, storage = &namespaced.Image{}, &namespaced.NodeNetwork{}, &namespaced.Storage{}
	}
	for _, mg := range []resource.Managed{image, network, storage} {
		w.give(mg, "a", w.forged())
		meta.AddLabels(mg, map[string]string{redteam: "forged"})
	}
	image.Parameters().Source.URL, image.Parameters().Storages = new("http://127.0.0.1:1/x.qcow2"), []string{"local"}
	w.make(image)
	w.forgeStatus(image, func() {
		*image.Observation() = v1alpha1.ImageObservation{
			Revision:  1,
			Replicas:  []v1alpha1.ImageReplica{{Node: "pve1", Storage: "nfs", Shared: true, Volume: "nfs:import/secret.qcow2", Ready: true}},
			Templates: []v1alpha1.ImageTemplateObservation{{Node: "pve1", Storage: "ceph", Shared: true, VMID: new(int32(victimTemplate)), Ready: true}},
		}
	})
	*network.Parameters() = v1alpha1.NodeNetworkParameters{Node: "pve1", Interface: "vmbr0", Type: "bridge"}
	w.make(network)
	w.forgeStatus(network, func() {
		network.SetConditions(xpv2.Condition{Type: "Applied", Status: corev1.ConditionTrue, Reason: "Applied", LastTransitionTime: metav1.Now()})
	})
	meta.SetExternalName(storage, "nfs")
	storage.Parameters().Dir = &v1alpha1.StorageDir{Path: "/srv/forged"}
	w.make(storage)
	w.labelled("a", "pve3", map[string]string{redteam: "forged"})
	bait := w.of("a", "forged", linux())
	meta.AddAnnotations(bait, map[string]string{
		meta.AnnotationKeyExternalName: fmt.Sprint(victim), object.AnnotationUUID: strayUUID, meta.AnnotationKeyReconciliationPaused: "true",
	})
	w.make(bait)
}

// haveTheirs makes team-b have one resource of each kind that others could name. Namespaced resources cannot name those of other namespaces.
func (w *tenantWorld) haveTheirs() {
	w.Helper()
	if w.namespaced {
		return
	}
	m := w.of("b", "theirs", linux())
	meta.AddLabels(m, map[string]string{redteam: "theirs"})
	w.make(m)
	w.well(m)
	all := []resource.Managed{w.backupOf("b", "", w.theirs()), w.volumeOf("b", ""), w.snapshotOf("b", w.theirs())}
	for _, mg := range all {
		mg.SetName(w.theirs())
		w.make(mg)
	}
	for _, mg := range all {
		w.well(mg)
	}
}

// TestTenantsForgedStatus makes a team forge the status of its resources, which Crossplane's roles allow, so that a VM in no tenant's pools and
// ranges seems to belong to it, and delete them.
func TestTenantsForgedStatus(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "forgedstatus")
		w.pve.Edit(func(s *simulator.State) {
			s.Guests[strayVM].Snapshots["before"] = &simulator.Snapshot{Config: maps.Clone(s.Guests[strayVM].Config), Time: time.Unix(1_700_000_000, 0)}
		})
		w.m = w.of("a", "own", linux())
		w.make(w.m)
		w.ready()
		signed := w.m.Observation().RecordSignature
		if signed == "" {
			t.Fatal("want what is the tenant's own signed")
		}
		w.forgesAnnotations()
		n := len(w.writes())
		w.forgedStatusOfSnapshot()
		w.forgesStatus()
		for name, signature := range map[string]string{"unsigned": "", "copied": signed} {
			forged := w.of("a", name, linux())
			meta.AddAnnotations(forged, map[string]string{meta.AnnotationKeyExternalName: "40001", object.AnnotationUUID: strayUUID})
			meta.AddFinalizer(forged, managed.FinalizerName)
			w.make(forged)
			w.forgeStatus(forged, func() {
				*forged.Observation() = v1alpha1.MachineObservation{VMID: new(int32(strayVM)), UUID: strayUUID, RecordSignature: signature}
			})
			w.remove(forged)
			w.eventually("it is told that the VM stays", func() bool {
				told := w.toldOf(forged.GetName(), "LeftBehind")
				return len(told) == 1 && strings.HasPrefix(told[0], "VM 40001 is left where it is: tenant \"team-a\" may not")
			})
		}
		w.wroteNothing(n)
		if g, there := w.pve.Guest(strayVM); !there || g.Snapshots["before"] == nil {
			t.Error("what is not the team's is gone")
		}
	})
}

// forgedStatusOfSnapshot makes team-a forge the record and the status of a Snapshot of a VM that belongs to no tenant, and delete it.
func (w *tenantWorld) forgedStatusOfSnapshot() {
	w.Helper()
	forged := w.takes("seen")
	meta.AddAnnotations(forged, map[string]string{kind.AnnotationSnapshot: fmt.Sprintf(
		`{"uuid":%q,"begun":1700000000,"done":true,"vmid":%d,"node":"pve1","name":"before","time":1700000000}`, strayUUID, strayVM,
	)})
	meta.AddFinalizer(forged, managed.FinalizerName)
	w.make(forged)
	w.forgeStatus(forged, func() {
		*forged.Observation() = v1alpha1.SnapshotObservation{Name: "before", VMID: new(int32(strayVM)), VMUUID: strayUUID}
	})
	w.remove(forged)
}

// forgedAnnotations returns what team-a writes into the annotations of a Machine, as the provider would.
func (w *tenantWorld) forgedAnnotations() map[string]map[string]string {
	const uuid = "d0d0d0d0-0000-4000-8000-0000000d0d0d"
	task := fmt.Sprintf(`{"token":"1","state":"Restoring","vmid":20051,"node":"pve1","volume":%q,"begun":1700000000,"task":%[2]q,`+
		`"call":{"begun":1700000000,"task":%[2]q}}`, victimBackup, "UPID:pve1:00000001:00000001:65000000:qmrestore:20051:crossplane@pve!demo:")
	pin := imageref.Pin{Name: w.forged(), UID: "x", Revision: 1, Volume: "nfs:import/secret.qcow2", Template: true, VMID: victimTemplate}
	return map[string]map[string]string{
		"source": {
			object.AnnotationSource: fmt.Sprint(victimTemplate), object.AnnotationNode: "pve3", object.AnnotationTarget: "pve3",
			object.AnnotationAllocated: "20005", meta.AnnotationKeyExternalName: "20005", object.AnnotationUUID: uuid,
		},
		"allocated":  {object.AnnotationAllocated: fmt.Sprint(victim)},
		"placed":     {object.AnnotationNode: "pve3", object.AnnotationTarget: "pve3", object.AnnotationPlacement: `{"node":"pve3"}`},
		"restored":   {object.AnnotationRestore: task, meta.AnnotationKeyExternalName: "20051", object.AnnotationUUID: uuid},
		"putback":    {object.AnnotationRestoreInPlace: task, meta.AnnotationKeyExternalName: "20051", object.AnnotationUUID: uuid},
		"rolledback": {object.AnnotationRollback: strings.ReplaceAll(task, "qmrestore:20051", fmt.Sprint("qmrollback:", victim))},
		"images":     {object.AnnotationImages: fmt.Sprintf("vault:iso/cidata-%d-x.iso", victim)},
		"rules":      {object.AnnotationHARules: fmt.Sprint(victim)},
		"lost": {
			object.AnnotationCreation: "c2lnbmVk", object.AnnotationAllocated: fmt.Sprint(hidden), meta.AnnotationKeyExternalName: fmt.Sprint(hidden),
			object.AnnotationUUID: uuid, meta.AnnotationKeyExternalCreatePending: "2026-01-01T00:00:00Z", object.AnnotationNode: "pve1",
		},
		"pinned":      {imageref.AnnotationPin: pin.String()},
		"interrupted": {meta.AnnotationKeyExternalCreatePending: "2026-01-01T00:00:00Z", meta.AnnotationKeyExternalName: fmt.Sprint(hidden)},
	}
}

// forgesAnnotations makes team-a create Machines with annotations that the provider would write, and delete them, and checks that nothing is written
// that concerns objects of others, whatever becomes of them.
func (w *tenantWorld) forgesAnnotations() {
	w.Helper()
	n, made := len(w.writes()), map[string]machine.Machine{}
	for name, annotations := range w.forgedAnnotations() {
		m := w.of("a", "forged-"+name, linux())
		meta.AddAnnotations(m, annotations)
		w.make(m)
		made[name] = m
	}
	for _, m := range made {
		w.becomes(m, "is ready or refused", func() bool {
			return m.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue || m.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse
		})
		w.remove(m)
	}
	for _, r := range w.writes()[n:] {
		for _, foreign := range []string{fmt.Sprint(victim), fmt.Sprint(victimTemplate), fmt.Sprint(hidden), "20051", "pve3", "nfs", "cidata"} {
			if strings.Contains(fmt.Sprint(r.Path, r.Params), foreign) {
				w.Errorf("want no write about %s, got %v", foreign, r)
			}
		}
	}
}

// forgesStatus makes team-a write what the provider keeps in the status of resources, also in place of their annotations, and delete them.
func (w *tenantWorld) forgesStatus() {
	w.Helper()
	n := len(w.writes())
	m := w.of("a", "status", v1alpha1.MachineParameters{Node: new("pve3"), Recreation: &v1alpha1.MachineRecreation{
		LostNode: "pve1", Token: "2", RemoveRemains: new(true),
	}})
	s, b, v := w.takes("status"), w.backupOf("a", "status", "nobody"), w.volumeOf("a", "status")
	s.Parameters().MachineRef.Name, b.Parameters().Storage, v.Parameters().Node = "nobody", "nfs", new("pve3")
	seen := fmt.Sprintf(`{"uuid":%q,"vmid":%d,"node":"pve1","begun":1700000000,"done":true,"name":"before","volume":%q,"time":1700000000}`,
		strayUUID, strayVM, victimBackup)
	status := map[resource.Managed]func(){
		m: func() {
			*m.Observation() = v1alpha1.MachineObservation{
				VMID: new(int32(strayVM)), UUID: strayUUID,
				Annotations: map[string]string{meta.AnnotationKeyExternalName: fmt.Sprint(strayVM), object.AnnotationUUID: strayUUID},
				Recreation: &v1alpha1.MachineRecreationObservation{
					Token: "1", State: v1alpha1.ActSucceeded, Remains: []v1alpha1.MachineRemains{{VMID: victim, UUID: victimUUID, Node: "pve1"}},
				},
			}
		},
		s: func() {
			*s.Observation() = v1alpha1.SnapshotObservation{Name: "before", VMID: new(int32(strayVM)), VMUUID: strayUUID, ReadyToUse: true}
			s.Observation().Annotations = map[string]string{kind.AnnotationSnapshot: seen, meta.AnnotationKeyExternalName: "before"}
		},
		b: func() {
			*b.Observation() = v1alpha1.BackupObservation{
				State: v1alpha1.BackupComplete, Volume: victimBackup, VMID: new(int32(victim)), VMUUID: victimUUID,
				Annotations: map[string]string{tenancy.AnnotationBackup: seen, meta.AnnotationKeyExternalName: victimBackup},
			}
		},
		v: func() {
			*v.Observation() = v1alpha1.VolumeObservation{Volume: victimDisk, StubVMID: new(int32(victim)), VMID: new(int32(victim))}
			v.Observation().Annotations = map[string]string{
				tenancy.AnnotationVolume:       fmt.Sprintf(`{"volume":%q,"holder":{"uuid":%q}}`, victimDisk, victimUUID),
				meta.AnnotationKeyExternalName: victimDisk,
			}
		},
	}
	for mg, forged := range status {
		meta.AddFinalizer(mg, managed.FinalizerName)
		w.make(mg)
		w.forgeStatus(mg, forged)
	}
	for mg := range status {
		w.edit(mg, func() { meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "1"}) })
		w.remove(mg)
	}
	w.wroteNothing(n)
}

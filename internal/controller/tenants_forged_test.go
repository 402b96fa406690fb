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
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	nodenets "github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/imageref"
)

// forge has team-a make resources that it may not have and write their status and names, so that they seem to be an image and a template of others, a
// storage, a bridge and a node that are not for it.
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
}

// haveTheirs has team-b have one of each kind that others could name. Resources that are namespaced name none of other namespaces.
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

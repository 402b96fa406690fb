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
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// ownedBy is the label that assigns cluster-scoped resources to a team.
const ownedBy = "example.org/team"

// byLabels gives each team the resources that are labelled with its name, and Images of the hosts of team-a. The first team has its namespaces too.
func byLabels(all []v1alpha1.ProviderTenant) {
	for i := range all {
		all[i].ResourceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{ownedBy: all[i].Name}}
		all[i].ImageHosts = all[0].ImageHosts
	}
}

// relabel changes a resource so that it belongs to a team by its label only.
func relabel[R resource.Managed](mg R, team string) R {
	all := mg.GetLabels()
	delete(all, tenancy.LabelClaimNamespace)
	all[ownedBy] = team
	mg.SetLabels(all)
	return mg
}

// filesOf returns the files that begin with a prefix.
func (w *tenantWorld) filesOf(prefix string) []string {
	return slices.DeleteFunc(w.files(), func(file string) bool { return !strings.HasPrefix(file, prefix) })
}

// labelledImage returns an Image of the mirror that belongs to a team by its label only.
func (w *tenantWorld) labelledImage(from *mirror, team, name string) imageref.Image {
	i := relabel(w.imageOf("none", name), team)
	i.Parameters().Source.URL, i.Parameters().Storages = new(from.URL+"/debian-13.qcow2"), []string{"nfs"}
	return i
}

// TestTenantsLabelledImages checks cluster-scoped resources that belong to teams by labels only, and create VMs from images by URL. The files of each
// team belong to it, however resources are relabelled, whatever claims labels name, and even if another configuration has tenants with the same
// names.
func TestTenantsLabelledImages(t *testing.T) {
	t.Parallel()
	turn := int(crc32.ChecksumIEEE([]byte(t.Name())))
	for i, version := range slices.Sorted(maps.Keys(versions())) {
		if !inMatrix(turn, i) {
			continue
		}
		t.Run(version, func(t *testing.T) { // Labels of namespaced resources assign them to no tenant.
			t.Parallel()
			labelledImages(t, pairing{scope: "Cluster", version: version})
		})
	}
}

func labelledImages(t *testing.T, p pairing) {
	t.Helper()
	w, mirror := newMirrorWorld(t, p, "labelled", byLabels)
	w.m = relabel(w.of("none", "own", ofURL(mirror)), "team-a")
	theirs := relabel(w.of("none", "theirs", ofURL(mirror)), "team-b")
	w.make(w.m)
	w.make(theirs)
	w.ready()
	w.well(theirs)
	own := w.filesOf("team-a_" + w.config + "_.debian-13-")
	if b := w.filesOf("team-b_" + w.config + "_.debian-13-"); len(own) != 1 || len(b) != 1 || len(w.files()) != 2 {
		t.Fatalf("want a file of each team, got %q", w.files())
	}
	n, image := len(w.writes()), w.usedBy(w.m)
	w.namesLabelledFiles(own[0], image.GetName())
	w.relabelsImage(image)
	w.wroteNothing(n)
	w.namesClaims(mirror)
	w.namesEqualTenants(mirror, own[0])
	w.renamesTenant(mirror)
	w.delete()
	w.gone()
	w.remove(image)
	w.eventually("the file of the Image is removed", func() bool { return !slices.Contains(w.files(), own[0]) })
	if b := w.filesOf("team-b_"); len(b) != 1 {
		t.Errorf("want the file of the other team left, got %q", w.files())
	}
}

// namesLabelledFiles makes resources of others try to get a file of team-a, and its Image.
func (w *tenantWorld) namesLabelledFiles(file, image string) {
	w.Helper()
	byVolume := onRoot(&v1alpha1.MachineImage{Volume: "nfs:import/" + file})
	for says, m := range map[string]machine.Machine{
		"tenant \"team-b\" may not (images): image.volume": relabel(w.of("none", "volume", byVolume), "team-b"),
		"tenant \"team-a\" may not (images): image.volume": w.of("a", "claimed", byVolume),
		"belongs to no tenant":                             w.of("none", "nobody", byVolume),
	} {
		w.make(m)
		w.refused(m, says)
		w.remove(m)
	}
	ref := relabel(w.of("none", "ref", onRoot(&v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: image}})), "team-b")
	w.make(ref)
	w.waitNotReady(ref, xpv2.ReasonCreating, "image '"+image+"' not found")
	w.remove(ref)
	for name, change := range map[string]func(imageref.Image){
		"file":     func(i imageref.Image) { i.Parameters().FileName = new(strings.TrimSuffix(file, ".qcow2")) },
		"external": func(i imageref.Image) { meta.SetExternalName(i, file) },
		"recorded": func(i imageref.Image) {
			meta.AddAnnotations(i, map[string]string{tenancy.AnnotationImage: `{"revisions":[{"revision":1,"file":"` + file + `","complete":true}]}`})
		},
	} {
		i := relabel(w.imageOf("none", name), "team-b")
		i.Parameters().Source.URL, i.Parameters().Storages = new("http://127.0.0.1:1/x.qcow2"), []string{"nfs"}
		change(i)
		w.make(i)
		w.refused(i, ", whose name does not begin with team-b_"+w.config+"_.")
		w.remove(i)
	}
}

// relabelsImage relabels an Image of team-a as one of team-b, of a claim of team-a and of no team, and checks that it does nothing until it belongs
// to team-a again.
func (w *tenantWorld) relabelsImage(image imageref.Image) {
	w.Helper()
	for says, labels := range map[string]map[string]string{
		"tenant \"team-b\" may not (imageHosts): file team-a_":           {ownedBy: "team-b"},
		", whose name does not begin with " + w.space("a") + ".":         {tenancy.LabelClaimNamespace: w.space("a")},
		"belongs to several tenants of the provider configuration, team": {ownedBy: "team-b", tenancy.LabelClaimNamespace: w.space("a")},
		"belongs to no tenant": {},
	} {
		w.show(image)
		was := image.GetLabels()
		w.edit(image, func() {
			labels[label] = was[label]
			image.SetLabels(labels)
		})
		w.refused(image, says)
		w.edit(image, func() { image.SetLabels(was) })
		w.well(image)
	}
}

// namesClaims makes team-b create an Image for a claim in a namespace that does not belong to it, which gives it no file of that namespace, and one
// for a claim in its own namespace.
func (w *tenantWorld) namesClaims(from *mirror) {
	w.Helper()
	for namespace, prefix := range map[string]string{w.space("none"): "team-b_" + w.config + "_.", w.space("b"): w.space("b") + "."} {
		i := w.labelledImage(from, "team-b", "claim")
		meta.AddLabels(i, map[string]string{tenancy.LabelClaimNamespace: namespace})
		w.make(i)
		w.well(i)
		if file := i.Observation().File; file != prefix+i.GetName()+".qcow2" {
			w.Errorf("want the file of a claim in %s begin with %s, got %q", namespace, prefix, file)
		}
		w.remove(i)
	}
}

// namesEqualTenants creates another configuration for the cluster with a tenant of the same name as team-a, which has other resources, and checks
// that neither has files of the other.
func (w *tenantWorld) namesEqualTenants(from *mirror, file string) {
	w.Helper()
	other := w.besideAs("eu.west", func(s *v1alpha1.ProviderConfigSpec) {
		s.Tenants[0].Namespaces, s.Tenants[0].ResourceSelector.MatchLabels = nil, map[string]string{ownedBy: "equal"}
	})
	m := relabel(w.ofConfig(other.GetName(), "none", "equal", onRoot(&v1alpha1.MachineImage{Volume: "nfs:import/" + file})), "equal")
	w.make(m)
	w.refused(m, "tenant \"team-a\" may not (images): image.volume")
	w.remove(m)
	own := w.config
	w.config = other.GetName()
	i := w.labelledImage(from, "equal", "equal")
	w.config = own
	w.make(i)
	w.well(i)
	if file := i.Observation().File; file != "team-a_"+other.GetName()+"_."+i.GetName()+".qcow2" {
		w.Errorf("want a file of the tenant of the other configuration, got %q", file)
	}
	w.remove(i)
}

// renamesTenant renames team-b, and checks that its former files belong to no team, and its Images remove what they have created.
func (w *tenantWorld) renamesTenant(from *mirror) {
	w.Helper()
	i := w.labelledImage(from, "team-b", "renamed")
	w.make(i)
	w.well(i)
	rename := func(name string) { w.rule(func(all []v1alpha1.ProviderTenant) { all[1].Name = name }) }
	rename("team-c")
	w.refused(i, "tenant \"team-c\" may not (imageHosts): file team-b_"+w.config+"_."+i.GetName()+".qcow2")
	w.remove(i)
	w.eventually("the file is removed", func() bool { return len(w.filesOf("team-b_"+w.config+"_."+i.GetName())) == 0 })
	rename("team-b")
}

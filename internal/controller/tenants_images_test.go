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
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// imageOf returns an Image of a team, with a URL that team-a may name.
func (w *tenantWorld) imageOf(team, name string) imageref.Image {
	var i imageref.Image = &cluster.Image{}
	if w.namespaced {
		i = &namespaced.Image{}
	}
	w.give(i, team, w.name+"-image-"+name)
	*i.Parameters() = v1alpha1.ImageParameters{
		Source: v1alpha1.ImageSource{URL: new("https://images.example.org/x.qcow2")}, Storages: []string{"ceph"},
	}
	return i
}

// imageAttempts returns attempts of team-a to make nodes download from elsewhere or to storages of others, and to get, replace or remove files of
// others.
func (w *tenantWorld) imageAttempts() map[string]tried[imageref.Image] {
	from := func(s v1alpha1.ImageSource) func(imageref.Image) {
		return func(i imageref.Image) {
			*i.Parameters() = v1alpha1.ImageParameters{Source: s, Template: &v1alpha1.ImageTemplate{}}
		}
	}
	by := func(url string) func(imageref.Image) {
		return func(i imageref.Image) { i.Parameters().Source.URL = &url }
	}
	record := func(format string, words ...any) func(imageref.Image) {
		return func(i imageref.Image) {
			meta.AddAnnotations(i, map[string]string{tenancy.AnnotationImage: fmt.Sprintf(format, words...)})
			meta.AddFinalizer(i, managed.FinalizerName)
		}
	}
	const hosts, source, file = "(imageHosts): source.url of a host but", "(kinds): an Image of anything but source.url", "(imageHosts): file "
	return map[string]tried[imageref.Image]{
		"url":      {change: by("http://169.254.169.254/x.qcow2"), says: hosts},
		"user":     {change: by("https://images.example.org:x@169.254.169.254/x.qcow2"), says: hosts},
		"port":     {change: by("https://images.example.org:22/x.qcow2"), says: hosts},
		"wildcard": {change: by("https://mirror.example.org:8443/x.qcow2"), says: hosts},
		"sums": {
			change: func(i imageref.Image) { i.Parameters().Source.ChecksumURL = new("https://kubernetes.default/api") },
			says:   "(imageHosts): source.checksumURL of a host but",
		},
		"oci": {change: func(i imageref.Image) {
			*i.Parameters() = v1alpha1.ImageParameters{
				Source: v1alpha1.ImageSource{OCI: new("docker.io/library/debian:trixie")}, Content: new(v1alpha1.ImageContentContainer), Storages: []string{"ceph"},
			}
		}, says: source},
		"volume":     {change: from(v1alpha1.ImageSource{Volume: new("nfs:import/secret.qcow2")}), says: source},
		"machine":    {change: from(v1alpha1.ImageSource{Machine: new(w.m.GetName())}), says: source},
		"machineref": {change: from(v1alpha1.ImageSource{MachineRef: &v1alpha1.Reference{Name: w.m.GetName()}}), says: source},
		"machineselector": {
			change: from(v1alpha1.ImageSource{MachineSelector: &v1alpha1.Selector{MatchLabels: map[string]string{label: w.name}}}), says: source,
		},
		"content": {change: func(i imageref.Image) {
			i.Parameters().Source.URL, i.Parameters().Content = new("https://images.example.org/x.tar.gz"), new(v1alpha1.ImageContentContainer)
		}, says: "(kinds): an Image with a container template"},
		"template": {
			change: func(i imageref.Image) { i.Parameters().Template = &v1alpha1.ImageTemplate{Name: new("base-linux")} },
			says:   "(kinds): the template of an Image",
		},
		"storages": {change: func(i imageref.Image) { i.Parameters().Storages = []string{"nfs"} }, says: "(storages): an Image on storage nfs"},
		"storageselector": {change: func(i imageref.Image) {
			i.Parameters().Storages, i.Parameters().StorageSelector = nil, &v1alpha1.ImageStorageSelector{Shared: new(true)}
		}, says: "(storages): an Image by storageSelector"},
		"nodes":      {change: func(i imageref.Image) { i.Parameters().Nodes = []string{"pve3"} }, says: "(nodes): no VM on node pve3"},
		"filename":   {change: func(i imageref.Image) { i.Parameters().FileName = new("debian-13") }, says: file + "debian-13, whose name does not begin with"},
		"filetheirs": {change: func(i imageref.Image) { i.Parameters().FileName = new(w.space("b") + ".x") }, says: file + w.space("b") + ".x, whose name"},
		"filelabelled": {
			change: func(i imageref.Image) { i.Parameters().FileName = new("team-a_" + w.config + "_.x") },
			says:   file + "team-a_" + w.config + "_.x, whose name",
		},
		"adopted": {change: func(i imageref.Image) { meta.SetExternalName(i, "secret.qcow2") }, says: file + "secret.qcow2"},
		"adoptedtemplate": {
			change: func(i imageref.Image) {
				meta.SetExternalName(i, fmt.Sprintf("%s.x.qcow2,%d", w.space("a"), victimTemplate))
			}, says: file,
		},
		"recorded": {change: record(`{"revisions":[{"revision":1,"file":"secret.qcow2","complete":true,"files":{"nfs":{"node":"pve1","storage":"nfs",` +
			`"shared":true,"done":true,"size":1}}}]}`), says: file + "secret.qcow2"},
		"recordedtemplate": {change: record(`{"revisions":[{"revision":1,"templates":{"ceph":{"node":"pve1","storage":"ceph","shared":true,"done":true,`+
			`"vmid":%d,"uuid":%q}}}]}`, victimTemplate, victimUUID), says: "(kinds): the template of an Image"},
	}
}

// tryImages makes team-a try to get Images that are not for it.
func (w *tenantWorld) tryImages() {
	w.Helper()
	n, made, attempts := len(w.writes()), map[string]imageref.Image{}, w.imageAttempts()
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		i := w.imageOf("a", name)
		attempts[name].change(i)
		w.make(i)
		made[name] = i
	}
	for name, i := range made {
		w.refused(i, attempts[name].says)
		w.remove(i)
	}
	w.wroteNothing(n)
}

// triesImages checks that the API server refuses Images that team-a may not have, except for what the spec and the external name do not show, and
// accepts others.
func (w *tenantWorld) triesImages(try func(string, client.Object) error) {
	w.Helper()
	w.m = w.of("a", "own", linux())
	late := []string{"adoptedtemplate", "recorded", "recordedtemplate"}
	for name, a := range w.imageAttempts() {
		i := w.imageOf("a", name)
		a.change(i)
		err := try("image-"+name, i)
		if refused := refusedAtAdmission(err); refused == slices.Contains(late, name) || err != nil && !refused {
			w.Errorf("Image %s: want refused %t, got %v", name, !slices.Contains(late, name), err)
		}
	}
	if err := try("image", w.imageOf("a", "fine")); err != nil {
		w.Errorf("an Image that a tenant may have is refused: %v", err)
	}
	fine := w.of("a", "fine", linux())
	fine.Parameters().Template = nil
	fine.Parameters().CDROMs = []v1alpha1.MachineCDROM{{Name: "x", ISO: new("ceph:iso/" + w.space("a") + ".x.iso")}}
	if err := try("ownfile", fine); err != nil {
		w.Errorf("a file of the namespace is refused: %v", err)
	}
}

// files returns the files for imports on the storage nfs.
func (w *tenantWorld) files() []string {
	var all []string
	w.pve.Edit(func(s *simulator.State) {
		for key, v := range s.Volumes {
			if key.Storage == "nfs" && v.Content == "import" {
				all = append(all, strings.TrimPrefix(key.Name, "import/"))
			}
		}
	})
	slices.Sort(all)
	return all
}

// newMirrorWorld returns a world whose team-a may have Images of a mirror, on the storage nfs.
func newMirrorWorld(t *testing.T, p pairing, name string, changes ...func(all []v1alpha1.ProviderTenant)) (*tenantWorld, *mirror) {
	t.Helper()
	m := newMirror(t)
	options := func(mgr ctrl.Manager) kind.Options {
		o := kindOptions(mgr)
		o.Checksums = checksum.Fetcher{AllowLocal: true}
		return o
	}
	return newTenantWorldIn(t, p, name+p.version[:1], v1alpha1.TenantRefuse, options, func(w *tenantWorld) {
		w.rules = func() []v1alpha1.ProviderTenant {
			all := w.tenants()
			for i := range all {
				all[i].Storages = append(all[i].Storages, "nfs")
			}
			all[0].ImageHosts = []string{strings.TrimPrefix(m.URL, "http://")}
			for _, change := range changes {
				change(all)
			}
			return all
		}
	}), m
}

// ofURL returns a Machine whose disk is filled from the image of a mirror with a list of checksums.
func ofURL(from *mirror) v1alpha1.MachineParameters {
	return onRoot(&v1alpha1.MachineImage{
		URL: new(from.URL + "/debian-13.qcow2"), ChecksumURL: new(from.URL + "/SHA256SUMS"), Storages: []string{"nfs"},
	})
}

// onRoot returns a Machine whose disk is filled from an image.
func onRoot(image *v1alpha1.MachineImage) v1alpha1.MachineParameters {
	return v1alpha1.MachineParameters{
		Image:    image,
		Disks:    []v1alpha1.MachineDisk{{Name: "root", Storage: new("ceph"), Size: new("2G")}},
		Networks: []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr1"), VLAN: new(int32(100))}},
	}
}

// usedBy returns the Image from which the VM of a Machine was created.
func (w *tenantWorld) usedBy(m machine.Machine) imageref.Image {
	w.Helper()
	var i imageref.Image = &cluster.Image{}
	if w.namespaced {
		i = &namespaced.Image{}
	}
	if err := w.kube.Get(w.Context(), client.ObjectKey{Namespace: m.GetNamespace(), Name: m.Observation().Image.Name}, i); err != nil {
		w.Fatal(err)
	}
	return i
}

// TestTenantsImages makes a team create a VM from the image of a host that it may name, and remove what it has created, and nothing else.
func TestTenantsImages(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w, mirror := newMirrorWorld(t, p, "ownimages")
		w.m = w.of("a", "own", ofURL(mirror))
		w.make(w.m)
		w.ready()
		all := w.files()
		if len(all) != 1 || !strings.HasPrefix(all[0], w.space("a")+".debian-13-") {
			t.Fatalf("want one file that is named after the namespace, got %q", all)
		}
		theirs := w.of("b", "theirs", onRoot(&v1alpha1.MachineImage{Volume: "nfs:import/" + all[0]}))
		w.make(theirs)
		w.refused(theirs, "(images): image.volume")
		image := w.usedBy(w.m)
		if image.GetAnnotations()[tenancy.AnnotationImageSignature] == "" {
			t.Error("the record of the Image is not signed")
		}
		for _, r := range image.Observation().Replicas {
			if r.Node == "pve3" {
				t.Errorf("a node that is not the team's has fetched the file: %+v", r)
			}
		}
		w.forgesImage(all[0])
		w.claimsFile(*image.Parameters().Source.URL, image.GetAnnotations()[tenancy.AnnotationImageSignature])
		w.delete()
		w.gone()
		w.remove(image)
		w.eventually("the file is removed", func() bool { return !slices.Contains(w.files(), all[0]) })
	})
}

// claimsFile makes team-a create an Image that it may have, and write into its record, with the signature of another, that a file of someone else
// belongs to it. The Image creates a separate file, and removes only that.
func (w *tenantWorld) claimsFile(url, signature string) {
	w.Helper()
	planted, made := w.space("a")+".planted.qcow2", time.Unix(1_700_000_000, 0)
	w.pve.Edit(func(s *simulator.State) {
		s.Volumes[s.Storages["nfs"].Key("pve1", "import/"+planted)] = &simulator.Volume{Format: "qcow2", Content: "import", Size: 4096, Used: 4096, Created: made}
	})
	claims := w.imageOf("a", "claims")
	claims.Parameters().Source.URL, claims.Parameters().Storages = &url, []string{"nfs"}
	meta.AddAnnotations(claims, map[string]string{tenancy.AnnotationImageSignature: signature, tenancy.AnnotationImage: fmt.Sprintf(
		`{"revisions":[{"revision":1,"file":%q,"complete":true,"files":{"nfs":{"node":"pve1","storage":"nfs","shared":true,"done":true,`+
			`"size":4096,"changed":%d}}}]}`, planted, made.Unix(),
	)})
	w.make(claims)
	w.well(claims)
	own := w.space("a") + "." + claims.GetName() + ".qcow2"
	if got := w.files(); claims.Observation().File != own || !slices.Contains(got, own) || !slices.Contains(got, planted) {
		w.Errorf("want a file of its own, got %q of %q", claims.Observation().File, got)
	}
	w.remove(claims)
	w.eventually("its file is removed", func() bool { return !slices.Contains(w.files(), own) })
	if !slices.Contains(w.files(), planted) {
		w.Errorf("what somebody has put there is gone: %q", w.files())
	}
}

// forgesImage makes team-a forge the record of an Image, so that an existing file seems to belong to it, and delete it. The file of another Image of
// the same namespace must stay.
func (w *tenantWorld) forgesImage(file string) {
	w.Helper()
	n := len(w.writes())
	forged := w.imageOf("a", "forged")
	forged.Parameters().Source.URL = new("http://127.0.0.1:1/x.qcow2")
	meta.AddAnnotations(forged, map[string]string{tenancy.AnnotationImage: fmt.Sprintf(
		`{"revisions":[{"revision":1,"file":%q,"complete":true,"files":{"nfs":{"node":"pve1","storage":"nfs","shared":true,"task":%q}}}]}`,
		file, "UPID:pve1:00000001:00000001:65000000:download:"+file+":crossplane@pve!demo:",
	)})
	meta.AddFinalizer(forged, managed.FinalizerName)
	w.make(forged)
	w.refused(forged, "(imageHosts): source.url")
	w.remove(forged)
	w.eventually("it is told that the file stays", func() bool { return len(w.toldOf(forged.GetName(), "LeftBehind")) > 0 })
	w.wroteNothing(n)
	if !slices.Contains(w.files(), file) {
		w.Errorf("the file of another Image is gone: %q", w.files())
	}
}

// TestTenantsLostImages checks that a namespace that has lost its tenant removes its files, and creates no others.
func TestTenantsLostImages(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w, mirror := newMirrorWorld(t, p, "lostimages")
		image := w.imageOf("a", "own")
		image.Parameters().Source.URL, image.Parameters().Storages = new(mirror.URL+"/debian-13.qcow2"), []string{"nfs"}
		w.make(image)
		w.well(image)
		w.rule(func(all []v1alpha1.ProviderTenant) { all[0].Namespaces = []string{w.space("elsewhere")} })
		w.refused(image, "belongs to no tenant")
		w.remove(image)
		w.eventually("the file is removed", func() bool { return len(w.files()) == 0 })
	})
}

// rule changes the tenants of the configuration.
func (w *tenantWorld) rule(change func(all []v1alpha1.ProviderTenant)) {
	w.Helper()
	site, is := w.scope.config(w.meta(), v1alpha1.ProviderConfigSpec{}).(setting)
	if !is {
		w.Fatal("it is no configuration")
	}
	w.eventually("the tenants are changed", func() bool {
		if err := w.kube.Get(w.Context(), client.ObjectKey{Name: w.config}, site); err != nil {
			w.Fatal(err)
		}
		change(site.Settings().Tenants)
		return w.kube.Update(w.Context(), site) == nil
	})
}

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

package image

import (
	"slices"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// passes reconciles for a while, without an error.
func (l *lab) passes(m *namespaced.Image) {
	l.t.Helper()
	for range 12 {
		if _, err := l.reconcile(m); err != nil {
			l.t.Fatal(err)
		}
		l.clock.Pass(2 * time.Second)
	}
}

// leave removes a node from the cluster, with all that is there.
func leave(s *simulator.State, node string) {
	delete(s.Nodes, node)
	for id, g := range s.Guests {
		if g.Node == node {
			delete(s.Guests, id)
		}
	}
	for key := range s.Volumes {
		if key.Node == node {
			delete(s.Volumes, key)
		}
	}
}

// on returns the files of an Image on a shared storage, which has other ISO images too.
func (l *lab) on(storage string, m *namespaced.Image) []string {
	var all []string
	l.pve.Edit(func(s *simulator.State) {
		for key := range s.Volumes {
			if key.Storage == storage && strings.HasPrefix(key.Name, "import/") && strings.HasSuffix(key.Name, m.Status.AtProvider.File) {
				all = append(all, key.Name)
			}
		}
	})
	return all
}

// downloading reconciles an Image until pve2 downloads it to nfs and to local, and takes that node down meanwhile.
func (l *lab) downloading() *namespaced.Image {
	l.t.Helper()
	m := l.image(func(p *v1alpha1.ImageParameters) {
		p.Storages, p.Nodes = []string{"nfs", "local"}, []string{"pve2", "pve3"}
	})
	for range 2 {
		if _, err := l.reconcile(m); err != nil {
			l.t.Fatal(err)
		}
	}
	if got := m.GetAnnotations()[AnnotationRecord]; strings.Count(got, "UPID:pve2") != 2 {
		l.t.Fatalf("want pve2 to download two files, got %s", got)
	}
	l.pve.Edit(func(s *simulator.State) {
		s.Nodes["pve2"].Offline = true
		for key := range s.Volumes {
			if strings.HasSuffix(key.Name, m.Status.AtProvider.File) && key.Node != "pve3" {
				delete(s.Volumes, key)
			}
		}
	})
	return m
}

// TestNodeDies fails a node while it downloads, also to a storage that other nodes have, and checks that the downloads of others complete. Once the
// node has left the cluster, another one does its work.
func TestNodeDies(t *testing.T) {
	cases := map[string]struct {
		reason string
		leaves bool
		then   func(l *lab, m *namespaced.Image)
	}{
		"Returns": {
			reason: "All is there once the node is back.",
			then: func(l *lab, m *namespaced.Image) {
				l.pve.Edit(func(s *simulator.State) { s.Nodes["pve2"].Offline = false })
				l.settle(m)
			},
		},
		"Leaves":          {reason: "Another node downloads the file.", leaves: true, then: (*lab).settle},
		"LeavesAndDelete": {reason: "An Image is deleted once the node of its download has left.", leaves: true, then: func(*lab, *namespaced.Image) {}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{})
			m := l.downloading()
			l.passes(m)
			if files := l.filesOf("pve3"); len(files) != 1 {
				t.Errorf("the file of pve3 comes, got %v", files)
			}
			for _, c := range []xpv2.ConditionType{xpv2.TypeReady, TypeReplicated} {
				if got := m.GetCondition(c); got.Status != "False" || !strings.Contains(got.Message, "pve2") || !strings.Contains(got.Message, "storage nfs") {
					t.Errorf("want what is waited for, got %+v", got)
				}
			}
			if got := m.GetCondition(xpv2.TypeReady).Reason; got != reasonNodeOffline {
				t.Errorf("want the reason %s, got %s", reasonNodeOffline, got)
			}
			if tc.leaves {
				l.pve.Edit(func(s *simulator.State) { leave(s, "pve2") })
			}
			if tc.then(l, m); name != "LeavesAndDelete" && len(l.on("nfs", m)) != 1 {
				t.Errorf("%s Want the file on nfs, got %v", tc.reason, l.on("nfs", m))
			}
			l.delete(m)
			if files := append(l.on("nfs", m), l.files("import")...); len(files) > 0 {
				t.Errorf("%s Left: %v", tc.reason, files)
			}
		})
	}
}

// filesOf returns the images on the local storage of a node.
func (l *lab) filesOf(node string) []string {
	l.t.Helper()
	volumes, err := l.client.Volumes(l.t.Context(), node, "local", "import")
	if err != nil {
		l.t.Fatal(err)
	}
	var all []string
	for _, v := range volumes {
		if !strings.Contains(v.ID, "genericcloud") {
			all = append(all, v.ID)
		}
	}
	return all
}

// TestRemovalDies removes a node from the cluster while it removes a file from a storage that others have.
func TestRemovalDies(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(func(p *v1alpha1.ImageParameters) { p.Storages, p.Nodes = []string{"nfs"}, []string{"pve2"} })
	l.settle(m)
	m.Finalizers = []string{"test/keep"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.kube.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.pve.Inject(simulator.Fault{Task: "imgdel", TaskExit: "killed", Count: 1})
	for range 5 {
		if strings.Contains(m.GetAnnotations()[AnnotationRecord], `"removal":"UPID:pve2`) {
			break
		}
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.GetAnnotations()[AnnotationRecord]; !strings.Contains(got, `"removal":"UPID:pve2`) {
		t.Fatalf("want the file removed by pve2, got %s", got)
	}
	l.pve.Edit(func(s *simulator.State) { s.Nodes["pve2"].Offline = true })
	l.passes(m)
	l.pve.Edit(func(s *simulator.State) { leave(s, "pve2") })
	l.settle(m)
	if files := l.on("nfs", m); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
}

// TestStorageDown takes a storage down, and checks that items elsewhere are created and removed, and the conditions name the storage.
func TestStorageDown(t *testing.T) {
	l := newLab(t, simulator.Options{})
	down := func() {
		l.pve.Inject(simulator.Fault{Method: "GET", Path: "/nodes/*/storage/nfs/content", Status: 500, Message: "storage 'nfs' is not online"})
	}
	says := func(m *namespaced.Image) {
		t.Helper()
		for _, c := range []xpv2.ConditionType{xpv2.TypeReady, TypeReplicated} {
			if got := m.GetCondition(c); got.Status != "False" || !strings.Contains(got.Message, "storage nfs") {
				t.Errorf("want the storage named, got %+v", got)
			}
		}
		if got := m.GetCondition(xpv2.TypeReady).Reason; got != reasonUnavailable {
			t.Errorf("want the reason %s, got %s", reasonUnavailable, got)
		}
	}
	down()
	m := l.image(func(p *v1alpha1.ImageParameters) { p.Storages = []string{"nfs", "local"} })
	l.passes(m)
	if files := l.files("import"); len(files) != 3 {
		t.Errorf("want the files on local, got %v", files)
	}
	says(m)
	l.pve.ClearFaults()
	l.settle(m)
	if len(l.on("nfs", m)) != 1 || status(m, TypeReplicated) != "True Replicated" {
		t.Errorf("want the file on nfs, got %v, %s", l.on("nfs", m), status(m, TypeReplicated))
	}
	down()
	l.passes(m)
	says(m)
	m.Finalizers = []string{"test/keep"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.kube.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.passes(m)
	if got := m.GetCondition(xpv2.TypeReady); len(l.files("import")) > 0 || len(l.on("nfs", m)) != 1 || !strings.Contains(got.Message, "storage nfs") {
		t.Errorf("want the deletion to wait for nfs alone, got %v, %v, %+v", l.files("import"), l.on("nfs", m), got)
	}
	l.pve.ClearFaults()
	l.settle(m)
	if err := l.kube.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	if files := l.on("nfs", m); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
}

// TestStorageMissing names a storage that does not exist along with one that does.
func TestStorageMissing(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(func(p *v1alpha1.ImageParameters) { p.Storages = []string{"nfs", "local"} })
	l.pve.Edit(func(s *simulator.State) { s.Storages["nfs"].Disabled = true })
	l.passes(m)
	if got := m.GetCondition(xpv2.TypeReady); len(l.files("import")) != 3 || got.Reason != reasonStorageNotFound || !strings.Contains(got.Message, "'nfs'") {
		t.Errorf("want the files on local and what is wrong with nfs, got %v, %+v", l.files("import"), got)
	}
	l.pve.Edit(func(s *simulator.State) { s.Storages["nfs"].Disabled = false })
	l.settle(m)
	if len(l.on("nfs", m)) != 1 {
		t.Error("want the file on nfs once that is enabled")
	}
}

// TestSharedNode checks which node is asked for items on a shared storage.
func TestSharedNode(t *testing.T) {
	cases := map[string]struct {
		reason string
		on     []string
		status map[string]string
		want   string
		down   bool
	}{
		"First":     {reason: "The first node is as good as any.", want: "pve1"},
		"Preferred": {reason: "The nodes of the spec come first.", on: []string{"pve2"}, want: "pve2"},
		"Down":      {reason: "A node that has the storage is asked.", status: map[string]string{"pve1": "unknown"}, want: "pve2"},
		"OnlyOther": {
			reason: "A node that has the storage is better than one that is preferred.",
			on:     []string{"pve1"}, status: map[string]string{"pve1": "unknown"}, want: "pve2",
		},
		"AllDown": {reason: "No node has the storage.", status: map[string]string{"pve1": "unknown", "pve2": "unknown"}, want: "pve1", down: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var nodes []proxmox.Node
			var storages []proxmox.Storage
			for _, n := range []string{"pve1", "pve2"} {
				nodes = append(nodes, proxmox.Node{Name: n, Status: "online"})
				storages = append(storages, proxmox.Storage{Name: "nfs", Node: n, Shared: true, Type: "nfs", Content: []string{"import"}, Status: tc.status[n]})
			}
			p := &v1alpha1.ImageParameters{Storages: []string{"nfs"}, Nodes: tc.on}
			got := filePlaces(p, storages, nodes).places
			if len(got) != 1 || got[0].Node != tc.want || got[0].Down != tc.down || !slices.Equal(got[0].Nodes, []string{"pve1", "pve2"}) {
				t.Errorf("%s Want %s, got %+v", tc.reason, tc.want, got)
			}
		})
	}
}

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
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// old is a cluster as it was read a moment ago. Fresh reads return the present state.
type old struct {
	Inventory

	guests []proxmox.Guest
	files  map[string][]proxmox.Volume // by node
}

func (o old) Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error) {
	if maxAge == inventory.Fresh {
		return o.Inventory.Guests(ctx, maxAge)
	}
	return slices.Clone(o.guests), nil
}

func (o old) Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error) {
	if maxAge == inventory.Fresh || storage != "local" || content != "import" {
		return o.Inventory.Volumes(ctx, node, storage, content, maxAge)
	}
	return o.files[node], nil
}

// remember makes the provider see the cluster from now on as it is now.
func (l *lab) remember() {
	l.t.Helper()
	guests, err := l.external().inventory.Guests(l.t.Context(), inventory.Fresh)
	if err != nil {
		l.t.Fatal(err)
	}
	files := map[string][]proxmox.Volume{}
	for _, node := range l.nodes() {
		if files[node], err = l.client.Volumes(l.t.Context(), node, "local", "import"); err != nil {
			l.t.Fatal(err)
		}
	}
	l.view = func(in Inventory) Inventory { return old{Inventory: in, guests: guests, files: files} }
}

// TestOldList checks lists of the storages that were read before the files existed.
func TestOldList(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image()
	l.remember()
	l.settle(m)
	if o := m.Status.AtProvider; len(o.Replicas) != 3 || !o.Replicas[0].Ready {
		t.Errorf("the files are there, got %+v", o.Replicas)
	}
	if l.mirror.gets != 3 {
		t.Errorf("each node downloads once, got %d downloads", l.mirror.gets)
	}
}

// TestAdoptedFromOldList adopts files that were created after the storages had been listed.
func TestAdoptedFromOldList(t *testing.T) {
	l := newLab(t, simulator.Options{})
	l.remember()
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		put(t, l, node, "mine.qcow2", "first")
	}
	m := l.image()
	m.Annotations = map[string]string{meta.AnnotationKeyExternalName: "mine.qcow2"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.settle(m)
	if o := m.Status.AtProvider; len(o.Replicas) != 3 || status(m, TypeVerified) != "Unknown Adopted" || l.mirror.gets > 0 {
		t.Errorf("want the files adopted, got %+v, %s, %d downloads", o.Replicas, status(m, TypeVerified), l.mirror.gets)
	}
}

// TestMovedTemplate moves a template to another node after the VMs had been listed, and deletes the Image.
func TestMovedTemplate(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(func(p *v1alpha1.ImageParameters) { p.Template = &v1alpha1.ImageTemplate{Storage: new("ceph")} })
	l.settle(m)
	l.remember()
	id := int(*m.Status.AtProvider.Templates[0].VMID)
	l.pve.Edit(func(s *simulator.State) {
		to := "pve2"
		if s.Guests[id].Node == to {
			to = "pve3"
		}
		s.Guests[id].Node = to
	})
	l.delete(m)
	l.pve.Edit(func(s *simulator.State) {
		if s.Guests[id] != nil {
			t.Errorf("the template is left on node %s", s.Guests[id].Node)
		}
	})
}

// alone is a cluster as seen by a node that lists only itself.
type alone struct {
	Inventory

	status proxmox.ClusterStatus
}

func (a alone) Nodes(ctx context.Context) ([]proxmox.Node, error) {
	all, err := a.Inventory.Nodes(ctx)
	return slices.DeleteFunc(slices.Clone(all), func(n proxmox.Node) bool { return n.Name != "pve1" }), err
}

func (a alone) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	return a.status, nil
}

// TestUnlistedNode deletes an Image while the node that is asked lists only itself. Items on other nodes are forgotten if these have left the
// cluster.
func TestUnlistedNode(t *testing.T) {
	members := []proxmox.ClusterNode{{Name: "pve1"}, {Name: "pve2"}, {Name: "pve3"}}
	cases := map[string]struct {
		reason  string
		status  proxmox.ClusterStatus
		forgets bool
	}{
		"NotJoined": {reason: "A node that has not joined its cluster yet knows no others.", status: proxmox.ClusterStatus{Quorate: true, Nodes: members[:1]}},
		"NoQuorum":  {reason: "A node that is cut off knows what was true before.", status: proxmox.ClusterStatus{Name: "lab", Nodes: members[:1]}},
		"Members":   {reason: "A list may lack a node that is a member.", status: proxmox.ClusterStatus{Name: "lab", Quorate: true, Nodes: members}},
		"Removed": {
			reason: "Nobody can remove what was on a node that has left.", status: proxmox.ClusterStatus{Name: "lab", Quorate: true, Nodes: members[:1]}, forgets: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{})
			m := l.image(withTemplate)
			l.settle(m)
			l.view = func(in Inventory) Inventory { return alone{Inventory: in, status: tc.status} }
			m.Finalizers = []string{"test/keep"}
			if err := l.kube.Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if err := l.kube.Delete(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			l.passes(m)
			if noted := strings.Contains(m.GetAnnotations()[AnnotationRecord], "local@pve2"); noted == tc.forgets {
				t.Errorf("%s Got the record %s", tc.reason, m.GetAnnotations()[AnnotationRecord])
			}
			l.view = nil
			l.settle(m)
			if left := len(l.files("import")) + len(l.templates()); left > 0 != tc.forgets {
				t.Errorf("%s Left: %v, %v", tc.reason, l.files("import"), l.templates())
			}
		})
	}
}

// TestDisabledBeside disables one of two storages while a new revision is being created. The revision gets to the other one, and a deletion waits
// only for the first.
func TestDisabledBeside(t *testing.T) {
	l := newLab(t, simulator.Options{})
	l.nfs("off")
	m := l.image(func(p *v1alpha1.ImageParameters) { p.Storages = []string{"off", "local"} })
	l.settle(m)
	disable := func(is bool) { l.pve.Edit(func(s *simulator.State) { s.Storages["off"].Disabled = is }) }
	disable(true)
	l.mirror.publish(qcow2("second"))
	l.change(m, func(p *v1alpha1.ImageParameters) { p.Source.Checksum = new("sha256:" + digestOf(l.mirror.image)) })
	l.passes(m)
	second := func(f string) bool { return strings.Contains(f, digestOf(l.mirror.image)[:12]) }
	if files := l.files("import"); !slices.ContainsFunc(files, second) {
		t.Errorf("want the new revision on local, got %v and %v", files, m.GetCondition(xpv2.TypeReady))
	}
	m.Finalizers = []string{"test/keep"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.kube.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.passes(m)
	if got := m.GetCondition(xpv2.TypeReady); len(l.files("import")) > 0 || !strings.Contains(m.GetAnnotations()[AnnotationRecord], `"off"`) {
		t.Errorf("want the deletion to wait for one storage, got %v, %+v", l.files("import"), got)
	}
	disable(false)
	l.settle(m)
	for _, r := range l.on("off", m) {
		t.Errorf("left: %s", r)
	}
}

// TestVolumeUnseen looks for a file on all nodes, one of which cannot list its storage.
func TestVolumeUnseen(t *testing.T) {
	l := newLab(t, simulator.Options{})
	for _, node := range []string{"pve1", "pve2"} {
		put(t, l, node, "mine.qcow2", "first")
	}
	l.pve.Inject(simulator.Fault{
		Method: http.MethodGet, Path: "/nodes/pve2/storage/local/content", Status: http.StatusInternalServerError, Message: "storage 'local' is not online",
	})
	m := l.image(func(p *v1alpha1.ImageParameters) {
		p.Source, p.Storages = v1alpha1.ImageSource{Volume: new("local:import/mine.qcow2")}, nil
	})
	l.passes(m)
	if got := m.GetCondition(xpv2.TypeReady); got.Status != "False" || !strings.Contains(got.Message, "pve2") {
		t.Errorf("want what cannot be seen, got %+v", got)
	}
	l.pve.ClearFaults()
	l.settle(m)
	if n := len(m.Status.AtProvider.Replicas); n != 2 {
		t.Errorf("want two replicas, got %d", n)
	}
}

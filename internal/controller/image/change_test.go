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
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// change changes the spec of an Image.
func (l *lab) change(m *namespaced.Image, change func(*v1alpha1.ImageParameters)) {
	l.t.Helper()
	change(&m.Spec.ForProvider)
	m.Generation++
	if err := l.kube.Update(l.t.Context(), m); err != nil {
		l.t.Fatal(err)
	}
}

// fails reconciles until the Image is not ready for a reason.
func (l *lab) fails(m *namespaced.Image, reason string) {
	l.t.Helper()
	for range 8 {
		if _, err := l.reconcile(m); err != nil {
			l.t.Fatal(err)
		}
	}
	if got := status(m, xpv2.TypeReady); got != "False "+reason {
		l.t.Fatalf("Ready: want %s, got %s: %s", reason, got, m.GetCondition(xpv2.TypeReady).Message)
	}
}

// TestURLPutRight corrects a wrong URL of an Image. Another URL of the same file needs no revision.
func TestURLPutRight(t *testing.T) {
	l := newLab(t, simulator.Options{})
	right := l.mirror.URL + "/debian.qcow2"
	m := l.image(func(p *v1alpha1.ImageParameters) { p.Source.URL = new(l.mirror.URL + "/old/debian.qcow2") })
	l.fails(m, string(proxmox.DownloadAnswer))
	l.change(m, func(p *v1alpha1.ImageParameters) { p.Source.URL = &right })
	l.settle(m)
	if o := m.Status.AtProvider; o.Revision != 1 || len(l.files("import")) != 3 {
		t.Errorf("want the files from the URL that is right, got %v of revision %d", l.files("import"), o.Revision)
	}
}

// TestFormatPutRight checks an image with a name that PVE refuses, which is declared as qcow2 first and is not.
func TestFormatPutRight(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(func(p *v1alpha1.ImageParameters) {
		p.Source.URL, p.Source.Checksum = new(l.mirror.URL+"/raw.img"), new("sha256:"+digestOf([]byte(rawImage)))
	})
	l.fails(m, string(proxmox.DownloadFormat))
	l.change(m, func(p *v1alpha1.ImageParameters) { p.Source.Format = new("raw") })
	l.settle(m)
	if got := l.files("import"); len(got) != 3 || !strings.HasSuffix(got[0], ".raw") || len(m.Status.AtProvider.Revisions) != 1 {
		t.Errorf("want the file in its own format, and nothing of the other, got %v of %+v", got, m.Status.AtProvider.Revisions)
	}
}

// TestManyFailures makes a download fail for days, and checks that its record stays small, and that a download is found whose answer is then lost.
func TestManyFailures(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(func(p *v1alpha1.ImageParameters) {
		p.Source.URL, p.Nodes = new(l.mirror.URL+"/old/debian.qcow2"), []string{"pve1"}
	})
	for range 60 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
		l.clock.Pass(time.Hour)
	}
	if got := m.GetAnnotations()[AnnotationRecord]; strings.Count(got, "UPID") > mostBefore+1 {
		t.Errorf("the record has the tasks of %d attempts:\n%s", strings.Count(got, "UPID"), got)
	}
	l.pve.Inject(simulator.Fault{Method: "POST", Path: "/nodes/*/storage/*/download-url", Count: 1, CutAfter: true})
	l.change(m, func(p *v1alpha1.ImageParameters) { p.Source.URL = new(l.mirror.URL + "/debian.qcow2") })
	for range 20 {
		_, _ = l.reconcile(m) // The lost answer is an error.
		l.clock.Pass(2 * time.Second)
	}
	l.settle(m)
	if l.mirror.gets != 1 || len(l.files("import")) != 1 {
		t.Errorf("want one download, got %d and %v", l.mirror.gets, l.files("import"))
	}
}

// TestOlderAgain requires a checksum again that an older revision had, whose files were kept.
func TestOlderAgain(t *testing.T) {
	l := newLab(t, simulator.Options{})
	first := l.mirror.image
	m := l.image(withTemplate)
	l.settle(m)
	for _, image := range [][]byte{qcow2("second"), first} {
		l.mirror.publish(image)
		l.change(m, func(p *v1alpha1.ImageParameters) { p.Source.Checksum = new("sha256:" + digestOf(image)) })
		l.settle(m)
	}
	o := m.Status.AtProvider
	if o.Revision != 3 || !strings.Contains(o.File, digestOf(first)[:12]) || len(o.Templates) != 3 || l.mirror.gets != 6 {
		t.Errorf("want revision 3 of the files that were kept, got %d with %s and %d templates, by %d downloads", o.Revision, o.File, len(o.Templates), l.mirror.gets)
	}
	if files, vms := l.files("import"), l.templates(); len(files) != 6 || len(vms) == 0 {
		t.Errorf("want the files of both, got %v and %v", files, vms)
	}
	l.delete(m)
	if files, vms := l.files("import"), l.templates(); len(files)+len(vms) > 0 {
		t.Errorf("all of it goes with the Image: %v and %v are left", files, vms)
	}
}

func TestBefore(t *testing.T) {
	task := func(second int) proxmox.Task {
		return proxmox.Task{UPID: proxmox.UPID(fmt.Sprintf("UPID:pve1:00000401:00002710:%08X:download:a.iso:root@pam:", 1_700_000_000+second))}
	}
	f, before := &file{}, []proxmox.Task{}
	for n := range 3 * mostBefore {
		before = append(before, task(n))
	}
	f.noteBefore(slices.Clone(before))
	for n, x := range before {
		if !f.wasBefore(x) {
			t.Errorf("task %d was there before", n)
		}
	}
	if f.wasBefore(task(len(before))) {
		t.Error("a later one was not")
	}
}

// TestNodeGone removes a node from the cluster permanently, and with it what was there.
func TestNodeGone(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(withTemplate)
	l.settle(m)
	l.pve.Edit(func(s *simulator.State) {
		delete(s.Nodes, "pve3")
		for id, g := range s.Guests {
			if g.Node == "pve3" {
				delete(s.Guests, id)
			}
		}
		for key := range s.Volumes {
			if key.Node == "pve3" {
				delete(s.Volumes, key)
			}
		}
	})
	l.settle(m)
	l.delete(m)
	if files := l.files("import"); len(files) > 0 {
		t.Errorf("the others go: %v are left", files)
	}
}

// TestStorageGone removes the definition of a storage, and checks that items there are forgotten, and do not hold up a deletion, or items elsewhere.
func TestStorageGone(t *testing.T) {
	cases := map[string]struct {
		reason string
		image  func(p *v1alpha1.ImageParameters)
		then   func(t *testing.T, l *lab, m *namespaced.Image)
	}{
		"Deleted": {
			reason: "The deletion ends, and its template is left.",
			image:  func(p *v1alpha1.ImageParameters) { p.Template = &v1alpha1.ImageTemplate{Storage: new("old")} },
			then:   func(_ *testing.T, l *lab, m *namespaced.Image) { l.delete(m) },
		},
		"Inserted": {
			reason: "A VM that has the image in a drive holds nothing up.",
			image: func(p *v1alpha1.ImageParameters) {
				p.Content, p.Source.URL = new(v1alpha1.ImageContentISO), new(strings.Replace(*p.Source.URL, "qcow2", "iso", 1))
			},
			then: func(t *testing.T, l *lab, m *namespaced.Image) {
				t.Helper()
				l.pve.Edit(func(s *simulator.State) {
					s.Guests[9001].Config["ide2"] = m.Status.AtProvider.Replicas[0].Volume + ",media=cdrom"
				})
				l.delete(m)
			},
		},
		"Moved": {
			reason: "The files are made on another storage, and those that are lost are forgotten.",
			image:  func(*v1alpha1.ImageParameters) {},
			then: func(t *testing.T, l *lab, m *namespaced.Image) {
				t.Helper()
				l.change(m, func(p *v1alpha1.ImageParameters) { p.Storages = []string{"local"} })
				l.settle(m)
				for range 4 {
					if _, err := l.reconcile(m); err != nil {
						t.Fatal(err)
					}
				}
				if record := m.GetAnnotations()[AnnotationRecord]; len(l.files("import")) != 3 || strings.Contains(record, `"old"`) {
					t.Errorf("want the files on local, and nothing noted of the other storage, got %v and %s", l.files("import"), record)
				}
				l.delete(m)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{})
			l.nfs("old")
			m := l.image(tc.image, func(p *v1alpha1.ImageParameters) { p.Storages = []string{"old"} })
			l.settle(m)
			l.pve.Edit(func(s *simulator.State) {
				delete(s.Storages, "old")
				for key := range s.Volumes {
					if key.Storage == "old" {
						delete(s.Volumes, key)
					}
				}
			})
			tc.then(t, l, m)
			if err := l.kube.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
				t.Fatal(err)
			}
			if e, err := l.external().Observe(t.Context(), m); err != nil || e.ResourceExists {
				t.Errorf("%s Want nothing left, got %+v, %v", tc.reason, e, err)
			}
		})
	}
}

// nfs adds a storage for the Images of a lab.
func (l *lab) nfs(name string) {
	l.pve.Edit(func(s *simulator.State) {
		s.Storages[name] = &state.Storage{
			ID: name, Type: "nfs", Content: []string{"import", "images", "iso"}, Shared: true, Total: 1 << 40, Options: map[string]string{},
		}
	})
}

// TestStorageDisabled disables a storage, which Proxmox VE then lists nowhere, and checks that items there are not forgotten.
func TestStorageDisabled(t *testing.T) {
	l := newLab(t, simulator.Options{})
	l.nfs("off")
	m := l.image(func(p *v1alpha1.ImageParameters) {
		p.Storages, p.Template = []string{"off"}, &v1alpha1.ImageTemplate{Storage: new("off")}
	})
	l.settle(m)
	disable := func(is bool) { l.pve.Edit(func(s *simulator.State) { s.Storages["off"].Disabled = is }) }
	there := func() (found []string) {
		l.pve.Edit(func(s *simulator.State) {
			for key := range s.Volumes {
				if key.Storage == "off" {
					found = append(found, key.Name)
				}
			}
		})
		return found
	}
	disable(true)
	m.Finalizers = []string{"test/keep"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.kube.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	before := there()
	for range 4 {
		more, err := l.reconcile(m)
		if got := m.GetCondition(xpv2.TypeReady); !more || err != nil || got.Status != "False" || !strings.Contains(got.Message, "storage 'off' is disabled") {
			t.Fatalf("want the deletion to wait for the storage, got %t, %v, %+v", more, err, got)
		}
	}
	if got := there(); len(before) == 0 || len(got) != len(before) || !strings.Contains(m.GetAnnotations()[AnnotationRecord], `"off"`) {
		t.Errorf("want what is there to stay, and to be noted: %v, %v, %s", before, got, m.GetAnnotations()[AnnotationRecord])
	}
	disable(false)
	l.settle(m)
	if got := there(); len(got) > 0 {
		t.Errorf("want nothing left once it is enabled again, got %v", got)
	}
}

// A flicker calls back once a storage was read.
type flicker struct {
	Client

	storage string
	once    sync.Once
	then    func()
}

func (f *flicker) Volumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error) {
	v, err := f.Client.Volumes(ctx, node, storage, content)
	if storage == f.storage {
		f.once.Do(f.then)
	}
	return v, err
}

// TestStorageBack defines a storage again after it was found to be undefined. The users of items there were not looked for, so the items stay.
func TestStorageBack(t *testing.T) {
	l := newLab(t, simulator.Options{})
	l.nfs("old")
	m := l.image(func(p *v1alpha1.ImageParameters) {
		p.Content, p.Source.URL, p.Storages = new(v1alpha1.ImageContentISO), new(l.mirror.URL+"/debian.iso"), []string{"old"}
	})
	l.settle(m)
	volume := m.Status.AtProvider.Replicas[0].Volume
	l.ended(t)(l.client.Create(t.Context(), proxmox.Ref{Node: "pve2", VMID: 600}, proxmox.Params{"ide2": volume + ",media=cdrom", "name": "other"}))
	var old *state.Storage
	l.pve.Edit(func(s *simulator.State) {
		old = s.Storages["old"]
		delete(s.Storages, "old")
	})
	l.fuse = &fuse{left: -1, Client: &flicker{Client: l.client, storage: "old", then: func() {
		l.pve.Edit(func(s *simulator.State) { s.Storages["old"] = old })
	}}}
	l.delete(m)
	l.pve.Edit(func(s *simulator.State) {
		if s.Volume("pve1", volume) == nil {
			t.Error("want the file to stay that a VM has in a drive")
		}
	})
}

// TestNodeAway deletes an Image while a node is offline, and checks that it reports what it waits for.
func TestNodeAway(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image()
	l.settle(m)
	l.pve.Edit(func(s *simulator.State) { s.Nodes["pve3"].Offline = true })
	m.Finalizers = []string{"test/keep"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.kube.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.GetCondition(xpv2.TypeReady); !strings.Contains(got.Message, "node pve3") || strings.Contains(got.Message, "pve1") {
		t.Errorf("want what the deletion waits for, got %+v", got)
	}
	l.pve.Edit(func(s *simulator.State) { s.Nodes["pve3"].Offline = false })
	l.settle(m)
	if files := l.files("import"); len(files) > 0 {
		t.Errorf("then it goes: %v are left", files)
	}
}

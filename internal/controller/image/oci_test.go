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
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// newRegistry serves the image library/debian with the tag trixie, and returns its address.
func newRegistry(t *testing.T) string {
	t.Helper()
	layer, config := []byte("a layer"), []byte(`{"architecture":"amd64","os":"linux"}`)
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"config":        map[string]any{"digest": "sha256:" + digestOf(config), "size": len(config)},
		"layers":        []map[string]any{{"digest": "sha256:" + digestOf(layer), "size": len(layer)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	index := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"digest":"sha256:%s","platform":{"architecture":"amd64","os":"linux"}}]}`, digestOf(manifest))
	const repository = "/v2/library/debian/"
	all := map[string][]byte{
		repository + "manifests/trixie":                       []byte(index),
		repository + "manifests/sha256:" + digestOf(manifest): manifest,
		repository + "blobs/sha256:" + digestOf(layer):        layer,
		repository + "blobs/sha256:" + digestOf(config):       config,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, found := all[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		}
		if strings.HasSuffix(r.URL.Path, "/trixie") {
			w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// oci returns an Image of the registry.
func (l *lab) oci(reference string, change ...func(*v1alpha1.ImageParameters)) *namespaced.Image {
	l.t.Helper()
	return l.image(append([]func(*v1alpha1.ImageParameters){func(p *v1alpha1.ImageParameters) {
		p.Source, p.Content = v1alpha1.ImageSource{OCI: &reference}, new(v1alpha1.ImageContentContainer)
	}}, change...)...)
}

// pulled returns the files that each node is to have.
func pulled() []string {
	return []string{"pve1 local:vztmpl/team.debian.tar", "pve2 local:vztmpl/team.debian.tar", "pve3 local:vztmpl/team.debian.tar"}
}

func TestOCI(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.oci(newRegistry(t) + "/library/debian:trixie")
	l.settle(m)
	if diff := cmp.Diff(pulled(), l.files("vztmpl")); diff != "" {
		t.Errorf("files: -want, +got:\n%s", diff)
	}
	if got := status(m, TypeVerified); got != "Unknown NoChecksum" {
		t.Errorf("Verified: got %s", got)
	}
	o := m.Status.AtProvider
	if o.Revision != 1 || o.File != "team.debian.tar" || o.Digest != "" || o.Size == nil || *o.Size == 0 || *o.Progress != 100 || len(o.Replicas) != 3 {
		t.Errorf("the status is %+v", o)
	}
	before := len(l.pve.Tasks())
	l.clock.Pass(24 * time.Hour)
	l.settle(m)
	if after := len(l.pve.Tasks()); after != before {
		t.Errorf("what is there is pulled once, got %d more tasks", after-before)
	}
	l.delete(m)
	if got := l.files("vztmpl"); len(got) > 0 {
		t.Errorf("%v are left", got)
	}
}

// TestOCIKilled kills the provider at each of its writes, and checks that there is exactly one file on each node in the end, and none after the
// deletion.
func TestOCIKilled(t *testing.T) {
	registry := newRegistry(t)
	for k := 1; ; k++ {
		l := newLab(t, simulator.Options{})
		m := l.oci(registry + "/library/debian:trixie")
		l.fuse.left = k
		l.settle(m)
		if diff := cmp.Diff(pulled(), l.files("vztmpl")); diff != "" {
			t.Errorf("killed at call %d: files: -want, +got:\n%s", k, diff)
		}
		pulls := 0
		for _, task := range l.pve.Tasks() {
			if task.Type == "ociregistrypull" {
				pulls++
			}
		}
		if pulls != 3 {
			t.Errorf("killed at call %d: %d pulls, want three", k, pulls)
		}
		made := l.killed
		l.killed, l.fuse.left, l.fuse.burnt = false, k, false
		l.delete(m)
		if files := l.files("vztmpl"); len(files) > 0 {
			t.Errorf("killed at call %d of the deletion: %v are left", k, files)
		}
		if !made && !l.killed {
			return
		}
	}
}

func TestOCILostAnswer(t *testing.T) {
	l := newLab(t, simulator.Options{})
	l.pve.Inject(simulator.Fault{Method: "POST", Path: "/nodes/*/storage/*/oci-registry-pull", Count: 2, CutAfter: true})
	m := l.oci(newRegistry(t) + "/library/debian:trixie")
	for range 20 {
		_, _ = l.reconcile(m) // The lost answers are errors.
		l.clock.Pass(2 * time.Second)
	}
	l.settle(m)
	if diff := cmp.Diff(pulled(), l.files("vztmpl")); diff != "" || len(l.pve.Tasks()) != 3 {
		t.Errorf("want one pull on each node, got %d; files: -want, +got:\n%s", len(l.pve.Tasks()), diff)
	}
}

func TestOCIProblems(t *testing.T) {
	registry := newRegistry(t)
	cases := map[string]struct {
		reason    string
		version   string
		reference string
		change    func(*v1alpha1.ImageParameters)
		status    string
		message   string
		starts    bool
	}{
		"Version": {
			reason: "What the version cannot do is told before anything is done, with what to do instead.", version: "8.4",
			reference: registry + "/library/debian:trixie", status: "False NotSupported",
			message: "source.oci needs Proxmox VE 9.1 or later, and this is 8.4",
		},
		"NoTag": {
			reason: "What the registry answers is told.", reference: registry + "/library/debian:potato", status: "False ServerError", starts: true,
			message: "the registry answered: manifest unknown; check source.oci",
		},
		"Unreachable": {
			reason: "A registry that cannot be reached is named.", reference: "127.0.0.1:1/library/debian:trixie", status: "False ServerUnreachable", starts: true,
			message: "the node cannot reach the registry: dial tcp 127.0.0.1:1",
		},
		"Content": {
			reason: "The storage has to hold container templates.", reference: registry + "/library/debian:trixie", status: "False NotSupported",
			change: func(p *v1alpha1.ImageParameters) { p.Storages = []string{"local-lvm"} }, message: "does not hold content vztmpl",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{Version: tc.version})
			m := l.oci(tc.reference, func(p *v1alpha1.ImageParameters) {
				if tc.change != nil {
					tc.change(p)
				}
			})
			for range 6 {
				_, _ = l.reconcile(m)
				l.clock.Pass(time.Second)
			}
			if got := status(m, xpv2.TypeReady); got != tc.status || !strings.Contains(m.GetCondition(xpv2.TypeReady).Message, tc.message) {
				t.Errorf("%s: want %s with %q, got %+v", tc.reason, tc.status, tc.message, m.GetCondition(xpv2.TypeReady))
			}
			if started := len(l.pve.Tasks()) > 0; started != tc.starts || len(l.files("vztmpl")) > 0 {
				t.Errorf("%s: tasks %v, files %v", tc.reason, l.pve.Tasks(), l.files("vztmpl"))
			}
		})
	}
}

func TestOCIAdoption(t *testing.T) {
	l := newLab(t, simulator.Options{})
	first := l.oci(newRegistry(t) + "/library/debian:trixie")
	l.settle(first)
	if err := l.kube.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	again := func(name string) *namespaced.Image {
		m := l.oci("registry.example.com/library/debian:trixie")
		m.Annotations = map[string]string{meta.AnnotationKeyExternalName: name}
		if err := l.kube.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := again("team.debian.tar.zst")
	if _, err := l.reconcile(m); err == nil || !strings.Contains(err.Error(), "must be the name of a file of content vztmpl") {
		t.Errorf("a file of another kind is none of ours: got %v", err)
	}
	if err := l.kube.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.pve.ClearRequests()
	m = again("team.debian.tar")
	l.settle(m)
	for _, r := range l.pve.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("adoption writes nothing, got %s %s", r.Method, r.Path)
		}
	}
	if o := m.Status.AtProvider; o.File != "team.debian.tar" || len(o.Replicas) != 3 {
		t.Errorf("the status is %+v", o)
	}
}

// TestOCIDenied checks each missing privilege of a pull. Sys.Modify does not replace Sys.AccessNetwork.
func TestOCIDenied(t *testing.T) {
	l := newLab(t, simulator.Options{})
	l.pve.Edit(func(s *simulator.State) {
		s.Roles["Downloader"] = &simulator.Role{Privileges: map[string]bool{}}
		s.Roles["NetworkReader"] = &simulator.Role{Privileges: map[string]bool{}}
		s.Roles["Cluster"] = &simulator.Role{Privileges: map[string]bool{"Sys.Audit": true, "Sys.Modify": true}}
		s.ACL = append(s.ACL, simulator.Grant{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "Cluster", Propagate: true})
	})
	m := l.oci(newRegistry(t) + "/library/debian:trixie")
	var last error
	for range 4 {
		if _, err := l.reconcile(m); err != nil {
			last = err
		}
	}
	if last == nil || !strings.Contains(last.Error(), "Sys.AccessNetwork") {
		t.Errorf("want the privilege named, got %v", last)
	}
	for _, r := range l.pve.Requests() {
		if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/oci-registry-pull") {
			t.Errorf("nothing may be begun, got %s", r.Path)
		}
	}
}

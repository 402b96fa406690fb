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

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/flux"
	"github.com/vitistack/provider-proxmox/cluster/local/kube"
	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

const (
	// healthPolls is the time in which kustomize-controller checks the health of its objects twice.
	healthPolls = 10 * time.Second

	// paused makes the provider ignore a Machine.
	paused = "crossplane.io/paused"
)

// The condition Ready of a Kustomization: its status and its reason.
const (
	applied   = "True ReconciliationSucceeded"
	unhealthy = "False HealthCheckFailed"

	// checking stands for Unknown while the Kustomization waits until all that it has applied is healthy.
	checking = "Unknown, and its health is checked"
)

// testFlux lets Flux's kustomize-controller apply Machines from a repository, with the Kustomization of the example.
func (s *suite) testFlux(t *testing.T) {
	if err := flux.Start(s.ctx, s.Environment); err != nil {
		t.Fatal(err)
	}
	before := s.holdings(t)
	objs, err := kube.ReadFile(examples("gitops/flux/kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kustomization := objs[0]
	source := s.newFluxSource(t, kustomization)
	stays := newMachine("flux-stays", map[string]any{"template": "ubuntu-24.04", "disks": []any{map[string]any{"name": "root", "size": "20G"}}})
	goes := newMachine("flux-goes", map[string]any{"template": "ubuntu-24.04"})

	s.fluxCreates(t, source, stays, goes)
	s.fluxWaitsForRestart(t, source, stays, goes)
	s.fluxFails(t, source, stays, goes)
	s.fluxPrunes(t, source, stays, goes)
	s.holdings(t).sameAs(t, before)
}

// fluxCreates checks that the Kustomization is ready once all Machines are, and not before.
func (s *suite) fluxCreates(t *testing.T, source *fluxSource, stays, goes *unstructured.Unstructured) {
	t.Helper()
	waits := stays.DeepCopy()
	waits.SetAnnotations(map[string]string{paused: "true"})
	source.commit(t, waits, goes)
	s.takes(t, source.kustomization.DeepCopy(), "A Kustomization has the expressions that Flux judges resources by.")
	s.untilComplete(t, []machine.Key{machine.KeyOf(goes)})
	source.waits(t)

	s.merge(t, stays.DeepCopy(), map[string]any{"metadata": map[string]any{"annotations": map[string]any{paused: nil}}})
	source.until(t, applied)
	for _, m := range []*unstructured.Unstructured{stays, goes} {
		if ready, current := s.condition(t, m, "Ready"), s.condition(t, m, "UpToDate"); ready != "True" || current != "True" {
			t.Errorf("the Kustomization is ready, and %s has Ready %q and UpToDate %q", m.GetName(), ready, current)
		}
	}
}

// fluxWaitsForRestart checks that the Kustomization is not ready while an edit waits for a restart of a running VM.
func (s *suite) fluxWaitsForRestart(t *testing.T, source *fluxSource, stays, goes *unstructured.Unstructured) {
	t.Helper()
	set(t, stays, int64(4), "cpu", "cores")
	source.commit(t, stays, goes)
	s.until(t, func() string {
		if is := s.condition(t, stays, "RestartRequired"); is != "True" {
			return "RestartRequired is " + is
		}
		return ""
	})
	source.waits(t)
	if ready, current := s.condition(t, stays, "Ready"), s.condition(t, stays, "UpToDate"); ready != "True" || current != "False" {
		t.Errorf("the Machine that waits for a restart has Ready %q and UpToDate %q", ready, current)
	}
	s.merge(t, stays.DeepCopy(), map[string]any{"spec": map[string]any{"forProvider": map[string]any{"restartPolicy": "WhenRequired"}}})
	source.until(t, applied)
}

// fluxFails checks that the Kustomization fails at once if a Machine refuses an edit, although its VM runs, and recovers with the next edit.
func (s *suite) fluxFails(t *testing.T, source *fluxSource, stays, goes *unstructured.Unstructured) {
	t.Helper()
	smaller := stays.DeepCopy()
	set(t, smaller, []any{map[string]any{"name": "root", "size": "10G"}}, "disks")
	source.commit(t, smaller, goes)
	source.until(t, unhealthy)
	if ready, synced := s.condition(t, stays, "Ready"), s.condition(t, stays, "Synced"); ready != "True" || synced != "False" {
		t.Errorf("the Machine that refuses an edit has Ready %q and Synced %q", ready, synced)
	}
	source.commit(t, stays, goes)
	source.until(t, applied)
}

// fluxPrunes checks that a Machine is deleted with its VM once the repository does not have it any more, and the others with the Kustomization.
func (s *suite) fluxPrunes(t *testing.T, source *fluxSource, stays, goes *unstructured.Unstructured) {
	t.Helper()
	stay, gone := []machine.Key{machine.KeyOf(stays)}, []machine.Key{machine.KeyOf(goes)}
	source.commit(t, stays)
	source.until(t, applied)
	s.untilGone(t, gone)
	s.untilComplete(t, stay)
	s.remove(t, source.kustomization)
	s.untilGone(t, stay)
}

// set changes a parameter of a Machine.
func set(t *testing.T, m *unstructured.Unstructured, value any, at ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(m.Object, value, append([]string{"spec", "forProvider"}, at...)...); err != nil {
		t.Fatal(err)
	}
}

// condition returns the status of a condition of an object.
func (s *suite) condition(t *testing.T, obj *unstructured.Unstructured, name string) string {
	t.Helper()
	now := obj.DeepCopy()
	if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), now); err != nil {
		t.Fatal(err)
	}
	is, _ := conditionOf(now, name)
	return is
}

// conditionOf returns the status and the reason of a condition.
func conditionOf(obj *unstructured.Unstructured, name string) (is, reason string) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, each := range conditions {
		if c, _ := each.(map[string]any); c["type"] == name {
			is, _ = c["status"].(string)
			reason, _ = c["reason"].(string)
		}
	}
	return is, reason
}

// A fluxSource is the source of a Kustomization in the state in which source-controller leaves it after it has fetched a commit. It serves the archives
// of all commits.
type fluxSource struct {
	*suite

	server        *httptest.Server
	dir           string
	object        *unstructured.Unstructured
	kustomization *unstructured.Unstructured
	revision      string
}

// newFluxSource creates the source that a Kustomization names, without a commit.
func (s *suite) newFluxSource(t *testing.T, kustomization *unstructured.Unstructured) *fluxSource {
	t.Helper()
	dir := t.TempDir()
	source := &fluxSource{suite: s, dir: dir, kustomization: kustomization, server: httptest.NewServer(http.FileServer(http.Dir(dir)))}
	t.Cleanup(source.server.Close)
	ref, _, _ := unstructured.NestedStringMap(kustomization.Object, "spec", "sourceRef")
	source.object = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": ref["kind"],
		"metadata": map[string]any{"namespace": kustomization.GetNamespace(), "name": ref["name"]},
		"spec":     map[string]any{"interval": "1m", "url": "https://git.example.org/machines"},
	}}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": kustomization.GetNamespace()},
	}}
	if err := s.Kube.ApplyAll(s.ctx, []*unstructured.Unstructured{namespace, source.object}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.remove(t, source.object) })
	return source
}

// commit replaces the content of the source by objects, in the folder that the Kustomization applies.
func (f *fluxSource) commit(t *testing.T, objs ...*unstructured.Unstructured) {
	t.Helper()
	folder, _, _ := unstructured.NestedString(f.kustomization.Object, "spec", "path")
	archive := archiveOf(t, folder, objs)
	sum := sha256.Sum256(archive)
	digest := hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(f.dir, digest+".tar.gz"), archive, 0o600); err != nil {
		t.Fatal(err)
	}
	f.revision = "main@sha256:" + digest
	now := time.Now().UTC().Format(time.RFC3339)
	f.changeStatus(t, map[string]any{
		"observedGeneration": 1,
		"artifact": map[string]any{
			"path": digest + ".tar.gz", "url": f.server.URL + "/" + digest + ".tar.gz",
			"digest": "sha256:" + digest, "revision": f.revision, "size": len(archive), "lastUpdateTime": now,
		},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored artifact", "lastTransitionTime": now,
		}},
	})
}

// changeStatus writes the status of the source.
func (f *fluxSource) changeStatus(t *testing.T, status map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	f.kubectl(t, "patch", "gitrepositories", f.object.GetName(), "--namespace="+f.object.GetNamespace(),
		"--subresource=status", "--type=merge", "--patch", string(patch))
}

// archiveOf returns an archive of objects as files of a folder, in the format of source-controller.
func archiveOf(t *testing.T, folder string, objs []*unstructured.Unstructured) []byte {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	for _, obj := range objs {
		manifest, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		header := &tar.Header{Name: path.Join(folder, obj.GetName()+".yaml"), Mode: 0o644, Size: int64(len(manifest))}
		if err := files.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write(manifest); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// says returns the condition Ready of the Kustomization for the commit, with details if it is about another commit.
func (f *fluxSource) says(t *testing.T) string {
	t.Helper()
	now := f.kustomization.DeepCopy()
	if err := f.Kube.Get(f.ctx, client.ObjectKeyFromObject(now), now); err != nil {
		t.Fatal(err)
	}
	is, reason := conditionOf(now, "Ready")
	if attempted, _, _ := unstructured.NestedString(now.Object, "status", "lastAttemptedRevision"); attempted != f.revision {
		return fmt.Sprintf("%s %s of the revision %q", is, reason, attempted)
	}
	if healthy, _ := conditionOf(now, "Healthy"); is == "Unknown" && healthy == "Unknown" {
		return checking
	}
	return is + " " + reason
}

// until waits until the Kustomization reports something for the commit.
func (f *fluxSource) until(t *testing.T, want string) {
	t.Helper()
	f.suite.until(t, func() string {
		if is := f.says(t); is != want {
			return fmt.Sprintf("the Kustomization is %q, want %q", is, want)
		}
		return ""
	})
}

// waits checks that the Kustomization has applied the commit and still waits for the health of the applied objects.
func (f *fluxSource) waits(t *testing.T) {
	t.Helper()
	f.until(t, checking)
	f.pause(t, healthPolls)
	if is := f.says(t); is != checking {
		t.Fatalf("the Kustomization does not wait for a Machine that is not as declared: it is %q", is)
	}
}

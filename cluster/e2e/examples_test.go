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
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/kube"
	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// placeholder is the endpoint of the examples, which the tests replace like a reader.
const placeholder = "https://pve1.example.com:8006"

func examples(folder string) string { return filepath.Join(checkout.Root(), "examples", folder) }

// read returns the objects of a folder of examples.
func read(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	objs, err := kube.ReadDir(examples(folder))
	if err != nil {
		t.Fatal(err)
	}
	if len(objs) == 0 {
		t.Fatalf("examples/%s holds no object", folder)
	}
	return objs
}

// testProviderExamples applies the configurations unchanged, then sets the simulator's address and token.
func (s *suite) testProviderExamples(t *testing.T) {
	s.kubectl(t, "apply", "-f", "examples/provider/")
	for _, obj := range read(t, "provider") {
		if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Errorf("cannot find what was applied: %v", err)
		}
		if endpoints, _, _ := unstructured.NestedStringSlice(obj.Object, "spec", "endpoints"); slices.Contains(endpoints, placeholder) {
			s.redirect(t, obj)
		}
	}
	if err := s.connect(); err != nil {
		t.Fatal(err)
	}
	s.setToken(t, s.connection.Credentials.TokenSecret)
}

// redirect sets the endpoint of a configuration to the simulator.
func (s *suite) redirect(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	s.merge(t, obj, map[string]any{"spec": map[string]any{
		"endpoints": s.connection.Endpoints,
		"tls":       map[string]any{"caCertificate": s.connection.CA, "caCertificateConfigMapRef": nil},
	}})
}

// testExamples applies every example, waits until all its resources are ready, and deletes it. Examples that limit clusters and nodes are applied after
// the Machines of their folder, whose placement they would prevent.
func (s *suite) testExamples(t *testing.T) {
	for _, folder := range []string{"cluster", "namespaced", "quickstart"} {
		t.Run(folder, func(t *testing.T) {
			s.testMachineExamples(t, folder)
			s.testCopyExamples(t, folder)
			s.testDownloadExamples(t, folder)
			s.testOtherExamples(t, folder)
		})
	}
}

func (s *suite) testMachineExamples(t *testing.T, folder string) {
	t.Helper()
	before := s.holdings(t)
	objs, files := some(t, folder, func(read []*unstructured.Unstructured) bool {
		here := func(obj *unstructured.Unstructured) bool { return isMachine(obj) && !isDownload(obj) }
		return slices.ContainsFunc(read, here) && !slices.ContainsFunc(read, isCopy) && !slices.ContainsFunc(read, isPart)
	})
	keys := make([]machine.Key, 0, len(objs))
	for _, obj := range objs {
		keys = append(keys, machine.KeyOf(obj))
	}
	s.kubectl(t, append([]string{"apply"}, files...)...)
	s.untilComplete(t, keys)
	now := s.holdings(t)
	now.keeps(t, before)
	now.noStrays(t)
	for _, obj := range objs {
		t.Run(obj.GetName(), func(t *testing.T) { s.checkExample(t, obj, now) })
	}

	s.kubectl(t, append([]string{"delete", "--wait=false"}, files...)...)
	for _, obj := range objs {
		s.unprotect(t, obj)
	}
	s.untilGone(t, keys)
	s.holdings(t).sameAs(t, before)
}

// testCopyExamples applies Snapshots, policies for them, and Backups, with their Machines and the Machines that are created from them.
func (s *suite) testCopyExamples(t *testing.T, folder string) {
	t.Helper()
	objs, files := some(t, folder, func(read []*unstructured.Unstructured) bool { return slices.ContainsFunc(read, isCopy) })
	if len(objs) == 0 {
		return
	}
	var keys []machine.Key
	for _, obj := range objs {
		if isMachine(obj) {
			keys = append(keys, machine.KeyOf(obj))
		}
	}
	s.kubectl(t, append([]string{"apply"}, files...)...)
	s.untilReady(t, slices.DeleteFunc(objs, func(obj *unstructured.Unstructured) bool { return isMachine(obj) && !isRestored(obj) }))
	s.kubectl(t, append([]string{"delete", "--wait=false"}, files...)...)
	s.untilGone(t, keys)
}

func (s *suite) testOtherExamples(t *testing.T, folder string) {
	t.Helper()
	objs, files := some(t, folder, func(read []*unstructured.Unstructured) bool {
		other := func(obj *unstructured.Unstructured) bool { return !isMachine(obj) && !isDownload(obj) } // With Machines, if the file has any.
		return slices.ContainsFunc(read, other) && !slices.ContainsFunc(read, isCopy)
	})
	if len(objs) == 0 {
		return
	}
	s.kubectl(t, append([]string{"apply"}, files...)...)
	for _, obj := range objs {
		if obj.GetKind() == "NodeNetwork" { // The simulator is on loopback, which no interface of a node has.
			s.merge(t, obj, map[string]any{"spec": map[string]any{"forProvider": map[string]any{"confirmUnmappedAddresses": true}}})
		}
	}
	s.untilReady(t, objs)
	s.kubectl(t, append([]string{"delete", "--timeout=2m"}, files...)...)
}

func isMachine(obj *unstructured.Unstructured) bool { return obj.GetKind() == "Machine" }

// isRestored reports whether an object is created from a backup.
func isRestored(obj *unstructured.Unstructured) bool {
	_, has, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "forProvider", "restore")
	return has
}

// isCopy reports whether an object is a copy of a Machine, or creates some.
func isCopy(obj *unstructured.Unstructured) bool {
	return slices.Contains([]string{"Snapshot", "SnapshotPolicy", "Backup"}, obj.GetKind())
}

// isPart reports whether an object is a network of a node or a disk. Its file may also have a Machine.
func isPart(obj *unstructured.Unstructured) bool {
	return slices.Contains([]string{"NodeNetwork", "Volume"}, obj.GetKind())
}

// isOfDownload reports whether a file has an Image of a server on the internet, or a Machine of one.
func isOfDownload(read []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(read, isDownload)
}

// isDownload reports whether an object is an Image from a server on the internet, which the tests replace by a mirror, or a Machine with such an Image.
func isDownload(obj *unstructured.Unstructured) bool {
	for _, field := range [][]string{{"source", "url"}, {"source", "oci"}, {"image", "url"}, {"image", "ref"}, {"templateRef"}} {
		if _, has, _ := unstructured.NestedFieldNoCopy(obj.Object, append([]string{"spec", "forProvider"}, field...)...); has {
			return true
		}
	}
	return false
}

// isPlain reports whether an object is of Kubernetes itself, such as a Secret that a Machine refers to. It is applied with its file.
func isPlain(obj *unstructured.Unstructured) bool { return obj.GetAPIVersion() == "v1" }

// some returns the managed resources of the selected files of a folder of examples, and kubectl's arguments for these files.
func some(t *testing.T, folder string, wanted func([]*unstructured.Unstructured) bool) ([]*unstructured.Unstructured, []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(examples(folder), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var objs []*unstructured.Unstructured
	var files []string
	for _, path := range paths {
		read, err := kube.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if read = slices.DeleteFunc(read, isPlain); wanted(read) {
			objs, files = append(objs, read...), append(files, "-f", path)
		}
	}
	return objs, files
}

// checkExample checks that a Machine of the examples has the VM that its status shows, and that its connection details are written if it requests them.
func (s *suite) checkExample(t *testing.T, obj *unstructured.Unstructured, now holdings) {
	t.Helper()
	m := s.machine(machine.KeyOf(obj))
	if got := now.vms[nameOf(m.VMID)]; !strings.HasPrefix(got, "on "+m.Node+",") {
		t.Errorf("%s: the cluster holds %q", m, got)
	}
	if m.Secret.Name == "" {
		return
	}
	secret := &corev1.Secret{}
	if err := s.Kube.Get(s.ctx, m.Secret, secret); err != nil {
		t.Fatal(err)
	}
	if got := string(secret.Data["vmid"]); got != fmt.Sprint(m.VMID) {
		t.Errorf("%s: its connection Secret holds the VMID %q", m, got)
	}
}

// untilReady waits until objects other than Machines are ready.
func (s *suite) untilReady(t *testing.T, objs []*unstructured.Unstructured) {
	t.Helper()
	for _, obj := range objs {
		s.until(t, func() string {
			if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return err.Error()
			}
			conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
			for _, c := range conditions {
				if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
					return ""
				}
			}
			return fmt.Sprintf("%s %q is not ready: %v", obj.GetKind(), obj.GetName(), conditions)
		})
	}
}

// unprotect checks that a protected VM is not removed, then removes its protection.
func (s *suite) unprotect(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	if protected, _, _ := unstructured.NestedBool(obj.Object, "spec", "forProvider", "protection"); !protected {
		return
	}
	key := machine.KeyOf(obj)
	s.until(t, func() string {
		if m := s.machine(key); !strings.Contains(m.Message, "is protected") {
			return fmt.Sprintf("%s: it is not said to be protected", m)
		}
		return ""
	})
	s.merge(t, obj, map[string]any{"spec": map[string]any{"forProvider": map[string]any{"protection": false}}})
}

// merge changes some fields of an object.
func (s *suite) merge(t *testing.T, obj *unstructured.Unstructured, change map[string]any) {
	t.Helper()
	s.edit(t, obj.DeepCopy(), change)
}

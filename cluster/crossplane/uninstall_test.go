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

package crossplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const externalName = "crossplane.io/external-name"

// testProtection protects a Machine and the package by Usages: Kubernetes refuses to delete them, with the reason.
func (s *suite) testProtection(t *testing.T) {
	before, last := s.vms(t), s.lastRequest(t)
	for file, target := range map[string][]string{
		"examples/crossplane/usage-machine.yaml":  {"machines.proxmox.m.vitistack.io/database", "--namespace=default"},
		"examples/crossplane/usage-provider.yaml": {"providers.pkg.crossplane.io/" + release},
	} {
		usages := s.apply(t, file)
		s.untilTrue(t, usages, "Ready")
		reason, _, _ := unstructured.NestedString(usages[0].Object, "spec", "reason")
		output, err := s.RunKubectl(s.ctx, append([]string{"delete", patience}, target...)...)
		if err == nil || !strings.Contains(output, reason) {
			t.Errorf("%s is deleted although %s protects it (%v): %s", target[0], file, err, output)
		}
		s.kubectl(t, "delete", patience, "-f", file)
	}
	s.untilTrue(t, []*unstructured.Unstructured{s.theProvider()}, "Installed", "Healthy")
	s.untouched(t, before, last)
}

// testAccident uninstalls the package while there are Machines. Crossplane deletes the definitions and so marks all Machines as deleted: their VMs are
// kept unchanged, and so are the Machines, as a record of them. Then it follows docs/uninstalling.md, after which the package is restored and manages
// the same VMs.
func (s *suite) testAccident(t *testing.T) {
	machines := read(t, "examples/quickstart")
	before, last := s.vms(t), s.lastRequest(t)
	if s.activation {
		// Crossplane 1 would create the definition again over what is left of the old one.
		s.loseDefinition(t, machines[0])
	}
	s.kubectl(t, "delete", patience, "provider.pkg.crossplane.io/"+release)
	for _, m := range machines {
		s.until(t, func() string { return s.isRecord(m) })
	}
	s.untouched(t, before, last)

	for _, kind := range []string{
		"machines.proxmox.m.vitistack.io", "machines.proxmox.vitistack.io", "providerconfigs.proxmox.vitistack.io",
		"providerconfigs.proxmox.m.vitistack.io", "clusterproviderconfigs.proxmox.m.vitistack.io",
	} {
		s.letGo(t, kind)
	}
	s.takeRights(t)
	s.until(t, s.isForgotten)

	s.install(t, older)
	s.serveAll(t)
	s.mustConnect(t)
	for _, m := range machines {
		again := read(t, "examples/quickstart")[indexOf(machines, m)]
		again.SetAnnotations(map[string]string{externalName: m.GetAnnotations()[externalName]})
		if err := s.Kube.Apply(s.ctx, again); err != nil {
			t.Fatal(err)
		}
	}
	s.untilTrue(t, machines, "Ready", "Synced")
	s.untouched(t, before, last)
}

// testDefinitions lets the provider read definitions, which Crossplane 1 does not permit by itself, and checks that it does.
func (s *suite) testDefinitions(t *testing.T) {
	const without = "Not permitted to watch CustomResourceDefinitions"
	if !strings.Contains(s.providerLog(t), without) {
		t.Error("the provider is permitted to read definitions already")
	}
	s.apply(t, "examples/crossplane/definitions.yaml")
	s.install(t, newer)
	s.untilTrue(t, read(t, "examples/quickstart"), "Ready", "Synced")
	// The Machines are still Ready from before: wait until the new process has checked the definitions.
	s.until(t, func() string {
		log := s.providerLog(t)
		start := strings.LastIndex(log, `"version":"`+newer+`"`)
		if start < 0 || strings.Contains(log[start:], without) || !strings.Contains(log[start:], "Starting workers") {
			return "the provider is not permitted to read definitions"
		}
		return ""
	})
}

// loseDefinition deletes the definition of a Machine while the provider runs, as it does for some seconds when a package is uninstalled in a busy
// cluster, and waits until the provider reports that it keeps the VM.
func (s *suite) loseDefinition(t *testing.T, m *unstructured.Unstructured) {
	t.Helper()
	s.kubectl(t, "delete", "--wait=false", "customresourcedefinition/machines."+m.GroupVersionKind().Group)
	s.until(t, func() string {
		if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(m.Object, "status", "conditions")
		if !strings.Contains(fmt.Sprint(conditions), "does not ask to destroy") {
			return fmt.Sprintf("Machine %q does not tell that its VM is kept: %v", m.GetName(), conditions)
		}
		return ""
	})
}

func indexOf(objs []*unstructured.Unstructured, obj *unstructured.Unstructured) int {
	for i := range objs {
		if objs[i] == obj {
			return i
		}
	}
	return -1
}

// isRecord returns what a Machine lacks that waits for its deletion and identifies its VM.
func (s *suite) isRecord(m *unstructured.Unstructured) string {
	if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(m), m); err != nil {
		return err.Error()
	}
	if m.GetDeletionTimestamp() == nil || m.GetAnnotations()[externalName] == "" {
		return fmt.Sprintf("Machine %q does not wait for its deletion, or does not tell its VM", m.GetName())
	}
	return ""
}

// letGo removes the finalizers from all objects of a kind.
func (s *suite) letGo(t *testing.T, kind string) {
	t.Helper()
	output, err := s.RunKubectl(s.ctx, "get", kind, "--all-namespaces", "--output=json")
	if err != nil && strings.Contains(output, "doesn't have a resource type") {
		return // No object of this kind delayed the deletion of its definition.
	}
	var list unstructured.UnstructuredList
	if err := errors.Join(err, json.Unmarshal([]byte(output), &list)); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, obj := range list.Items {
		args := []string{"patch", kind, obj.GetName(), "--type=merge", `--patch={"metadata":{"finalizers":null}}`}
		if obj.GetNamespace() != "" {
			args = append(args, "--namespace="+obj.GetNamespace())
		}
		s.kubectl(t, args...)
	}
}

// isForgotten returns what is left of the package.
func (s *suite) isForgotten() string {
	kinds := "customresourcedefinitions,providerrevisions,deployments,serviceaccounts,clusterroles,clusterrolebindings"
	if s.activation {
		kinds += ",managedresourcedefinitions"
	}
	output, err := s.RunKubectl(s.ctx, "get", "--ignore-not-found", "--output=name", kinds, "--all-namespaces")
	if err != nil {
		return err.Error()
	}
	var left []string
	for line := range strings.Lines(output) {
		if strings.Contains(line, "proxmox") {
			left = append(left, strings.TrimSpace(line))
		}
	}
	return strings.Join(left, "\n")
}

// testUninstall uninstalls the usual way: it deletes the Machines with their VMs, then the package. Nothing is left.
func (s *suite) testUninstall(t *testing.T) {
	s.kubectl(t, "delete", patience, "-f", "examples/quickstart")
	s.untilVMs(t, s.initial)
	objs, err := s.Connection.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objs {
		if strings.HasSuffix(obj.GetKind(), "ProviderConfig") {
			s.kubectl(t, "delete", patience, strings.ToLower(obj.GetKind())+"."+obj.GroupVersionKind().Group+"/"+obj.GetName(), "--namespace=default")
		}
	}
	s.kubectl(t, "delete", patience, "provider.pkg.crossplane.io/"+release)
	s.takeRights(t)
	s.until(t, s.isForgotten)
}

// takeRights removes the permissions that the examples grant the provider.
func (s *suite) takeRights(t *testing.T) {
	t.Helper()
	args := []string{"delete", "--ignore-not-found"}
	for _, file := range []string{"definitions", "ipam", "namespaces"} {
		args = append(args, "-f", "examples/crossplane/"+file+".yaml")
	}
	s.kubectl(t, args...)
}

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
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/crossplane/stack"
	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

const (
	configuration     = "configuration-proxmox"
	configurationName = "vitistack/" + configuration
	compositions      = "examples/composition"
	// functionObject is the name that Crossplane gives the function when a Configuration depends on it.
	functionObject = "crossplane-contrib-" + assets.Function
)

// hostsOfManifests returns the servers that the manifests of other operators name.
func hostsOfManifests() []string {
	return []string{
		"pve1.example.com", "pve.example.com", "pve-cluster.example.com", "proxmox.example.com", "ml110-01.sankofa.nexus", "r630-01.sankofa.nexus",
	}
}

// testConfiguration checks that each example of the Configuration, and each manifest that was written for another operator, becomes ready unchanged.
// Then it deletes all of them, and the Configuration.
func (s *suite) testConfiguration(t *testing.T) {
	migration := s.startMigration(t)
	before, beforeMigration := s.vmNames(t), vmsOf(t, s, migration)
	s.apply(t, compositions+"/migration/before/connections.yaml")
	s.setCredentials(t, migration)

	objs := append(s.applyAll(t, compositions+"/examples"), s.applyAll(t, compositions+"/migration")...)
	composites := slices.DeleteFunc(objs, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Secret" || o.GetKind() == "ClusterProviderConfig"
	})
	s.untilTrue(t, composites, "Ready", "Synced")
	for _, obj := range composites {
		s.untilArgoCD(t, obj, "Healthy")
		s.untilFlux(t, obj, "Current")
	}
	s.untilTrue(t, conditioned(composites), "VMCreated", "ResourcesAllocated", "NetworkConfigured")
	t.Run("Failed", s.testFailed)
	t.Run("Examples", s.checkExamples)
	t.Run("Migration", func(t *testing.T) { s.checkMigration(t, migration) })
	t.Run("Others", func(t *testing.T) { s.testOthers(t, migration) })

	const disowned = "multi-nic-vm"
	kept := s.disown(t, "virtualmachines.infra.virtrigaud.io", disowned)
	for _, obj := range composites {
		if obj.GetName() == disowned {
			continue // Deleting it again would also delete the resources that it is composed of.
		}
		s.kubectl(t, "delete", "--wait=false", "--ignore-not-found", argument(obj), "--namespace", namespaceOf(obj))
	}
	s.untilGone(t, composites)
	s.checkKept(t, kept, migration)
	s.untilVMs(t, before)
	s.until(t, func() string { return cmp.Diff(beforeMigration, vmsOf(t, s, migration)) })
	s.kubectl(t, "delete", "clusterproviderconfigs.proxmox.m.vitistack.io", "my-proxmox-cluster", patience)
	s.uninstallConfiguration(t)
}

// testDependencies installs the Configuration, whose dependencies Crossplane resolves, in a cluster with the definitions of another operator. That is
// long before its kinds are used: Kubernetes' garbage collector discovers new kinds every half minute.
func (s *suite) testDependencies(t *testing.T) {
	dir := built(older, "configuration")
	if err := s.PushLayout(s.ctx, configurationName, older, dir); err != nil {
		t.Fatal(err)
	}
	s.pushConditions(t)
	c := object("pkg.crossplane.io/v1", "Configuration", configuration)
	c.Object["spec"] = map[string]any{"package": "ghcr.io/" + configurationName + ":" + older}
	if err := s.Kube.Apply(s.ctx, c); err != nil {
		t.Fatal(err)
	}
	s.untilTrue(t, []*unstructured.Unstructured{c}, "Installed", "Healthy")
	for _, name := range []string{functionObject, conditionsObject} {
		s.untilTrue(t, []*unstructured.Unstructured{object("pkg.crossplane.io/v1", "Function", name)}, "Installed", "Healthy")
	}
	s.checkPredecessors(t)
	s.untilTrue(t, s.composites(t), "Established")
	s.prepareExternalDNS(t)
}

// composites returns the definitions of the Configuration.
func (s *suite) composites(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, path := range manifests(t, compositions+"/apis") {
		for _, obj := range read(t, path) {
			if obj.GetKind() == "CompositeResourceDefinition" {
				out = append(out, object("apiextensions.crossplane.io/v1", obj.GetKind(), obj.GetName()))
			}
		}
	}
	return out
}

// uninstallConfiguration removes the package, and the packages that it depends on.
func (s *suite) uninstallConfiguration(t *testing.T) {
	t.Helper()
	definitions := s.composites(t)
	s.kubectl(t, "delete", "configurations.pkg.crossplane.io", configuration, patience)
	s.untilGone(t, definitions)
	s.kubectl(t, "delete", "functions.pkg.crossplane.io", functionObject, conditionsObject, patience)
}

// startMigration runs another simulated Proxmox VE with the objects that the manifests of other operators name. The provider reaches and trusts it by
// the names in the manifests.
func (s *suite) startMigration(t *testing.T) *simulator.Simulator {
	t.Helper()
	dir := filepath.Join(s.Dir, "migration")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	sim, err := simulator.NewAt(dir, "127.0.0.1:8006", hostsOfManifests()...)
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.Repo.Binary("pve-simulator")
	if err != nil {
		t.Fatal(err)
	}
	spec := sim.Spec(path, checkout.Resolve("examples/scenarios/migration.yaml"))
	spec.Name = "pve-simulator-migration"
	if _, err := s.Run(s.ctx, spec); err != nil {
		t.Fatal(err)
	}
	connection, err := sim.Connection()
	if err != nil {
		t.Fatal(err)
	}
	s.trust(t, connection.CA)
	return sim
}

// trust makes the provider trust another certificate authority, like one of an organisation.
func (s *suite) trust(t *testing.T, ca string) {
	t.Helper()
	secret := object("v1", "Secret", "authorities")
	secret.SetNamespace(stack.Namespace)
	secret.Object["stringData"] = map[string]any{"ca.crt": ca}
	if err := s.Kube.Apply(s.ctx, secret); err != nil {
		t.Fatal(err)
	}
	const pod = "/spec/deploymentTemplate/spec/template/spec"
	s.kubectl(t, "patch", "deploymentruntimeconfigs.pkg.crossplane.io", release, "--type=json", "--patch", `[
		{"op": "add", "path": "`+pod+`/volumes", "value": [{"name": "authorities", "secret": {"secretName": "authorities"}}]},
		{"op": "add", "path": "`+pod+`/containers/0/volumeMounts", "value": [{"name": "authorities", "mountPath": "/authorities"}]},
		{"op": "add", "path": "`+pod+`/containers/0/env/-", "value": {"name": "SSL_CERT_DIR", "value": "/authorities"}}
	]`)
}

// setCredentials writes the simulator's token into the Secret that the manifests name.
func (s *suite) setCredentials(t *testing.T, sim *simulator.Simulator) {
	t.Helper()
	connection, err := sim.Connection()
	if err != nil {
		t.Fatal(err)
	}
	c := connection.Credentials
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: stack.Namespace, Name: "proxmox-credentials"}
	if err := s.Kube.Get(s.ctx, key, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data["credentials.json"] = fmt.Appendf(nil, `{"username": %q, "tokenID": %q, "tokenSecret": %q}`, c.Username, c.TokenID, c.TokenSecret)
	if err := s.Kube.Update(s.ctx, secret); err != nil {
		t.Fatal(err)
	}
}

// checkExamples checks what a team sees: addresses in the status, and connection details in a Secret. Both may appear after a VM is ready, since its
// guest reports them.
func (s *suite) checkExamples(t *testing.T) {
	s.until(t, func() string { return lacksStatus(s.get(t, "virtualmachines.platform.vitistack.io", "portal")) })
	for _, name := range []string{"portal-connection", "shop-connection"} {
		s.until(t, func() string { return s.lacksDetails(name) })
	}
	s.until(t, func() string { return lacksNodes(s.get(t, "kubernetesnodes.platform.vitistack.io", "k8s")) })
}

// lacksStatus returns what the status of a VirtualMachine lacks.
func lacksStatus(vm *unstructured.Unstructured) string {
	status, _, _ := unstructured.NestedMap(vm.Object, "status")
	if status["address"] == nil || status["vmid"] == nil || status["node"] == nil || status["phase"] != "Running" {
		return fmt.Sprintf("the status of a VirtualMachine is %v", status)
	}
	return ""
}

// lacksNodes returns what the status of KubernetesNodes lacks: an address for each of three VMs, on three nodes.
func lacksNodes(kubernetes *unstructured.Unstructured) string {
	nodes, _, _ := unstructured.NestedMap(kubernetes.Object, "status", "nodes")
	addressed := map[any]bool{}
	for _, n := range nodes {
		if n, ok := n.(map[string]any); ok && n["address"] != nil {
			addressed[n["node"]] = true
		}
	}
	if len(addressed) != 3 {
		return fmt.Sprintf("three VMs have no addresses on three nodes: %v", nodes)
	}
	return ""
}

// disown deletes a composite resource and keeps its composed resources. It returns the name of its Machine. The composite is paused meanwhile, since
// Crossplane might otherwise take ownership of the composed resources again, just before the composite no longer exists.
func (s *suite) disown(t *testing.T, definition, name string) string {
	t.Helper()
	const reference = `jsonpath={.spec.crossplane.resourceRefs[?(@.kind=="Machine")].name}`
	made := s.kubectl(t, "get", definition, name, "--namespace=default", "--output="+reference)
	s.kubectl(t, "annotate", definition, name, "crossplane.io/paused=true", "--namespace=default")
	const paused = `--for=jsonpath={.status.conditions[?(@.type=="Synced")].reason}=ReconcilePaused`
	s.kubectl(t, "wait", definition, name, paused, patience, "--namespace=default")
	s.kubectl(t, "delete", "--wait=false", "--cascade=orphan", definition, name, "--namespace=default")
	s.until(t, func() string {
		if slices.Contains(s.get(t, definition, name).GetFinalizers(), metav1.FinalizerOrphanDependents) {
			return "what the composite resource is composed of still belongs to it"
		}
		return ""
	})
	s.kubectl(t, "annotate", definition, name, "crossplane.io/paused-", "--namespace=default")
	return made
}

// checkKept checks that a Machine has no owner and still has its VM, and deletes it.
func (s *suite) checkKept(t *testing.T, name string, sim *simulator.Simulator) {
	t.Helper()
	made := s.get(t, "machines.proxmox.m.vitistack.io", name)
	if owners := made.GetOwnerReferences(); len(owners) > 0 || made.GetDeletionTimestamp() != nil {
		t.Errorf("the Machine that was to be kept is owned by %v, and deleted %v", owners, made.GetDeletionTimestamp())
	}
	if vms := strings.Join(vmsOf(t, s, sim), "\n"); !strings.Contains(vms, "multi-nic-vm") {
		t.Errorf("there is no VM of the Machine that was to be kept among\n%s", vms)
	}
	s.kubectl(t, "delete", patience, "machines.proxmox.m.vitistack.io", name, "--namespace=default")
	s.kubectl(t, "delete", patience, "--all", "vmclassuses.infra.virtrigaud.io,vmimageuses.infra.virtrigaud.io", "--namespace=default")
}

// lacksDetails returns what a connection Secret lacks. Details may appear after the VM is ready.
func (s *suite) lacksDetails(name string) string {
	secret := &corev1.Secret{}
	if err := s.Kube.Get(s.ctx, client.ObjectKey{Namespace: "default", Name: name}, secret); err != nil {
		return err.Error()
	}
	if len(secret.Data["endpoint"]) == 0 || string(secret.Data["username"]) != "admin" {
		return fmt.Sprintf("Secret %q has the keys %v", name, slices.Sorted(maps.Keys(secret.Data)))
	}
	return ""
}

// checkMigration checks that the VMs match the manifests.
func (s *suite) checkMigration(t *testing.T, sim *simulator.Simulator) {
	t.Helper()
	got := strings.Join(vmsOf(t, s, sim), "\n")
	for _, want := range []string{"100 my-vm", "1100 test-vm", "web-server", "multi-nic-vm", "web-server-01"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q among\n%s", want, got)
		}
	}
}

// vmsOf returns the VMs of a simulated Proxmox VE.
func vmsOf(t *testing.T, s *suite, sim *simulator.Simulator) []string {
	t.Helper()
	vms, err := sim.VMs(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for id, vm := range vms {
		out = append(out, fmt.Sprintf("%d %s", id, vm.Name))
	}
	slices.Sort(out)
	return out
}

// applyAll applies the manifests in a folder and its subfolders, and returns their objects.
func (s *suite) applyAll(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	var objs []*unstructured.Unstructured
	args := []string{"apply"}
	for _, path := range manifests(t, folder) {
		if filepath.Base(path) == "connections.yaml" {
			continue // It already exists.
		}
		objs = append(objs, read(t, path)...)
		args = append(args, "--filename", path)
	}
	s.kubectl(t, args...)
	for _, obj := range objs {
		if obj.GetNamespace() == "" && s.namespaced(t, obj) {
			obj.SetNamespace("default")
		}
	}
	return objs
}

// manifests returns the files in a folder of the checkout and its subfolders.
func manifests(t *testing.T, folder string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(checkout.Root()), folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".yaml" {
			out = append(out, path)
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("cannot find manifests in %q: %v", folder, err)
	}
	return out
}

func (s *suite) namespaced(t *testing.T, obj *unstructured.Unstructured) bool {
	t.Helper()
	is, err := s.Kube.IsObjectNamespaced(obj)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// get returns an object of the namespace default by the name of its kind's definition.
func (s *suite) get(t *testing.T, definition, name string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(s.kubectl(t, "get", definition, name, "--namespace=default", "--output=json"))); err != nil {
		t.Fatal(err)
	}
	return obj
}

// untilGone waits until none of the objects exists.
func (s *suite) untilGone(t *testing.T, objs []*unstructured.Unstructured) {
	t.Helper()
	for _, obj := range objs {
		s.until(t, func() string {
			err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), obj)
			if client.IgnoreNotFound(err) != nil {
				return err.Error()
			}
			if err == nil {
				return fmt.Sprintf("%s %q is still there: %v", obj.GetKind(), obj.GetName(), obj.Object["status"])
			}
			return ""
		})
	}
}

// argument names an object for kubectl.
func argument(obj *unstructured.Unstructured) string {
	gvk := obj.GroupVersionKind()
	return strings.ToLower(gvk.Kind) + "." + gvk.Version + "." + gvk.Group + "/" + obj.GetName()
}

func namespaceOf(obj *unstructured.Unstructured) string {
	if obj.GetNamespace() == "" {
		return "default"
	}
	return obj.GetNamespace()
}

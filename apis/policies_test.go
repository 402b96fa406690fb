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

package apis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestPolicies applies examples/policies and asks for Machines of a team.
func TestPolicies(t *testing.T) {
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName("policies")
	namespace.SetLabels(map[string]string{"team": "shop"})
	if err := kube.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	before := violating(t)
	for _, file := range examples(t, "policies") {
		for _, o := range objects(t, file) {
			create(t, o)
		}
	}
	const least = "pool: shop\ntemplate: debian-13\n"
	cases := map[string]struct {
		reason      string
		spec        string
		annotations map[string]string
		refused     string
	}{
		"Least": {reason: "What is approved is accepted.", spec: least},
		"All": {
			reason: "What is at the bounds is accepted.",
			spec: "pool: shop\nimage: {ref: {name: ubuntu-24.04}}\nvmid: 19999\nmemory: 64Gi\ncpu: {cores: 8, sockets: 2}\n" +
				"disks: [{name: root, size: 500G, storage: ceph, removalPolicy: Detach}]",
		},
		"NoPool":    {reason: "The pool is the team's.", spec: "template: debian-13", refused: "must be shop"},
		"OtherPool": {reason: "A team joins no other team's pool.", spec: "pool: bank\ntemplate: debian-13", refused: "must be shop"},
		"VMID":      {reason: "A VM of the team has a VMID of the team's range.", spec: least + "vmid: 100", refused: "from 10000 to 19999"},
		"Adopted": {
			reason: "No VM that is there.", spec: least, annotations: map[string]string{"crossplane.io/external-name": "100"},
			refused: "cannot adopt",
		},
		"Destroy":   {reason: "No disk is destroyed.", spec: least + "disks: [{name: a, size: 1G, storage: ceph, removalPolicy: Destroy}]", refused: "removalPolicy"},
		"Binary":    {reason: "The size of a disk is the same with and without an i.", spec: least + "disks: [{name: a, size: 500Gi, storage: ceph}]"},
		"Kilobytes": {reason: "A size may be in any unit.", spec: least + "disks: [{name: a, size: 524288000K, storage: ceph}]"},
		"BinaryDisk": {
			reason: "More than the bound is refused in any unit.", spec: least + "disks: [{name: a, size: 512001Mi, storage: ceph}]", refused: "at most 500Gi",
		},
		"CoresOfTemplate": {reason: "A template that is approved has one socket.", spec: least + "cpu: {cores: 16}"},
		"SocketsOfTemplate": {
			reason: "A template that is approved may have more cores than one.", spec: least + "cpu: {sockets: 4}", refused: "cpu.sockets needs cpu.cores",
		},
		"Cores":    {reason: "At most 16 cores.", spec: least + "cpu: {cores: 9, sockets: 2}", refused: "at most 16 cores"},
		"Memory":   {reason: "At most 64 GiB.", spec: least + "memory: 65Gi", refused: "at most 64Gi"},
		"Disk":     {reason: "At most 500 GiB.", spec: least + "disks: [{name: a, size: 1T, storage: ceph}]", refused: "at most 500Gi"},
		"Template": {reason: "A team names no other template.", spec: "pool: shop\ntemplate: mine", refused: "must name debian-13"},
		"URL": {
			reason: "No image from anywhere.",
			spec:   "pool: shop\nimage: {url: 'https://example.com/a.qcow2'}\ndisks: [{name: root, storage: ceph}]", refused: "must name debian-13",
		},
		"ISO":    {reason: "No system is installed from a medium.", spec: "pool: shop\niso: local:iso/own.iso", refused: "must name debian-13"},
		"Clone":  {reason: "No other VM is cloned.", spec: "pool: shop\nclone: {vm: 100}", refused: "must name debian-13"},
		"Tags":   {reason: "No template is found by tags.", spec: "pool: shop\ntemplateTags: [own]", refused: "must name debian-13"},
		"Backup": {reason: "No backup is restored.", spec: "pool: shop\nrestore: {backupRef: {name: own}}", refused: "must name debian-13"},
		"Import": {
			reason: "A disk beside the approved template is not filled from another image.",
			spec:   least + "disks: [{name: own, storage: ceph, importFrom: 'local:import/own.qcow2'}]\nbootOrder: [own]", refused: "importFrom",
		},
		"Volume": {
			reason: "A disk beside the approved template is no disk that exists.",
			spec:   least + "disks: [{name: own, volume: 'local-lvm:vm-100-disk-1'}]\nbootOrder: [own]", refused: "volume or volumeRef",
		},
		"NewDisk": {reason: "An empty volume is a new disk.", spec: least + "disks: [{name: own, size: 1G, volume: ''}]"},
		"VolumeRef": {
			reason: "A Volume may be of a disk that exists.",
			spec:   least + "disks: [{name: own, volumeRef: {name: own}}]\nbootOrder: [own]", refused: "volume or volumeRef",
		},
		"Medium": {
			reason: "A drive beside the approved template has no medium to boot from.",
			spec:   least + "cdroms: [{name: own, iso: 'local:iso/own.iso'}]\nbootOrder: [own]", refused: "cannot have a medium",
		},
		"Drive": {reason: "The drive of the node is no medium of a team.", spec: least + "cdroms: [{name: own, physical: true}]", refused: "cannot have a medium"},
		"Empty": {reason: "A drive without a medium does no harm.", spec: least + "cdroms: [{name: tray}]"},
	}
	test := func(name string) {
		tc := cases[name]
		t.Run(name, func(t *testing.T) {
			m := machineOf(t, tc.spec)
			m.SetAnnotations(tc.annotations)
			if tc.refused == "" {
				wantAccepted(t, tc.reason, tryCreate(t.Context(), m))
			} else if err := policyRefusal(t, m); err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s\nwant a refusal with %q, got %v", tc.reason, tc.refused, err)
			}
		})
	}
	var accepted []string
	for name, tc := range cases {
		if tc.refused == "" {
			accepted = append(accepted, name)
			continue
		}
		test(name)
	}
	for _, name := range accepted { // All policies are in force, since each has refused something.
		test(name)
	}
	team := policyUser(t, "policies-team", teamRights)
	provider := policyUser(t, "system:serviceaccount:proxmox-system:provider-proxmox", providerRights)
	t.Run("Kept", func(t *testing.T) { testKept(t, team) })
	t.Run("Identity", func(t *testing.T) { testIdentity(t, team, provider) })
	for name, m := range before {
		t.Run("Before/"+name, func(t *testing.T) { testBefore(t, team, provider, m, violations()[name].refused) })
	}
}

// The rights of a team are all on Machines of its namespace, also on their status. Those of a provider are in all namespaces, and it runs in none that
// Crossplane has.
const (
	teamRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: policies, name: policies-team}
rules: [{apiGroups: [proxmox.m.vitistack.io], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: policies, name: policies-team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: policies-team}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: policies-team}]
`
	providerRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: policies-provider}
rules: [{apiGroups: [proxmox.m.vitistack.io], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: policies-provider}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: policies-provider}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:serviceaccount:proxmox-system:provider-proxmox"}]
`
)

// policyUser returns a client of a user with a role and its binding, once the API server knows of them.
func policyUser(t *testing.T, name, rights string) client.Client {
	t.Helper()
	for text := range strings.SplitSeq(rights, "---\n") {
		create(t, &unstructured.Unstructured{Object: parse(t, text)})
	}
	cfg := rest.CopyConfig(restConfig)
	cfg.Impersonate.UserName = name
	c, err := client.New(cfg, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion("proxmox.m.vitistack.io/v1alpha1")
	all.SetKind("MachineList")
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return c.List(ctx, all, client.InNamespace("policies")) == nil, nil
	})
	if err != nil {
		t.Fatalf("%s has no rights: %v", name, err)
	}
	return c
}

// violations are specs that violate one policy each, and what its refusal says.
func violations() map[string]struct{ spec, refused string } {
	return map[string]struct{ spec, refused string }{
		"pool":    {spec: "pool: bank\ntemplate: debian-13", refused: "must be shop"},
		"vmid":    {spec: "pool: shop\ntemplate: debian-13\nvmid: 100", refused: "from 10000 to 19999"},
		"destroy": {spec: "pool: shop\ntemplate: debian-13\ndisks: [{name: a, size: 1G, removalPolicy: Destroy}]", refused: "removalPolicy"},
		"size":    {spec: "pool: shop\ntemplate: debian-13\ncpu: {cores: 17}", refused: "at most 16 cores"},
		"image":   {spec: "pool: shop\ntemplate: own", refused: "must name debian-13"},
	}
}

// violating makes Machines before there are policies.
func violating(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for name, v := range violations() {
		m := machineOf(t, v.spec)
		m.SetName("before-" + name)
		m.SetFinalizers([]string{"finalizer.managedresource.crossplane.io"})
		if err := kube.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		all[name] = m
	}
	return all
}

// testBefore writes what users and the provider write of a Machine that violates a policy and was there before it, and deletes it.
func testBefore(t *testing.T, team, provider client.Client, m *unstructured.Unstructured, refused string) {
	t.Helper()
	m.SetLabels(map[string]string{"tier": "web"})
	if err := team.Update(t.Context(), m); err != nil {
		t.Errorf("Labels of a Machine from before the policies are free: %v", err)
	}
	m.SetAnnotations(map[string]string{"crossplane.io/external-name": "100", "crossplane.io/external-create-pending": "2026-11-22T17:00:00Z"})
	if err := provider.Update(t.Context(), m); err != nil {
		t.Errorf("The provider annotates a Machine from before the policies: %v", err)
	}
	changed := m.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, "2Gi", "spec", "forProvider", "memory"); err != nil {
		t.Fatal(err)
	}
	if err := team.Update(t.Context(), changed); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("A new spec of a Machine from before the policies is judged: want a refusal with %q, got %v", refused, err)
	}
	if err := team.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	other := m.DeepCopy()
	other.SetAnnotations(map[string]string{"crossplane.io/external-name": "101"})
	if err := team.Update(t.Context(), other); err == nil || !strings.Contains(err.Error(), "are the provider's") {
		t.Errorf("A Machine whose deletion has begun is pointed at no other VM: want a refusal, got %v", err)
	}
	m.SetFinalizers(nil)
	if err := provider.Update(t.Context(), m); err != nil {
		t.Errorf("The provider ends the deletion of a Machine from before the policies: %v", err)
	}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(m), m); !kerrors.IsNotFound(err) {
		t.Errorf("A Machine from before the policies can be deleted, got %v", err)
	}
}

// policyRefusal returns why the API server does not create a Machine. It takes a moment to learn of a policy.
func policyRefusal(t *testing.T, m *unstructured.Unstructured) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var refused error
	_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		refused = tryCreate(ctx, m)
		return refused != nil, nil
	})
	return refused
}

// testIdentity changes the annotations that say which VM a Machine is.
func testIdentity(t *testing.T, team, provider client.Client) {
	t.Helper()
	m := machineOf(t, "pool: shop\ntemplate: debian-13\n")
	create(t, m)
	m.SetLabels(map[string]string{"tier": "web"})
	if err := team.Update(t.Context(), m); err != nil {
		t.Errorf("Everything else may change: %v", err)
	}
	for _, key := range []string{"crossplane.io/external-name", "proxmox.vitistack.io/uuid"} {
		m.SetAnnotations(map[string]string{key: "100"})
		if err := team.Update(t.Context(), m.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "are the provider's") {
			t.Errorf("want a refusal of another %s, got %v", key, err)
		}
		if err := provider.Update(t.Context(), m.DeepCopy(), client.DryRunAll); err != nil {
			t.Errorf("The provider writes %s, wherever it is installed: %v", key, err)
		}
	}
}

// testKept takes out of a spec what the VM would keep, which could be multiplied later.
func testKept(t *testing.T, team client.Client) {
	t.Helper()
	m := machineOf(t, "pool: shop\nimage: {ref: {name: debian-13}}\ncpu: {cores: 4, sockets: 4}\ndisks: [{name: root, storage: ceph, size: 8G}]")
	create(t, m)
	cases := map[string]struct {
		reason  string
		cpu     map[string]any
		refused string
	}{
		"Other":   {reason: "Other cores and sockets within the bound are accepted.", cpu: map[string]any{"cores": int64(8), "sockets": int64(2)}},
		"Sockets": {reason: "The VM keeps its sockets.", cpu: map[string]any{"cores": int64(4)}, refused: "not be removed"},
		"Cores":   {reason: "The VM keeps its cores.", cpu: map[string]any{"sockets": int64(4)}, refused: "cpu.sockets needs cpu.cores"},
		"Both":    {reason: "The VM keeps its cores and sockets.", cpu: map[string]any{"type": "host"}, refused: "not be removed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changed := m.DeepCopy()
			if err := unstructured.SetNestedMap(changed.Object, tc.cpu, "spec", "forProvider", "cpu"); err != nil {
				t.Fatal(err)
			}
			if err := team.Update(t.Context(), changed, client.DryRunAll); tc.refused == "" {
				wantAccepted(t, tc.reason, err)
			} else if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s\nwant a refusal with %q, got %v", tc.reason, tc.refused, err)
			}
		})
	}
}

// machineOf returns a Machine in the team's namespace.
func machineOf(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	parameters := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &parameters); err != nil {
		t.Fatal(err)
	}
	m := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"forProvider": parameters}}}
	m.SetAPIVersion("proxmox.m.vitistack.io/v1alpha1")
	m.SetKind("Machine")
	m.SetNamespace("policies")
	m.SetName("web")
	return m
}

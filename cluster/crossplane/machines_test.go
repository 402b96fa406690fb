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
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/crossplane/stack"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// testMachines lets the provider create VMs of both scopes.
func (s *suite) testMachines(t *testing.T) {
	s.untilTrue(t, s.apply(t, "examples/quickstart"), "Ready", "Synced")
}

// testPolicies checks that a policy of each scope takes snapshots, and removes them when it is deleted. The provider has to delete Snapshots for that,
// which Crossplane does not permit by itself.
func (s *suite) testPolicies(t *testing.T) {
	s.kubectl(t, "apply", "-f", "examples/crossplane/policies.yaml")
	policies := s.apply(t, "cluster/crossplane/testdata/policies.yaml")
	s.until(t, func() string {
		for _, p := range policies {
			if s.kubectl(t, "get", argument(p), "--namespace", namespaceOf(p), "--output=jsonpath={.status.atProvider.snapshots}") == "" {
				return p.GetName() + " has no snapshot"
			}
		}
		return ""
	})
	s.kubectl(t, "delete", patience, "-f", "cluster/crossplane/testdata/policies.yaml")
	defer s.kubectl(t, "delete", "-f", "examples/crossplane/policies.yaml")
	for _, group := range []string{"proxmox.vitistack.io", "proxmox.m.vitistack.io"} {
		if left := s.kubectl(t, "get", "snapshots."+group, "--all-namespaces", "--output=name"); left != "" {
			t.Errorf("these are left without their policy: %s", left)
		}
	}
}

// testSafetyBackups restores a Machine of each scope from a backup after a safety backup. The provider has to create Backups for that.
func (s *suite) testSafetyBackups(t *testing.T) {
	const manifests = "cluster/crossplane/testdata/safety-backups.yaml"
	before := s.vmNames(t)
	objs := s.apply(t, manifests)
	s.untilTrue(t, objs, "Ready", "Synced")
	machines := slices.DeleteFunc(objs, func(o *unstructured.Unstructured) bool { return o.GetKind() != "Machine" })
	for _, m := range machines {
		s.kubectl(t, "patch", argument(m), "--namespace", namespaceOf(m), "--type=merge", "--patch", `{"spec":{"forProvider":{"restoreInPlace":
			{"token":"1","backupRef":{"name":"put-back"},"allowRunning":true,"safetyBackup":{"storage":"nfs"}}}}}`)
	}
	const state = "--output=jsonpath={.status.atProvider.restoreInPlace.state}"
	s.until(t, func() string {
		for _, m := range machines {
			if got := s.kubectl(t, "get", argument(m), "--namespace", namespaceOf(m), state); got != "Succeeded" {
				return fmt.Sprintf("the restore of %s is %q", argument(m), got)
			}
		}
		return ""
	})
	for _, m := range machines {
		safety := s.kubectl(t, "get", argument(m), "--namespace", namespaceOf(m), "--output=jsonpath={.status.atProvider.restoreInPlace.safetyBackup}")
		s.kubectl(t, "delete", patience, "backups."+m.GroupVersionKind().Group, safety, "--namespace", namespaceOf(m))
	}
	s.kubectl(t, "delete", patience, "-f", manifests)
	s.untilVMs(t, before)
}

// testImagesOfURLs creates a Machine of each scope with an image URL. The provider has to create Images for that, and to make the Machines their
// owners.
func (s *suite) testImagesOfURLs(t *testing.T) {
	before := s.vmNames(t)
	disk := make([]byte, 4096)
	copy(disk, "QFI\xfb\x00\x00\x00\x03")
	disk[28] = 0x40 // The size of the disk, in the upper half: 1 GiB.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(disk) }))
	defer server.Close()
	text, err := os.ReadFile(checkout.Resolve("cluster/crossplane/testdata/image-urls.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "image-urls.yaml")
	if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("https://images.example.com"), []byte(server.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "apply", "-f", file)
	s.untilTrue(t, read(t, "cluster/crossplane/testdata/image-urls.yaml"), "Ready", "Synced")
	for _, group := range []string{"proxmox.vitistack.io", "proxmox.m.vitistack.io"} {
		owner := s.kubectl(t, "get", "images."+group, "--all-namespaces", "--output=jsonpath={.items[*].metadata.ownerReferences[*].name}")
		if owner != "of-a-url" {
			t.Errorf("the Image of %s has the owners %q", group, owner)
		}
	}
	s.kubectl(t, "delete", patience, "-f", file)
	s.until(t, func() string { // The Images are deleted with their owners.
		return s.kubectl(t, "get", "images.proxmox.vitistack.io,images.proxmox.m.vitistack.io", "--all-namespaces", "--output=name")
	})
	s.untilVMs(t, before)
}

// deniedTo returns a message if an account of Crossplane's namespace may not do something, and an empty string if it may.
func (s *suite) deniedTo(t *testing.T, account, verb, group, resource string) string {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + stack.Namespace + ":" + account, Groups: []string{"system:serviceaccounts:" + stack.Namespace},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource},
	}}
	if err := s.Kube.Create(s.ctx, review); err != nil {
		t.Fatal(err)
	}
	if review.Status.Allowed {
		return ""
	}
	return fmt.Sprintf("the account %s may not %s %s", account, verb, resource)
}

// testTenants checks that a team can create a Machine that its tenant may have, within a quota, and that another one is refused. The provider has to
// read the labels of namespaces for that, which an example permits, and to keep a Secret and a ConfigMap in its own namespace, which Crossplane permits
// for every provider.
func (s *suite) testTenants(t *testing.T) {
	const (
		manifests, rights = "cluster/crossplane/testdata/tenants.yaml", "examples/crossplane/namespaces.yaml"
		common, own       = "clusterproviderconfigs.proxmox.m.vitistack.io/default", "providerconfigs.proxmox.vitistack.io/default"
	)
	before := s.vmNames(t)
	s.kubectl(t, "apply", "-f", rights) // They are kept: without them, watches that have started are denied.
	s.until(t, func() string { return s.deniedTo(t, "x", "watch", "", "namespaces") })
	s.setTenants(t, own, `[{"name": "operators", "resourceSelector": {}, "unrestricted": true}]`)
	s.setTenants(t, common, `[
		{"name": "operators", "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, "unrestricted": true},
		{"name": "team-a", "namespaceSelector": {"matchLabels": {"team": "a"}}, "vmidRange": {"min": 20000, "max": 20009}, "quota": {"vms": 1},
			"storages": ["ceph"], "bridges": [{"name": "vmbr0"}], "templates": ["ubuntu-*"]}]`)
	objs := s.apply(t, manifests)
	s.untilTrue(t, objs[1:2], "Ready", "Synced")
	if id := s.kubectl(t, "get", argument(objs[1]), "--namespace", "team-a", "--output=jsonpath={.status.atProvider.vmid}"); id != "20000" {
		t.Errorf("the Machine of the tenant has VM %q", id)
	}
	s.until(t, func() string {
		got := s.kubectl(t, "get", argument(objs[2]), "--namespace", "team-a", `--output=jsonpath={.status.conditions[?(@.type=="UpToDate")].message}`)
		if !strings.Contains(got, `tenant "team-a" may not (vmidRange)`) {
			return "the Machine that the tenant may not have is not refused: " + got
		}
		return ""
	})
	s.kubectl(t, "get", "secret", "provider-proxmox-records", "--namespace", stack.Namespace)
	if kept := s.kubectl(t, "get", "configmaps", "--namespace", stack.Namespace, "--output=name"); !strings.Contains(kept, "/provider-proxmox-quota-") {
		t.Errorf("the quota is kept in none of %s", kept)
	}
	s.kubectl(t, "delete", patience, "machines.proxmox.m.vitistack.io", "--all", "--namespace", "team-a")
	s.kubectl(t, "delete", "namespace", "team-a", "--wait=false")
	for _, config := range []string{common, own} {
		s.setTenants(t, config, "null")
	}
	s.untilVMs(t, before)
}

// setTenants sets the tenants of a provider configuration.
func (s *suite) setTenants(t *testing.T, config, tenants string) {
	t.Helper()
	s.kubectl(t, "patch", config, "--type=merge", "--patch", `{"spec": {"tenants": `+tenants+`}}`)
}

// vms returns the simulated cluster's VMs, with their whole configuration.
func (s *suite) vms(t *testing.T) map[string]string {
	t.Helper()
	vms, err := s.Simulator.VMs(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for id, vm := range vms {
		var answer struct{ Data json.RawMessage }
		if err := s.Simulator.Get(s.ctx, fmt.Sprintf("/nodes/%s/qemu/%d/config", vm.Node, id), &answer); err != nil {
			t.Fatal(err)
		}
		held[vmName(id, vm)] = string(answer.Data)
	}
	return held
}

func vmName(id int64, vm simulator.VM) string { return fmt.Sprintf("VM %d on %s", id, vm.Node) }

// vmNames returns the simulated cluster's VMs.
func (s *suite) vmNames(t *testing.T) []string {
	t.Helper()
	vms, err := s.Simulator.VMs(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for id, vm := range vms {
		names = append(names, vmName(id, vm))
	}
	slices.Sort(names)
	return names
}

// untilVMs waits until exactly the former VMs exist.
func (s *suite) untilVMs(t *testing.T, before []string) {
	t.Helper()
	s.until(t, func() string { return cmp.Diff(before, s.vmNames(t)) })
}

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
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/crossplane/stack"
)

// The tenants of both configurations: whoever operates the cluster, and a team whose namespaces are told by labels.
const tenants = `{"spec":{"tenants":[
	{"name":"operators","namespaces":["default"],"resourceSelector":{},"unrestricted":true},
	{"name":"team","namespaceSelector":{"matchLabels":{"team":"of-tenants"}},"vmidRange":{"min":20000,"max":20099},
		"storages":["local-lvm","ceph"],"bridges":[{"name":"vmbr0"}],"templates":["ubuntu-*"]}
]}}`

// testTenants has a team whose namespace is told by its labels make a VM, which the provider signs. For that it has to read namespaces,
// which Crossplane does not let it do by itself, and to make a Secret in its own, which Crossplane does.
func (s *suite) testTenants(t *testing.T) {
	const manifests = "cluster/crossplane/testdata/tenants.yaml"
	before := s.vmNames(t)
	s.kubectl(t, "apply", "-f", "examples/crossplane/namespaces.yaml") // It stays: the provider goes on watching namespaces.
	configs := []string{"clusterproviderconfigs.proxmox.m.vitistack.io", "providerconfigs.proxmox.vitistack.io"}
	for _, config := range configs {
		s.kubectl(t, "patch", config, "default", "--type=merge", "--patch", tenants)
	}
	machines := slices.DeleteFunc(s.apply(t, manifests), func(o *unstructured.Unstructured) bool { return o.GetKind() != "Machine" })
	s.untilTrue(t, machines, "Ready", "Synced")
	for _, m := range machines {
		if id, _, _ := unstructured.NestedInt64(m.Object, "status", "atProvider", "vmid"); id != 20000 {
			t.Errorf("want the first VMID of the team, got %d", id)
		}
		if signature, _, _ := unstructured.NestedString(m.Object, "status", "atProvider", "recordSignature"); signature == "" {
			t.Error("which VM is the Machine's is not signed")
		}
	}
	s.kubectl(t, "get", "secret", "provider-proxmox-records", "--namespace", stack.Namespace)
	s.kubectl(t, "delete", "--timeout=2m", "-f", manifests)
	for _, config := range configs {
		s.kubectl(t, "patch", config, "default", "--type=merge", "--patch", `{"spec":{"tenants":null}}`)
	}
	s.untilVMs(t, before)
}

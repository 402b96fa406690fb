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
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	claims      = "virtualmachineclaims.platform.vitistack.io"
	composition = compositions + "/apis/claim"
)

// testOffer offers claims without a package, long before they are created: see testDependencies.
func (s *suite) testOffer(t *testing.T) {
	s.pushConditions(t)
	for _, function := range functionsOfClaims() {
		s.untilTrue(t, s.apply(t, function), "Installed", "Healthy")
	}
	s.apply(t, composition)
	s.untilTrue(t, []*unstructured.Unstructured{
		object("apiextensions.crossplane.io/v1", "CompositeResourceDefinition", "xvirtualmachines.platform.vitistack.io"),
	}, "Established", "Offered")
}

// testClaims lets a team request a VM, get it with its connection details, and delete it.
func (s *suite) testClaims(t *testing.T) {
	before := s.vmNames(t)
	claim := s.apply(t, compositions+"/examples/virtualmachineclaim.yaml")
	s.untilTrue(t, claim, "Ready", "Synced", "VMCreated", "ResourcesAllocated", "NetworkConfigured")
	t.Run("Failed", s.testFailedClaim)
	s.until(t, func() string { return lacksStatus(s.get(t, claims, "shop")) })
	s.until(t, func() string { return s.lacksDetails("shop-connection") })
	t.Run("Tenants", s.testTenantsOfClaims)

	s.kubectl(t, "delete", patience, claims, "shop", "--namespace=default")
	s.untilVMs(t, before)
	secret := object("v1", "Secret", "shop-connection")
	secret.SetNamespace("default")
	s.untilGone(t, []*unstructured.Unstructured{secret})

	s.kubectl(t, "delete", patience, "-f", composition)
	for _, function := range functionsOfClaims() {
		s.kubectl(t, "delete", patience, "-f", function)
	}
}

// testTenantsOfClaims checks that the namespace of a claim selects the tenant of the claim's Machine. The Machine is refused a connection Secret in the
// namespace where Compositions keep them until its tenant may have some there, and then gets a VM of the tenant.
func (s *suite) testTenantsOfClaims(t *testing.T) {
	const (
		common, own = "clusterproviderconfigs.proxmox.m.vitistack.io/default", "providerconfigs.proxmox.vitistack.io/default"
		operators   = `{"name": "operators", "unrestricted": true, `
		tenants     = `[` + operators + `"resourceSelector": {"matchExpressions": [{"key": "crossplane.io/claim-namespace", "operator": "DoesNotExist"}]}},
			{"name": "shop", "namespaces": ["default"], "vmidRange": {"min": 21000, "max": 21009}, "storages": ["local-lvm", "ceph"],
			"bridges": [{"name": "vmbr0"}], "templates": ["ubuntu-*"]`
	)
	s.setTenants(t, common, `[`+operators+`"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}]`)
	s.setTenants(t, own, tenants+`}]`)
	claim := read(t, compositions+"/examples/virtualmachineclaim.yaml")[0]
	claim.SetName("of-tenant")
	s.create(t, claim, "of-tenant-connection", "spec", "writeConnectionSecretToRef", "name")
	of := func(path string) string {
		return s.kubectl(t, "get", "machines.proxmox.vitistack.io", "--selector=crossplane.io/claim-name=of-tenant", "--output=jsonpath={.items[*].status."+path+"}")
	}
	s.until(t, func() string {
		if got := of(`conditions[?(@.type=="UpToDate")].message`); !strings.Contains(got, `tenant "shop" may not (namespaces): writeConnectionSecretToRef`) {
			return "the connection Secret in the namespace of others is not refused: " + got
		}
		return ""
	})
	s.setTenants(t, own, tenants+`, "connectionSecretNamespaces": ["crossplane-system"]}]`)
	s.untilTrue(t, []*unstructured.Unstructured{claim}, "Ready", "Synced")
	if id := of("atProvider.vmid"); id != "21000" {
		t.Errorf("the Machine of the tenant's claim has VM %q", id)
	}
	s.until(t, func() string { return s.lacksDetails("of-tenant-connection") })
	s.kubectl(t, "delete", patience, argument(claim), "--namespace=default")
	for _, config := range []string{common, own} {
		s.setTenants(t, config, "null")
	}
}

// functionsOfClaims returns the manifests of the functions that the Composition of claims uses.
func functionsOfClaims() []string {
	return []string{"examples/crossplane/function.yaml", "examples/crossplane/function-conditions.yaml"}
}

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
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	claims      = "virtualmachineclaims.platform.vitistack.io"
	composition = compositions + "/apis/claim"
)

// testOffer offers claims without a package, long before they are made: see testDependencies.
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

// testClaims has a team ask for a VM and get it with its connection details, and give it back.
func (s *suite) testClaims(t *testing.T) {
	before := s.vmNames(t)
	claim := s.apply(t, compositions+"/examples/virtualmachineclaim.yaml")
	s.untilTrue(t, claim, "Ready", "Synced", "VMCreated", "ResourcesAllocated", "NetworkConfigured")
	t.Run("Failed", s.testFailedClaim)
	s.until(t, func() string { return lacksStatus(s.get(t, claims, "shop")) })
	s.until(t, func() string { return s.lacksDetails("shop-connection") })

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

// functionsOfClaims are the manifests of the functions that the Composition of claims is made of.
func functionsOfClaims() []string {
	return []string{"examples/crossplane/function.yaml", "examples/crossplane/function-conditions.yaml"}
}

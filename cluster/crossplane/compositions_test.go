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

	"github.com/vitistack/provider-proxmox/cluster/crossplane/stack"
	"github.com/vitistack/provider-proxmox/cluster/local/assets"
)

// testComposition has a composite resource make a VM by the function, which Crossplane reaches as it does in a cluster.
func (s *suite) testComposition(t *testing.T) {
	s.installFunction(t)
	before := s.vmNames(t)
	apis := s.apply(t, "cluster/crossplane/testdata/composition")
	s.untilTrue(t, apis[:1], "Established")
	servers := s.apply(t, "cluster/crossplane/testdata/server.yaml")
	s.untilTrue(t, servers, "Ready", "Synced")
	if id, _, _ := unstructured.NestedInt64(servers[0].Object, "status", "vmid"); id == 0 {
		t.Errorf("the status does not tell the VM: %v", servers[0].Object["status"])
	}
	s.kubectl(t, "delete", "--timeout=1m", "-f", "cluster/crossplane/testdata/server.yaml")
	// Not before the kind of the VM's owner goes: Kubernetes could not tell any more that the owner is gone.
	s.untilVMs(t, before)
	s.kubectl(t, "delete", "--timeout=1m", "-f", "cluster/crossplane/testdata/composition")
}

// functionObject is the name that Crossplane gives the function when a Configuration depends on it.
const functionObject = "crossplane-contrib-" + assets.Function

// installFunction installs the function of Compositions from its package.
func (s *suite) installFunction(t *testing.T) {
	t.Helper()
	f := object("pkg.crossplane.io/v1", "Function", functionObject)
	f.Object["spec"] = map[string]any{"package": "xpkg.crossplane.io/" + stack.FunctionName + ":" + stack.FunctionTag}
	if err := s.Kube.Apply(s.ctx, f); err != nil {
		t.Fatal(err)
	}
	s.untilTrue(t, []*unstructured.Unstructured{f}, "Installed", "Healthy")
}

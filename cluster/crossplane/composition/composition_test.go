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

package composition

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	localkube "github.com/vitistack/provider-proxmox/cluster/local/kube"
)

var (
	update = flag.Bool("update", false, "write what is composed into testdata") //nolint:gochecknoglobals // As flags are.
	uids   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)    //nolint:gochecknoglobals // A constant.
)

// TestExamples composes each example until it is ready, and compares the result with a file.
func TestExamples(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  []string
	}{
		"virtualmachine": {reason: "every field that most people set", files: []string{"examples/virtualmachine.yaml"}},
		"virtualmachine-least": {
			reason: "a VirtualMachine that has nothing but a name becomes a Machine", files: []string{"examples/virtualmachine-least.yaml"},
		},
		"virtualmachine-static": {
			reason: "the fields that set static addresses reach the Machine", files: []string{"examples/virtualmachine-static.yaml"},
		},
		"virtualmachineclaim": {reason: "what the claim asks for, its composite resource does", files: []string{"testdata/xvirtualmachine.yaml"}},
		"kubernetesnodes":     {reason: "three VirtualMachines, of which each is a Machine", files: []string{"examples/kubernetesnodes.yaml"}},
		"proxmox-operator-machine": {
			reason: "every field of the reference", files: []string{"migration/proxmox-operator/machine.yaml"},
		},
		"proxmox-operator-my-vm": {
			reason: "a manifest written for proxmox-operator is taken without a change", files: []string{"migration/proxmox-operator/my-vm.yaml"},
		},
		"proxmox-operator-cluster": {
			reason: "a cluster is how it is reached, and what it has", files: []string{"migration/proxmox-operator/cluster.yaml"},
		},
		"proxmox-operator-cluster-password": {
			reason: "with a password, and certificates in the spec", files: []string{"testdata/cluster-password.yaml"},
		},
		"proxmox-operator-node": {
			reason: "every field of the reference", files: []string{"migration/proxmox-operator/node.yaml"},
		},
		"sankofa": {
			reason: "manifests written for another operator are taken without a change",
			files:  []string{"migration/sankofa/providerconfig.yaml", "migration/sankofa/web-server-01.yaml"},
		},
		"sankofa-least": {
			reason: "what is left out has the reference's defaults", files: []string{"testdata/least-vm.yaml"},
		},
		"virtrigaud-provider": {
			reason: "manifests written for another operator are taken without a change",
			files:  []string{"migration/virtrigaud/provider-proxmox-prod.yaml", "migration/virtrigaud/provider-proxmox-cluster.yaml"},
		},
		"virtrigaud-web-server": {
			reason: "On is a truth value in YAML",
			files:  []string{"migration/virtrigaud/class-small.yaml", "migration/virtrigaud/image-ubuntu-22.yaml", "migration/virtrigaud/web-server.yaml"},
		},
		"virtrigaud-multi-nic-vm": {
			reason: "several interfaces, with addresses",
			files:  []string{"migration/before/class-medium.yaml", "migration/virtrigaud/image-ubuntu-22.yaml", "migration/virtrigaud/multi-nic-vm.yaml"},
		},
		"virtrigaud-snapshot": {
			reason: "a manifest written for another operator is taken without a change", files: []string{"testdata/snapshot.yaml"},
		},
		"virtrigaud-snapshot-memory": {
			reason: "the memory is saved if that is asked for", files: []string{"others/virtrigaud/before-upgrade-memory.yaml"},
		},
		"virtrigaud-snapshot-provider": {
			reason: "the Provider of the VirtualMachine is that of its snapshot", files: []string{"testdata/snapshot-provider.yaml"},
		},
		"virtrigaud-clone": {
			reason: "a clone is linked unless it says otherwise", files: []string{"others/virtrigaud/web-clone.yaml"},
		},
		"virtrigaud-clone-full": {
			reason: "a full clone is one of any VM", files: []string{"testdata/clone-full.yaml"},
		},
		"virtrigaud-placement": {
			reason: "a policy places VMs; eight interfaces, IPv6, a reboot, storage classes, and a VM as image",
			files: []string{
				"migration/virtrigaud/class-standard.yaml", "migration/virtrigaud/placement-policy.yaml", "testdata/any-image.yaml", "testdata/placed.yaml",
			},
		},
		"virtrigaud-storage": {
			reason: "a class says where the first disk is",
			files:  []string{"migration/virtrigaud/class-high-performance.yaml", "migration/virtrigaud/image-ubuntu-22.yaml", "testdata/fast.yaml"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			got := map[string]any{}
			for _, obj := range load(t, tc.files...) {
				if err := w.create(obj); err != nil {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				if !w.settle(obj) {
					t.Errorf("%s: %s %q is not ready: %v", tc.reason, obj.GetKind(), obj.GetName(), w.warnings)
				}
				got[obj.GetKind()+" "+obj.GetName()] = w.tree(obj)
			}
			w.compare(name, got)
		})
	}
}

// load returns the objects of files of examples/composition, or of this package's testdata.
func load(t *testing.T, files ...string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, file := range files {
		if !strings.HasPrefix(file, "testdata/") {
			file = checkout.Resolve("examples/composition/" + file)
		}
		objs, err := localkube.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, objs...)
	}
	return out
}

// tree returns the resources that a composite resource is composed of, down to those that are not composite resources, with its status.
func (w *world) tree(xr *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for name, obj := range w.made[string(xr.GetUID())] {
		// Names that contain the UID are replaced, so that they are the same in every run.
		part := asAsked(obj)
		delete(part, "status")
		if spec, ok := part["spec"].(map[string]any); ok {
			delete(spec, "crossplane")
		}
		if below := w.tree(obj); len(w.made[string(obj.GetUID())]) > 0 {
			part["composed"] = below
		}
		if obj.GetKind() == "Secret" || strings.HasSuffix(obj.GetKind(), "ProviderConfig") || obj.GetKind() == "Composition" {
			part["name"] = obj.GetName()
		}
		out[strings.ReplaceAll(name, string(xr.GetUID()), "UID")] = part
	}
	status, _ := xr.Object["status"].(map[string]any)
	shown := map[string]any{}
	for key, value := range status {
		if shown[key] = value; key == "conditions" {
			shown[key] = withoutTimes(value.([]any))
		}
	}
	return map[string]any{"resources": out, "status": shown}
}

// withoutTimes returns conditions without the parts that differ from run to run.
func withoutTimes(conditions []any) []any {
	var out []any
	for _, c := range conditions {
		c := maps.Clone(c.(map[string]any))
		delete(c, "lastTransitionTime")
		out = append(out, c)
	}
	return out
}

// compare compares a result with the file in testdata.
func (w *world) compare(name string, got map[string]any) {
	w.t.Helper()
	raw, err := yaml.Marshal(got)
	if err != nil {
		w.t.Fatal(err)
	}
	now := uids.ReplaceAllString(string(raw), "UID")
	path := filepath.Join("testdata", "composed", name+".yaml")
	if *update {
		if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), now); diff != "" {
		w.t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestAccepted checks that the API server accepts the definitions and Compositions, by Crossplane's own definitions.
func TestAccepted(t *testing.T) {
	objs, err := below("apis")
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objs {
		if err := kube.Create(t.Context(), obj, client.DryRunAll); err != nil {
			t.Errorf("%s %q is refused: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
	if len(objs) == 0 {
		t.Error("there are no definitions")
	}
}

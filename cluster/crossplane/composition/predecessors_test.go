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
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPredecessors checks that nothing is created for resources that are older than the definition of their kind, as when Crossplane takes over the
// definitions of another operator, and that it is created once the resource is created again.
func TestPredecessors(t *testing.T) {
	cases := map[string]struct {
		// before has files with objects that the composite resource waits for.
		before []string
		file   string
	}{
		"Machine":               {file: "migration/proxmox-operator/machine.yaml"},
		"ProxmoxVirtualMachine": {file: "migration/proxmox-operator/my-vm.yaml"},
		"ProxmoxVM":             {file: "migration/sankofa/web-server-01.yaml"},
		"VirtualMachine": {
			before: []string{"migration/virtrigaud/class-small.yaml", "migration/virtrigaud/image-ubuntu-22.yaml"},
			file:   "migration/virtrigaud/web-server.yaml",
		},
		"VMClone": {file: "others/virtrigaud/web-clone.yaml"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, obj := range load(t, tc.before...) {
				if err := w.create(obj); err != nil {
					t.Fatal(err)
				}
				w.settle(obj)
			}
			create := func() *unstructured.Unstructured {
				xr := load(t, tc.file)[0]
				xr.SetName("predecessor")
				if err := w.create(xr); err != nil {
					t.Fatal(err)
				}
				return xr
			}
			old := create()
			w.refusable, w.defined = true, old.GetCreationTimestamp().Add(time.Second)
			if w.settle(old) || len(w.made[string(old.GetUID())]) > 0 {
				t.Errorf("of a %s that is older than its definition is made %v", old.GetKind(), w.made[string(old.GetUID())])
			}
			if want := old.GetKind() + ` "predecessor" was there before the CompositeResourceDefinition`; !strings.HasPrefix(w.refusal, want) {
				t.Errorf("want the message %q…, got %q", want, w.refusal)
			}
			if err := kube.Delete(t.Context(), old); err != nil {
				t.Fatal(err)
			}
			next := create()
			if w.defined = next.GetCreationTimestamp().Time; !w.settle(next) || w.machine(next) == nil {
				t.Errorf("a %s that was created again has no Machine: %s %v", next.GetKind(), w.refusal, w.warnings)
			}
		})
	}
}

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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// typed is a Machine of the scope as the provider reads it.
func (s scope) typed() client.Object {
	if s.namespace == "" {
		return &cluster.Machine{}
	}
	return &namespaced.Machine{}
}

func forProviderOf(o client.Object) *v1alpha1.MachineParameters {
	return o.(interface {
		Parameters() *v1alpha1.MachineParameters
	}).Parameters()
}

func observationOf(o client.Object) *v1alpha1.MachineObservation {
	return o.(interface {
		Observation() *v1alpha1.MachineObservation
	}).Observation()
}

// lists are those of devices that a spec has: none of them, or how many entries.
func lists(t *testing.T, u *unstructured.Unstructured) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, name := range []string{"disks", "cdroms", "networks", "pciDevices", "usbDevices", "virtiofs"} {
		all, there, err := unstructured.NestedSlice(u.Object, "spec", "forProvider", name)
		if err != nil {
			t.Fatal(err)
		}
		if there {
			found[name] = len(all)
		}
	}
	return found
}

const (
	emptyLists = `{disks: [], cdroms: [], networks: [], pciDevices: [], usbDevices: [], virtiofs: []}`
	someLists  = `{disks: [{name: root, size: 1G}], networks: [{name: lan}], usbDevices: [{name: key, host: spice}]}`
)

// TestListsThatAreLeftOut tells lists that a user leaves out from empty ones, whichever way
// the manifest gets to the API server.
func TestListsThatAreLeftOut(t *testing.T) {
	none := map[string]int{}
	empty := map[string]int{"disks": 0, "cdroms": 0, "networks": 0, "pciDevices": 0, "usbDevices": 0, "virtiofs": 0}
	for scopeName, s := range scopes() {
		merge := func(patch string) func(*testing.T, *unstructured.Unstructured) error {
			return func(t *testing.T, u *unstructured.Unstructured) error {
				t.Helper()
				return kube.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(patch)))
			}
		}
		apply := func(spec string) func(*testing.T, *unstructured.Unstructured) error {
			return func(t *testing.T, u *unstructured.Unstructured) error {
				t.Helper()
				m := s.object(t, "Machine", `{forProvider: `+spec+`}`)
				m.SetName(u.GetName())
				err := kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(m), client.FieldOwner("kubectl"), client.ForceOwnership)
				if err == nil {
					err = kube.Get(t.Context(), client.ObjectKeyFromObject(u), u)
				}
				return err
			}
		}
		update := func(t *testing.T, u *unstructured.Unstructured) error {
			t.Helper()
			m := s.typed()
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(u), m); err != nil {
				return err
			}
			m.SetAnnotations(map[string]string{"example.org/a": "b"})
			if err := kube.Update(t.Context(), m); err != nil {
				return err
			}
			return kube.Get(t.Context(), client.ObjectKeyFromObject(u), u)
		}
		cases := map[string]struct {
			reason string
			spec   string
			do     []func(*testing.T, *unstructured.Unstructured) error
			want   map[string]int
		}{
			"Empty": {reason: "An empty list is one.", spec: emptyLists, want: empty},
			"Update": {
				reason: "An empty list stays when the provider writes the whole object.", spec: emptyLists,
				do: []func(*testing.T, *unstructured.Unstructured) error{update}, want: empty,
			},
			"UpdateAbsent": {
				reason: "A list that is not there stays away when the provider writes the whole object.",
				spec:   `{}`, do: []func(*testing.T, *unstructured.Unstructured) error{update}, want: none,
			},
			"ClientSide": {
				reason: "kubectl apply, like Helm, sends null for a list that the manifest had before.", spec: someLists,
				do:   []func(*testing.T, *unstructured.Unstructured) error{merge(`{"spec":{"forProvider":{"disks":null,"networks":null,"usbDevices":null}}}`), update},
				want: none,
			},
			"ClientSideEmpty": {
				reason: "kubectl apply, like Helm, sends an empty list as it is.", spec: someLists,
				do:   []func(*testing.T, *unstructured.Unstructured) error{merge(`{"spec":{"forProvider":{"disks":[],"networks":[],"usbDevices":null}}}`), update},
				want: map[string]int{"disks": 0, "networks": 0},
			},
			"ServerSide": {
				reason: "Who applies on the server side and leaves a list out takes it out.", spec: `{}`,
				do: []func(*testing.T, *unstructured.Unstructured) error{apply(someLists), apply(`{memory: 1Gi}`), update}, want: none,
			},
			"ServerSideEmpty": {
				reason: "The API server takes a list out whose last entries go, and an empty one that is applied then stays.", spec: `{}`,
				do: []func(*testing.T, *unstructured.Unstructured) error{apply(someLists), apply(emptyLists), apply(emptyLists), update}, want: empty,
			},
			"ServerSideLast": {
				reason: "A list whose last entry goes changes nothing, which is safe.", spec: `{}`,
				do:   []func(*testing.T, *unstructured.Unstructured) error{apply(someLists), apply(`{disks: [], networks: [{name: lan}]}`)},
				want: map[string]int{"networks": 1},
			},
		}
		for name, tc := range cases {
			t.Run(scopeName+"/"+name, func(t *testing.T) {
				u := s.object(t, "Machine", `{forProvider: `+tc.spec+`}`)
				u.SetName("lists-" + strings.ToLower(scopeName+"-"+name))
				if err := kube.Create(t.Context(), u); err != nil {
					t.Fatal(err)
				}
				for _, do := range tc.do {
					if err := do(t, u); err != nil {
						t.Fatalf("\n%s\n%v", tc.reason, err)
					}
				}
				if diff := cmp.Diff(tc.want, lists(t, u)); diff != "" {
					t.Errorf("\n%s\nlists: -want, +got:\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// An image needs its disk when the VM is made from it, and not later.
func TestImageWithoutItsDisk(t *testing.T) {
	for name, s := range scopes() {
		t.Run(name, func(t *testing.T) {
			u := s.object(t, "Machine", `{forProvider: {image: {volume: "local:import/a.qcow2"}, disks: [{name: root, size: 1G}]}}`)
			u.SetName("image-" + strings.ToLower(name))
			if err := kube.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			for _, patch := range []string{`{"spec":{"forProvider":{"disks":[]}}}`, `{"spec":{"forProvider":{"disks":null}}}`} {
				if err := kube.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
					t.Errorf("An edit that takes the disk off is refused: %v", err)
				}
			}
		})
	}
}

// A vmid that is added to a Machine which is another VM is refused, and nothing else is:
// neither writes of status and finalizers nor the deletion.
func TestVMIDOfAMachineWithAVM(t *testing.T) {
	for name, s := range scopes() {
		t.Run(name, func(t *testing.T) {
			u := s.object(t, "Machine", `{forProvider: {}}`)
			u.SetName("vmid-" + strings.ToLower(name))
			if err := kube.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			m := s.typed()
			read := func() {
				t.Helper()
				if err := kube.Get(t.Context(), client.ObjectKeyFromObject(u), m); err != nil {
					t.Fatal(err)
				}
			}
			read()
			observationOf(m).VMID = new(int32(10006))
			if err := kube.Status().Update(t.Context(), m); err != nil {
				t.Fatalf("status of the VM: %v", err)
			}
			forProviderOf(m).VMID = new(int32(555))
			if err := kube.Update(t.Context(), m); err == nil || !strings.Contains(err.Error(), "vmid cannot be 555: this Machine is VM 10006") {
				t.Errorf("want another VMID refused with both, got %v", err)
			}
			read()
			forProviderOf(m).VMID = new(int32(10006))
			if err := kube.Update(t.Context(), m); err != nil {
				t.Errorf("its own VMID is refused: %v", err)
			}
			// A Machine that has come by another VMID before the rule was there can be written and deleted.
			read()
			observationOf(m).VMID = new(int32(10007))
			if err := kube.Status().Update(t.Context(), m); err != nil {
				t.Errorf("status is refused: %v", err)
			}
			m.SetFinalizers([]string{"example.org/finalizer"})
			if err := kube.Update(t.Context(), m); err != nil {
				t.Errorf("a finalizer is refused: %v", err)
			}
			if err := kube.Delete(t.Context(), m); err != nil {
				t.Errorf("the deletion is refused: %v", err)
			}
			read()
			m.SetFinalizers(nil)
			if err := kube.Update(t.Context(), m); err != nil {
				t.Errorf("the end of the deletion is refused: %v", err)
			}
		})
	}
}

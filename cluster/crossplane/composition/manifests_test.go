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
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// makes composes a resource from YAML until it is ready, after other resources that it needs.
func (w *world) makes(xr string, before ...string) *unstructured.Unstructured {
	w.t.Helper()
	for _, obj := range load(w.t, before...) {
		if err := w.create(obj); err != nil {
			w.t.Fatal(err)
		}
		w.settle(obj)
	}
	obj := parse(w.t, xr)
	if err := w.create(obj); err != nil {
		w.t.Fatal(err)
	}
	if !w.settle(obj) {
		w.t.Errorf("%s %q is not ready: %v", obj.GetKind(), obj.GetName(), w.warnings)
	}
	return obj
}

// asked returns a part of the desired composed resource, or nil.
func (w *world) asked(xr *unstructured.Unstructured, name string, path ...string) any {
	w.t.Helper()
	obj := w.made[string(xr.GetUID())][name]
	if obj == nil {
		w.t.Fatalf("%s %q is composed of no %s", xr.GetKind(), xr.GetName(), name)
	}
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil {
		w.t.Fatal(err)
	}
	return value
}

// TestProviderVariables checks the results of the variables of a Provider's runtime.
func TestProviderVariables(t *testing.T) {
	cases := map[string]struct {
		reason, env string
		insecure    any
		nodes       any
		bundle      any
	}{
		"None":     {"Certificates are verified, and no node is preferred, where no variable says otherwise.", "[]", false, nil, nil},
		"Insecure": {"The reference has true.", `[{name: PVE_INSECURE_SKIP_VERIFY, value: "true"}]`, true, nil, nil},
		"One":      {"A flag of the environment may be written as 1.", `[{name: PVE_INSECURE_SKIP_VERIFY, value: "1"}]`, true, nil, nil},
		"Secure":   {"A variable may say false, as in the reference.", `[{name: PVE_INSECURE_SKIP_VERIFY, value: "false"}]`, false, nil, nil},
		"Other":    {"Another variable that is true says nothing of certificates.", `[{name: OTHER, value: "true"}]`, false, nil, nil},
		"Nodes": {
			reason:   "The variables of nodes and of certificates count, whatever stands between them.",
			env:      `[{name: PVE_NODE_SELECTOR, value: "pve-1, pve-2"}, {name: OTHER, value: x}, {name: PVE_INSECURE_SKIP_VERIFY, value: "true"}]`,
			insecure: true,
			nodes:    []any{"pve-1", "pve-2"},
		},
		"Bundle": {
			reason: "The variable has the certificates themselves, beside the others.",
			env: `[{name: PVE_NODE_SELECTOR, value: pve-1}, {name: PVE_CA_BUNDLE, value: "-----BEGIN CERTIFICATE-----\nMIIB+/==\n-----END CERTIFICATE-----\n"}, ` +
				`{name: PVE_INSECURE_SKIP_VERIFY, value: "1"}]`,
			insecure: true,
			nodes:    []any{"pve-1"},
			bundle:   "-----BEGIN CERTIFICATE-----\nMIIB+/==\n-----END CERTIFICATE-----\n",
		},
		"LargeBundle": {
			reason:   "A bundle of many certificates may have comments, with quotes and backslashes.",
			env:      `[{name: PVE_CA_BUNDLE, value: "# \"Site\" <ca> C:\\ca %s\n` + strings.Repeat("M", 60000) + `"}]`,
			insecure: false,
			bundle:   `# "Site" <ca> C:\ca %s` + "\n" + strings.Repeat("M", 60000),
		},
		"NoBundle": {"An empty variable adds no certificates.", `[{name: PVE_CA_BUNDLE, value: ""}, {name: OTHER, value: x}]`, false, nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			xr := w.makes("{apiVersion: infra.virtrigaud.io/v1beta1, kind: Provider, metadata: {name: variables, namespace: x}, spec: " +
				"{endpoint: 'https://pve.example.com:8006', runtime: {env: " + tc.env + "}}}")
			if got := w.asked(xr, "connection", "spec", "tls", "insecureSkipTLSVerify"); got != tc.insecure {
				t.Errorf("%s\nwant insecureSkipTLSVerify %v, got %v", tc.reason, tc.insecure, got)
			}
			if diff := cmp.Diff(tc.nodes, w.asked(xr, "connection", "spec", "preferredNodes")); diff != "" {
				t.Errorf("%s\nnodes: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.bundle, w.asked(xr, "connection", "spec", "tls", "caCertificate")); diff != "" {
				t.Errorf("%s\ncertificates: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTenantsOfProxmoxVM checks that either label makes the Machine one of the tenant, and that user-data is passed on to it.
func TestTenantsOfProxmoxVM(t *testing.T) {
	cases := map[string]struct {
		reason, labels string
		want           any
	}{
		"None":   {"A VM is no tenant's unless it says so.", "{}", nil},
		"Short":  {"The reference has this label.", "{tenant-id: customer-123}", "customer-123"},
		"Long":   {"The reference has this label as well.", "{tenant.sankofa.nexus/id: customer-456}", "customer-456"},
		"Both":   {"The label with a domain counts where there are both.", "{tenant-id: customer-123, tenant.sankofa.nexus/id: customer-456}", "customer-456"},
		"Others": {"Other labels stay on the ProxmoxVM.", "{app: web}", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			xr := w.makes("{apiVersion: proxmox.sankofa.nexus/v1alpha1, kind: ProxmoxVM, metadata: {name: tenants, labels: " + tc.labels + "}, " +
				"spec: {providerConfigRef: {name: x}, forProvider: {node: a, name: a, cpu: 1, memory: 8Gi, disk: 8Gi, image: a, site: a, " +
				`userData: "#cloud-config\npackages: [nginx]\n"}}}`)
			if got := w.asked(xr, "machine", "metadata", "labels", "tenant-id"); got != tc.want {
				t.Errorf("%s\nwant the label %v, got %v", tc.reason, tc.want, got)
			}
			want := "#cloud-config\npackages: [nginx]\n"
			if got := w.asked(xr, "machine", "spec", "forProvider", "cloudInit", "userData", "inline"); got != want {
				t.Errorf("%s\nwant user-data %q, got %q", tc.reason, want, got)
			}
		})
	}
}

// TestPhaseBeforeMachine checks that kinds that show the phase of a VM show one before its Machine has any.
func TestPhaseBeforeMachine(t *testing.T) {
	for name, manifest := range map[string]string{
		"Vitistack":             "{apiVersion: vitistack.io/v1alpha1, kind: Machine, metadata: {name: phase}, spec: {}}",
		"ProxmoxVirtualMachine": "{apiVersion: proxmox.vitistack.io/v1alpha1, kind: ProxmoxVirtualMachine, metadata: {name: phase}, spec: {}}",
		"Platform": "{apiVersion: platform.vitistack.io/v1alpha1, kind: VirtualMachine, metadata: {name: phase}, " +
			"spec: {class: small, image: ubuntu-24.04}}",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.observe = func(*unstructured.Unstructured) {}
			xr := parse(t, manifest)
			if err := w.create(xr); err != nil {
				t.Fatal(err)
			}
			if ready, phase := w.settle(xr), xr.Object["status"].(map[string]any)["phase"]; ready || phase != pending {
				t.Errorf("want the phase %s, got %q, ready %t", pending, phase, ready)
			}
		})
	}
}

// TestPowerAndNetworks checks the results of powerState and of the names of networks of a VirtualMachine.
func TestPowerAndNetworks(t *testing.T) {
	cases := map[string]struct{ reason, power, network, state, bridge string }{
		"On":         {"The reference has On, which is a truth value in YAML.", "On", "lan", "Running", "vmbr0"},
		"Off":        {"The reference has Off, which is a truth value in YAML.", "Off", "default", "Stopped", "vmbr0"},
		"Quoted":     {"A text is no other state.", `"Off"`, "dmz", "Stopped", "vmbr1"},
		"Management": {"The names management and mgmt lead to one bridge.", "On", "management", "Running", "vmbr2"},
		"Mgmt":       {"The names management and mgmt lead to one bridge.", "On", "mgmt", "Running", "vmbr2"},
		"Bridge":     {"A bridge may be named itself.", "On", "vmbr7", "Running", "vmbr7"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			xr := w.makes(fmt.Sprintf("{apiVersion: infra.virtrigaud.io/v1beta1, kind: VirtualMachine, metadata: {name: power, namespace: x}, spec: "+
				"{providerRef: {name: x}, classRef: {name: small}, imageRef: {name: ubuntu-22}, powerState: %s, networks: [{name: %s}]}}", tc.power, tc.network),
				"migration/virtrigaud/class-small.yaml", "migration/virtrigaud/image-ubuntu-22.yaml")
			if got := w.machine(xr)["powerState"]; got != tc.state {
				t.Errorf("%s\nwant %s, got %v", tc.reason, tc.state, got)
			}
			if diff := cmp.Diff([]any{map[string]any{"name": tc.network, "bridge": tc.bridge}}, w.machine(xr)["networks"]); diff != "" {
				t.Errorf("%s\nnetworks: -want, +got:\n%s", tc.reason, diff)
			}
			if got, _, _ := unstructured.NestedString(xr.Object, "status", "phase"); got != "Running" {
				t.Errorf("%s\nwant the phase of the Machine, Running, got %q", tc.reason, got)
			}
		})
	}
}

// TestRollbackOfVirtualMachine checks that a rollback is passed on to the Machine unchanged, that its result is shown, and that one token stands for
// one snapshot.
func TestRollbackOfVirtualMachine(t *testing.T) {
	w := newWorld(t)
	became := map[string]any{
		"token": "1", "snapshot": "before-upgrade-1a2b3c4d", "time": "2026-01-02T03:04:05Z", "state": "Refused",
		"message": "VM 10000 runs: stop it, or set rollback.allowRunning",
	}
	w.observe = func(obj *unstructured.Unstructured) {
		running(obj)
		if rollback, _, _ := unstructured.NestedMap(obj.Object, "spec", "forProvider", "rollback"); rollback != nil {
			_ = unstructured.SetNestedMap(obj.Object, became, "status", "atProvider", "rollback")
		}
	}
	xr := w.makes("{apiVersion: infra.virtrigaud.io/v1beta1, kind: VirtualMachine, metadata: {name: back, namespace: x}, spec: "+
		"{providerRef: {name: x}, classRef: {name: small}, imageRef: {name: ubuntu-22}, networks: [{name: lan}]}}",
		"migration/virtrigaud/class-small.yaml", "migration/virtrigaud/image-ubuntu-22.yaml")
	if got := w.machine(xr)["rollback"]; got != nil {
		t.Errorf("no rollback was asked for, got %v", got)
	}
	cases := []struct {
		reason  string
		set     map[string]any
		refused string
	}{
		{reason: "A VM goes back to a snapshot.", set: map[string]any{"snapshot": "before-upgrade", "token": "1"}},
		{
			reason: "Another snapshot needs another token.", set: map[string]any{"snapshot": "other", "token": "1"},
			refused: "another rollback.snapshot needs another rollback.token",
		},
		{reason: "The present state is no snapshot.", set: map[string]any{"snapshot": "current", "token": "2"}, refused: "not a snapshot"},
		{reason: "A rollback without a token would have no end.", set: map[string]any{"snapshot": "before-upgrade"}, refused: "spec.rollback.token: Required"},
		{reason: "A VM that runs may go back.", set: map[string]any{"snapshot": "other", "token": "2", "allowRunning": true}},
	}
	for _, tc := range cases {
		err := w.set(xr, tc.set, "spec", "rollback")
		if tc.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s\nwant a refusal with %q, got %v", tc.reason, tc.refused, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s\n%v", tc.reason, err)
		}
		w.settle(xr)
		if diff := cmp.Diff(tc.set, w.machine(xr)["rollback"]); diff != "" {
			t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
		}
		if got, _, _ := unstructured.NestedMap(xr.Object, "status", "rollback"); !cmp.Equal(became, got) {
			t.Errorf("%s\nthe status has %v, want %v", tc.reason, got, became)
		}
	}
}

// TestClassGone checks that the Machines of a VMClass do not change when the VMClass is deleted, and its Composition with it, and that they follow it
// again once it is restored.
func TestClassGone(t *testing.T) {
	w := newWorld(t)
	objs := load(t, "migration/virtrigaud/class-small.yaml", "migration/virtrigaud/image-ubuntu-22.yaml")
	for _, obj := range objs {
		if err := w.create(obj); err != nil {
			t.Fatal(err)
		}
		w.settle(obj)
	}
	vm := load(t, "migration/virtrigaud/web-server.yaml")[0]
	vm.SetName("outlives")
	if err := w.create(vm); err != nil {
		t.Fatal(err)
	}
	w.want(vm, "the class is there", "4Gi", "ubuntu-22-template")
	before := w.machine(vm)
	delete(w.names, "vmclass-small")
	w.settle(vm)
	if diff := cmp.Diff(before, w.machine(vm)); diff != "" {
		t.Errorf("the class is gone: -before, +now:\n%s", diff)
	}
	if err := w.set(objs[0], "6Gi", "spec", "memory"); err != nil {
		t.Fatal(err)
	}
	w.settle(objs[0])
	w.want(vm, "the class is back, with more memory", "6Gi", "ubuntu-22-template")
}

// TestPolicyChanged checks that a changed VMPlacementPolicy changes the placement in Machines, but not the nodes of their VMs.
func TestPolicyChanged(t *testing.T) {
	w := newWorld(t)
	objs := load(t, "migration/virtrigaud/placement-policy.yaml", "migration/virtrigaud/class-standard.yaml", "testdata/any-image.yaml", "testdata/placed.yaml")
	for _, obj := range objs {
		if err := w.create(obj); err != nil {
			t.Fatal(err)
		}
		w.settle(obj)
	}
	policy, vm := objs[0], objs[3]
	if err := w.set(policy, []any{"pve-node-3"}, "spec", "nodeSelector"); err != nil {
		t.Fatal(err)
	}
	w.settle(policy)
	w.settle(vm)
	if diff := cmp.Diff([]any{"pve-node-3"}, w.asked(vm, "machine", "spec", "forProvider", "placement", "nodes")); diff != "" {
		t.Errorf("nodes: -want, +got:\n%s", diff)
	}
	if node := w.machine(vm)["node"]; node != nil {
		t.Errorf("the Machine is to be on %v, which would move its VM", node)
	}
}

// TestChangedVirtualMachine checks that a change of a ProxmoxVirtualMachine, and nothing else, is passed on to its Machine. An earlier spec restores
// the former values, including a smaller disk: the Machine, which knows the size of its disk, refuses that.
func TestChangedVirtualMachine(t *testing.T) {
	w := newWorld(t)
	vm := load(t, "migration/proxmox-operator/my-vm.yaml")[0]
	vm.SetName("changed")
	if err := w.create(vm); err != nil {
		t.Fatal(err)
	}
	w.settle(vm)
	want := w.machine(vm)
	for _, to := range []struct {
		reason               string
		cores                int64
		memory, disk, bridge string
	}{
		{reason: "The new spec counts.", cores: 4, memory: "8Gi", disk: "40Gi", bridge: "vmbr1"},
		{reason: "The first spec counts again but for the size.", cores: 2, memory: "4Gi", disk: "40Gi", bridge: "vmbr0"},
		{reason: "The first spec is asked of the Machine whole.", cores: 2, memory: "4Gi", disk: "20Gi", bridge: "vmbr0"},
	} {
		want["cpu"], want["memory"] = map[string]any{"cores": to.cores}, to.memory
		want["disks"] = []any{map[string]any{"name": "system", "size": to.disk}}
		want["networks"] = []any{map[string]any{"name": "net0", "bridge": to.bridge, "model": "virtio"}}
		for field, value := range map[string]any{
			"resources": map[string]any{"cpu": to.cores, "memory": to.memory, "disk": to.disk},
			"network":   []any{map[string]any{"bridge": to.bridge, "model": "virtio"}},
		} {
			if err := w.set(vm, value, "spec", field); err != nil {
				t.Fatal(err)
			}
		}
		if !w.settle(vm) {
			t.Errorf("%s\nit is not ready after the change", to.reason)
		}
		if diff := cmp.Diff(want, w.machine(vm)); diff != "" {
			t.Errorf("%s\n-want, +got:\n%s", to.reason, diff)
		}
	}
}

// TestChangedProxmoxVM checks that a change of a ProxmoxVM, and nothing else, is passed on to its Machine, and that another image is refused. A smaller
// disk is also passed on to the Machine, which would refuse it: the test has no VM.
func TestChangedProxmoxVM(t *testing.T) {
	disk := func(size, storage string) []any {
		return []any{map[string]any{"name": "system", "size": size, "storage": storage}}
	}
	cases := map[string]struct {
		reason  string
		set     map[string]any
		want    map[string]any
		refused string
	}{
		"Grow": {
			reason: "Cores, memory and the size of the disk are those of the new spec.",
			set:    map[string]any{"cpu": int64(8), "memory": "16Gi", "disk": "200Gi"},
			want:   map[string]any{"cpu": map[string]any{"cores": int64(8)}, "memory": "16Gi", "disks": disk("200Gi", "local-lvm")},
		},
		"Shrink": {
			reason: "Fewer cores, less memory and a smaller disk are asked of the Machine, which knows how large the disk is and refuses all of it.",
			set:    map[string]any{"cpu": int64(1), "memory": "2Gi", "disk": "50Gi"},
			want:   map[string]any{"cpu": map[string]any{"cores": int64(1)}, "memory": "2Gi", "disks": disk("50Gi", "local-lvm")},
		},
		"Storage": {
			reason: "The disk moves to another storage.", set: map[string]any{"storage": "ceph"},
			want: map[string]any{"disks": disk("100Gi", "ceph"), "clone": map[string]any{"full": true, "storage": "ceph"}},
		},
		"Node": {reason: "The VM moves to another node.", set: map[string]any{"node": "pve2"}, want: map[string]any{"node": "pve2"}},
		"Bridge": {
			reason: "The VM is plugged into another bridge.", set: map[string]any{"network": "vmbr1"},
			want: map[string]any{"networks": []any{map[string]any{"name": "net0", "bridge": "vmbr1"}}},
		},
		"Name": {
			reason: "The VM is renamed, and has the name that Proxmox VE does not take in its description.", set: map[string]any{"name": "web_2"},
			want: map[string]any{"name": "web-2", "description": "web_2"},
		},
		"Image": {
			reason: "The VM cannot be created again.", set: map[string]any{"image": "debian-13"},
			refused: "image cannot change: the VM was made from ubuntu-22.04-cloud",
		},
		"SameImage": {reason: "A spec with the image that it has is applied again.", set: map[string]any{"image": "ubuntu-22.04-cloud"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			vm := load(t, "migration/sankofa/web-server-01.yaml")[0]
			vm.SetName("changed-" + strings.ToLower(name))
			if err := w.create(vm); err != nil {
				t.Fatal(err)
			}
			w.settle(vm)
			want := w.machine(vm)
			spec, _, _ := unstructured.NestedMap(vm.Object, "spec", "forProvider")
			maps.Copy(spec, tc.set)
			switch err := w.set(vm, spec, "spec", "forProvider"); {
			case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)):
				t.Fatalf("%s\nwant an error with %q, got %v", tc.reason, tc.refused, err)
			case tc.refused == "" && err != nil:
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if !w.settle(vm) {
				t.Errorf("%s\nit is not ready after the change: %v", tc.reason, w.warnings)
			}
			maps.Copy(want, tc.want)
			if diff := cmp.Diff(want, w.machine(vm)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTemplateStays checks that VMs of the Proxmox Operator keep their template.
func TestTemplateStays(t *testing.T) {
	kinds := map[string]string{"vitistack.io/v1alpha1": "Machine", "proxmox.vitistack.io/v1alpha1": "ProxmoxVirtualMachine"}
	cases := map[string]struct {
		reason, want string
		before, now  any
	}{
		"Other":   {"A VM is not cloned again.", "template cannot change: the VM was cloned from 9000", int64(9000), "debian-13"},
		"Text":    {"A VMID may be a number or a text.", "", int64(9000), "9000"},
		"Removed": {"A VM stays a clone.", "template can be neither added nor removed", "debian-13", nil},
		"Added":   {"A VM that was made from nothing becomes no clone.", "template can be neither added nor removed", nil, "debian-13"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for apiVersion, kind := range kinds {
				w := newWorld(t)
				xr := parse(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: stays, namespace: x}, spec: {}}", apiVersion, kind))
				if tc.before != nil {
					if err := unstructured.SetNestedField(xr.Object, tc.before, "spec", "template"); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.create(xr); err != nil {
					t.Fatal(err)
				}
				err := w.set(xr, tc.now, "spec", "template")
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("%s\n%s: want an error with %q, got %v", tc.reason, kind, tc.want, err)
				}
			}
		})
	}
}

// TestTakenOver checks that a ProviderConfig with the name of a Provider, or of a site, is taken over by this one, and keeps entries that only its list
// of endpoints has.
func TestTakenOver(t *testing.T) {
	cases := map[string]struct{ reason, old, xr, made string }{
		"Provider": {
			reason: "A Provider has the ProviderConfig of its name, in its namespace.",
			old: "{apiVersion: proxmox.m.vitistack.io/v1alpha1, kind: ProviderConfig, metadata: {name: taken, namespace: x}, spec: " +
				"{endpoints: ['https://old.example.com:8006'], credentials: {secretRef: {name: old}}}}",
			xr: "{apiVersion: infra.virtrigaud.io/v1beta1, kind: Provider, metadata: {name: taken, namespace: x}, spec: " +
				"{endpoint: 'https://pve.example.com:8006', credentialSecretRef: {name: new}}}",
			made: "connection",
		},
		"Site": {
			reason: "A site has the ProviderConfig of its name and that of the site.",
			old: "{apiVersion: proxmox.vitistack.io/v1alpha1, kind: ProviderConfig, metadata: {name: taken-east}, spec: " +
				"{endpoints: ['https://old.example.com:8006'], credentials: {secretRef: {name: old, namespace: secrets}}}}",
			xr: "{apiVersion: proxmox.sankofa.nexus/v1alpha1, kind: ProviderConfig, metadata: {name: taken}, spec: {credentials: {source: Secret, " +
				"secretRef: {name: new, namespace: secrets, key: k}}, sites: [{name: east, endpoint: 'https://pve.example.com:8006'}]}}",
			made: "site-0",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			old := parse(t, tc.old)
			if err := w.create(old); err != nil {
				t.Fatal(err)
			}
			xr := w.makes(tc.xr)
			if now := w.made[string(xr.GetUID())][tc.made]; now == nil || now.GetUID() != old.GetUID() {
				t.Fatalf("%s\nwant the ProviderConfig that was there, got %v", tc.reason, w.made[string(xr.GetUID())])
			}
			want := []any{"https://old.example.com:8006", "https://pve.example.com:8006"}
			if diff := cmp.Diff(want, w.asked(xr, tc.made, "spec", "endpoints")); diff != "" {
				t.Errorf("%s\nendpoints: -want, +got:\n%s", tc.reason, diff)
			}
			if got := w.asked(xr, tc.made, "spec", "credentials", "secretRef", "name"); got != "new" {
				t.Errorf("%s\nwant the new Secret, got %v", tc.reason, got)
			}
		})
	}
}

// TestSecretsOfCluster checks where the Secret of a ProxmoxCluster is.
func TestSecretsOfCluster(t *testing.T) {
	cases := map[string]struct{ reason, ref, want string }{
		"Default": {"A Secret without a namespace is in that of Crossplane.", "{name: pve, key: password}", "crossplane-system"},
		"Named":   {"The field says which one it is in.", "{name: pve, namespace: secrets, key: password}", "secrets"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			xr := w.makes("{apiVersion: vitistack.io/v1alpha1, kind: ProxmoxCluster, metadata: {name: secrets}, spec: " +
				"{endpoint: 'https://pve.example.com:8006', credentials: {username: a@pve, password: {secretRef: " + tc.ref + "}}}}")
			if got := w.asked(xr, "connection", "spec", "credentials", "password", "secretRef", "namespace"); got != tc.want {
				t.Errorf("%s\nwant the namespace %s, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

// TestClusterOfMachine checks which ClusterProviderConfig a Machine of the Proxmox Operator uses.
func TestClusterOfMachine(t *testing.T) {
	cases := map[string]struct{ reason, labels, want string }{
		"Label": {"The label names the cluster.", "{cluster.vitistack.io/cluster-name: site}", "site"},
		"None":  {"A claim that names no cluster has the default one, for which the provider has a stand-in by PROXMOX_DEFAULT_CLUSTER.", "{}", "default"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			xr := w.makes("{apiVersion: vitistack.io/v1alpha1, kind: Machine, metadata: {name: located, namespace: x, labels: " + tc.labels + "}, spec: {}}")
			want := map[string]any{"kind": "ClusterProviderConfig", "name": tc.want}
			if diff := cmp.Diff(want, w.asked(xr, "machine", "spec", "providerConfigRef")); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestColumns checks the columns of the kinds of the Proxmox Operator in kubectl get.
func TestColumns(t *testing.T) {
	for name, want := range map[string][]string{
		"machines.vitistack.io":                       {"PHASE", "VMID", "NODE", "ADDRESS", "SYNCED", "READY", "COMPOSITION", "AGE"},
		"proxmoxclusters.vitistack.io":                {"HEALTHY", "VERSION", "ENDPOINT", "SYNCED", "READY", "COMPOSITION", "AGE"},
		"proxmoxnodes.vitistack.io":                   {"ONLINE", "NODE", "VMS", "SYNCED", "READY", "COMPOSITION", "AGE"},
		"proxmoxvirtualmachines.proxmox.vitistack.io": {"PHASE", "VMID", "NODE", "ADDRESS", "SYNCED", "READY", "COMPOSITION", "AGE"},
	} {
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		if err := kube.Get(t.Context(), client.ObjectKey{Name: name}, crd); err != nil {
			t.Fatal(err)
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		columns, _, _ := unstructured.NestedSlice(versions[0].(map[string]any), "additionalPrinterColumns")
		var got []string
		for _, c := range columns {
			if c := c.(map[string]any); c["priority"] == nil { // Other columns are shown with -o wide.
				got = append(got, c["name"].(string))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

// TestUserDataOfVirtualMachine checks that user-data is passed on to the Machine unchanged: with a file of netplan, as VirtRigaud documents it, or by
// the Secret that contains it.
func TestUserDataOfVirtualMachine(t *testing.T) {
	const netplan = `#cloud-config
write_files:
  - path: /etc/netplan/01-static.yaml
    content: |
      network:
        version: 2
        ethernets:
          ens18:
            addresses: [192.168.1.100/24]
            gateway4: 192.168.1.1
            nameservers:
              addresses: [8.8.8.8, 1.1.1.1]
`
	cases := map[string]struct {
		reason      string
		given, want map[string]any
	}{
		"Inline": {"User-data of the spec are passed on word for word.", map[string]any{"inline": netplan}, map[string]any{"inline": netplan}},
		"Secret": {
			"A Secret without a key has user-data under a key of their name.",
			map[string]any{"secretRef": map[string]any{"name": "web"}},
			map[string]any{"secretRef": map[string]any{"name": "web", "key": "userData"}},
		},
		"Key": {
			"The key of a Secret may be named.",
			map[string]any{"secretRef": map[string]any{"name": "web", "key": "k"}},
			map[string]any{"secretRef": map[string]any{"name": "web", "key": "k"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, cloudInitOf(t, tc.given)["userData"]); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// cloudInitOf returns the cloud-init parameters of the Machine of a VirtualMachine with user-data.
func cloudInitOf(t *testing.T, told map[string]any) map[string]any {
	t.Helper()
	w := newWorld(t)
	for _, obj := range load(t, "migration/virtrigaud/class-small.yaml", "migration/virtrigaud/image-ubuntu-22.yaml") {
		if err := w.create(obj); err != nil {
			t.Fatal(err)
		}
		w.settle(obj)
	}
	vm := load(t, "migration/virtrigaud/web-server.yaml")[0]
	vm.SetName("told")
	if err := unstructured.SetNestedMap(vm.Object, told, "spec", "userData", "cloudInit"); err != nil {
		t.Fatal(err)
	}
	if err := w.create(vm); err != nil {
		t.Fatal(err)
	}
	w.settle(vm)
	all, _ := w.asked(vm, "machine", "spec", "forProvider", "cloudInit").(map[string]any)
	return all
}

// TestSSHKeysOfVirtualMachine checks that the Machine gets SSH keys from the Secrets that a VirtualMachine names, with user-data and without.
func TestSSHKeysOfVirtualMachine(t *testing.T) {
	keys := func(refs ...any) map[string]any { return map[string]any{"sshKeySecretRefs": refs} }
	cases := map[string]struct {
		reason      string
		given, want map[string]any
	}{
		"Default": {
			"A Secret without a key has the keys under a key of their name.",
			keys(map[string]any{"name": "team"}), keys(map[string]any{"name": "team", "key": "sshKeys"}),
		},
		"Several": {
			"Keys may come from several Secrets, each of which may name the key that has them.",
			keys(map[string]any{"name": "team", "key": "authorized_keys"}, map[string]any{"name": "web"}),
			keys(map[string]any{"name": "team", "key": "authorized_keys"}, map[string]any{"name": "web", "key": "sshKeys"}),
		},
		"UserData": {
			"Keys of Secrets stand beside user-data.",
			map[string]any{"inline": "#cloud-config\n", "sshKeySecretRefs": []any{map[string]any{"name": "team"}}},
			map[string]any{
				"userData": map[string]any{"inline": "#cloud-config\n"}, "sshKeySecretRefs": []any{map[string]any{"name": "team", "key": "sshKeys"}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, cloudInitOf(t, tc.given)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

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
	stdcmp "cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parse returns an object from YAML.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// set sets a field of an object in the API server.
func (w *world) set(obj *unstructured.Unstructured, value any, path ...string) error {
	w.t.Helper()
	next := obj.DeepCopy()
	if value == nil {
		unstructured.RemoveNestedField(next.Object, path...)
	} else if err := unstructured.SetNestedField(next.Object, value, path...); err != nil {
		w.t.Fatal(err)
	}
	if err := kube.Update(w.t.Context(), next); err != nil {
		return err
	}
	next.DeepCopyInto(obj)
	return nil
}

// machine returns the parameters of a composite resource's Machine, or nil.
func (w *world) machine(xr *unstructured.Unstructured) map[string]any {
	obj := w.made[string(xr.GetUID())]["machine"]
	if obj == nil {
		return nil
	}
	spec, _, _ := unstructured.NestedMap(obj.Object, "spec", "forProvider")
	return spec
}

// proxmoxVM returns a ProxmoxVM with a name, memory and a disk.
func proxmoxVM(name, memory, disk string) string {
	return fmt.Sprintf("{apiVersion: proxmox.sankofa.nexus/v1alpha1, kind: ProxmoxVM, metadata: {name: refused}, spec: {providerConfigRef: {name: x}, "+
		"forProvider: {node: a, name: %q, cpu: 1, memory: %s, disk: %s, image: a, site: a}}}", stdcmp.Or(name, "vm"), memory, disk)
}

// ofImage returns a ProxmoxVM that is created from an image.
func ofImage(image string) string {
	return strings.Replace(proxmoxVM("", "8Gi", "8Gi"), "image: a", "image: "+image, 1)
}

// nine returns nine items of a list, with their numbers.
func nine(item string) string {
	items := make([]string, 9)
	for n := range items {
		items[n] = fmt.Sprintf(item, n)
	}
	return strings.Join(items, ", ")
}

// virtrigaud returns a VirtualMachine with an interface with static addresses.
func virtrigaud(static string) string {
	return "{apiVersion: infra.virtrigaud.io/v1beta1, kind: VirtualMachine, metadata: {name: refused, namespace: x}, spec: " +
		"{providerRef: {name: x}, classRef: {name: x}, imageRef: {name: x}, networks: [{name: lan, staticIP: " + static + "}]}}"
}

// ofEndpoint returns resources of the kinds that have the endpoint of a Proxmox VE.
func ofEndpoint(endpoint string) map[string]string {
	return map[string]string{
		"ProxmoxCluster": "{apiVersion: vitistack.io/v1alpha1, kind: ProxmoxCluster, metadata: {name: endpoint}, spec: " +
			"{endpoint: '" + endpoint + "', credentials: {username: a@pve, password: {secretRef: {name: x, key: k}}}}}",
		"Provider": "{apiVersion: infra.virtrigaud.io/v1beta1, kind: Provider, metadata: {name: endpoint, namespace: x}, spec: {endpoint: '" + endpoint + "'}}",
		"ProviderConfig": "{apiVersion: proxmox.sankofa.nexus/v1alpha1, kind: ProviderConfig, metadata: {name: endpoint}, spec: " +
			"{credentials: {source: Secret, secretRef: {name: x, namespace: x, key: x}}, sites: [{name: a, endpoint: '" + endpoint + "'}]}}",
	}
}

// TestPorts checks that the definitions refuse exactly the ports that the ProviderConfig would refuse.
func TestPorts(t *testing.T) {
	cases := map[string]struct {
		reason, endpoint string
		refused          bool
	}{
		"TooHigh": {"a port has 16 bits", "https://pve1.example.com:80060", true},
		"Zero":    {"nothing listens to port 0", "https://[2001:db8::1]:0/api2/json", true},
		"Endless": {"a number may have too many digits", "https://pve1:99999999999999999999999", true},
		"Highest": {"the highest port is one", "https://pve1.example.com:65535", false},
		"Default": {"the port may be left out", "https://[2001:db8::1]/api2/json", false},
	}
	for name, tc := range cases {
		for kind, object := range ofEndpoint(tc.endpoint) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				err := newWorld(t).create(parse(t, object))
				if want := "endpoint " + tc.endpoint + " has a port that does not exist"; tc.refused && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: want an error with %q, got %v", tc.reason, want, err)
				}
				if !tc.refused && err != nil {
					t.Errorf("%s: %v", tc.reason, err)
				}
			})
		}
	}
}

// TestGateways checks that a VirtualMachine accepts the gateways that its Machine accepts, and passes them on.
func TestGateways(t *testing.T) {
	cases := map[string]struct {
		reason, static string
		want           map[string]any
	}{
		"Host": {
			"the gateway of a /32 is anywhere", "{address: 192.0.2.10/32, gateway: 198.51.100.1}",
			map[string]any{"address": "192.0.2.10/32", "gateway": "198.51.100.1"},
		},
		"LinkLocal": {
			"routers of IPv6 have link-local addresses", "{address: '2001:db8::10/64', gateway: 'fe80::1'}",
			map[string]any{"address6": "2001:db8::10/64", "gateway6": "fe80::1"},
		},
		"Host6": {
			"the gateway of a /128 is anywhere", "{address6: '2001:db8::10/128', gateway6: '2001:db8:1::1'}",
			map[string]any{"address6": "2001:db8::10/128", "gateway6": "2001:db8:1::1"},
		},
		"Families": {
			"a gateway is that of its own family", "{address: 192.0.2.10/24, address6: '2001:db8::10/64', gateway: '2001:db8::1'}",
			map[string]any{"address": "192.0.2.10/24", "address6": "2001:db8::10/64", "gateway6": "2001:db8::1"},
		},
		"Both": {
			"either family has its gateway", "{address: 192.0.2.10/24, gateway: 192.0.2.1, address6: '2001:db8::10/64', gateway6: '2001:db8::1'}",
			map[string]any{"address": "192.0.2.10/24", "gateway": "192.0.2.1", "address6": "2001:db8::10/64", "gateway6": "2001:db8::1"},
		},
		"Before": {
			"gateway6 goes before a gateway of IPv6", "{address: '2001:db8::10/64', gateway: '2001:db8:1::1', gateway6: '2001:db8::1'}",
			map[string]any{"address6": "2001:db8::10/64", "gateway6": "2001:db8::1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			xr := w.makes("{apiVersion: infra.virtrigaud.io/v1beta1, kind: VirtualMachine, metadata: {name: gateways, namespace: x}, spec: "+
				"{providerRef: {name: x}, classRef: {name: small}, imageRef: {name: ubuntu-22}, networks: [{name: lan, staticIP: "+tc.static+"}]}}",
				"migration/virtrigaud/class-small.yaml", "migration/virtrigaud/image-ubuntu-22.yaml")
			want := []any{map[string]any{"name": "lan", "bridge": "vmbr0", "ipConfig": tc.want}}
			if diff := cmp.Diff(want, w.machine(xr)["networks"]); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// virtualMachine returns a VirtualMachine of the platform.
func virtualMachine(spec string) string {
	return "{apiVersion: platform.vitistack.io/v1alpha1, kind: VirtualMachine, metadata: {name: refused, namespace: x}, spec: " + spec + "}"
}

func TestRefusedAtAdmission(t *testing.T) {
	vm := virtualMachine
	cases := map[string]struct {
		reason, object, want string
	}{
		"Class":   {"classes are those of the table", vm("{class: huge}"), `spec.class: Unsupported value: "huge"`},
		"Size":    {"sizes have a unit", vm("{size: 20}"), "spec.size"},
		"Endless": {"Proxmox VE has no larger disks", vm("{size: 101Ti}"), "size 101Ti is more than 100Ti"},
		"TwoWays": {"either the node is said or it is chosen", vm("{node: pve1, placement: {nodes: [pve2]}}"), "leave one of them out"},
		"Gateway": {"DHCP brings the gateway", vm("{network: {address: dhcp, gateway: 192.0.2.1}}"), "gateway needs a static address"},
		"Network": {
			"a gateway is in the network of the address", vm("{network: {address: 192.0.2.10/24, gateway: 198.51.100.1}}"),
			"gateway 198.51.100.1 is not in the network of address 192.0.2.10/24",
		},
		"NetworkOfClaim": {
			"a gateway is in the network of the address", "{apiVersion: platform.vitistack.io/v1alpha1, kind: VirtualMachineClaim, " +
				"metadata: {name: refused, namespace: x}, spec: {network: {address: 192.0.2.10/24, gateway: 198.51.100.1}}}",
			"gateway 198.51.100.1 is not in the network of address 192.0.2.10/24",
		},
		"Address": {"an address has a prefix length", vm("{network: {address: 192.0.2.10}}"), "neither dhcp nor an IPv4 address with prefix length"},
		"Pool":    {"a pool has a name that Proxmox VE takes", vm("{pool: 'of the team'}"), "spec.pool"},
		"Spread":  {"a group is what is spread", vm("{placement: {spread: Required}}"), "placement.spread needs placement.group"},
		"SankofaUnit": {
			"the unit is one of the reference's", "{apiVersion: proxmox.sankofa.nexus/v1alpha1, kind: ProxmoxVM, metadata: {name: refused}, spec: " +
				"{providerConfigRef: {name: x}, forProvider: {node: a, name: a, cpu: 1, memory: 8Xi, disk: 8Gi, image: a, site: a}}}",
			"memory 8Xi is not a number with Ki, Mi or Gi",
		},
		"SankofaLittleMemory": {"the reference says so", proxmoxVM("", "64Mi", "8Gi"), "memory 64Mi is below minimum of 128 MB"},
		"SankofaNumber":       {"a number is one of MB", proxmoxVM("", "127", "8Gi"), "memory 127 is below minimum of 128 MB"},
		"SankofaMuchMemory":   {"the reference says so", proxmoxVM("", "2049Gi", "8Gi"), "memory 2049Gi exceeds maximum of 2 TB"},
		"SankofaPartOfMiB":    {"Proxmox VE has MiB", proxmoxVM("", "262145K", "8Gi"), "memory 262145K is not a whole number of MiB"},
		"SankofaSmallDisk":    {"the reference says so", proxmoxVM("", "8Gi", "1023Mi"), "disk 1023Mi is below minimum of 1 GB"},
		"SankofaLargeDisk":    {"the reference says so", proxmoxVM("", "8Gi", "101Ti"), "disk 101Ti exceeds maximum of 100 TB"},
		"SankofaCharacters":   {"so is what the reference refuses", proxmoxVM("vm/1", "8Gi", "8Gi"), "VM name contains invalid characters: vm/1"},
		"SankofaSpaces":       {"so is what the reference refuses", proxmoxVM("vm ", "8Gi", "8Gi"), "VM name cannot start or end with spaces"},
		"SankofaLongName":     {"so is what the reference refuses", proxmoxVM(strings.Repeat("a", 101), "8Gi", "8Gi"), "Too long: may not be more than 100"},
		"SankofaCPU":          {"a VM has a core", strings.Replace(proxmoxVM("", "8Gi", "8Gi"), "cpu: 1", "cpu: 0", 1), "spec.forProvider.cpu"},
		"SankofaCPUs":         {"the reference says so", strings.Replace(proxmoxVM("", "8Gi", "8Gi"), "cpu: 1", "cpu: 1025", 1), "spec.forProvider.cpu"},
		"SankofaBridge": {
			"so is what the reference refuses", strings.Replace(proxmoxVM("", "8Gi", "8Gi"), "cpu: 1", "cpu: 1, network: br.1", 1), "spec.forProvider.network",
		},
		"SankofaImage": {
			"so is what the reference refuses", ofImage(strings.Repeat("a", 256)), "spec.forProvider.image",
		},
		"SankofaVMID":  {"VMIDs begin at 100", ofImage("'99'"), "image 99 is not the VMID of a template, which is 100 to 999999999"},
		"SankofaVMIDs": {"VMIDs end at 999999999", ofImage("'1000000000'"), "image 1000000000 is not the VMID of a template"},
		"SankofaVolume": {
			"a volume is that of an image", ofImage("'local:vztmpl/debian.tar.zst'"),
			"image local:vztmpl/debian.tar.zst is neither a template (its VMID or its name)",
		},
		"SankofaPath": {
			"a file is in no folder of its content", ofImage("'local:path/to/image'"),
			"storage:iso/file for an ISO image or storage:import/file for a cloud image",
		},
		"SankofaNinth": {
			"there is a place for eight sites", "{apiVersion: proxmox.sankofa.nexus/v1alpha1, kind: ProviderConfig, metadata: {name: refused}, spec: " +
				"{credentials: {source: Secret, secretRef: {name: x, namespace: x, key: x}}, sites: [" +
				nine("{name: s%d, endpoint: 'https://a:8006'}") + "]}}", "spec.sites: Too many: 9: must have at most 8 items",
		},
		"MachineCores": {
			"the reference says so", "{apiVersion: vitistack.io/v1alpha1, kind: Machine, metadata: {name: refused, namespace: x}, spec: {cpu: {cores: 129}}}",
			"spec.cpu.cores in body should be less than or equal to 128",
		},
		"ProxmoxVirtualMachineNinth": {
			"there is a place for eight interfaces", "{apiVersion: proxmox.vitistack.io/v1alpha1, kind: ProxmoxVirtualMachine, " +
				"metadata: {name: refused, namespace: x}, spec: {network: [" + nine("{bridge: vmbr%d}") + "]}}",
			"spec.network: Too many: 9: must have at most 8 items",
		},
		"VirtRigaudNinth": {
			"there is a place for eight interfaces", "{apiVersion: infra.virtrigaud.io/v1beta1, kind: VirtualMachine, metadata: {name: refused, namespace: x}, " +
				"spec: {providerRef: {name: x}, classRef: {name: x}, imageRef: {name: x}, networks: [" + nine("{name: vmbr%d}") + "]}}",
			"spec.networks: Too many: 9: must have at most 8 items",
		},
		"ClusterHalfACertificate": {
			"a certificate has a key", "{apiVersion: vitistack.io/v1alpha1, kind: ProxmoxCluster, metadata: {name: refused}, spec: {endpoint: 'https://a:8006', " +
				"clientCertificate: x, credentials: {username: a@pve, password: {secretRef: {name: x, key: k}}}}}",
			"clientCertificate and clientKey need each other",
		},
		"VirtRigaudAddress":   {"an address has a prefix length", virtrigaud("{address: 192.0.2.10}"), "192.0.2.10 is not an address with prefix length"},
		"VirtRigaudFamily":    {"of two addresses one is of IPv6", virtrigaud("{address6: 192.0.2.10/24}"), "neither auto, dhcp nor an IPv6 address"},
		"VirtRigaudNoAddress": {"an address is what is static", virtrigaud("{dns: [192.0.2.1]}"), "staticIP needs address or address6"},
		"VirtRigaudGateway": {
			"a gateway is in the network of the address", virtrigaud("{address: 192.0.2.10/24, gateway: 198.51.100.1}"),
			"staticIP.gateway 198.51.100.1 is not in the network of address 192.0.2.10/24",
		},
		"VirtRigaudGatewayAlone": {
			"a gateway goes with an address of its family", virtrigaud("{address: '2001:db8::10/64', gateway: 192.0.2.1}"),
			"staticIP.gateway 192.0.2.1 needs a static IPv4 address",
		},
		"VirtRigaudGatewayOfIPv6": {
			"a gateway of IPv6 is in the network of the address", virtrigaud("{address: '2001:db8::10/64', gateway: '2001:db8:1::1'}"),
			"gateway 2001:db8:1::1 is neither in the network of address 2001:db8::10/64 nor link-local",
		},
		"VirtRigaudGateway6": {
			"gateway6 is in the network of address6", virtrigaud("{address: 192.0.2.10/24, address6: '2001:db8::10/64', gateway6: '2001:db8:1::1'}"),
			"gateway 2001:db8:1::1 is neither in the network of address 2001:db8::10/64 nor link-local",
		},
		"VirtRigaudGateway6OfAddress": {
			"gateway6 is in the network of an address of IPv6", virtrigaud("{address: '2001:db8::10/64', gateway6: '2001:db8:1::1'}"),
			"gateway 2001:db8:1::1 is neither in the network of address 2001:db8::10/64 nor link-local",
		},
		"VirtRigaudGatewayOfAddress6": {
			"a gateway of IPv6 is in the network of address6", virtrigaud("{address6: '2001:db8::10/64', gateway: '2001:db8:1::1'}"),
			"gateway 2001:db8:1::1 is neither in the network of address 2001:db8::10/64 nor link-local",
		},
		"VirtRigaudGateway6Auto": {
			"SLAAC brings the gateway itself", virtrigaud("{address6: auto, gateway6: 'fe80::1'}"),
			"staticIP: gateway fe80::1 needs a static IPv6 address",
		},
		"VirtRigaudGateway6OfIPv4": {
			"gateway6 is one of IPv6", virtrigaud("{address6: '2001:db8::10/64', gateway6: 192.0.2.1}"),
			"staticIP.gateway6 192.0.2.1 is not an IPv6 address",
		},
		"VirtRigaudPolicy": {
			"values go with some operators", "{apiVersion: infra.virtrigaud.io/v1beta1, kind: VMPlacementPolicy, metadata: {name: refused}, " +
				"spec: {antiAffinity: [{key: a, operator: Exists, values: [b]}]}}", "In and NotIn have values",
		},
		"VirtRigaudNetwork": {
			"only some names stand for a bridge", "{apiVersion: infra.virtrigaud.io/v1beta1, kind: VirtualMachine, metadata: {name: refused, namespace: x}, spec: " +
				"{providerRef: {name: x}, classRef: {name: x}, imageRef: {name: x}, networks: [{name: backup}]}}",
			"network backup needs bridge",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := newWorld(t).create(parse(t, tc.object))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestRequiredFields checks that a ProxmoxVM is refused without a field that the reference requires.
func TestRequiredFields(t *testing.T) {
	for field, path := range map[string][]string{
		"node": {"spec", "forProvider", "node"}, "name": {"spec", "forProvider", "name"}, "memory": {"spec", "forProvider", "memory"},
		"disk": {"spec", "forProvider", "disk"}, "image": {"spec", "forProvider", "image"}, "site": {"spec", "forProvider", "site"},
		"providerConfigRef": {"spec", "providerConfigRef"},
	} {
		t.Run(field, func(t *testing.T) {
			obj := parse(t, proxmoxVM("", "8Gi", "8Gi"))
			unstructured.RemoveNestedField(obj.Object, path...)
			want := strings.Join(path, ".") + ": Required value"
			if err := newWorld(t).create(obj); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want an error with %q, got %v", want, err)
			}
		})
	}
}

func TestRefusedChanges(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  any
		path   []string
		want   string
	}{
		"Image":    {"a VM cannot be created again", "debian-13", []string{"spec", "image"}, "image cannot change: the VM was made from ubuntu-24.04"},
		"Shrink":   {"disks never shrink", "10Gi", []string{"spec", "size"}, "it has 20Gi"},
		"NoSize":   {"the disk keeps what it has", nil, []string{"spec", "size"}, "size cannot be taken away"},
		"Grow":     {"disks grow", "1Ti", []string{"spec", "size"}, ""},
		"Class":    {"classes change", "large", []string{"spec", "class"}, ""},
		"Password": {"a password goes with user-data", true, []string{"spec", "cloudInit", "generatePassword"}, ""},
		"PowerOff": {"so does the power state", "Stopped", []string{"spec", "powerState"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			xr := load(t, "examples/virtualmachine.yaml")[0]
			if err := w.create(xr); err != nil {
				t.Fatal(err)
			}
			w.settle(xr)
			err := w.set(xr, tc.value, tc.path...)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.want, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			before := text(t, w.machine(xr))
			if !w.settle(xr) || text(t, w.machine(xr)) == before {
				t.Errorf("%s: the Machine does not follow: %s", tc.reason, before)
			}
		})
	}
}

// TestImagesOfProxmoxVM checks the results of the three forms of an image, and of numbers with and without units.
func TestImagesOfProxmoxVM(t *testing.T) {
	disk := func(size string) []any {
		return []any{map[string]any{"name": "system", "size": size, "storage": "local-lvm"}}
	}
	clone := map[string]any{"full": true, "storage": "local-lvm"}
	cases := map[string]struct {
		reason, image, memory, disk string
		want                        map[string]any
	}{
		"Name": {
			"the name of a template", "ubuntu-22.04-cloud", "8Gi", "50Gi",
			map[string]any{"template": "ubuntu-22.04-cloud", "clone": clone, "memory": "8Gi", "disks": disk("50Gi")},
		},
		"VMID": {
			"the VMID of a template; no units", `"9000"`, "4096", "100",
			map[string]any{"template": "9000", "clone": clone, "memory": "4096Mi", "disks": disk("100Gi")},
		},
		"OtherEnding": {
			"a name without an ending of images is that of a template", "ubuntu-22.04.img", "8Gi", "50Gi",
			map[string]any{"template": "ubuntu-22.04.img", "clone": clone, "memory": "8Gi", "disks": disk("50Gi")},
		},
		"ISO": {
			"an ISO image; units in any case", "local:iso/ubuntu-22.04.iso", "4gi", "50GI",
			map[string]any{"iso": "local:iso/ubuntu-22.04.iso", "memory": "4Gi", "disks": disk("50Gi")},
		},
		"ISOOtherEnding": {
			"an ISO image whose file ends otherwise", "local:iso/UBUNTU.IMG", "4Gi", "50Gi",
			map[string]any{"iso": "local:iso/UBUNTU.IMG", "memory": "4Gi", "disks": disk("50Gi")},
		},
		"UpperCase": {
			"a name whose ending is in capitals is that of a template", "ubuntu-22.04.ISO", "8Gi", "50Gi",
			map[string]any{"template": "ubuntu-22.04.ISO", "clone": clone, "memory": "8Gi", "disks": disk("50Gi")},
		},
		"CloudImage": {
			"a cloud image; units of one letter", "local:import/ubuntu-22.04.qcow2", "8192m", "1t",
			map[string]any{
				"image":  map[string]any{"volume": "local:import/ubuntu-22.04.qcow2", "disk": "system"},
				"memory": "8192Mi", "disks": disk("1Ti"),
			},
		},
		"ISOName": {
			"the name of an ISO image in the storage for images", "ubuntu-22.04.iso", "4Gi", "50Gi",
			map[string]any{"iso": "local:iso/ubuntu-22.04.iso", "memory": "4Gi", "disks": disk("50Gi")},
		},
		"CloudImageName": {
			"the name of a cloud image there; the least that is allowed", "ubuntu-22.04.qcow2", "128Mi", "1Gi",
			map[string]any{
				"image":  map[string]any{"volume": "local:import/ubuntu-22.04.qcow2", "disk": "system"},
				"memory": "128Mi", "disks": disk("1Gi"),
			},
		},
		"Largest": {
			"the most that is allowed", "ubuntu-22.04-cloud", "2048G", "100T",
			map[string]any{"template": "ubuntu-22.04-cloud", "clone": clone, "memory": "2048Gi", "disks": disk("100Ti")},
		},
		"Kibibytes": {
			"the least memory, in the smallest unit; a disk in megabytes", "ubuntu-22.04-cloud", "131072Ki", "1024M",
			map[string]any{"template": "ubuntu-22.04-cloud", "clone": clone, "memory": "131072Ki", "disks": disk("1024Mi")},
		},
		"Kilobytes": {
			"units of one letter are binary too", "ubuntu-22.04-cloud", "1048576K", "50G",
			map[string]any{"template": "ubuntu-22.04-cloud", "clone": clone, "memory": "1048576Ki", "disks": disk("50Gi")},
		},
		"Megabytes": {
			"memory in megabytes; the smallest disk, in the smallest unit", "ubuntu-22.04-cloud", "1024M", "1024Mi",
			map[string]any{"template": "ubuntu-22.04-cloud", "clone": clone, "memory": "1024Mi", "disks": disk("1024Mi")},
		},
		"Huge": {
			"numbers of many digits stay numbers", "ubuntu-22.04-cloud", "2097152", "50Gi",
			map[string]any{"template": "ubuntu-22.04-cloud", "clone": clone, "memory": "2097152Mi", "disks": disk("50Gi")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			xr := parse(t, fmt.Sprintf("{apiVersion: proxmox.sankofa.nexus/v1alpha1, kind: ProxmoxVM, metadata: {name: %s}, spec: {providerConfigRef: {name: x}, "+
				"forProvider: {node: a, name: my vm_1, network: bridge_01, cpu: 1, memory: %s, disk: %s, image: %s, site: b}}}",
				strings.ToLower(name), tc.memory, tc.disk, tc.image))
			if err := w.create(xr); err != nil {
				t.Fatal(err)
			}
			if !w.settle(xr) {
				t.Errorf("%s: not ready: %v", tc.reason, w.warnings)
			}
			got := w.machine(xr)
			if got["name"] != "my-vm-1" || got["description"] != "my vm_1" {
				t.Errorf("the VM is called %q, and described as %q", got["name"], got["description"])
			}
			if diff := cmp.Diff([]any{map[string]any{"name": "net0", "bridge": "bridge_01"}}, got["networks"]); diff != "" {
				t.Errorf("networks: -want, +got:\n%s", diff)
			}
			maps.DeleteFunc(got, func(key string, _ any) bool {
				return !slices.Contains([]string{"template", "clone", "iso", "image", "memory", "disks"}, key)
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNamesOfProxmoxVM checks what Proxmox VE gets for names that it does not accept, and that the name is kept.
func TestNamesOfProxmoxVM(t *testing.T) {
	cases := map[string]struct {
		reason, name, want string
		same               bool
	}{
		"Plain":      {reason: "a DNS name is taken as it is", name: "web-server-01", want: "web-server-01", same: true},
		"Dots":       {reason: "so is one of several labels", name: "vm.001", want: "vm.001", same: true},
		"Hyphens":    {reason: "hyphens may follow each other", name: "a--b", want: "a--b", same: true},
		"Space":      {reason: "the reference has it", name: "my vm", want: "my-vm"},
		"Underscore": {reason: "it is no character of the DNS", name: "my_vm", want: "my-vm"},
		"End":        {reason: "a label ends with a letter or digit", name: "web_", want: "web"},
		"Beginning":  {reason: "a label begins with a letter or digit", name: "_web", want: "web"},
		"Hyphen":     {reason: "a hyphen is no better", name: "vm-", want: "vm"},
		"Dot":        {reason: "a dot does not end a name", name: ".vm.", want: "vm"},
		"BeforeADot": {reason: "each label ends so", name: "a_.b", want: "a--b"},
		"AfterADot":  {reason: "each label begins so", name: "a.-b", want: "a--b"},
		"ManyDots":   {reason: "no label is empty", name: "a.....b.c", want: "a-----b.c"},
		"Mixed":      {reason: "all come together", name: "-_a._-. b..-c_.", want: "a-----b---c"},
		"Nothing":    {reason: "a name is needed", name: "_.-", want: "vm"},
		"Longest":    {reason: "it stays as long", name: strings.Repeat("a_", 49) + "ab", want: strings.Repeat("a-", 49) + "ab"},
	}
	taken := regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			xr := parse(t, proxmoxVM(tc.name, "8Gi", "8Gi"))
			xr.SetName("name-" + strings.ToLower(name))
			if err := w.create(xr); err != nil {
				t.Fatal(err)
			}
			if !w.settle(xr) {
				t.Errorf("%s: not ready: %v", tc.reason, w.warnings)
			}
			got := w.machine(xr)
			if got["name"] != tc.want || !taken.MatchString(tc.want) {
				t.Errorf("%s: want the name %q, got %q", tc.reason, tc.want, got["name"])
			}
			if kept := got["description"] == tc.name; kept == tc.same || tc.same && got["description"] != nil {
				t.Errorf("%s: want the name in the description: %t, got %q", tc.reason, !tc.same, got["description"])
			}
		})
	}
}

// TestSites checks that a ProviderConfig is ready with as many sites as it has, and that a site keeps its place.
func TestSites(t *testing.T) {
	w := newWorld(t)
	xr := load(t, "migration/sankofa/providerconfig.yaml")[0]
	xr.SetName("sites")
	sites, _, _ := unstructured.NestedSlice(xr.Object, "spec", "sites")
	third := map[string]any{"name": "third", "endpoint": "https://pve3.example.com:8006"}
	eight := slices.Clone(sites)
	for n := range 6 {
		eight = append(eight, map[string]any{"name": fmt.Sprintf("site%d", n), "endpoint": "https://pve3.example.com:8006"})
	}
	if err := unstructured.SetNestedSlice(xr.Object, sites[:1], "spec", "sites"); err != nil {
		t.Fatal(err)
	}
	if err := w.create(xr); err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]any{sites[:1], sites, eight} {
		if err := w.set(xr, list, "spec", "sites"); err != nil {
			t.Fatal(err)
		}
		if !w.settle(xr) || len(w.made[string(xr.GetUID())]) != len(list) {
			t.Errorf("with %d sites there are %d ProviderConfigs: %v", len(list), len(w.made[string(xr.GetUID())]), w.warnings)
		}
	}
	if err := w.set(xr, []any{sites[0], third}, "spec", "sites"); err == nil || !strings.Contains(err.Error(), "keeps its place") {
		t.Errorf("a site took the place of another: %v", err)
	}
}

// TestClassesAndImages checks that a VirtualMachine waits for the objects that it names, follows its class, and keeps its source.
func TestClassesAndImages(t *testing.T) {
	w := newWorld(t)
	vm := load(t, "migration/virtrigaud/web-server.yaml")[0]
	vm.SetName("waits")
	if err := w.create(vm); err != nil {
		t.Fatal(err)
	}
	if w.settle(vm) || w.machine(vm) != nil {
		t.Error("a Machine was made before the class and the image were there")
	}
	objs := load(t, "migration/virtrigaud/class-small.yaml", "migration/virtrigaud/class-large.yaml", "migration/virtrigaud/image-ubuntu-22.yaml")
	for _, obj := range objs {
		if err := w.create(obj); err != nil {
			t.Fatal(err)
		}
		w.settle(obj)
	}
	w.want(vm, "what was waited for is there", "4Gi", "ubuntu-22-template")
	if err := w.set(vm, "large", "spec", "classRef", "name"); err != nil {
		t.Fatal(err)
	}
	w.want(vm, "it has another class", "16Gi", "ubuntu-22-template")
	if err := w.set(objs[1], "32Gi", "spec", "memory"); err != nil {
		t.Fatal(err)
	}
	w.settle(objs[1])
	w.want(vm, "its class says something else", "32Gi", "ubuntu-22-template")
	if err := w.set(objs[2], "ubuntu-24-template", "spec", "source"); err != nil {
		t.Fatal(err)
	}
	w.settle(objs[2])
	w.want(vm, "its image is another one now, which counts for others", "32Gi", "ubuntu-22-template")
}

func (w *world) want(vm *unstructured.Unstructured, reason, memory, template string) {
	w.t.Helper()
	ready := w.settle(vm)
	got := w.machine(vm)
	if !ready || got["memory"] != memory || got["template"] != template {
		w.t.Errorf("%s: ready is %t, memory %v, template %v", reason, ready, got["memory"], got["template"])
	}
}

// TestClaimsAreTheSame checks that claims have the fields of VirtualMachines, and result in the same.
func TestClaimsAreTheSame(t *testing.T) {
	part := func(file string, path ...string) any {
		obj := load(t, file)[0]
		value, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	version := func(kind string) any { return part("apis/"+kind+"/definition.yaml", "spec", "versions") }
	if diff := cmp.Diff(version("virtualmachine"), version("claim")); diff != "" {
		t.Errorf("the definitions differ: -VirtualMachine, +claim:\n%s", diff)
	}
	patches := func(kind string) []any {
		step := part("apis/"+kind+"/composition.yaml", "spec", "pipeline").([]any)[0].(map[string]any)
		resources, _, _ := unstructured.NestedSlice(step, "input", "resources")
		return slices.DeleteFunc(resources[0].(map[string]any)["patches"].([]any), func(p any) bool {
			return p.(map[string]any)["fromFieldPath"] == "metadata.labels[crossplane.io/claim-name]"
		})
	}
	if diff := cmp.Diff(patches("virtualmachine"), patches("claim")); diff != "" {
		t.Errorf("the patches differ: -VirtualMachine, +claim:\n%s", diff)
	}
}

// TestPolicies checks that a VirtualMachine waits for the VMPlacementPolicy that it names.
func TestPolicies(t *testing.T) {
	w := newWorld(t)
	for _, obj := range load(t, "migration/virtrigaud/class-standard.yaml", "testdata/any-image.yaml") {
		if err := w.create(obj); err != nil {
			t.Fatal(err)
		}
		w.settle(obj)
	}
	vm := load(t, "testdata/placed.yaml")[0]
	if err := w.create(vm); err != nil {
		t.Fatal(err)
	}
	if w.settle(vm) || w.machine(vm) != nil {
		t.Error("a Machine was made before the policy was there")
	}
	policy := load(t, "migration/virtrigaud/placement-policy.yaml")[0]
	if err := w.create(policy); err != nil {
		t.Fatal(err)
	}
	w.settle(policy)
	if !w.settle(vm) || w.machine(vm)["placement"] == nil {
		t.Errorf("the policy is there, and the Machine is %v: %v", w.machine(vm), w.warnings)
	}
}

// TestErrorCategories checks the error categories of ProxmoxVMs for the conditions of their Machines.
func TestErrorCategories(t *testing.T) {
	cases := map[string]struct {
		reason, kind, status, because, message, category, want string
	}{
		"Fine": {"nothing is wrong", "Ready", "True", "Available", "connection refused", "None", ""},
		"Token": {
			"as Proxmox VE says it", "Synced", "False", "ReconcileError", "cannot list: Authentication failed!", "AuthenticationError",
			"cannot list: Authentication failed!",
		},
		"Privilege": {
			"as Proxmox VE says it", "Synced", "False", "ReconcileError", "Permission check failed (/vms/100, VM.Clone)", "AuthenticationError",
			"Permission check failed (/vms/100, VM.Clone)",
		},
		"Config": {
			"the site is missing", "Synced", "False", "ReconcileError", `ProviderConfig "x-b" does not exist`, "ConfigurationError",
			`ProviderConfig "x-b" does not exist`,
		},
		"Key": {
			"the Secret lacks something", "Synced", "False", "ReconcileError", `secret "a/b" has no key "c"`, "ConfigurationError",
			`secret "a/b" has no key "c"`,
		},
		"Memory": {
			"no node has room", "ResourcesAllocated", "False", "InsufficientResources", "insufficient resources on node a: memory", "QuotaExceeded",
			"insufficient resources on node a: memory",
		},
		"Quota": {
			"the quota of the team is used up", "Ready", "False", "QuotaExceeded", `the quota of tenant "a" has no room: cpus: 4 are wanted`, "QuotaExceeded",
			`the quota of tenant "a" has no room: cpus: 4 are wanted`,
		},
		"Node":    {"the node is off", "Ready", "False", "NodeOffline", "node a is offline", "NodeUnhealthy", "node a is offline"},
		"Network": {"nobody listens", "Synced", "False", "ReconcileError", "cannot list: connection refused", "NetworkError", "cannot list: connection refused"},
		"Gateway": {
			"a proxy in between says so", "Synced", "False", "ReconcileError", "cannot list: HTTP status 502 Bad Gateway", "NetworkError",
			"cannot list: HTTP status 502 Bad Gateway",
		},
		"Lock": {
			"the lock of a VM is no part of the network", "Synced", "False", "ReconcileError",
			"can't lock file '/run/lock/qemu-server/lock-100.conf' - got timeout", "None",
			"can't lock file '/run/lock/qemu-server/lock-100.conf' - got timeout",
		},
		"Bridge": {
			"the bridge is missing", "NetworkConfigured", "False", "NetworkError", "bridge 'vmbr999' not found on node test-node; bridges there: vmbr0",
			"ValidationFailed", "network bridge 'vmbr999' does not exist on node 'test-node'",
		},
		"Storage": {
			"only bridges have words of their own", "ResourcesAllocated", "False", "AllocationFailed", "storage 'fast' not found on node a", "ValidationFailed",
			"storage 'fast' not found on node a",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.observe = func(obj *unstructured.Unstructured) {
				obj.Object["status"] = map[string]any{"conditions": []any{map[string]any{
					"type": tc.kind, "status": tc.status, "reason": tc.because, "message": tc.message, "lastTransitionTime": "2026-01-02T03:04:05Z",
				}}}
			}
			xr := load(t, "migration/sankofa/web-server-01.yaml")[0]
			xr.SetName("category-" + strings.ToLower(name))
			if err := w.create(xr); err != nil {
				t.Fatal(err)
			}
			w.settle(xr)
			if got, _, _ := unstructured.NestedString(xr.Object, "status", "errorCategory"); got != tc.category {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.category, got)
			}
			if got, _, _ := unstructured.NestedString(xr.Object, "status", "message"); got != tc.want {
				t.Errorf("%s: want the message %q, got %q", tc.reason, tc.want, got)
			}
			want := "True " + tc.category + " " + tc.want
			if tc.category == "None" {
				want = "False None"
			}
			if got := conditionOf(xr, "Failed"); got != want {
				t.Errorf("%s: want the condition Failed %q, got %q", tc.reason, want, got)
			}
		})
	}
}

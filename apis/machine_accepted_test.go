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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMachineAccepted(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
	}{
		"Empty": {
			reason: "Nothing is required: an empty VM is a VM.",
			spec:   `{}`,
		},
		"Template": {
			reason: "A template is all that a clone needs.",
			spec:   `{template: ubuntu-24.04}`,
		},
		"TemplateNumber": {
			reason: "A template can be given by its VMID.",
			spec:   `{template: 9000}`,
		},
		"TemplateNumberAsString": {
			reason: "A template can be given by its VMID as a string.",
			spec:   `{template: "9000"}`,
		},
		"MemoryInteger": {
			reason: "Memory can be given in bytes.",
			spec:   `{memory: 2147483648}`,
		},
		"MemoryIntegerAsString": {
			reason: "Memory can be given in bytes, as a string.",
			spec:   `{memory: "2147483648"}`,
		},
		"MemoryQuantity": {
			reason: "Memory can be given as a quantity.",
			spec:   `{memory: 2Gi}`,
		},
		"MemoryFractionOfAUnit": {
			reason: "One and a half gibibytes are 1536 MiB.",
			spec:   `{memory: 1.5Gi, memoryOptions: {minimum: 0.5Gi}}`,
		},
		"MemoryLeast": {
			reason: "64 MiB are allowed.",
			spec:   `{memory: 64Mi}`,
		},
		"MemoryMost": {
			reason: "16 TiB are allowed.",
			spec:   `{memory: 16Ti}`,
		},
		"DiskSizes": {
			reason: "Sizes have the units of PVE or those of Kubernetes.",
			spec:   `{disks: [{name: a, size: 20G}, {name: b, size: 20Gi}, {name: c, size: 1M}, {name: d, size: 1024K}, {name: e, size: 100T}]}`,
		},
		"DiskNames": {
			reason: "PVE encodes what the guest sees of a disk.",
			spec:   `{disks: [{name: a, size: 1G, serial: "WD-1 (a/b) 100%"}, {name: b, type: ide, size: 1G, model: "QEMU DISK"}]}`,
		},
		"DiskTypes": {
			reason: "PVE has four buses.",
			spec:   `{disks: [{name: a, type: ide, size: 1G}, {name: b, type: sata, size: 1G}, {name: c, type: scsi, size: 1G}, {name: d, type: virtio, size: 1G}]}`,
		},
		"DiskCaches": {
			reason: "Each of these modes is one of PVE's.",
			spec:   `{disks: [{name: a, size: 1G, cache: none}, {name: b, size: 1G, cache: writethrough}, {name: c, size: 1G, cache: writeback}]}`,
		},
		"DiskFormats": {
			reason: "PVE has three formats.",
			spec:   `{disks: [{name: a, size: 1G, format: raw}, {name: b, size: 1G, format: qcow2}, {name: c, size: 1G, format: vmdk}]}`,
		},
		"NetworkModels": {
			reason: "Each of these models is one of PVE's.",
			spec:   `{networks: [{name: a, model: virtio}, {name: b, model: e1000}, {name: c, model: rtl8139}]}`,
		},
		"OSTypeLinux":   {reason: "PVE is told which guest it is.", spec: `{osType: linux}`},
		"OSTypeWindows": {reason: "PVE is told which guest it is.", spec: `{osType: windows}`},
		"OSTypeSolaris": {reason: "PVE is told which guest it is.", spec: `{osType: solaris}`},
		"OSTypeOther":   {reason: "A guest may be none of these.", spec: `{osType: other}`},
		"DiskAndNetworkOfOneName": {
			reason: "Disks and networks are different lists.",
			spec:   `{disks: [{name: main, size: 1G}], networks: [{name: main}]}`,
		},
		"VMIDRangeEnds": {
			reason: "The lower and the upper end of the range are VMIDs.",
			spec:   `{vmid: 100, template: 999999999}`,
		},
		"CPUMost": {
			reason: "The upper ends of all ranges are allowed.",
			spec:   `{cpu: {cores: 1024, sockets: 4, vcpus: 4096, threadsPerCore: 2, limit: 128, units: 262144}}`,
		},
		"CPULimitOff": {
			reason: "0 means no limit.",
			spec:   `{cpu: {limit: 0}}`,
		},
		"VLANRangeEnds": {
			reason: "The lower and the upper end of the range are VLANs.",
			spec:   `{networks: [{name: a, vlan: 1}, {name: b, vlan: 4094}]}`,
		},
		"VLANAndTrunks": {
			reason: "Beside trunks, the VLAN is that of untagged packets.",
			spec:   `{networks: [{name: lan, vlan: 7, trunks: 10-20}]}`,
		},
		"Gateways": {
			reason: "A gateway is in the network of the address, link-local, or that of a single address.",
			spec: `{networks: [{name: a, ipConfig: {address: 192.0.2.10/24, gateway: 192.0.2.1, address6: "2001:db8::2/64", gateway6: "fe80::1"}},
				{name: b, ipConfig: {address: 192.0.2.10/32, gateway: 198.51.100.1, address6: "2001:db8::2/128", gateway6: "2001:db8:1::1"}}]}`,
		},
		"ExplicitNone": {
			reason: "0 and nothing take options away.",
			spec: `{cpu: {type: "", flags: [], vcpus: 0, units: 0, affinity: "", numaNodes: [], physBits: "", guestPhysBits: 0, level: 0, hvVendorID: ""},
				memoryOptions: {hugePages: ""}, machineType: "", machineOptions: {viommu: "", awBits: 0}, hookscript: "", description: "",
				vga: {memoryMiB: 0, clipboard: ""}, audio: {enabled: false}, rng: {enabled: false}, watchdog: {enabled: false}, startup: {enabled: false},
				efiDisk: {enabled: false}, tpm: {enabled: false}, smbios: {serial: ""}, pciDevices: [], usbDevices: [], virtiofs: [], extraConfig: {args: ""},
				disks: [{name: a, aio: "", serial: "", wwn: "", vendor: "", product: "", queues: 0, readError: "", writeError: "", limits: ` +
				`{totalMBps: 0, totalBurstMBps: "0", totalBurstSeconds: 0, totalIOPS: 0, totalBurstIOPS: 0}}],
				networks: [{name: a, vlan: 0, trunks: "", mtu: 0, queues: 0, rateMBps: 0, ipConfig: {address: "", gateway: "", address6: "", gateway6: ""}}]}`,
		},
		"SerialPortOfTheHost": {
			reason: "A port may be a device of the node.",
			spec:   `{serialPorts: [socket, /dev/ttyS0]}`,
		},
		"LowerCaseMAC": {
			reason: "The case of a MAC address means nothing.",
			spec:   `{networks: [{name: lan, macAddress: "bc:24:11:00:00:01"}]}`,
		},
		"Throughputs": {
			reason: "Throughputs may be whole numbers, decimals, and zero.",
			spec:   `{disks: [{name: a, limits: {readMBps: 100, writeMBps: "12.5"}}, {name: b, limits: {readMBps: 0}}], networks: [{name: lan, rateMBps: "0.5"}]}`,
		},
		"IOPSOff": {
			reason: "0 is no limit.",
			spec:   `{disks: [{name: root, limits: {readIOPS: 0, writeIOPS: 0}}]}`,
		},
		"BootOrder": {
			reason: "Boot entries are sorts of devices, names and devices.",
			spec:   `{disks: [{name: root, size: 20G}], networks: [{name: lan}], bootOrder: [root, lan, disk, network, cdrom, scsi7, ide2, net3]}`,
		},
		"WindowsFromISO": {
			reason: "A VM has as many CD-ROM drives as it needs, beside that of its installer.",
			spec: `{iso: "nfs:iso/windows.iso", cdroms: [{name: drivers, iso: "nfs:iso/virtio-win.iso"}, {name: empty, iso: "", device: ide0}, ` +
				`{name: disc, physical: true, type: sata, device: sata5}], bootOrder: [drivers, cdrom]}`,
		},
		"ToolsForATemplate": {
			reason: "Further drives are no source.",
			spec:   `{template: 9000, cdroms: [{name: tools, iso: "nfs:iso/tools.iso", physical: false}]}`,
		},
		"DHCPAndSLAAC": {
			reason: "Addresses may come from the network.",
			spec:   `{networks: [{name: lan, ipConfig: {address: dhcp, address6: auto}}]}`,
		},
		"PasswordBesideUserData": {
			reason: "The provider's image has the hash of the password.",
			spec:   `{cloudInit: {userData: {inline: "#cloud-config"}, passwordSecretRef: {namespace: team, name: web, key: password}}}`,
		},
		"GeneratedPasswordBesideVendorData": {
			reason: "A password may be generated beside vendor data.",
			spec:   `{cloudInit: {vendorData: {inline: "#cloud-config"}, generatePassword: true}}`,
		},
		"SSHKeys": {
			reason: "The types of public keys that OpenSSH writes.",
			spec: `{cloudInit: {sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== a@example.com", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB",
				"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAI", "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9w", ` +
				`"sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVjZHNhLXNoYTI="]}}`,
		},
		"Window": {
			reason: "A maintenance window may be in a time zone, and a restart may end hard.",
			spec: `{restartPolicy: WhenRequired, restartTimeoutSeconds: 600,
				maintenanceWindow: {schedule: "0 2 * * 6", durationMinutes: 60, timeZone: America/Argentina/Buenos_Aires}}`,
		},
		"HotplugOff": {
			reason: "An empty list turns hotplug off.",
			spec:   `{hotplug: []}`,
		},
		"SerialPortsOff": {
			reason: "An empty list removes all serial ports.",
			spec:   `{serialPorts: []}`,
		},
		"TagsOff": {
			reason: "An empty list removes all tags.",
			spec:   `{tags: []}`,
		},
		"SeedStyle": {
			reason: "The form that users of the Proxmox Operator know.",
			spec: `{name: web-1, vmid: 10001, node: pve1, template: ubuntu-24.04,
				cpu: {cores: 4, sockets: 1, threadsPerCore: 2}, memory: 4294967296,
				disks: [{name: root, size: 20G, storage: local-lvm, type: scsi, cache: writeback, format: raw}],
				networks: [{name: eth0, bridge: vmbr0, model: virtio, macAddress: "52:54:00:12:34:56", vlan: 100, firewall: true}],
				osType: linux, bootOrder: [disk, network], agent: true, balloon: true, protection: false}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for name, s := range scopes() {
				t.Run(name, func(t *testing.T) {
					wantAccepted(t, tc.reason, tryCreate(t.Context(), s.machine(t, tc.spec)))
				})
			}
		})
	}
}

func TestMachineWithoutParametersAccepted(t *testing.T) {
	for name, s := range scopes() {
		t.Run(name, func(t *testing.T) {
			o := s.object(t, "Machine", "{}")
			wantAccepted(t, "forProvider may be left out.", tryCreate(t.Context(), o))
			want := map[string]any{"shutdownTimeoutSeconds": int64(180), "restartPolicy": "Never"}
			got, _, _ := unstructured.NestedMap(o.Object, "spec", "forProvider")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("\nOnly what the provider does by itself has a default: nothing that PVE keeps\n-want, +got:\n%s", diff)
			}
		})
	}
}

// TestEveryServedFieldAccepted creates Machines that together set every field that is served: there is one file for each
// source, since a Machine has one source. A new field must be added to a file, or be marked as not served yet.
func TestEveryServedFieldAccepted(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "every-field*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for name, s := range scopes() {
		t.Run(name, func(t *testing.T) {
			set := map[string]bool{}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				collect(set, "", parse(t, string(text)))
				t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { acceptedAsIs(t, s, string(text)) })
			}
			for _, path := range servedFields(forProvider(t, s)) {
				if !set[path] {
					t.Errorf("no Machine has %s", path)
				}
			}
		})
	}
}

func acceptedAsIs(t *testing.T, s scope, text string) {
	t.Helper()
	o := s.machine(t, text)
	o.SetName(objectName(t))
	create(t, o)
	got := o.DeepCopy()
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(o), got); err != nil {
		t.Fatal(err)
	}
	have, _, _ := unstructured.NestedMap(got.Object, "spec", "forProvider")
	if diff := cmp.Diff(normal(t, parse(t, text)), normal(t, have)); diff != "" {
		t.Errorf("\nEvery field comes back as it was given\n-want, +got:\n%s", diff)
	}
}

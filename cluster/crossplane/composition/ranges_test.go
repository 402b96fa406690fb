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
)

// A valueCase is a composite resource that is accepted, or refused with an error that contains all of want.
type valueCase struct {
	reason, object string
	want           []string
}

// run creates the composite resource. If it is accepted, its Machine is created as well, which the provider's own definition has to accept.
func (tc valueCase) run(t *testing.T) {
	t.Helper()
	w := newWorld(t)
	xr := parse(t, tc.object)
	err := w.create(xr)
	if len(tc.want) == 0 {
		if err != nil {
			t.Fatalf("%s\n%v", tc.reason, err)
		}
		w.settle(xr)
		return
	}
	for _, want := range tc.want {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nwant an error with %q, got %v", tc.reason, want, err)
		}
	}
}

// ofOperator returns a Machine of the Proxmox Operator.
func ofOperator(spec string) string {
	return "{apiVersion: vitistack.io/v1alpha1, kind: Machine, metadata: {name: ranges, namespace: x}, spec: {" + spec + "}}"
}

// TestRangesOfMachine checks both ends of each range in the reference of a Machine of the Proxmox Operator, values beyond them, and each value of
// fields with a list of values.
func TestRangesOfMachine(t *testing.T) {
	disk := func(fields string) string { return "disks: [{name: root, size: 20G, " + fields + "}]" }
	nic := func(fields string) string { return "networks: [{name: lan, bridge: vmbr0, " + fields + "}]" }
	cases := map[string]struct {
		reason, spec string
		want         []string
	}{
		"VMIDLeast":   {"VMIDs begin at 100.", "vmid: 100", nil},
		"VMIDMost":    {"VMIDs end at 999999999.", "vmid: 999999999", nil},
		"VMIDTooLow":  {"VMIDs begin at 100.", "vmid: 99", []string{"spec.vmid", "greater than or equal to 100"}},
		"VMIDTooHigh": {"VMIDs end at 999999999.", "vmid: 1000000000", []string{"spec.vmid", "less than or equal to 999999999"}},

		"CoresLeast":   {"A VM has a core at least.", "cpu: {cores: 1}", nil},
		"CoresMost":    {"A socket has 128 cores at most.", "cpu: {cores: 128}", nil},
		"NoCores":      {"A VM has a core at least.", "cpu: {cores: 0}", []string{"spec.cpu.cores", "greater than or equal to 1"}},
		"TooManyCores": {"A socket has 128 cores at most.", "cpu: {cores: 129}", []string{"spec.cpu.cores", "less than or equal to 128"}},

		"SocketsLeast":   {"A VM has a socket at least.", "cpu: {cores: 1, sockets: 1}", nil},
		"SocketsMost":    {"A VM has four sockets at most.", "cpu: {cores: 1, sockets: 4}", nil},
		"NoSockets":      {"A VM has a socket at least.", "cpu: {sockets: 0}", []string{"spec.cpu.sockets", "greater than or equal to 1"}},
		"TooManySockets": {"A VM has four sockets at most.", "cpu: {sockets: 5}", []string{"spec.cpu.sockets", "less than or equal to 4"}},

		"ThreadsLeast":   {"A core has a thread at least.", "cpu: {cores: 3, threadsPerCore: 1}", nil},
		"ThreadsMost":    {"A core has two threads at most.", "cpu: {cores: 8, sockets: 2, threadsPerCore: 2}", nil},
		"NoThreads":      {"A core has a thread at least.", "cpu: {cores: 2, threadsPerCore: 0}", []string{"spec.cpu.threadsPerCore", "greater than or equal to 1"}},
		"TooManyThreads": {"A core has two threads at most.", "cpu: {cores: 6, threadsPerCore: 3}", []string{"spec.cpu.threadsPerCore", "less than or equal to 2"}},
		"ThreadsDoNotFit": {
			"cores/(sockets*threads) is a whole number.", "cpu: {cores: 6, sockets: 2, threadsPerCore: 2}",
			[]string{"spec.cpu", "threadsPerCore 2 needs cores to be a multiple of sockets * threadsPerCore: cores 6, sockets 2"},
		},
		"ThreadsWithoutCores": {"Threads are those of cores.", "cpu: {threadsPerCore: 2}", []string{"spec.cpu", "threadsPerCore 2 needs cores"}},

		"MemoryLeast":    {"64 MiB are the least.", "memory: 67108864", nil},
		"MemoryExample":  {"The reference has this number of bytes.", "memory: 2147483648", nil},
		"MemoryQuantity": {"A quantity does as well.", "memory: 2Gi", nil},
		"MemoryMost":     {"Proxmox VE has no more.", "memory: 16Ti", nil},
		"TooLittle":      {"64 MiB are the least.", "memory: 66060288", []string{"spec.memory", "memory 66060288", "64Mi to 16Ti"}},
		"TooMuch":        {"Proxmox VE has no more.", "memory: 17Ti", []string{"spec.memory", "memory 17Ti", "64Mi to 16Ti"}},
		"MegabytesAsBytes": {
			"A number without a unit is one of bytes.", "memory: 2048", []string{"spec.memory", "memory 2048", "64Mi to 16Ti"},
		},
		"PartOfMiB": {
			"What is no whole MiB is refused, and not rounded.", "memory: 2147483649",
			[]string{"spec.memory", "memory 2147483649 is not a whole number of MiB"},
		},
		"DecimalUnit": {"A decimal gigabyte is no whole number of MiB.", "memory: 2G", []string{"spec.memory", "memory 2G is not a whole number of MiB"}},
		"NoQuantity":  {"Memory is a number.", "memory: abc", []string{"spec.memory", "memory abc is not a whole number of MiB"}},

		"DiskSizeExamples": {"The reference has these sizes.", "disks: [{name: a, size: 20G}, {name: b, size: 1T}]", nil},
		"DiskSizeEnds":     {"Sizes of disks are those of Proxmox VE.", "disks: [{name: a, size: 1M}, {name: b, size: 100T}]", nil},
		"DiskSizeUnits":    {"Units are binary, however they are written.", "disks: [{name: a, size: 1024K}, {name: b, size: 20Gi}]", nil},
		"DiskTooSmall":     {"A disk has a MiB at least.", "disks: [{name: a, size: 1023K}]", []string{"spec.disks[0].size", "disk size 1023K is out of range"}},
		"DiskTooLarge":     {"A disk has 100 TiB at most.", "disks: [{name: a, size: 101T}]", []string{"spec.disks[0].size", "disk size 101T is out of range"}},
		"DiskSizeNoUnit":   {"A size has a unit.", "disks: [{name: a, size: '20'}]", []string{"spec.disks[0].size"}},
		"DiskSizeText":     {"A size is a number.", "disks: [{name: a, size: large}]", []string{"spec.disks[0].size"}},

		"DiskTypeIDE":     {"The reference has the type of disk ide.", disk("type: ide"), nil},
		"DiskTypeSATA":    {"The reference has the type of disk sata.", disk("type: sata"), nil},
		"DiskTypeSCSI":    {"The reference has the type of disk scsi.", disk("type: scsi"), nil},
		"DiskTypeVirtIO":  {"The reference has the type of disk virtio.", disk("type: virtio"), nil},
		"UnknownDiskType": {"Proxmox VE has no other.", disk("type: nvme"), []string{"spec.disks[0].type", `Unsupported value: "nvme"`}},

		"CacheNone":         {"The reference has the cache mode none.", disk("cache: none"), nil},
		"CacheWritethrough": {"The reference has the cache mode writethrough.", disk("cache: writethrough"), nil},
		"CacheWriteback":    {"The reference has the cache mode writeback.", disk("cache: writeback"), nil},
		"UnknownCache":      {"The reference has no other.", disk("cache: unsafe"), []string{"spec.disks[0].cache", `Unsupported value: "unsafe"`}},

		"FormatRaw":     {"The reference has the format raw.", disk("format: raw"), nil},
		"FormatQCOW2":   {"The reference has the format qcow2.", disk("format: qcow2"), nil},
		"FormatVMDK":    {"The reference has the format vmdk.", disk("format: vmdk"), nil},
		"UnknownFormat": {"Proxmox VE has no other.", disk("format: vdi"), []string{"spec.disks[0].format", `Unsupported value: "vdi"`}},

		"Storage":        {"A storage has a name that Proxmox VE takes.", disk("storage: local-lvm"), nil},
		"UnknownStorage": {"No storage has such a name.", disk("storage: 'local lvm'"), []string{"spec.disks[0].storage"}},

		"ModelE1000":   {"The reference has the model e1000.", nic("model: e1000"), nil},
		"ModelVirtIO":  {"The reference has the model virtio.", nic("model: virtio"), nil},
		"ModelRTL8139": {"The reference has the model rtl8139.", nic("model: rtl8139"), nil},
		"UnknownModel": {"The reference has no other.", nic("model: e100"), []string{"spec.networks[0].model", `Unsupported value: "e100"`}},
		"Bridge":       {"A bridge has a name that Linux takes.", "networks: [{name: lan, bridge: 'br 0'}]", []string{"spec.networks[0].bridge"}},

		"MACLowerCase": {"The reference writes them so.", nic("macAddress: 'aa:bb:cc:dd:ee:ff'"), nil},
		"MACUpperCase": {"Letters may be of any case.", nic("macAddress: 'BC:24:11:00:00:01'"), nil},
		"MACOfAGroup":  {"The address of an interface is that of one.", nic("macAddress: '01:00:5e:00:00:01'"), []string{"spec.networks[0].macAddress"}},
		"MACTooShort":  {"An address has six parts.", nic("macAddress: 'aa:bb:cc:dd:ee'"), []string{"spec.networks[0].macAddress"}},

		"VLANLeast":   {"VLANs begin at 1.", nic("vlan: 1"), nil},
		"VLANMost":    {"VLANs end at 4094.", nic("vlan: 4094"), nil},
		"VLANTooLow":  {"VLANs begin at 1.", nic("vlan: 0"), []string{"spec.networks[0].vlan", "greater than or equal to 1"}},
		"VLANTooHigh": {"VLANs end at 4094.", nic("vlan: 4095"), []string{"spec.networks[0].vlan", "less than or equal to 4094"}},

		"OSTypeLinux":   {"The reference has the type linux.", "osType: linux", nil},
		"OSTypeWindows": {"The reference has the type windows.", "osType: windows", nil},
		"OSTypeSolaris": {"The reference has the type solaris.", "osType: solaris", nil},
		"OSTypeOther":   {"The reference has the type other.", "osType: other", nil},
		"UnknownOSType": {"The reference has no other.", "osType: beos", []string{"spec.osType", `Unsupported value: "beos"`}},

		"BootOrder":   {"The reference has these.", "bootOrder: [disk, network, cdrom]", nil},
		"NoBootOrder": {"An order has an entry.", "bootOrder: []", []string{"spec.bootOrder"}},

		"TemplateName":    {"A template has a name.", "template: ubuntu-20.04", nil},
		"TemplateVMID":    {"A template has a VMID.", "template: 9000", nil},
		"TemplateTooLow":  {"VMIDs begin at 100.", "template: 99", []string{"spec.template", "its VMID (100 to 999999999)"}},
		"TemplateUnnamed": {"A name has a letter.", "template: ''", []string{"spec.template", "1 to 100 characters"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			valueCase{tc.reason, ofOperator(tc.spec), tc.want}.run(t)
		})
	}
}

// TestRangesOfOthers checks that values that the Machine would refuse are refused in the composite resource, where its author sees the error.
func TestRangesOfOthers(t *testing.T) {
	xvm := func(spec string) string {
		return "{apiVersion: proxmox.vitistack.io/v1alpha1, kind: ProxmoxVirtualMachine, metadata: {name: ranges, namespace: x}, spec: {" + spec + "}}"
	}
	class := func(spec string) string {
		return "{apiVersion: infra.virtrigaud.io/v1beta1, kind: VMClass, metadata: {name: ranges}, spec: {cpus: 1, " + spec + "}}"
	}
	policy := func(spec string) string {
		return "{apiVersion: infra.virtrigaud.io/v1beta1, kind: VMPlacementPolicy, metadata: {name: ranges}, spec: {" + spec + "}}"
	}
	vm := func(spec string) string {
		return "{apiVersion: infra.virtrigaud.io/v1beta1, kind: VirtualMachine, metadata: {name: ranges, namespace: x}, spec: " +
			"{providerRef: {name: x}, classRef: {name: x}, imageRef: {name: x}, " + spec + "}}"
	}
	platform := func(spec string) string {
		return "{apiVersion: platform.vitistack.io/v1alpha1, kind: VirtualMachine, metadata: {name: ranges, namespace: x}, spec: {" + spec + "}}"
	}
	cases := map[string]valueCase{
		"MemoryLeast":     {"64 MiB are the least.", xvm("resources: {memory: 64Mi}"), nil},
		"MemoryTooLittle": {"64 MiB are the least.", xvm("resources: {memory: 63Mi}"), []string{"spec.resources.memory", "memory 63Mi", "64Mi to 16Ti"}},
		"MemoryNumber":    {"A number is one of bytes.", xvm("resources: {memory: 1000000}"), []string{"spec.resources.memory", "memory 1000000"}},
		"MemoryText":      {"Memory is a number.", xvm("resources: {memory: abc}"), []string{"spec.resources.memory", "memory abc"}},
		"DiskEnds":        {"A disk has 100 TiB at most.", xvm("resources: {disk: 100Ti}"), nil},
		"DiskTooLarge":    {"A disk has 100 TiB at most.", xvm("resources: {disk: 101Ti}"), []string{"spec.resources.disk", "disk size 101Ti is out of range"}},
		"MAC":             {"An address is one.", xvm("network: [{bridge: vmbr0, macAddress: none}]"), []string{"spec.network[0].macAddress"}},
		"Model":           {"A model is one of Proxmox VE's.", xvm("network: [{bridge: vmbr0, model: e100}]"), []string{"spec.network[0].model"}},
		"Bridge":          {"A bridge has a name that Linux takes.", xvm("network: [{bridge: 'br 0'}]"), []string{"spec.network[0].bridge"}},
		"Template":        {"VMIDs begin at 100.", xvm("template: 99"), []string{"spec.template", "its VMID (100 to 999999999)"}},

		"ClassMemoryLeast":     {"64 MiB are the least.", class("memory: 64Mi"), nil},
		"ClassMemoryTooLittle": {"64 MiB are the least.", class("memory: 63Mi"), []string{"spec.memory", "memory 63Mi", "64Mi to 16Ti"}},
		"ClassMemoryNumber":    {"A number is one of bytes.", class("memory: 1000000"), []string{"spec.memory", "memory 1000000"}},
		"ClassMemoryText":      {"Memory is a number.", class("memory: abc"), []string{"spec.memory", "memory abc"}},
		"ClassMachine":         {"A machine is one of QEMU's.", class("memory: 1Gi, spec: {machine: q36}"), []string{"spec.spec.machine"}},
		"ClassStorage":         {"A storage has a name that Proxmox VE takes.", class("memory: 1Gi, storage: {class: 'a b'}"), []string{"spec.storage.class"}},

		"PolicyMemory":     {"Nothing may be kept free.", policy("constraints: {minFreeMemory: 0}"), nil},
		"PolicyMemoryText": {"Memory is a number.", policy("constraints: {minFreeMemory: abc}"), []string{"minFreeMemory abc is not a quantity of 0 to 16Ti"}},
		"PolicyNode":       {"A node has a name of the DNS.", policy("nodeSelector: ['pve 1']"), []string{"spec.nodeSelector[0]"}},

		"VMDiskTooLarge": {"A disk has 100 TiB at most.", vm("disks: [{name: root, size: 101Ti}]"), []string{"disk size 101Ti is out of range"}},
		"VMDiskText":     {"A size is a number.", vm("disks: [{name: root, size: large}]"), []string{"spec.disks[0].size"}},
		"VMStorage":      {"A storage has a name that Proxmox VE takes.", vm("disks: [{name: root, storage: 'a b'}]"), []string{"spec.disks[0].storage"}},
		"VMMAC":          {"The address of an interface is that of one.", vm("networks: [{name: lan, mac: '01:00:5e:00:00:01'}]"), []string{"spec.networks[0].mac"}},
		"VMBridge":       {"A bridge has a name that Linux takes.", vm("networks: [{name: lan, bridge: 'br 0'}]"), []string{"spec.networks[0].bridge"}},
		"VMNameServer": {
			"A name server is an address.", vm("networks: [{name: lan, staticIP: {address: 192.0.2.7/24, dns: [example.com]}}]"),
			[]string{"example.com is not an IP address"},
		},
		"PlatformNameServer": {
			"A name server is an address.", platform("network: {nameservers: [example.com]}"), []string{"example.com is not an IP address"},
		},
		"PlatformGateway": {"The gateway of a /31 is anywhere.", platform("network: {address: 192.0.2.10/31, gateway: 198.51.100.1}"), nil},
		"ClusterEndpoint": {
			"Credentials do not travel in clear.", "{apiVersion: vitistack.io/v1alpha1, kind: ProxmoxCluster, metadata: {name: ranges}, spec: " +
				"{endpoint: 'http://pve:8006', credentials: {username: a@pve, password: {secretRef: {name: x, key: k}}}}}", []string{"spec.endpoint", "https"},
		},
		"ProviderEndpoint": {
			"Credentials do not travel in clear.", "{apiVersion: infra.virtrigaud.io/v1beta1, kind: Provider, metadata: {name: ranges, namespace: x}, spec: " +
				"{endpoint: 'http://pve:8006'}}", []string{"spec.endpoint", "https"},
		},
		"SiteEndpoint": {
			"An endpoint is that of the API.", "{apiVersion: proxmox.sankofa.nexus/v1alpha1, kind: ProviderConfig, metadata: {name: ranges}, spec: {credentials: " +
				"{source: Secret, secretRef: {name: x, namespace: x, key: x}}, sites: [{name: a, endpoint: 'https://pve:8006/login'}]}}",
			[]string{"spec.sites[0].endpoint", "api2"},
		},
		"NodeName": {
			"A node has a name of the DNS.", "{apiVersion: vitistack.io/v1alpha1, kind: ProxmoxNode, metadata: {name: ranges}, spec: {nodeName: 'pve 1'}}",
			[]string{"spec.nodeName"},
		},
		"SankofaNode":  {"A node has a name of the DNS.", strings.Replace(proxmoxVM("", "8Gi", "8Gi"), "node: a", "node: a_b", 1), []string{"spec.forProvider.node"}},
		"PlatformNode": {"A node has a name of the DNS.", platform("placement: {nodes: ['pve 1']}"), []string{"spec.placement.nodes[0]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.run(t)
		})
	}
}

// TestCPUsOfProxmoxVM checks both ends of the range in the reference.
func TestCPUsOfProxmoxVM(t *testing.T) {
	for name, cpus := range map[string]string{"Least": "1", "Most": "1024"} {
		t.Run(name, func(t *testing.T) {
			object := strings.Replace(proxmoxVM("", "8Gi", "8Gi"), "cpu: 1", "cpu: "+cpus, 1)
			valueCase{reason: "The reference says so.", object: object}.run(t)
		})
	}
}

// TestBridgesOfProxmoxVM checks that a bridge may begin with any of the characters in the reference.
func TestBridgesOfProxmoxVM(t *testing.T) {
	for name, bridge := range map[string]string{"Digit": "10g-lan", "Hyphen": "-lan_1", "Underscore": "_lan", "Letter": "bridge_01"} {
		t.Run(name, func(t *testing.T) {
			object := strings.Replace(proxmoxVM("", "8Gi", "8Gi"), "cpu: 1", "cpu: 1, network: "+bridge, 1)
			valueCase{reason: "The reference says so.", object: object}.run(t)
		})
	}
}

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

package validate

import (
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/qemu"
)

func TestUnstartable(t *testing.T) {
	cases := map[string]struct {
		reason         string
		active, config qemu.Config
		want           string // Part of the message, empty for none.
	}{
		"Nothing": {reason: "A VM without pending changes would start.", active: qemu.Config{}, config: qemu.Config{}},
		"Plugged": {
			reason: "Memory is plugged into nodes of NUMA.", config: qemu.Config{"hotplug": "disk,memory", "memory": "2048"},
			want: "hotplug memory needs cpu.numa",
		},
		"PluggedNUMA": {
			reason: "A VM with NUMA starts with memory that is plugged in.",
			config: qemu.Config{"hotplug": "disk,memory", "memory": "2048", "numa": "1"},
		},
		"PluggedNodes": {
			reason: "The nodes are not made by hand then.",
			config: qemu.Config{"hotplug": "memory", "memory": "2048", "numa": "1", "numa0": "cpus=0,memory=2048"},
			want:   "does not go with cpu.numaNodes",
		},
		"PluggedShares": {
			reason: "Memory that can be plugged in cannot be shared with the node, which virtiofs needs.",
			config: qemu.Config{"hotplug": "memory", "memory": "2048", "numa": "1", "virtiofs0": "data"}, want: "does not go with virtiofs",
		},
		"PluggedLittle": {
			reason: "There is a least memory.", config: qemu.Config{"hotplug": "memory", "numa": "1"},
			want: "needs 1024 MiB of memory, and the VM has 512 MiB",
		},
		"HugePages":     {reason: "Huge pages are those of nodes.", config: qemu.Config{"hugepages": "2"}, want: "memoryOptions.hugePages needs cpu.numa"},
		"HugePagesNUMA": {reason: "Which the VM has.", config: qemu.Config{"hugepages": "2", "numa": "1"}},
		"HugePagesNode": {
			reason: "A node says whose.", config: qemu.Config{"hugepages": "2", "numa": "1", "numa0": "cpus=0,memory=512"},
			want: "cpu.numaNodes[0] needs hostNodes",
		},
		"Nodes": {
			reason: "Nodes that have all memory are fine.",
			config: qemu.Config{"memory": "current=2048", "numa": "1", "numa0": "cpus=0,memory=1024", "numa1": "cpus=1,memory=1024,hostnodes=0,policy=bind"},
		},
		"NodesLack": {
			reason: "Nodes have all memory of the VM.",
			config: qemu.Config{"memory": "4096", "numa": "1", "numa0": "cpus=0,memory=1024", "numa1": "cpus=1,memory=1024"},
			want:   "have 2048 MiB in all, and the VM has 4096 MiB",
		},
		"NodeEmpty": {
			reason: "Each node of NUMA has some memory.", config: qemu.Config{"numa": "1", "numa0": "cpus=0,memory=512", "numa1": "cpus=1"},
			want: "cpu.numaNodes[1] needs memory",
		},
		"NodePolicy": {
			reason: "Nodes of the host have a policy.", config: qemu.Config{"numa": "1", "numa0": "cpus=0,memory=512,hostnodes=0"},
			want: "needs policy",
		},
		"NodesUnused": {reason: "Without NUMA nodes are of no meaning.", config: qemu.Config{"numa0": "cpus=0"}},
		"PCIe": {
			reason: "The machine has the bus of its devices.", config: qemu.Config{"hostpci0": "mapping=gpu,pcie=1", "machine": "pc"},
			want: "hostpci0) needs machineType q35",
		},
		"PCIeQ35": {reason: "A machine of type q35 has the bus of PCIe devices.", config: qemu.Config{"hostpci0": "mapping=gpu,pcie=on", "machine": "pc-q35-9.2"}},
		"HugePagesFit": {
			reason: "Huge pages make up the memory of each node.",
			config: qemu.Config{"hugepages": "1024", "numa": "1", "memory": "3072", "sockets": "2"},
			want:   "memoryOptions.hugePages of 1024 MiB cannot hold a NUMA node's memory, 1536 MiB",
		},
		"HugePagesOdd": {
			reason: "None is of an odd size.",
			config: qemu.Config{"hugepages": "any", "numa": "1", "numa0": "cpus=0,memory=513,hostnodes=0,policy=bind", "memory": "513"},
			want:   "memoryOptions.hugePages of 2 MiB",
		},
		"IGD": {
			reason: "A legacy integrated GPU is the only display.", config: qemu.Config{"hostpci0": "0000:00:02.0,legacy-igd=1", "vga": "std"},
			want: "legacyIGD (hostpci0) needs vga.type none",
		},
		"IGDFits": {reason: "Which this one is.", config: qemu.Config{"hostpci0": "0000:00:02.0,legacy-igd=1", "vga": "none"}},
		"IGDOfQ35": {
			reason: "A legacy integrated GPU needs a machine of type pc.", config: qemu.Config{"hostpci0": "0000:00:02.0,legacy-igd=1", "vga": "none", "machine": "q35"},
			want: "needs machineType pc",
		},
		"IGDNoROM": {
			reason: "A legacy integrated GPU needs its ROM.", config: qemu.Config{"hostpci0": "0000:00:02.0,legacy-igd=1,rombar=0", "vga": "none"}, want: "needs romBar",
		},
		"IGDOfVGA": {
			reason: "A legacy integrated GPU is not a display twice.", config: qemu.Config{"hostpci0": "0000:00:02.0,legacy-igd=1,x-vga=on", "vga": "none"},
			want: "does not go with primaryGPU",
		},
		"IGDMediated": {
			reason: "A legacy integrated GPU is not shared.", config: qemu.Config{"hostpci0": "0000:00:02.0,legacy-igd=1,mdev=i915-GVTg_V5_4", "vga": "none"},
			want: "does not go with mediatedDevice",
		},
		"IGDTwice": {
			reason: "There is one legacy integrated GPU only.",
			config: qemu.Config{"hostpci0": "0000:00:02.0,legacy-igd=1", "hostpci1": "mapping=gpu,legacy-igd=1", "vga": "none"},
			want:   "legacyIGD (hostpci1) is for one device only",
		},
		"Mediated": {
			reason: "A mediated device is one of a single device.", config: qemu.Config{"hostpci2": "0000:01:00.0;0000:01:00.1,mdev=nvidia-63"},
			want: "mediatedDevice (hostpci2) needs a single host device",
		},
		"USB": {
			reason: "Most guests have five USB devices.", config: qemu.Config{"usb4": "spice", "usb5": "spice", "ostype": "win7"},
			want: "usbDevices[] (usb5) needs osType",
		},
		"USBUntold": {reason: "A guest of which nobody says what it is has five USB devices.", config: qemu.Config{"usb5": "spice"}, want: "needs osType"},
		"USBRecent": {reason: "Recent ones have more.", config: qemu.Config{"usb13": "spice", "ostype": "l26", "machine": "pc-q35-7.1"}},
		"USBOldMachine": {
			reason: "On a recent machine.", config: qemu.Config{"usb13": "spice", "ostype": "win11", "machine": "pc-q35-7.0"},
			want: "of version 7.1",
		},
		"SEV": {reason: "Encrypted memory needs the firmware.", config: qemu.Config{"amd-sev": "std"}, want: "extraConfig.amd-sev needs bios ovmf"},
		"TDX": {
			reason: "Trust domains need the firmware.", config: qemu.Config{"intel-tdx": "tdx", "bios": "seabios"},
			want: "extraConfig.intel-tdx needs bios ovmf",
		},
		"SEVFits": {reason: "Which is this one.", config: qemu.Config{"amd-sev": "std", "bios": "ovmf"}},
		"Narrow": {
			reason: "The firmware OVMF has 64 bits.", config: qemu.Config{"bios": "ovmf", "cpu": "cputype=kvm32,flags=+pcid"},
			want: "bios ovmf does not go with cpu.type kvm32",
		},
		"NarrowFits": {reason: "OVMF goes with a CPU of 64 bits.", config: qemu.Config{"bios": "ovmf", "cpu": "kvm64"}},
		"Shares": {
			reason: "Windows cannot mount a share with ACLs.", config: qemu.Config{"ostype": "win11", "virtiofs0": "data,expose-acl=1"},
			want: "virtiofs[].exposeACL (virtiofs0) does not go with Windows",
		},
		"SharesOfLinux": {reason: "Linux can mount a share with ACLs.", config: qemu.Config{"ostype": "l26", "virtiofs0": "data,expose-acl=1"}},
		"AlreadyIncompatible": {
			reason: "What the VM has run with is not for us to judge.", active: qemu.Config{"hugepages": "2"},
			config: qemu.Config{"hugepages": "any", "cores": "2"},
		},
		"OtherwiseIncompatible": {
			reason: "A fault that the VM has not run with is judged.", active: qemu.Config{"hugepages": "2"},
			config: qemu.Config{"hugepages": "2", "hostpci1": "mapping=gpu,pcie=1"}, want: "hostpci1",
		},
		"MachineOfDevice": {
			reason: "A machine is not taken from under its devices.", active: qemu.Config{"hostpci0": "mapping=gpu,pcie=1", "machine": "q35"},
			config: qemu.Config{"hostpci0": "mapping=gpu,pcie=1"}, want: "needs machineType q35",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(StartError(qemu.State{Active: tc.active, Config: tc.config}), "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("%s Want %q, got %q.", tc.reason, tc.want, got)
			}
		})
	}
}

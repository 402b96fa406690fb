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

package tenancy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// TestRootOptions checks that tenant f may set options that otherwise only root may set, which no other tenant may, and nothing else that reaches the
// node.
func TestRootOptions(t *testing.T) {
	cases := map[string]struct {
		reason      string
		name, value string
		want        string // What is refused to tenant f anyway.
	}{
		"Args":       {reason: "QEMU may get arguments.", name: "args", value: "-device x"},
		"Hookscript": {reason: "A script may run on the node.", name: "hookscript", value: "local:snippets/x.pl"},
		"Affinity":   {reason: "Processors of the node may be chosen.", name: "affinity", value: "0-3"},
		"HugePages":  {reason: "Huge pages of the node may be taken.", name: "hugepages", value: "2"},
		"HostNodes":  {reason: "NUMA nodes of the node may be chosen.", name: "numa0", value: "cpus=0,hostnodes=1"},
		"PCI":        {reason: "A PCI device may be named by its address.", name: "hostpci0", value: "0000:01:00.0,romfile=x.bin"},
		"USB":        {reason: "A USB device may be named by its address.", name: "usb0", value: "host=046d:c52b"},
		"Serial":     {reason: "A serial port of the node may be passed through.", name: "serial0", value: "/dev/ttyS0"},
		"Parallel":   {reason: "A parallel port of the node may be passed through.", name: "parallel0", value: "/dev/parport0"},
		"Mapping":    {reason: "A mapping is a permission of its own.", name: "hostpci0", value: "mapping=nic", want: "of mapping nic"},
		"MappedROM": {
			reason: "A ROM with a mapping is not for root alone.", name: "hostpci0", value: "mapping=gpu,romfile=x.bin", want: "device of the node",
		},
		"CustomData":    {reason: "Snippets are not for root alone.", name: "cicustom", value: "user=local:snippets/x.yaml", want: "option cicustom"},
		"Startup":       {reason: "The order of start is not for root alone.", name: "startup", value: "order=0", want: "option startup"},
		"HardwareRNG":   {reason: "The node's generator is its own.", name: "rng0", value: "source=/dev/hwrng", want: "option rng0"},
		"Lock":          {reason: "A state is no option.", name: "lock", value: "backup", want: "option lock"},
		"Path":          {reason: "A disk of the node is none.", name: "scsi1", value: "/dev/sdb", want: "/dev/sdb of the node"},
		"OtherStorage":  {reason: "Storages count all the same.", name: "scsi1", value: "ceph:4", want: "(storages)"},
		"OthersDisk":    {reason: "Disks of others stay theirs.", name: "scsi1", value: "nfs:305/vm-305-disk-0.raw", want: "volume of another VM"},
		"OtherBridge":   {reason: "Networks count all the same.", name: "net0", value: "virtio,bridge=vmbr0", want: "(bridges)"},
		"StillUnknown":  {reason: "What is not known is refused.", name: "brand-new", value: "1", want: "option brand-new"},
		"OwnSerialPort": {reason: "A serial port that is a socket is for all.", name: "serial0", value: "socket"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			set := map[string]string{tc.name: tc.value}
			compare(t, tc.reason, tenant(t, "f").CheckOptions(805, set), tc.want)
			if tc.want == "" && tc.value != "socket" && tenant(t, "a").CheckOptions(205, set) == nil {
				t.Errorf("%s Want it refused to a tenant without the permission.", tc.reason)
			}
		})
	}
}

func TestRootOptionsOfSpecs(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		want   string // To a tenant without the permission.
	}{
		"Hookscript": {
			reason: "A script is for root alone.",
			spec:   v1alpha1.MachineParameters{Hookscript: new("local:snippets/x.pl")}, want: "(allow.rootOptions): hookscript",
		},
		"Affinity": {
			reason: "Processors of the node are for root alone.", spec: v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Affinity: new("0")}},
			want: "(allow.rootOptions): cpu.affinity",
		},
		"HostNodes": {
			reason: "NUMA nodes of the node are for root alone.",
			spec:   v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{NUMANodes: []v1alpha1.MachineNUMANode{{CPUs: "0", HostNodes: new("0")}}}},
			want:   "(allow.rootOptions): cpu.numaNodes[].hostNodes",
		},
		"HugePages": {
			reason: "Huge pages are for root alone.",
			spec:   v1alpha1.MachineParameters{MemoryOptions: &v1alpha1.MachineMemoryOptions{HugePages: new("2"), KeepHugePages: new(true)}},
			want:   "(allow.rootOptions): memoryOptions.hugePages",
		},
		"PCI": {
			reason: "A PCI device by its address is for root alone.",
			spec:   v1alpha1.MachineParameters{PCIDevices: []v1alpha1.MachinePCIDevice{{Name: "x", Host: new("0000:01:00.0"), ROMFile: new("x.bin")}}},
			want:   "(allow.passthrough): pciDevices[x] is a device of the node",
		},
		"USB": {
			reason: "A USB device by its address is for root alone.",
			spec:   v1alpha1.MachineParameters{USBDevices: []v1alpha1.MachineUSBDevice{{Name: "x", Host: new("1-1")}}},
			want:   "(allow.passthrough): usbDevices[x] is a device of the node",
		},
		"Serial": {
			reason: "A serial port of the node is for root alone.", spec: v1alpha1.MachineParameters{SerialPorts: []string{"/dev/ttyS0"}},
			want: "(allow.passthrough): serialPorts /dev/ttyS0 is a device of the node",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for of, want := range map[string]string{"a": tc.want, "f": ""} {
				mg := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: of}, Spec: namespaced.MachineSpec{ForProvider: tc.spec}}
				compare(t, tc.reason, tenant(t, of).CheckSpec(mg), want)
			}
		})
	}
}

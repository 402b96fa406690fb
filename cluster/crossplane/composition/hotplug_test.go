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
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vmClass returns a VMClass of VirtRigaud.
func vmClass(name, spec string) string {
	return "{apiVersion: infra.virtrigaud.io/v1beta1, kind: VMClass, metadata: {name: " + name + "}, spec: {" + spec + "}}"
}

// TestHotPlugOfVirtualMachine checks the parameters of a Machine while the VMClass of its VirtualMachine, or the choice of it, changes: with
// performanceProfile, only what can change while the VM runs. A disk grows in addition.
func TestHotPlugOfVirtualMachine(t *testing.T) {
	w := newWorld(t)
	w.makes(vmClass("plain", "cpus: 2, memory: 4Gi"))
	small := w.makes(vmClass("small", "cpus: 2, memory: 4Gi, performanceProfile: {cpuHotAddEnabled: true, memoryHotAddEnabled: true, maxCPUs: 8}"))
	w.makes(vmClass("large", "cpus: 8, memory: 16Gi, performanceProfile: {cpuHotAddEnabled: true, memoryHotAddEnabled: true, maxCPUs: 8}"))
	w.makes(vmClass("cpus", "cpus: 2, memory: 4Gi, performanceProfile: {cpuHotAddEnabled: true, maxCPUs: 4}"))
	w.makes(vmClass("memory", "cpus: 2, memory: 4Gi, performanceProfile: {memoryHotAddEnabled: true}"))
	w.makes(vmClass("without", "cpus: 2, memory: 4Gi, performanceProfile: {}"))
	vm := w.makes("{apiVersion: infra.virtrigaud.io/v1beta1, kind: VirtualMachine, metadata: {name: web-server, namespace: x}, spec: {providerRef: {name: x}, "+
		"classRef: {name: plain}, imageRef: {name: ubuntu-22}, disks: [{name: root, size: 20Gi}]}}", "migration/virtrigaud/image-ubuntu-22.yaml")

	class := func(name string) func() error {
		return func() error { return w.set(vm, name, "spec", "classRef", "name") }
	}
	cpu := func(cores, vcpus int64) map[string]any {
		return map[string]any{"cores": cores, "vcpus": vcpus, "numa": true}
	}
	all := []any{"network", "disk", "usb", "cpu", "memory"}
	cases := []struct {
		reason string
		change func() error
		want   map[string]any
	}{
		{
			reason: "A class without performanceProfile asks for cores and memory alone.", change: class("plain"),
			want: map[string]any{"cpu": map[string]any{"cores": int64(2)}, "memory": "4Gi"},
		},
		{
			reason: "The cores are those that the VM can have, and its CPUs are plugged in.", change: class("small"),
			want: map[string]any{"cpu": cpu(8, 2), "memory": "4Gi", "hotplug": all},
		},
		{
			reason: "Another class changes vcpus and memory alone.", change: class("large"),
			want: map[string]any{"cpu": cpu(8, 8), "memory": "16Gi", "hotplug": all},
		},
		{
			reason: "A smaller class takes them out again.", change: class("small"),
			want: map[string]any{"cpu": cpu(8, 2), "memory": "4Gi", "hotplug": all},
		},
		{
			reason: "The class itself may change as well.",
			change: func() error {
				err := w.set(small, int64(4), "spec", "cpus")
				if err == nil {
					err = w.set(small, "8Gi", "spec", "memory")
				}
				w.settle(small)
				return err
			},
			want: map[string]any{"cpu": cpu(8, 4), "memory": "8Gi", "hotplug": all},
		},
		{
			reason: "A disk grows, and nothing else changes.",
			change: func() error { return w.set(vm, []any{map[string]any{"name": "root", "size": "40Gi"}}, "spec", "disks") },
			want: map[string]any{
				"cpu": cpu(8, 4), "memory": "8Gi", "hotplug": all, "disks": []any{map[string]any{"name": "root", "size": "40Gi"}},
			},
		},
		{
			reason: "CPUs alone can be plugged in.", change: class("cpus"),
			want: map[string]any{"cpu": cpu(4, 2), "memory": "4Gi", "hotplug": []any{"network", "disk", "usb", "cpu"}},
		},
		{
			reason: "Memory alone can be plugged in, beside all CPUs.", change: class("memory"),
			want: map[string]any{"cpu": cpu(2, 0), "memory": "4Gi", "hotplug": []any{"network", "disk", "usb", "memory"}},
		},
		{
			reason: "A class that says that nothing is plugged in has the VM forget it.", change: class("without"),
			want: map[string]any{"cpu": map[string]any{"cores": int64(2), "vcpus": int64(0)}, "memory": "4Gi", "hotplug": []any{"network", "disk", "usb"}},
		},
	}
	for _, tc := range cases {
		want := w.machine(vm)
		maps.DeleteFunc(want, func(key string, _ any) bool { return slices.Contains([]string{"cpu", "memory", "hotplug"}, key) })
		maps.Copy(want, tc.want)
		if err := tc.change(); err != nil {
			t.Fatalf("%s\n%v", tc.reason, err)
		}
		if !w.settle(vm) {
			t.Errorf("%s\nit is not ready after the change: %v", tc.reason, w.warnings)
		}
		if diff := cmp.Diff(want, w.machine(vm)); diff != "" {
			t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
		}
	}
}

// TestHotPlugOfClass checks the possible values of a VMClass whose CPUs and memory can be hot-plugged.
func TestHotPlugOfClass(t *testing.T) {
	memory := func(size string) string {
		return vmClass("plugs", "cpus: 2, performanceProfile: {memoryHotAddEnabled: true}, memory: "+size)
	}
	cpus := func(spec string) string { return vmClass("plugs", "memory: 4Gi, "+spec) }
	const outOfRange = "is out of range with performanceProfile.memoryHotAddEnabled: 1Gi to 4081Gi"
	steps := func(size, next, below string) string {
		return "memory " + size + " cannot be plugged in: with performanceProfile.memoryHotAddEnabled, Proxmox VE has " + next + " after " + below
	}
	cases := map[string]valueCase{
		"AllCPUs": {"A VM may have all CPUs from the start.", cpus("cpus: 1024, performanceProfile: {cpuHotAddEnabled: true, maxCPUs: 1024}"), nil},
		"TooManyCPUs": {
			"A VM has no more CPUs than it can have.", cpus("cpus: 9, performanceProfile: {cpuHotAddEnabled: true, maxCPUs: 8}"),
			[]string{"cpus 9 is more than performanceProfile.maxCPUs 8"},
		},
		"NoMaximum": {
			"Proxmox VE has to know how many CPUs there can be.", cpus("cpus: 2, performanceProfile: {cpuHotAddEnabled: true}"),
			[]string{"performanceProfile.cpuHotAddEnabled needs maxCPUs, the most CPUs that a VM of the class can have while it runs"},
		},
		"MaximumAlone": {
			"A field without effect is a mistake.", cpus("cpus: 2, performanceProfile: {maxCPUs: 8}"),
			[]string{"performanceProfile.maxCPUs needs cpuHotAddEnabled: true"},
		},
		"MaximumOff": {
			"A field without effect is a mistake.", cpus("cpus: 2, performanceProfile: {cpuHotAddEnabled: false, maxCPUs: 8}"),
			[]string{"performanceProfile.maxCPUs needs cpuHotAddEnabled: true"},
		},
		"MaximumTooHigh": {
			"Proxmox VE has no more cores.", cpus("cpus: 2, performanceProfile: {cpuHotAddEnabled: true, maxCPUs: 1025}"),
			[]string{"spec.performanceProfile.maxCPUs", "less than or equal to 1024"},
		},
		"Nothing": {"A class may say that nothing is plugged in.", cpus("cpus: 2, performanceProfile: {}"), nil},

		"LeastMemory":     {"A VM starts with 1 GiB at least.", memory("1Gi"), nil},
		"TooLittleMemory": {"A VM starts with 1 GiB at least.", memory("1023Mi"), []string{"memory 1023Mi " + outOfRange}},
		"MostMemory":      {"All modules make 4081 GiB.", memory("4081Gi"), nil},
		"TooMuchMemory":   {"All modules make 4081 GiB.", memory("4082Gi"), []string{"memory 4082Gi " + outOfRange}},
		"FirstModule":     {"The first modules have 512 MiB.", memory("1536Mi"), nil},
		"HalfModule":      {"A module is plugged in whole.", memory("1792Mi"), []string{steps("1792Mi", "2048Mi", "1536Mi")}},
		"LastOf512":       {"There are 32 modules of 512 MiB.", memory("17Gi"), nil},
		"FirstOf1024":     {"The next modules are twice as large.", memory("18Gi"), nil},
		"HalfOf1024":      {"The next modules are twice as large.", memory("17920Mi"), []string{steps("17920Mi", "18432Mi", "17408Mi")}},
		"LastOf1024":      {"There are 32 modules of 1 GiB.", memory("49Gi"), nil},
		"HalfOf2048":      {"A power of two need not be a size.", memory("64Gi"), []string{steps("64Gi", "66560Mi", "64512Mi")}},
		"Bytes":           {"A number is one of bytes.", memory("68719476736"), []string{steps("68719476736", "66560Mi", "64512Mi")}},
		"FirstOf65536":    {"The largest modules have 64 GiB.", memory("2097Gi"), nil},
		"HalfOf65536":     {"The largest modules have 64 GiB.", memory("2065Gi"), []string{steps("2065Gi", "2147328Mi", "2081792Mi")}},
		"WithoutMemory": {
			"Memory that is not plugged in has any size.", vmClass("plugs", "cpus: 2, memory: 65Mi, performanceProfile: {memoryHotAddEnabled: false}"), nil,
		},
		"NoQuantity": {"Memory is a number.", memory("abc"), []string{"memory abc is not a whole number of MiB"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { tc.run(t) })
	}
}

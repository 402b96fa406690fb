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

package qemu

import (
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu/qemutest"
)

// foundConfigs returns VMs as they are found in real clusters, by name.
func foundConfigs(t *testing.T) map[string]map[string]string {
	t.Helper()
	all, err := qemutest.Configs()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFoundConfigs checks that these configurations are read and, except for what PVE itself would write in another form, written unchanged, and that no
// part of them causes a change or a rejection.
func TestFoundConfigs(t *testing.T) {
	rewritten := map[string]string{
		"cloud efidisk0": "local-zfs:vm-104-disk-0,efitype=4m,size=1M",
		"storage net2":   "virtio=BC:24:11:00:03:02,bridge=vnet7",
		"storage net3":   "virtio=BC:24:11:00:03:03,bridge=vmbr0",
	}
	for name, config := range foundConfigs(t) {
		t.Run(name, func(t *testing.T) {
			for option, value := range config {
				want := value
				if s, ok := rewritten[name+" "+option]; ok {
					want = s
				}
				if got, err := printed(option, value); err != nil || got != want {
					t.Errorf("%s: %q is written %q, %v; want %q", option, value, got, err, want)
				}
			}
			d := desiredOf(t, v1alpha1.MachineParameters{}, Devices{}, config)
			d.Identity.UUID = Config(config).UUID()
			if diff, no := d.Difference(config), d.Rejections(config); !diff.Empty() || len(no) > 0 {
				t.Errorf("want no difference and no refusal, got %v and %q", diff, no)
			}
		})
	}
}

// TestNothingRefusedThatStays checks that the memory and cores that a VM already has are not rejected while they stay.
func TestNothingRefusedThatStays(t *testing.T) {
	config := Config{"memory": "3000", "balloon": "4096", "hotplug": "disk memory", "cores": "1", "vcpus": "3"}
	spec := v1alpha1.MachineParameters{Memory: quantity("3000Mi"), CPU: &v1alpha1.MachineCPU{Cores: new(int32(1))}}
	if no := desiredOf(t, spec, Devices{}, config).Rejections(config); len(no) > 0 {
		t.Errorf("want no refusal, got %q", no)
	}
	spec.Memory, spec.CPU.Cores = quantity("2900Mi"), new(int32(2))
	if no := desiredOf(t, spec, Devices{}, config).Rejections(config); len(no) != 3 {
		t.Errorf("want three refusals, got %q", no)
	}
	spec = v1alpha1.MachineParameters{MemoryOptions: &v1alpha1.MachineMemoryOptions{Minimum: quantity("4Gi")}}
	if no := desiredOf(t, spec, Devices{}, config).Rejections(config); len(no) > 0 {
		t.Errorf("want no refusal, got %q", no)
	}
}

func TestAgentOfConfig(t *testing.T) {
	for value, want := range map[string]bool{
		"1": true, "enabled=1": true, "on,type=isa": true, "fstrim_cloned_disks=1,enabled=yes": true,
		"": false, "0": false, "enabled=0,fstrim_cloned_disks=1": false, "fstrim_cloned_disks=1": false, "=": false,
	} {
		if got := (Config{"agent": value}).Agent(); got != want {
			t.Errorf("agent %q is on: got %t, want %t", value, got, want)
		}
	}
}

// TestUsesOfConfig checks that a volume counts as used in whatever form it is written.
func TestUsesOfConfig(t *testing.T) {
	const volume = "local:iso/x.iso"
	for value, want := range map[string]string{
		volume: volume, volume + ",media=cdrom": volume, "media=cdrom," + volume: volume, "media=cdrom,file=" + volume: volume,
		"volume=" + volume + ",media=cdrom": volume, "meta=local:snippets/m,user=" + volume: volume, volume + ",": volume,
		volume + "2,media=cdrom": "", "other:iso/x.iso,media=cdrom": "", "": "", "none,media=cdrom": "",
	} {
		if got := (Config{"ide2": value}).Uses("local:iso/y.iso", volume); got != want {
			t.Errorf("%q: want %q, got %q", value, want, got)
		}
	}
}

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

package qemu_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/export"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// described returns the description of a VM with a configuration.
func described(t *testing.T, config qemu.Config) export.Description {
	t.Helper()
	var values []proxmox.PendingValue
	for _, key := range slices.Sorted(maps.Keys(config)) {
		values = append(values, proxmox.PendingValue{Key: key, Value: new(config[key])})
	}
	got, err := export.Describe(export.Subject{Options: values}, everything)
	if err != nil {
		t.Fatalf("cannot describe %v: %v", config, err)
	}
	return got
}

// everything accepts all parameters.
func everything(v1alpha1.MachineParameters) []string { return nil }

// checkDescription fails if a VM's description asks for other values than the VM has, or omits something without saying so.
func checkDescription(t *testing.T, config qemu.Config) {
	t.Helper()
	got := described(t, config)
	d := qemu.DesiredOf(t, got.Parameters, qemu.Devices{}, config)
	d.Identity.UUID = config.UUID()
	d.Defaults = qemu.Defaults{}
	if diff := d.Difference(config); !diff.Empty() {
		t.Errorf("the description of %v\nis %+v\nand differs by %+v", config, got, diff)
	}
	if no := d.Rejections(config); len(no) > 0 {
		t.Errorf("the description of %v\nis %+v\nand is refused: %q", config, got, no)
	}
	if moves, resizes := d.Moves(config), d.Resizes(config); len(moves)+len(resizes) > 0 {
		t.Errorf("the description of %v moves %v and resizes %v", config, moves, resizes)
	}
	described := d.Described(config)
	for _, o := range got.Omissions {
		name, _, _ := strings.Cut(o.Option, " ")
		described[name] = true
	}
	for name, now := range config {
		if !described[name] && fields.IsOption(name) && name != "vmgenid" && strings.TrimSpace(now) != "" {
			t.Errorf("the description of %v says nothing of %s", config, name)
		}
	}
}

// TestDescribeRecorded checks that the descriptions of real VMs would change nothing.
func TestDescribeRecorded(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			n := 0
			for _, config := range qemu.RecordedConfigs(t, version) {
				if config["template"] == "1" || config.BeingCreated() {
					continue
				}
				n++
				checkDescription(t, config)
			}
			if n < 100 {
				t.Errorf("%d VMs were described, want more than 100", n)
			}
		})
	}
}

// FuzzDescribe describes generated VMs, and those that generated specs lead to.
func FuzzDescribe(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := qemu.NewRandomSpec(seed)
		config := qemu.Our(g.Config())
		config["description"] = qemu.Unmark(config["description"])
		checkDescription(t, config)
		d := qemu.DesiredOf(t, g.Spec(), qemu.Devices{}, config)
		checkDescription(t, qemu.Our(qemu.Stored(t, config, d.Difference(config))))
	})
}

// fullDescription is the complete description of the fullest recorded VM, as a user would write it.
const fullDescription = `
name: full
cpu: {cores: 2, sockets: 1, type: x86-64-v2-AES, numa: true}
memory: 128Mi
memoryOptions: {minimum: 64Mi}
osType: l26
machineType: q35
bios: ovmf
scsiController: virtio-scsi-single
onBoot: true
agent: true
tablet: false
tags: [prod, web]
description: "line1\nline2 ü % : #x"
efiDisk: {storage: local, format: raw, type: 4m, preEnrolledKeys: true}
tpm: {storage: local, format: raw, version: v2.0}
disks:
  - {name: scsi0, device: scsi0, size: 2G, storage: local, format: qcow2, ioThread: true, discard: true, ssd: true, serial: ABC}
  - {name: scsi1, device: scsi1, size: 32M, storage: data2, format: raw}
networks:
  - {name: net0, device: net0, model: virtio, macAddress: "bc:24:11:aa:bb:cc", bridge: vmbr0, vlan: 10, firewall: true, ipConfig: ` +
	`{address: 10.0.0.5/24, gateway: 10.0.0.1}}
  - {name: net1, device: net1, model: e1000, macAddress: MAC, bridge: vmbr1, linkDown: true, rateMBps: 10, ipConfig: {address: dhcp, address6: auto}}
cloudInit:
  storage: local
  user: admin
  nameservers: [1.1.1.1]
  searchDomains: [example.org]
  sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPEVXq6hbhApzpH+Wpd82EF2IoKl/eJXORNjzBf9plsI me@x"]
bootOrder: [scsi0, net0]
serialPorts: [socket]
vga: {type: serial0}
rng: {source: /dev/urandom}
startup: {order: 2, upSeconds: 5}
protection: true
`

func TestDescribeFullest(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			configs := qemu.RecordedConfigs(t, version)
			i := slices.IndexFunc(configs, func(c qemu.Config) bool {
				return c["name"] == "full" && c["efidisk0"] != "" && c["lock"] == "" && c["unused0"] == "" && c["protection"] == "1"
			})
			nic, err := proxmox.ParseNIC(configs[i]["net1"])
			if err != nil {
				t.Fatal(err)
			}
			want := export.Description{
				UUID:       configs[i].UUID(),
				Parameters: qemu.ParametersOf(t, strings.ReplaceAll(fullDescription, "MAC,", nic.MAC+",")),
				Omissions:  []export.Omission{{Option: "cipassword", Reason: "Proxmox VE shows it to nobody: name a Secret in cloudInit.passwordSecretRef to set another"}},
			}
			if diff := cmp.Diff(want, described(t, configs[i]), cmp.Comparer(func(a, b resource.Quantity) bool { return a.Equal(b) })); diff != "" {
				t.Errorf("description: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestDescribeFound checks that the descriptions of VMs as they are found in real clusters would change nothing.
func TestDescribeFound(t *testing.T) {
	for name, config := range qemu.FoundConfigs(t) {
		t.Run(name, func(t *testing.T) { checkDescription(t, config) })
	}
}

// TestChangeOfFound checks that a change of such a VM sends only what changes.
func TestChangeOfFound(t *testing.T) {
	cases := map[string]struct {
		reason string
		vm     string
		change func(p *v1alpha1.MachineParameters)
		want   proxmox.Params
	}{
		"Cores": {reason: "Nothing else is touched.", vm: "gaming", want: proxmox.Params{"cores": "16"}, change: func(p *v1alpha1.MachineParameters) {
			p.CPU.Cores = new(int32(16))
		}},
		"ROM": {reason: "What is written in an odd way stays that way.", vm: "gaming", want: proxmox.Params{
			"hostpci0": "0000:00:02,,legacy-igd=1,romfile=other.rom",
		}, change: func(p *v1alpha1.MachineParameters) {
			p.PCIDevices[0].ROMFile = new("other.rom")
		}},
		"VLAN": {reason: "A network keeps its address in whatever form it stands there.", vm: "storage", want: proxmox.Params{
			"net2": "virtio=BC:24:11:00:03:02,bridge=vnet7,tag=9",
		}, change: func(p *v1alpha1.MachineParameters) {
			p.Networks[2].VLAN = new(int32(9))
		}},
		"Bridge": {reason: "A comma too many is no part of it.", vm: "storage", want: proxmox.Params{
			"net1": "vmxnet3=BC:24:11:00:03:01,bridge=vmbr9,firewall=1,queues=0,rate=0,",
		}, change: func(p *v1alpha1.MachineParameters) {
			p.Networks[1].Bridge = new("vmbr9")
		}},
		"Hotplug": {reason: "A list may be separated in any way.", vm: "storage", want: proxmox.Params{
			"hotplug": "disk,network",
		}, change: func(p *v1alpha1.MachineParameters) {
			p.Hotplug = []string{"disk", "network"}
		}},
		"Boot": {reason: "The order of old is replaced if another is wanted.", vm: "old", want: proxmox.Params{
			"boot": "order=virtio0;net0",
		}, change: func(p *v1alpha1.MachineParameters) {
			p.BootOrder = []string{"virtio0", "net0"}
		}},
		"Memory": {reason: "More memory than ballooning leaves is fine.", vm: "cloud", want: proxmox.Params{
			"memory": "16384",
		}, change: func(p *v1alpha1.MachineParameters) {
			p.Memory = qemu.QuantityOf("16Gi")
		}},
		"NoLimits": {reason: "None is what 0 means.", vm: "storage", want: proxmox.Params{}, change: func(p *v1alpha1.MachineParameters) {
			p.Networks[1].RateMBps, p.Networks[1].Queues = qemu.QuantityOf("0"), new(int32(0))
		}},
		"Watchdog": {reason: "What is the default need not be written.", vm: "storage", want: proxmox.Params{
			"watchdog": "action=none",
		}, change: func(p *v1alpha1.MachineParameters) {
			p.Watchdog.Action = new("none")
		}},
		"Agent": {reason: "The agent is on already.", vm: "cloud", want: proxmox.Params{}, change: func(p *v1alpha1.MachineParameters) {
			p.Agent = new(true)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := qemu.FoundConfigs(t)[tc.vm]
			spec := described(t, config).Parameters
			if spec.CPU == nil {
				spec.CPU = &v1alpha1.MachineCPU{}
			}
			tc.change(&spec)
			d := qemu.DesiredOf(t, spec, qemu.Devices{}, config)
			d.Identity.UUID = qemu.Config(config).UUID()
			if diff := cmp.Diff(qemu.Difference{Set: tc.want}, d.Difference(config)); diff != "" {
				t.Errorf("\n%s\ndifference: -want, +got:\n%s", tc.reason, diff)
			}
			if no := d.Rejections(config); len(no) > 0 {
				t.Errorf("\n%s\nrefusals: %q", tc.reason, no)
			}
		})
	}
}

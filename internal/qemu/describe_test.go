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
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// described is what a VM with a configuration is described as.
func described(t *testing.T, config Config) Description {
	t.Helper()
	var values []proxmox.PendingValue
	for _, key := range slices.Sorted(maps.Keys(config)) {
		values = append(values, proxmox.PendingValue{Key: key, Value: new(config[key])})
	}
	got, err := Describe(Subject{Options: values}, everything)
	if err != nil {
		t.Fatalf("cannot describe %v: %v", config, err)
	}
	return got
}

// everything is accepted.
func everything(v1alpha1.MachineParameters) []string { return nil }

// checkDescription fails if a VM's description asks for something else than the VM
// is, or is silent about something.
func checkDescription(t *testing.T, config Config) {
	t.Helper()
	got := described(t, config)
	d := desiredOf(t, got.Parameters, Devices{}, config)
	d.Identity.UUID = config.UUID()
	d.Defaults = Defaults{}
	if diff := d.Difference(config); !diff.Empty() {
		t.Errorf("the description of %v\nis %+v\nand differs by %+v", config, got, diff)
	}
	if no := d.Rejections(config); len(no) > 0 {
		t.Errorf("the description of %v\nis %+v\nand is refused: %q", config, got, no)
	}
	if moves, resizes := d.Moves(config), d.Resizes(config); len(moves)+len(resizes) > 0 {
		t.Errorf("the description of %v moves %v and resizes %v", config, moves, resizes)
	}
	told := d.told(config)
	for _, o := range got.Omissions {
		name, _, _ := strings.Cut(o.Option, " ")
		told[name] = true
	}
	for name, now := range config {
		s, _ := Stem(name)
		if !told[name] && noOption[s] == "" && name != "vmgenid" && strings.TrimSpace(now) != "" {
			t.Errorf("the description of %v says nothing of %s", config, name)
		}
	}
}

// told are the options that a spec asks for, and the devices that it names.
func (d Desired) told(config Config) map[string]bool {
	told := map[string]bool{
		"boot": d.BootOrder != nil, "smbios1": true, config.CloudInitDrive(): d.CloudInit != nil, efiDevice: d.EFIDisk != nil, tpmDevice: d.TPM != nil,
	}
	for _, o := range d.options() {
		if _, declared := o.want(config[o.name]); declared {
			told[o.name] = true
		}
	}
	for _, taken := range d.Devices.all() {
		for _, device := range taken {
			told[device] = true
		}
	}
	return told
}

// Real VMs are described so that nothing of them would change.
func TestDescribeRecorded(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			n := 0
			for _, config := range recordedConfigs(t, version) {
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

// FuzzDescribe describes VMs that are made up, and those that made-up specs lead to.
func FuzzDescribe(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := randomSpec{rand.New(rand.NewPCG(seed, 2))}
		config := our(g.config())
		config["description"] = unmark(config["description"])
		checkDescription(t, config)
		d := desiredOf(t, g.spec(), Devices{}, config)
		checkDescription(t, our(stored(t, config, d.Difference(config))))
	})
}

// All that the fullest of the recorded VMs has is said, as one would write it.
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
  - {name: net0, device: net0, model: virtio, macAddress: "bc:24:11:aa:bb:cc", bridge: vmbr0, vlan: 10, firewall: true, ipConfig: {address: 10.0.0.5/24, gateway: 10.0.0.1}}
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
			configs := recordedConfigs(t, version)
			i := slices.IndexFunc(configs, func(c Config) bool {
				return c["name"] == "full" && c["efidisk0"] != "" && c["lock"] == "" && c["unused0"] == "" && c["protection"] == "1"
			})
			nic, err := proxmox.ParseNIC(configs[i]["net1"])
			if err != nil {
				t.Fatal(err)
			}
			want := Description{
				UUID:       configs[i].UUID(),
				Parameters: parameters(t, strings.ReplaceAll(fullDescription, "MAC,", nic.MAC+",")),
				Omissions:  []Omission{{Option: "cipassword", Reason: leftAlone("cipassword")}},
			}
			if diff := cmp.Diff(want, described(t, configs[i]), cmp.Comparer(func(a, b resource.Quantity) bool { return a.Equal(b) })); diff != "" {
				t.Errorf("description: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestDescribeRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		config map[string]string
	}{
		"Template": {reason: "A template is no Machine.", config: our(map[string]string{"template": "1"})},
		"Clone":    {reason: "A VM that is not complete cannot be described.", config: our(map[string]string{"lock": "clone"})},
		"NoUUID":   {reason: "A VM that cannot prove to be itself cannot be adopted.", config: map[string]string{"name": "a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var values []proxmox.PendingValue
			for key, now := range tc.config {
				values = append(values, proxmox.PendingValue{Key: key, Value: &now})
			}
			if got, err := Describe(Subject{Options: values}, everything); err == nil {
				t.Errorf("\n%s\nDescribe: want an error, got %+v", tc.reason, got)
			}
		})
	}
}

// What admission refuses is left out, with what cannot be without it.
func TestDescribeAccepted(t *testing.T) {
	config := our(map[string]string{
		"name": "a", "tags": "a;b", "usb0": "spice,usb3=1", "numa0": "cpus=0,memory=512", "scsi0": "s:vm-100-disk-0,size=1G", "cores": "2",
	})
	cases := map[string]struct {
		reason string
		path   string
		want   string
		has    func(p v1alpha1.MachineParameters) bool
	}{
		"Field": {reason: "A field goes alone.", path: "disks[0].size", want: "forProvider.disks[0].size", has: func(p v1alpha1.MachineParameters) bool {
			return p.Disks[0].Size != nil
		}},
		"List": {reason: "A list that says all goes whole.", path: "tags[1]", want: "forProvider.tags", has: func(p v1alpha1.MachineParameters) bool {
			return p.Tags != nil
		}},
		"Entry": {reason: "An entry goes that would be of no meaning.", path: "usbDevices[0].host", want: "forProvider.usbDevices[0]", has: func(p v1alpha1.MachineParameters) bool {
			return len(p.USBDevices) > 0
		}},
		"Whole": {reason: "A list goes whose entries say all.", path: "cpu.numaNodes[0].memory", want: "forProvider.cpu.numaNodes", has: func(p v1alpha1.MachineParameters) bool {
			return p.CPU.NUMANodes != nil
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var values []proxmox.PendingValue
			for key, now := range config {
				values = append(values, proxmox.PendingValue{Key: key, Value: &now})
			}
			got, err := Describe(Subject{Options: values}, func(p v1alpha1.MachineParameters) []string {
				if tc.has(p) {
					return []string{tc.path}
				}
				return nil
			})
			if err != nil || tc.has(got.Parameters) {
				t.Errorf("\n%s\nDescribe: %v, %+v still has %s", tc.reason, err, got, tc.path)
			}
			if diff := cmp.Diff([]Omission{{Option: tc.want, Reason: noValue}}, got.Omissions); diff != "" {
				t.Errorf("\n%s\nomissions: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDescribeDrives(t *testing.T) {
	got := described(t, Config{
		"smbios1": "uuid=" + ourUUID, "ide0": "l:iso/d.iso,media=cdrom,serial=x,size=1M", "ide1": "none,media=cdrom", "ide2": "l:vm-100-cloudinit,media=cdrom",
		"ide3": ourImage + ",media=cdrom", "sata0": "cdrom,media=cdrom",
	})
	want := []v1alpha1.MachineCDROM{
		{Name: "ide0", Device: new("ide0"), ISO: new("l:iso/d.iso")}, {Name: "ide1", Device: new("ide1"), ISO: new("")}, {Name: "sata0", Device: new("sata0"), Physical: new(true)},
	}
	if diff := cmp.Diff(want, got.Parameters.CDROMs); diff != "" || got.Parameters.ISO != nil {
		t.Errorf("Each drive is an entry, but for those with data for cloud-init: -want, +got:\n%s", diff)
	}
	var omitted []string
	for _, o := range got.Omissions {
		omitted = append(omitted, o.Option)
	}
	if diff := cmp.Diff([]string{"ide0 serial", "ide3"}, omitted); diff != "" {
		t.Errorf("What no field sets is told: -want, +got:\n%s", diff)
	}
}

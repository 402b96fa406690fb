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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// desiredOf returns a desired VM with our identity, with devices assigned as for a VM that has the configuration.
func desiredOf(t *testing.T, p v1alpha1.MachineParameters, before Devices, config Config) Desired {
	t.Helper()
	d := Desired{
		MachineParameters: &p,
		Identity:          Identity{VMID: 100, UUID: ourUUID},
		Defaults:          Defaults{Storage: "local-lvm", Bridge: "vmbr0"},
	}
	var err error
	if d.Devices, err = assigned(&p, before, config); err != nil {
		t.Fatal(err)
	}
	return d
}

// assigned returns the devices of a spec if the provider has created all previous devices.
func assigned(p *v1alpha1.MachineParameters, before Devices, config Config) (Devices, error) {
	before = madeByUs(before)
	before.leave(State{Config: config, Active: config}, p, 1)
	return before.Assign(p, config)
}

// madeByUs returns devices that the provider has all created.
func madeByUs(d Devices) Devices {
	d = d.clone()
	for _, l := range d.lists(&v1alpha1.MachineParameters{}) {
		for name := range l.devices {
			d.Made[l.key(name)] = true
		}
	}
	return d
}

// our returns a configuration with our identity.
func our(config Config) Config {
	config["smbios1"] = "uuid=" + ourUUID
	return config
}

func TestDifference(t *testing.T) {
	type m = map[string]string
	cases := map[string]struct {
		reason string
		before Devices
		spec   v1alpha1.MachineParameters
		config m
		want   Difference
	}{
		"NewVM": {
			reason: "A VM from nothing gets all that is declared, and its identity.",
			spec: v1alpha1.MachineParameters{
				Name: new("web"), CPU: &v1alpha1.MachineCPU{Cores: new(int32(2))}, Memory: quantity("1Gi"), Tags: []string{"b", "a"},
				Disks: []v1alpha1.MachineDisk{
					{Name: "root", Size: new("20G"), Format: new("raw"), SSD: new(true)},
					{Name: "small", Size: new("512Mi"), Storage: new("fast"), Cache: new("none")},
				},
				Networks: []v1alpha1.MachineNetwork{
					{Name: "lan", VLAN: new(int32(7)), Firewall: new(false)},
					{Name: "own", Bridge: new("vmbr1"), Model: new("e1000"), MACAddress: new("BC:24:11:00:00:0a")},
				},
				BootOrder: []string{"root", "network"},
			},
			want: Difference{Allocates: true, Set: proxmox.Params{
				"smbios1": "uuid=" + ourUUID, "name": "web", "cores": "2", "memory": "1024", "tags": "a;b",
				"scsi0": "local-lvm:20,format=raw,ssd=1", "scsi1": "fast:0.5",
				"net0": "virtio,bridge=vmbr0,tag=7", "net1": "e1000=BC:24:11:00:00:0a,bridge=vmbr1",
				"boot": "order=scsi0;net0;net1",
			}},
		},
		"Nothing": {
			reason: "A VM whose spec declares nothing is left alone.",
			config: our(m{"cores": "4", "tags": "x", "scsi0": "s:vm-100-disk-0,size=4G", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "boot": "order=scsi0"}),
			want:   Difference{Set: proxmox.Params{}},
		},
		"NetworkRemoved": {
			reason: "What cloud-init was to configure on a network goes with it.",
			before: Devices{Networks: m{"lan": "net1"}, assigned: true},
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{}},
			config: our(m{"net1": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "ipconfig1": "ip=dhcp"}),
			want:   Difference{Set: proxmox.Params{}, Delete: []string{"ipconfig1", "net1"}},
		},
		"UpToDate": {
			reason: "What PVE rewrote is no difference.",
			spec: v1alpha1.MachineParameters{
				Memory: quantity("2Gi"), Agent: new(true), Description: new("text"), Tags: []string{"b", "a"}, Hotplug: []string{"usb", "network", "disk"},
				Disks:     []v1alpha1.MachineDisk{{Name: "root", Size: new("4Gi"), Discard: new(true), Cache: new("none"), Backup: new(true)}},
				Networks:  []v1alpha1.MachineNetwork{{Name: "lan", MACAddress: new("BC:24:11:00:00:0a"), Bridge: new("vmbr0"), LinkDown: new(false)}},
				BootOrder: []string{"root"},
			},
			config: our(m{
				"memory": "current=2048", "agent": "enabled=1", "description": "text\n", "tags": "a;b", "hotplug": "1",
				"scsi0": "s:vm-100-disk-0,discard=on,size=4G", "net0": "virtio=bc:24:11:00:00:0A,bridge=vmbr0", "boot": "order=scsi0",
			}),
			want: Difference{Set: proxmox.Params{}},
		},
		"CloneBecomesOurs": {
			reason: "A clone gets its identity and loses its marker; its MAC address stays.",
			spec: v1alpha1.MachineParameters{
				Name: new("web"), Template: new(intstr.FromInt32(9000)), Networks: []v1alpha1.MachineNetwork{{Name: "lan", VLAN: new(int32(7))}},
			},
			config: m{
				"name": "web", "description": Identity{UUID: ourUUID}.Mark(""), "smbios1": "uuid=" + otherUUID,
				"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1",
			},
			want: Difference{Delete: []string{"description"}, Set: proxmox.Params{
				"smbios1": "uuid=" + ourUUID, "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=7",
			}},
		},
		"ModelKeepsMAC": {
			reason: "A change of the model keeps the MAC address.",
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Name: "lan", Model: new("e1000")}}},
			config: our(m{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}),
			want:   Difference{Set: proxmox.Params{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr0"}},
		},
		"NewNICKeepsOthers": {
			reason: "A second network does not touch the first.",
			before: Devices{Networks: m{"lan": "net0"}, assigned: true},
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Name: "dmz", Bridge: new("vmbr1")}, {Name: "lan"}}},
			config: our(m{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}),
			want:   Difference{Set: proxmox.Params{"net1": "virtio,bridge=vmbr1"}},
		},
		"DiskOptionsKeepVolume": {
			reason: "Options of a disk change, its volume, size and other options stay. It takes no task.",
			spec: v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{
				Name: "root", Cache: new("writeback"), Limits: &v1alpha1.MachineDiskLimits{ReadMBps: quantity("12.5"), WriteIOPS: new(int32(100))},
			}}},
			config: our(m{"scsi0": "s:vm-100-disk-0,discard=on,size=4G"}),
			want:   Difference{Set: proxmox.Params{"scsi0": "s:vm-100-disk-0,discard=on,size=4G,cache=writeback,mbps_rd=12.5,iops_wr=100"}},
		},
		"NewDisk": {
			reason: "A disk that is added takes a task.",
			before: Devices{Disks: m{"root": "scsi0"}, assigned: true},
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "root"}, {Name: "data", Size: new("1G")}}},
			config: our(m{"scsi0": "s:vm-100-disk-0,size=4G"}),
			want:   Difference{Allocates: true, Set: proxmox.Params{"scsi1": "local-lvm:1"}},
		},
		"FilledDisk": {
			reason: "A disk that is filled has the size of what fills it at first, which Proxmox VE writes as 0.",
			before: Devices{Disks: m{"root": "scsi0"}, assigned: true},
			spec: v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{
				{Name: "root"}, {Name: "data", Size: new("20G"), ImportFrom: new("local:import/debian.qcow2")},
			}},
			config: our(m{"scsi0": "s:vm-100-disk-0,size=4G"}),
			want:   Difference{Allocates: true, Set: proxmox.Params{"scsi1": "local-lvm:0,import-from=local:import/debian.qcow2"}},
		},
		"Detach": {
			reason: "Entries that were taken off the lists are detached, devices that were never declared are not, and what is gone is not asked for.",
			before: Devices{Disks: m{"root": "scsi0", "data": "scsi1", "gone": "scsi2"}, Networks: m{"lan": "net0", "dmz": "net1"}, assigned: true},
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "root"}}, Networks: []v1alpha1.MachineNetwork{{Name: "lan"}}},
			config: our(m{
				"scsi0": "s:vm-100-disk-0,size=4G", "scsi1": "s:vm-100-disk-1,size=4G", "scsi3": "s:vm-100-disk-3,size=4G",
				"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr0", "net2": "virtio=BC:24:11:00:00:03,bridge=vmbr0",
			}),
			want: Difference{Set: proxmox.Params{}, Delete: []string{"net1", "scsi1"}},
		},
		"BootWithoutDetached": {
			reason: "The boot order names no device that goes with the same change, and any that comes.",
			before: Devices{Disks: m{"root": "scsi0", "data": "scsi1"}, assigned: true},
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "root"}, {Name: "new", Size: new("1G")}}, BootOrder: []string{"disk"}},
			config: our(m{"scsi0": "s:vm-100-disk-0,size=4G", "scsi1": "s:vm-100-disk-1,size=4G", "boot": "order=scsi0;scsi1"}),
			want:   Difference{Allocates: true, Set: proxmox.Params{"scsi2": "local-lvm:1", "boot": "order=scsi0;scsi2"}, Delete: []string{"scsi1"}},
		},
		"IPConfig": {
			reason: "The IP configuration goes with the number of its device; what is not declared of it stays.",
			before: Devices{Networks: m{"dmz": "net1"}, assigned: true},
			spec: v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{
				Name: "dmz", IPConfig: &v1alpha1.MachineIPConfig{Address: new("192.0.2.9/24"), Gateway: new("192.0.2.1")},
			}}},
			config: our(m{"net1": "virtio=BC:24:11:00:00:02,bridge=vmbr0", "ipconfig1": "ip=dhcp,ip6=auto"}),
			want:   Difference{Set: proxmox.Params{"ipconfig1": "ip=192.0.2.9/24,ip6=auto,gw=192.0.2.1"}},
		},
		"Removal": {
			reason: "Options whose declared value is none are removed.",
			spec:   v1alpha1.MachineParameters{Description: new(""), Tags: []string{}, Balloon: new(true)},
			config: our(m{"description": "x", "tags": "a", "balloon": "0"}),
			want:   Difference{Set: proxmox.Params{}, Delete: []string{"balloon", "description", "tags"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := cmp.Diff(m{}, tc.config)
			got := desiredOf(t, tc.spec, tc.before, tc.config).Difference(tc.config)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\ndifference: -want, +got:\n%s", tc.reason, diff)
			}
			if cmp.Diff(m{}, tc.config) != before {
				t.Errorf("\n%s\ndifference changed the configuration: %v", tc.reason, tc.config)
			}
		})
	}
}

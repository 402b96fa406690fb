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

package export

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

const (
	ourUUID  = "11111111-2222-4333-8444-55555555555a"
	ourImage = "files:iso/cidata-10000-" + ourUUID + "-0123456789abcdef.iso"
)

// our returns a configuration with an identity.
func our(config qemu.Config) qemu.Config {
	config["smbios1"] = "uuid=" + ourUUID
	return config
}

// described returns the description of a VM with a configuration.
func described(t *testing.T, config qemu.Config) Description {
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

// everything accepts all parameters.
func everything(v1alpha1.MachineParameters) []string { return nil }

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

// TestDescribeAccepted checks that fields which admission rejects are left out, with those that depend on them.
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
		"Entry": {
			reason: "An entry goes that would be of no meaning.", path: "usbDevices[0].host", want: "forProvider.usbDevices[0]",
			has: func(p v1alpha1.MachineParameters) bool {
				return len(p.USBDevices) > 0
			},
		},
		"Whole": {
			reason: "A list goes whose entries say all.", path: "cpu.numaNodes[0].memory", want: "forProvider.cpu.numaNodes",
			has: func(p v1alpha1.MachineParameters) bool {
				return p.CPU.NUMANodes != nil
			},
		},
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

// TestDescribeGateways checks that gateways which admission rejects are left out.
func TestDescribeGateways(t *testing.T) {
	cases := map[string]struct{ reason, ipconfig, omitted string }{
		"Inside":    {reason: "A gateway of the network stays.", ipconfig: "ip=192.0.2.10/24,gw=192.0.2.1,ip6=2001:db8::2/64,gw6=2001:db8::1"},
		"Elsewhere": {reason: "One of another goes.", ipconfig: "ip=192.0.2.10/24,gw=198.51.100.1", omitted: "it is not in the network of the address"},
		"Single":    {reason: "A single address has its gateway elsewhere.", ipconfig: "ip=192.0.2.10/32,gw=198.51.100.1,ip6=2001:db8::2/128,gw6=2001:db8:1::1"},
		"LinkLocal": {reason: "A link has a gateway of its own.", ipconfig: "ip6=2001:db8::2/64,gw6=fe80::1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := described(t, our(qemu.Config{
				"ide2": "l:vm-100-cloudinit,media=cdrom", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "ipconfig0": tc.ipconfig,
			}))
			reasons := make([]string, 0, len(got.Omissions))
			for _, o := range got.Omissions {
				reasons = append(reasons, o.Reason)
			}
			if len(reasons) > 1 || (tc.omitted == "") != (len(reasons) == 0) || tc.omitted != "" && reasons[0] != tc.omitted {
				t.Errorf("%s\nwant %q omitted, got %q", tc.reason, tc.omitted, reasons)
			}
		})
	}
}

func TestDescribeDrives(t *testing.T) {
	got := described(t, qemu.Config{
		"smbios1": "uuid=" + ourUUID, "ide0": "l:iso/d.iso,media=cdrom,serial=x,size=1M", "ide1": "none,media=cdrom", "ide2": "l:vm-100-cloudinit,media=cdrom",
		"ide3": ourImage + ",media=cdrom", "sata0": "cdrom,media=cdrom",
	})
	want := []v1alpha1.MachineCDROM{
		{
			Name: "ide0", Device: new("ide0"), ISO: new("l:iso/d.iso"),
		}, {Name: "ide1", Device: new("ide1"), ISO: new("")}, {Name: "sata0", Device: new("sata0"), Physical: new(true)},
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

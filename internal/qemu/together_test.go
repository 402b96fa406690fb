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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestTogether checks that options which Proxmox VE does not accept together are not sent together.
func TestTogether(t *testing.T) {
	type m = map[string]string
	limited := func(l v1alpha1.MachineDiskLimits) v1alpha1.MachineParameters {
		return v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "a", Device: new("scsi0"), Limits: &l}}}
	}
	cases := map[string]struct {
		reason string
		before Devices
		spec   v1alpha1.MachineParameters
		config m
		want   Difference
	}{
		"BurstGoesWithItsLimit": {
			reason: "PVE takes no burst without a limit, nor its length without the burst.",
			spec:   limited(v1alpha1.MachineDiskLimits{ReadMBps: quantity("0")}),
			config: our(m{"scsi0": "s:vm-100-disk-0,bps_rd_max_length=5,iops_rd=9,mbps_rd=10,mbps_rd_max=20,size=1G"}),
			want:   Difference{Set: proxmox.Params{"scsi0": "s:vm-100-disk-0,iops_rd=9,size=1G"}},
		},
		"TotalGivesWay": {
			reason: "A limit of reading takes the place of that of the total, which is no longer declared.",
			spec:   limited(v1alpha1.MachineDiskLimits{ReadMBps: quantity("5"), WriteIOPS: new(int32(7))}),
			config: our(m{"scsi0": "s:vm-100-disk-0,bps_max_length=3,iops=8,iops_max=9,mbps=10,mbps_max=20,size=1G"}),
			want:   Difference{Set: proxmox.Params{"scsi0": "s:vm-100-disk-0,size=1G,mbps_rd=5,iops_wr=7"}},
		},
		"DirectionsGiveWay": {
			reason: "A total takes the place of both directions.",
			spec:   limited(v1alpha1.MachineDiskLimits{TotalMBps: quantity("5")}),
			config: our(m{"scsi0": "s:vm-100-disk-0,iops_rd=3,mbps_rd=10,mbps_wr=20,mbps_wr_max=30,size=1G"}),
			want:   Difference{Set: proxmox.Params{"scsi0": "s:vm-100-disk-0,iops_rd=3,size=1G,mbps=5"}},
		},
		"OthersStay": {
			reason: "What goes well together stays, declared or not.",
			spec:   limited(v1alpha1.MachineDiskLimits{ReadMBps: quantity("5")}),
			config: our(m{"scsi0": "s:vm-100-disk-0,bps_rd_max_length=5,mbps_rd=10,mbps_rd_max=20,mbps_wr=3,size=1G"}),
			want:   Difference{Set: proxmox.Params{"scsi0": "s:vm-100-disk-0,bps_rd_max_length=5,mbps_rd=5,mbps_rd_max=20,mbps_wr=3,size=1G"}},
		},
		"AddressBits": {
			reason: "The width of addresses goes with the IOMMU.",
			spec:   v1alpha1.MachineParameters{MachineOptions: &v1alpha1.MachineOptions{VIOMMU: new("")}},
			config: our(m{"machine": "q35,aw-bits=48,enable-s3=1,viommu=intel"}),
			want:   Difference{Set: proxmox.Params{"machine": "q35,enable-s3=1"}},
		},
		"ProtectedFirst": {
			reason: "PVE detaches no disk of a VM that is protected: the protection is lifted first.",
			before: Devices{Disks: m{"data": "scsi1"}, Networks: m{"lan": "net1"}, assigned: true},
			spec: v1alpha1.MachineParameters{
				Protection: new(false), TPM: &v1alpha1.MachineTPM{Enabled: new(false)}, Disks: []v1alpha1.MachineDisk{},
				Networks: []v1alpha1.MachineNetwork{},
			},
			config: our(m{
				"protection": "1", "scsi0": "s:vm-100-disk-0,size=1G", "scsi1": "s:vm-100-disk-1,size=1G", "tpmstate0": "s:vm-100-disk-2,size=4M",
				"net1": "virtio=BC:24:11:00:00:01",
			}),
			want: Difference{Set: proxmox.Params{"protection": "0"}, Delete: []string{"net1"}},
		},
		"ProtectedLast": {
			reason: "A disk is detached before PVE protects the VM.",
			before: Devices{Disks: m{"data": "scsi1"}, assigned: true},
			spec:   v1alpha1.MachineParameters{Protection: new(true), Disks: []v1alpha1.MachineDisk{}},
			config: our(m{"scsi0": "s:vm-100-disk-0,size=1G", "scsi1": "s:vm-100-disk-1,size=1G"}),
			want:   Difference{Set: proxmox.Params{"protection": "1"}, Delete: []string{"scsi1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := desiredOf(t, tc.spec, tc.before, tc.config)
			got := d.Difference(tc.config)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\ndifference: -want, +got:\n%s", tc.reason, diff)
			}
			if no := d.Rejections(tc.config); len(no) > 0 {
				t.Errorf("\n%s\nwant no refusal, got %q", tc.reason, no)
			}
		})
	}
}

// TestNotTogether checks that what Proxmox VE would not accept is rejected before it is sent.
func TestNotTogether(t *testing.T) {
	type m = map[string]string
	machine := func(kind string, o v1alpha1.MachineOptions) v1alpha1.MachineParameters {
		return v1alpha1.MachineParameters{MachineType: &kind, MachineOptions: &o}
	}
	gone := Devices{Disks: m{"data": "scsi1"}, assigned: true}
	noDrives := v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{}}
	kept := m{
		"protection": "1", "scsi0": "s:vm-100-disk-0,size=1G", "scsi1": "s:vm-100-disk-1,size=1G", "efidisk0": "s:vm-100-disk-2,size=528K",
		"balloon": "2048",
	}
	cases := map[string]struct {
		reason string
		before Devices
		spec   v1alpha1.MachineParameters
		config m
		want   string
	}{
		"Protected": {
			reason: "A disk of a VM that stays protected cannot be detached.", before: gone,
			spec: v1alpha1.MachineParameters{Protection: new(true), Disks: []v1alpha1.MachineDisk{}}, config: kept,
			want: `disk "data" (scsi1) cannot be detached: the VM is protected`,
		},
		"ProtectedByOthers": {
			reason: "A disk of a VM whose protection somebody else has set cannot be detached.", before: gone,
			spec: v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{}}, config: kept, want: `disk "data" (scsi1) cannot be detached`,
		},
		"ProtectedDrive": {
			reason: "A CD-ROM drive of a protected VM cannot be detached.", before: Devices{CDROMs: m{"tools": "ide0"}, assigned: true}, spec: noDrives,
			config: m{"protection": "1", "ide0": "none,media=cdrom"}, want: `CD-ROM drive "tools" (ide0) cannot be detached: the VM is protected`,
		},
		"ProtectedForeign": {
			reason: "What has become another's drive stays.", before: Devices{CDROMs: m{"tools": "ide0"}, assigned: true}, spec: noDrives,
			config: m{"protection": "1", "ide0": "s:vm-100-cloudinit,media=cdrom"},
		},
		"ProtectedEFI": {
			reason: "The disks of the firmware are protected.",
			spec:   v1alpha1.MachineParameters{EFIDisk: &v1alpha1.MachineEFIDisk{Enabled: new(false)}}, config: kept,
			want: "efiDisk cannot be detached",
		},
		"Intel": {
			reason: "Intel's IOMMU is that of q35.", spec: machine("pc", v1alpha1.MachineOptions{VIOMMU: new("intel")}),
			want: "needs machineType q35",
		},
		"Bits": {
			reason: "There is no width of addresses without an IOMMU.", spec: machine("q35", v1alpha1.MachineOptions{AWBits: new(int32(48))}),
			want: "needs machineOptions.viommu",
		},
		"IntelBits": {
			reason: "Intel's IOMMU has two widths.", spec: machine("q35", v1alpha1.MachineOptions{VIOMMU: new("intel"), AWBits: new(int32(40))}),
			want: "is 39 or 48 with viommu intel",
		},
		"Unreadable": {
			reason: "A network that cannot be read is not replaced by one with another address.",
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{networkOn("lan", "net0")}},
			config: m{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,bridge=vmbr1"}, want: `network "lan": net0 of the VM cannot be read`,
		},
		"Plugged": {
			reason: "Memory that can be plugged in comes in modules.",
			spec:   v1alpha1.MachineParameters{Memory: quantity("3000Mi"), Hotplug: []string{"memory"}}, want: "has 3072 MiB after 2560 MiB",
		},
		"PluggedByOthers": {
			reason: "Memory that somebody else has made pluggable comes in modules.", spec: v1alpha1.MachineParameters{Memory: quantity("18Gi")},
			config: m{"hotplug": "memory,cpu"}, want: "",
		},
		"PluggedLarge": {
			reason: "Further up modules are larger.", spec: v1alpha1.MachineParameters{Memory: quantity("17920Mi")},
			config: m{"hotplug": "memory,cpu"}, want: "has 18432 MiB after 17408 MiB",
		},
		"PluggedLittle": {
			reason: "There is a least size.", spec: v1alpha1.MachineParameters{Memory: quantity("512Mi"), Hotplug: []string{"memory"}},
			want: "has 1024 MiB after 0 MiB",
		},
		"Bus": {
			reason: "The bus of a template's disk may not have what is asked for.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "root", SSD: new(true)}}},
			config: m{"virtio0": "s:base-9000-disk-0,size=1G"}, want: `disk "root" is virtio0, and disks of virtio have no ssd`,
		},
		"BusWithout": {
			reason: "What it has not got need not be taken away.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "root", SSD: new(false), Vendor: new("")}}},
			config: m{"virtio0": "s:base-9000-disk-0,size=1G"},
		},
		"Minimum": {
			reason: "Ballooning cannot leave more than there is.",
			spec:   v1alpha1.MachineParameters{MemoryOptions: &v1alpha1.MachineMemoryOptions{Minimum: quantity("4Gi")}}, config: m{"memory": "2048"},
			want: "minimum 4Gi is more than the memory of the VM, 2048 MiB",
		},
		"MinimumOfDefault": {
			reason: "Ballooning cannot leave more than PVE gives a VM by default.",
			spec:   v1alpha1.MachineParameters{MemoryOptions: &v1alpha1.MachineMemoryOptions{Minimum: quantity("1Gi")}},
			want:   "the memory of the VM, 512 MiB",
		},
		"VCPUs": {
			reason: "A VM does not start with more cores than it has.",
			spec:   v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Cores: new(int32(2))}}, config: m{"cores": "4", "vcpus": "3"},
			want: "cpu has 2 cores in all, and the VM is to start with 3",
		},
		"VCPUsDeclared": {
			reason: "What is declared admission has checked.",
			spec:   v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Cores: new(int32(2)), VCPUs: new(int32(1))}},
			config: m{"cores": "4", "vcpus": "3"},
		},
		"VCPUsUndeclared": {
			reason: "What is not declared is left alone.", spec: v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{NUMA: new(true)}},
			config: m{"cores": "1", "vcpus": "3"},
		},
		"Balloon": {
			reason: "Less memory than ballooning leaves is refused also where the device is asked for.",
			spec:   v1alpha1.MachineParameters{Memory: quantity("1Gi"), Balloon: new(true)}, config: kept,
			want: "is less than the 2048 MiB that ballooning leaves",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			no := desiredOf(t, tc.spec, tc.before, tc.config).Rejections(tc.config)
			if got := strings.Join(no, "; "); (got == "") != (tc.want == "") || len(no) > 1 || !strings.Contains(got, tc.want) {
				t.Errorf("\n%s\nwant %q to be refused alone, got %q", tc.reason, tc.want, no)
			}
		})
	}
}

// TestSameInOtherWords checks that an equivalent manual spelling of a configuration is no difference.
func TestSameInOtherWords(t *testing.T) {
	spec := v1alpha1.MachineParameters{
		Agent: new(true), AgentOptions: &v1alpha1.MachineAgentOptions{FreezeFSOnBackup: new(false)},
		CPU:         &v1alpha1.MachineCPU{Type: new("host"), Hidden: new(true), Flags: []string{"+aes", "-pcid"}},
		Disks:       []v1alpha1.MachineDisk{{Name: "a", IOThread: new(true), Limits: &v1alpha1.MachineDiskLimits{ReadMBps: quantity("10"), ReadIOPS: new(int32(5))}}},
		Networks:    []v1alpha1.MachineNetwork{{Name: "a", Firewall: new(true), RateMBps: quantity("12.5"), VLAN: new(int32(7))}},
		MachineType: new("virt"), ExtraConfig: map[string]v1alpha1.ExtraValue{"args": " -s "},
	}
	config := our(map[string]string{
		"agent": "yes,guest-fsfreeze=off", "cpu": "host,flags=-pcid;+aes,hidden=on", "scsi0": "s:vm-100-disk-0,iops_rd=05,iothread=true,mbps_rd=10.0,size=1G",
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=on,rate=12.50,tag=7", "machine": "virt-9.2+pve1", "args": "-s",
	})
	d := desiredOf(t, spec, Devices{}, config)
	if diff := cmp.Diff(Difference{}, d.Difference(config), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("difference: -want, +got:\n%s", diff)
	}
}

// TestLegacyBootDisk checks a VM from before PVE had boot orders, which names its boot disk separately.
func TestLegacyBootDisk(t *testing.T) {
	config := map[string]string{"boot": "cdn", "bootdisk": "virtio0", "ide0": "s:vm-100-disk-1,size=1G", "virtio0": "s:vm-100-disk-0,size=8G"}
	d := desiredOf(t, v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{disk("root"), disk("data")}}, Devices{}, config)
	if diff := cmp.Diff(map[string]string{"root": "virtio0", "data": "ide0"}, d.Devices.Disks); diff != "" {
		t.Errorf("The first disk is the one that the VM boots from: -want, +got:\n%s", diff)
	}
}

func TestNeedsCloudInitRegen(t *testing.T) {
	drive, set := Config{"ide2": "s:vm-100-cloudinit,media=cdrom"}, proxmox.Params{"ciuser": "a"}
	cases := map[string]struct {
		reason string
		change Difference
		state  State
		want   bool
	}{
		"User":     {reason: "PVE does not write the drive of a VM that runs.", change: Difference{Set: set}, state: State{Active: drive}, want: true},
		"Password": {reason: "The password is on it.", change: Difference{Set: proxmox.Params{"cipassword": "x"}}, state: State{Active: drive}, want: true},
		"Removed":  {reason: "What is removed was on it.", change: Difference{Delete: []string{"ipconfig3"}}, state: State{Active: drive}, want: true},
		"Custom":   {reason: "A snippet is on it.", change: Difference{Set: proxmox.Params{"cicustom": "x"}}, state: State{Active: drive}, want: true},
		"Other":    {reason: "Most options are not.", change: Difference{Set: proxmox.Params{"cores": "2"}}, state: State{Active: drive}},
		"Hotplug": {
			reason: "PVE writes it at once where hotplug says so.", change: Difference{Set: set},
			state: State{Active: drive, Config: Config{"hotplug": "disk,cloudinit"}},
		},
		"Later": {reason: "A drive that comes at the next start is written then.", change: Difference{Set: set}, state: State{Config: drive}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.change.NeedsCloudInitRegen(tc.state); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestPending checks that only what the spec declares is a reason to restart a VM.
func TestPending(t *testing.T) {
	state := Read([]proxmox.PendingValue{
		{Key: "hostpci0", Value: new("mapping=gpu"), Delete: 1},
		{Key: "virtiofs1", Value: new("data"), Delete: 1},
		{Key: "ide2", Pending: new("s:vm-100-cloudinit,media=cdrom")},
		{Key: "ciuser", Value: new("a")},
		{Key: "cores", Value: new("1"), Pending: new("2")},
	})
	before := Devices{PCI: map[string]string{"gpu": "hostpci0"}, assigned: true}
	d := desiredOf(t, v1alpha1.MachineParameters{
		CloudInit: &v1alpha1.MachineCloudInit{User: new("a")}, PCIDevices: []v1alpha1.MachinePCIDevice{},
	}, before, state.Config)
	var got []string
	for _, p := range d.Pending(state) {
		got = append(got, p.Key)
	}
	if diff := cmp.Diff([]string{"hostpci0", "ide2"}, got); diff != "" {
		t.Errorf("A device that was taken off the list and the drive for cloud-init are ours, what others do is not: -want, +got:\n%s", diff)
	}
}

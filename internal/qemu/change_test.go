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

// TestWithPending checks a stopped VM with changes that PVE did not apply when it stopped.
func TestWithPending(t *testing.T) {
	const data = "s:vm-100-disk-1,size=1G"
	before := Devices{Disks: map[string]string{"data": "sata1"}, Seen: map[string]bool{"data": true}, assigned: true}
	cases := map[string]struct {
		reason  string
		pending []proxmox.PendingValue
		diff    Difference
		want    Difference
	}{
		"Nothing": {reason: "Nothing is sent for a VM that is as it is to be."},
		"Removal": {
			reason: "A disk that is to be detached is detached.", pending: []proxmox.PendingValue{{Key: "sata1", Value: new(data), Delete: 1}},
			want: Difference{Delete: []string{"sata1"}},
		},
		"Destruction": {
			reason: "A disk whose removal destroys it waits for the next start.", pending: []proxmox.PendingValue{{Key: "sata1", Value: new(data), Delete: 2}},
		},
		"Protected": {
			reason:  "Proxmox VE refuses to detach a disk of a protected VM, and does so when it starts.",
			pending: []proxmox.PendingValue{{Key: "protection", Value: new("1")}, {Key: "sata1", Value: new(data), Delete: 1}},
		},
		"ProtectedValue": {
			reason: "What else is pending is sent.",
			pending: []proxmox.PendingValue{
				{Key: "cores", Value: new("1"), Pending: new("2")}, {Key: "protection", Value: new("1")}, {Key: "sata1", Value: new(data), Delete: 1},
			},
			want: Difference{Set: proxmox.Params{"cores": "2"}},
		},
		"WithDestruction": {
			reason:  "Nothing is sent, since Proxmox VE would destroy the disk of another removal along with it.",
			pending: []proxmox.PendingValue{{Key: "cores", Value: new("1"), Pending: new("2")}, {Key: "sata2", Value: new(data), Delete: 2}},
		},
		"Value": {
			reason: "A value is sent as it is pending.", pending: []proxmox.PendingValue{{Key: "cores", Value: new("1"), Pending: new("2")}},
			want: Difference{Set: proxmox.Params{"cores": "2"}},
		},
		"Others": {
			reason:  "What the spec does not declare waits for the next start.",
			pending: []proxmox.PendingValue{{Key: "vga", Value: new("std"), Pending: new("qxl")}},
		},
		"Change": {
			reason: "Any other change has PVE apply all that is pending.", pending: []proxmox.PendingValue{{Key: "sata1", Value: new(data), Delete: 1}},
			diff: Difference{Set: proxmox.Params{"onboot": "1"}}, want: Difference{Set: proxmox.Params{"onboot": "1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state := Read(tc.pending)
			p := v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Cores: new(int32(2))}, Disks: []v1alpha1.MachineDisk{}}
			got := tc.diff.WithPending(state, desiredOf(t, p, before, state.Config))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nWithPending(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestChange checks devices whose removal waits for a restart.
func TestChange(t *testing.T) {
	const root, data, lan = "s:vm-100-disk-0,size=1G", "s:vm-100-disk-1,size=1G", "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	before := Devices{
		Disks: map[string]string{"root": "sata0", "data": "sata1"}, Networks: map[string]string{"lan": "net0"},
		Seen: map[string]bool{"root": true, "data": true}, assigned: true,
	}
	going := []proxmox.PendingValue{
		{Key: "smbios1", Value: new("uuid=" + ourUUID)},
		{Key: "sata0", Value: new(root)},
		{Key: "sata1", Value: new(data), Delete: 2},
		{Key: "net0", Value: new(lan), Delete: 1},
		{Key: "boot", Value: new("order=sata1;sata0;net0"), Pending: new("order=sata0")},
	}
	disks := func(names ...string) []v1alpha1.MachineDisk {
		var all []v1alpha1.MachineDisk
		for _, name := range names {
			all = append(all, v1alpha1.MachineDisk{Name: name})
		}
		return all
	}
	other := disks("root", "data")
	other[1].Volume = new("s:vm-100-disk-7")
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		want   proxmox.Params
	}{
		"Goes": {reason: "What is off the list goes.", spec: v1alpha1.MachineParameters{Disks: disks("root")}},
		"Both": {
			reason: "What is wanted again stays as it is, and the VM boots from it.",
			spec:   v1alpha1.MachineParameters{Disks: disks("root", "data"), Networks: []v1alpha1.MachineNetwork{{Name: "lan"}}},
			want:   proxmox.Params{"sata1": data, "net0": lan, "boot": "order=sata1;sata0;net0"},
		},
		"One": {
			reason: "What still goes is not booted from.", spec: v1alpha1.MachineParameters{Disks: disks("root", "data")},
			want: proxmox.Params{"sata1": data, "boot": "order=sata1;sata0"},
		},
		"Order": {
			reason: "An order that is declared counts.",
			spec:   v1alpha1.MachineParameters{Disks: disks("root", "data"), BootOrder: []string{"root", "data"}},
			want:   proxmox.Params{"sata1": data, "boot": "order=sata0;sata1"},
		},
		"Other": {reason: "Another volume is another disk.", spec: v1alpha1.MachineParameters{Disks: other}, want: proxmox.Params{"sata1": "s:vm-100-disk-7"}},
		"Change": {
			reason: "A network may come back as another.",
			spec:   v1alpha1.MachineParameters{Disks: disks("root"), Networks: []v1alpha1.MachineNetwork{{Name: "lan", VLAN: new(int32(7))}}},
			want:   proxmox.Params{"net0": lan + ",tag=7", "boot": "order=sata0;net0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := Read(going)
			d := desiredOf(t, tc.spec, before, s.Config)
			got := d.Change(s)
			if tc.want == nil {
				tc.want = proxmox.Params{}
			}
			if diff := cmp.Diff(Difference{Set: tc.want, Allocates: name == "Other"}, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLeaving checks devices that others have removed and that the VM has until its next start. A source device stays if an entry has it, and no other
// device takes its place.
func TestLeaving(t *testing.T) {
	const root, theirs = "s:vm-100-disk-0,size=1G", "s:vm-100-disk-1,size=1G"
	const lan, drive = "virtio=BC:24:11:00:00:01,bridge=vmbr0", "s:vm-100-cloudinit,media=cdrom"
	s := Read([]proxmox.PendingValue{
		{Key: "smbios1", Value: new("uuid=" + ourUUID)},
		{Key: "scsi0", Value: new(root), Delete: 1},
		{Key: "scsi1", Value: new(theirs), Delete: 1},
		{Key: "net0", Value: new(lan), Delete: 1},
		{Key: "ide2", Value: new(drive), Delete: 1},
	})
	before := Devices{Source: SourceDevices{Disks: []string{"scsi0"}, Networks: []string{"net0"}}, assigned: true}
	p := v1alpha1.MachineParameters{
		Disks:    []v1alpha1.MachineDisk{{Name: "root"}, {Name: "new", Size: new("3G")}},
		CDROMs:   []v1alpha1.MachineCDROM{{Name: "tools", ISO: new("nfs:iso/tools.iso")}},
		Networks: []v1alpha1.MachineNetwork{{Name: "lan"}, {Name: "more"}},
	}
	devices, err := before.On(s, &p, Defaults{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	d := Desired{MachineParameters: &p, Identity: Identity{VMID: 100, UUID: ourUUID}, Defaults: Defaults{Storage: "s", Bridge: "vmbr0"}, Devices: devices}
	want := Difference{Allocates: true, Set: proxmox.Params{
		"scsi0": root, "scsi2": "s:3", "net0": lan, "net1": "virtio,bridge=vmbr0", "ide0": "nfs:iso/tools.iso,media=cdrom",
	}}
	got := d.Change(s)
	delete(got.Set, "boot")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if no := d.Rejections(d.Restored(s)); len(no) > 0 {
		t.Errorf("rejected: %v", no)
	}
	if diff := cmp.Diff(map[string]bool{"disks/new": true, "networks/more": true, "cdroms/tools": true}, devices.Made); diff != "" {
		t.Errorf("made: -want, +got:\n%s", diff)
	}
}

// TestFirmwareReverted declares disks of the firmware again before their removal takes effect.
func TestFirmwareReverted(t *testing.T) {
	const efi, tpm = "s:vm-100-disk-0,efitype=4m,size=4M", "s:vm-100-disk-1,size=4M,version=v2.0"
	s := Read([]proxmox.PendingValue{
		{Key: "smbios1", Value: new("uuid=" + ourUUID)}, {Key: EFIDevice, Value: new(efi), Delete: 1}, {Key: TPMDevice, Value: new(tpm), Delete: 1},
	})
	spec := v1alpha1.MachineParameters{EFIDisk: &v1alpha1.MachineEFIDisk{}, TPM: &v1alpha1.MachineTPM{Version: new("v1.2")}}
	got := desiredOf(t, spec, Devices{}, s.Config).Change(s)
	want := Difference{Set: proxmox.Params{EFIDevice: efi, TPMDevice: "local-lvm:1,version=v1.2"}, Allocates: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("What is the same as before stays, what is to be another is created again: -want, +got:\n%s", diff)
	}
	spec = v1alpha1.MachineParameters{EFIDisk: &v1alpha1.MachineEFIDisk{Enabled: new(false)}}
	if got := desiredOf(t, spec, Devices{}, s.Config).Change(s); !got.Empty() {
		t.Errorf("What is off goes: got %+v", got)
	}
}

// TestReverted checks pending values that others have set.
func TestReverted(t *testing.T) {
	const (
		disk = "s:vm-100-disk-0,size=1G"
		nic  = "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	)
	cases := map[string]struct {
		reason       string
		spec         v1alpha1.MachineParameters
		option       string
		now, pending *string
		want         Difference
	}{
		"Words": {
			reason: "What is in force is sent in its own words.", spec: v1alpha1.MachineParameters{Agent: new(true)}, option: "agent",
			now: new("enabled=1"), pending: new("0"), want: Difference{Set: proxmox.Params{"agent": "enabled=1"}},
		},
		"Default": {
			reason: "A default that was not written is not written now.",
			spec:   v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{NUMA: new(false)}}, option: "numa", pending: new("1"),
			want: Difference{Delete: []string{"numa"}},
		},
		"Removed": {
			reason: "A pending option that was not there before is taken out, not written.",
			spec:   v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{VCPUs: new(int32(0))}},
			option: "vcpus", pending: new("1"), want: Difference{Delete: []string{"vcpus"}},
		},
		"Spelled": {
			reason: "What is spelled out stays so.", spec: v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Cores: new(int32(1))}},
			option: "cores", now: new("1"), pending: new("2"), want: Difference{Set: proxmox.Params{"cores": "1"}},
		},
		"Another": {
			reason: "A value that is neither is set.", spec: v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Cores: new(int32(3))}},
			option: "cores", now: new("1"), pending: new("2"), want: Difference{Set: proxmox.Params{"cores": "3"}},
		},
		"Disk": {
			reason: "A property of a disk that is spelled out stays so.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "root", Cache: new("none")}}}, option: "scsi0", now: new(disk),
			pending: new(disk + ",cache=unsafe"), want: Difference{Set: proxmox.Params{"scsi0": disk}},
		},
		"DiskOpen": {
			reason: "What else of it is pending stays so.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "root", Cache: new("none")}}}, option: "scsi0", now: new(disk),
			pending: new(disk + ",cache=unsafe,ssd=1"), want: Difference{Set: proxmox.Params{"scsi0": disk + ",cache=none,ssd=1"}},
		},
		"NIC": {
			reason: "A pending change of a network that the spec does not want is taken back.",
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Name: "lan", Firewall: new(false)}}}, option: "net0",
			now: new(nic), pending: new(nic + ",firewall=1"), want: Difference{Set: proxmox.Params{"net0": nic}},
		},
		"NICModel": {
			reason: "A model that is not declared stays pending.",
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Name: "lan", Firewall: new(false)}}}, option: "net0",
			now: new(nic), pending: new("e1000=BC:24:11:00:00:01,bridge=vmbr0,firewall=1"),
			want: Difference{Set: proxmox.Params{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr0,firewall=0"}},
		},
		"Extra": {
			reason: "A pending change of an option without a field is taken back.",
			spec:   v1alpha1.MachineParameters{ExtraConfig: map[string]v1alpha1.ExtraValue{"freeze": "0"}},
			option: "freeze", pending: new("1"), want: Difference{Delete: []string{"freeze"}},
		},
		"NotWanted": {
			reason: "What is in force but not wanted goes.", spec: v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{VCPUs: new(int32(0))}},
			option: "vcpus", now: new("2"), pending: new("1"), want: Difference{Delete: []string{"vcpus"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := Read([]proxmox.PendingValue{{Key: "smbios1", Value: new("uuid=" + ourUUID)}, {Key: tc.option, Value: tc.now, Pending: tc.pending}})
			d := desiredOf(t, tc.spec, Devices{}, s.Config)
			if diff := cmp.Diff(tc.want, d.Change(s), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAround splits a change for a disk that is to be moved or resized.
func TestAround(t *testing.T) {
	const was, waits, wanted = "s:d,size=1G", "s:d,cache=writeback,size=1G", "s:d,cache=unsafe,size=1G"
	running := func(pending *string) State {
		return Read([]proxmox.PendingValue{{Key: "scsi0", Value: new(was), Pending: pending}})
	}
	cases := map[string]struct {
		reason     string
		state      State
		set        proxmox.Params
		now, later proxmox.Params
	}{
		"Nothing": {reason: "A disk that nothing else is to be done to just goes."},
		"Change": {
			reason: "What changes on it comes afterwards.", state: running(nil), set: proxmox.Params{"scsi0": wanted, "cores": "2"},
			now: proxmox.Params{"cores": "2"}, later: proxmox.Params{"scsi0": wanted},
		},
		"Waits": {reason: "What waits for a restart is taken back.", state: running(new(waits)), now: proxmox.Params{"scsi0": was}},
		"Both": {
			reason: "What waits for a restart is taken back before another change is made.", state: running(new(waits)), set: proxmox.Params{"scsi0": wanted},
			now: proxmox.Params{"scsi0": was}, later: proxmox.Params{"scsi0": wanted},
		},
		"Another": {
			reason: "Another disk that is to take its place is not the one that is there.", state: running(new("s:other,size=1G")),
			set: proxmox.Params{"scsi0": "s:other,cache=unsafe"}, now: proxmox.Params{"scsi0": "s:other,cache=unsafe"},
		},
		"ToCome": {
			reason: "A disk that the VM does not have yet has nothing that could be taken back.", state: Read([]proxmox.PendingValue{{Key: "scsi0", Pending: new(was)}}),
			set: proxmox.Params{"scsi0": wanted}, now: proxmox.Params{"scsi0": wanted},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now, later := Difference{Set: tc.set}.SplitAroundDiskOps(tc.state, []string{"scsi0"})
			for what, pair := range map[string][2]proxmox.Params{"now": {tc.now, now.Set}, "later": {tc.later, later.Set}} {
				if diff := cmp.Diff(pair[0], pair[1], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s What comes %s: -want, +got:\n%s", tc.reason, what, diff)
				}
			}
		})
	}
}

// TestFirmwareGone detaches the state of a TPM manually.
func TestFirmwareGone(t *testing.T) {
	const tpm = "s:vm-100-disk-1,size=4M,version=v2.0"
	there := Read([]proxmox.PendingValue{{Key: TPMDevice, Value: new(tpm)}})
	gone := Read([]proxmox.PendingValue{{Key: "unused0", Value: new("s:vm-100-disk-1")}})
	on, off := &v1alpha1.MachineParameters{TPM: &v1alpha1.MachineTPM{}}, &v1alpha1.MachineParameters{TPM: &v1alpha1.MachineTPM{Enabled: new(false)}}
	devices := Devices{}
	for _, step := range []struct {
		reason string
		spec   *v1alpha1.MachineParameters
		vm     State
		want   string
	}{
		{reason: "A VM without one gets one.", spec: on, vm: gone},
		{reason: "One that it has is seen.", spec: on, vm: there},
		{reason: "No empty one takes its place.", spec: on, vm: gone, want: "tpm is no longer at tpmstate0 of the VM"},
		{reason: "The state of a TPM may be attached again.", spec: on, vm: there},
		{reason: "The state of a TPM may be given up.", spec: off, vm: gone},
		{reason: "Another one is made when it is wanted again.", spec: on, vm: gone},
	} {
		var err error
		if devices, err = ParseDevices(devices.String()); err != nil {
			t.Fatal(err)
		}
		if devices, err = devices.On(step.vm, step.spec, Defaults{}, 1); err != nil {
			t.Fatal(err)
		}
		d := desiredOf(t, *step.spec, devices, step.vm.Config)
		if why := strings.Join(d.Rejections(step.vm.Config), "; "); step.want == "" && why != "" || !strings.Contains(why, step.want) {
			t.Errorf("%s Want %q, got %q.", step.reason, step.want, why)
		}
	}
}

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

package vmstate

import (
	"net/netip"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

const ourUUID = "11111111-2222-4333-8444-55555555555a"

func netips(ss ...string) []netip.Addr {
	out := make([]netip.Addr, 0, len(ss))
	for _, s := range ss {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func TestAddresses(t *testing.T) {
	cases := map[string]struct {
		reason     string
		interfaces []proxmox.Interface
		before     []string
		macs       []string
		running    bool
		want       []string
	}{
		"Stopped": {reason: "A stopped VM has no addresses.", before: []string{"192.0.2.1"}, interfaces: []proxmox.Interface{{Addresses: netips("192.0.2.1")}}},
		"Silent": {
			reason: "Addresses stay while the agent of a running guest does not answer.", before: []string{"192.0.2.1"}, running: true,
			want: []string{"192.0.2.1"},
		},
		"Answered": {
			reason: "What the agent says replaces what it said.", before: []string{"192.0.2.1"},
			interfaces: []proxmox.Interface{{Name: "lo", Addresses: netips("127.0.0.1")}}, running: true,
		},
		"Sorted": {
			reason: "IPv4 comes first; loopback, link-local and unspecified addresses are left out.",
			interfaces: []proxmox.Interface{
				{Name: "lo", Addresses: netips("127.0.0.1", "::1")},
				{Name: "eth0", Addresses: netips("2001:db8::1", "fe80::1%eth0", "192.0.2.1", "169.254.1.1", "0.0.0.0")},
				{Name: "eth1", Addresses: netips("10.0.0.1", "fd00::1")},
			},
			running: true, want: []string{"192.0.2.1", "10.0.0.1", "2001:db8::1", "fd00::1"},
		},
		"Containers": {
			reason: "The VM's own networks come before what the guest has for its containers: others reach it there.",
			interfaces: []proxmox.Interface{
				{Name: "docker0", MAC: "02:42:00:00:00:01", Addresses: netips("172.17.0.1")},
				{Name: "eth0", MAC: "bc:24:11:00:00:01", Addresses: netips("2001:db8::1")},
				{Name: "eth0.5", MAC: "bc:24:11:00:00:01", Addresses: netips("192.0.2.1")},
				{Name: "tailscale0", Addresses: netips("100.64.0.1")},
			},
			macs: []string{"BC:24:11:00:00:01"}, running: true, want: []string{"192.0.2.1", "2001:db8::1", "172.17.0.1", "100.64.0.1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, addresses(tc.interfaces, tc.macs, tc.before, tc.running)); diff != "" {
				t.Errorf("\n%s\naddresses: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestGuestSide checks a guest with more interfaces than its VM has network devices.
func TestGuestSide(t *testing.T) {
	v := &VM{
		State: qemu.State{Active: qemu.Config{
			"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr1", "net2": "e1000,bridge=vmbr2", "net3": "tulip",
		}},
		Interfaces: []proxmox.Interface{
			{Name: "docker0", MAC: "02:42:00:00:00:01", Addresses: netips("172.17.0.1")},
			{Name: "tun0", Addresses: netips("10.8.0.1")},
			{Name: "ens18", MAC: "bc:24:11:00:00:01"},
			{Name: "br0", MAC: "bc:24:11:00:00:01", Addresses: netips("fe80::1", "192.0.2.1")},
			{Name: "br0.7", MAC: "bc:24:11:00:00:01", Addresses: netips("2001:db8::7", "192.0.2.7")},
			{Name: "ens19", MAC: "bc:24:11:00:00:02", Addresses: netips("fe80::2")},
		},
	}
	want := []v1alpha1.MachineNetworkObservation{
		{
			Device: "net0", MACAddress: "BC:24:11:00:00:01", Bridge: "vmbr0", Model: "virtio",
			Interface: "br0", IPAddresses: []string{"192.0.2.1", "192.0.2.7", "2001:db8::7"},
		},
		{Device: "net1", MACAddress: "BC:24:11:00:00:02", Bridge: "vmbr1", Model: "virtio", Interface: "ens19"},
		{Device: "net2", Bridge: "vmbr2", Model: "e1000"},
	}
	if diff := cmp.Diff(want, v.Networks(qemu.Devices{})); diff != "" {
		t.Errorf("networks: -want, +got:\n%s", diff)
	}
	all := []string{"192.0.2.1", "192.0.2.7", "2001:db8::7", "172.17.0.1", "10.8.0.1"}
	if diff := cmp.Diff(all, addresses(v.Interfaces, v.MACs(), nil, true)); diff != "" {
		t.Errorf("addresses: -want, +got:\n%s", diff)
	}
}

func TestPhase(t *testing.T) {
	cases := map[string]struct {
		reason string
		lock   string
		status string
		qmp    string
		want   v1alpha1.MachinePhase
	}{
		"Creating": {reason: "A VM under the lock of its creation is being created.", lock: "create", status: "stopped", want: v1alpha1.MachineCreating},
		"Cloning":  {reason: "A VM under the lock of a clone is being created.", lock: "clone", status: "stopped", want: v1alpha1.MachineCreating},
		"Running":  {reason: "A running VM runs.", status: "running", want: v1alpha1.MachineRunning},
		"Paused":   {reason: "A paused VM is on.", status: "running", qmp: "paused", want: v1alpha1.MachineRunning},
		"BackedUp": {reason: "Other locks do not stop it.", lock: "backup", status: "running", want: v1alpha1.MachineRunning},
		"Stopped":  {reason: "A stopped VM is stopped.", status: "stopped", want: v1alpha1.MachineStopped},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := &VM{State: qemu.State{Config: qemu.Config{"lock": tc.lock}}, Status: proxmox.Status{Status: tc.status, QMPStatus: tc.qmp}}
			if got := v.Phase(); got != tc.want {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestMasked checks that neither secrets are shown nor the size of zero that a disk has until it is filled.
func TestMasked(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, option, value, want string }{
		"Secret":   {reason: "A password is shown to nobody.", option: "cipassword", value: "x", want: "**********"},
		"Imported": {reason: "The disk gets the size of the image.", option: "scsi1", value: "l:0,import-from=l:import/a.raw", want: "l,import-from=l:import/a.raw"},
		"Sizeless": {reason: "A new disk to which the spec gives no size is shown so.", option: "scsi1", value: "local-lvm:0", want: "local-lvm (no size)"},
		"Nowhere":  {reason: "A new disk may have neither a size nor a storage.", option: "scsi1", value: ":0", want: "(no size)"},
		"New":      {reason: "20 GiB are what was asked for.", option: "scsi1", value: "ceph:20,discard=on", want: "ceph:20,discard=on"},
		"Volume":   {reason: "A volume that is there.", option: "scsi1", value: "ceph:vm-100-disk-0", want: "ceph:vm-100-disk-0"},
		"Other":    {reason: "Options that are no disks may end so.", option: "net0", value: "virtio=BC:24:11:00:00:0,tag=7", want: "virtio=BC:24:11:00:00:0,tag=7"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Masked(tc.option, tc.value); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestPowerStateOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		vm     VM
		want   string
	}{
		"Running": {reason: "QEMU's own state is shown.", vm: VM{Status: proxmox.Status{Status: "running", QMPStatus: "running"}}, want: "running"},
		"Paused":  {reason: "A paused VM has a process.", vm: VM{Status: proxmox.Status{Status: "running", QMPStatus: "paused"}}, want: "paused"},
		"Silent":  {reason: "QEMU may not tell.", vm: VM{Status: proxmox.Status{Status: "running"}}, want: "running"},
		"Stopped": {reason: "A stopped VM has no QEMU.", vm: VM{Status: proxmox.Status{Status: "stopped", QMPStatus: "stopped"}}, want: "stopped"},
		"Suspended": {
			reason: "A VM that is suspended to disk is locked.",
			vm:     VM{State: qemu.State{Config: qemu.Config{"lock": "suspended"}}, Status: proxmox.Status{Status: "stopped"}}, want: "suspended",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.vm.PowerState(); got != tc.want {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// web returns a running VM with an agent.
func web() *VM {
	v := &VM{
		Ref:    proxmox.Ref{Node: "pve1", VMID: 100},
		Status: proxmox.Status{Status: "running", QMPStatus: "running", Uptime: time.Minute},
		Interfaces: []proxmox.Interface{
			{Name: "lo", Addresses: netips("127.0.0.1")},
			{Name: "eth0", MAC: "bc:24:11:00:00:01", Addresses: netips("fe80::1", "192.0.2.1", "2001:db8::1")},
		},
	}
	values := []proxmox.PendingValue{{Key: "cores", Value: new("2"), Pending: new("4")}, {Key: "digest", Value: new("d1")}}
	for k, s := range map[string]string{
		"name": "web", "memory": "current=2048", "sockets": "2", "agent": "1", "ciuser": "admin", "smbios1": "uuid=" + ourUUID,
		"scsi0": "local-lvm:vm-100-disk-0,size=20G", "ide2": "local-lvm:vm-100-cloudinit,media=cdrom",
		"ide0": "local:iso/d.iso,media=cdrom,size=1M", "ide1": "none,media=cdrom",
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=7", "boot": "order=scsi0", "efidisk0": "local-lvm:vm-100-disk-1,efitype=4m,size=528K",
		"description": "long", "sshkeys": "key", "cipassword": "**********", "args": "-secret",
	} {
		values = append(values, proxmox.PendingValue{Key: k, Value: &s})
	}
	v.Read(values)
	return v
}

func TestObserveVM(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := qemu.Devices{Disks: map[string]string{"root": "scsi0"}, CDROMs: map[string]string{"drivers": "ide0"}, Networks: map[string]string{"lan": "net0"}}
	o := v1alpha1.MachineObservation{LastTask: &v1alpha1.MachineTask{Type: "qmstart"}, Lock: "clone", Difference: []v1alpha1.MachinePendingChange{{Option: "x"}}}
	v := web()
	v.ShowConfig = true
	v.Observe(&o, d, now)
	updated := o.LastUpdated
	if updated == nil || !updated.Time.Equal(now) {
		t.Fatalf("Last updated is %v, want now", updated)
	}
	o.LastUpdated = nil
	want := v1alpha1.MachineObservation{
		Phase: v1alpha1.MachineRunning, VMID: new(int32(100)), Node: "pve1", Name: "web", UUID: ourUUID, PowerState: "running",
		UptimeSeconds: new(int64(60)), StartedAt: &metav1.Time{Time: now.Add(-time.Minute)}, IPAddresses: []string{"192.0.2.1", "2001:db8::1"},
		CPU: &v1alpha1.MachineCPUObservation{Cores: 2, Sockets: 2}, MemoryBytes: new(int64(2 << 30)),
		Disks: []v1alpha1.MachineDiskObservation{
			{Device: "scsi0", Name: "root", Volume: "local-lvm:vm-100-disk-0", Size: "20G"},
			{Device: "efidisk0", Volume: "local-lvm:vm-100-disk-1", Size: "528K"},
		},
		CDROMs: []v1alpha1.MachineCDROMObservation{
			{Device: "ide0", Name: "drivers", Volume: "local:iso/d.iso"},
			{Device: "ide1", Volume: ""},
			{Device: "ide2", Volume: "local-lvm:vm-100-cloudinit"},
		},
		Networks: []v1alpha1.MachineNetworkObservation{{
			Device: "net0", Name: "lan", MACAddress: "BC:24:11:00:00:01", Bridge: "vmbr0", Model: "virtio", VLAN: new(int32(7)),
			Interface: "eth0", IPAddresses: []string{"192.0.2.1", "2001:db8::1"},
		}},
		Config: map[string]string{
			"name": "web", "cores": "2", "memory": "current=2048", "sockets": "2", "agent": "1", "ciuser": "admin", "smbios1": "uuid=" + ourUUID,
			"scsi0": "local-lvm:vm-100-disk-0,size=20G", "ide2": "local-lvm:vm-100-cloudinit,media=cdrom",
			"ide0": "local:iso/d.iso,media=cdrom,size=1M", "ide1": "none,media=cdrom",
			"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=7", "boot": "order=scsi0", "efidisk0": "local-lvm:vm-100-disk-1,efitype=4m,size=528K",
		},
		PendingChanges: []v1alpha1.MachinePendingChange{{Option: "cores", Current: "2", Desired: "4"}},
		LastTask:       &v1alpha1.MachineTask{Type: "qmstart"},
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("What is in force is observed, what is pending beside it: -want, +got:\n%s", diff)
	}

	o.LastUpdated = updated
	written := *o.DeepCopy()
	v.Usage = &Usage{Node: "pve1", CPU: 0.126, CPUs: 4, Memory: 1 << 30, DiskRead: 10, DiskWritten: 20, At: now.Add(time.Hour)}
	v.Status.Uptime = 10 * time.Minute
	v.Observe(&o, d, now.Add(9*time.Minute))
	if diff := cmp.Diff(written, o); diff != "" {
		t.Errorf("An unchanged VM is not written each time it is looked at: -before, +after:\n%s", diff)
	}
	v.Status.Uptime = time.Hour + time.Minute
	v.Observe(&o, d, now.Add(time.Hour))
	if !o.LastUpdated.Time.Equal(now) {
		t.Errorf("Nothing but the uptime changed, yet it was last updated at %v", o.LastUpdated)
	}
	if *o.UptimeSeconds != 3660 {
		t.Errorf("Uptime is %d, want 3660", *o.UptimeSeconds)
	}
	used := &v1alpha1.MachineUsageObservation{
		CPUPercent: 13, MemoryBytes: 1 << 30, DiskReadBytes: 10, DiskWrittenBytes: 20, ObservedAt: metav1.NewTime(now.Add(time.Hour)),
	}
	if diff := cmp.Diff(used, o.Usage); diff != "" {
		t.Errorf("The usage comes with the uptime: -want, +got:\n%s", diff)
	}
	v.ShowConfig = false
	v.Observe(&o, d, now.Add(time.Hour))
	if o.Config != nil || !o.LastUpdated.Time.Equal(now.Add(time.Hour)) {
		t.Errorf("What is not asked for any more goes, got %v, updated %v", o.Config, o.LastUpdated)
	}
	v.Usage = nil
	v.Config["name"] = "db"
	v.Observe(&o, d, now.Add(time.Hour))
	if diff := cmp.Diff(used, o.Usage); diff != "" {
		t.Errorf("What is not told again stays: -want, +got:\n%s", diff)
	}
	v.Status.Status = "stopped"
	v.Observe(&o, d, now.Add(2*time.Hour))
	if !o.LastUpdated.Time.Equal(now.Add(2*time.Hour)) || o.UptimeSeconds != nil || o.Usage != nil || o.StartedAt != nil ||
		o.IPAddresses != nil || o.PendingChanges != nil {
		t.Errorf("A VM that stopped has no uptime, usage, addresses or pending changes: %+v", o)
	}
}

func TestConnectionDetails(t *testing.T) {
	cases := map[string]struct {
		reason string
		ips    []string
		config map[string]string
		pve    []string
		want   managed.ConnectionDetails
	}{
		"Console": {
			reason: "The console is a page of the first endpoint.",
			config: map[string]string{"name": "a b"}, pve: []string{"https://pve1.example.com:8006/api2/json", "https://pve2.example.com:8006"},
			want: managed.ConnectionDetails{
				"vmid": []byte("100"), "node": []byte("pve1"), "name": []byte("a b"),
				"consoleURL": []byte("https://pve1.example.com:8006/?console=kvm&node=pve1&novnc=1&vmid=100&vmname=a+b"),
			},
		},
		"Windows": {
			reason: "Windows is reached by its own protocol.",
			config: map[string]string{"name": "w", "ostype": "win11"}, ips: []string{"192.0.2.1"},
			want: managed.ConnectionDetails{
				"vmid": []byte("100"), "node": []byte("pve1"), "name": []byte("w"),
				"endpoint": []byte("192.0.2.1"), "port": []byte("3389"), "ipAddresses": []byte("192.0.2.1"),
			},
		},
		"Least": {
			reason: "A VM without an address is told by what it is.",
			config: map[string]string{"name": "web"},
			want:   managed.ConnectionDetails{"vmid": []byte("100"), "node": []byte("pve1"), "name": []byte("web")},
		},
		"All": {
			reason: "A VM with addresses is reached at the first of them.",
			config: map[string]string{"name": "web", "ciuser": "admin"}, ips: []string{"192.0.2.1", "2001:db8::1"},
			want: managed.ConnectionDetails{
				"vmid": []byte("100"), "node": []byte("pve1"), "name": []byte("web"), "username": []byte("admin"),
				"endpoint": []byte("192.0.2.1"), "port": []byte("22"), "ipAddresses": []byte("192.0.2.1,2001:db8::1"),
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := &VM{Ref: proxmox.Ref{Node: "pve1", VMID: 100}, State: qemu.State{Config: tc.config}}
			if diff := cmp.Diff(tc.want, v.ConnectionDetails(&v1alpha1.MachineObservation{IPAddresses: tc.ips}, tc.pve)); diff != "" {
				t.Errorf("\n%s\nconnectionDetails: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

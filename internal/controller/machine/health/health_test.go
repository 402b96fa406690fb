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

package health

import (
	"context"
	"slices"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A cluster is an Inventory, and that of the checks.
type cluster struct {
	preflight.Inventory

	bridges    []proxmox.Bridge
	storages   []proxmox.Storage
	privileges proxmox.Privileges
	nowhere    string // A path without privileges.
}

func (c cluster) Bridges(context.Context, string, time.Duration) ([]proxmox.Bridge, error) {
	return c.bridges, nil
}

func (c cluster) Storages(context.Context) ([]proxmox.Storage, error) { return c.storages, nil }

func (c cluster) Privileges(_ context.Context, path string) (proxmox.Privileges, error) {
	if path == c.nowhere {
		return nil, nil
	}
	return c.privileges, nil
}

func newChecker(in cluster, config qemu.Config) Checker {
	return Checker{
		Inventory: in, Checks: &preflight.Checks{Inventory: in}, Adds: func(string) bool { return false },
		VM: &vmstate.VM{Ref: proxmox.Ref{Node: "pve1", VMID: 100}, State: qemu.State{Config: config, Active: config}},
	}
}

func TestPendingDisks(t *testing.T) {
	spec := &v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "root"}, {Name: "data"}}}
	cases := map[string]struct {
		reason string
		before v1alpha1.MachineObservation
		seen   map[string]bool
		want   []string
	}{
		"New":     {reason: "A VM that was just made lacks what it has not had yet.", seen: map[string]bool{"root": true}, want: []string{"data"}},
		"Nothing": {reason: "A VM whose disks are not known has had none.", want: []string{"root", "data"}},
		"Whole":   {reason: "A VM that is made with all its disks lacks none.", seen: map[string]bool{"root": true, "data": true}},
		"Coming": {
			reason: "A VM that lacks disks goes on to lack what is yet to come.", before: v1alpha1.MachineObservation{UUID: "u", PendingDisks: []string{"root", "data"}},
			seen: map[string]bool{"root": true}, want: []string{"data"},
		},
		"Come": {
			reason: "Once it has had all it lacks none.", before: v1alpha1.MachineObservation{UUID: "u", PendingDisks: []string{"data"}},
			seen: map[string]bool{"root": true, "data": true},
		},
		"Later": {
			reason: "What is added to a VM that was whole holds up nothing.", before: v1alpha1.MachineObservation{UUID: "u"},
			seen: map[string]bool{"root": true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := PendingDisks(spec, &tc.before, qemu.Devices{Seen: tc.seen})
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s\nwant %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestReady(t *testing.T) {
	disks, drive := []v1alpha1.MachineDisk{{Name: "data"}}, []v1alpha1.MachineCDROM{{Name: "empty"}}
	cases := map[string]struct {
		reason  string
		before  corev1.ConditionStatus
		spec    v1alpha1.MachineParameters
		devices qemu.Devices
		config  qemu.Config
		adds    bool
		runs    bool
		idle    time.Duration
		written int64
		has     proxmox.Privileges
		nowhere string
		want    xpv2.ConditionReason
		message string
	}{
		"Whole": {reason: "A VM with the disk is ready.", spec: v1alpha1.MachineParameters{Disks: disks}, config: qemu.Config{"scsi1": "lvm:vm-100-disk-1"}},
		"Disk": {
			reason: "A VM without the disk is not.", spec: v1alpha1.MachineParameters{Disks: disks}, want: conditions.ReasonDeviceMissing,
			message: `the VM does not have disk "data" (scsi1)`,
		},
		"Coming": {reason: "A VM whose disk is being added is.", spec: v1alpha1.MachineParameters{Disks: disks}, adds: true},
		"Firmware": {
			reason: "A VM that has lost its firmware's variables is not as declared.", devices: qemu.Devices{Seen: map[string]bool{"/efidisk0": true}},
			want: conditions.ReasonDeviceMissing, message: "the VM does not have efidisk0",
		},
		"Empty": {
			reason: "A VM that runs without anything to boot from is as declared, and says so.", config: qemu.Config{"cores": "2", "efidisk0": "lvm:vm-100-disk-0"},
			runs: true, message: nothingToBoot,
		},
		"Passthrough": {reason: "A VM may boot from a device of the node.", config: qemu.Config{"hostpci0": "0000:01:00"}, runs: true},
		"Network":     {reason: "A VM may boot from the network.", config: qemu.Config{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}, runs: true},
		"NewDisks": {
			reason: "A VM whose disks are new and empty boots nothing from them, and says so.", spec: v1alpha1.MachineParameters{Disks: disks, CDROMs: drive},
			config: qemu.Config{"scsi1": "lvm:vm-100-disk-1", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "ide0": "none,media=cdrom"},
			runs:   true, idle: BootTime, message: EmptyDisks,
		},
		"JustStarted": {
			reason: "A guest has its time to begin.", spec: v1alpha1.MachineParameters{Disks: disks}, config: qemu.Config{"scsi1": "lvm:vm-100-disk-1"},
			runs: true, idle: BootTime - time.Second,
		},
		"Installed": {
			reason: "What writes to the disks runs.", spec: v1alpha1.MachineParameters{Disks: disks}, config: qemu.Config{"scsi1": "lvm:vm-100-disk-1"},
			runs: true, idle: time.Hour, written: 512,
		},
		"Medium": {
			reason: "A medium in another drive boots.", spec: v1alpha1.MachineParameters{Disks: disks, CDROMs: drive}, runs: true, idle: time.Hour,
			config: qemu.Config{"scsi1": "lvm:vm-100-disk-1", "ide0": "local:iso/debian.iso,media=cdrom"},
		},
		"OtherDisk": {
			reason: "A disk that is not of the spec may hold a system.", spec: v1alpha1.MachineParameters{Disks: disks}, runs: true, idle: time.Hour,
			config: qemu.Config{"scsi1": "lvm:vm-100-disk-1", "virtio0": "lvm:vm-100-disk-0"},
		},
		"Attached": {
			reason: "A volume that is attached may hold a system.", spec: v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "data", Volume: new("a:b")}}},
			config: qemu.Config{"scsi1": "lvm:vm-100-disk-1"}, runs: true, idle: time.Hour,
		},
		"Template": {
			reason: "A template fills disks.", spec: v1alpha1.MachineParameters{Disks: disks, Template: new(intstr.FromString("debian"))},
			config: qemu.Config{"scsi1": "lvm:vm-100-disk-1"}, runs: true, idle: time.Hour,
		},
		"NothingLeft": {
			reason: "A VM with a source is not told that it was made without one.", spec: v1alpha1.MachineParameters{TemplateTags: []string{"debian"}},
			config: qemu.Config{"cores": "2"}, runs: true, message: nothingLeft,
		},
		"NetworkBoot": {
			reason: "A network that is to boot the VM may be slow.", runs: true, idle: time.Hour,
			spec:    v1alpha1.MachineParameters{Disks: disks, BootOrder: []string{"data", "lan"}, Networks: []v1alpha1.MachineNetwork{{Name: "lan"}}},
			config:  qemu.Config{"scsi1": "lvm:vm-100-disk-1", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"},
			devices: qemu.Devices{Networks: map[string]string{"lan": "net0"}},
		},
		"Off": {
			reason: "Nothing else is said of a VM that is not in its power state.", before: corev1.ConditionFalse,
			spec: v1alpha1.MachineParameters{Disks: disks}, want: conditions.ReasonPowerMismatch,
		},
		"BootDisk": {
			reason: "A VM whose only disk is detached does not boot.", config: qemu.Config{"unused0": "lvm:vm-100-disk-0"},
			want: conditions.ReasonBootDiskMissing, message: "the VM has no disk to boot from: unused0 (lvm:vm-100-disk-0) is not attached",
		},
		"Bridge": {
			reason: "A bridge that may be seen and is not there is missing.", config: qemu.Config{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr9"},
			has: proxmox.Privileges{"SDN.Use": true}, want: conditions.ReasonBridgeMissing, message: "bridge 'vmbr9' not found on node pve1",
		},
		"VNet": {
			reason: "A bridge that may be a VNet is missing where those of all zones may be seen.",
			config: qemu.Config{"net0": "virtio=BC:24:11:00:00:01,bridge=office"},
			has:    proxmox.Privileges{"SDN.Audit": true}, want: conditions.ReasonBridgeMissing, message: "bridge 'office' not found on node pve1",
		},
		"VNetHidden": {
			reason: "A VNet is hidden by its zone, although bridges of nodes may be seen.", config: qemu.Config{"net0": "virtio=BC:24:11:00:00:01,bridge=office"},
			has: proxmox.Privileges{"SDN.Use": true}, nowhere: "/sdn/zones",
		},
		"NodeBridge": {
			reason: "What no VNet can be called is none.", config: qemu.Config{"net0": "virtio=BC:24:11:00:00:01,bridge=office_lan"}, nowhere: "/sdn/zones",
			has: proxmox.Privileges{"SDN.Use": true}, want: conditions.ReasonBridgeMissing, message: "bridge 'office_lan' not found on node pve1",
		},
		"Hidden": {reason: "A bridge that may not be seen is not said to be missing.", config: qemu.Config{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr9"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newChecker(cluster{bridges: []proxmox.Bridge{{Name: "vmbr0"}}, privileges: tc.has, nowhere: tc.nowhere}, tc.config)
			c.Devices, c.Adds = tc.devices, func(string) bool { return tc.adds }
			c.Devices.Disks = map[string]string{"data": "scsi1"}
			if tc.runs {
				c.VM.Status = proxmox.Status{Status: "running", Uptime: tc.idle}
				c.VM.Usage = &vmstate.Usage{DiskWritten: tc.written}
			}
			before := xpv2.Available()
			if tc.before != "" {
				before = conditions.New(xpv2.TypeReady, tc.before, conditions.ReasonPowerMismatch, "")
			}
			want := tc.want
			if want == "" {
				want = before.Reason
			}
			if got := c.Ready(t.Context(), &tc.spec, before); got.Reason != want || got.Message != tc.message {
				t.Errorf("%s Want %s: %q, got %s: %q", tc.reason, want, tc.message, got.Reason, got.Message)
			}
		})
	}
}

// TestSources covers a VM with its root disk listed, from each source, and nothing written to the disk.
func TestSources(t *testing.T) {
	cases := map[string]struct {
		reason string
		source v1alpha1.MachineParameters
		told   bool
	}{
		"None":          {reason: "Without a source there is nothing to boot from.", told: true},
		"Ejected":       {reason: "An ejected medium is no source.", source: v1alpha1.MachineParameters{ISO: new("")}, told: true},
		"BootsFromDisk": {reason: "A boot order of disks is no source.", source: v1alpha1.MachineParameters{BootOrder: []string{"root"}}, told: true},
		"Template":      {reason: "A template is a source.", source: v1alpha1.MachineParameters{Template: new(intstr.FromInt32(9000))}},
		"TemplateTags":  {reason: "A template found by tags is a source.", source: v1alpha1.MachineParameters{TemplateTags: []string{"debian"}}},
		"TemplateRef":   {reason: "An Image's template is a source.", source: v1alpha1.MachineParameters{TemplateRef: &v1alpha1.Reference{Name: "debian"}}},
		"TemplateSelector": {
			reason: "An Image's template found by labels is a source.",
			source: v1alpha1.MachineParameters{TemplateSelector: &v1alpha1.Selector{}},
		},
		"Clone": {
			reason: "A VM that is cloned is a source.",
			source: v1alpha1.MachineParameters{Clone: &v1alpha1.MachineClone{Machine: new("web")}},
		},
		"Image": {
			reason: "An image is a source.",
			source: v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Volume: "local:import/a.qcow2"}},
		},
		"Restore":       {reason: "A backup is a source.", source: v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{}}},
		"ISO":           {reason: "An installer is a source.", source: v1alpha1.MachineParameters{ISO: new("local:iso/debian.iso")}},
		"NetworkOrder":  {reason: "A network in bootOrder is a source.", source: v1alpha1.MachineParameters{BootOrder: []string{"disk", "network"}}},
		"NetworkDevice": {reason: "A network device in bootOrder is a source.", source: v1alpha1.MachineParameters{BootOrder: []string{"net0"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newChecker(cluster{bridges: []proxmox.Bridge{{Name: "vmbr0"}}}, qemu.Config{"scsi0": "lvm:vm-100-disk-0"})
			c.Devices.Disks, c.Adds = map[string]string{"root": "scsi0"}, func(string) bool { return false }
			c.VM.Status, c.VM.Usage = proxmox.Status{Status: "running", Uptime: time.Hour}, &vmstate.Usage{}
			tc.source.Disks = []v1alpha1.MachineDisk{{Name: "root"}}
			if got := c.Ready(t.Context(), &tc.source, xpv2.Available()); (got.Message == EmptyDisks) != tc.told || got.Message != "" && !tc.told {
				t.Errorf("%s Want it told: %t, got %q", tc.reason, tc.told, got.Message)
			}
		})
	}
}

// TestShowBootable checks the condition Bootable, which depends on its earlier state and on the current VM.
func TestShowBootable(t *testing.T) {
	nothing := conditions.New(conditions.TypeBootable, corev1.ConditionFalse, conditions.ReasonNothingToBoot, nothingToBoot)
	empty := conditions.New(conditions.TypeBootable, corev1.ConditionFalse, conditions.ReasonNothingToBoot, EmptyDisks)
	off := conditions.New(conditions.TypeBootable, corev1.ConditionUnknown, conditions.ReasonNotRunning, "the VM is not running")
	found := conditions.New(conditions.TypeBootable, corev1.ConditionTrue, conditions.ReasonBootDeviceFound, "")
	notReady := conditions.NotReady(conditions.ReasonPowerMismatch, "the VM is to be stopped")
	none, disk := qemu.Config{"cores": "2"}, qemu.Config{"scsi0": "lvm:vm-100-disk-0"}
	cases := map[string]struct {
		reason string
		before *xpv2.Condition
		ready  xpv2.Condition
		config qemu.Config
		order  []string
		uptime time.Duration // It is zero for a VM that is off.
		usage  *vmstate.Usage
		want   xpv2.Condition
		absent bool
	}{
		"Usual": {
			reason: "A VM that boots has no such condition.",
			ready:  xpv2.Available(), config: disk, uptime: time.Hour, usage: &vmstate.Usage{DiskWritten: 1}, absent: true,
		},
		"Off":     {reason: "A VM that is off has no such condition.", ready: xpv2.Available(), config: none, absent: true},
		"Nothing": {reason: "A VM without devices boots nothing.", ready: xpv2.Available(), config: none, uptime: time.Second, want: nothing},
		"Empty": {
			reason: "A VM with empty disks boots nothing.",
			ready:  xpv2.Available(), config: disk, uptime: BootTime, usage: &vmstate.Usage{}, want: empty,
		},
		"Same": {reason: "What is so stays.", before: &nothing, ready: xpv2.Available(), config: none, uptime: time.Hour, want: nothing},
		"NotReady": {
			reason: "Nothing is said of a VM that is not in its power state.", ready: notReady, config: none, uptime: time.Hour, absent: true,
		},
		"Stopped":  {reason: "A VM that is off cannot be judged.", before: &nothing, ready: xpv2.Available(), config: none, want: off},
		"Stopping": {reason: "A VM is judged until it is off.", before: &nothing, ready: notReady, config: none, uptime: time.Hour, want: nothing},
		"StaysOff": {reason: "A VM that stays off cannot be judged.", before: &off, ready: notReady, config: disk, want: off},
		"StartsAgain": {
			reason: "A guest has its time to begin.",
			before: &off, ready: xpv2.Available(), config: disk, uptime: time.Second, usage: &vmstate.Usage{}, want: off,
		},
		"NotYet": {
			reason: "A restart fills no disk.",
			before: &empty, ready: xpv2.Available(), config: disk, uptime: time.Second, usage: &vmstate.Usage{}, want: empty,
		},
		"Unlisted": {
			reason: "A disk may be empty while nobody tells what is written.",
			before: &empty, ready: xpv2.Available(), config: disk, uptime: time.Hour, want: empty,
		},
		"Installed": {
			reason: "A guest that writes to its disk has booted.", before: &empty, ready: xpv2.Available(), config: disk, uptime: time.Second,
			usage: &vmstate.Usage{DiskWritten: 512}, want: found,
		},
		"NetworkBoot": {
			reason: "A VM that is to boot from a network is bootable.", before: &empty, ready: xpv2.Available(), config: disk, uptime: time.Hour,
			usage: &vmstate.Usage{}, order: []string{"network"}, want: found,
		},
		"StoppedLater": {reason: "A VM that has booted once is not judged when it is off.", before: &found, ready: xpv2.Available(), config: disk, want: found},
		"LostAgain": {
			reason: "A VM may lose what it has booted from.",
			before: &found, ready: xpv2.Available(), config: none, uptime: time.Hour, want: nothing,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{}
			m.SetGeneration(7)
			p := m.Parameters()
			p.Disks, p.BootOrder = []v1alpha1.MachineDisk{{Name: "root"}}, tc.order
			if tc.before != nil {
				m.SetConditions(tc.before.WithObservedGeneration(6))
			}
			c := newChecker(cluster{}, tc.config)
			c.Devices.Disks, c.VM.Usage = map[string]string{"root": "scsi0"}, tc.usage
			if tc.uptime > 0 {
				c.VM.Status = proxmox.Status{Status: "running", Uptime: tc.uptime}
			}
			c.ShowBootable(m, tc.ready)
			got := m.GetCondition(conditions.TypeBootable)
			if tc.absent {
				if len(m.Status.Conditions) > 0 {
					t.Errorf("%s\nwant no condition, got %+v", tc.reason, got)
				}
				return
			}
			if got.Status != tc.want.Status || got.Reason != tc.want.Reason || got.Message != tc.want.Message {
				t.Errorf("%s\nwant %+v, got %+v", tc.reason, tc.want, got)
			}
			if changed := tc.before == nil || !got.Equal(tc.before.WithObservedGeneration(6)); changed && got.ObservedGeneration != 7 {
				t.Errorf("%s\nthe condition is of generation %d", tc.reason, got.ObservedGeneration)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	cases := map[string]struct {
		reason  string
		storage proxmox.Storage
		bridge  string
		of      xpv2.ConditionType
		want    xpv2.ConditionReason
		message string
	}{
		"Healthy": {
			reason: "With bridge and storage nothing is in doubt.", storage: proxmox.Storage{Node: "pve1"}, bridge: "vmbr1",
			of: conditions.TypeResourcesAllocated,
		},
		"Hidden": {
			reason: "A storage that may not be seen is in no doubt.", storage: proxmox.Storage{Node: "pve2"}, bridge: "vmbr1",
			of: conditions.TypeResourcesAllocated,
		},
		"AlmostOut": {
			reason: "A storage with a little space is not full.", storage: proxmox.Storage{Node: "pve1", Disk: 98, MaxDisk: 100}, bridge: "vmbr1",
			of: conditions.TypeResourcesAllocated,
		},
		"Full": {
			reason: "A storage with less than one part in a hundred is full.", storage: proxmox.Storage{Node: "pve1", Disk: 99, MaxDisk: 100}, bridge: "vmbr1",
			of: conditions.TypeResourcesAllocated, want: conditions.ReasonInsufficientResources, message: "storage 'lvm' on node pve1 is full",
		},
		"Gone": {
			reason: "A storage without an answer is not available.", storage: proxmox.Storage{Node: "pve1", Status: "unknown"}, bridge: "vmbr1",
			of: conditions.TypeResourcesAllocated, want: conditions.ReasonInsufficientResources, message: "storage 'lvm' is not available on node pve1",
		},
		"Bridge": {
			reason: "A bridge that is not there breaks the network.", storage: proxmox.Storage{Node: "pve1"}, bridge: "vmbr0",
			of: conditions.TypeNetworkConfigured, want: conditions.ReasonNetworkError, message: "bridge 'vmbr1' not found on node pve1, or the user may not use it",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.storage.Name = "lvm"
			in := cluster{bridges: []proxmox.Bridge{{Name: tc.bridge}}, storages: []proxmox.Storage{tc.storage}}
			c := newChecker(in, qemu.Config{"scsi0": "lvm:vm-100-disk-0", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr1"})
			for _, kind := range []xpv2.ConditionType{conditions.TypeNetworkConfigured, conditions.TypeResourcesAllocated} {
				before := conditions.New(kind, corev1.ConditionTrue, xpv2.ReasonAvailable, "")
				want := before
				if kind == tc.of && tc.want != "" {
					want = conditions.New(kind, corev1.ConditionFalse, tc.want, tc.message)
				}
				got := c.Conditions(t.Context(), before)[0]
				if got.Status != want.Status || got.Reason != want.Reason || got.Message != want.Message {
					t.Errorf("%s Want %s %s: %q, got %s %s: %q", tc.reason, kind, want.Reason, want.Message, got.Type, got.Reason, got.Message)
				}
			}
		})
	}
}

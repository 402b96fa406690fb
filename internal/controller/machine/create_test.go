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

package machine

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// creationOf is a creation whose devices are assigned.
func creationOf(t *testing.T, p v1alpha1.MachineParameters, s *source.Source) *creation {
	t.Helper()
	var config qemu.Config
	if s != nil {
		config = s.Config
	}
	d := desired{name: "resource", Policy: power.Policy{Desired: qemu.Desired{
		MachineParameters: &p, Identity: qemu.Identity{VMID: 100, UUID: ourUUID},
		Defaults: qemu.Defaults{Storage: "local-lvm", Bridge: "vmbr0"},
	}}}
	var err error
	if d.Devices, err = (qemu.Devices{}).Assign(&p, config); err != nil {
		t.Fatal(err)
	}
	return &creation{desired: d, madeOn: "pve1", source: s}
}

func TestParams(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		want   proxmox.Params
	}{
		"Least": {
			reason: "A VM of which nothing is declared has the resource's name and its identity.",
			want:   proxmox.Params{"name": "resource", "smbios1": "uuid=" + ourUUID},
		},
		"NoPool": {
			reason: "An empty pool is none.",
			spec:   v1alpha1.MachineParameters{Name: new("web"), Pool: new(""), Disks: []v1alpha1.MachineDisk{{Name: "a", Size: new("1G")}}},
			want:   proxmox.Params{"name": "web", "smbios1": "uuid=" + ourUUID, "scsi0": "local-lvm:1", "scsihw": "virtio-scsi-single"},
		},
		"Disk": {
			reason: "SCSI disks of a new VM get the controller that is best for them.",
			spec:   v1alpha1.MachineParameters{Name: new("web"), Pool: new("p"), Disks: []v1alpha1.MachineDisk{{Name: "a", Size: new("1G")}}},
			want:   proxmox.Params{"name": "web", "pool": "p", "smbios1": "uuid=" + ourUUID, "scsi0": "local-lvm:1", "scsihw": "virtio-scsi-single"},
		},
		"DiskOptions": {
			reason: "A disk has its storage, its size, and the options that are declared.",
			spec: v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{
				Name: "a", Storage: new("fast"), Size: new("20G"), Type: new("sata"), Cache: new("writeback"), Format: new("raw"),
			}}},
			want: proxmox.Params{"name": "resource", "smbios1": "uuid=" + ourUUID, "sata0": "fast:20,format=raw,cache=writeback"},
		},
		"Controller": {
			reason: "A declared controller stands, also if it is PVE's default.",
			spec:   v1alpha1.MachineParameters{SCSIController: new("lsi"), Disks: []v1alpha1.MachineDisk{{Name: "a", Size: new("1G")}}},
			want:   proxmox.Params{"name": "resource", "smbios1": "uuid=" + ourUUID, "scsi0": "local-lvm:1"},
		},
		"OtherBus": {
			reason: "Disks of another bus need no SCSI controller.",
			spec:   v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "a", Size: new("1G"), Type: new("virtio")}}},
			want:   proxmox.Params{"name": "resource", "smbios1": "uuid=" + ourUUID, "virtio0": "local-lvm:1"},
		},
		"Network": {
			reason: "An interface has its model, its MAC address and its bridge, and the options that are declared.",
			spec: v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{
				Name: "a", Bridge: new("vmbr1"), Model: new("e1000"), MACAddress: new("aa:bb:cc:dd:ee:ff"), VLAN: new(int32(100)), Firewall: new(true),
			}}},
			want: proxmox.Params{"name": "resource", "smbios1": "uuid=" + ourUUID, "net0": "e1000=aa:bb:cc:dd:ee:ff,bridge=vmbr1,tag=100,firewall=1"},
		},
		"Agent": {
			reason: "A declared agent is turned on.", spec: v1alpha1.MachineParameters{Agent: new(true)},
			want: proxmox.Params{"name": "resource", "smbios1": "uuid=" + ourUUID, "agent": "1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, creationOf(t, tc.spec, nil).params()); diff != "" {
				t.Errorf("\n%s\nparams: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCloneOptions(t *testing.T) {
	template := new(intstr.FromInt32(9000))
	s := &source.Source{Guest: proxmox.Guest{VMID: 9000, Node: "pve1", Template: true}, Config: map[string]string{"description": "golden\n"}}
	machine := &source.Source{Guest: proxmox.Guest{VMID: 9000, Node: "pve1"}, Config: s.Config}
	marked := qemu.Identity{UUID: ourUUID}.Mark("golden")
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		node   string
		source *source.Source
		want   proxmox.CloneOptions
	}{
		"Machine": {
			reason: "The clone of what is not a template is full.", source: machine,
			spec: v1alpha1.MachineParameters{Clone: &v1alpha1.MachineClone{Machine: new("other")}}, node: "pve1",
			want: proxmox.CloneOptions{NewID: 100, Name: "resource", Description: marked, Full: new(true)},
		},
		"Linked": {
			reason: "A clone is linked unless the spec says otherwise, and bears the proof of whose it is.",
			spec:   v1alpha1.MachineParameters{Template: template, Description: new("mine")}, node: "pve1",
			want: proxmox.CloneOptions{NewID: 100, Name: "resource", Description: marked, Full: new(false)},
		},
		"Full": {
			reason: "A full clone may change storage and format.",
			spec: v1alpha1.MachineParameters{
				Template: template, Name: new("web"), Pool: new("p"),
				Clone: &v1alpha1.MachineClone{Full: new(true), Storage: new("fast"), Format: new("raw")},
			}, node: "pve1",
			want: proxmox.CloneOptions{NewID: 100, Name: "web", Pool: "p", Description: marked, Full: new(true), Storage: "fast", Format: "raw"},
		},
		"Snapshot": {
			reason: "The clone of a snapshot is full.",
			spec:   v1alpha1.MachineParameters{Template: template, Clone: &v1alpha1.MachineClone{Snapshot: new("s1")}}, node: "pve1",
			want: proxmox.CloneOptions{NewID: 100, Name: "resource", Description: marked, Full: new(true), Snapshot: "s1"},
		},
		"OtherNode": {
			reason: "A target is named only where it is another node.",
			spec:   v1alpha1.MachineParameters{Template: template}, node: "pve2",
			want: proxmox.CloneOptions{NewID: 100, Name: "resource", Description: marked, Full: new(false), TargetNode: "pve2"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := creationOf(t, tc.spec, s)
			if tc.source != nil {
				c.source = tc.source
			}
			c.madeOn = tc.node
			if diff := cmp.Diff(tc.want, c.cloneOptions()); diff != "" {
				t.Errorf("\n%s\ncloneOptions: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCloneToOtherStorage(t *testing.T) {
	s := &source.Source{Guest: proxmox.Guest{VMID: 9000, Node: "pve1"}, Config: templateConfig()}
	spec := v1alpha1.MachineParameters{
		Template: new(intstr.FromInt32(9000)),
		Clone:    &v1alpha1.MachineClone{Full: new(true), Storage: new("fast")},
		Disks:    []v1alpha1.MachineDisk{{Name: "root", Storage: new("fast")}},
	}
	c := creationOf(t, spec, s)
	if no := c.Rejections(c.sourceConfig()); len(no) > 0 {
		t.Errorf("A disk that the clone puts where the spec wants it is refused: %q", no)
	}
	spec.Disks[0].Storage = new("local-lvm")
	if no := c.Rejections(c.sourceConfig()); len(no) > 0 {
		t.Errorf("A disk that the clone puts elsewhere than the spec wants is moved later, and not refused: %q", no)
	}
	if s.Config["scsi0"] != templateConfig()["scsi0"] {
		t.Errorf("The configuration of the source was changed: %v", s.Config)
	}
}

func TestCreateKeepsWhatItDoesFirst(t *testing.T) {
	b := newBench(t, all(fromTemplate, func(m *namespaced.Machine) {
		delete(m.Annotations, object.AnnotationNode)
		delete(m.Annotations, object.AnnotationDevices)
		m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "root"}}
	}))
	b.vms[9000] = templateVM()
	var before map[string]string
	b.on["Clone"] = func() {
		before = map[string]string{
			"node": b.kept(t, object.AnnotationNode), "source": b.kept(t, object.AnnotationSource), "devices": b.kept(t, object.AnnotationDevices),
		}
	}
	if s := b.reconcile(t.Context()); s.err != nil {
		t.Fatal(s.err)
	}
	want := map[string]string{
		"node": "pve1", "source": "9000",
		"devices": `{"disks":{"root":"scsi1"},"source":{"disks":["scsi1","scsi0"],"networks":["net0","net1"]}}`,
	}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("What is to be remembered must be kept before the VM is created: -want, +got:\n%s", diff)
	}
}

// TestUnstartableIsNotMade checks that a VM that PVE would not start (PVE::QemuServer::config_to_command) is not created, unless it is not to be
// started, or the source has the same fault.
func TestUnstartableIsNotMade(t *testing.T) {
	gpu := []v1alpha1.MachinePCIDevice{{Name: "gpu", Mapping: new("gpu"), PCIe: new(true)}}
	cases := map[string]struct {
		reason string
		change func(*namespaced.Machine)
		source map[string]string
		want   string // Part of the message; empty if the VM is created.
	}{
		"Incompatible": {
			reason: "A device needs another machine.", change: func(m *namespaced.Machine) { m.Spec.ForProvider.PCIDevices = gpu },
			want: "pciDevices[].pcie (hostpci0) needs machineType q35",
		},
		"Fit": {reason: "The machine type q35 is what the device needs.", change: func(m *namespaced.Machine) {
			m.Spec.ForProvider.PCIDevices, m.Spec.ForProvider.MachineType = gpu, new("q35")
		}},
		"Stopped": {reason: "A VM that is not started may be what it likes.", change: func(m *namespaced.Machine) {
			m.Spec.ForProvider.PCIDevices, m.Spec.ForProvider.PowerState = gpu, new(v1alpha1.PowerStateStopped)
		}},
		"Clone": {reason: "A clone is what its source is, with what is asked for.", change: all(fromTemplate, func(m *namespaced.Machine) {
			m.Spec.ForProvider.USBDevices = []v1alpha1.MachineUSBDevice{{Name: "a", Host: new("spice")}}
			m.Spec.ForProvider.PCIDevices = gpu
		}), want: "needs machineType q35"},
		"Source": {
			reason: "What the source is, is not for us to judge.", change: all(fromTemplate, func(*namespaced.Machine) {}),
			source: map[string]string{"hostpci0": "mapping=gpu,pcie=1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.change)
			b.vms[9000] = templateVM()
			maps.Copy(b.vms[9000].config, tc.source)
			s := b.reconcile(t.Context())
			if tc.want == "" && (s.err != nil || len(b.writes) == 0) ||
				tc.want != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.want) || len(b.writes) > 0) {
				t.Errorf("\n%s\nwant %q, got %v and %q", tc.reason, tc.want, s.err, b.writes)
			}
		})
	}
}

func TestCreateLost(t *testing.T) {
	taken := refused(500, "unable to create VM 10000: config file already exists")
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		there   *guest
		looks   error
		want    string // VMID that is tried next
	}{
		"Foreign": {reason: "Who was faster keeps the VMID.", there: theirVM(), want: "10001"},
		"Invisible": {
			reason: "A VMID that somebody has where we cannot look is exchanged.",
			looks:  refused(403, "Permission check failed (/vms/10000, VM.Audit)"), want: "10001",
		},
		"Elsewhere":    {reason: "A VMID that somebody has on another node is exchanged.", want: "10001"},
		"Ours":         {reason: "A VM that turns out to be ours stays ours.", there: ourVM("stopped"), want: "10000"},
		"BeingCreated": {reason: "A VM that does not show whose it is may be ours.", there: &guest{config: map[string]string{"lock": "create"}}, want: "10000"},
		"First": {
			reason:  "A VM that is being made is somebody else's if no call of ours came before the one that was refused.",
			machine: func(m *namespaced.Machine) { delete(m.Annotations, meta.AnnotationKeyExternalCreatePending) },
			there:   &guest{config: map[string]string{"lock": "clone"}}, want: "10001",
		},
		"Unreachable": {reason: "What cannot be looked at now may be ours.", looks: refused(595, "No route to host"), want: "10000"},
		"Named":       {reason: "A VMID that the user named is never exchanged.", machine: named(10000), there: theirVM(), want: "10000"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			b.errs["Create"] = taken
			b.on["Create"] = func() {
				if tc.there != nil {
					tc.there.node = "pve1"
					b.vms[10000] = tc.there
				}
				b.errs["Pending"] = tc.looks
			}
			s := b.reconcile(t.Context())
			if !proxmox.IsAlreadyExists(s.err) {
				t.Errorf("\n%s\nwant an error that says the VMID is taken, got %v", tc.reason, s.err)
			}
			if got := b.kept(t, meta.AnnotationKeyExternalName); got != tc.want {
				t.Errorf("\n%s\nwant VMID %s next, got %s", tc.reason, tc.want, got)
			}
			if exchanged := b.kept(t, object.AnnotationUUID) != ourUUID; exchanged != (tc.want == "10001") {
				t.Errorf("\n%s\nA VMID and its UUID go together: the UUID was exchanged: %t", tc.reason, exchanged)
			} else if pending := b.kept(t, meta.AnnotationKeyExternalCreatePending); exchanged && pending != "" {
				t.Errorf("\n%s\nno call was sent for the next VM yet, got one since %s", tc.reason, pending)
			}
			if len(b.writes) != 1 {
				t.Errorf("\n%s\nwant one call, got %q", tc.reason, b.writes)
			}
		})
	}
}

func TestExchangeIsKept(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = theirVM()
	b.on["Create"] = func() {
		if got := b.kept(t, meta.AnnotationKeyExternalName); got != "10001" {
			t.Errorf("The other VMID must be kept before the VM is created with it, got %q", got)
		}
	}
	if s := b.reconcile(t.Context()); s.err != nil {
		t.Fatal(s.err)
	}
	if b.kept(t, object.AnnotationAllocated) != "10001" || b.kept(t, object.AnnotationUUID) == ourUUID {
		t.Error("Another VMID goes with another UUID")
	}
}

func TestCreateUnkept(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) { delete(m.Annotations, object.AnnotationNode) })
	b.m.ResourceVersion = "1" // Another client has changed the object.
	if s := b.reconcile(t.Context()); s.err == nil {
		t.Error("What could not be kept must be an error")
	}
	if len(b.writes) != 0 {
		t.Errorf("What could not be kept must not be done, got %q", b.writes)
	}
}

func TestCreationFails(t *testing.T) {
	b := newBench(t, nil)
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 1 {
		t.Fatalf("want one call, got %q, %v", b.writes, s.err)
	}
	if s := b.reconcile(t.Context()); !s.exists || len(b.writes) != 1 {
		t.Errorf("While the task runs nothing is done: %+v, %q", s, b.writes)
	}
	b.end(t, upid("pve1", "qmcreate", 10000), "no space left")
	if s := b.reconcile(t.Context()); proxmox.ClassOf(s.err) != proxmox.ClassTaskFailed || len(b.writes) != 1 {
		t.Errorf("A failure is shown and held back: %v, %q", s.err, b.writes)
	}
	if c := b.m.GetCondition(conditions.TypeVMCreated); c.Reason != conditions.ReasonCreationFailed || !strings.Contains(c.Message, "no space left") {
		t.Errorf("VMCreated is %v", c)
	}
	if l := b.m.Observation().LastTask; l == nil || l.Type != "qmcreate" || !strings.Contains(l.Result, "no space left") {
		t.Errorf("The last task is shown, got %v", l)
	}
	b.clock.wait(time.Minute)
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 2 {
		t.Errorf("In time it is tried again: %v, %q", s.err, b.writes)
	}
}

func TestCreationRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		held   bool
	}{
		"Refused": {reason: "What PVE refuses is shown, and not tried again at once.", err: refused(500, "no such pool 'x'"), held: true},
		"Forbidden": {
			reason: "What is not permitted is shown, and not tried again at once.",
			err:    refused(403, "Permission check failed (/vms/10000, VM.Allocate)"), held: true,
		},
		"Unavailable": {reason: "What failed on the way is looked for at once.", err: refused(595, "No route to host")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.errs["Create"] = tc.err
			if s := b.reconcile(t.Context()); !errors.Is(s.err, tc.err) {
				t.Fatalf("\n%s\nwant %v, got %v", tc.reason, tc.err, s.err)
			}
			delete(b.errs, "Create")
			s := b.reconcile(t.Context())
			shown := b.m.GetCondition(conditions.TypeVMCreated).Reason == conditions.ReasonCreationFailed && b.m.Observation().Phase == v1alpha1.MachineError
			if shown != tc.held || (s.err != nil) != tc.held || (len(b.writes) == 1) != tc.held {
				t.Errorf("\n%s\nwant it shown and held back: %t, got %t, %v and %q", tc.reason, tc.held, shown, s.err, b.writes)
			}
			b.clock.wait(time.Minute)
			if b.reconcile(t.Context()); len(b.writes) < 2 {
				t.Errorf("\n%s\nin time it is tried again, got %q", tc.reason, b.writes)
			}
		})
	}
}

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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// What PVE stores otherwise than it was sent is no difference for ever.
func TestSame(t *testing.T) {
	cases := map[string]struct {
		reason    string
		same      func(a, b string) bool
		now, want string
		equal     bool
	}{
		"UnitsCapped":    {reason: "PVE caps the weight.", same: sameUnits, now: "10000", want: "262144", equal: true},
		"UnitsDiffer":    {reason: "Below the cap weights differ.", same: sameUnits, now: "100", want: "200"},
		"MachinePinned":  {reason: "PVE pins Windows to a version.", same: sameMachine, now: "pc-q35-9.2+pve1", want: "q35", equal: true},
		"MachineI440":    {reason: "The same holds for pc.", same: sameMachine, now: "pc-i440fx-9.2", want: "pc", equal: true},
		"MachineOptions": {reason: "Options of the machine count.", same: sameMachine, now: "pc-q35-9.2,viommu=intel", want: "q35"},
		"MachineOther":   {reason: "Another family is another machine.", same: sameMachine, now: "pc-i440fx-9.2", want: "q35"},
		"MachineVersion": {reason: "A version that is asked for is meant.", same: sameMachine, now: "pc-q35-9.0", want: "pc-q35-9.2"},
		"TextEnd":        {reason: "PVE cuts white space at the end.", same: sameText, now: "a", want: "a \t\n\n", equal: true},
		"TextLines":      {reason: "Line ends are of no meaning.", same: sameText, now: "a\nb", want: "a\r\nb", equal: true},
		"TextDiffers":    {reason: "Another text is another text.", same: sameText, now: "a", want: "b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.same(tc.now, tc.want); got != tc.equal {
				t.Errorf("\n%s\n%q and %q: want %t, got %t", tc.reason, tc.now, tc.want, tc.equal, got)
			}
		})
	}
}

// A change that PVE does not keep is said to be in vain, and seldom made again.
func TestChangeInVain(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) { m.Spec.ForProvider.MachineType = new("q35") })
	b.vms[10000] = ourVM("running")
	for range 3 {
		b.reconcile(t.Context())
	}
	s := b.reconcile(t.Context())
	if s.err == nil || !strings.Contains(s.err.Error(), "machine") || len(b.writes) != 1 {
		t.Errorf("want one write and an error that names the option, got %v and %q", s.err, b.writes)
	}
	b.clock.wait(firstRepeat)
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 2 {
		t.Errorf("want the change made again after a while, since it may have been undone, got %v and %q", s.err, b.writes)
	}
	if s := b.reconcile(t.Context()); s.err == nil || len(b.writes) != 2 {
		t.Errorf("want it held back again, got %v and %q", s.err, b.writes)
	}
	b.vms[10000].config["machine"] = "q35"
	if s := b.reconcile(t.Context()); s.err != nil || !s.upToDate {
		t.Errorf("want no error once nothing differs, got %v", s.err)
	}
	b.vms[10000].config["machine"] = "pc"
	b.touch()
	if b.reconcile(t.Context()); len(b.writes) != 3 {
		t.Errorf("want the change made at once after it was undone, got %q", b.writes)
	}
}

// A change that PVE drops silently of a VM that does not run is taken to hold at first.
// When it is found not to, that is said, and it is made ever more seldom.
func TestChangeDropped(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Spec.ForProvider.MachineType, m.Spec.ForProvider.OnBoot = new("q35"), new(true)
		m.Spec.ForProvider.PowerState = new(v1alpha1.PowerStateStopped)
	})
	b.vms[10000] = ourVM("stopped")
	b.on["Configure"] = func() { b.vms[10000].config["onboot"] = "1" }
	b.reconcile(t.Context())
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 1 {
		t.Errorf("want one write, which is taken to hold, got %v and %q", s.err, b.writes)
	}
	b.clock.wait(checkWithin + time.Second)
	if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) != 2 {
		t.Errorf("want the change made again, since it may have been undone, got %v and %q", s.err, b.writes)
	}
	s := b.reconcile(t.Context())
	if s.err == nil || !strings.Contains(s.err.Error(), "machine") || strings.Contains(s.err.Error(), "onboot") {
		t.Errorf("want an error that names the option that does not hold, got %v", s.err)
	}
	var made []time.Duration
	for begun, n := b.clock.now(), len(b.writes); len(made) < 6; {
		b.clock.wait(time.Second)
		b.reconcile(t.Context())
		if len(b.writes) > n {
			made, n = append(made, b.clock.now().Sub(begun)), len(b.writes)
			begun = b.clock.now()
		}
	}
	if !slices.IsSorted(made) || made[0] < firstRepeat || made[5] < lastRetry {
		t.Errorf("want it made ever more seldom, got it after %v", made)
	}
	b.vms[10000].config["machine"] = "q35"
	b.clock.wait(lastRetry)
	for range 2 {
		s = b.reconcile(t.Context())
	}
	if s.err != nil || !s.upToDate {
		t.Errorf("want no error once nothing differs, got %v", s.err)
	}
}

// A disk that the VM has had is not replaced by an empty one.
func TestDiskGone(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Annotations[AnnotationDevices] = `{"disks":{"data":"scsi1"},"seen":{"data":true}}`
		m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "data", Size: new("1G")}}
	})
	b.vms[10000] = ourVM("running")
	s := b.reconcile(t.Context())
	if s.err == nil || !strings.Contains(s.err.Error(), `disk "data" is no longer at scsi1`) || len(b.writes) != 0 {
		t.Errorf("want a refusal and no write, got %v and %q", s.err, b.writes)
	}
}

// PVE may find only in the task that another node has the VMID.
func TestVMIDLostInTask(t *testing.T) {
	b := newBench(t, fromTemplate)
	b.vms[9000] = templateVM()
	b.reconcile(t.Context())
	u := b.tasks.of(b.m).upid
	failed := proxmox.Task{UPID: u, Type: "qmclone", ID: "9000", ExitStatus: "unable to create VM 10000: config file already exists"}
	b.tasks.ended(b.m, failed, failed.Err())
	b.reconcile(t.Context())
	if got := b.kept(t, AnnotationAllocated); got == "10000" || !slices.Contains(b.burned, 10000) {
		t.Errorf("want another VMID than the one that was lost, got %s", got)
	}
}

func TestIPConfigOption(t *testing.T) {
	cases := map[string]struct {
		reason, now, want string
		config            v1alpha1.MachineIPConfig
	}{
		"ToDHCP": {
			reason: "PVE ignores dhcp beside a gateway, which goes with the static address.",
			now:    "ip=192.0.2.2/24,gw=192.0.2.1", config: v1alpha1.MachineIPConfig{Address: new("dhcp")}, want: "ip=dhcp",
		},
		"ToAuto": {
			reason: "The same holds for IPv6.",
			now:    "ip=dhcp,ip6=2001:db8::2/64,gw6=2001:db8::1", config: v1alpha1.MachineIPConfig{Address6: new("auto")}, want: "ip=dhcp,ip6=auto",
		},
		"Static": {
			reason: "A gateway that is not declared stays with a static address.",
			now:    "ip=192.0.2.2/24,gw=192.0.2.1", config: v1alpha1.MachineIPConfig{Address: new("192.0.2.3/24")}, want: "ip=192.0.2.3/24,gw=192.0.2.1",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := ipConfigOption("net0", &tc.config).want(tc.now)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSerialPortsShrink(t *testing.T) {
	d := desired{MachineParameters: &v1alpha1.MachineParameters{SerialPorts: []string{"socket"}}, identity: identity{VMID: 10000, UUID: ourUUID}}
	got := d.difference(map[string]string{"smbios1": "uuid=" + ourUUID, "serial0": "socket", "serial1": "socket"})
	if diff := cmp.Diff([]string{"serial1"}, got.Delete); diff != "" || len(got.Set) != 0 {
		t.Errorf("Ports beyond the list go: -want, +got:\n%s", diff)
	}
}

func TestBootOrderOfNothing(t *testing.T) {
	d := desired{MachineParameters: &v1alpha1.MachineParameters{BootOrder: []string{"disk"}}, identity: identity{VMID: 10000, UUID: ourUUID}}
	got := d.difference(map[string]string{"smbios1": "uuid=" + ourUUID, "boot": "order=net0", "net0": "virtio=BC:24:11:00:00:01"})
	if diff := cmp.Diff([]string{"boot"}, got.Delete); diff != "" || len(got.Set) != 0 {
		t.Errorf("PVE knows no empty order: -want, +got:\n%s", diff)
	}
}

func TestMemoryBelowBalloon(t *testing.T) {
	d := desired{MachineParameters: &v1alpha1.MachineParameters{Memory: quantity("1Gi")}}
	if no := d.refusals(map[string]string{"balloon": "2048"}); len(no) != 1 || !strings.Contains(no[0], "2048 MiB") {
		t.Errorf("PVE refuses memory below the balloon, so it is refused before, got %q", no)
	}
	d.Balloon = new(false)
	if no := d.refusals(map[string]string{"balloon": "2048"}); len(no) != 0 {
		t.Errorf("Without ballooning there is no minimum, got %q", no)
	}
}

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

package controller_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestEditsOfLists checks ordinary edits of a spec, none of which may harm a disk or a network, or cause a restart.
func TestEditsOfLists(t *testing.T) {
	t.Parallel()
	runAll(t, map[string]scenario{
		"leftout":  {reason: "A list that is left out, and an empty one, take neither the root disk nor the network away.", run: leavesListsOut},
		"nonics":   {reason: "A VM whose last network is taken off the list has no address.", run: takesLastNetworkOff},
		"renames":  {reason: "An entry of another name keeps its disk, or its MAC address.", run: renamesEntries},
		"takenout": {reason: "An option that is taken out of an entry goes, and what the template has comes back.", run: takesOptionsOut},
		"later":    {reason: "Entries that are added later are the template's own disk and network.", run: addsEntriesLater},
		"bootdisk": {reason: "A VM boots from its boot disk after that was detached by hand, put back or replaced.", run: keepsBootDisk},
		"putback":  {reason: "A disk that is put back has its data.", run: putsDiskBack},
		"putelse":  {reason: "What is put back with other values has its data, and then those.", run: putsBackOtherwise},
		"rebooted": {reason: "Changes after a reboot wait for that, say so, and no longer.", run: changesAfterReboot},
		"shutdown": {reason: "A power action after a reboot waits for that, says so, and no longer.", run: shutsDownAfterReboot},
		"vmbr9":    {reason: "A bridge that does not exist is written to no VM, and one that has gone makes it unready.", run: namesUnknownBridge},
		"toolarge": {reason: "No disk grows beyond its storage.", run: growsBeyondStorage},
		"vmid555":  {reason: "Another VMID is refused, and does not hold up the deletion.", run: namesAnotherVMID},
	})
}

// web1 is the Machine in the README, with a network.
func web1() v1alpha1.MachineParameters {
	p := ubuntu()
	p.CPU, p.Memory = &v1alpha1.MachineCPU{Cores: new(int32(2))}, new(resource.MustParse("4Gi"))
	p.Disks = []v1alpha1.MachineDisk{{Name: "root", Size: new("20G")}}
	p.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr0")}}
	return p
}

// devices returns the disks and networks of the VM, including those that are not attached.
func (w *world) devices() map[string]string {
	found := maps.Clone(w.vm().Config)
	maps.DeleteFunc(found, func(option, _ string) bool {
		return !strings.HasPrefix(option, "scsi") && !strings.HasPrefix(option, "net") && !strings.HasPrefix(option, "unused") || option == "scsihw"
	})
	return found
}

// sameDevices checks that the VM has the same devices as before.
func (w *world) sameDevices(before map[string]string, after string) {
	w.Helper()
	if diff := cmp.Diff(before, w.devices()); diff != "" {
		w.Errorf("devices have changed after %s: -before, +after:\n%s", after, diff)
	}
}

// settles waits until the Machine is up to date with its present spec.
func (w *world) settles() {
	w.Helper()
	w.ready()
	w.eventually("the Machine is up to date", func() bool { return w.exists() && w.isUpToDate(w.m) })
}

// told returns the messages of the events of the Machine with a reason.
func (w *world) told(reason string) []string { return w.toldOf(w.name, reason) }

// toldOf returns the messages of the events of a resource with a reason.
func (w *world) toldOf(name, reason string) []string {
	w.Helper()
	events := &corev1.EventList{}
	if err := w.kube.List(w.Context(), events, client.MatchingFields{"involvedObject.name": name, "reason": reason}); err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, e := range events.Items {
		for range max(1, e.Count) {
			all = append(all, e.Message)
		}
	}
	slices.Sort(all)
	return all
}

// offAndOn stops the VM and starts it, as its user would with the spec.
func (w *world) offAndOn() {
	w.Helper()
	for _, state := range []v1alpha1.PowerState{v1alpha1.PowerStateStopped, v1alpha1.PowerStateRunning} {
		w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = &state })
		w.settles()
	}
}

func leavesListsOut(w *world) {
	spec := web1()
	spec.Disks = append(spec.Disks, v1alpha1.MachineDisk{Name: "data", Size: new("1G"), Storage: new("ceph")})
	spec.Networks = append(spec.Networks, v1alpha1.MachineNetwork{Name: "dmz", Bridge: new("vmbr1")})
	w.create(spec)
	w.settles()
	before := w.devices()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks, p.Networks = nil, nil })
	w.settles()
	w.sameDevices(before, "the lists were left out")
	w.offAndOn()
	w.sameDevices(before, "a stop and a start")
	w.change(func(p *v1alpha1.MachineParameters) { *p = *spec.DeepCopy() })
	w.settles()
	w.sameDevices(before, "the same manifest was applied again")
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks, p.Networks = []v1alpha1.MachineDisk{}, []v1alpha1.MachineNetwork{}
	})
	w.settles()
	volume, _, _ := strings.Cut(before["scsi1"], ",")
	w.sameDevices(map[string]string{"scsi0": before["scsi0"], "net0": before["net0"], "unused0": volume}, "the lists were emptied")
	want := []v1alpha1.MachineRetainedDevice{
		{List: "disks", Name: "root", Device: "scsi0", Reason: "the VM boots from it"},
		{List: "networks", Name: "lan", Device: "net0", Reason: "it was not made for this list"},
	}
	if diff := cmp.Diff(want, w.m.Observation().RetainedDevices); diff != "" {
		w.Errorf("retained devices: -want, +got:\n%s", diff)
	}
	w.unchanged()
	messages := []string{
		`disks "root" is off the list and stays on the VM as scsi0, no longer managed: the VM boots from it`,
		`networks "lan" is off the list and stays on the VM as net0, no longer managed: it was not made for this list`,
	}
	w.eventually("what is retained is told", func() bool { return len(w.told("DeviceRetained")) >= len(messages) })
	if diff := cmp.Diff(messages, w.told("DeviceRetained")); diff != "" {
		w.Errorf("events of what is retained: -want, +got:\n%s", diff)
	}
	w.finish()
}

func takesLastNetworkOff(w *world) {
	spec := web1()
	spec.Networks[0].RemovalPolicy = new("Detach")
	w.create(spec)
	w.settles()
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkReady, "")
	w.change(func(p *v1alpha1.MachineParameters) { p.Networks = []v1alpha1.MachineNetwork{} })
	w.eventually("the interface goes, as its policy says", func() bool { return w.devices()["net0"] == "" })
	w.eventually("no address is shown any more", func() bool { return w.exists() && len(w.m.Observation().IPAddresses) == 0 })
	w.settles()
	w.finish()
}

func renamesEntries(w *world) {
	spec := web1()
	spec.Disks[0].Storage = new("ceph")
	spec.Disks = append(spec.Disks, v1alpha1.MachineDisk{Name: "data", Size: new("1G"), Storage: new("ceph")})
	spec.Networks = append(spec.Networks, v1alpha1.MachineNetwork{Name: "dmz", Bridge: new("vmbr1")})
	w.create(spec)
	w.settles()
	before := w.devices()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks[0].Name, p.Networks[0].Name = "system", "office" })
	w.settles()
	w.sameDevices(before, "entries of the template's devices were renamed")
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks[1].Name, p.Disks[1].Device = "files", new("scsi1")
		p.Networks[1].Name, p.Networks[1].Device = "outside", new("net1")
	})
	w.settles()
	w.sameDevices(before, "entries were renamed by their devices")
	names := map[string]string{}
	for _, d := range w.m.Observation().Disks {
		names[d.Device] = d.Name
	}
	for _, n := range w.m.Observation().Networks {
		names[n.Device] = n.Name
	}
	if diff := cmp.Diff(map[string]string{"scsi0": "system", "scsi1": "files", "net0": "office", "net1": "outside"}, names); diff != "" {
		w.Errorf("names in the status: -want, +got:\n%s", diff)
	}
	w.offAndOn()
	w.sameDevices(before, "a stop and a start")
	w.finish()
}

func takesOptionsOut(w *world) {
	spec := web1()
	spec.Disks = append(spec.Disks, v1alpha1.MachineDisk{Name: "data", Size: new("1G"), Storage: new("ceph")})
	spec.Networks = append(spec.Networks, v1alpha1.MachineNetwork{Name: "dmz", Bridge: new("vmbr1")})
	w.create(spec)
	w.settles()
	before := w.devices()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks[0].Backup, p.Disks[1].Backup, p.Disks[1].Limits = new(false), new(false), &v1alpha1.MachineDiskLimits{TotalIOPS: new(int32(100))}
		p.Networks[0].VLAN, p.Networks[0].Firewall = new(int32(20)), new(true)
		p.Networks[1].VLAN, p.Networks[1].Bridge = new(int32(30)), new("vmbr0")
	})
	w.eventually("the options are there", func() bool {
		now := w.devices()
		return strings.Contains(now["scsi1"], "iops=100") && strings.Contains(now["net0"], "tag=20") && strings.Contains(now["net1"], "tag=30")
	})
	w.settles()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks, p.Networks = spec.Disks, spec.Networks })
	w.eventually("the options are gone", func() bool { return cmp.Equal(before, w.devices()) })
	w.settles()
	w.sameDevices(before, "options were taken out of their entries")
	w.finish()
}

func addsEntriesLater(w *world) {
	w.create(ubuntu())
	w.settles()
	before := w.devices()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks = []v1alpha1.MachineDisk{{Name: "root", Size: new("30G"), Storage: new("ceph")}}
		p.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr0"), VLAN: new(int32(20))}}
	})
	w.settles()
	after := w.devices()
	if len(after) != len(before) || !strings.Contains(after["scsi0"], "size=30G") || after["net0"] != before["net0"]+",tag=20" ||
		strings.Split(after["scsi0"], ",")[0] != strings.Split(before["scsi0"], ",")[0] {
		w.Errorf("want the template's own disk and network changed, and no others: %v became %v", before, after)
	}
	w.finish()
}

func putsDiskBack(w *world) {
	spec := web1()
	spec.Disks = append(spec.Disks, v1alpha1.MachineDisk{Name: "data", Size: new("2G"), Storage: new("local-lvm")})
	w.create(spec)
	w.settles()
	before := w.devices()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks = p.Disks[:1] })
	w.eventually("the disk is detached", func() bool { return w.devices()["unused0"] != "" })
	w.settles()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks = spec.Disks })
	w.settles()
	w.sameDevices(before, "the disk was put back")
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks[1].Storage = new("ceph") })
	w.settles()
	const moved = "scsi1 storage local-lvm → ceph"
	w.eventually("the move is told", func() bool { return slices.Contains(w.told("Changed"), moved) })
	if n := w.volumes(); n != 2 {
		w.Errorf("want the volumes of two disks, got %d", n)
	}
	w.finish()
}

// putsBackOtherwise adds a disk again that is to be larger and elsewhere, and a network that is to have another MAC address.
func putsBackOtherwise(w *world) {
	spec := web1()
	spec.Disks = append(spec.Disks, v1alpha1.MachineDisk{Name: "data", Size: new("2G"), Storage: new("local-lvm")})
	spec.Networks = append(spec.Networks, v1alpha1.MachineNetwork{Name: "dmz", Bridge: new("vmbr1")})
	w.create(spec)
	w.settles()
	made := w.volumes()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks, p.Networks = p.Disks[:1], p.Networks[:1] })
	w.eventually("the disk is detached, and the interface gone", func() bool { return w.devices()["unused0"] != "" && w.devices()["net1"] == "" })
	w.settles()
	const mac = "02:00:00:00:00:77"
	w.change(func(p *v1alpha1.MachineParameters) {
		back := *spec.DeepCopy()
		back.Disks[1].Size, back.Disks[1].Storage, back.Networks[1].MACAddress = new("4G"), new("ceph"), new(mac)
		p.Disks, p.Networks = back.Disks, back.Networks
	})
	w.settles()
	now := w.devices()
	if !strings.HasPrefix(now["scsi1"], "ceph:") || !strings.Contains(now["scsi1"], "size=4G") || !strings.Contains(now["net1"], mac) || now["unused0"] != "" {
		w.Errorf("want the disk on the other storage with the other size, and the interface with the other MAC address, got %v", now)
	}
	if n := w.volumes(); n != made {
		w.Errorf("want no other volume made, got %d in place of %d", n, made)
	}
	for _, told := range []string{"scsi1 storage local-lvm → ceph", "scsi1 size 2G → 4G"} {
		w.eventually("what became of the disk is told", func() bool { return slices.Contains(w.told("Changed"), told) })
	}
	w.finish()
}

// keepsBootDisk detaches the boot disk manually, attaches it again, and replaces it, as docs/how-to.md describes. Proxmox VE removes a disk that
// leaves a VM from the boot order.
func keepsBootDisk(w *world) {
	spec := web1()
	spec.PowerState = new(v1alpha1.PowerStateStopped)
	w.create(spec)
	w.settles()
	before, boot := w.devices(), w.vm().Config["boot"]
	if err := w.admin.Configure(w.Context(), w.ref(), proxmox.Change{Delete: []string{"scsi0"}}); err != nil {
		w.Fatal(err)
	}
	w.nudge()
	w.eventually("the disk is attached again, and booted from", func() bool { return w.devices()["scsi0"] != "" && w.vm().Config["boot"] == boot })
	w.settles()
	w.sameDevices(before, "the disk was detached by hand")
	w.bootsFrom(boot, "the disk was detached by hand")
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks[0].RemovalPolicy = new("Detach") })
	w.settles()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks = []v1alpha1.MachineDisk{} })
	w.says(xpv2.TypeReady, conditions.ReasonBootDiskMissing, "")
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks = spec.Disks })
	w.settles()
	w.sameDevices(before, "the disk was put back")
	w.bootsFrom(boot, "the disk was put back")
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks[0].RemovalPolicy = new("Detach") })
	w.settles()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks = []v1alpha1.MachineDisk{{Name: "root-2", Size: new("4G"), Storage: new("local-lvm"), Volume: new("")}}
	})
	w.settles()
	w.bootsFrom(strings.Replace(boot, "scsi0", "scsi1", 1), "the disk was replaced")
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateRunning) })
	w.settles()
	w.finish()
}

// bootsFrom checks the boot order of the VM.
func (w *world) bootsFrom(want, after string) {
	w.Helper()
	if got := w.vm().Config["boot"]; got != want {
		w.Errorf("boot order after %s: want %q, got %q", after, want, got)
	}
}

// volumes returns the number of disks of the VM, attached or not, without its cloud-init drive.
func (w *world) volumes() int {
	id, n := w.vmid(), 0
	w.pve.Edit(func(s *simulator.State) {
		for key, v := range s.Volumes {
			if v.VMID == id && strings.Contains(key.Name, "-disk-") {
				n++
			}
		}
	})
	return n
}

// reboots creates a VM whose reboot lasts until it is released.
func (w *world) reboots() (release func()) {
	w.Helper()
	spec := web1()
	spec.ShutdownTimeoutSeconds = new(int32(60))
	w.create(spec)
	w.settles()
	release = w.pve.Inject(simulator.Fault{Task: "qmreboot", Hold: true})
	w.change(func(p *v1alpha1.MachineParameters) {
		p.PowerAction = &v1alpha1.MachinePowerAction{Action: "Reboot", Token: "1"}
	})
	w.eventually("the VM is rebooted", func() bool { return w.tasks("qmreboot") == 1 })
	return release
}

func shutsDownAfterReboot(w *world) {
	release := w.reboots()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.PowerAction, p.RunStrategy = &v1alpha1.MachinePowerAction{Action: "Shutdown", Token: "2"}, new("Manual")
	})
	w.says(kind.TypeUpToDate, xpv2.ReasonUpdateRequested, "powerAction Shutdown is to be done; waits for a")
	before := w.vm().Started
	release()
	w.eventually("the VM is started again", func() bool { return w.vm().Started.After(before) })
	started := w.vm().Started
	w.eventually("the VM is shut down", func() bool {
		if !w.exists() {
			return false
		}
		a := w.m.Observation().PowerAction
		return a != nil && a.Token == "2" && a.Result == "OK"
	})
	w.settles()
	if waited := w.firstChange(started).Sub(started); waited > longRest*3/4 {
		w.Errorf("the action has waited for %s although the VM was started", waited)
	}
	w.finish()
}

func changesAfterReboot(w *world) {
	release := w.reboots()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks[0].Size = new("30G")
		p.Networks = append(p.Networks, v1alpha1.MachineNetwork{Name: "dmz", Bridge: new("vmbr1")})
	})
	w.says(kind.TypeUpToDate, xpv2.ReasonUpdateRequested, "waits for a")
	release()
	w.eventually("the disk grows and the network comes", func() bool {
		return strings.Contains(w.devices()["scsi0"], "size=30G") && w.devices()["net1"] != ""
	})
	w.settles()
	started := w.vm().Started
	if waited := w.firstChange(started).Sub(started); waited > longRest*3/4 {
		w.Errorf("the changes have waited for %s although the VM was started", waited)
	}
	w.finish()
}

// firstChange returns when the VM was first changed after it was started.
func (w *world) firstChange(started time.Time) time.Time {
	for _, r := range w.writes() {
		if r.Time.After(started) {
			return r.Time
		}
	}
	return time.Time{}
}

// A VM is left alone for this long after a reboot, unless it was started sooner.
const longRest = time.Minute

func namesUnknownBridge(w *world) {
	w.create(web1())
	w.settles()
	before := w.devices()
	w.change(func(p *v1alpha1.MachineParameters) { p.Networks[0].Bridge = new("vmbr9") })
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "bridge 'vmbr9' not found on node")
	w.says(kind.TypeUpToDate, xpv2.ReasonUpdateFailed, "bridge 'vmbr9' not found on node")
	w.sameDevices(before, "an unknown bridge was asked for")
	w.change(func(p *v1alpha1.MachineParameters) { p.Networks = nil })
	w.settles()
	w.pve.Edit(func(s *simulator.State) {
		s.Guests[w.vmid()].Config["net0"] = strings.Replace(before["net0"], "vmbr0", "vmbr9", 1)
	})
	w.nudge()
	w.says(xpv2.TypeReady, conditions.ReasonBridgeMissing, "bridge 'vmbr9' not found on node")
	w.eventually("a warning tells of it", func() bool { return len(w.told(string(conditions.ReasonBridgeMissing))) > 0 })
	w.unchanged()
	if all := w.told(string(conditions.ReasonBridgeMissing)); len(all) != 1 {
		w.Errorf("want one event of the fault, got %q", all)
	}
	w.finish()
}

func growsBeyondStorage(w *world) {
	spec := web1()
	spec.Disks = append(spec.Disks, v1alpha1.MachineDisk{Name: "data", Size: new("12G"), Storage: new("local-lvm")})
	w.create(spec)
	w.settles()
	before := w.devices()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks[1].Size = new("900G") })
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, `disk "data" of 900G is larger than storage 'local-lvm'`)
	w.says(kind.TypeUpToDate, xpv2.ReasonUpdateFailed, `disk "data" of 900G is larger than storage 'local-lvm'`)
	w.sameDevices(before, "a size beyond the storage was asked for")
	const failed = "CannotUpdateExternalResource"
	w.eventually("a warning tells of it", func() bool { return len(w.told(failed)) > 0 })
	w.unchanged()
	if all := w.told(failed); len(all) != 1 {
		w.Errorf("want one event of the fault, got %q", all)
	}
	if all := w.told("UpdatedExternalResource"); len(all) != 0 {
		w.Errorf("want changes told and no requests of them, got %q", all)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks[1].Size = new("499G") })
	w.settles()
	w.eventually("a warning says by how much it is too large", func() bool {
		return slices.ContainsFunc(w.told("StorageOvercommitted"), func(s string) bool { return strings.Contains(s, `disk "data" of 499G`) })
	})
	w.finish()
}

func namesAnotherVMID(w *world) {
	w.create(web1())
	w.settles()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"forProvider":{"vmid":555}}}`))
	if err := w.kube.Patch(w.Context(), w.m, patch); err == nil || !strings.Contains(err.Error(), "vmid cannot be 555: this Machine is VM 10000") {
		w.Errorf("want another VMID refused with both, got %v", err)
	}
	w.unchanged()
	w.finish()
	if _, there := w.pve.Guest(555); there {
		w.Error("another VM was made")
	}
}

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

package volume_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// deviceOf returns the device that a Machine has for the Volume of each name.
func deviceOf(name string) string {
	return map[string]string{"a": "scsi5", "b": "scsi6", "c": "scsi7", "d": "scsi8"}[name]
}

// several returns the spec of a Machine with Volumes, each as its device.
func several(names ...string) string {
	var spec strings.Builder
	spec.WriteString("powerState: Running\nnode: pve1\n" + system)
	for _, name := range names {
		fmt.Fprintf(&spec, "- name: %s\n  device: %s\n  volumeRef:\n    name: %[1]s\n", name, deviceOf(name))
	}
	return spec.String()
}

// listsSeveral makes a Machine list these Volumes, each as its device.
func (l *lab) listsSeveral(m object.Machine, names ...string) {
	l.Helper()
	l.change(m, func() { l.must(yaml.Unmarshal([]byte(several(names...)), m.Parameters())) })
}

// allBound reports whether the VM of a Machine has these Volumes on a node, each as its device, and all is settled.
func (l *lab) allBound(m object.Machine, node string, all ...volume.Volume) func() bool {
	return func() bool {
		if !configtest.Settled(m)() || m.Observation().Node != node {
			return false
		}
		for _, v := range all {
			o := v.Observation()
			if o.Node != node || o.Device != deviceOf(v.GetName()) || o.Machine != m.GetName() || !configtest.Settled(v)() {
				return false
			}
		}
		return true
	}
}

// permuted returns a Machine with the Volumes b, c and d, whose names a live migration permutes: a is removed from the list, and d gets its name.
func (l *lab) permuted() (object.Machine, []volume.Volume) {
	l.Helper()
	all := map[string]volume.Volume{}
	for _, name := range []string{"a", "b", "c", "d"} {
		all[name] = l.volume(name, onLVM)
	}
	m, ok := l.object("Machine", "m", len(l.all), several("a"), nil).(object.Machine)
	if !ok {
		l.Fatal("it is no Machine")
	}
	l.until("a is there", l.allBound(m, "pve1", all["a"]))
	l.listsSeveral(m, "a", "b")
	l.until("b is there", l.allBound(m, "pve1", all["b"]))
	l.listsSeveral(m, "a", "b", "c")
	l.until("c is there", l.allBound(m, "pve1", all["c"]))
	l.listsSeveral(m, "b", "c")
	l.until("a is not", l.unbound(all["a"]))
	l.listsSeveral(m, "b", "c", "d")
	l.until("d has its name", l.allBound(m, "pve1", all["b"], all["c"], all["d"]))
	for _, v := range all {
		l.marked(v)
	}
	return m, []volume.Volume{all["b"], all["c"], all["d"]}
}

// live migrates the running VM of a Machine, as happens to the VMs of a node that is put into maintenance.
func (l *lab) live(m object.Machine, node string) proxmox.Ref {
	l.Helper()
	l.ended(l.root.Migrate(l.Context(), ref(m), proxmox.MigrateOptions{Target: node, Online: true, WithLocalDisks: true}))
	l.pass()
	return proxmox.Ref{Node: node, VMID: ref(m).VMID}
}

// TestMigratedLive migrates a running VM, and checks that each of its Volumes follows its disk to the new name.
func TestMigratedLive(t *testing.T) {
	everywhere(t, func(l *lab) {
		m, all := l.permuted()
		before := []string{}
		for _, v := range all {
			before = append(before, v.Observation().Volume)
		}
		l.live(m, "pve2")
		l.until("all are found there", l.allBound(m, "pve2", all...))
		for i, v := range all {
			l.keeps(v)
			if v.Observation().Volume == before[i] {
				l.Errorf("Volume %s has its name still: the migration shows nothing", v.GetName())
			}
		}
		l.listsSeveral(m, "b", "d")
		l.delete(all[1])
		l.until("one is taken off and destroyed", l.gone(all[1]))
		l.until("the others are as they were", l.allBound(m, "pve2", all[0], all[2]))
		l.keeps(all[0])
		l.keeps(all[2])
		l.delete(m)
		l.until("the Machine is gone", func() bool { return !l.read(m) && l.unbound(all[0])() && l.unbound(all[2])() })
		l.keeps(all[0])
		l.keeps(all[2])
	})
}

// TestMigratedLiveAndTakenOff removes a Volume from the list, and deletes another one's Machine entry, before the migrated VM is reconciled.
func TestMigratedLiveAndTakenOff(t *testing.T) {
	everywhere(t, func(l *lab) {
		m, all := l.permuted()
		l.live(m, "pve2")
		l.listsSeveral(m, "c")
		l.until("two leave", func() bool { return l.unbound(all[0])() && l.unbound(all[2])() && l.allBound(m, "pve2", all[1])() })
		for _, v := range all {
			l.keeps(v)
		}
		l.live(m, "pve3")
		l.delete(m)
		l.until("the Machine is gone", func() bool { return !l.read(m) && l.unbound(all[1])() })
		for _, v := range all {
			l.keeps(v)
		}
	})
}

// TestMigratedUnproven checks that disks whose identity is uncertain are left alone, and so is their VM, until a user attaches the one that was
// detached.
func TestMigratedUnproven(t *testing.T) {
	everywhere(t, func(l *lab) {
		m, all := l.permuted()
		there := l.live(m, "pve2")
		c, err := l.root.Config(l.Context(), there)
		l.must(err)
		disk, _, _ := strings.Cut(c.Values["scsi6"], ",")
		l.must(l.root.Configure(l.Context(), there, proxmox.Change{Delete: []string{"scsi6"}}))
		l.pass()
		l.until("it says so", configtest.Says(all[0], xpv2.TypeReady, "Unproven", "scsi6 on node pve1", "external-name"))
		l.delete(m)
		l.delete(all[0])
		l.pve.ClearRequests()
		l.until("the Machine is held", configtest.Says(m, xpv2.TypeReady, xpv2.ReasonDeleting, "kept until", "b"))
		for range 5 {
			l.until("time passes", func() bool { return true })
		}
		if !l.read(m) || !l.read(all[0]) || l.count("DELETE /nodes/")+l.count("POST /nodes/pve2/qemu/"+strconv.Itoa(there.VMID)+"/move_disk") > 0 {
			l.Errorf("a disk is destroyed or handed over that may be another's: %v", l.writes())
		}
		l.must(l.root.Configure(l.Context(), there, proxmox.Change{Set: proxmox.Params{"scsi6": disk}}))
		l.pass()
		l.until("both are gone, and the others back", func() bool {
			return !l.read(m) && !l.read(all[0]) && l.unbound(all[1])() && l.unbound(all[2])()
		})
		l.keeps(all[1])
		l.keeps(all[2])
	})
}

// TestTakenOffAndMoved removes a Volume from the list and names another node at the same time, while the guest does not release the disk, and checks
// that the VM does not migrate with it.
func TestTakenOffAndMoved(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", onLVM)
		m := l.machine("m", "data")
		l.until("the Machine has the disk", l.bound(v, m))
		l.marked(v)
		l.must(l.root.Configure(l.Context(), ref(m), proxmox.Change{Set: proxmox.Params{"hotplug": "network"}}))
		l.listsAt(m, "pve2")
		l.until("it waits for the guest", configtest.Says(v, xpv2.TypeReady, "StillAttached"))
		for range 5 {
			l.until("time passes", func() bool { return true })
		}
		if n := m.Observation().Node; n != "pve1" || l.count(fmt.Sprintf("POST /nodes/pve1/qemu/%d/migrate", ref(m).VMID)) > 0 {
			l.Fatalf("the VM is on %s", n)
		}
		l.ended(l.root.Stop(l.Context(), ref(m), proxmox.StopOptions{}))
		l.pass()
		l.until("the disk stays on its node", func() bool { return l.unbound(v)() && v.Observation().Node == "pve1" })
		l.until("the VM goes", func() bool { return configtest.Settled(m)() && m.Observation().Node == "pve2" })
		l.keeps(v)
	})
}

// TestAttachedInPlaceOfAnother exchanges a disk of the Machine for a Volume while the spec is refused for another reason, so that the Volume has
// arrived before anything is sent. One call then detaches the disk, which becomes the unused disk that the Volume was, and attaches the Volume.
func TestAttachedInPlaceOfAnother(t *testing.T) {
	everywhere(t, func(l *lab) {
		old := "- name: old\n  device: scsi1\n  size: 1G\n  storage: local-lvm\n  removalPolicy: Detach\n"
		spec := "powerState: Running\nnode: pve1\n" + system
		v := l.volume("data", onLVM)
		m, ok := l.object("Machine", "m", len(l.all), spec+old, nil).(object.Machine)
		if !ok {
			l.Fatal("it is no Machine")
		}
		l.until("the Machine is there", configtest.Settled(m))
		l.until("the Volume is there", l.unbound(v))
		l.marked(v)
		lists := fmt.Sprintf(data, "data")
		asks := func(text string) {
			l.change(m, func() {
				m.Parameters().Disks = nil // The present disks would be kept in the entries.
				l.must(yaml.Unmarshal([]byte(text), m.Parameters()))
			})
		}
		asks(spec + lists + "- name: more\n  size: 1G\n  storage: nowhere\n")
		l.until("the Volume has arrived", func() bool {
			o := v.Observation()
			return o.Device == "unused0" && o.VMID != nil && int(*o.VMID) == ref(m).VMID && configtest.Says(v, volume.TypeBound, "Binding")()
		})
		asks(spec + lists)
		l.until("the Machine has it", l.bound(v, m))
		if c := l.config(ref(m).VMID); c["unused0"] == "" || strings.HasPrefix(c["unused0"], v.Observation().Volume) {
			l.Errorf("the other disk is not unused0, so that nothing is shown: %v", c)
		}
		l.keeps(v)
	})
}

// TestConsentedTo attaches another disk in place of a Volume's, which cannot be distinguished from a migration, and then consents to the disk with
// its name.
func TestConsentedTo(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", onLVM)
		m := l.machine("m", "data")
		l.until("the Machine has the disk", l.bound(v, m))
		l.marked(v)
		l.must(l.root.Configure(l.Context(), ref(m), proxmox.Change{Set: proxmox.Params{"scsi5": "local-lvm:1"}}))
		l.pass()
		l.seen(v, "it is not certain", configtest.Says(v, xpv2.TypeReady, "Unproven", "unused0", "has the name", "set recoverLost to sha256:"))
		if f := v.Observation().Found; f == nil || f.Device != "unused0" || int(f.VMID) != ref(m).VMID || f.Size != l.disks()[v.Observation().Volume] {
			l.Fatalf("found is %+v", f)
		}
		l.consents(v, "sha256:"+strings.Repeat("0", 64))
		for range 3 {
			l.reconcile(v)
			if !configtest.Says(v, xpv2.TypeReady, "Unproven")() {
				l.Fatalf("a consent to something else counts: %+v", v.GetCondition(xpv2.TypeReady))
			}
		}
		l.consents(v, shown(v))
		l.seen(v, "it is that", func() bool { return v.Observation().Device == "unused0" && v.Observation().Found == nil })
		l.must(l.root.Configure(l.Context(), ref(m), proxmox.Change{Delete: []string{"scsi5"}}))
		l.pass()
		l.until("the Machine has the disk again", l.bound(v, m))
		l.keeps(v)
	})
}

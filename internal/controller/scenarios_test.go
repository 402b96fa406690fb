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
	"hash/crc32"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// A scenario in the life of a Machine, the same in both scopes.
type scenario struct {
	reason    string
	durations map[string]string
	run       func(*world)

	// version of PVE, if it differs from that of the quickstart cluster.
	version string

	// options of the provider, if they differ from the default.
	options func(ctrl.Manager) kind.Options
}

func scenarios() map[string]scenario {
	return map[string]scenario{
		"template":   {reason: "A template and a name are enough for a running VM.", run: fromTemplate},
		"change":     {reason: "Changes are made to the running VM.", run: change},
		"plug":       {reason: "Processors and memory are plugged in and out while the VM runs, if its hotplug has them.", run: plug},
		"grow":       {reason: "A disk grows where it is.", run: grow},
		"networks":   {reason: "A network that is added changes no other.", run: networks},
		"power":      {reason: "The VM is kept in the power state of the spec.", run: power},
		"foreign":    {reason: "Somebody else's VM is left alone.", run: foreign},
		"adopt":      {reason: "A VM is taken over as it is, and managed from then on.", run: adopt},
		"observe":    {reason: "A VM may be observed only.", run: observe},
		"removed":    {reason: "A VM that was removed by hand comes back.", run: removed},
		"left":       {reason: "A VM that its Machine leaves is watched no more.", run: left},
		"protection": {reason: "A protected VM stays until the protection is lifted.", run: protection},
		"asleep":     {reason: "A protected VM that is suspended stays until the protection is lifted, and is resumed for that.", run: suspendedProtection},
		"novolume":   {reason: "A volume that is not there is not attached: a disk that is made may get its name.", run: missingVolume},
		"full":       {reason: "A full clone has its own disks where the spec wants them.", run: full},
		"empty":      {reason: "A VM needs no template.", run: empty},
		"restart":    {reason: "A provider that starts again goes on where it was.", run: restart},
		"abandon":    {reason: "A Machine that is deleted while its VM is made leaves nothing.", run: abandon},
		"fails":      {reason: "A task that fails is shown, and tried again.", run: fails},
		"nocreation": {reason: "A creation that fails is shown, and tried again.", run: failsToCreate},
		"lostclone":  {reason: "A clone whose answer is lost is found.", run: loses("/nodes/{node}/qemu/{vmid}/clone", ubuntu())},
		"lostcreate": {reason: "A creation whose answer is lost is found.", run: loses("/nodes/{node}/qemu", v1alpha1.MachineParameters{})},
		"forbidden":  {reason: "What PVE refuses is shown until it does not.", run: forbidden},
		"refused":    {reason: "What cannot be is said before anything is created.", run: refused},
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	runAll(t, scenarios())
}

// eachScope runs a test in both scopes, except those that inMatrix leaves out.
func eachScope(t *testing.T, run func(t *testing.T, scopeName string)) {
	t.Helper()
	turn := int(crc32.ChecksumIEEE([]byte(t.Name())))
	for i, scopeName := range slices.Sorted(maps.Keys(scopes())) {
		if !inMatrix(turn, i) {
			continue
		}
		t.Run(scopeName, func(t *testing.T) {
			t.Parallel()
			run(t, scopeName)
		})
	}
}

// A pairing of a scope and a version of Proxmox VE.
type pairing struct{ scope, version string }

// eachPairing runs a test in both scopes on both versions of Proxmox VE, except those that inPairings leaves out. With SCOPES=first, and with the
// race detector without SCOPES, the test runs in one scope, on one version. With SCOPES=sample, it runs in the other scope, on the other version.
func eachPairing(t *testing.T, run func(t *testing.T, p pairing)) {
	t.Helper()
	turn := int(crc32.ChecksumIEEE([]byte(t.Name())))
	runPairings(t, run, func(way int) bool { return inPairings(turn, way) })
}

// inPairings reports whether to run a test in a way of runPairings: in those that inMatrix selects, and with SCOPES=sample in the scope that
// SCOPES=first leaves out. The isolation of tenants differs by scope.
func inPairings(turn, way int) bool {
	return inMatrix(turn, way) || os.Getenv("SCOPES") == "sample" && way < len(scopes()) && way != turn%2
}

// TestPairings checks that SCOPES=first and SCOPES=sample, which .ci/run uses, together run a test of eachPairing once in each scope, and every third
// test on both versions there.
func TestPairings(t *testing.T) {
	for turn := range 6 {
		want := []int{0, 1}
		if turn%3 == 0 {
			want = []int{0, 1, 2, 3}
		}
		var ran []int
		for _, selected := range []string{"first", "sample"} {
			t.Setenv("SCOPES", selected)
			for way := range 2 * len(scopes()) {
				if inPairings(turn, way) {
					ran = append(ran, way)
				}
			}
		}
		if slices.Sort(ran); !slices.Equal(ran, want) {
			t.Errorf("turn %d: want the ways %v, got %v", turn, want, ran)
		}
	}
}

// rarePairings runs a test as eachScope does, and where SCOPES leaves out nothing more, as with rest and all, also on the other version in each
// scope.
func rarePairings(t *testing.T, run func(t *testing.T, p pairing)) {
	t.Helper()
	turn := int(crc32.ChecksumIEEE([]byte(t.Name())))
	runPairings(t, run, func(way int) bool {
		if way >= len(scopes()) {
			return runsRare()
		}
		return inMatrix(turn, way)
	})
}

// runPairings runs a test in the wanted pairings. The first ways are each scope on the version it is tested with, the others each scope on the other
// version.
func runPairings(t *testing.T, run func(t *testing.T, p pairing), wanted func(way int) bool) {
	t.Helper()
	for i, scopeName := range slices.Sorted(maps.Keys(scopes())) {
		for version, of := range versions() {
			way := i
			if of != scopeName {
				way += len(scopes())
			}
			if !wanted(way) {
				continue
			}
			p := pairing{scope: scopeName, version: version}
			t.Run(p.scope+"/"+p.version, func(t *testing.T) {
				t.Parallel()
				run(t, p)
			})
		}
	}
}

// runsRare reports whether to run tests that no shorter run needs.
func runsRare() bool {
	switch os.Getenv("SCOPES") {
	case "first", "sample":
		return false
	case "rest":
		return true
	}
	return !raced
}

// runAll runs scenarios in both scopes.
func runAll(t *testing.T, all map[string]scenario) {
	t.Helper()
	for scopeName, name := range pairs(scopes(), all) {
		all[name].runIn(t, scopeName, name)
	}
}

// versions returns the versions of PVE, each with the scope it is tested in. The Kubernetes part does not depend on the version, and the PVE part not
// on the scope, so that other combinations add nothing.
func versions() map[string]string {
	return map[string]string{"8.4": "Cluster", "9.2": "Namespaced"}
}

// runVersions runs scenarios on all versions, and in both scopes.
func runVersions(t *testing.T, all map[string]scenario) {
	t.Helper()
	for version, name := range pairs(versions(), all) {
		sc := all[name]
		sc.version = version
		sc.runIn(t, versions()[version], name+"-"+version[:1])
	}
}

// pairs combines each name with both ways, except those that inMatrix leaves out.
func pairs[A, B any](ways map[string]A, names map[string]B) iter.Seq2[string, string] {
	return func(yield func(way, name string) bool) {
		for i, name := range slices.Sorted(maps.Keys(names)) {
			for j, way := range slices.Sorted(maps.Keys(ways)) {
				if inMatrix(i, j) && !yield(way, name) {
					return
				}
			}
		}
	}
}

// inMatrix reports whether to run a name in a way. SCOPES=first selects one way for each name, in turn, SCOPES=rest the others, and SCOPES=sample
// those of every third name. The race detector takes several times as long, so without SCOPES it runs only the first.
func inMatrix(name, way int) bool {
	first := name%2 == way
	switch os.Getenv("SCOPES") {
	case "first":
		return first
	case "sample":
		return !first && name%3 == 0
	case "rest":
		return !first
	}
	return first || !raced
}

func (sc scenario) runIn(t *testing.T, scopeName, name string) {
	t.Helper()
	t.Run(scopeName+"/"+name, func(t *testing.T) {
		t.Parallel()
		t.Log(sc.reason)
		w := emptyWorld(t, scopes()[scopeName], strings.ToLower(scopeName)+"-"+name, sc.durations, sc.version)
		w.options = sc.options
		w.begin()
		sc.run(w)
	})
}

func ubuntu() v1alpha1.MachineParameters {
	return v1alpha1.MachineParameters{Template: new(intstr.FromString("ubuntu-24.04"))}
}

func left(w *world) {
	w.create(ubuntu(), func(m machine.Machine) {
		m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate})
	})
	w.ready()
	w.delete()
	w.gone()
	last, quiet := 0, 0
	w.eventually("nobody reads the log any more", func() bool {
		reads := len(slices.DeleteFunc(w.pve.Requests(), func(r simulator.Request) bool { return r.Path != "/cluster/log" }))
		if quiet++; reads != last {
			last, quiet = reads, 0
		}
		return quiet == 20
	})
	if last == 0 {
		w.Error("nobody has ever read it")
	}
}

func fromTemplate(w *world) {
	w.create(ubuntu())
	w.ready()
	if v := w.vm(); v.Power != simulator.Running || v.Config["name"] != w.name || !strings.Contains(v.Config["scsi0"], "base-9000-disk") {
		w.Errorf("want a running linked clone, got %+v", v)
	}
	if ours := w.ours(); !slices.Equal(ours, []int{10000}) {
		w.Errorf("want the lowest VMID, got %v", ours)
	}
	secret := &corev1.Secret{}
	w.eventually("the Secret has what is needed to connect", func() bool {
		err := w.kube.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: "connection-" + w.name}, secret)
		return err == nil && len(secret.Data["endpoint"]) > 0
	})
	want := map[string]string{"vmid": "10000", "node": w.vm().Node, "name": w.name}
	for k, v := range want {
		if string(secret.Data[k]) != v {
			w.Errorf("Secret: want %s %q, got %q", k, v, secret.Data[k])
		}
	}
	// The Secret is written before the status.
	w.eventually("the status has the running VM's endpoint", func() bool {
		w.exists()
		o := w.m.Observation()
		return o.Phase == v1alpha1.MachineRunning && len(o.IPAddresses) > 0 && o.IPAddresses[0] == string(secret.Data["endpoint"])
	})
	w.finish()
}

func change(w *world) {
	w.create(ubuntu())
	w.ready()
	before := w.vm()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Name, p.Description, p.Tags = new("renamed"), new("text"), []string{"b", "a"}
		p.CPU, p.Memory = &v1alpha1.MachineCPU{Cores: new(int32(4))}, new(resource.MustParse("4Gi"))
	})
	w.eventually("the VM is changed", func() bool {
		v := w.vm()
		return v.Config["name"] == "renamed" && strings.TrimSpace(v.Config["description"]) == "text" && v.Config["tags"] == "a;b" &&
			(v.Config["cores"] == "4" || v.Pending["cores"] == "4") && (v.Config["memory"] == "4096" || v.Pending["memory"] == "4096")
	})
	w.ready()
	w.says(conditions.TypeRestartRequired, conditions.ReasonPendingChanges, "cores")
	if w.tasks("qmstart") != 1 || w.tasks("qmstop")+w.tasks("qmshutdown")+w.tasks("qmreboot")+w.tasks("qmreset") > 0 {
		w.Errorf("the VM was restarted:\n%s", w)
	}
	if after := w.vm(); after.Config["net0"] != before.Config["net0"] || after.Config["scsi0"] != before.Config["scsi0"] {
		w.Errorf("devices have changed: %v became %v", before.Config, after.Config)
	}
	n := len(w.writes())
	w.change(func(p *v1alpha1.MachineParameters) { p.Tags = []string{"a", "b"} })
	w.ready()
	if got := w.writes(); len(got) != n {
		w.Errorf("the order of tags was changed and %v was written", got[n:])
	}
	w.finish()
}

func plug(w *world) {
	size := func(p *v1alpha1.MachineParameters, vcpus int32, memory string) {
		p.Hotplug = []string{"network", "disk", "usb", "cpu", "memory"}
		p.CPU, p.Memory = &v1alpha1.MachineCPU{Cores: new(int32(4)), VCPUs: &vcpus, NUMA: new(true)}, new(resource.MustParse(memory))
	}
	params := ubuntu()
	size(&params, 2, "2Gi")
	w.create(params)
	w.ready()
	for _, to := range []struct {
		vcpus             int32
		memory, vcpu, mib string
	}{{4, "4Gi", "4", "4096"}, {2, "2Gi", "2", "2048"}} {
		w.change(func(p *v1alpha1.MachineParameters) { size(p, to.vcpus, to.memory) })
		w.eventually("the running VM has "+to.vcpu+" processors and "+to.memory, func() bool {
			v := w.vm()
			return v.Config["vcpus"] == to.vcpu && v.Config["memory"] == to.mib && len(v.Pending) == 0
		})
		w.ready()
		w.says(conditions.TypeRestartRequired, conditions.ReasonUpToDate, "")
	}
	if w.tasks("qmstart") != 1 || w.tasks("qmstop")+w.tasks("qmshutdown")+w.tasks("qmreboot")+w.tasks("qmreset") > 0 {
		w.Errorf("the VM was restarted:\n%s", w)
	}
	w.finish()
}

func grow(w *world) {
	w.create(ubuntu())
	w.ready()
	volume := func() string { return strings.Split(w.vm().Config["scsi0"], ",")[0] }
	before := volume()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi1"), Size: new("2G")}, {Name: "root", Device: new("scsi0"), Size: new("20G")}}
	})
	w.eventually("the disk has grown and the other is there", func() bool {
		return strings.Contains(w.vm().Config["scsi0"], "size=20G") && strings.Contains(w.vm().Config["scsi1"], "size=2G")
	})
	w.ready()
	if volume() != before {
		w.Errorf("the disk %s became %s", before, volume())
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks[1].Size, p.OnBoot = new("10G"), new(true) })
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "cannot shrink from 20G to 10G")
	if w.vm().Config["onboot"] != "" {
		w.Errorf("a part of a spec that is refused was carried out:\n%s", w)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks = p.Disks[1:]; p.Disks[0].Size = new("20G") })
	w.eventually("the disk is detached and kept, and the rest of what was refused is there", func() bool {
		return w.vm().Config["scsi1"] == "" && strings.Contains(w.vm().Config["unused0"], "disk") && w.vm().Config["onboot"] == "1"
	})
	w.ready()
	w.finish()
}

func networks(w *world) {
	spec := ubuntu()
	spec.Networks = []v1alpha1.MachineNetwork{{Name: "lan"}}
	w.create(spec)
	w.ready()
	before := w.vm().Config["net0"]
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Networks = append([]v1alpha1.MachineNetwork{{Name: "dmz", Bridge: new("vmbr1"), VLAN: new(int32(20))}}, p.Networks...)
	})
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, `network "dmz" can be read in two ways`)
	w.change(func(p *v1alpha1.MachineParameters) { p.Networks[0].Device = new("net1") })
	w.eventually("the network is there", func() bool { return strings.Contains(w.vm().Config["net1"], "bridge=vmbr1,tag=20") })
	w.ready()
	second := w.vm().Config["net1"]
	if w.vm().Config["net0"] != before {
		w.Errorf("the first network was %s and is %s", before, w.vm().Config["net0"])
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.Networks[1].Firewall = new(true) })
	w.eventually("the firewall is on", func() bool { return strings.Contains(w.vm().Config["net0"], "firewall=1") })
	mac := func(nic string) string {
		n, err := proxmox.ParseNIC(nic)
		if err != nil {
			w.Fatal(err)
		}
		return n.MAC
	}
	if w.vm().Config["net1"] != second || mac(w.vm().Config["net0"]) != mac(before) {
		w.Errorf("networks were %s, %s and are %s, %s", before, second, w.vm().Config["net0"], w.vm().Config["net1"])
	}
	w.finish()
}

func power(w *world) {
	w.create(ubuntu())
	w.ready()
	if _, err := w.admin.Stop(w.Context(), w.ref(), proxmox.StopOptions{}); err != nil {
		w.Fatal(err)
	}
	w.eventually("the VM that was stopped by hand is started", func() bool { return w.tasks("qmstart") == 2 && w.vm().Power == simulator.Running })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateStopped) })
	w.eventually("the VM is shut down", func() bool { return w.vm().Power == simulator.Stopped })
	w.ready()
	if w.tasks("qmshutdown") != 1 {
		w.Errorf("want one graceful shutdown:\n%s", w)
	}
	if w.m.Observation().Phase != v1alpha1.MachineStopped {
		w.Errorf("phase is %s", w.m.Observation().Phase)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = nil })
	w.eventually("the VM is started", func() bool { return w.vm().Power == simulator.Running })
	w.ready()
	w.finish()
}

// router is a VM of someone else.
const router = 100

func (w *world) router() simulator.Guest {
	g, ok := w.pve.Guest(router)
	if !ok {
		w.Fatal("the router is gone")
	}
	return g
}

func foreign(w *world) {
	before := w.router()
	spec := ubuntu()
	spec.VMID = new(int32(router))
	w.create(spec)
	w.says(xpv2.TypeReady, conditions.ReasonOwnershipConflict, "VM 100 already exists on node pve1")
	w.change(func(p *v1alpha1.MachineParameters) { p.Description = new("mine") })
	w.eventually("the change was seen", func() bool {
		w.exists()
		return w.m.GetCondition(xpv2.TypeSynced).ObservedGeneration == w.m.GetGeneration()
	})
	w.delete()
	w.gone()
	if diff := cmp.Diff(before, w.router(), simulatortest.IgnoreRuntime()); diff != "" {
		w.Errorf("somebody else's VM was changed: -before, +after:\n%s", diff)
	}
	if writes := w.writes(); len(writes) > 0 {
		w.Errorf("somebody else's VM was written to:\n%s", w)
	}
}

func adopting(m machine.Machine) { meta.SetExternalName(m, strconv.Itoa(router)) }

func adopt(w *world) {
	before := w.router()
	w.create(v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Name: "wan"}}}, adopting)
	w.ready()
	if diff := cmp.Diff(before, w.router(), simulatortest.IgnoreRuntime()); diff != "" || len(w.writes()) > 0 {
		w.Errorf("adoption changes nothing: -before, +after:\n%s\n%s", diff, w)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.Description = new("ours now") })
	w.eventually("the VM is managed", func() bool { return strings.TrimSpace(w.router().Config["description"]) == "ours now" })
	w.wrote(0, 1, "for what has changed")
	w.delete()
	w.gone()
	if _, ok := w.pve.Guest(router); ok {
		w.Error("an adopted VM is removed with its resource")
	}
}

func observe(w *world) {
	w.create(v1alpha1.MachineParameters{Description: new("x")}, adopting, func(m machine.Machine) {
		m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
	})
	w.eventually("the difference is shown", func() bool {
		w.exists()
		d := w.m.Observation().Difference
		return len(d) == 1 && d[0].Option == "description" && d[0].Desired == "x"
	})
	w.delete()
	w.gone()
	if w.router().Power != simulator.Running || len(w.writes()) > 0 {
		w.Errorf("observing writes nothing:\n%s", w)
	}
}

func removed(w *world) {
	w.create(ubuntu())
	w.ready()
	first := w.vm().Config["vmgenid"] + w.vm().Config["net0"]
	ref := w.ref()
	w.eventually("it is removed by hand", func() bool { // The provider may start it again meanwhile.
		return w.succeeds(w.admin.Stop(w.Context(), ref, proxmox.StopOptions{})) &&
			w.succeeds(w.admin.Delete(w.Context(), ref, proxmox.DeleteOptions{}))
	})
	w.eventually("another VM is created", func() bool {
		v, ok := w.pve.Guest(ref.VMID)
		return ok && v.Power == simulator.Running && v.Config["vmgenid"]+v.Config["net0"] != first
	})
	w.ready()
	if ours := w.ours(); !slices.Equal(ours, []int{ref.VMID}) {
		w.Errorf("want one VM, got %v", ours)
	}
	w.finish()
}

// succeeds waits until a task is done, and reports whether it was started and has succeeded.
func (w *world) succeeds(u proxmox.UPID, err error) (ok bool) {
	w.Helper()
	if err != nil {
		return false
	}
	w.eventually("the task ends", func() bool {
		t, err := w.admin.Task(w.Context(), u)
		ok = err == nil && t.OK()
		return err == nil && !t.Running
	})
	return ok
}

func protection(w *world) {
	spec := ubuntu()
	spec.Protection = new(true)
	w.create(spec)
	w.ready()
	w.delete()
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "is protected")
	if w.vm().Power != simulator.Running {
		w.Error("a protected VM is not stopped either")
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.Protection = new(false) })
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
}

func suspendedProtection(w *world) {
	spec := ubuntu()
	spec.Protection = new(true)
	w.create(spec)
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateSuspended) })
	w.eventually("the VM is suspended", func() bool { return w.vm().Config["lock"] == "suspended" })
	w.change(func(p *v1alpha1.MachineParameters) { p.Protection = new(false) })
	w.delete()
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
}

func missingVolume(w *world) {
	const volume = "vm-555-disk-0"
	w.create(v1alpha1.MachineParameters{VMID: new(int32(555)), Disks: []v1alpha1.MachineDisk{
		{Name: "new", Size: new("1G"), Storage: new("ceph")}, {Name: "kept", Volume: new("ceph:" + volume)},
	}})
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "volume ceph:"+volume+" not found on node")
	if len(w.writes()) > 0 {
		w.Errorf("nothing may be created:\n%s", w)
	}
	w.pve.Edit(func(s *simulator.State) {
		s.Volumes[simulator.VolumeKey{Storage: "ceph", Name: volume}] = &simulator.Volume{VMID: 555, Format: "raw", Content: "images", Size: 1 << 30}
	})
	w.ready()
	if c := w.vm().Config; !strings.HasPrefix(c["scsi1"], "ceph:"+volume) || strings.HasPrefix(c["scsi0"], "ceph:"+volume) {
		w.Errorf("disks are %s and %s", c["scsi0"], c["scsi1"])
	}
	w.finish()
}

func full(w *world) {
	spec := ubuntu()
	spec.Clone = &v1alpha1.MachineClone{Full: new(true), Storage: new("local-lvm")}
	spec.Disks = []v1alpha1.MachineDisk{{Name: "root", Size: new("10G"), Storage: new("local-lvm")}}
	spec.CloudInit = &v1alpha1.MachineCloudInit{
		User:    new("admin"),
		SSHKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl a b+c@example.org"},
	}
	w.create(spec)
	w.ready()
	if d := w.vm().Config["scsi0"]; !strings.HasPrefix(d, "local-lvm:vm-10000-disk") || !strings.Contains(d, "size=10G") {
		w.Errorf("the disk is %s", d)
	}
	if w.m.Observation().Disks[0].Name != "root" {
		w.Errorf("disks are %+v", w.m.Observation().Disks)
	}
	n := len(w.writes())
	w.change(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(true) })
	w.eventually("a later change is made", func() bool { return w.vm().Config["onboot"] == "1" })
	w.wrote(n, 1, "for it")
	w.finish()
}

func empty(w *world) {
	w.create(v1alpha1.MachineParameters{
		Node: new("pve2"), Memory: new(resource.MustParse("1Gi")), OSType: new("linux"),
		Disks: []v1alpha1.MachineDisk{
			{Name: "root", Size: new("3G"), SSD: new(true)}, {Name: "data", Size: new("1500M"), Type: new("virtio"), Storage: new("ceph")},
		},
		Networks: []v1alpha1.MachineNetwork{{Name: "lan", MACAddress: new("BC:24:11:00:00:0A")}}, BootOrder: []string{"root", "network"},
	})
	w.ready()
	v := w.vm()
	if v.Node != "pve2" || v.Config["scsihw"] != "virtio-scsi-single" || v.Config["boot"] != "order=scsi0;net0" ||
		!strings.Contains(v.Config["net0"], "BC:24:11:00:00:0A") {
		w.Errorf("the VM is %+v", v)
	}
	if n := len(w.writes()); n != 2 {
		w.Errorf("want two writes, to create and to start:\n%s", w)
	}
	w.finish()
}

func restart(w *world) {
	release := w.pve.Inject(simulator.Fault{Task: "qmclone", Count: 1, Hold: true})
	w.create(ubuntu())
	w.halfMade()
	w.stop()
	if len(w.ours()) != 1 || w.vmIsReady() {
		w.Fatalf("the clone was to be under way:\n%s", w)
	}
	seen := len(w.pve.Requests())
	w.start()
	w.eventually("the provider looks again", func() bool { return len(w.pve.Requests()) > seen+10 })
	release()
	w.ready()
	if w.tasks("qmclone") != 1 || !slices.Equal(w.ours(), []int{10000}) {
		w.Errorf("want one VM, got %v:\n%s", w.ours(), w)
	}
	w.stop()
	w.start()
	n := len(w.writes())
	w.finish()
	if got := len(w.writes()); got != n+2 {
		w.Errorf("want a shutdown and a removal:\n%s", w)
	}
}

// vmIsReady reports whether the clone has ended.
func (w *world) vmIsReady() bool {
	v, ok := w.pve.Guest(10000)
	return ok && v.Config["lock"] == ""
}

func abandon(w *world) {
	release := w.pve.Inject(simulator.Fault{Task: "qmclone", Count: 1, Hold: true})
	w.create(ubuntu())
	w.halfMade()
	w.delete()
	w.says(xpv2.TypeReady, xpv2.ReasonDeleting, "")
	release()
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
	if w.tasks("qmstart") > 0 {
		w.Error("a VM that is not wanted any more was started")
	}
}

func fails(w *world) {
	w.pve.Inject(simulator.Fault{Task: "qmstart", TaskExit: "no more power", Count: 3}) // The third failure is shown for long enough to be seen.
	w.create(ubuntu())
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "no more power")
	w.ready()
	if w.tasks("qmstart") != 4 || len(w.ours()) != 1 {
		w.Errorf("want one VM that was started four times:\n%s", w)
	}
	// A VM may be seen running before its task is seen to have ended.
	w.eventually("the last task is the start that succeeded", func() bool {
		w.exists()
		l := w.m.Observation().LastTask
		return l != nil && l.Type == "qmstart" && l.Result == "OK"
	})
	w.finish()
}

func failsToCreate(w *world) {
	w.pve.Inject(simulator.Fault{Task: "qmclone", TaskExit: "no space left on device"}) // Until it was seen, however long that takes.
	w.create(ubuntu())
	w.says(conditions.TypeVMCreated, conditions.ReasonCreationFailed, "no space left on device")
	w.pve.ClearFaults()
	w.ready()
	clones := slices.DeleteFunc(w.pve.Tasks(), func(t simulator.Task) bool { return t.Type != "qmclone" })
	good := slices.IndexFunc(clones, func(t simulator.Task) bool { return t.Exit == "OK" })
	if good < 1 || good != len(clones)-1 || !slices.Equal(w.ours(), []int{10000}) {
		w.Errorf("want one VM that was cloned until that succeeded:\n%s", w)
	}
	w.finish()
}

func forbidden(w *world) {
	w.pve.Inject(simulator.Fault{Method: "POST", Path: "/nodes/{node}/qemu/{vmid}/clone", Status: 403, Message: "Permission check failed (/vms/9000, VM.Clone)"})
	w.create(ubuntu())
	w.says(conditions.TypeVMCreated, conditions.ReasonCreationFailed, "/vms/9000, VM.Clone")
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "/vms/9000, VM.Clone")
	if w.m.Observation().Phase != v1alpha1.MachineError {
		w.Errorf("phase is %q", w.m.Observation().Phase)
	}
	w.pve.ClearFaults()
	w.ready()
	w.finish()
}

// loses cuts the connection after a call took effect.
func loses(path string, spec v1alpha1.MachineParameters) func(*world) {
	return func(w *world) {
		w.pve.Inject(simulator.Fault{Method: "POST", Path: path, CutAfter: true, Count: 1})
		w.create(spec)
		w.ready()
		if w.tasks("qmclone")+w.tasks("qmcreate") != 1 || !slices.Equal(w.ours(), []int{10000}) {
			w.Errorf("want one VM, got %v:\n%s", w.ours(), w)
		}
		w.finish()
	}
}

func refused(w *world) {
	w.create(v1alpha1.MachineParameters{Template: new(intstr.FromString("fedora"))})
	w.says(conditions.TypeVMCreated, conditions.ReasonCreationFailed, "template 'fedora' not found")
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "template 'fedora' not found")
	if len(w.writes()) > 0 {
		w.Errorf("nothing may be created:\n%s", w)
	}
	w.delete()
	w.gone()
}

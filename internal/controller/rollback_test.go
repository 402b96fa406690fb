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
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rollback"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestRollbacks checks Machines whose VMs are rolled back to snapshots, in both scopes and on all versions.
func TestRollbacks(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"back":       {reason: "A VM goes back once for each token, and gets back what the spec asks for.", run: goesBack},
		"stillon":    {reason: "A VM that runs does not go back unasked.", run: staysOn},
		"offfirst":   {reason: "A VM that is to be off goes back once it is.", run: offFirst},
		"memory":     {reason: "The run strategy decides after a snapshot with memory.", run: backToMemory},
		"backwaits":  {reason: "A lock is waited for.", run: backWaits},
		"importback": {reason: "A manifest that is applied again takes no VM back.", run: importedBack},
	})
}

// snapshotTaken takes a snapshot of the VM as an administrator.
func (w *world) snapshotTaken(name string, memory bool) {
	w.Helper()
	u, err := w.admin.TakeSnapshot(w.Context(), w.ref(), proxmox.SnapshotOptions{Name: name, Memory: memory})
	if err != nil {
		w.Fatal(err)
	}
	w.eventually("the snapshot is taken", func() bool {
		t, err := w.admin.Task(w.Context(), u)
		return err == nil && t.OK()
	})
}

// goBack requests a rollback, and waits for the resulting state.
func (w *world) goBack(r v1alpha1.MachineRollback, want v1alpha1.MachineActState) *v1alpha1.MachineRollbackObservation {
	w.Helper()
	w.change(func(p *v1alpha1.MachineParameters) { p.Rollback = &r })
	w.eventually("the rollback is "+string(want), func() bool {
		w.exists()
		o := w.m.Observation().Rollback
		return o != nil && o.Token == r.Token && o.State == want
	})
	return w.m.Observation().Rollback
}

func goesBack(w *world) {
	spec := ubuntu()
	spec.Description = new("declared")
	w.create(spec)
	w.ready()
	w.snapshotTaken("before", false)
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Description = new("changed")
		p.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi7"), Size: new("1G"), Storage: new("ceph")}}
	})
	w.eventually("the disk is there", func() bool { return w.vm().Config["scsi7"] != "" })
	w.ready()
	data := w.vm().Config["scsi7"]
	o := w.goBack(v1alpha1.MachineRollback{Snapshot: "before", Token: "1", AllowRunning: new(true), SafetySnapshot: new(true)}, v1alpha1.ActSucceeded)
	if o.SafetySnapshot != rollback.SafetyName("1") || w.vm().Snapshots[o.SafetySnapshot] == nil {
		w.Errorf("the safety snapshot stays, got %+v", o)
	}
	w.eventually("the VM is as the spec asks", func() bool {
		g := w.vm()
		return g.Power == simulator.Running && g.Config["description"] == "changed" && g.Config["scsi7"] == data
	})
	w.ready()
	if unused := w.vm().Config["unused0"]; unused != "" || w.vm().Config["parent"] != "before" {
		w.Errorf("the disk is attached again by its volume, got unused0 %q and parent %q", unused, w.vm().Config["parent"])
	}
	w.stop()
	w.start()
	w.unchanged()
	w.reannotate(func(a map[string]string) { delete(a, "proxmox.vitistack.io/rollback") })
	w.unchanged()
	if n := w.tasks("qmrollback"); n != 1 {
		w.Errorf("want one rollback, got %d", n)
	}
	w.goBack(v1alpha1.MachineRollback{Snapshot: "before", Token: "2", AllowRunning: new(true)}, v1alpha1.ActSucceeded)
	w.ready()
	if n := w.tasks("qmrollback"); n != 2 {
		w.Errorf("another token asks again, got %d rollbacks", n)
	}
	w.goBack(v1alpha1.MachineRollback{Snapshot: "before", Token: "1", AllowRunning: new(true)}, v1alpha1.ActRefused)
	w.says(kind.TypeUpToDate, "RollbackRefused", "this token was asked for before")
	if n := w.tasks("qmrollback"); n != 2 {
		w.Errorf("a manifest that is taken back asks for nothing, got %d rollbacks", n)
	}
	w.finish()
}

// importedBack creates a lost Machine again from the manifest that requested a rollback.
func importedBack(w *world) {
	w.create(ubuntu(), func(m machine.Machine) {
		m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate})
	})
	w.ready()
	w.snapshotTaken("before", false)
	vmid := meta.GetExternalName(w.m)
	w.delete()
	w.gone()
	w.uncollected("connection-" + w.name)
	spec := ubuntu()
	spec.Rollback = &v1alpha1.MachineRollback{Snapshot: "before", Token: "1", AllowRunning: new(true)}
	spec.PowerAction = &v1alpha1.MachinePowerAction{Action: "Reset", Token: "1"}
	w.create(spec, func(m machine.Machine) { meta.SetExternalName(m, vmid) })
	w.says(kind.TypeUpToDate, "RollbackRefused", "another rollback.token")
	if n := w.tasks("qmrollback"); n > 0 || w.vm().Power != simulator.Running {
		w.Errorf("a manifest that is applied again asks for nothing, got %d rollbacks", n)
	}
	if a := w.m.Observation().PowerAction; w.tasks("qmreset") > 0 || a == nil || !strings.HasPrefix(a.Result, "not done") {
		w.Errorf("nor for a power action, got %+v", a)
	}
	w.goBack(v1alpha1.MachineRollback{Snapshot: "before", Token: "2", AllowRunning: new(true)}, v1alpha1.ActSucceeded)
	w.ready()
	w.finish()
}

// uncollected removes the connection Secret of a deleted Machine, because there is no garbage collector here.
func (w *world) uncollected(name string) {
	w.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := w.kube.Delete(w.Context(), s); err != nil {
		w.Fatal(err)
	}
}

func staysOn(w *world) {
	w.create(ubuntu())
	w.ready()
	w.snapshotTaken("before", false)
	o := w.goBack(v1alpha1.MachineRollback{Snapshot: "before", Token: "1"}, v1alpha1.ActRefused)
	w.says(kind.TypeUpToDate, "RollbackRefused", "allowRunning")
	if w.tasks("qmrollback") > 0 || w.vm().Power != simulator.Running || o.Message == "" {
		w.Errorf("a VM that runs is left alone:\n%s", w)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.RunStrategy = new("Halted") })
	w.eventually("the VM is off", func() bool { return w.vm().Power == simulator.Stopped })
	w.ready()
	if w.tasks("qmrollback") > 0 {
		w.Error("what was refused is not done later")
	}
	w.finish()
}

func offFirst(w *world) {
	w.create(ubuntu())
	w.ready()
	w.snapshotTaken("before", false)
	w.change(func(p *v1alpha1.MachineParameters) { p.RunStrategy = new("Halted") })
	w.goBack(v1alpha1.MachineRollback{Snapshot: "before", Token: "1"}, v1alpha1.ActSucceeded)
	w.ready()
	if w.vm().Power != simulator.Stopped || w.tasks("qmrollback") != 1 {
		w.Errorf("the VM stays off:\n%s", w)
	}
	w.finish()
}

func backToMemory(w *world) {
	w.create(ubuntu())
	w.ready()
	w.snapshotTaken("live", true)
	w.change(func(p *v1alpha1.MachineParameters) { p.RunStrategy = new("Halted") })
	w.eventually("the VM is off", func() bool { return w.vm().Power == simulator.Stopped })
	w.goBack(v1alpha1.MachineRollback{Snapshot: "live", Token: "1"}, v1alpha1.ActSucceeded)
	w.eventually("the VM is off again", func() bool { return w.vm().Power == simulator.Stopped })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.RunStrategy = new("Manual") })
	w.goBack(v1alpha1.MachineRollback{Snapshot: "live", Token: "2"}, v1alpha1.ActSucceeded)
	w.eventually("with its memory the VM runs", func() bool { return w.vm().Power == simulator.Running })
	w.ready()
	w.finish()
}

func backWaits(w *world) {
	spec := ubuntu()
	spec.RunStrategy = new("Manual")
	w.create(spec)
	w.ready()
	w.snapshotTaken("before", false)
	w.pve.Edit(func(s *simulator.State) { s.Guests[w.vmid()].Config["lock"] = "backup" })
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Rollback = &v1alpha1.MachineRollback{Snapshot: "before", Token: "1"}
	})
	w.says(kind.TypeUpToDate, "UpdateRequested", "locked (backup)")
	if w.tasks("qmrollback") > 0 {
		w.Error("the lock is waited for")
	}
	w.pve.Edit(func(s *simulator.State) { delete(s.Guests[w.vmid()].Config, "lock") })
	w.eventually("the VM has gone back", func() bool {
		w.exists()
		o := w.m.Observation().Rollback
		return o != nil && o.State == v1alpha1.ActSucceeded
	})
	w.finish()
}

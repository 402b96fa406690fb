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

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restoreinplace"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestRestoresInPlace checks Machines whose VMs are put back to backups, in both scopes and on all versions.
func TestRestoresInPlace(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"putback":   {reason: "A VM is put back once for each token, after a safety backup, and gets back what the spec asks for.", run: isPutBack},
		"keptgoing": {reason: "A VM that runs is not put back unasked.", run: keepsGoing},
		"unseen":    {reason: "A VM that is off for a restore does not stay off for the node of another VM.", run: runsUnseen},
		"snapped":   {reason: "Snapshots are not lost unasked, and retained ones never.", run: keepsSnapshots},
		"keptend":   {reason: "A VM does not go with its Machine while a Snapshot of it is retained, which is named.", run: endsKept},
		"ruined":    {reason: "What a restore has left that failed is this Machine's still, and another token restores it.", run: isRuined},
		"ruinedend": {reason: "What a restore has left that failed goes with its Machine.", run: endsRuined},
	})
}

// putBack requests a restore in place, and waits for the resulting state.
func (w *world) putBack(r v1alpha1.MachineRestoreInPlace, want v1alpha1.MachineActState) *v1alpha1.MachineRestoreInPlaceObservation {
	w.Helper()
	w.change(func(p *v1alpha1.MachineParameters) { p.RestoreInPlace = &r })
	w.eventually("the restore is "+string(want), func() bool {
		w.exists()
		o := w.m.Observation().RestoreInPlace
		return o != nil && o.Token == r.Token && o.State == want
	})
	return w.m.Observation().RestoreInPlace
}

// labelsBackups restarts the provider with a shard, so that its safety backups have the label that identifies those of this test.
func (w *world) labelsBackups() {
	w.stop()
	w.options = func(mgr ctrl.Manager) kind.Options {
		o := kindOptions(mgr)
		o.Shard = kind.Shard{Selector: labels.SelectorFromSet(labels.Set{label: w.name})}
		return o
	}
	w.start()
}

func isPutBack(w *world) {
	w.labelsBackups()
	volume := w.backedUp()
	uuid, mac := w.vm().Config["smbios1"], w.vm().Config["net0"]
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Description = new("changed")
		p.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi7"), Size: new("1G"), Storage: new("ceph")}}
	})
	w.eventually("the disk is there", func() bool { return w.vm().Config["scsi7"] != "" })
	w.ready()
	data := w.vm().Config["scsi7"]
	o := w.putBack(v1alpha1.MachineRestoreInPlace{
		Token: "1", BackupRef: &v1alpha1.Reference{Name: w.name + "-nightly"}, AllowRunning: new(true),
		SafetyBackup: &v1alpha1.MachineSafetyBackup{Storage: "nfs"},
	}, v1alpha1.ActSucceeded)
	if o.Volume != volume || o.SafetyBackup != restoreinplace.SafetyName(w.m, "1") {
		w.Errorf("want backup %s and a safety backup, got %+v", volume, o)
	}
	w.eventually("the VM is as the spec asks", func() bool {
		g := w.vm()
		return g.Power == simulator.Running && g.Config["description"] == "changed" && g.Config["scsi7"] == data
	})
	w.ready()
	if g := w.vm(); g.Config["smbios1"] != uuid || g.Config["net0"] != mac || g.Config["unused0"] != "" {
		w.Errorf("want the UUID, the MAC address and all disks that it had, got %v", g.Config)
	}
	w.checkSafety(o.SafetyBackup)
	w.stop()
	w.start()
	w.unchanged()
	w.reannotate(func(a map[string]string) { delete(a, "proxmox.vitistack.io/restore-in-place") })
	w.unchanged()
	if n := w.tasks("qmrestore"); n != 1 || w.tasks("vzdump") != 2 {
		w.Errorf("want one restore and two backups, got %d and %d", n, w.tasks("vzdump"))
	}
	w.putBack(v1alpha1.MachineRestoreInPlace{Token: "2", Volume: &volume, AllowRunning: new(true)}, v1alpha1.ActSucceeded)
	w.ready()
	if n := w.tasks("qmrestore"); n != 2 {
		w.Errorf("another token asks again, got %d restores", n)
	}
	w.putBack(v1alpha1.MachineRestoreInPlace{Token: "1", Volume: &volume, AllowRunning: new(true)}, v1alpha1.ActRefused)
	w.says(kind.TypeUpToDate, "RestoreRefused", "this token was asked for before")
	if n := w.tasks("qmrestore"); n != 2 {
		w.Errorf("a manifest that is taken back asks for nothing, got %d restores", n)
	}
	w.finish()
}

// checkSafety checks the Backup that was created before a restore.
func (w *world) checkSafety(name string) {
	w.Helper()
	var b restore.Backup = &cluster.Backup{}
	if w.inNamespace() {
		b = &namespaced.Backup{}
	}
	if err := w.kube.Get(w.Context(), client.ObjectKey{Namespace: w.m.GetNamespace(), Name: name}, b); err != nil {
		w.Fatal(err)
	}
	if p := b.Parameters(); p.Protected == nil || !*p.Protected || p.RemovalPolicy != nil || b.Observation().Volume == "" {
		w.Errorf("the safety backup is protected and stays, got %+v, %+v", p, b.Observation())
	}
}

func keepsGoing(w *world) {
	volume := w.backedUp()
	o := w.putBack(v1alpha1.MachineRestoreInPlace{Token: "1", Volume: &volume}, v1alpha1.ActRefused)
	w.says(kind.TypeUpToDate, "RestoreRefused", "allowRunning")
	if w.tasks("qmrestore") > 0 || w.vm().Power != simulator.Running || o.Message == "" {
		w.Errorf("a VM that runs is left alone:\n%s", w)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.RunStrategy = new("Halted") })
	w.eventually("the VM is off", func() bool { return w.vm().Power == simulator.Stopped })
	w.ready()
	if w.tasks("qmrestore") > 0 {
		w.Error("what was refused is not done later")
	}
	w.putBack(v1alpha1.MachineRestoreInPlace{Token: "2", Volume: &volume}, v1alpha1.ActSucceeded)
	w.ready()
	if w.vm().Power != simulator.Stopped {
		w.Error("the VM stays off")
	}
	w.finish()
}

func runsUnseen(w *world) {
	w.labelsBackups()
	volume := w.backedUp()
	goOn := w.pve.Inject(simulator.Fault{Task: "vzdump", Hold: true})
	back := v1alpha1.MachineRestoreInPlace{
		Token: "1", Volume: &volume, AllowRunning: new(true), SafetyBackup: &v1alpha1.MachineSafetyBackup{Storage: "nfs"},
	}
	w.putBack(back, v1alpha1.ActMakingSafetyBackup)
	w.onNode("pve3", func(n *simulator.Node) { n.Offline = true }) // It has VM 101, which can access the storage of the disk.
	goOn()
	w.eventually("the restore is refused", func() bool {
		w.exists()
		o := w.m.Observation().RestoreInPlace
		return o != nil && o.State == v1alpha1.ActRefused && strings.Contains(o.Message, `node "pve3" is offline`)
	})
	w.ready()
	w.says(kind.TypeUpToDate, "RestoreRefused", "once the node is back")
	if g := w.vm(); g.Power != simulator.Running || w.tasks("qmrestore") > 0 {
		w.Errorf("the VM runs again as it was:\n%s", w)
	}
	w.checkSafety(restoreinplace.SafetyName(w.m, "1"))
	w.onNode("pve3", func(n *simulator.Node) { n.Offline = false })
	back.Token = "2"
	w.putBack(back, v1alpha1.ActSucceeded)
	w.ready()
	w.finish()
}

func keepsSnapshots(w *world) {
	volume := w.backedUp()
	w.snapshotTaken("theirs", false)
	back := v1alpha1.MachineRestoreInPlace{Token: "1", Volume: &volume, AllowRunning: new(true)}
	o := w.putBack(back, v1alpha1.ActRefused)
	if !strings.Contains(o.Message, "discardSnapshots: theirs") || w.vm().Power != simulator.Running {
		w.Errorf("the snapshot is named, got %q", o.Message)
	}
	kept := w.keptSnapshot("kept")
	back.Token, back.DiscardSnapshots = "2", new(true)
	o = w.putBack(back, v1alpha1.ActRefused)
	if !strings.Contains(o.Message, kept.GetName()) || len(w.vm().Snapshots) != 2 || w.vm().Power != simulator.Running {
		w.Errorf("the Snapshot that is retained is named, and nothing is done, got %q", o.Message)
	}
	if err := w.kube.Delete(w.Context(), kept); err != nil {
		w.Fatal(err)
	}
	w.eventually("the Snapshot is gone", func() bool { return !w.show(kept) })
	back.Token = "3"
	w.putBack(back, v1alpha1.ActSucceeded)
	w.ready()
	if len(w.vm().Snapshots) > 0 || w.tasks("qmrestore") != 1 {
		w.Errorf("the VM has none any more, got %v", w.vm().Snapshots)
	}
	w.finish()
}

func endsKept(w *world) {
	w.create(ubuntu())
	w.ready()
	kept := w.keptSnapshot("kept")
	w.delete()
	w.eventually("the Snapshot is named", func() bool {
		return w.exists() && strings.Contains(w.m.GetCondition(xpv2.TypeReady).Message, kept.GetName())
	})
	if g := w.vm(); g.Power != simulator.Running || len(g.Snapshots) != 1 || w.tasks("qmdestroy")+w.tasks("qmshutdown")+w.tasks("qmstop") > 0 {
		w.Errorf("nothing is done to the VM:\n%s", w)
	}
	if err := w.kube.Delete(w.Context(), kept); err != nil {
		w.Fatal(err)
	}
	w.eventually("the Snapshot is gone", func() bool { return !w.show(kept) })
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
}

// keptSnapshot takes a snapshot of the Machine's VM that is to be retained.
func (w *world) keptSnapshot(name string) resource.Managed {
	w.Helper()
	o, retain := w.meta(), v1alpha1.SnapshotRetain
	o.Name = w.name + "-" + name
	spec := v1alpha1.SnapshotParameters{Machine: new(w.name), Name: new(name), RemovalPolicy: &retain}
	var s resource.Managed
	if w.inNamespace() {
		o.Namespace = namespace
		in := &namespaced.Snapshot{ObjectMeta: o, Spec: namespaced.SnapshotSpec{ForProvider: spec}}
		in.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: w.name})
		s = in
	} else {
		of := &cluster.Snapshot{ObjectMeta: o, Spec: cluster.SnapshotSpec{ForProvider: spec}}
		of.SetProviderConfigReference(&xpv2.Reference{Name: w.name})
		s = of
	}
	w.make(s)
	w.well(s)
	return s
}

func isRuined(w *world) {
	volume := w.backedUp()
	uuid := w.vm().Config["smbios1"]
	mend := w.breakRestores()
	back := v1alpha1.MachineRestoreInPlace{Token: "1", Volume: &volume, AllowRunning: new(true)}
	o := w.putBack(back, v1alpha1.ActFailed)
	if !strings.Contains(o.Message, "vma extract") || !strings.Contains(o.Message, "has lost its configuration") {
		w.Errorf("got %q", o.Message)
	}
	w.says(xpv2.TypeReady, conditions.ReasonRestoreFailed, "restore it with another token")
	w.stop()
	w.start()
	w.says(xpv2.TypeReady, conditions.ReasonRestoreFailed, "restore it with another token")
	back.Token, back.SafetyBackup = "2", &v1alpha1.MachineSafetyBackup{Storage: "nfs"}
	w.putBack(back, v1alpha1.ActRefused)
	if g := w.vm(); !restore.Unfinished(g.Config) || w.tasks("qmrestore") != 1 {
		w.Errorf("it is not repeated, and nothing else is done to it, got %v", g.Config)
	}
	mend()
	back.Token, back.SafetyBackup = "3", nil
	w.putBack(back, v1alpha1.ActSucceeded)
	w.ready()
	if g := w.vm(); g.Config["smbios1"] != uuid || g.Power != simulator.Running || w.tasks("qmrestore") != 2 {
		w.Errorf("the VM is there again, got %v", g.Config)
	}
	w.unchanged()
	w.finish()
}

func endsRuined(w *world) {
	volume := w.backedUp()
	w.breakRestores()
	w.putBack(v1alpha1.MachineRestoreInPlace{Token: "1", Volume: &volume, AllowRunning: new(true)}, v1alpha1.ActFailed)
	w.says(xpv2.TypeReady, conditions.ReasonRestoreFailed, "vma extract")
	w.finish()
}

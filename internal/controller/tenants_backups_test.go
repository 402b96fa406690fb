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
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/backup"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// victimBackup is a backup of the VM of team-b, which it has described in its notes.
const victimBackup = "vault:backup/vzdump-qemu-30001-2026_11_22-17_00_00.vma.zst"

// backupOf returns a Backup of a Machine of a team, which is removed with its resource.
func (w *tenantWorld) backupOf(team, name, machine string) backup.Backup {
	var b backup.Backup = &cluster.Backup{}
	if w.namespaced {
		b = &namespaced.Backup{}
	}
	w.give(b, team, w.name+"-backup-"+name)
	*b.Parameters() = v1alpha1.BackupParameters{Machine: &machine, Storage: "vault", RemovalPolicy: new(v1alpha1.BackupDelete)}
	return b
}

// give sets the name, the provider configuration and the team of a resource.
func (w *tenantWorld) give(mg resource.Managed, team, name string) {
	w.Helper()
	mg.SetName(name)
	mg.SetLabels(w.meta().Labels)
	switch r := mg.(type) {
	case interface {
		SetProviderConfigReference(r *xpv2.ProviderConfigReference)
	}:
		mg.SetNamespace(w.space(team))
		r.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: w.config})
	case interface {
		SetProviderConfigReference(r *xpv2.Reference)
	}:
		mg.GetLabels()["crossplane.io/claim-namespace"] = w.space(team)
		r.SetProviderConfigReference(&xpv2.Reference{Name: w.config})
	default:
		w.Fatalf("a %T names no provider configuration", mg)
	}
}

// backedUp returns the backups on the storage of backups, by their IDs.
func (w *tenantWorld) backedUp() []string {
	var all []string
	w.pve.Edit(func(s *simulator.State) {
		for key := range s.Volumes {
			if key.Storage == "vault" {
				all = append(all, key.Storage+":"+key.Name)
			}
		}
	})
	slices.Sort(all)
	return all
}

// recordedf writes the record of a Backup as the provider would, with a finalizer so that its deletion is reconciled.
func recordedf(b backup.Backup, format string, words ...any) {
	meta.AddAnnotations(b, map[string]string{tenancy.AnnotationBackup: fmt.Sprintf(format, words...)})
	meta.AddFinalizer(b, managed.FinalizerName)
}

// backupAttempts returns attempts of team-a to get a backup of team-b, or to create one where and as it may not, and to delete it.
func (w *tenantWorld) backupAttempts() map[string]tried[backup.Backup] {
	own := fmt.Sprintf(`"uuid":%q,"vmid":%d,"node":"pve1"`, w.m.Observation().UUID, w.vmid())
	const seen = `"done":true,"volume":"` + victimBackup + `","time":1700000000`
	theirs, forged := &v1alpha1.Reference{Name: w.theirs()}, &v1alpha1.Reference{Name: w.forged()}
	selected := func(labels string) *v1alpha1.Selector {
		return &v1alpha1.Selector{MatchLabels: map[string]string{redteam: labels}}
	}
	return map[string]tried[backup.Backup]{
		"machine": {change: func(b backup.Backup) { b.Parameters().Machine = new(w.theirs()) }, says: w.noMachine(), clusterScoped: true, waits: true},
		"machineref": {change: func(b backup.Backup) {
			b.Parameters().Machine, b.Parameters().MachineRef = nil, theirs
		}, says: w.noMachine(), clusterScoped: true, waits: true},
		"machineselector": {change: func(b backup.Backup) {
			b.Parameters().Machine, b.Parameters().MachineSelector = nil, selected("theirs")
		}, says: "no Machine has the labels of machineSelector", clusterScoped: true, waits: true},
		"storageref": {change: func(b backup.Backup) {
			b.Parameters().Storage, b.Parameters().StorageRef = "", forged
		}, says: "(storages): a backup on storage nfs"},
		"storageselector": {change: func(b backup.Backup) {
			b.Parameters().Storage, b.Parameters().StorageSelector = "", selected("forged")
		}, says: "(storages): a backup on storage nfs"},
		"elsewhere": {change: func(b backup.Backup) { b.Parameters().Storage = "nfs" }, says: "(storages): a backup on storage nfs"},
		"fast":      {change: func(b backup.Backup) { b.Parameters().BandwidthLimit = new(int64(0)) }, says: "(kinds): bandwidthLimit"},
		"secret": {
			change: func(b backup.Backup) { keptIn(b, w.space("b")) }, says: "(namespaces): writeConnectionSecretToRef", clusterScoped: true,
		},
		"adopted": {change: func(b backup.Backup) { meta.SetExternalName(b, victimBackup) }, says: "(allow.adopt): backup " + victimBackup},
		"observed": {change: func(b backup.Backup) {
			meta.SetExternalName(b, victimBackup)
			b.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
		}, says: "(allow.adopt): backup " + victimBackup},
		"recorded": {change: func(b backup.Backup) { recordedf(b, `{%s,%s}`, own, seen) }, says: "(allow.adopt): backup " + victimBackup},
		"removed": {change: func(b backup.Backup) {
			recordedf(b, `{%s,%s,"guarded":true,"removal":"UPID:pve1:00000001:00000001:65000000:imgdel::crossplane@pve:"}`, own, seen)
		}, says: "(allow.adopt): backup " + victimBackup},
		"begun": {change: func(b backup.Backup) {
			recordedf(b, `{"uuid":%q,"vmid":%d,"node":"pve1","begun":1700000000}`, victimUUID, victim)
		}, says: "VM 30001, which is not the tenant's"},
		"foreign": {change: func(b backup.Backup) {
			recordedf(b, `{"uuid":%q,"vmid":%d,"node":"pve1",%s}`, victimUUID, victim, seen)
		}, says: "VM 30001, which is not the tenant's"},
	}
}

// tryBackups makes team-a try to get team-b's backup of its VM.
func (w *tenantWorld) tryBackups() {
	w.Helper()
	w.pve.Edit(func(s *simulator.State) {
		s.Volumes[state.VolumeKey{Storage: "vault", Name: strings.TrimPrefix(victimBackup, "vault:")}] = &state.Volume{
			VMID: victim, Format: "vma.zst", Content: "backup", Size: 1 << 30, Notes: "hidden-notes", Created: time.Unix(1_700_000_000, 0),
			Backup: &state.Backup{Config: map[string]string{}},
		}
	})
	n, before, made, attempts := len(w.writes()), w.backedUp(), map[string]backup.Backup{}, w.backupAttempts()
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		if w.namespaced && attempts[name].clusterScoped {
			continue
		}
		b := w.backupOf("a", name, w.m.GetName())
		attempts[name].change(b)
		w.make(b)
		made[name] = b
	}
	for name, b := range made {
		told(w, b, attempts[name])
		if text, err := yaml.Marshal(b); err != nil || strings.Contains(string(text), "hidden-notes") {
			w.Errorf("%s tells of the backup of others: %v\n%s", name, err, text)
		}
		w.remove(b)
	}
	w.wroteNothing(n)
	if got := w.backedUp(); !slices.Equal(got, before) {
		w.Errorf("want the backups %v, got %v", before, got)
	}
}

// ownBackup makes team-a create a backup, claim that it is that of team-b, and remove it.
func (w *tenantWorld) ownBackup() {
	w.Helper()
	others := w.backedUp()
	b := w.backupOf("a", "own", w.m.GetName())
	w.make(b)
	made := func() bool {
		return b.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue && b.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionTrue
	}
	w.becomes(b, "is made", made)
	volume := b.Observation().Volume
	if got := w.backedUp(); len(got) != len(others)+1 || !slices.Contains(got, volume) {
		w.Errorf("want one more backup than %v, %s, got %v", others, volume, got)
	}
	text := b.GetAnnotations()[tenancy.AnnotationBackup]
	w.edit(b, func() {
		meta.AddAnnotations(b, map[string]string{tenancy.AnnotationBackup: strings.ReplaceAll(text, volume, victimBackup)})
	})
	w.refused(b, "(allow.adopt): backup "+victimBackup)
	w.edit(b, func() { meta.AddAnnotations(b, map[string]string{tenancy.AnnotationBackup: text}) })
	w.becomes(b, "is its own again", made)
	w.edit(b, func() { delete(b.GetAnnotations(), tenancy.AnnotationBackupSignature) })
	w.becomes(b, "is its own by what it says, and signed again", func() bool { return made() && b.GetAnnotations()[tenancy.AnnotationBackupSignature] != "" })
	w.restores(b)
	w.remove(b)
	w.eventually("the backup is removed, and no other", func() bool { return slices.Equal(w.backedUp(), others) })
}

// restores makes team-a create a VM from its backup and put its VM back to it, and try the same with a forged one.
func (w *tenantWorld) restores(own backup.Backup) {
	w.Helper()
	from := &v1alpha1.Reference{Name: own.GetName()}
	made := w.of("a", "restored", v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{BackupRef: from}})
	w.make(made)
	w.becomes(made, "is made of the backup", func() bool { return made.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue })
	if id := *made.Observation().VMID; id < 20000 || id > 20099 || made.Observation().Pool != "team-a" {
		w.Errorf("want a VM of the tenant, got %d in pool %q", id, made.Observation().Pool)
	}
	w.remove(made)
	n, all := len(w.writes()), w.restoreAttempts()
	for name, a := range all {
		m := w.of("a", name, v1alpha1.MachineParameters{})
		a.spec(m.Parameters())
		w.make(m)
		w.refused(m, a.says)
		w.remove(m)
	}
	w.wroteNothing(n)
	w.edit(w.m, func() {
		w.m.Parameters().RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: "1", BackupRef: from, AllowRunning: new(true)}
	})
	w.becomes(w.m, "is put back to the backup", func() bool {
		o := w.m.Observation().RestoreInPlace
		return o != nil && o.State == v1alpha1.ActSucceeded && w.m.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
	})
	if g, _ := w.pve.Guest(w.vmid()); g.Power != simulator.Running {
		w.Errorf("want a VM that is ready to run, got one that is %s", g.Power)
	}
	w.forgedBackup()
}

// restoreAttempts returns attempts to restore the contents of a backup of the team where it may not.
func (w *tenantWorld) restoreAttempts() map[string]attempt {
	return map[string]attempt{
		"restorestorageref": {spec: func(p *v1alpha1.MachineParameters) {
			p.Restore = &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: w.ownOf()}, StorageRef: &v1alpha1.Reference{Name: w.forged()}}
		}, says: "(storages)"},
	}
}

// forgedBackup makes team-a forge the record and the status of a Backup, and restore it.
func (w *tenantWorld) forgedBackup() {
	w.Helper()
	n, id := len(w.writes()), w.vmid()
	forged := w.backupOf("a", "forged", w.m.GetName())
	recordedf(forged, `{"uuid":%q,"vmid":%d,"node":"pve1","done":true,"volume":%q,"time":1700000000,"tenant":"team-a"}`, w.m.Observation().UUID, id, victimBackup)
	w.make(forged)
	w.refused(forged, "(allow.adopt): backup "+victimBackup)
	w.forgeStatus(forged, func() {
		*forged.Observation() = v1alpha1.BackupObservation{State: v1alpha1.BackupComplete, Volume: victimBackup}
	})
	says := "(pools and vmidRange): Backup " + forged.GetName() + ", whose backup is not proven to be of a VM of the tenant"
	from := &v1alpha1.Reference{Name: forged.GetName()}
	m := w.of("a", "steals", v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{BackupRef: from}})
	w.make(m)
	w.refused(m, says)
	w.remove(m)
	w.edit(w.m, func() {
		w.m.Parameters().RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: "2", BackupRef: from, AllowRunning: new(true)}
	})
	w.becomes(w.m, "is not put back to a backup of others", func() bool {
		o := w.m.Observation().RestoreInPlace
		return o != nil && o.Token == "2" && o.State == v1alpha1.ActRefused && strings.Contains(o.Message, says)
	})
	w.remove(forged)
	w.wroteNothing(n)
}

// ownBackupOf makes team-b create a backup of its Machine, from which no Machine of team-a can be created by its name.
func (w *tenantWorld) ownBackupOf() backup.Backup {
	w.Helper()
	b := w.backupOf("b", "own", w.m.GetName())
	w.make(b)
	w.becomes(b, "is made", func() bool { return b.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue })
	if w.namespaced {
		return b
	}
	n := len(w.writes())
	m := w.of("a", "ofbackup", v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: b.GetName()}}})
	w.make(m)
	w.refused(m, "Backup "+b.GetName()+", whose backup is not proven to be of a VM of the tenant")
	w.remove(m)
	w.wroteNothing(n)
	return b
}

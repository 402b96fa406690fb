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

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	acts "github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// ownOf returns the name of team-a's Backup.
func (w *tenantWorld) ownOf() string { return w.name + "-backup-own" }

// actAttempts returns attempts to have a VM put back to what others have, or onto what is not for the team.
func (w *tenantWorld) actAttempts() map[string]attempt {
	type p = v1alpha1.MachineParameters
	back := func(token string, r v1alpha1.MachineRestoreInPlace) func(*p) {
		return func(p *p) {
			r.Token, r.AllowRunning = token, new(true)
			p.RestoreInPlace = &r
		}
	}
	own, theirs, forged := &v1alpha1.Reference{Name: w.ownOf()}, &v1alpha1.Reference{Name: w.theirs()}, &v1alpha1.Reference{Name: w.forged()}
	return map[string]attempt{
		"rollback": {
			spec: func(p *p) {
				p.Rollback = &v1alpha1.MachineRollback{Snapshot: "before", Token: "named", AllowRunning: new(true)}
			},
			says: `VM 20000 has no snapshot "before"`, act: true,
		},
		"rollbackhas": {
			spec: func(p *p) {
				p.Rollback = &v1alpha1.MachineRollback{Snapshot: "adopted", Token: "has", AllowRunning: new(true)}
			},
			says: "option args; (bridges): net9 on bridge vmbr0", act: true,
		},
		"rollbackref": {
			spec: func(p *p) {
				p.Rollback = &v1alpha1.MachineRollback{Snapshot: w.theirs(), Token: "theirs", AllowRunning: new(true)}
			},
			says: "Snapshot", act: true, clusterScoped: true,
		},
		"restoreplaceref": {
			spec: back("theirs", v1alpha1.MachineRestoreInPlace{BackupRef: theirs}),
			says: "Backup " + w.theirs() + ", whose backup is not proven to be of a VM of the tenant", act: true, clusterScoped: true,
		},
		"restoreplacestorageref": {
			spec: back("elsewhere", v1alpha1.MachineRestoreInPlace{BackupRef: own, StorageRef: forged}), says: "(storages)", act: true,
		},
		"recreation": {
			spec: func(p *p) { p.Recreation = &v1alpha1.MachineRecreation{LostNode: "pve3", Token: "lost"} }, says: "and complete", act: true,
		},
		"remains": {
			spec: func(p *p) {
				p.Recreation = &v1alpha1.MachineRecreation{LostNode: "pve1", Token: "remains", RemoveRemains: new(true)}
			},
			object: annotated(map[string]string{object.AnnotationRecreation: (&acts.Record{
				Token: "before", State: v1alpha1.ActSucceeded, At: time.Now().Unix(),
				Remains: []acts.Remains{{VMID: victim, UUID: victimUUID, Node: "pve1"}},
			}).String()}),
			says: "and complete", act: true,
		},
	}
}

// refusedAct reports whether the status of the Machine shows an act that was refused with a message.
func (w *tenantWorld) refusedAct(says string) bool {
	o := w.m.Observation()
	refused := func(state v1alpha1.MachineActState, message string) bool {
		return state == v1alpha1.ActRefused && strings.Contains(message, says)
	}
	return o.Rollback != nil && refused(o.Rollback.State, o.Rollback.Message) ||
		o.RestoreInPlace != nil && refused(o.RestoreInPlace.State, o.RestoreInPlace.Message) ||
		o.Recreation != nil && refused(o.Recreation.State, o.Recreation.Message)
}

// TestTenantsActs makes team-a try to get what others have with one-time acts, with a disk that does not belong to it, and with the memory of its VM.
func TestTenantsActs(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "acts")
		w.m = w.of("a", "own", linux())
		w.make(w.m)
		w.ready()
		b := w.backupOf("a", "own", w.m.GetName())
		w.make(b)
		w.well(b)
		w.forge()
		w.haveTheirs()
		w.pve.Edit(func(s *simulator.State) {
			had := maps.Clone(s.Guests[20000].Config)
			had["args"], had["net9"] = "-device vfio-pci", "virtio=BC:24:11:00:00:99,bridge=vmbr0"
			s.Guests[20000].Snapshots["adopted"] = &simulator.Snapshot{Config: had, Time: time.Unix(1_700_000_000, 0)}
			s.Guests[victim].Snapshots["before"] = &simulator.Snapshot{Config: maps.Clone(s.Guests[victim].Config), Time: time.Unix(1_700_000_000, 0)}
		})
		before := w.m.DeepCopyObject().(machine.Machine)
		n, all := len(w.writes()), w.actAttempts()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if w.namespaced && all[name].clusterScoped {
				continue
			}
			w.tries(all[name])
			if got := w.writes(); len(got) != n {
				t.Fatalf("%s: want no write, got %v", name, got[n:])
			}
			w.isAgain(before)
		}
		w.savesMemory()
		w.hasTheirDisk()
	})
}

// savesMemory makes team-a save the memory of a VM without a disk, which Proxmox VE would do on the node's local storage.
func (w *tenantWorld) savesMemory() {
	w.Helper()
	const says = "(storages): the memory of the VM would be saved on storage local"
	m := w.of("a", "diskless", v1alpha1.MachineParameters{})
	w.make(m)
	w.well(m)
	n := len(w.writes())
	s := w.takes("memory")
	s.Parameters().MachineRef.Name, s.Parameters().IncludeMemory = m.GetName(), new(true)
	w.make(s)
	w.refused(s, says)
	w.edit(m, func() { m.Parameters().PowerState = new(v1alpha1.PowerStateSuspended) })
	w.refused(m, says)
	w.wroteNothing(n)
	w.remove(s)
	w.remove(m)
}

// hasTheirDisk gives the VM of team-a the disk of team-b, as by a mistake of an operator, and makes team-a change it by its device.
func (w *tenantWorld) hasTheirDisk() {
	w.Helper()
	w.pve.Edit(func(s *simulator.State) { s.Guests[20000].Config["scsi5"] = victimDisk + ",size=4G" })
	w.rewrite(func() { meta.AddAnnotations(w.m, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "1"}) })
	w.becomes(w.m, "tells what its VM has", func() bool {
		c := w.m.GetCondition(v1alpha1.TypeTenantAllowed)
		return c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "scsi5 is a volume of another VM")
	})
	before := w.m.DeepCopyObject().(machine.Machine)
	n := len(w.writes())
	for _, name := range slices.Sorted(maps.Keys(deviceAttempts())) {
		w.tries(deviceAttempts()[name])
		if got := w.writes(); len(got) != n {
			w.Errorf("%s: want no write, got %v", name, got[n:])
			n = len(got)
		}
		w.isAgain(before)
	}
	w.delete()
	w.gone()
	w.pve.Edit(func(s *simulator.State) {
		if v := s.Volumes[state.VolumeKey{Storage: "ceph", Name: strings.TrimPrefix(victimDisk, "ceph:")}]; v == nil || v.Size != 4<<30 {
			w.Errorf("want the disk of team-b as it was, got %+v", v)
		}
	})
}

// deviceAttempts returns attempts to take over the disk of others that the VM has.
func deviceAttempts() map[string]attempt {
	taken := func(change func(*v1alpha1.MachineDisk)) func(*v1alpha1.MachineParameters) {
		return func(p *v1alpha1.MachineParameters) {
			d := v1alpha1.MachineDisk{Name: "taken", Device: new("scsi5")}
			change(&d)
			p.Disks = []v1alpha1.MachineDisk{d}
		}
	}
	return map[string]attempt{
		"devicegrown":   {spec: taken(func(d *v1alpha1.MachineDisk) { d.Size = new("8G") }), says: "scsi5 is a volume of another VM"},
		"devicecached":  {spec: taken(func(d *v1alpha1.MachineDisk) { d.Cache = new("writeback") }), says: "scsi5 is a volume of another VM"},
		"devicedestroy": {spec: taken(func(d *v1alpha1.MachineDisk) { d.RemovalPolicy = new("Destroy") }), says: "(allow.destroyDisks)"},
	}
}

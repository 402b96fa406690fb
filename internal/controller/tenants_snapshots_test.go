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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/snapshot"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A tried resource is an attempt of team-a with a resource of another kind than Machine.
type tried[T resource.Managed] struct {
	change func(T)
	says   string

	// clusterScoped is true for an attempt that only cluster-scoped resources can make.
	clusterScoped bool

	// waits is true for what is waited for as if it did not exist.
	waits bool
}

// told waits until a resource is shown to be refused because of an attempt, or to wait for it.
func told[T resource.Managed](w *tenantWorld, mg T, a tried[T]) {
	w.Helper()
	if !a.waits {
		w.refused(mg, a.says)
		return
	}
	w.waitNotReady(mg, "MachineNotFound", a.says)
}

// snapshotAttempts returns attempts of team-a to take snapshots of VMs of others, and to get, change or remove those of others.
func (w *tenantWorld) snapshotAttempts() map[string]tried[snapshot.Snapshot] {
	const notTheirs = "which is not the tenant's"
	record := func(format string, words ...any) func(snapshot.Snapshot) {
		return func(s snapshot.Snapshot) {
			meta.AddAnnotations(s, map[string]string{kind.AnnotationSnapshot: fmt.Sprintf(format, words...)})
			meta.AddFinalizer(s, managed.FinalizerName)
		}
	}
	return map[string]tried[snapshot.Snapshot]{
		"unmanaged": {change: func(s snapshot.Snapshot) {
			s.Parameters().MachineRef, s.Parameters().VMID, s.Parameters().AllowUnmanaged = nil, new(int32(victim)), new(true)
		}, says: "(allow.adopt): a snapshot of VM 30001"},
		"machine": {change: func(s snapshot.Snapshot) {
			s.Parameters().MachineRef, s.Parameters().Machine = nil, new(w.theirs())
		}, says: w.noMachine(), clusterScoped: true, waits: true},
		"machineref": {change: func(s snapshot.Snapshot) {
			s.Parameters().MachineRef.Name = w.theirs()
		}, says: w.noMachine(), clusterScoped: true, waits: true},
		"machineselector": {change: func(s snapshot.Snapshot) {
			s.Parameters().MachineRef = nil
			s.Parameters().MachineSelector = &v1alpha1.Selector{MatchLabels: map[string]string{redteam: "theirs"}}
		}, says: "no Machine has the labels of machineSelector", clusterScoped: true, waits: true},
		"recorded": {change: record(
			`{"uuid":%q,"begun":1700000000,"done":true,"vmid":%d,"node":"pve1","name":"before","time":1700000000}`, victimUUID, victim,
		), says: "VM 30001, " + notTheirs},
		"named": {change: func(s snapshot.Snapshot) {
			record(`{"uuid":%q,"begun":1700000000,"done":true,"vmid":%d,"node":"pve1","name":"before","time":1700000000}`, victimUUID, victim)(s)
			meta.SetExternalName(s, "before")
			s.Parameters().Description = new("that of team-a")
		}, says: "VM 30001, " + notTheirs},
		"begun": {change: record(`{"uuid":%q,"begun":1700000000,"vmid":%d,"node":"pve1","name":"before"}`, victimUUID, victim), says: "VM 30001, " + notTheirs},
		"secret": {
			change: func(s snapshot.Snapshot) { keptIn(s, w.space("b")) }, says: "(namespaces): writeConnectionSecretToRef", clusterScoped: true,
		},
		"removed": {change: record(
			`{"uuid":%q,"begun":1700000000,"done":true,"vmid":%d,"node":"pve1","name":"before","time":1700000000,"removal":%q}`,
			strayUUID, strayVM, "UPID:pve1:00000001:00000001:65000000:qmdelsnapshot:40001:crossplane@pve!demo:",
		), says: "VM 40001, " + notTheirs},
	}
}

// noMachine is the message about the Machine of team-b, which is the same as for one that does not exist.
func (w *tenantWorld) noMachine() string { return fmt.Sprintf("Machine %q does not exist", w.theirs()) }

// trySnapshots makes team-a try to get the snapshots of VMs that do not belong to it.
func (w *tenantWorld) trySnapshots() {
	w.Helper()
	w.pve.Edit(func(s *simulator.State) {
		for _, vmid := range []int{victim, strayVM} {
			s.Guests[vmid].Snapshots["before"] = &simulator.Snapshot{Config: maps.Clone(s.Guests[vmid].Config), Time: time.Unix(1_700_000_000, 0)}
		}
	})
	n, made, attempts := len(w.writes()), map[string]snapshot.Snapshot{}, w.snapshotAttempts()
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		if w.namespaced && attempts[name].clusterScoped {
			continue
		}
		s := w.takes(name)
		attempts[name].change(s)
		w.make(s)
		made[name] = s
	}
	for name, s := range made {
		told(w, s, attempts[name])
		w.remove(s)
	}
	w.wroteNothing(n)
	w.pve.Edit(func(s *simulator.State) {
		for _, vmid := range []int{victim, strayVM} {
			if s.Guests[vmid].Snapshots["before"] == nil {
				w.Errorf("the snapshot of VM %d is gone", vmid)
			}
			delete(s.Guests[vmid].Snapshots, "before")
		}
	})
}

// takes returns a Snapshot of team-a's Machine.
func (w *tenantWorld) takes(name string) snapshot.Snapshot {
	w.Helper()
	s, is := w.snapshotOf("a", w.m.GetName()).(snapshot.Snapshot)
	if !is {
		w.Fatal("it is no Snapshot")
	}
	s.SetName(w.name + "-snapshot-" + name)
	return s
}

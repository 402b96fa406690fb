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

package snapshot_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/snapshot"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

const (
	ofMachine = "machine: web\ndescription: before the upgrade\n"
	ofVMID    = "vmid: 500\nallowUnmanaged: true\n"
	path      = "/nodes/pve1/qemu/500/snapshot"
)

// TestLife checks that a Snapshot waits for its Machine without a call, and is then taken, described again and removed.
func TestLife(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("before-upgrade", ofMachine)
		l.Until(s, "it waits for the Machine", configtest.Says(s, xpv2.TypeReady, "MachineNotFound", `"web"`))
		m := l.Machine("")
		l.Until(s, "it waits for the VM", configtest.Says(s, xpv2.TypeReady, "MachineNotReady"))
		if r := l.Requests(); slices.ContainsFunc(r, func(r simulator.Request) bool { return strings.HasPrefix(r.User, "crossplane@pve") }) {
			l.Errorf("waiting costs no call")
		}
		l.HasVM(m, uuid)
		l.Until(s, "it is taken", configtest.Settled(s))
		is := l.snapshots()["before-upgrade"]
		o := s.Observation()
		if is.Description != "before the upgrade" || o.Name != is.Name || !o.Time.Time.Equal(is.Time) ||
			!o.ReadyToUse || !o.Current || o.VMUUID != uuid || *o.VMID != vmid || o.Node != "pve1" {
			l.Errorf("the snapshot is %+v, and shown as %+v", is, o)
		}
		if name := xpmeta.GetExternalName(s); name != "before-upgrade" {
			l.Errorf("the external name is %q", name)
		}
		l.quiet(s)
		l.ChangeSpec(s, func() { s.Parameters().Description = new("") })
		l.Until(s, "the description is changed", func() bool { return l.snapshots()["before-upgrade"].Description == "" && configtest.Settled(s)() })
		l.Delete(s)
		if all := l.snapshots(); len(all) > 0 {
			l.Errorf("left: %v", all)
		}
	})
}

func TestConfiguration(t *testing.T) {
	everywhere(t, func(l *lab) { l.TakesConfiguration(l.snapshot("unconfigured", ofMachine)) })
}

// quiet checks that a resource that matches its spec costs no write.
func (l *lab) quiet(s snapshot.Snapshot) {
	l.Helper()
	l.Reconcile(s) // It shows the result of the last change.
	before, version := len(l.Writes()), s.GetResourceVersion()
	for range 3 {
		l.Reconcile(s)
	}
	if after := l.Writes(); len(after) != before || s.GetResourceVersion() != version {
		l.Errorf("an unchanged resource costs writes: %v", after[before:])
	}
}

func TestTree(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		first, second := l.snapshot("one", "machine: web"), l.snapshot("two-of-them", "machine: web")
		l.Until(first, "the first is taken", configtest.Settled(first))
		l.Until(second, "the second is taken", configtest.Settled(second))
		l.Until(first, "the first is current no more", func() bool { return !first.Observation().Current })
		if o := second.Observation(); o.Parent != "one" || !o.Current || first.Observation().Parent != "" {
			l.Errorf("the tree is shown as %+v and %+v", first.Observation(), o)
		}
		l.Delete(first)
		l.Until(second, "it has no parent any more", func() bool { return second.Observation().Parent == "" && configtest.Settled(second)() })
	})
}

func TestMemory(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("with-memory", ofVMID+"includeMemory: true")
		l.Until(s, "it waits for the VM to run", configtest.Says(s, xpv2.TypeReady, "NotRunning"))
		l.Ended(l.Client.Start(l.Context(), ref))
		l.Until(s, "it is taken", configtest.Settled(s))
		o := s.Observation()
		if !l.snapshots()["with-memory"].Memory || !o.IncludesMemory || o.Size == nil || *o.Size < 2*64<<20 {
			l.Errorf("the memory is shown as %t of %v bytes", o.IncludesMemory, o.Size)
		}
		l.Delete(s)
	})
}

// TestConsistency checks that the status reports whether the guest's file systems were frozen, as far as PVE does.
func TestConsistency(t *testing.T) {
	everywhere(t, func(l *lab) {
		version, err := l.Client.Version(l.Context())
		l.Must(err)
		frozen := map[bool]v1alpha1.Consistency{false: v1alpha1.ConsistencyUnknown, true: v1alpha1.ConsistencyFileSystem}[version.AtLeast(9, 1)]
		check := func(name, spec string, want v1alpha1.Consistency) {
			l.Helper()
			s := l.snapshot(name, ofVMID+spec)
			l.Until(s, "it is taken", configtest.Settled(s))
			l.Restart() // The value is kept.
			l.Reconcile(s)
			if got := s.Observation().Consistency; got != want {
				l.Errorf("snapshot %s is shown as %s, want %s", name, got, want)
			}
		}
		check("off", "", v1alpha1.ConsistencyOffline)
		l.Ended(l.Client.Start(l.Context(), ref))
		check("without-agent", "", v1alpha1.ConsistencyCrash)
		agent := func(missing bool) {
			l.Edit(func(s *simulator.State) {
				s.Guests[vmid].Config["agent"], s.Guests[vmid].Agent = "1", &state.Agent{Missing: missing}
				s.Guests[vmid].Started = s.Guests[vmid].Started.Add(-time.Hour)
			})
		}
		agent(true)
		check("agent-missing", "", v1alpha1.ConsistencyCrash)
		agent(false)
		check("frozen", "", frozen)
		check("with-memory", "includeMemory: true\n", v1alpha1.ConsistencyMemory)
	})
}

// TestConsistencyUnknown checks that nothing is claimed about a snapshot that someone else has taken.
func TestConsistencyUnknown(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.taken("theirs", "")
		s, ok := l.Object("Snapshot", "mine", 1, ofVMID, map[string]string{xpmeta.AnnotationKeyExternalName: "theirs"}).(snapshot.Snapshot)
		if !ok {
			l.Fatal("it is no Snapshot")
		}
		l.Until(s, "it is adopted", configtest.Settled(s))
		if got := s.Observation().Consistency; got != v1alpha1.ConsistencyUnknown {
			l.Errorf("it is shown as %s", got)
		}
	})
}

// TestNames checks the name in the spec, and the one derived from the resource's.
func TestNames(t *testing.T) {
	everywhere(t, func(l *lab) {
		named, derived := l.snapshot("a", ofVMID+"name: Before_Upgrade"), l.snapshot("2026.a", ofVMID)
		l.Until(named, "it is taken", configtest.Settled(named))
		l.Until(derived, "it is taken", configtest.Settled(derived))
		all := l.snapshots()
		if _, ok := all["Before_Upgrade"]; !ok || len(all) != 2 || !strings.HasPrefix(xpmeta.GetExternalName(derived), "s-2026-a-") {
			l.Errorf("the names are %v", all)
		}
	})
}

func TestAlreadyExists(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.taken("mine", "")
		s := l.snapshot("mine", ofVMID)
		l.Until(s, "it is found to be somebody else's", configtest.Says(s, xpv2.TypeReady, kind.ReasonAlreadyExists, "external-name"))
		if c := s.GetCondition(kind.TypeUpToDate); c.Status != corev1.ConditionFalse {
			l.Errorf("what is not managed is not up to date: %v", c)
		}
		l.Delete(s)
		l.untouched("mine")
	})
}

// untouched checks that the provider has written nothing, and that the snapshot of someone else exists.
func (l *lab) untouched(name string) {
	l.Helper()
	if w := l.Writes(); len(w) > 0 {
		l.Errorf("the provider has written: %v", w)
	}
	if _, ok := l.snapshots()[name]; !ok {
		l.Error("somebody else's snapshot is gone")
	}
}

func TestAdopted(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.taken("theirs", "as it was")
		s, ok := l.Object("Snapshot", "mine", 1, ofVMID, map[string]string{xpmeta.AnnotationKeyExternalName: "theirs"}).(snapshot.Snapshot)
		if !ok {
			l.Fatal("it is no Snapshot")
		}
		l.Until(s, "it is adopted", configtest.Settled(s))
		l.untouched("theirs")
		if o := s.Observation(); o.Description != "as it was" || o.VMUUID != uuid {
			l.Errorf("it is shown as %+v", o)
		}
		l.ChangeSpec(s, func() { s.Parameters().Description = new("mine now") })
		l.Until(s, "it is managed", func() bool { return l.snapshots()["theirs"].Description == "mine now" && configtest.Settled(s)() })
		l.Delete(s)
		if len(l.snapshots()) > 0 {
			l.Error("an adopted snapshot is removed with its resource")
		}
	})
}

func TestObserved(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.taken("theirs", "as it was")
		s := l.snapshot("theirs", ofVMID+"description: other")
		l.ChangeSpec(s, func() { s.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
		l.Until(s, "the difference is shown", configtest.Says(s, kind.TypeUpToDate, kind.ReasonDifferent, "description"))
		if c := s.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue || s.GetAnnotations()[kind.AnnotationSnapshot] != "" {
			l.Errorf("what is there is ready to be looked at, and nothing is noted: %v", c)
		}
		l.Delete(s)
		l.untouched("theirs")
	})
}

func TestConflict(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.taken("theirs", "")
		name := map[string]string{xpmeta.AnnotationKeyExternalName: "theirs"}
		older, younger := l.Object("Snapshot", "b", 1, ofVMID, name), l.Object("Snapshot", "a", 2, ofVMID, name)
		l.Until(older, "the older one has it", configtest.Settled(older))
		l.Until(younger, "the younger one leaves it alone", configtest.Says(younger, xpv2.TypeReady, kind.ReasonOwnershipConflict, "older"))
		l.Delete(younger)
		l.untouched("theirs")
	})
}

// TestConflictOfOthers checks that a forged record of another tenant prevents no snapshot, and that a message names nothing of others.
func TestConflictOfOthers(t *testing.T) {
	l := newLab(t, configtest.Way{Scope: configtest.Scopes()["Cluster"], Version: "9.2"})
	a, b := configtest.Labelled(configtest.Team("a", vmid, vmid, "local-lvm")), configtest.Labelled(configtest.Team("b", 30000, 30099, "local-lvm"))
	configtest.SetTenants(t, l.Kube, v1alpha1.TenantRefuse, a, b)
	of := func(team string, mg resource.Managed) {
		l.Change(mg, func() { mg.SetLabels(map[string]string{"team": team}) })
	}
	forged := l.Object("Snapshot", "forged", 1, "machine: web\nname: before\n", map[string]string{
		xpmeta.AnnotationKeyReconciliationPaused: "true",
		kind.AnnotationSnapshot:                  fmt.Sprintf(`{"uuid":%q,"vmid":%d,"begun":1,"done":true,"name":"before","time":1}`, uuid, vmid),
	})
	of("b", forged)
	of("a", l.Machine(uuid))
	own := l.snapshot("own", "machine: web\nname: before\n")
	of("a", own)
	l.Until(own, "it is taken", configtest.Settled(own))
	if !own.Observation().ReadyToUse {
		t.Errorf("want a snapshot, got %+v", own.Observation())
	}
}

func TestProblems(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare func(*lab)
		spec    string
		want    xpv2.ConditionReason
		words   string
	}{
		"NoVM": {reason: "A VM that does not exist is named.", spec: "vmid: 501\nallowUnmanaged: true", want: "VMNotFound", words: "501"},
		"OtherVM": {
			reason: "A Machine's VM is known by its UUID.", prepare: func(l *lab) { l.Machine("99999999-2222-4333-8444-555555555555") },
			spec: ofMachine, want: "VMMismatch", words: "provider configuration",
		},
		"Managed": {
			reason:  "A VM that a Machine manages is the Machine's.",
			prepare: func(l *lab) { l.Machine(uuid) }, spec: ofVMID, want: "ManagedByMachine", words: "web",
		},
		"Raw": {
			reason:  "A disk without snapshots is told before.",
			prepare: func(l *lab) { l.ReplaceVM("local:1,format=raw", uuid) }, spec: ofVMID, want: "NotSupported", words: "qcow2",
		},
		"Template": {
			reason:  "A template has no snapshots.",
			prepare: func(l *lab) { l.Ended(l.Client.ConvertToTemplate(l.Context(), ref)) }, spec: ofVMID, want: "NotSupported", words: "template",
		},
		"Locked": {
			reason: "A lock is waited for.", prepare: func(l *lab) {
				l.Must(l.Client.Configure(l.Context(), ref, proxmox.Change{Set: proxmox.Params{"lock": "backup"}}))
			}, spec: ofVMID, want: "Locked", words: "backup",
		},
		"Selector": {
			reason: "Labels that no Machine has are waited for.",
			spec:   "machineSelector: {matchLabels: {app: web}}", want: "MachineNotFound", words: "labels",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(l *lab) {
				if tc.prepare != nil {
					tc.prepare(l)
				}
				s := l.snapshot("s1", tc.spec)
				l.Until(s, tc.reason, configtest.Says(s, xpv2.TypeReady, tc.want, tc.words))
				if c := s.GetCondition(kind.TypeUpToDate); c.Status != corev1.ConditionFalse || c.Reason != tc.want {
					l.Errorf("\n%s\nUpToDate is %v", tc.reason, c)
				}
				if w := l.Writes(); len(w) > 0 {
					l.Errorf("\n%s\nthe provider has tried it nevertheless: %v", tc.reason, w)
				}
				l.Delete(s)
			})
		})
	}
}

func TestDenied(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Edit(func(s *simulator.State) {
			s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true}}
		})
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "the missing privilege is named", configtest.Says(s, xpv2.TypeSynced, xpv2.ReasonReconcileError, "(/vms/500, VM.Snapshot)"))
		if w := l.Writes(); len(w) > 0 {
			l.Errorf("the provider has tried it nevertheless: %v", w)
		}
	})
}

// TestTaskFails makes tasks fail once, and checks that the failure is reported in one sentence, and the task is tried again.
func TestTaskFails(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Inject(simulator.Fault{Task: "qmsnapshot", TaskExit: "unable to save VM state and RAM - No space left on device", Count: 1})
		l.Inject(simulator.Fault{Task: "qmdelsnapshot", TaskExit: "unable to remove the volume: dataset is busy", Count: 1})
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "the full storage is told", configtest.Says(s, xpv2.TypeReady, "StorageFull", "no space is left"))
		l.Until(s, "it is taken", configtest.Settled(s))
		l.Delete(s)
		if len(l.snapshots()) > 0 {
			l.Error("the removal is tried again")
		}
		if w := l.Writes(); len(w) != 4 {
			l.Errorf("two calls each are made, got %v", w)
		}
	})
}

// TestWaitsForLock makes PVE hold the lock of the VM for a moment, as it does after a stop, and checks that this is a wait, and no failure is counted
// or reported.
func TestWaitsForLock(t *testing.T) {
	everywhere(t, func(l *lab) {
		for _, task := range []string{"qmsnapshot", "qmdelsnapshot"} {
			l.Inject(simulator.Fault{Task: task, TaskExit: noLock, Count: 2})
		}
		s := l.snapshot("s1", ofVMID+"description: one")
		l.Until(s, "the lock is waited for", configtest.Says(s, xpv2.TypeReady, "Locked", "holds the lock of the VM", "taken then"))
		if strings.Contains(s.GetAnnotations()[kind.AnnotationSnapshot], "failures") {
			l.Error("no failure is counted")
		}
		l.Until(s, "it is taken", configtest.Settled(s))
		l.Inject(simulator.Fault{Method: http.MethodPut, Path: "/nodes/pve1/qemu/500/snapshot/s1/config", Status: 500, Message: noLock, Count: 1})
		l.ChangeSpec(s, func() { s.Parameters().Description = new("two") })
		l.Until(s, "the lock is waited for", configtest.Says(s, kind.TypeUpToDate, "Locked", "holds the lock of the VM"))
		if synced := s.GetCondition(xpv2.TypeSynced); synced.Status != corev1.ConditionTrue {
			l.Errorf("a wait is no error, got %s", synced.Message)
		}
		l.Until(s, "it is changed", configtest.Settled(s))
		l.StartDelete(s)
		l.Until(s, "the lock is waited for", configtest.Says(s, xpv2.TypeReady, "Deleting", "holds the lock of the VM", "removed then"))
		l.Delete(s)
		if len(l.snapshots()) > 0 {
			l.Error("the removal is tried again")
		}
		if w := l.Writes(); len(w) != 8 {
			l.Errorf("want three calls to take it, two to change it and three to remove it, got %v", w)
		}
	})
}

// TestLockStays holds the lock of the VM for longer, and checks that this is reported.
func TestLockStays(t *testing.T) {
	l := here(t)
	l.Inject(simulator.Fault{Task: "qmsnapshot", TaskExit: noLock})
	s := l.snapshot("s1", ofVMID)
	l.Until(s, "it is a failure after half a minute", configtest.Says(s, xpv2.TypeReady, "Locked", "could not be taken", "is locked by something else"))
}

// noLock is the exit status of a task of VM 500 that did not get the lock of its file.
const noLock = "can't lock file '/var/lock/qemu-server/lock-500.conf' - got timeout"

// TestNoRoom makes a storage that allocates all of the memory when its volume is created too small, and checks that this is reported before anything
// is tried.
func TestNoRoom(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Edit(func(s *simulator.State) {
			s.Storages["small"] = &state.Storage{ID: "small", Type: "lvm", Content: []string{"images"}, Total: 100 << 20}
			s.Guests[vmid].Config["vmstatestorage"] = "small"
		})
		l.Ended(l.Client.Start(l.Context(), ref))
		s := l.snapshot("s1", ofVMID+"includeMemory: true")
		l.Until(s, "it is told", configtest.Says(s, xpv2.TypeReady, "StorageFull", `takes 628M on storage "small", which has 100M left`))
		if w := l.Writes(); len(w) > 0 {
			l.Errorf("nothing is tried, got %v", w)
		}
		l.Edit(func(s *simulator.State) { s.Storages["small"].Total = 100 << 30 })
		l.Until(s, "it is taken", configtest.Settled(s))
		l.Delete(s)
	})
}

// TestFullStorage fills the storage for the memory, which only the task finds out. It checks that this is reported, nothing is left, and the snapshot
// is taken once there is room.
func TestFullStorage(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Edit(func(s *simulator.State) {
			s.Storages["small"] = &state.Storage{ID: "small", Type: "zfspool", Content: []string{"images"}, Total: 100 << 20}
			s.Guests[vmid].Config["vmstatestorage"] = "small"
		})
		l.Ended(l.Client.Start(l.Context(), ref))
		s := l.snapshot("s1", ofVMID+"includeMemory: true")
		l.Until(s, "the full storage is told", configtest.Says(s, xpv2.TypeReady, "StorageFull", "no space is left"))
		l.Edit(func(s *simulator.State) {
			if g := s.Guests[vmid]; len(g.Snapshots) > 0 || g.Config["lock"] != "" {
				l.Errorf("nothing is left of it, got %v and the lock %q", g.Snapshots, g.Config["lock"])
			}
			s.Storages["small"].Total = 100 << 30
		})
		l.Until(s, "it is taken", configtest.Settled(s))
		l.Delete(s)
	})
}

// TestLeftHalfWay kills a task that takes or removes a snapshot, and checks that this is reported with the remedy, and nothing is tried meanwhile.
func TestLeftHalfWay(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "it is taken", configtest.Settled(s))
		died := func(lock, as string) {
			l.Edit(func(st *simulator.State) {
				st.Guests[vmid].Config["lock"], st.Guests[vmid].Snapshots["s1"].State = lock, as
				if lock == "" {
					delete(st.Guests[vmid].Config, "lock")
				}
			})
			l.Restart() // Cached lists are read again.
		}
		died("snapshot-delete", "delete")
		l.Until(s, "it is told", configtest.Says(s, xpv2.TypeReady, "Incomplete", "snapstate delete", "qm unlock 500", "qm delsnapshot 500 s1 --force"))
		if w := l.Writes(); len(w) != 1 {
			l.Errorf("nothing is tried, got %v", w)
		}
		died("", "")
		l.Until(s, "it is whole", configtest.Settled(s))
		died("backup", "")
		l.Must(l.Kube.Delete(l.Context(), s))
		for range 3 {
			l.Reconcile(s)
		}
		if w := l.Writes(); len(w) != 1 || len(l.snapshots()) != 1 {
			l.Errorf("a VM that is locked is left alone, got %v", w)
		}
		died("", "")
		l.Delete(s)
		if len(l.snapshots()) > 0 {
			l.Error("it is removed then")
		}
	})
}

// TestInUse checks that a snapshot stays while a VM is being put back to it, or is to be, and is removed afterwards.
func TestInUse(t *testing.T) {
	everywhere(t, func(l *lab) {
		m := l.Machine(uuid)
		s := l.snapshot("s1", ofMachine)
		l.Until(s, "it is taken", configtest.Settled(s))
		ask := func(r *v1alpha1.MachineRollback) {
			l.Helper()
			m.Parameters().Rollback = r
			l.Must(l.Kube.Update(l.Context(), m))
		}
		report := func(state v1alpha1.MachineActState) {
			l.Helper()
			m.Observation().Rollback = &v1alpha1.MachineRollbackObservation{Token: "1", Snapshot: "s1", State: state}
			l.Must(l.Kube.Status().Update(l.Context(), m))
		}
		held := func(while string) {
			l.Helper()
			l.Until(s, while, configtest.Says(s, xpv2.TypeSynced, xpv2.ReasonReconcileError, "snapshot s1 is used by rollback of Machine"))
			if w := l.Writes(); len(w) != 1 || len(l.snapshots()) != 1 {
				l.Errorf("the removal is not tried, got %v", w)
			}
		}
		ask(&v1alpha1.MachineRollback{Token: "1", Snapshot: "s1"})
		l.StartDelete(s)
		held("a rollback to it is asked for")
		report(v1alpha1.ActPending)
		ask(nil)
		held("the rollback has begun")
		report(v1alpha1.ActSucceeded)
		l.Until(s, gone, func() bool { return false })
		if len(l.snapshots()) > 0 {
			l.Error("it is removed then")
		}
	})
}

// TestUnused checks that a snapshot is removed if no VM is put back to it.
func TestUnused(t *testing.T) {
	cases := map[string]struct {
		reason string
		uuid   string
		back   v1alpha1.MachineRollback
		shown  v1alpha1.MachineActState
	}{
		"Other": {reason: "Another snapshot of the VM is not this one.", uuid: uuid, back: v1alpha1.MachineRollback{Token: "1", Snapshot: "s2"}},
		"OtherVM": {
			reason: "Another VM has other snapshots.", uuid: "99999999-2222-4333-8444-555555555555",
			back: v1alpha1.MachineRollback{Token: "1", Snapshot: "s1"},
		},
		"Done": {reason: "What was done is over.", uuid: uuid, back: v1alpha1.MachineRollback{Token: "1", Snapshot: "s1"}, shown: v1alpha1.ActFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			s := l.snapshot("s1", ofVMID)
			l.Until(s, "it is taken", configtest.Settled(s))
			m := l.Machine("")
			m.Parameters().Rollback = &tc.back
			l.Must(l.Kube.Update(l.Context(), m))
			if tc.shown != "" {
				m.Observation().Rollback = &v1alpha1.MachineRollbackObservation{Token: "1", Snapshot: "s1", State: tc.shown}
			}
			l.HasVM(m, tc.uuid)
			l.Delete(s)
			if len(l.snapshots()) > 0 {
				l.Error(tc.reason)
			}
		})
	}
}

// TestLostAnswer loses the call, and then its answer.
func TestLostAnswer(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutAfter: true, Count: 1})
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "it is taken", configtest.Settled(s))
		if w := l.Writes(); len(w) != 2 || len(l.snapshots()) != 1 {
			l.Errorf("want one call that was lost and one whose answer was, got %v", w)
		}
		l.Inject(simulator.Fault{Method: http.MethodDelete, Path: path + "/s1", CutAfter: true, Count: 1})
		l.Delete(s)
		if w := l.Writes(); len(w) != 3 || len(l.snapshots()) > 0 {
			l.Errorf("want it removed once, got %v", w)
		}
	})
}

// TestLostLate lets a call whose answer was lost be carried out after it was repeated, and refused. What it has taken is ours.
func TestLostLate(t *testing.T) {
	everywhere(t, func(l *lab) {
		own, err := proxmox.New(proxmox.Config{
			Endpoints: []string{l.URL()}, TLS: proxmox.TLS{CA: l.CA()},
			Credentials: proxmox.Credentials{TokenID: simulatortest.TestToken, TokenSecret: simulatortest.TestSecret},
		})
		l.Must(err)
		l.Cleanup(own.Close)
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, Status: http.StatusInternalServerError, Message: "no such luck", Count: 1})
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "it is tried again", func() bool { return len(l.Writes()) == 2 })
		l.Succeeded(own.TakeSnapshot(l.Context(), ref, proxmox.SnapshotOptions{Name: "s1"}))
		before := len(l.Writes())
		l.Until(s, "it is found", configtest.Settled(s))
		if len(l.Writes()) != before {
			l.Errorf("want no other call, got %v", l.Writes())
		}
		l.Delete(s)
		if len(l.snapshots()) > 0 {
			l.Error("what was taken is removed")
		}
	})
}

// TestLostAndRefused lets a call be refused that was repeated after its answer was lost, while someone else takes another snapshot of the name. Once
// no earlier call can take it, that snapshot can be adopted.
func TestLostAndRefused(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, Status: http.StatusInternalServerError, Message: "no such luck", Count: 1})
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "it is tried again", func() bool { return len(l.Writes()) == 2 })
		l.taken("s1", "")
		l.Until(s, "it is somebody else's", configtest.Says(s, xpv2.TypeReady, kind.ReasonAlreadyExists))
		before := len(l.Writes())
		l.ChangeSpec(s, func() { xpmeta.SetExternalName(s, "s1") })
		l.Until(s, "it is adopted", configtest.Settled(s))
		if len(l.Writes()) != before {
			l.Errorf("want no other call, got %v", l.Writes())
		}
	})
}

// TestLostToOthers lets others take a snapshot of the same name while ours is lost.
func TestLostToOthers(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "it is tried", func() bool { return len(l.Writes()) > 0 })
		l.taken("s1", "")
		l.Until(s, "it is found to be somebody else's", configtest.Says(s, xpv2.TypeReady, kind.ReasonAlreadyExists))
		before := len(l.Writes())
		l.Delete(s)
		if len(l.Writes()) != before || len(l.snapshots()) != 1 {
			l.Errorf("somebody else's snapshot is touched: %v", l.Writes())
		}
	})
}

// TestGone checks that a snapshot that others have removed is not taken again.
func TestGone(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "it is taken", configtest.Settled(s))
		before := len(l.Writes())
		l.Ended(l.Client.RemoveSnapshot(l.Context(), ref, "s1"))
		l.Until(s, "it is gone", configtest.Says(s, xpv2.TypeReady, "Gone"))
		l.ChangeSpec(s, func() { s.Parameters().Description = new("new") })
		for range 5 {
			l.Reconcile(s)
			l.Clock.Pass(time.Hour)
		}
		if len(l.snapshots()) > 0 || len(l.Writes()) != before {
			l.Errorf("it is not taken again: %v", l.Writes())
		}
		l.Delete(s)
	})
}

// TestReplacedVM checks that a snapshot of the name, of another VM with the VMID, is not ours.
func TestReplacedVM(t *testing.T) {
	for name, other := range map[string]string{"SameUUID": uuid, "OtherUUID": "99999999-2222-4333-8444-555555555555"} {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			s := l.snapshot("s1", ofVMID)
			l.Until(s, "it is taken", configtest.Settled(s))
			taken := l.snapshots()["s1"].Time
			l.ReplaceVM("local-lvm:1", other)
			for l.taken("s1", ""); l.snapshots()["s1"].Time.Equal(taken); l.taken("s1", "") { // Times are whole seconds.
				l.Ended(l.Client.RemoveSnapshot(l.Context(), ref, "s1"))
			}
			before := len(l.Writes())
			l.Until(s, "it is somebody else's", configtest.Says(s, xpv2.TypeReady, kind.ReasonAlreadyExists))
			l.Delete(s)
			if len(l.Writes()) != before || len(l.snapshots()) != 1 {
				t.Errorf("the other VM's snapshot is touched: %v", l.Writes())
			}
		})
	}
}

// TestGoneWithVM removes the VM, and with it the snapshot.
func TestGoneWithVM(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "it is taken", configtest.Settled(s))
		l.Ended(l.Client.Delete(l.Context(), ref, proxmox.DeleteOptions{}))
		l.Until(s, "it is gone", configtest.Says(s, xpv2.TypeReady, "Gone"))
		before := len(l.Writes())
		l.Delete(s)
		if len(l.Writes()) != before {
			l.Errorf("there is nothing to remove: %v", l.Writes())
		}
	})
}

func TestRetained(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("s1", ofVMID+"removalPolicy: Retain")
		l.Until(s, "it is taken", configtest.Settled(s))
		holds := kind.Holds{Reader: l.Kube, Lists: l.Scope.Lists("Snapshot")}
		want := strings.TrimPrefix(client.ObjectKeyFromObject(s).String(), "/")
		if names, err := holds.Of(l.Context(), uuid); err != nil || !slices.Equal(names, []string{want}) {
			l.Errorf("the Snapshot holds up the removal of its VM, got %q and %v", names, err)
		}
		l.Delete(s)
		if _, ok := l.snapshots()["s1"]; !ok {
			l.Error("a retained snapshot stays")
		}
		if names, err := holds.Of(l.Context(), uuid); err != nil || len(names) > 0 {
			l.Errorf("without its resource it holds up nothing, got %q and %v", names, err)
		}
	})
}

// TestLostAnnotations removes the annotations of a Snapshot, as a full update by its manifest does.
func TestLostAnnotations(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("s1", ofVMID+"removalPolicy: Retain")
		l.Until(s, "it is taken", configtest.Settled(s))
		l.Reconcile(s)
		had, before := s.GetAnnotations(), len(l.Writes())
		l.ChangeSpec(s, func() { s.SetAnnotations(nil) })
		holds := kind.Holds{Reader: l.Kube, Lists: l.Scope.Lists("Snapshot")}
		if names, err := holds.Of(l.Context(), uuid); err != nil || len(names) != 1 {
			l.Errorf("the Snapshot holds up the removal of its VM all the time, got %q and %v", names, err)
		}
		l.Until(s, "it is known again", configtest.Settled(s))
		for _, name := range []string{kind.AnnotationSnapshot, kind.AnnotationCluster, xpmeta.AnnotationKeyExternalName} {
			if is := s.GetAnnotations()[name]; is == "" || is != had[name] {
				l.Errorf("annotation %s is %q, and was %q", name, is, had[name])
			}
		}
		l.ChangeSpec(s, func() { s.SetAnnotations(nil); s.Parameters().RemovalPolicy = nil })
		if len(l.Writes()) != before {
			l.Errorf("nothing is written: %v", l.Writes()[before:])
		}
		l.Delete(s)
		if all := l.snapshots(); len(all) > 0 {
			l.Errorf("what was taken is removed with the resource: %v", all)
		}
	})
}

// TestLostAnnotationsGone removes the annotations of a Snapshot whose snapshot others have removed.
func TestLostAnnotationsGone(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("s1", ofVMID)
		l.Until(s, "it is taken", configtest.Settled(s))
		l.Ended(l.Client.RemoveSnapshot(l.Context(), ref, "s1"))
		l.Until(s, "it is gone", configtest.Says(s, xpv2.TypeReady, "Gone"))
		before := len(l.Writes())
		l.ChangeSpec(s, func() { s.SetAnnotations(nil) })
		for range 5 {
			l.Reconcile(s)
			l.Clock.Pass(time.Hour)
		}
		if !configtest.Says(s, xpv2.TypeReady, "Gone")() || len(l.Writes()) != before || len(l.snapshots()) > 0 {
			l.Errorf("it is not taken again: %v, %v", s.GetCondition(xpv2.TypeReady), l.Writes()[before:])
		}
	})
}

// TestKilled kills the provider at each side effect from the creation to the removal.
func TestKilled(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		for fatal := 1; ; fatal++ {
			l.KillAfter(fatal)
			l.ClearRequests()
			s := l.snapshot("s1", ofMachine)
			l.Until(s, "it is taken", configtest.Settled(s))
			l.ChangeSpec(s, func() { s.Parameters().Description = new("after") })
			l.Until(s, "it is described", func() bool { return l.snapshots()["s1"].Description == "after" && configtest.Settled(s)() })
			l.Delete(s)
			if all := l.snapshots(); len(all) > 0 {
				l.Fatalf("killed at side effect %d: left are %v", fatal, all)
			}
			taken := 0
			for _, w := range l.Writes() {
				if w == http.MethodPost+" "+path {
					taken++
				}
			}
			if taken != 1 {
				l.Errorf("killed at side effect %d: it is taken %d times: %v", fatal, taken, l.Writes())
			}
			if l.Deaths == 0 {
				l.Logf("%d side effects", fatal-1)
				return
			}
		}
	})
}

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
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/snapshot"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

const (
	ofMachine = "machine: web\ndescription: before the upgrade\n"
	ofVMID    = "vmid: 500\nallowUnmanaged: true\n"
	path      = "/nodes/pve1/qemu/500/snapshot"
)

// TestLife has a Snapshot wait for its Machine without a call, then taken, described anew and
// removed.
func TestLife(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("before-upgrade", ofMachine)
		l.until(s, "it waits for the Machine", says(s, xpv2.TypeReady, "MachineNotFound", `"web"`))
		m := l.machine("")
		l.until(s, "it waits for the VM", says(s, xpv2.TypeReady, "MachineNotReady"))
		if r := l.pve.Requests(); slices.ContainsFunc(r, func(r simulator.Request) bool { return strings.HasPrefix(r.User, "crossplane@pve") }) {
			l.Errorf("waiting costs no call")
		}
		l.hasVM(m, uuid)
		l.until(s, "it is taken", settled(s))
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
		l.change(s, func() { s.Parameters().Description = new("") })
		l.until(s, "the description is changed", func() bool { return l.snapshots()["before-upgrade"].Description == "" && settled(s)() })
		l.delete(s)
		if all := l.snapshots(); len(all) > 0 {
			l.Errorf("left: %v", all)
		}
	})
}

// quiet checks that a resource that is as it should be costs no write.
func (l *lab) quiet(s snapshot.Snapshot) {
	l.Helper()
	l.reconcile(s) // It shows what the last change has brought.
	before, version := len(l.writes()), s.GetResourceVersion()
	for range 3 {
		l.reconcile(s)
	}
	if after := l.writes(); len(after) != before || s.GetResourceVersion() != version {
		l.Errorf("an unchanged resource costs writes: %v", after[before:])
	}
}

func TestTree(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	first, second := l.snapshot("one", "machine: web"), l.snapshot("two-of-them", "machine: web")
	l.until(first, "the first is taken", settled(first))
	l.until(second, "the second is taken", settled(second))
	l.until(first, "the first is current no more", func() bool { return !first.Observation().Current })
	if o := second.Observation(); o.Parent != "one" || !o.Current || first.Observation().Parent != "" {
		t.Errorf("the tree is shown as %+v and %+v", first.Observation(), o)
	}
	l.delete(first)
	l.until(second, "it has no parent any more", func() bool { return second.Observation().Parent == "" && settled(second)() })
}

func TestMemory(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("with-memory", ofVMID+"includeMemory: true")
		l.until(s, "it waits for the VM to run", says(s, xpv2.TypeReady, "NotRunning"))
		l.ended(l.root.Start(l.Context(), ref))
		l.until(s, "it is taken", settled(s))
		o := s.Observation()
		if !l.snapshots()["with-memory"].Memory || !o.IncludesMemory || o.Size == nil || *o.Size < 2*64<<20 {
			l.Errorf("the memory is shown as %t of %v bytes", o.IncludesMemory, o.Size)
		}
		l.delete(s)
	})
}

// TestNames has the name of the spec, or one made of the resource's.
func TestNames(t *testing.T) {
	l := here(t)
	named, derived := l.snapshot("a", ofVMID+"name: Before_Upgrade"), l.snapshot("2026.a", ofVMID)
	l.until(named, "it is taken", settled(named))
	l.until(derived, "it is taken", settled(derived))
	all := l.snapshots()
	if _, ok := all["Before_Upgrade"]; !ok || len(all) != 2 || !strings.HasPrefix(xpmeta.GetExternalName(derived), "s-2026-a-") {
		t.Errorf("the names are %v", all)
	}
}

func TestAlreadyExists(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.taken("mine", "")
		s := l.snapshot("mine", ofVMID)
		l.until(s, "it is found to be somebody else's", says(s, xpv2.TypeReady, kind.ReasonAlreadyExists, "external-name"))
		if c := s.GetCondition(kind.TypeUpToDate); c.Status != corev1.ConditionFalse {
			l.Errorf("what is not managed is not up to date: %v", c)
		}
		l.delete(s)
		l.untouched("mine")
	})
}

// untouched checks that the provider has written nothing, and that somebody else's snapshot
// is there.
func (l *lab) untouched(name string) {
	l.Helper()
	if w := l.writes(); len(w) > 0 {
		l.Errorf("the provider has written: %v", w)
	}
	if _, ok := l.snapshots()[name]; !ok {
		l.Error("somebody else's snapshot is gone")
	}
}

func TestAdopted(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.taken("theirs", "as it was")
		s, ok := l.object("Snapshot", "mine", 1, ofVMID, map[string]string{xpmeta.AnnotationKeyExternalName: "theirs"}).(snapshot.Snapshot)
		if !ok {
			l.Fatal("it is no Snapshot")
		}
		l.until(s, "it is adopted", settled(s))
		l.untouched("theirs")
		if o := s.Observation(); o.Description != "as it was" || o.VMUUID != uuid {
			l.Errorf("it is shown as %+v", o)
		}
		l.change(s, func() { s.Parameters().Description = new("mine now") })
		l.until(s, "it is managed", func() bool { return l.snapshots()["theirs"].Description == "mine now" && settled(s)() })
		l.delete(s)
		if len(l.snapshots()) > 0 {
			l.Error("an adopted snapshot is removed with its resource")
		}
	})
}

func TestObserved(t *testing.T) {
	l := here(t)
	l.taken("theirs", "as it was")
	s := l.snapshot("theirs", ofVMID+"description: other")
	l.change(s, func() { s.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
	l.until(s, "the difference is shown", says(s, kind.TypeUpToDate, kind.ReasonDifferent, "description"))
	if c := s.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue || s.GetAnnotations()[kind.AnnotationSnapshot] != "" {
		t.Errorf("what is there is ready to be looked at, and nothing is noted: %v", c)
	}
	l.delete(s)
	l.untouched("theirs")
}

func TestConflict(t *testing.T) {
	l := here(t)
	l.taken("theirs", "")
	name := map[string]string{xpmeta.AnnotationKeyExternalName: "theirs"}
	older, younger := l.object("Snapshot", "b", 1, ofVMID, name), l.object("Snapshot", "a", 2, ofVMID, name)
	l.until(older, "the older one has it", settled(older))
	l.until(younger, "the younger one leaves it alone", says(younger, xpv2.TypeReady, kind.ReasonOwnershipConflict, "older"))
	l.delete(younger)
	l.untouched("theirs")
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
			reason: "A Machine's VM is known by its UUID.", prepare: func(l *lab) { l.machine("99999999-2222-4333-8444-555555555555") },
			spec: ofMachine, want: "VMMismatch", words: "provider configuration",
		},
		"Managed": {
			reason:  "A VM that a Machine manages is the Machine's.",
			prepare: func(l *lab) { l.machine(uuid) }, spec: ofVMID, want: "ManagedByMachine", words: "web",
		},
		"Raw": {
			reason:  "A disk without snapshots is told before.",
			prepare: func(l *lab) { l.replace("local:1,format=raw", uuid) }, spec: ofVMID, want: "NotSupported", words: "qcow2",
		},
		"Template": {
			reason:  "A template has no snapshots.",
			prepare: func(l *lab) { l.ended(l.root.ConvertToTemplate(l.Context(), ref)) }, spec: ofVMID, want: "NotSupported", words: "template",
		},
		"Locked": {
			reason: "A lock is waited for.", prepare: func(l *lab) {
				l.must(l.root.Configure(l.Context(), ref, proxmox.Change{Set: proxmox.Params{"lock": "backup"}}))
			}, spec: ofVMID, want: "Locked", words: "backup",
		},
		"Selector": {
			reason: "Labels that no Machine has are waited for.",
			spec:   "machineSelector: {matchLabels: {app: web}}", want: "MachineNotFound", words: "labels",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			if tc.prepare != nil {
				tc.prepare(l)
			}
			s := l.snapshot("s1", tc.spec)
			l.until(s, tc.reason, says(s, xpv2.TypeReady, tc.want, tc.words))
			if c := s.GetCondition(kind.TypeUpToDate); c.Status != corev1.ConditionFalse || c.Reason != tc.want {
				t.Errorf("\n%s\nUpToDate is %v", tc.reason, c)
			}
			if w := l.writes(); len(w) > 0 {
				t.Errorf("\n%s\nthe provider has tried it nevertheless: %v", tc.reason, w)
			}
			l.delete(s)
		})
	}
}

func TestDenied(t *testing.T) {
	l := here(t)
	l.pve.Edit(func(s *simulator.State) {
		s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true}}
	})
	s := l.snapshot("s1", ofVMID)
	l.until(s, "the missing privilege is named", says(s, xpv2.TypeSynced, xpv2.ReasonReconcileError, "(/vms/500, VM.Snapshot)"))
	if w := l.writes(); len(w) > 0 {
		t.Errorf("the provider has tried it nevertheless: %v", w)
	}
}

// TestTaskFails has tasks fail once: what failed is told in one sentence, and tried again.
func TestTaskFails(t *testing.T) {
	l := here(t)
	l.pve.Inject(simulator.Fault{Task: "qmsnapshot", TaskExit: "unable to save VM state and RAM - No space left on device", Count: 1})
	l.pve.Inject(simulator.Fault{Task: "qmdelsnapshot", TaskExit: "can't lock file '/var/lock/qemu-server/lock-500.conf' - got timeout", Count: 1})
	s := l.snapshot("s1", ofVMID)
	l.until(s, "the full storage is told", says(s, xpv2.TypeReady, "StorageFull", "no space is left"))
	l.until(s, "it is taken", settled(s))
	l.delete(s)
	if len(l.snapshots()) > 0 {
		t.Error("the removal is tried again")
	}
	if w := l.writes(); len(w) != 4 {
		t.Errorf("two calls each are made, got %v", w)
	}
}

// TestLostAnswer loses the call, and then its answer.
func TestLostAnswer(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
		l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutAfter: true, Count: 1})
		s := l.snapshot("s1", ofVMID)
		l.until(s, "it is taken", settled(s))
		if w := l.writes(); len(w) != 2 || len(l.snapshots()) != 1 {
			l.Errorf("want one call that was lost and one whose answer was, got %v", w)
		}
		l.pve.Inject(simulator.Fault{Method: http.MethodDelete, Path: path + "/s1", CutAfter: true, Count: 1})
		l.delete(s)
		if w := l.writes(); len(w) != 3 || len(l.snapshots()) > 0 {
			l.Errorf("want it removed once, got %v", w)
		}
	})
}

// TestLostToOthers has others take a snapshot of the same name while ours is lost.
func TestLostToOthers(t *testing.T) {
	l := here(t)
	l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
	s := l.snapshot("s1", ofVMID)
	l.until(s, "it is tried", func() bool { return len(l.writes()) > 0 })
	l.taken("s1", "")
	l.until(s, "it is found to be somebody else's", says(s, xpv2.TypeReady, kind.ReasonAlreadyExists))
	before := len(l.writes())
	l.delete(s)
	if len(l.writes()) != before || len(l.snapshots()) != 1 {
		t.Errorf("somebody else's snapshot is touched: %v", l.writes())
	}
}

// TestGone has a snapshot removed by others: it is not taken again.
func TestGone(t *testing.T) {
	l := here(t)
	s := l.snapshot("s1", ofVMID)
	l.until(s, "it is taken", settled(s))
	before := len(l.writes())
	l.ended(l.root.RemoveSnapshot(l.Context(), ref, "s1"))
	l.until(s, "it is gone", says(s, xpv2.TypeReady, "Gone"))
	l.change(s, func() { s.Parameters().Description = new("new") })
	for range 5 {
		l.reconcile(s)
		l.clock.pass(time.Hour)
	}
	if len(l.snapshots()) > 0 || len(l.writes()) != before {
		t.Errorf("it is not taken again: %v", l.writes())
	}
	l.delete(s)
}

// TestReplacedVM has another VM with the VMID and a snapshot of the name: it is not ours.
func TestReplacedVM(t *testing.T) {
	for name, other := range map[string]string{"SameUUID": uuid, "OtherUUID": "99999999-2222-4333-8444-555555555555"} {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			s := l.snapshot("s1", ofVMID)
			l.until(s, "it is taken", settled(s))
			taken := l.snapshots()["s1"].Time
			l.replace("local-lvm:1", other)
			for l.taken("s1", ""); l.snapshots()["s1"].Time.Equal(taken); l.taken("s1", "") { // Times are whole seconds.
				l.ended(l.root.RemoveSnapshot(l.Context(), ref, "s1"))
			}
			before := len(l.writes())
			l.until(s, "it is somebody else's", says(s, xpv2.TypeReady, kind.ReasonAlreadyExists))
			l.delete(s)
			if len(l.writes()) != before || len(l.snapshots()) != 1 {
				t.Errorf("the other VM's snapshot is touched: %v", l.writes())
			}
		})
	}
}

// TestGoneWithVM has the VM removed: the snapshot went with it.
func TestGoneWithVM(t *testing.T) {
	l := here(t)
	s := l.snapshot("s1", ofVMID)
	l.until(s, "it is taken", settled(s))
	l.ended(l.root.Delete(l.Context(), ref, proxmox.DeleteOptions{}))
	l.until(s, "it is gone", says(s, xpv2.TypeReady, "Gone"))
	before := len(l.writes())
	l.delete(s)
	if len(l.writes()) != before {
		t.Errorf("there is nothing to remove: %v", l.writes())
	}
}

func TestRetained(t *testing.T) {
	l := here(t)
	s := l.snapshot("s1", ofVMID+"removalPolicy: Retain")
	l.until(s, "it is taken", settled(s))
	holds := kind.Holds{Reader: l.kube, Lists: l.scope.Lists("Snapshot")}
	if names, err := holds.Of(l.Context(), uuid); err != nil || !slices.Equal(names, []string{"team/s1"}) {
		t.Errorf("the Snapshot holds up the removal of its VM, got %q and %v", names, err)
	}
	l.delete(s)
	if _, ok := l.snapshots()["s1"]; !ok {
		t.Error("a retained snapshot stays")
	}
	if names, err := holds.Of(l.Context(), uuid); err != nil || len(names) > 0 {
		t.Errorf("without its resource it holds up nothing, got %q and %v", names, err)
	}
}

// TestLostAnnotations takes the annotations of a Snapshot away, as a full update by its
// manifest does.
func TestLostAnnotations(t *testing.T) {
	everywhere(t, func(l *lab) {
		s := l.snapshot("s1", ofVMID+"removalPolicy: Retain")
		l.until(s, "it is taken", settled(s))
		l.reconcile(s)
		had, before := s.GetAnnotations(), len(l.writes())
		l.change(s, func() { s.SetAnnotations(nil) })
		holds := kind.Holds{Reader: l.kube, Lists: l.scope.Lists("Snapshot")}
		if names, err := holds.Of(l.Context(), uuid); err != nil || len(names) != 1 {
			l.Errorf("the Snapshot holds up the removal of its VM all the time, got %q and %v", names, err)
		}
		l.until(s, "it is known again", settled(s))
		for _, name := range []string{kind.AnnotationSnapshot, kind.AnnotationCluster, xpmeta.AnnotationKeyExternalName} {
			if is := s.GetAnnotations()[name]; is == "" || is != had[name] {
				l.Errorf("annotation %s is %q, and was %q", name, is, had[name])
			}
		}
		l.change(s, func() { s.SetAnnotations(nil); s.Parameters().RemovalPolicy = nil })
		if len(l.writes()) != before {
			l.Errorf("nothing is written: %v", l.writes()[before:])
		}
		l.delete(s)
		if all := l.snapshots(); len(all) > 0 {
			l.Errorf("what was taken is removed with the resource: %v", all)
		}
	})
}

// TestLostAnnotationsGone takes the annotations away of a Snapshot that others have removed.
func TestLostAnnotationsGone(t *testing.T) {
	l := here(t)
	s := l.snapshot("s1", ofVMID)
	l.until(s, "it is taken", settled(s))
	l.ended(l.root.RemoveSnapshot(l.Context(), ref, "s1"))
	l.until(s, "it is gone", says(s, xpv2.TypeReady, "Gone"))
	before := len(l.writes())
	l.change(s, func() { s.SetAnnotations(nil) })
	for range 5 {
		l.reconcile(s)
		l.clock.pass(time.Hour)
	}
	if !says(s, xpv2.TypeReady, "Gone")() || len(l.writes()) != before || len(l.snapshots()) > 0 {
		t.Errorf("it is not taken again: %v, %v", s.GetCondition(xpv2.TypeReady), l.writes()[before:])
	}
}

// TestKilled has the provider die at each side effect from the creation to the removal.
func TestKilled(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	for fatal := 1; ; fatal++ {
		l.fatal, l.deaths, l.provider = fatal, 0, nil
		l.pve.ClearRequests()
		s := l.snapshot("s1", ofMachine)
		l.until(s, "it is taken", settled(s))
		l.change(s, func() { s.Parameters().Description = new("after") })
		l.until(s, "it is described", func() bool { return l.snapshots()["s1"].Description == "after" && settled(s)() })
		l.delete(s)
		if all := l.snapshots(); len(all) > 0 {
			t.Fatalf("killed at side effect %d: left are %v", fatal, all)
		}
		taken := 0
		for _, w := range l.writes() {
			if w == http.MethodPost+" "+path {
				taken++
			}
		}
		if taken != 1 {
			t.Errorf("killed at side effect %d: it is taken %d times: %v", fatal, taken, l.writes())
		}
		if l.deaths == 0 {
			t.Logf("%d side effects", fatal-1)
			return
		}
	}
}

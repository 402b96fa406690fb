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

package backup_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/backup"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

const (
	spec    = "machine: web\nstorage: nas\n"
	removed = spec + "removalPolicy: Delete\n"
	path    = "/nodes/pve1/vzdump"
)

// TestLife has a Backup wait for its Machine without a call, then made, changed and removed.
func TestLife(t *testing.T) {
	everywhere(t, func(l *lab) {
		b := l.backup("nightly", removed+"notes: |-\n  before the upgrade\n  of web\nprotected: true\n")
		l.change(b, func() { b.Parameters().RemovalPolicy = new(v1alpha1.BackupRetain) })
		l.until(b, "it waits for the Machine", says(b, xpv2.TypeReady, "MachineNotFound", `"web"`))
		m := l.machine("")
		l.until(b, "it waits for the VM", says(b, xpv2.TypeReady, "MachineNotReady"))
		if r := l.pve.Requests(); slices.ContainsFunc(r, func(r simulator.Request) bool { return strings.HasPrefix(r.User, "crossplane@pve") }) {
			l.Errorf("waiting costs no call")
		}
		l.hasVM(m, uuid)
		l.until(b, "it is made", settled(b))
		is, o := l.only(), b.Observation()
		if o.State != v1alpha1.BackupComplete || o.Volume != is.ID || *o.Size != is.Size || !o.Time.Time.Equal(time.Unix(is.Changed, 0)) ||
			!o.Protected || o.Notes != "before the upgrade" || *o.VMID != vmid || o.VMUUID != uuid || o.Format != "vma.zst" || o.Verified != nil {
			l.Errorf("the backup is %+v, and shown as %+v", is, o)
		}
		if name := xpmeta.GetExternalName(b); name != is.ID {
			l.Errorf("the external name is %q", name)
		}
		notes, err := l.root.VolumeNotes(l.Context(), "pve1", is.ID)
		if err != nil || notes != "before the upgrade\nof web\nprovider-proxmox: Backupnightly" {
			l.Errorf("the notes are %q, %v", notes, err)
		}
		l.quiet(b)
		l.change(b, func() { b.Parameters().Notes, b.Parameters().Protected = new("after"), new(false) })
		l.until(b, "it is changed", func() bool { v := l.only(); return v.Notes == "after" && !v.Protected && settled(b)() })
		l.change(b, func() { b.Parameters().RemovalPolicy = new(v1alpha1.BackupDelete) })
		l.delete(b)
		if all := l.volumes("nas"); len(all) > 0 {
			l.Errorf("left: %v", all)
		}
		if n := len(l.writes()); n != 3 {
			l.Errorf("it is made, changed and removed by one call each, got %v", l.writes())
		}
	})
}

// quiet checks that a resource that is as it should be costs no write.
func (l *lab) quiet(b backup.Backup) {
	l.Helper()
	l.reconcile(b) // It shows what the last change has brought.
	before, version := len(l.writes()), b.GetResourceVersion()
	for range 3 {
		l.reconcile(b)
	}
	if after := l.writes(); len(after) != before || b.GetResourceVersion() != version {
		l.Errorf("an unchanged resource costs writes: %v", after[before:])
	}
}

// TestRetained has a backup outlive its resource, whatever the management policies, and its
// Machine.
func TestRetained(t *testing.T) {
	everywhere(t, func(l *lab) {
		m := l.machine(uuid)
		b := l.backup("b1", spec)
		l.until(b, "it is made", settled(b))
		l.must(l.kube.Delete(l.Context(), m))
		l.ended(l.root.Delete(l.Context(), ref, proxmox.DeleteOptions{}))
		l.until(b, "it is there without its VM", settled(b))
		l.delete(b)
		if l.only().VMID != vmid || len(l.writes()) != 1 {
			l.Errorf("it stays: %v", l.writes())
		}
	})
}

// TestPolicies has the management policies keep what removalPolicy would remove.
func TestPolicies(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	b := l.backup("b1", removed)
	l.until(b, "it is made", settled(b))
	l.change(b, func() {
		b.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate})
	})
	l.delete(b)
	l.only()
}

// TestServer has a backup server verify the backup.
func TestServer(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.machine(uuid)
		b := l.backup("b1", "machine: web\nstorage: pbs\nremovalPolicy: Delete\nnotes: hello")
		l.until(b, "it is made", settled(b))
		if o := b.Observation(); o.Format != "pbs-vm" || !strings.HasPrefix(o.Volume, "pbs:backup/vm/500/") || o.Verified != nil {
			l.Errorf("it is shown as %+v", o)
		}
		for state, want := range map[string]bool{"ok": true, "failed": false} {
			l.pve.Edit(func(s *simulator.State) { s.Volume("pve1", b.Observation().Volume).Verification = state })
			l.provider = nil // Lists are read anew.
			l.until(b, "the verification is shown", func() bool { v := b.Observation().Verified; return v != nil && *v == want })
		}
		l.delete(b)
		if all := l.volumes("pbs"); len(all) > 0 {
			l.Errorf("left: %v", all)
		}
	})
}

func TestOptions(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	b := l.backup("b1", spec+"mode: stop\ncompression: none\nbandwidthLimit: 1024")
	l.until(b, "it is made", settled(b))
	if v := l.only(); v.Format != "vma" {
		t.Errorf("it is compressed: %+v", v)
	}
	log := ""
	l.pve.Edit(func(s *simulator.State) { log = strings.Join(s.Tasks[len(s.Tasks)-1].Log, "\n") })
	for _, words := range []string{"--mode stop", "bandwidth limit: 1024 KiB/s", "--remove 0"} {
		if !strings.Contains(log, words) {
			t.Errorf("want %q in\n%s", words, log)
		}
	}
}

func TestAdopted(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.theirs("as it was")
		b := l.named("mine", removed+"notes: mine now", v.ID)
		l.until(b, "it is adopted", settled(b))
		if is := l.only(); is.Notes != "mine now" || len(l.writes()) != 1 || *b.Observation().VMID != vmid {
			l.Errorf("it is managed without a Machine: %+v, %v", is, l.writes())
		}
		l.delete(b)
		if len(l.volumes("nas")) > 0 {
			l.Error("an adopted backup is removed with its resource if that is asked for")
		}
	})
}

// TestNamedNothing never makes a backup for a name that there is not.
func TestNamedNothing(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	b := l.named("mine", spec, "nas:backup/vzdump-qemu-500-2026_01_01-00_00_00.vma.zst")
	l.until(b, "it is told", says(b, xpv2.TypeReady, "NotFound"))
	l.delete(b)
	if w := l.writes(); len(w) > 0 {
		t.Errorf("nothing is made: %v", w)
	}
}

func TestObserved(t *testing.T) {
	l := here(t)
	v := l.theirs("as it was")
	b := l.named("b1", removed+"notes: other", v.ID)
	l.change(b, func() { b.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
	l.until(b, "the difference is shown", says(b, kind.TypeUpToDate, kind.ReasonDifferent, "notes"))
	if c := b.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue || b.GetAnnotations()[backup.AnnotationRecord] != "" {
		t.Errorf("what is there is ready to be looked at, and nothing is noted: %v", c)
	}
	l.delete(b)
	if l.only().Notes != "as it was" || len(l.writes()) > 0 {
		t.Errorf("nothing is written: %v", l.writes())
	}
}

func TestConflict(t *testing.T) {
	l := here(t)
	v := l.theirs("")
	older, younger := l.named("b", removed, v.ID), l.named("aa", removed, v.ID)
	l.until(older, "the older one has it", settled(older))
	l.until(younger, "the younger one leaves it alone", says(younger, xpv2.TypeReady, kind.ReasonOwnershipConflict, "older"))
	l.delete(younger)
	l.only()
}

func TestProblems(t *testing.T) {
	storage := func(l *lab, change func(*simulator.State)) { l.pve.Edit(change) }
	cases := map[string]struct {
		reason  string
		prepare func(*lab)
		spec    string
		want    xpv2.ConditionReason
		words   string
	}{
		"OtherVM": {
			reason: "A Machine's VM is known by its UUID.", prepare: func(l *lab) { l.replace("local-lvm:1", "99999999-2222-4333-8444-555555555555") },
			spec: spec, want: "VMMismatch", words: "provider configuration",
		},
		"NoVM": {
			reason: "A VM that is gone is told.", prepare: func(l *lab) { l.ended(l.root.Delete(l.Context(), ref, proxmox.DeleteOptions{})) },
			spec: spec, want: "VMNotFound", words: "500",
		},
		"NoStorage": {reason: "A storage that is not there is named.", spec: "machine: web\nstorage: nope", want: "StorageNotFound", words: "nope"},
		"Content":   {reason: "A storage without backups is told before.", spec: "machine: web\nstorage: local-lvm", want: "NotSupported", words: "content types"},
		"Elsewhere": {
			reason: "A storage that the VM's node has not.", prepare: func(l *lab) {
				storage(l, func(s *simulator.State) { s.Storages["nas"].Nodes = []string{"pve9"} })
			}, spec: spec, want: "StorageNotFound", words: "pve1",
		},
		"Locked": {
			reason: "A lock is waited for.", prepare: func(l *lab) {
				l.must(l.root.Configure(l.Context(), ref, proxmox.Change{Set: proxmox.Params{"lock": "snapshot"}}))
			}, spec: spec, want: "Locked", words: "snapshot",
		},
		"Selector": {
			reason: "Labels that no Machine has are waited for.",
			spec:   "storage: nas\nmachineSelector: {matchLabels: {app: web}}", want: "MachineNotFound", words: "labels",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			l.machine(uuid)
			if tc.prepare != nil {
				tc.prepare(l)
			}
			b := l.backup("b1", tc.spec)
			l.until(b, tc.reason, says(b, xpv2.TypeReady, tc.want, tc.words))
			if c := b.GetCondition(kind.TypeUpToDate); c.Status != corev1.ConditionFalse || c.Reason != tc.want {
				t.Errorf("\n%s\nUpToDate is %v", tc.reason, c)
			}
			if b.Observation().State != v1alpha1.BackupPending || len(l.writes()) > 0 {
				t.Errorf("\n%s\nit is %s, and was tried: %v", tc.reason, b.Observation().State, l.writes())
			}
			l.delete(b)
		})
	}
}

func TestDenied(t *testing.T) {
	cases := map[string]struct {
		reason string
		roles  map[string]string
		spec   string
		words  []string
	}{
		"All":       {reason: "All are named.", spec: spec, words: []string{"(/storage/nas, Datastore.AllocateSpace)", "(/vms/500, VM.Backup)"}},
		"Bandwidth": {reason: "A limit needs more.", spec: spec + "bandwidthLimit: 0", words: []string{"(/, Sys.Modify)"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			l.machine(uuid)
			l.pve.Edit(func(s *simulator.State) {
				s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true}}
			})
			b := l.backup("b1", tc.spec)
			l.until(b, tc.reason, says(b, xpv2.TypeSynced, xpv2.ReasonReconcileError, tc.words...))
			if w := l.writes(); len(w) > 0 {
				t.Errorf("%s\nthe provider has tried it nevertheless: %v", tc.reason, w)
			}
		})
	}
}

// TestUnseen has the right to see the backup taken away: that is not taken for its end.
func TestUnseen(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	b := l.backup("b1", spec)
	l.until(b, "it is made", settled(b))
	l.pve.Edit(func(s *simulator.State) {
		s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true}}
	})
	l.provider = nil
	l.until(b, "the missing privilege is named", says(b, xpv2.TypeSynced, xpv2.ReasonReconcileError, "Datastore.AllocateSpace"))
	l.pve.Edit(func(s *simulator.State) {
		s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "Administrator", Propagate: true}}
	})
	l.until(b, "it is there", settled(b))
}

// TestTaskFails has tasks fail: what failed is told in one sentence with the end of the log,
// and tried again.
func TestTaskFails(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.machine(uuid)
		l.pve.Edit(func(s *simulator.State) { s.Storages["nas"].Options["max-protected-backups"] = "0" })
		l.pve.Inject(simulator.Fault{Task: "imgdel", TaskExit: "unlink failed", Count: 1})
		b := l.backup("b1", removed)
		l.change(b, func() { b.Parameters().Protected, b.Parameters().RemovalPolicy = new(true), nil })
		l.until(b, "the limit is told", says(b, xpv2.TypeReady, "LimitReached", "at most 0 protected backups"))
		if o := b.Observation(); o.State != v1alpha1.BackupFailed || !strings.Contains(strings.Join(o.Log, "\n"), "ERROR: Backup of VM 500") {
			l.Errorf("it is shown as %+v", o)
		}
		l.pve.Edit(func(s *simulator.State) { s.Storages["nas"].Options["max-protected-backups"] = "1" })
		l.until(b, "it is made", settled(b))
		if o := b.Observation(); len(o.Log) > 0 || len(l.volumes("nas")) != 1 {
			l.Errorf("the failure is forgotten: %+v", o)
		}
		l.change(b, func() {
			b.Parameters().Protected, b.Parameters().RemovalPolicy = new(false), new(v1alpha1.BackupDelete)
		})
		l.until(b, "it is protected no more", settled(b))
		l.delete(b)
		if len(l.volumes("nas")) > 0 {
			l.Error("the removal is tried again")
		}
	})
}

// TestFullStorage has no room for the backup.
func TestFullStorage(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	l.pve.Edit(func(s *simulator.State) {
		s.Storages["nas"].Total = 1
		disk, _, _ := strings.Cut(s.Guests[vmid].Config["scsi0"], ",")
		s.Volume("pve1", disk).Used = 1 << 30
	})
	b := l.backup("b1", spec)
	l.until(b, "the full storage is told", says(b, xpv2.TypeReady, "StorageFull", "no space is left"))
	if all := l.volumes("nas"); len(all) > 0 {
		t.Errorf("nothing is left of it: %v", all)
	}
}

// TestLimit never removes older backups, and tells that the storage takes no more.
func TestLimit(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	l.theirs("older")
	l.pve.Edit(func(s *simulator.State) { s.Storages["nas"].Options["prune-backups"] = "keep-last=1" })
	b := l.backup("b1", spec)
	l.until(b, "the limit is told", says(b, xpv2.TypeReady, "LimitReached", "none is removed"))
	if l.only().Notes != "older" {
		t.Error("the older one stays")
	}
}

// TestProtected has somebody protect a backup that is to be removed.
func TestProtected(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	b := l.backup("b1", removed)
	l.until(b, "it is made", settled(b))
	id := l.only().ID
	l.must(l.root.ChangeVolume(l.Context(), "pve1", id, nil, new(true)))
	l.must(l.kube.Delete(l.Context(), b))
	l.until(b, "the protection is told", says(b, xpv2.TypeSynced, xpv2.ReasonReconcileError, "protected in Proxmox VE"))
	if w := l.writes(); len(w) != 1 {
		t.Errorf("the removal is not tried: %v", w)
	}
	l.must(l.root.ChangeVolume(l.Context(), "pve1", id, nil, new(false)))
	l.until(b, gone, func() bool { return false })
	if len(l.volumes("nas")) > 0 {
		t.Error("it is removed then")
	}
}

// TestLostAnswer loses the call, and then its answer.
func TestLostAnswer(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.machine(uuid)
		l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
		l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutAfter: true, Count: 1})
		b := l.backup("b1", removed)
		l.until(b, "it is made", settled(b))
		l.only()
		if w := l.writes(); len(w) != 2 {
			l.Errorf("want one call that was lost and one whose answer was, got %v", w)
		}
		l.pve.Inject(simulator.Fault{Method: http.MethodDelete, Path: "/nodes/pve1/storage/nas/content/*", CutAfter: true, Count: 1})
		l.delete(b)
		if all := l.volumes("nas"); len(all) > 0 {
			l.Errorf("left: %v", all)
		}
	})
}

// TestLostBesideOthers has others back the VM up while our call is lost: theirs is not ours.
func TestLostBesideOthers(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
	b := l.backup("b1", removed)
	l.until(b, "it is tried", func() bool { return len(l.writes()) > 0 })
	other := l.theirs("provider-proxmox: Backupb10")
	<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // Names of backups have seconds.
	l.until(b, "it is made", settled(b))
	l.delete(b)
	if l.only().ID != other.ID {
		t.Errorf("theirs stays, and ours is removed: %v", l.volumes("nas"))
	}
}

// TestLostLog loses the answer and the log of the task: the mark in the notes proves it.
func TestLostLog(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutAfter: true, Count: 1})
	b := l.backup("b1", spec+"notes: hello")
	l.until(b, "it is tried", func() bool { return len(l.writes()) > 0 })
	for len(l.volumes("nas")) == 0 {
		<-time.After(time.Millisecond)
	}
	l.pve.Edit(func(s *simulator.State) { s.Tasks = nil })
	l.until(b, "it is made", settled(b))
	if w := l.writes(); len(w) != 1 {
		t.Errorf("it is made once: %v", w)
	}
	l.only()
}

// TestGone has a backup removed by others: it is not made again.
func TestGone(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	b := l.backup("b1", removed)
	l.until(b, "it is made", settled(b))
	l.ended(l.root.DeleteVolume(l.Context(), "pve1", l.only().ID))
	l.provider = nil
	l.until(b, "it is gone", says(b, xpv2.TypeReady, "Gone"))
	l.change(b, func() { b.Parameters().Notes = new("new") })
	for range 5 {
		l.reconcile(b)
		l.clock.pass(time.Hour)
	}
	if len(l.volumes("nas")) > 0 || len(l.writes()) != 1 || b.Observation().State != v1alpha1.BackupGone {
		t.Errorf("it is not made again: %v", l.writes())
	}
	l.delete(b)
}

// TestReplaced has another backup of the same name: it is not ours.
func TestReplaced(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	b := l.backup("b1", removed)
	l.until(b, "it is made", settled(b))
	l.pve.Edit(func(s *simulator.State) {
		v := s.Volume("pve1", b.Observation().Volume)
		v.Created = v.Created.Add(time.Second)
	})
	l.provider = nil
	l.until(b, "it is somebody else's", says(b, xpv2.TypeReady, kind.ReasonAlreadyExists))
	l.delete(b)
	l.only()
}

// TestLostAnnotations takes the annotations of a Backup away, as a full update by its manifest
// does.
func TestLostAnnotations(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	b := l.backup("b1", removed)
	l.until(b, "it is made", settled(b))
	l.reconcile(b)
	had := b.GetAnnotations()
	l.change(b, func() { b.SetAnnotations(nil) })
	l.until(b, "it is known again", settled(b))
	for _, name := range []string{backup.AnnotationRecord, kind.AnnotationCluster, xpmeta.AnnotationKeyExternalName} {
		if is := b.GetAnnotations()[name]; is == "" || is != had[name] {
			t.Errorf("annotation %s is %q, and was %q", name, is, had[name])
		}
	}
	if w := l.writes(); len(w) != 1 {
		t.Errorf("it is made once: %v", w)
	}
	l.delete(b)
	if len(l.volumes("nas")) > 0 {
		t.Error("what was made is removed with the resource")
	}
}

// TestKilled has the provider die at each side effect from the creation to the removal.
func TestKilled(t *testing.T) {
	l := here(t)
	l.machine(uuid)
	for fatal := 1; ; fatal++ {
		l.fatal, l.deaths, l.provider = fatal, 0, nil
		l.pve.ClearRequests()
		b := l.backup(fmt.Sprintf("b%d", fatal), removed)
		l.until(b, "it is made", settled(b))
		l.change(b, func() { b.Parameters().Notes = new("after") })
		l.until(b, "it is changed", func() bool { return l.only().Notes == "after" && settled(b)() })
		l.delete(b)
		if all := l.volumes("nas"); len(all) > 0 {
			t.Fatalf("killed at side effect %d: left are %v", fatal, all)
		}
		made := 0
		for _, w := range l.writes() {
			if w == http.MethodPost+" "+path {
				made++
			}
		}
		if made != 1 {
			t.Errorf("killed at side effect %d: it is made %d times: %v", fatal, made, l.writes())
		}
		if l.deaths == 0 {
			t.Logf("%d side effects", fatal-1)
			return
		}
	}
}

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
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

const (
	spec    = "machine: web\nstorage: nas\n"
	removed = spec + "removalPolicy: Delete\n"
	path    = "/nodes/pve1/vzdump"
)

func TestConfiguration(t *testing.T) {
	everywhere(t, func(l *lab) { l.TakesConfiguration(l.backup("unconfigured", removed)) })
}

// TestLife checks that a Backup waits for its Machine without a call, and is then created, changed and removed.
func TestLife(t *testing.T) {
	everywhere(t, func(l *lab) {
		b := l.backup("nightly", removed+"notes: |-\n  before the upgrade\n  of web\nprotected: true\n")
		l.ChangeSpec(b, func() { b.Parameters().RemovalPolicy = new(v1alpha1.BackupRetain) })
		l.Until(b, "it waits for the Machine", configtest.Says(b, xpv2.TypeReady, "MachineNotFound", `"web"`))
		m := l.Machine("")
		l.Until(b, "it waits for the VM", configtest.Says(b, xpv2.TypeReady, "MachineNotReady"))
		if r := l.Requests(); slices.ContainsFunc(r, func(r simulator.Request) bool { return strings.HasPrefix(r.User, "crossplane@pve") }) {
			l.Errorf("waiting costs no call")
		}
		l.HasVM(m, uuid)
		l.Until(b, "it is made", configtest.Settled(b))
		is, o := l.only(), b.Observation()
		if o.State != v1alpha1.BackupComplete || o.Volume != is.ID || *o.Size != is.Size || !o.Time.Time.Equal(time.Unix(is.Changed, 0)) ||
			!o.Protected || o.Notes != "before the upgrade" || *o.VMID != vmid || o.VMUUID != uuid || o.Format != "vma.zst" || o.Verified != nil {
			l.Errorf("the backup is %+v, and shown as %+v", is, o)
		}
		if name := xpmeta.GetExternalName(b); name != is.ID {
			l.Errorf("the external name is %q", name)
		}
		notes, err := l.Client.VolumeNotes(l.Context(), "pve1", is.ID)
		if err != nil || notes != "before the upgrade\nof web\nprovider-proxmox: Backupnightly" {
			l.Errorf("the notes are %q, %v", notes, err)
		}
		l.quiet(b)
		l.ChangeSpec(b, func() { b.Parameters().Notes, b.Parameters().Protected = new("after"), new(false) })
		l.Until(b, "it is changed", func() bool { v := l.only(); return v.Notes == "after" && !v.Protected && configtest.Settled(b)() })
		l.ChangeSpec(b, func() { b.Parameters().RemovalPolicy = new(v1alpha1.BackupDelete) })
		l.Delete(b)
		if all := l.volumes("nas"); len(all) > 0 {
			l.Errorf("left: %v", all)
		}
		if n := len(l.Writes()); n != 3 {
			l.Errorf("it is made, changed and removed by one call each, got %v", l.Writes())
		}
	})
}

// quiet checks that a resource that matches its spec costs no write.
func (l *lab) quiet(b backup.Backup) {
	l.Helper()
	l.Reconcile(b) // It shows the result of the last change.
	before, version := len(l.Writes()), b.GetResourceVersion()
	for range 3 {
		l.Reconcile(b)
	}
	if after := l.Writes(); len(after) != before || b.GetResourceVersion() != version {
		l.Errorf("an unchanged resource costs writes: %v", after[before:])
	}
}

// TestConsistency checks that the status reports whether the guest's file systems were frozen, as far as PVE does.
func TestConsistency(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		version, err := l.Client.Version(l.Context())
		l.Must(err)
		frozen := map[bool]v1alpha1.Consistency{false: v1alpha1.ConsistencyUnknown, true: v1alpha1.ConsistencyFileSystem}[version.AtLeast(9, 1)]
		check := func(name, more string, want v1alpha1.Consistency) {
			l.Helper()
			b := l.backup(name, spec+more)
			l.Until(b, "it is made", configtest.Settled(b))
			l.Restart() // The value is kept.
			l.Reconcile(b)
			if got := b.Observation().Consistency; got != want {
				l.Errorf("backup %s is shown as %s, want %s", name, got, want)
			}
		}
		check("off", "", v1alpha1.ConsistencyOffline)
		l.Ended(l.Client.Start(l.Context(), ref))
		check("without-agent", "", v1alpha1.ConsistencyCrash)
		l.Edit(func(s *simulator.State) {
			s.Guests[vmid].Config["agent"], s.Guests[vmid].Agent = "1", &state.Agent{}
			s.Guests[vmid].Started = s.Guests[vmid].Started.Add(-time.Hour)
		})
		check("frozen", "", frozen)
		check("shut-down", "mode: stop\n", v1alpha1.ConsistencyOffline)
	})
}

// TestRetained checks that a backup outlives its resource, whatever the management policies, and its Machine.
func TestRetained(t *testing.T) {
	everywhere(t, func(l *lab) {
		m := l.Machine(uuid)
		b := l.backup("b1", spec)
		l.Until(b, "it is made", configtest.Settled(b))
		l.Must(l.Kube.Delete(l.Context(), m))
		l.Ended(l.Client.Delete(l.Context(), ref, proxmox.DeleteOptions{}))
		l.Until(b, "it is there without its VM", configtest.Settled(b))
		l.Delete(b)
		if l.only().VMID != vmid || len(l.Writes()) != 1 {
			l.Errorf("it stays: %v", l.Writes())
		}
	})
}

// TestPolicies checks that the management policies keep what removalPolicy would remove.
func TestPolicies(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.backup("b1", removed)
		l.Until(b, "it is made", configtest.Settled(b))
		l.ChangeSpec(b, func() {
			b.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate})
		})
		l.Delete(b)
		l.only()
	})
}

// TestServer checks a backup that a backup server verifies.
func TestServer(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.backup("b1", "machine: web\nstorage: pbs\nremovalPolicy: Delete\nnotes: hello")
		l.Until(b, "it is made", configtest.Settled(b))
		if o := b.Observation(); o.Format != "pbs-vm" || !strings.HasPrefix(o.Volume, "pbs:backup/vm/500/") || o.Verified != nil {
			l.Errorf("it is shown as %+v", o)
		}
		for state, want := range map[string]bool{"ok": true, "failed": false} {
			l.Edit(func(s *simulator.State) { s.Volume("pve1", b.Observation().Volume).Verification = state })
			l.Restart() // Lists are read again.
			l.Until(b, "the verification is shown", func() bool { v := b.Observation().Verified; return v != nil && *v == want })
		}
		l.Delete(b)
		if all := l.volumes("pbs"); len(all) > 0 {
			l.Errorf("left: %v", all)
		}
	})
}

func TestOptions(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.backup("b1", spec+"mode: stop\ncompression: none\nbandwidthLimit: 1024")
		l.Until(b, "it is made", configtest.Settled(b))
		if v := l.only(); v.Format != "vma" {
			l.Errorf("it is compressed: %+v", v)
		}
		log := ""
		l.Edit(func(s *simulator.State) { log = strings.Join(s.Tasks[len(s.Tasks)-1].Log, "\n") })
		for _, words := range []string{"--mode stop", "bandwidth limit: 1024 KiB/s", "--remove 0"} {
			if !strings.Contains(log, words) {
				l.Errorf("want %q in\n%s", words, log)
			}
		}
	})
}

func TestAdopted(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.theirs("as it was")
		b := l.named("mine", removed+"notes: mine now", v.ID)
		l.Until(b, "it is adopted", configtest.Settled(b))
		if is := l.only(); is.Notes != "mine now" || len(l.Writes()) != 1 || *b.Observation().VMID != vmid {
			l.Errorf("it is managed without a Machine: %+v, %v", is, l.Writes())
		}
		l.Delete(b)
		if len(l.volumes("nas")) > 0 {
			l.Error("an adopted backup is removed with its resource if that is asked for")
		}
	})
}

// TestNamedNothing checks that no backup is created for a name that does not exist.
func TestNamedNothing(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.named("mine", spec, "nas:backup/vzdump-qemu-500-2026_01_01-00_00_00.vma.zst")
		l.Until(b, "it is told", configtest.Says(b, xpv2.TypeReady, "NotFound"))
		l.Delete(b)
		if w := l.Writes(); len(w) > 0 {
			l.Errorf("nothing is made: %v", w)
		}
	})
}

func TestObserved(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.theirs("as it was")
		b := l.named("b1", removed+"notes: other", v.ID)
		l.ChangeSpec(b, func() { b.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
		l.Until(b, "the difference is shown", configtest.Says(b, kind.TypeUpToDate, kind.ReasonDifferent, "notes"))
		if c := b.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue || b.GetAnnotations()[backup.AnnotationRecord] != "" {
			l.Errorf("what is there is ready to be looked at, and nothing is noted: %v", c)
		}
		l.Delete(b)
		if l.only().Notes != "as it was" || len(l.Writes()) > 0 {
			l.Errorf("nothing is written: %v", l.Writes())
		}
	})
}

func TestConflict(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.theirs("")
		older, younger := l.named("b", removed, v.ID), l.named("aa", removed, v.ID)
		l.Until(older, "the older one has it", configtest.Settled(older))
		l.Until(younger, "the younger one leaves it alone", configtest.Says(younger, xpv2.TypeReady, kind.ReasonOwnershipConflict, "older"))
		l.Delete(younger)
		l.only()
	})
}

func TestProblems(t *testing.T) {
	storage := func(l *lab, change func(*simulator.State)) { l.Edit(change) }
	cases := map[string]struct {
		reason  string
		prepare func(*lab)
		spec    string
		want    xpv2.ConditionReason
		words   string
	}{
		"OtherVM": {
			reason: "A Machine's VM is known by its UUID.", prepare: func(l *lab) { l.ReplaceVM("local-lvm:1", "99999999-2222-4333-8444-555555555555") },
			spec: spec, want: "VMMismatch", words: "provider configuration",
		},
		"NoVM": {
			reason: "A VM that is gone is told.", prepare: func(l *lab) { l.Ended(l.Client.Delete(l.Context(), ref, proxmox.DeleteOptions{})) },
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
				l.Must(l.Client.Configure(l.Context(), ref, proxmox.Change{Set: proxmox.Params{"lock": "snapshot"}}))
			}, spec: spec, want: "Locked", words: "snapshot",
		},
		"Selector": {
			reason: "Labels that no Machine has are waited for.",
			spec:   "storage: nas\nmachineSelector: {matchLabels: {app: web}}", want: "MachineNotFound", words: "labels",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(l *lab) {
				l.Machine(uuid)
				if tc.prepare != nil {
					tc.prepare(l)
				}
				b := l.backup("b1", tc.spec)
				l.Until(b, tc.reason, configtest.Says(b, xpv2.TypeReady, tc.want, tc.words))
				if c := b.GetCondition(kind.TypeUpToDate); c.Status != corev1.ConditionFalse || c.Reason != tc.want {
					l.Errorf("\n%s\nUpToDate is %v", tc.reason, c)
				}
				if b.Observation().State != v1alpha1.BackupPending || len(l.Writes()) > 0 {
					l.Errorf("\n%s\nit is %s, and was tried: %v", tc.reason, b.Observation().State, l.Writes())
				}
				l.Delete(b)
			})
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
		"All":       {reason: "All privileges that lack are named.", spec: spec, words: []string{"(/storage/nas, Datastore.AllocateSpace)", "(/vms/500, VM.Backup)"}},
		"Bandwidth": {reason: "A limit needs more.", spec: spec + "bandwidthLimit: 0", words: []string{"(/, Sys.Modify)"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(l *lab) {
				l.Machine(uuid)
				l.Edit(func(s *simulator.State) {
					s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true}}
				})
				b := l.backup("b1", tc.spec)
				l.Until(b, tc.reason, configtest.Says(b, xpv2.TypeSynced, xpv2.ReasonReconcileError, tc.words...))
				if w := l.Writes(); len(w) > 0 {
					l.Errorf("%s\nthe provider has tried it nevertheless: %v", tc.reason, w)
				}
			})
		})
	}
}

// TestUnseen removes the privilege to see the backup, and checks that the backup is not considered deleted.
func TestUnseen(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.backup("b1", spec)
		l.Until(b, "it is made", configtest.Settled(b))
		l.Edit(func(s *simulator.State) {
			s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true}}
		})
		l.Restart()
		l.Until(b, "the missing privilege is named", configtest.Says(b, xpv2.TypeSynced, xpv2.ReasonReconcileError, "Datastore.AllocateSpace"))
		l.Edit(func(s *simulator.State) {
			s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "Administrator", Propagate: true}}
		})
		l.Until(b, "it is there", configtest.Settled(b))
	})
}

// TestTaskFails makes tasks fail, and checks that the failure is reported in one sentence with the end of the log, and the task is tried again.
func TestTaskFails(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		l.Edit(func(s *simulator.State) { s.Storages["nas"].Options["max-protected-backups"] = "0" })
		l.Inject(simulator.Fault{Task: "imgdel", TaskExit: "unlink failed", Count: 1})
		b := l.backup("b1", removed)
		l.ChangeSpec(b, func() { b.Parameters().Protected, b.Parameters().RemovalPolicy = new(true), nil })
		l.Until(b, "the limit is told", configtest.Says(b, xpv2.TypeReady, "LimitReached", "at most 0 protected backups"))
		if o := b.Observation(); o.State != v1alpha1.BackupFailed || !strings.Contains(strings.Join(o.Log, "\n"), "ERROR: Backup of VM 500") {
			l.Errorf("it is shown as %+v", o)
		}
		l.Edit(func(s *simulator.State) { s.Storages["nas"].Options["max-protected-backups"] = "1" })
		l.Until(b, "it is made", configtest.Settled(b))
		if o := b.Observation(); len(o.Log) > 0 || len(l.volumes("nas")) != 1 {
			l.Errorf("the failure is forgotten: %+v", o)
		}
		l.ChangeSpec(b, func() {
			b.Parameters().Protected, b.Parameters().RemovalPolicy = new(false), new(v1alpha1.BackupDelete)
		})
		l.Until(b, "it is protected no more", configtest.Settled(b))
		l.Delete(b)
		if len(l.volumes("nas")) > 0 {
			l.Error("the removal is tried again")
		}
	})
}

// TestFullStorage checks a storage without room for the backup.
func TestFullStorage(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		l.Edit(func(s *simulator.State) {
			s.Storages["nas"].Total = 1
			disk, _, _ := strings.Cut(s.Guests[vmid].Config["scsi0"], ",")
			s.Volume("pve1", disk).Used = 1 << 30
		})
		b := l.backup("b1", spec)
		l.Until(b, "the full storage is told", configtest.Says(b, xpv2.TypeReady, "StorageFull", "no space is left"))
		if all := l.volumes("nas"); len(all) > 0 {
			l.Errorf("nothing is left of it: %v", all)
		}
	})
}

// TestLimit checks that older backups are never removed, and that it is reported if the storage accepts no more.
func TestLimit(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		l.theirs("older")
		l.Edit(func(s *simulator.State) { s.Storages["nas"].Options["prune-backups"] = "keep-last=1" })
		b := l.backup("b1", spec+"protected: false\n")
		l.Until(b, "the limit is told", configtest.Says(b, xpv2.TypeReady, "LimitReached", "none is removed"))
		if l.only().Notes != "older" {
			l.Error("the older one stays")
		}
	})
}

// TestProtected protects, as a user, a backup that is to be removed.
func TestProtected(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.theirs("as it was").ID
		b := l.named("mine", removed, id)
		l.Until(b, "it is adopted", configtest.Settled(b))
		l.Must(l.Client.ChangeVolume(l.Context(), "pve1", id, nil, new(true)))
		l.Must(l.Kube.Delete(l.Context(), b))
		l.Until(b, "the protection is told", configtest.Says(b, xpv2.TypeSynced, xpv2.ReasonReconcileError, "protected in Proxmox VE"))
		if w := l.Writes(); len(w) > 0 {
			l.Errorf("the removal is not tried: %v", w)
		}
		l.Must(l.Client.ChangeVolume(l.Context(), "pve1", id, nil, new(false)))
		l.Until(b, gone, func() bool { return false })
		if len(l.volumes("nas")) > 0 {
			l.Error("it is removed then")
		}
	})
}

// TestInUse checks that a backup stays while the VM of a Machine with any spec is being put back to it, and is removed afterwards.
func TestInUse(t *testing.T) {
	everywhere(t, func(l *lab) {
		m := l.Machine(uuid)
		ask := func(r *v1alpha1.MachineRestoreInPlace) {
			l.Helper()
			m.Parameters().RestoreInPlace = r
			l.Must(l.Kube.Update(l.Context(), m))
		}
		report := func(o *v1alpha1.MachineRestoreInPlaceObservation) {
			l.Helper()
			m.Observation().RestoreInPlace = o
			l.Must(l.Kube.Status().Update(l.Context(), m))
		}
		b := l.backup("b1", removed)
		l.Until(b, "it is made", configtest.Settled(b))
		held := func(while string) {
			l.Helper()
			l.Until(b, while, configtest.Says(b, xpv2.TypeSynced, xpv2.ReasonReconcileError, "is used by restoreInPlace of Machine"))
			l.only()
		}
		id := l.only().ID
		ask(&v1alpha1.MachineRestoreInPlace{Token: "1", BackupRef: &v1alpha1.Reference{Name: "b1"}})
		l.Must(l.Kube.Delete(l.Context(), b))
		held("its Backup is named")
		ask(&v1alpha1.MachineRestoreInPlace{Token: "2", Volume: &id})
		report(&v1alpha1.MachineRestoreInPlaceObservation{Token: "1", Volume: id, State: v1alpha1.ActSucceeded})
		held("the former one is done, and the next is not")
		report(&v1alpha1.MachineRestoreInPlaceObservation{Token: "2", Volume: id, State: v1alpha1.ActRestoring})
		ask(nil)
		held("its task runs, though nobody asks for it any more")
		if w := l.Writes(); len(w) != 1 {
			l.Errorf("the removal is not tried: %v", w)
		}
		report(&v1alpha1.MachineRestoreInPlaceObservation{Token: "2", Volume: id, State: v1alpha1.ActFailed})
		l.Until(b, gone, func() bool { return false })
		if len(l.volumes("nas")) > 0 {
			l.Error("it is removed then")
		}
	})
}

// TestInUseByRestore checks that a backup stays while a VM is created from it, and is removed once the Machine has its VM.
func TestInUseByRestore(t *testing.T) {
	noted := func(volume string) map[string]string {
		return map[string]string{kind.AnnotationRestore: `{"vmid":600,"node":"pve1","volume":"` + volume + `"}`}
	}
	cases := map[string]struct {
		reason string
		use    func(m target.Machine, volume string)
		held   bool
	}{
		"Noted": {
			reason: "The call was noted, and its task reads the backup.", held: true,
			use: func(m target.Machine, volume string) {
				m.Parameters().Restore = &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: "b1"}}
				m.SetAnnotations(noted(volume))
			},
		},
		"Latest": {
			reason: "A backup that a Machine has found by latestOf is kept.", held: true,
			use: func(m target.Machine, volume string) {
				m.Parameters().Restore = &v1alpha1.MachineRestore{LatestOf: &v1alpha1.MachineRestoreLatest{Storage: "nas"}}
				m.SetAnnotations(noted(volume))
			},
		},
		"Volume": {
			reason: "The spec names it, and the restore is yet to begin.", held: true,
			use: func(m target.Machine, volume string) {
				m.Parameters().Restore = &v1alpha1.MachineRestore{Volume: &volume}
			},
		},
		"Waiting": {
			reason: "Nothing begins from a Backup that is being deleted.",
			use: func(m target.Machine, _ string) {
				m.Parameters().Restore = &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: "b1"}}
			},
		},
		"Other": {
			reason: "The VM is made from another backup.",
			use: func(m target.Machine, _ string) {
				m.Parameters().Restore = &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: "b1"}}
				m.SetAnnotations(noted("nas:backup/another"))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			l.Machine(uuid)
			b := l.backup("b1", removed)
			l.Until(b, "it is made", configtest.Settled(b))
			m, ok := l.Object("Machine", "copy", 1, "{}", nil).(target.Machine)
			if !ok {
				l.Fatal("it is no Machine")
			}
			tc.use(m, l.only().ID)
			l.Must(l.Kube.Update(l.Context(), m))
			l.Must(l.Kube.Delete(l.Context(), b))
			if tc.held {
				l.Until(b, tc.reason, configtest.Says(b, xpv2.TypeSynced, xpv2.ReasonReconcileError, "is used by restore of Machine"))
				l.only()
				l.HasVM(m, uuid)
			}
			l.Until(b, gone, func() bool { return false })
			if len(l.volumes("nas")) > 0 {
				l.Errorf("%s it is removed then", tc.reason)
			}
		})
	}
}

// TestGuarded checks that a backup is protected from the retention of others, unless its spec says otherwise, and removed with its resource.
func TestGuarded(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.backup("b1", removed)
		l.Until(b, "it is made", configtest.Settled(b))
		if v := l.only(); !v.Protected || !b.Observation().Protected {
			l.Errorf("it is protected when it is made, got %+v", v)
		}
		l.Delete(b)
		if len(l.volumes("nas")) > 0 {
			l.Error("the protection that nobody asked for holds up nothing")
		}
		open := l.backup("b2", removed+"protected: false\n")
		l.Until(open, "it is made", configtest.Settled(open))
		if v := l.only(); v.Protected {
			l.Errorf("it is left to the retention of others if that is asked for, got %+v", v)
		}
		l.Delete(open)
	})
}

// TestProtectedAgain checks that a backup whose protection was removed, whose removal has failed, and which is to stay after all, is protected as
// before.
func TestProtectedAgain(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.backup("b1", removed)
		l.Until(b, "it is made", configtest.Settled(b))
		l.Inject(simulator.Fault{Method: http.MethodDelete, Path: "/nodes/pve1/storage/nas/content/**", Status: http.StatusInternalServerError})
		l.Must(l.Kube.Delete(l.Context(), b))
		l.Until(b, "its protection is lifted", func() bool { return !l.only().Protected })
		b.Parameters().RemovalPolicy = new(v1alpha1.BackupRetain)
		l.Must(l.Kube.Update(l.Context(), b))
		l.Until(b, gone, func() bool { return false })
		if !l.only().Protected {
			l.Error("want a backup that stays to be protected again")
		}
	})
}

// TestLostAnswer loses the call, and then its answer.
func TestLostAnswer(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutAfter: true, Count: 1})
		b := l.backup("b1", removed)
		l.Until(b, "it is made", configtest.Settled(b))
		l.only()
		if w := l.Writes(); len(w) != 2 {
			l.Errorf("want one call that was lost and one whose answer was, got %v", w)
		}
		l.Inject(simulator.Fault{Method: http.MethodDelete, Path: "/nodes/pve1/storage/nas/content/**", CutAfter: true, Count: 1})
		l.Delete(b)
		if all := l.volumes("nas"); len(all) > 0 {
			l.Errorf("left: %v", all)
		}
	})
}

// TestLostBesideOthers lets others back up the VM while our call is lost, and checks that theirs is not ours.
func TestLostBesideOthers(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
		b := l.backup("b1", removed)
		l.Until(b, "it is tried", func() bool { return len(l.Writes()) > 0 })
		other := l.theirs("provider-proxmox: Backupb10")
		<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // Names of backups have seconds.
		l.Until(b, "it is made", configtest.Settled(b))
		l.Delete(b)
		if l.only().ID != other.ID {
			l.Errorf("theirs stays, and ours is removed: %v", l.volumes("nas"))
		}
	})
}

// TestLostLate lets a call whose answer was lost be carried out after it was repeated, and checks that the second backup with the mark is reported,
// and stays.
func TestLostLate(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutBefore: true, Count: 1})
		b := l.backup("b1", removed)
		l.Until(b, "it is made", configtest.Settled(b))
		first := l.only()
		<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // Names of backups have seconds.
		l.Succeeded(l.Client.BackUp(l.Context(), ref, proxmox.BackupOptions{Storage: "nas", Notes: "provider-proxmox: Backupb1"}))
		l.Until(b, "the other one is found", func() bool { return strings.Contains(b.GetAnnotations()[backup.AnnotationRecord], `"second":"nas:`) })
		l.Delete(b)
		if l.only().ID == first.ID {
			l.Errorf("want the other one left, which nothing proves but its notes, got %v", l.volumes("nas"))
		}
	})
}

// TestLostLog loses the answer and the log of the task, and checks that the mark in the notes identifies the backup.
func TestLostLog(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		l.Inject(simulator.Fault{Method: http.MethodPost, Path: path, CutAfter: true, Count: 1})
		b := l.backup("b1", spec+"notes: hello")
		l.Until(b, "it is tried", func() bool { return len(l.Writes()) > 0 })
		for len(l.volumes("nas")) == 0 {
			<-time.After(time.Millisecond)
		}
		l.Edit(func(s *simulator.State) { s.Tasks = nil })
		l.Until(b, "it is made", configtest.Settled(b))
		if w := l.Writes(); len(w) != 1 {
			l.Errorf("it is made once: %v", w)
		}
		l.only()
	})
}

// TestGone checks that a backup that others have removed is not created again.
func TestGone(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.backup("b1", removed+"protected: false\n")
		l.Until(b, "it is made", configtest.Settled(b))
		l.Ended(l.Client.DeleteVolume(l.Context(), "pve1", l.only().ID))
		l.Restart()
		l.Until(b, "it is gone", configtest.Says(b, xpv2.TypeReady, "Gone"))
		l.ChangeSpec(b, func() { b.Parameters().Notes = new("new") })
		for range 5 {
			l.Reconcile(b)
			l.Clock.Pass(time.Hour)
		}
		if len(l.volumes("nas")) > 0 || len(l.Writes()) != 1 || b.Observation().State != v1alpha1.BackupGone {
			l.Errorf("it is not made again: %v", l.Writes())
		}
		l.Delete(b)
	})
}

// TestReplaced checks that another backup of the same name is not ours.
func TestReplaced(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.backup("b1", removed)
		l.Until(b, "it is made", configtest.Settled(b))
		l.Edit(func(s *simulator.State) {
			v := s.Volume("pve1", b.Observation().Volume)
			v.Created = v.Created.Add(time.Second)
		})
		l.Restart()
		l.Until(b, "it is somebody else's", configtest.Says(b, xpv2.TypeReady, kind.ReasonAlreadyExists))
		l.Delete(b)
		l.only()
	})
}

// TestLostAnnotations removes the annotations of a Backup, as a full update by its manifest does.
func TestLostAnnotations(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.Machine(uuid)
		b := l.backup("b1", removed)
		l.Until(b, "it is made", configtest.Settled(b))
		l.Reconcile(b)
		had := b.GetAnnotations()
		l.ChangeSpec(b, func() { b.SetAnnotations(nil) })
		l.Until(b, "it is known again", configtest.Settled(b))
		for _, name := range []string{backup.AnnotationRecord, kind.AnnotationCluster, xpmeta.AnnotationKeyExternalName} {
			if is := b.GetAnnotations()[name]; is == "" || is != had[name] {
				l.Errorf("annotation %s is %q, and was %q", name, is, had[name])
			}
		}
		if w := l.Writes(); len(w) != 1 {
			l.Errorf("it is made once: %v", w)
		}
		l.Delete(b)
		if len(l.volumes("nas")) > 0 {
			l.Error("what was made is removed with the resource")
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
			b := l.backup(fmt.Sprintf("b%d", fatal), removed)
			l.Until(b, "it is made", configtest.Settled(b))
			l.ChangeSpec(b, func() { b.Parameters().Notes = new("after") })
			l.Until(b, "it is changed", func() bool { return l.only().Notes == "after" && configtest.Settled(b)() })
			l.Delete(b)
			if all := l.volumes("nas"); len(all) > 0 {
				l.Fatalf("killed at side effect %d: left are %v", fatal, all)
			}
			made := 0
			for _, w := range l.Writes() {
				if w == http.MethodPost+" "+path {
					made++
				}
			}
			if made != 1 {
				l.Errorf("killed at side effect %d: it is made %d times: %v", fatal, made, l.Writes())
			}
			if l.Deaths == 0 {
				l.Logf("%d side effects", fatal-1)
				return
			}
		}
	})
}

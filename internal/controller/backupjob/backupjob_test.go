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

package backupjob_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/backupjob"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/pool"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func job() configtest.Kind {
	return configtest.Kind{
		Setup: config.Setup(backupjob.Table()), Kind: "BackupJob", Collection: backupjob.Table().Collection, Name: "nightly",
		Denied: proxmox.Privilege{Path: "/", Names: []string{"Sys.Modify"}},
	}
}

func TestBackupJob(t *testing.T) {
	k := job()
	k.Spec = `{name: nightly, schedule: "mon..fri 02:30", vmids: [9000], storage: local, mode: snapshot, compression: zstd, comment: Nightly,
		pruneBackups: {keepLast: 3}, allowPruningOthers: true, notesTemplate: "{{guestname}}", fleecing: {enabled: true, storage: local-lvm}}`
	k.Want = map[string]string{
		"schedule": "mon..fri 02:30", "vmid": "9000", "storage": "local", "mode": "snapshot", "compress": "zstd", "comment": "Nightly",
		"prune-backups": "keep-last=3", "notes-template": "{{guestname}}", "fleecing": "enabled=1,storage=local-lvm", "enabled": "1",
	}
	k.Changed = `{name: nightly, schedule: "sat 04:00", node: pve1, all: true, excludeVMIDs: [9000], storage: local, mode: stop, compression: none, comment: "",
		pruneBackups: {keepLast: 5, keepDaily: 7}, allowPruningOthers: true, notesTemplate: "", enabled: false, repeatMissed: true, protected: true,
		bandwidthLimit: 1024,
		fleecing: {enabled: false}, notification: {mode: notification-system, mailTo: [ops@example.com], mailOn: failure},
		performance: {maxWorkers: 8}, ioPriority: 8, lockWaitMinutes: 60, stopWaitMinutes: 5, zstdThreads: 0, pigzThreads: 2, prune: false}`
	k.WantChanged = map[string]string{
		"schedule": "sat 04:00", "node": "pve1", "all": "1", "exclude": "9000", "vmid": "", "mode": "stop", "compress": "0", "comment": "",
		"prune-backups": "keep-daily=7,keep-last=5", "notes-template": "", "enabled": "0", "repeat-missed": "1", "protected": "1", "bwlimit": "1024",
		"notification-mode": "notification-system", "mailto": "ops@example.com", "mailnotification": "failure", "performance": "max-workers=8",
		"ionice": "8", "lockwait": "60", "stopwait": "5", "zstd": "0", "pigz": "2", "remove": "0",
	}
	k.Foreign = proxmox.Params{"schedule": "daily", "all": "1"}
	k.Same = proxmox.Params{
		"schedule": "mon..fri 02:30", "vmid": "9000", "storage": "local", "mode": "snapshot", "compress": "zstd", "comment": "Nightly",
		"prune-backups": "keep-last=3", "notes-template": "{{guestname}}", "fleecing": "1,storage=local-lvm",
	}
	k.Drift = proxmox.Change{Set: proxmox.Params{"all": "1", "schedule": "sun 01:00", "compress": "lzo"}, Delete: []string{"notes-template"}}
	configtest.Run(t, k)
}

// observation of a job of either scope.
func observation(t *testing.T, mg resource.Managed) *v1alpha1.BackupJobObservation {
	t.Helper()
	o, ok := mg.(interface {
		Observation() *v1alpha1.BackupJobObservation
	})
	if !ok {
		t.Fatalf("%T is no BackupJob", mg)
	}
	return o.Observation()
}

// TestChecks checks specs that PVE would accept and that would never work.
func TestChecks(t *testing.T) {
	cases := map[string]struct {
		reason, spec string
		want         xpv2.ConditionReason
		words        string
	}{
		"Storage": {
			reason: "The storage is not there.", spec: `{name: nightly, schedule: daily, all: true, storage: none}`,
			want: backupjob.ReasonStorageNotFound, words: `storage "none" does not exist`,
		},
		"Content": {
			reason: "The storage holds no backups.", spec: `{name: nightly, schedule: daily, all: true, storage: local-lvm}`,
			want: backupjob.ReasonNotSupported, words: `no "backup"`,
		},
		"Fleecing": {
			reason: "The storage for fleecing must be there.", words: `storage "none" does not exist`, want: backupjob.ReasonStorageNotFound,
			spec: `{name: nightly, schedule: daily, all: true, storage: local, fleecing: {enabled: true, storage: none}}`,
		},
		"StorageRef": {
			reason: "The Storage is not there yet.", spec: `{name: nightly, schedule: daily, all: true, storageRef: {name: later}}`,
			want: backupjob.ReasonStorageNotFound, words: "not known yet",
		},
		"Node": {
			reason: "The node is not there.", spec: `{name: nightly, schedule: daily, all: true, storage: local, node: pve9}`,
			want: backupjob.ReasonNodeNotFound, words: `node "pve9" does not exist`,
		},
		"Guests": {
			reason: "No guest is there.", spec: `{name: nightly, schedule: daily, vmids: [4711], storage: local}`,
			want: backupjob.ReasonGuestsMissing, words: "no guest that the spec names is there",
		},
		"Pool": {
			reason: "The pool is not there.", spec: `{name: nightly, schedule: daily, pool: none, storage: local}`,
			want: backupjob.ReasonPoolNotFound, words: `pool "none" does not exist`,
		},
		"Name": {
			reason: "PVE takes no such name.", spec: `{name: 1.nightly, schedule: daily, all: true, storage: local}`,
			want: backupjob.ReasonInvalidName, words: "no name of a backup job",
		},
	}
	for name, tc := range cases {
		k := job()
		k.Once = true
		t.Run(name, func(t *testing.T) {
			configtest.RunIn(t, k, func(l *configtest.Life) {
				l.Until(l.Resource(1, tc.spec, nil), xpv2.TypeReady, tc.want, tc.words)
				if w := l.Writes(); len(w) > 0 {
					l.Errorf("%s\nit is tried nevertheless: %v", tc.reason, w)
				}
			})
		})
	}
}

// withPool creates the pool web.
func withPool(s configtest.Simulator) {
	s.Must(s.Client.CreateObject(s.Context(), pool.Table().Collection, "web", nil))
	s.Edit(func(st *state.State) { // The grant on /pool replaces the one on /.
		st.ACL = append(st.ACL, simulator.Grant{Path: "/pool/web", Kind: "user", ID: "crossplane@pve", Role: "PVEVMAdmin", Propagate: true})
	})
}

// TestSelections changes from each way to name guests to each other way.
func TestSelections(t *testing.T) {
	k := job()
	k.Prepare = withPool
	configtest.RunIn(t, k, func(l *configtest.Life) {
		specs := []struct{ spec, all, vmid, pool, exclude string }{
			{spec: "vmids: [9000]", vmid: "9000"},
			{spec: "pool: web", pool: "web"},
			{spec: "all: true, excludeVMIDs: [9000]", all: "1", exclude: "9000"},
			{spec: "all: true, excludeVMIDs: []", all: "1"},
			{spec: "pool: web", pool: "web"},
			{spec: "vmids: [9000]", vmid: "9000"},
			{spec: "all: true", all: "1"},
			{spec: "vmids: [9000]", vmid: "9000"},
		}
		spec := func(guests string) string { return "{name: nightly, schedule: daily, storage: local, " + guests + "}" }
		mg := l.Resource(1, spec(specs[0].spec), nil)
		for i, s := range specs {
			l.EditSpec(mg, spec(s.spec))
			l.Settle(mg)
			o := l.Options("nightly")
			for option, want := range map[string]string{"all": s.all, "vmid": s.vmid, "pool": s.pool, "exclude": s.exclude} {
				if o[option] != want {
					l.Errorf("change %d to %s: %s is %q, want %q", i, s.spec, option, o[option], want)
				}
			}
		}
	})
}

// TestGuestsComeAndGo checks that a job follows guests: one that does not exist is added once it does, and one that is no longer visible stays.
func TestGuestsComeAndGo(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		mg := l.Resource(1, `{name: nightly, schedule: daily, vmids: [9000, 4711], storage: local}`, nil)
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonGuestsMissing, "guest 4711 does not exist")
		if o := l.Options("nightly"); o["vmid"] != "9000" {
			l.Errorf("the job is for %q, want the guest that is there", o["vmid"])
		}
		var moved *state.Guest
		l.Edit(func(s *state.State) {
			moved = s.Guests[9000]
			delete(s.Guests, 9000)
		})
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonGuestsMissing, "guest 9000 does not exist")
		if o := l.Options("nightly"); o["vmid"] != "9000" {
			l.Errorf("the job is for %q, but a guest that is hidden must stay", o["vmid"])
		}
		l.Edit(func(s *state.State) { s.Guests[9000] = moved })
		l.EditSpec(mg, `{name: nightly, schedule: daily, vmids: [9000], storage: local}`)
		l.Settle(mg)
		if n := observation(l.T, mg).GuestCount; n == nil || *n != 1 {
			l.Errorf("%v guests are shown, want 1", n)
		}
	})
}

// TestGuestMadeJustNow checks that a job follows a Machine whose VM is created after the guests were listed: one reconcile adds it, and nothing
// reports that it does not exist.
func TestGuestMadeJustNow(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		l.RestartBySigns()
		l.Machine("old", "demo", 9000, nil, nil)
		web := l.Machine("web", "demo", 0, nil, nil)
		mg := l.Resource(1, `{name: nightly, schedule: daily, machineRefs: [{name: old}, {name: web}], storage: local}`, nil)
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonGuestsMissing, `Machine "web" has no VM in this cluster yet`)
		l.Must(createVM(l, 9100))
		l.HasVM(web, 9100)
		l.Reconcile(mg)
		told := mg.GetCondition(xpv2.TypeReady)
		if o := l.Options("nightly"); o["vmid"] != "9000,9100" || told.Reason == backupjob.ReasonGuestsMissing {
			l.Fatalf("after one look the job is for %q: %s", o["vmid"], told.Message)
		}
		l.Settle(mg)
		if n := observation(l.T, mg).GuestCount; n == nil || *n != 2 {
			l.Errorf("%d guests are shown, want both", ptr.Deref(n, -1))
		}
	})
}

// TestNextRun checks that the next run of an enabled job is shown, and costs no write while it stays the same.
func TestNextRun(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		mg := l.Resource(1, `{name: nightly, schedule: "*-1-1 03:00 UTC", all: true, storage: local}`, nil)
		l.Settle(mg)
		l.Reconcile(mg)
		o := observation(l.T, mg)
		if o.NextRun == nil || o.NextRun.UTC().Format("01-02 15:04") != "01-01 03:00" {
			l.Errorf("the next run is %v", o.NextRun)
		}
		if _, shown := o.Observed["next-run"]; shown || o.Observed["schedule"] == "" {
			l.Errorf("the options are %v", o.Observed)
		}
		l.EditSpec(mg, `{name: nightly, schedule: "*-1-1 03:00 UTC", all: true, storage: local, enabled: false}`)
		l.Settle(mg)
		l.Reconcile(mg)
		if o := observation(l.T, mg); o.NextRun != nil {
			l.Errorf("a job that is not enabled runs at %v", o.NextRun)
		}
	})
}

// others is the backup that someone else has created.
const others = "local:backup/vzdump-qemu-9000-2025_11_22-01_00_00.vma.zst"

// run makes PVE run the job once, as it does when the job is due.
func run(l *configtest.Life, id string) {
	l.Helper()
	l.Must(l.RunBackupJob(l.Context(), id))
	for ended := false; !ended; <-time.After(10 * time.Millisecond) {
		l.Edit(func(s *state.State) {
			ended = !slices.ContainsFunc(s.Tasks, func(t *state.Task) bool { return t.Type == "vzdump" && t.Ended.IsZero() })
		})
	}
}

// TestOthersAreKept checks that no run of a job removes backups of others without consent, whatever the rules of the storage.
func TestOthersAreKept(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		l.Edit(func(s *state.State) {
			s.Storages["local"].Options = map[string]string{"prune-backups": "keep-last=1"}
			name := strings.TrimPrefix(others, "local:")
			s.Volumes[s.Storages["local"].Key("pve1", name)] = &state.Volume{
				VMID: 9000, Format: "vma.zst", Content: "backup", Size: 1, Used: 1, Created: time.Now().AddDate(-1, 0, 0), Backup: &state.Backup{},
			}
		})
		spared := func() bool {
			all, err := l.Client.Volumes(l.Context(), "pve1", "local", "backup")
			l.Must(err)
			return slices.ContainsFunc(all, func(v proxmox.Volume) bool { return v.ID == others })
		}
		const spec = "{name: nightly, schedule: daily, vmids: [9000], storage: local"
		mg := l.Resource(1, spec+"}", nil)
		l.Settle(mg)
		run(l, "nightly")
		if !spared() {
			l.Error("the backup that others have made is gone")
		}
		l.EditSpec(mg, spec+", pruneBackups: {keepLast: 1}, allowPruningOthers: true}")
		l.Settle(mg)
		if o := l.Options("nightly"); o["prune-backups"] != "keep-last=1" {
			l.Errorf("the rules are %q", o["prune-backups"])
		}
		run(l, "nightly")
		if spared() {
			l.Error("the run has removed nothing: it shows nothing about the first one")
		}
		l.EditSpec(mg, spec+"}") // The consent is withdrawn.
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonPruningUndeclared, "keep-last=1", "allowPruningOthers")
		if o := l.Options("nightly"); o["prune-backups"] != "keep-last=1" {
			l.Errorf("the rules are %q though nobody said so", o["prune-backups"])
		}
		l.EditSpec(mg, spec+", pruneBackups: {keepAll: true}}")
		l.Settle(mg)
		if o := l.Options("nightly"); o["prune-backups"] != "keep-all=1" {
			l.Errorf("the rules are %q", o["prune-backups"])
		}
	})
}

// TestAdoptedPruning checks that an adopted job that prunes backups is not changed before the spec declares whether it prunes.
func TestAdoptedPruning(t *testing.T) {
	for name, rules := range map[string]proxmox.Params{
		"Job": {"prune-backups": "keep-last=2"}, "Storage": {}, "Kept": {"prune-backups": "keep-all=yes"}, "Off": {"prune-backups": "keep-last=2", "remove": "0"},
	} {
		t.Run(name, func(t *testing.T) {
			configtest.RunIn(t, job(), func(l *configtest.Life) {
				form := proxmox.Params{"id": "theirs", "schedule": "daily", "vmid": "9000", "storage": "local"}
				maps.Copy(form, rules)
				l.Must(l.Client.CreateObject(l.Context(), proxmox.Collection{Noun: "backup job", Path: "/cluster/backup", Key: "id"}, "theirs", form))
				const spec = "{name: theirs, schedule: hourly, vmids: [9000], storage: local"
				mg := l.Resource(1, spec+"}", map[string]string{xpmeta.AnnotationKeyExternalName: "theirs"})
				if name == "Kept" || name == "Off" {
					l.Settle(mg)
					return
				}
				before := l.Options("theirs")
				l.Until(mg, xpv2.TypeReady, backupjob.ReasonPruningUndeclared)
				if diff := cmp.Diff(before, l.Options("theirs")); diff != "" {
					l.Errorf("the job was changed: -before, +after:\n%s", diff)
				}
				l.EditSpec(mg, spec+", allowPruningOthers: true}")
				l.Settle(mg)
				if o := l.Options("theirs"); o["schedule"] != "hourly" || o["prune-backups"] != rules["prune-backups"] {
					l.Errorf("with consent, the job is %v", o)
				}
			})
		})
	}
}

// backUp makes others back up the guest.
func backUp(l *configtest.Life) {
	l.Helper()
	upid, err := l.Client.BackUp(l.Context(), proxmox.Ref{Node: "pve1", VMID: 9000}, proxmox.BackupOptions{Storage: "local"})
	l.Must(err)
	for {
		task, err := l.Client.Task(l.Context(), upid)
		l.Must(err)
		if !task.Running {
			l.Must(task.Err())
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

// TestFresh checks the condition Fresh as the newest backup of a guest changes.
func TestFresh(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		mg := l.Resource(1, `{name: nightly, schedule: daily, vmids: [9000], storage: local, maxAgeHours: 26}`, nil)
		l.Settle(mg)
		l.Until(mg, backupjob.TypeFresh, backupjob.ReasonStale, "26 hours: 9000")
		backUp(l)
		l.Restart() // Cached lists are read again.
		l.Reconcile(mg)
		l.Reconcile(mg)
		if c := mg.GetCondition(backupjob.TypeFresh); c.Status != corev1.ConditionTrue {
			l.Errorf("after a backup: %v", c)
		}
		if g := observation(l.T, mg).Guests; len(g) != 1 || g[0].LastBackup == nil || time.Since(g[0].LastBackup.Time) > time.Hour {
			l.Errorf("the guests are %v", g)
		}
		l.EditSpec(mg, `{name: nightly, schedule: daily, vmids: [9000], storage: local}`)
		l.Settle(mg)
		if c, g := mg.GetCondition(backupjob.TypeFresh), observation(l.T, mg).Guests; c.Status != corev1.ConditionUnknown || len(g) != 1 || g[0].LastBackup == nil {
			l.Errorf("without maxAgeHours the guests are shown all the same: %v, %v", c, g)
		}
	})
}

// backedUp adds a backup of VM 9000 that was created at a time, without a visible task.
func backedUp(l *configtest.Life, at time.Time) {
	l.Helper()
	l.Edit(func(s *state.State) {
		name := "backup/vzdump-qemu-9000-" + at.Format("2006_01_02-15_04_05") + ".vma.zst"
		s.Volumes[s.Storages["local"].Key("pve1", name)] = &state.Volume{
			VMID: 9000, Format: "vma.zst", Content: "backup", Size: 1, Used: 1, Created: at, Backup: &state.Backup{},
		}
	})
}

// TestFreshByOldList creates a backup after the backups were listed, and checks that nothing reports a missing backup of the required age.
func TestFreshByOldList(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		backedUp(l, time.Now().Add(-2*time.Hour))
		l.RestartBySigns()
		mg := l.Resource(1, `{name: nightly, schedule: daily, vmids: [9000], storage: local, maxAgeHours: 26}`, nil)
		l.Settle(mg)
		backedUp(l, time.Now())
		l.EditSpec(mg, `{name: nightly, schedule: daily, vmids: [9000], storage: local, maxAgeHours: 1}`)
		l.Reconcile(mg)
		if c := mg.GetCondition(backupjob.TypeFresh); c.Status != corev1.ConditionTrue || c.ObservedGeneration != mg.GetGeneration() {
			l.Errorf("want the backup found by the first look, got %v", c)
		}
	})
}

// TestFreshAfterStale creates a backup of a guest that had none. It is found at the first reconcile more than 20 seconds after the last list, and
// reconciles in between list nothing.
func TestFreshAfterStale(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		p := configtest.Start(l.T, l.Kube, config.Setup(backupjob.Table()), l.Scope, 0, inventory.WithClock(l.Clock.Now))
		mg := l.Resource(1, `{name: nightly, schedule: daily, vmids: [9000], storage: local, maxAgeHours: 26}`, nil)
		look := func() xpv2.ConditionReason {
			l.Must(p.Reconcile(client.ObjectKeyFromObject(mg)))
			l.Read(mg)
			return mg.GetCondition(backupjob.TypeFresh).Reason
		}
		lists := func() int {
			return len(slices.DeleteFunc(l.Requests(), func(r simulator.Request) bool { return !strings.HasSuffix(r.Path, "/storage/local/content") }))
		}
		for range 10 {
			look()
		}
		before := lists()
		for range 5 {
			if reason := look(); reason != backupjob.ReasonStale {
				l.Fatalf("without a backup: %s", reason)
			}
		}
		if n := lists() - before; n > 0 {
			l.Errorf("5 looks within 20 seconds have cost %d lists", n)
		}
		backedUp(l, time.Now())
		l.Clock.Pass(21 * time.Second)
		if reason := look(); reason != backupjob.ReasonFresh {
			l.Errorf("after a backup: %s", reason)
		}
	})
}

// TestCountedBackups checks that only backups count that are complete, and of the Machine's VM.
func TestCountedBackups(t *testing.T) {
	cases := map[string]struct {
		reason, verified, created string
		want                      bool
	}{
		"Unverified": {reason: "Most backups are never verified.", want: true},
		"Verified":   {reason: "One that was verified is whole.", verified: "ok", want: true},
		"Damaged":    {reason: "One that a backup server has found to be damaged is no way back.", verified: "failed"},
		"Own":        {reason: "The backup was made of the VM.", created: time.Now().Add(-time.Hour).Format(time.RFC3339), want: true},
		"Former": {
			reason:  "The backup was made before the VM was created, of another one with its VMID.",
			created: time.Now().Add(time.Hour).Format(time.RFC3339),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			configtest.RunIn(t, job(), func(l *configtest.Life) {
				annotations := map[string]string{}
				if tc.created != "" {
					annotations[xpmeta.AnnotationKeyExternalCreatePending] = tc.created
				}
				l.Machine("web", "demo", 9000, nil, annotations)
				backUp(l)
				l.Edit(func(s *simulator.State) {
					for _, v := range s.Volumes {
						if v.Content == "backup" {
							v.Verification = tc.verified
						}
					}
				})
				mg := l.Resource(1, `{name: nightly, schedule: daily, vmids: [9000], storage: local, maxAgeHours: 26}`, nil)
				l.Settle(mg)
				g, fresh := observation(l.T, mg).Guests, mg.GetCondition(backupjob.TypeFresh).Status == corev1.ConditionTrue
				if len(g) != 1 || g[0].Machine != "web" || (g[0].LastBackup != nil) != tc.want || fresh != tc.want {
					l.Errorf("%s got %v, fresh: %v", tc.reason, g, fresh)
				}
			})
		})
	}
}

// TestKeptInStep checks that a job follows its Machines.
func TestKeptInStep(t *testing.T) {
	cases := map[string]struct{ reason, spec, option string }{
		"Selected": {reason: "Machines with the label are backed up.", option: "vmid", spec: `machineSelector: {matchLabels: {team: web}}`},
		"Excluded": {reason: "Machines with the label are left out.", option: "exclude", spec: `all: true, excludeMachineSelector: {matchLabels: {team: web}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			configtest.RunIn(t, job(), func(l *configtest.Life) {
				l.Must(createVM(l, 9100))
				labels := map[string]string{"team": "web"}
				l.Machine("a", "demo", 9000, labels, nil)
				mg := l.Resource(1, `{name: nightly, schedule: daily, storage: local, `+tc.spec+`}`, nil)
				is := func(what, want string) {
					l.Settle(mg)
					if o := l.Options("nightly"); o[tc.option] != want {
						l.Errorf("%s %s: the option %s is %q, want %q", tc.reason, what, tc.option, o[tc.option], want)
					}
				}
				is("at first", "9000")
				b := l.Machine("b", "demo", 9100, labels, nil)
				is("one more", "9000,9100")
				b.SetLabels(nil)
				l.Must(l.Kube.Update(l.Context(), b))
				is("without its label", "9000")
				b.SetLabels(labels)
				l.Must(l.Kube.Update(l.Context(), b))
				is("with its label", "9000,9100")
				l.Must(l.Kube.Delete(l.Context(), b))
				is("deleted", "9000")
			})
		})
	}
}

// TestExcludedMachines checks that a job of all guests excludes the named Machines, each as soon as it has its VM in this cluster. While one has
// none, the present exclusions stay.
func TestExcludedMachines(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		l.Must(createVM(l, 9100))
		all := func(excluded string) string {
			return `{name: nightly, schedule: daily, storage: local, all: true, excludeMachineRefs: [` + excluded + `]}`
		}
		is := func(what, want string) {
			l.Helper()
			if o := l.Options("nightly"); o["all"] != "1" || o["exclude"] != want {
				l.Errorf("%s: all is %q, and left out are %q, want %q", what, o["all"], o["exclude"], want)
			}
		}
		l.Machine("a", "demo", 9000, nil, nil)
		l.Machine("elsewhere", "another", 9001, nil, map[string]string{xpmeta.AnnotationKeyExternalName: "9001"})
		mg := l.Resource(1, all(`{name: a}, {name: b}`), nil)
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonGuestsMissing, `Machine "b" has no VM in this cluster yet`)
		is("one is not there", "9000")
		b := l.Machine("b", "demo", 9100, nil, nil)
		l.Settle(mg)
		is("both are there", "9000,9100")
		rest := observation(l.T, mg).GuestCount
		l.Must(l.Kube.Delete(l.Context(), b))
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonGuestsMissing, `Machine "b" has no VM in this cluster yet`)
		is("one is deleted", "9000,9100")
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonGuestsMissing, "stay excluded", ": 9100")
		c := l.Machine("c", "demo", 9100, nil, nil)
		l.UntilHolds(mg, "another Machine has the VMID", func() bool { return l.Options("nightly")["exclude"] == "9000" })
		is("another Machine has the VMID", "9000")
		l.Must(l.Kube.Delete(l.Context(), c))
		l.EditSpec(mg, all(`{name: a}`))
		l.Settle(mg)
		is("one is not named any more", "9000")
		if n := observation(l.T, mg).GuestCount; rest == nil || n == nil || *n != *rest+1 {
			l.Errorf("without both guests the job is for %v, and without one for %v", ptr.Deref(rest, -1), ptr.Deref(n, -1))
		}
		l.EditSpec(mg, all(`{name: a}, {name: elsewhere}`))
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonGuestsMissing, `Machine "elsewhere" has no VM in this cluster yet`)
		is("one is in another cluster", "9000")
	})
}

// TestReferences checks that a job names its storage and its pool by resources, as soon as they exist.
func TestReferences(t *testing.T) {
	for _, by := range []string{"Ref: {name: web}", "Selector: {matchLabels: {team: web}}"} {
		t.Run(by[:3], func(t *testing.T) {
			k := job()
			k.Prepare = withPool
			configtest.RunIn(t, k, func(l *configtest.Life) {
				there := func(of, name, external string) {
					mg := l.Object(of, name, 1, "{}", map[string]string{xpmeta.AnnotationKeyExternalName: external})
					mg.SetLabels(map[string]string{"team": name})
					l.Must(l.Kube.Update(l.Context(), mg))
				}
				fleecing := `fleecing: {enabled: true, storageRef: {name: fast}}`
				mg := l.Resource(1, `{name: nightly, schedule: daily, pool`+by+`, storage`+by+`, `+fleecing+`}`, nil)
				l.Until(mg, xpv2.TypeReady, backupjob.ReasonStorageNotFound)
				there("Storage", "web", "local")
				l.Until(mg, xpv2.TypeReady, backupjob.ReasonStorageNotFound)
				there("Storage", "fast", "local-lvm")
				l.Until(mg, xpv2.TypeReady, backupjob.ReasonPoolNotFound)
				there("Pool", "web", "web")
				l.Settle(mg)
				if o := l.Options("nightly"); o["storage"] != "local" || o["pool"] != "web" || o["fleecing"] != "enabled=1,storage=local-lvm" {
					l.Errorf("the job is %v", o)
				}
			})
		})
	}
}

// createVM creates a VM without the provider.
func createVM(l *configtest.Life, vmid int) error {
	l.Helper()
	upid, err := l.Client.Create(l.Context(), proxmox.Ref{Node: "pve1", VMID: vmid}, proxmox.Params{"memory": "64"})
	for err == nil {
		task, failed := l.Client.Task(l.Context(), upid)
		if failed != nil || !task.Running {
			return errors.Join(failed, task.Err())
		}
		<-time.After(10 * time.Millisecond)
	}
	return err
}

// TestUnprovenMachine checks that a Machine counts only once its VM is proven to belong to it. Until then, its external name, which users write, may
// be the VMID of another VM, whose older backups the job would remove.
func TestUnprovenMachine(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		labels := map[string]string{"team": "web"}
		m := l.Machine("refused", "demo", 0, labels, map[string]string{xpmeta.AnnotationKeyExternalName: "9000"})
		mg := l.Resource(1, `{name: nightly, schedule: daily, machineSelector: {matchLabels: {team: web}}, storage: local}`, nil)
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonGuestsMissing)
		if o := l.Options("nightly"); o != nil {
			l.Errorf("the job is for %q", o["vmid"])
		}
		l.HasVM(m, 9000)
		l.Settle(mg)
		if o := l.Options("nightly"); o["vmid"] != "9000" {
			l.Errorf("with the VM, the job is for %q", o["vmid"])
		}
	})
}

// TestOtherClusters checks that a selector leaves out Machines in another cluster, whose VMIDs belong to other guests here.
func TestOtherClusters(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		labels := map[string]string{"team": "web"}
		external := func(id string) map[string]string { return map[string]string{xpmeta.AnnotationKeyExternalName: id} }
		l.Machine("here", "demo", 9000, labels, external("9000"))
		l.Machine("elsewhere", "another", 9001, labels, external("9001"))
		mg := l.Resource(1, `{name: nightly, schedule: daily, machineSelector: {matchLabels: {team: web}}, storage: local}`, nil)
		l.Settle(mg)
		if o := l.Options("nightly"); o["vmid"] != "9000" {
			l.Errorf("the job is for %q, want the Machine of this cluster", o["vmid"])
		}
		l.EditSpec(mg, `{name: nightly, schedule: daily, machineRefs: [{name: here}, {name: elsewhere}], storage: local}`)
		l.Until(mg, xpv2.TypeReady, backupjob.ReasonGuestsMissing, `Machine "elsewhere" has no VM in this cluster yet`)
		if o := l.Options("nightly"); strings.Contains(o["vmid"], "9001") {
			l.Errorf("the job is for %q", o["vmid"])
		}
	})
}

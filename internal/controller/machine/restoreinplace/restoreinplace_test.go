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

package restoreinplace

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

const (
	uuid  = "11111111-2222-4333-8444-555555555555"
	other = "99999999-2222-4333-8444-555555555555"
)

var ref = proxmox.Ref{Node: "pve1", VMID: 500} //nolint:gochecknoglobals // It is a constant.

// A lab is a simulated cluster with VM 500, which has a backup.
type lab struct {
	*testing.T
	*simulator.Server

	root   *proxmox.Client
	kube   client.Client
	m      *namespaced.Machine
	kind   Kind
	record *act.Record
	now    time.Time
	volume string
	saves  int
}

func newLab(t *testing.T) *lab {
	t.Helper()
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.ACL = append(scenario.ACL, simulator.ScenarioGrant{Path: "/", User: "crossplane@pve", Roles: []string{"Administrator"}})
	l := &lab{T: t, Server: simulatortest.NewTest(t, simulator.Options{Scenario: scenario}), now: time.Now()}
	l.root = l.connect(proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword})
	c := l.connect(proxmox.Credentials{TokenID: simulatortest.TestToken, TokenSecret: simulatortest.TestSecret})
	l.ended(l.root.Create(t.Context(), ref, proxmox.Params{
		"name": "web", "memory": "64", "scsi0": "local-lvm:1", "scsi1": "local-lvm:1,backup=0", "smbios1": "uuid=" + uuid,
	}))
	l.backedUp()
	in := inventory.New(c, inventory.WithMaxAge(0))
	scheme := runtime.NewScheme()
	l.must(namespaced.AddToScheme(scheme))
	l.kube = fake.NewClientBuilder().WithScheme(scheme).Build()
	l.m = &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "u", Annotations: map[string]string{
		object.AnnotationUUID: uuid, meta.AnnotationKeyExternalName: "500",
	}}}
	l.m.Spec.ForProvider.RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: "1", Volume: &l.volume}
	l.record = act.New("1", time.Now())
	checks := &preflight.Checks{Client: c, Inventory: in, Reader: vmcache.NewReader(c, in)}
	backups := restore.Backups{Kube: l.kube, GroupVersion: namespaced.SchemeGroupVersion}
	l.kind = Kind{
		Volumes: volumes.Reader{Direct: l.kube, Lists: []resource.ManagedList{&namespaced.VolumeList{}}},
		Env:     act.Env{Kube: l.kube, Members: in, GroupVersion: namespaced.SchemeGroupVersion, VM: &vmstate.VM{Ref: ref}, Save: l.save},
		Client:  c, Inventory: in, Labels: kind.Shard{}.Labels, Room: func(context.Context, qemu.Config) (string, error) { return "", nil },
		Finder: restore.Finder{Backups: backups, Client: c, Inventory: in, Checks: checks, SharesCluster: func(resource.Managed) bool { return true }},
	}
	l.kind.Now = func() time.Time { return l.now }
	return l
}

func (l *lab) save(context.Context, *act.Record) error { l.saves++; return nil }

func (l *lab) connect(by proxmox.Credentials) *proxmox.Client {
	l.Helper()
	c, err := proxmox.New(proxmox.Config{Endpoints: []string{l.URL()}, TLS: proxmox.TLS{CA: l.CA()}, Credentials: by})
	l.must(err)
	l.Cleanup(c.Close)
	return c
}

// must fails the test if an auxiliary call fails.
func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// ended waits for the end of another user's task.
func (l *lab) ended(u proxmox.UPID, err error) {
	l.Helper()
	l.must(err)
	for {
		t, err := l.root.Task(l.Context(), u)
		l.must(err)
		if !t.Running {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// backedUp puts a backup of the VM onto a storage.
func (l *lab) backedUp() {
	l.volume = "nfs:backup/vzdump-qemu-500-2026_11_22-17_00_00.vma.zst"
	l.Edit(func(s *simulator.State) {
		g := s.Guests[ref.VMID]
		config := maps.Clone(g.Config)
		id, _, _ := strings.Cut(g.Config["scsi0"], ",")
		s.Volumes[s.Storages["nfs"].Key("pve1", strings.TrimPrefix(l.volume, "nfs:"))] = &simulator.Volume{
			VMID: 500, Format: "vma.zst", Content: "backup",
			Backup: &simulator.Backup{Config: config, Disks: map[string]simulator.Volume{"scsi0": *s.Volume("pve1", id)}},
		}
	})
}

// edit edits the VM without a sign to others.
func (l *lab) edit(change func(*simulator.Guest)) {
	l.Edit(func(s *simulator.State) { change(s.Guests[ref.VMID]) })
}

// backup changes the backup of the VM.
func (l *lab) backup(change func(*simulator.Volume)) {
	l.Edit(func(s *simulator.State) { change(s.Volume("pve1", l.volume)) })
}

// next makes the next call, and waits for its task.
func (l *lab) next() error {
	l.Helper()
	u, err := l.kind.Next(l.Context(), l.m, l.record)
	if u != "" {
		l.ended(u, nil)
	}
	return err
}

func (l *lab) settled() {
	l.Helper()
	l.must(l.kind.Settle(l.Context(), l.m, l.record))
}

func (l *lab) spec() *v1alpha1.MachineRestoreInPlace { return l.m.Spec.ForProvider.RestoreInPlace }

// is checks the state of the record, words of its message, and how often the restore was called.
func (l *lab) is(state v1alpha1.MachineActState, calls int, words ...string) {
	l.Helper()
	for _, w := range words {
		if !strings.Contains(l.record.Message, w) {
			l.Errorf("the message is %q, want %q in it", l.record.Message, w)
		}
	}
	if l.record.State != state {
		l.Errorf("the state is %s (%s), want %s", l.record.State, l.record.Message, state)
	}
	n := 0
	for _, r := range l.Requests() {
		if r.Method == http.MethodPost && strings.HasPrefix(r.User, "crossplane@pve") && r.Path == "/nodes/pve1/qemu" {
			n++
		}
	}
	if n != calls {
		l.Errorf("want %d calls, got %d", calls, n)
	}
}

func (l *lab) started() { l.ended(l.root.Start(l.Context(), ref)) }

// TestRefused checks that an impossible request is permanently refused, before any call that changes something.
func TestRefused(t *testing.T) {
	inHA := func(l *lab, state string) {
		l.Edit(func(s *simulator.State) { s.HA["vm:500"] = &simulator.HAResource{State: state} })
	}
	cases := map[string]struct {
		reason  string
		prepare func(*lab)
		words   []string
	}{
		"Missing": {
			reason:  "A backup that is not there is named.",
			prepare: func(l *lab) { l.spec().Volume = new("nfs:backup/vzdump-qemu-500-2020_11_22-17_00_00.vma.zst") }, words: []string{"not found"},
		},
		"NoBackup": {
			reason:  "A Backup has to be complete.",
			prepare: func(l *lab) { l.spec().Volume, l.spec().BackupRef = nil, &v1alpha1.Reference{Name: "nightly"} }, words: []string{"'nightly' not found"},
		},
		"UUID": {
			reason:  "The VM must stay this Machine's.",
			prepare: func(l *lab) { l.backup(func(v *simulator.Volume) { v.Backup.Config["smbios1"] = "uuid=" + other }) }, words: []string{other, "another Machine"},
		},
		"Pending": {
			reason:  "A disk that is to be detached at the next start is removed by a restore before.",
			prepare: func(l *lab) { l.edit(func(g *simulator.Guest) { g.Delete = map[string]bool{"scsi0": false} }) }, words: []string{"scsi0 (local-lvm:", "start it"},
		},
		"Room": {
			reason: "The quota has no room for what the VM had in the backup.",
			prepare: func(l *lab) {
				l.kind.Room = func(_ context.Context, to qemu.Config) (string, error) {
					return "no room for memory " + to["memory"], nil
				}
			}, words: []string{"no room for memory 64"},
		},
		"TemplateBackup": {
			reason:  "A template does not become a VM in place.",
			prepare: func(l *lab) { l.backup(func(v *simulator.Volume) { v.Backup.Config["template"] = "1" }) }, words: []string{"of a template"},
		},
		"Damaged": {
			reason:  "What the backup server knows to be damaged is not restored.",
			prepare: func(l *lab) { l.backup(func(v *simulator.Volume) { v.Verification = "failed" }) }, words: []string{"damaged"},
		},
		"Running": {reason: "A VM that runs is not stopped unasked.", prepare: (*lab).started, words: []string{"allowRunning"}},
		"HA": {
			reason:  "High availability would start it in between, whether it runs or not.",
			prepare: func(l *lab) { inHA(l, "started") }, words: []string{"high availability"},
		},
		"HARunning": {
			reason:  "A VM that high availability manages is not shut down for a restore.",
			prepare: func(l *lab) { l.started(); inHA(l, "started"); l.spec().AllowRunning = new(true) }, words: []string{"high availability"},
		},
		"Protected": {
			reason:  "Protection is lifted by people.",
			prepare: func(l *lab) { l.edit(func(g *simulator.Guest) { g.Config["protection"] = "1" }) }, words: []string{"protected"},
		},
		"Snapshots": {
			reason: "Snapshots are not lost unasked.",
			prepare: func(l *lab) {
				l.ended(l.root.TakeSnapshot(l.Context(), ref, proxmox.SnapshotOptions{Name: "theirs"}))
			}, words: []string{"discardSnapshots: theirs"},
		},
		"Retained": {
			reason: "A snapshot that is to be retained is not lost, whatever is asked for, and whether the cache has its Snapshot yet or not.",
			prepare: func(l *lab) {
				l.spec().DiscardSnapshots = new(true)
				raw, err := json.Marshal(kind.SnapshotState{UUID: uuid, Done: true})
				l.must(err)
				s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{
					Namespace: "team", Name: "kept", Annotations: map[string]string{kind.AnnotationSnapshot: string(raw)},
				}}
				s.Spec.ForProvider.RemovalPolicy = new(v1alpha1.SnapshotRetain)
				l.must(l.kube.Create(l.Context(), s))
				empty := fake.NewClientBuilder().WithScheme(l.kube.Scheme()).Build()
				l.kind.Holds = kind.Holds{Reader: empty, Direct: l.kube, Lists: []resource.ManagedList{&namespaced.SnapshotList{}}}
			}, words: []string{"retained", "team/kept"},
		},
		"Replicated": {
			reason: "Copies would no longer fit.", prepare: func(l *lab) {
				l.Edit(func(s *simulator.State) {
					s.Replications["500-0"] = map[string]string{"type": "local", "source": "pve1", "target": "pve2"}
				})
			}, words: []string{"500-0"},
		},
		"OtherDisk": {
			reason: "A disk that has taken the place of another one is not removed unasked.", prepare: func(l *lab) {
				l.backup(func(v *simulator.Volume) { v.Backup.Config["scsi0"] = "local-lvm:vm-500-disk-7,size=1G" })
			}, words: []string{"scsi0 (local-lvm:vm-500-disk-", "replaceDisks"},
		},
		"NotInSafety": {
			reason: "A disk that the safety backup would not have is not removed unasked.", prepare: func(l *lab) {
				l.spec().SafetyBackup = &v1alpha1.MachineSafetyBackup{Storage: "nfs"}
				l.edit(func(g *simulator.Guest) { g.Config["scsi0"] += ",backup=0" })
			}, words: []string{"scsi0 (local-lvm:vm-500-disk-", "safetyBackup would not have", "set backup: true", "leave out safetyBackup", "replaceDisks"},
		},
		"EFI": {
			reason: "A backup leaves out the disk of EFI of a VM with another firmware.", prepare: func(l *lab) {
				l.spec().SafetyBackup = &v1alpha1.MachineSafetyBackup{Storage: "nfs"}
				l.efi("seabios")
			}, words: []string{"efidisk0 (local-lvm:vm-500-disk-9)", "bios: ovmf"},
		},
		"Attached": {
			reason: "A disk that another VM has attached is not removed under it.", prepare: (*lab).borrowed, words: []string{"is used by VM 600: detach it there"},
		},
		"Volume": {
			reason: "The disk of a Volume is not replaced, whatever is asked for.", prepare: func(l *lab) {
				l.spec().ReplaceDisks = new(true)
				var id string
				l.edit(func(g *simulator.Guest) { id, _, _ = strings.Cut(g.Config["scsi0"], ",") })
				r := &volumeref.Record{Volume: id, Holder: volumeref.Holder{UUID: uuid}}
				l.must(l.kube.Create(l.Context(), &namespaced.Volume{ObjectMeta: metav1.ObjectMeta{
					Namespace: "team", Name: "d", Annotations: map[string]string{volumeref.AnnotationRecord: r.String()},
				}}))
			}, words: []string{"scsi0 is the disk of Volume team/d"},
		},
		"VolumeGone": {
			reason: "The disk of a Volume that was deleted without it is not replaced either.", prepare: func(l *lab) {
				l.spec().ReplaceDisks = new(true)
				var id string
				l.edit(func(g *simulator.Guest) { id, _, _ = strings.Cut(g.Config["scsi0"], ",") })
				d := qemu.Devices{Handed: qemu.VolumeDisks{"d": {Device: "scsi0", Volume: id}}}
				l.m.Annotations[object.AnnotationDevices] = d.String()
			}, words: []string{"scsi0 is, or may be, the disk of Volume 'd'", "which is gone"},
		},
		"CloudInit": {
			reason: "There is one drive of cloud-init's on a storage.", prepare: func(l *lab) {
				l.edit(func(g *simulator.Guest) { g.Config["ide2"] = "local-lvm:vm-500-cloudinit,media=cdrom" })
			}, words: []string{"cloud-init", "ide2"},
		},
		"Storage": {reason: "The disks go somewhere.", prepare: func(l *lab) { l.spec().Storage = new("nowhere") }, words: []string{"nowhere"}},
		"StorageRef": {
			reason:  "The disks go to a storage that is there.",
			prepare: func(l *lab) { l.spec().StorageRef = &v1alpha1.Reference{Name: "fast"} }, words: []string{"Storage 'fast' not found"},
		},
		"NothingToSave": {
			reason: "A VM that was lost has nothing to back up.", prepare: func(l *lab) {
				l.kind.Lost, l.spec().SafetyBackup = true, &v1alpha1.MachineSafetyBackup{Storage: "nfs"}
				l.edit(func(g *simulator.Guest) { g.Config = map[string]string{"memory": "128"} })
			}, words: []string{"leave out safetyBackup"},
		},
		"Privilege": {
			reason: "What is missing is named.", prepare: func(l *lab) {
				l.Edit(func(s *simulator.State) {
					s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true}}
				})
			}, words: []string{"/vms/500", "VM.Backup"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			tc.prepare(l)
			if err := l.next(); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			l.is(v1alpha1.ActRefused, 0, tc.words...)
			made := &namespaced.BackupList{}
			if l.must(l.kube.List(t.Context(), made)); len(made.Items) > 0 {
				t.Errorf("%s\nno backup is made, got %v", tc.reason, made.Items)
			}
			if l.saves != 1 {
				t.Errorf("%s\nit is noted once, got %d", tc.reason, l.saves)
			}
		})
	}
}

// borrowed attaches a disk of the VM to another VM.
func (l *lab) borrowed() {
	l.Helper()
	l.ended(l.root.Create(l.Context(), proxmox.Ref{Node: "pve1", VMID: 600}, proxmox.Params{"name": "db", "memory": "64"}))
	l.Edit(func(s *simulator.State) { s.Guests[600].Config["virtio3"] = s.Guests[ref.VMID].Config["scsi0"] })
}

// efi gives the VM an EFI disk, which its backup has, and the firmware.
func (l *lab) efi(bios string) {
	const volume = "local-lvm:vm-500-disk-9,size=4M"
	l.edit(func(g *simulator.Guest) { g.Config["efidisk0"], g.Config["bios"] = volume, bios })
	l.backup(func(v *simulator.Volume) { v.Backup.Config["efidisk0"], v.Backup.Config["bios"] = volume, "ovmf" })
}

// TestSafetyHas checks that the safety backup is created if it contains everything that would be lost, or the loss is requested.
func TestSafetyHas(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare func(*lab)
	}{
		"Asked": {
			reason: "A disk is removed whose removal is asked for.", prepare: func(l *lab) {
				l.spec().ReplaceDisks = new(true)
				l.edit(func(g *simulator.Guest) { g.Config["scsi0"] += ",backup=0" })
			},
		},
		"Kept": {
			reason:  "A disk that the restored backup does not have either stays.",
			prepare: func(l *lab) { l.backup(func(v *simulator.Volume) { v.Backup.Config["scsi0"] += ",backup=0" }) },
		},
		"EFI": {reason: "A backup has the disk of EFI.", prepare: func(l *lab) { l.efi("ovmf") }},
		"CloudInit": {
			reason: "The drive of cloud-init is created again.", prepare: func(l *lab) {
				const drive = "local-lvm:vm-500-cloudinit,media=cdrom,size=4M"
				l.edit(func(g *simulator.Guest) { g.Config["ide2"] = drive })
				l.backup(func(v *simulator.Volume) { v.Backup.Config["ide2"] = drive })
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.spec().SafetyBackup = &v1alpha1.MachineSafetyBackup{Storage: "nfs"}
			tc.prepare(l)
			if err := l.next(); !kind.IsWait(err) || l.record.State != v1alpha1.ActMakingSafetyBackup {
				t.Errorf("%s got %v, %s (%s)", tc.reason, err, l.record.State, l.record.Message)
			}
		})
	}
}

// TestWaits checks that a VM that is locked, or is another VM, is left alone. Nothing is permanently refused.
func TestWaits(t *testing.T) {
	for option, value := range map[string]string{"lock": "backup", "smbios1": "uuid=" + other} {
		l := newLab(t)
		l.edit(func(g *simulator.Guest) { g.Config[option] = value })
		if err := l.next(); err == nil || kind.IsWait(err) != (option == "lock") {
			t.Errorf("%s: got %v", option, err)
		}
		l.is(v1alpha1.ActPending, 0)
	}
}

// TestWaitsForLock keeps the lock of the VM from the call or its task, as PVE holds it for a moment after a stop: the call is repeated, because it
// has done nothing.
func TestWaitsForLock(t *testing.T) {
	const noLock = "can't lock file '/var/lock/qemu-server/lock-500.conf' - got timeout"
	cases := map[string]struct {
		reason string
		fault  simulator.Fault
		lock   string
		held   bool
		want   v1alpha1.MachineActState
	}{
		"Call": {
			reason: "PVE locks the VM before it starts the task.", want: v1alpha1.ActPending,
			fault: simulator.Fault{Method: http.MethodPost, Path: "/nodes/pve1/qemu", Status: 500, Message: "unable to restore VM 500 - " + noLock},
		},
		"Task":   {reason: "The task has done nothing.", want: v1alpha1.ActPending},
		"Locked": {reason: "The task has left the VM locked.", lock: "create", want: v1alpha1.ActFailed},
		"Held":   {reason: "The lock is held for longer than PVE needs.", held: true, want: v1alpha1.ActFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			if tc.held {
				at := l.now.Add(-tasktrack.LockHeld)
				l.record.Lock = tasktrack.LockWait{First: at, Last: at}
			}
			if tc.fault.Count = 1; tc.fault.Status != 0 {
				l.Inject(tc.fault)
			}
			l.Locks.Try(ref.VMID, engine.Exclusive)
			if err := l.next(); err != nil && !proxmox.IsLockTimeout(err) {
				t.Fatal(err)
			}
			l.Locks.Release(ref.VMID, engine.Exclusive)
			if tc.lock != "" {
				l.edit(func(g *simulator.Guest) { g.Config["lock"] = tc.lock })
			}
			l.settled()
			if l.record.State != tc.want || l.record.Open() {
				t.Errorf("%s\ngot %+v", tc.reason, l.record)
			}
			if tc.want == v1alpha1.ActFailed {
				return
			}
			l.must(l.next())
			l.settled()
			l.is(v1alpha1.ActSucceeded, 2)
		})
	}
}

// TestRestore shuts the VM down, creates a backup of it, and restores it.
func TestRestore(t *testing.T) {
	l := newLab(t)
	l.started()
	l.spec().AllowRunning, l.spec().SafetyBackup, l.kind.Start = new(true), &v1alpha1.MachineSafetyBackup{Storage: "nfs"}, true
	if err := l.next(); !errors.Is(err, act.ErrRuns) || !l.record.Ran {
		t.Fatalf("it is shut down first, got %v", err)
	}
	l.ended(l.root.Stop(t.Context(), ref, proxmox.StopOptions{}))
	if err := l.next(); !kind.IsWait(err) {
		t.Fatalf("it waits for the safety backup, got %v", err)
	}
	b, key := &namespaced.Backup{}, client.ObjectKey{Namespace: "team", Name: SafetyName(l.m, "1")}
	l.must(l.kube.Get(t.Context(), key, b))
	if p := b.Spec.ForProvider; *p.Machine != "web" || p.Storage != "nfs" || !*p.Protected {
		t.Errorf("got %+v", p)
	}
	if err := l.next(); !kind.IsWait(err) || l.record.State != v1alpha1.ActMakingSafetyBackup {
		t.Errorf("it is made once, got %v", err)
	}
	l.kind.Show(l.m, l.record)
	if waiting, err := restore.WaitingFor(t.Context(), l.kube, l.machines(), key); err != nil || len(waiting) != 1 {
		t.Errorf("it is woken when the Backup is made, got %v, %v", waiting, err)
	}
	b.Status.AtProvider.State, b.Status.AtProvider.VMUUID = v1alpha1.BackupComplete, uuid
	l.must(l.kube.Update(t.Context(), b))
	l.must(l.next())
	l.is(v1alpha1.ActRestoring, 1)
	l.settled()
	l.is(v1alpha1.ActSucceeded, 1)
	g, _ := l.Guest(500)
	if g.Config["unused0"] == "" || g.Config["scsi1"] != "" || g.Config["scsi0"] == "" || !strings.Contains(g.Config["smbios1"], uuid) {
		t.Errorf("want what the backup has, and the other disk unused, got %v", g.Config)
	}
	l.kind.Show(l.m, l.record)
	if o := l.m.Status.AtProvider.RestoreInPlace; o.SafetyBackup != key.Name || o.Volume != l.volume {
		t.Errorf("it is shown, got %+v", o)
	}
}

// machines stores the Machine as it is, and returns an empty list of its kind.
func (l *lab) machines() *namespaced.MachineList {
	l.Helper()
	stored := l.m.DeepCopy()
	stored.ResourceVersion = ""
	l.must(l.kube.Create(l.Context(), stored))
	return &namespaced.MachineList{}
}

// TestSafety checks that nothing is restored without a safety backup of the current VM, if one is requested.
func TestSafety(t *testing.T) {
	cases := map[string]struct {
		reason string
		before func(*lab)                     // the request
		made   func(*lab, *namespaced.Backup) // once the Backup is there
		words  string
	}{
		"ByHand": {
			reason: "A Backup of the name may be older than what the VM has written since.", words: "another Backup has the name",
			before: func(l *lab) {
				b := &namespaced.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: SafetyName(l.m, "1")}}
				b.Spec.ForProvider.Machine, b.Status.AtProvider.State, b.Status.AtProvider.VMUUID = new("web"), v1alpha1.BackupComplete, uuid
				l.must(l.kube.Create(l.Context(), b))
			},
		},
		"OtherVM": {
			reason: "A backup of another VM is no way back.", words: "another Backup has the name",
			made: func(_ *lab, b *namespaced.Backup) { b.Status.AtProvider.VMUUID = other },
		},
		"Gone": {
			reason: "A backup that was removed is no way back.", words: "was removed",
			made: func(_ *lab, b *namespaced.Backup) { b.Status.AtProvider.State = v1alpha1.BackupGone },
		},
		"Deleted": {
			reason: "Nobody looks after a backup whose resource was deleted.", words: "was deleted",
			made: func(l *lab, b *namespaced.Backup) { l.taken(b); l.must(l.kube.Delete(l.Context(), b)) },
		},
		"Attached": {
			reason: "A disk that another VM has attached since is not removed under it.", words: "is used by VM 600",
			made: func(l *lab, _ *namespaced.Backup) { l.borrowed() },
		},
		"Started": {
			reason: "What the VM has written since would be lost.", words: "was started after its safety backup",
			made: func(l *lab, b *namespaced.Backup) { l.taken(b); l.started() },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.spec().AllowRunning, l.spec().SafetyBackup = new(true), &v1alpha1.MachineSafetyBackup{Storage: "nfs"}
			if tc.before != nil {
				tc.before(l)
			}
			if tc.made != nil {
				if err := l.next(); !kind.IsWait(err) {
					t.Fatalf("it waits for the safety backup, got %v", err)
				}
				b := &namespaced.Backup{}
				l.must(l.kube.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: SafetyName(l.m, "1")}, b))
				b.Status.AtProvider.State, b.Status.AtProvider.VMUUID = v1alpha1.BackupComplete, uuid
				tc.made(l, b)
				l.must(client.IgnoreNotFound(l.kube.Update(t.Context(), b)))
			}
			if l.must(l.next()); l.record.State != v1alpha1.ActRefused {
				t.Error(tc.reason)
			}
			l.is(v1alpha1.ActRefused, 0, tc.words)
		})
	}
}

// onCeph puts the VM onto storage that VM 101 on pve3 reaches, with its backup.
func (l *lab) onCeph() {
	l.Helper()
	l.ended(l.root.MoveDisk(l.Context(), ref, proxmox.MoveOptions{Disk: "scsi0", Storage: "ceph", Delete: true}))
	l.backedUp()
}

// lost takes the node of another VM down, or removes it while the configuration of that VM remains.
func (l *lab) lost(removed bool) {
	l.PowerOff("pve3")
	if removed {
		l.Edit(func(s *simulator.State) { delete(s.Nodes, "pve3") })
	}
}

// TestUnseen hides whether another VM uses a disk, because the node of that VM has gone down meanwhile: what was begun does not wait for that node
// with the VM off.
func TestUnseen(t *testing.T) {
	cases := map[string]struct {
		reason          string
		runs, safe      bool // the VM before, and whether it is backed up
		removed, leaves bool // the node, and whether the run strategy leaves the VM off
		words           []string
	}{
		"Safety": {
			reason: "The VM was shut down and backed up.", runs: true, safe: true,
			words: []string{"VM 101", `node "pve3" is offline`, "once the node is back", "-before-restore-"},
		},
		"Removed": {
			reason: "The configurations of VMs outlive their nodes.", runs: true, safe: true, removed: true,
			words: []string{`node "pve3" is not part of the cluster`, "/etc/pve/nodes/pve3/qemu-server", "-before-restore-"},
		},
		"Off":  {reason: "The VM was backed up as it was.", safe: true, words: []string{"pve3", "-before-restore-"}},
		"Ran":  {reason: "The VM was shut down for the restore alone.", runs: true, words: []string{"pve3", "once the node is back"}},
		"Left": {reason: "Nobody starts the VM again.", runs: true, leaves: true, words: []string{"pve3", "start it"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.onCeph()
			l.spec().AllowRunning, l.kind.Start = new(true), tc.leaves
			if tc.runs {
				l.started()
			}
			if tc.safe {
				l.spec().SafetyBackup = &v1alpha1.MachineSafetyBackup{Storage: "nfs"}
			}
			if tc.runs {
				if err := l.next(); !errors.Is(err, act.ErrRuns) {
					t.Fatalf("it is shut down first, got %v", err)
				}
				l.ended(l.root.Stop(t.Context(), ref, proxmox.StopOptions{}))
			}
			b, key := &namespaced.Backup{}, client.ObjectKey{Namespace: "team", Name: SafetyName(l.m, "1")}
			if tc.safe {
				if err := l.next(); !kind.IsWait(err) {
					t.Fatalf("it waits for the safety backup, got %v", err)
				}
				l.must(l.kube.Get(t.Context(), key, b))
				b.Status.AtProvider.State, b.Status.AtProvider.VMUUID = v1alpha1.BackupComplete, uuid
				l.must(l.kube.Update(t.Context(), b))
			}
			l.lost(tc.removed)
			if err := l.next(); err != nil {
				t.Fatalf("%s Got %v", tc.reason, err)
			}
			l.is(v1alpha1.ActRefused, 0, tc.words...)
			if tc.safe {
				l.must(l.kube.Get(t.Context(), key, b))
			}
			if strings.Contains(l.record.Message, "start it") != tc.leaves {
				t.Errorf("%s Got %s", tc.reason, l.record.Message)
			}
		})
	}
}

// TestUnseenFirst checks that a restore of a VM that is off waits for the node of another VM that may use a disk, because nothing was done.
func TestUnseenFirst(t *testing.T) {
	l := newLab(t)
	l.onCeph()
	l.lost(false)
	if err := l.next(); err == nil || !strings.Contains(err.Error(), "pve3") {
		t.Errorf("want the node waited for, got %v", err)
	}
	l.is(v1alpha1.ActPending, 0)
	l.PowerOn("pve3")
	l.must(l.next())
	l.settled()
	l.is(v1alpha1.ActSucceeded, 1)
}

// TestSafetyStorage names the storage of the safety backup by a Storage.
func TestSafetyStorage(t *testing.T) {
	l := newLab(t)
	l.spec().AllowRunning, l.spec().SafetyBackup = new(true), &v1alpha1.MachineSafetyBackup{StorageRef: &v1alpha1.Reference{Name: "backups"}}
	if err := l.next(); !kind.IsWait(err) {
		t.Fatalf("it waits for the safety backup, got %v", err)
	}
	b := &namespaced.Backup{}
	l.must(l.kube.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: SafetyName(l.m, "1")}, b))
	if p := b.Parameters(); p.Storage != "" || p.StorageRef == nil || p.StorageRef.Name != "backups" {
		t.Errorf("want a Backup that names the Storage, got %+v", p)
	}
}

// TestStorage names the storage of the disks by a Storage.
func TestStorage(t *testing.T) {
	l := newLab(t)
	l.spec().StorageRef = &v1alpha1.Reference{Name: "fast"}
	l.must(l.kube.Create(t.Context(), &namespaced.Storage{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "fast", Annotations: map[string]string{meta.AnnotationKeyExternalName: "ceph"},
	}}))
	l.must(l.next())
	l.settled()
	l.is(v1alpha1.ActSucceeded, 1)
	if g, _ := l.Guest(500); !strings.HasPrefix(g.Config["scsi0"], "ceph:") {
		t.Errorf("want the disk on ceph, got %v", g.Config)
	}
}

// taken records the safety backup before the restore, which had to wait for its turn.
func (l *lab) taken(b *namespaced.Backup) {
	l.Helper()
	l.must(l.kube.Update(l.Context(), b))
	l.record.Taken = true
}

// TestLost loses the answer, the call, and the VM.
func TestLost(t *testing.T) {
	l := newLab(t)
	l.Inject(simulator.Fault{Method: http.MethodPost, Path: "/nodes/pve1/qemu", CutAfter: true, Count: 1})
	if err := l.next(); !proxmox.IsOutcomeUnknown(err) {
		t.Fatalf("the answer is lost, got %v", err)
	}
	for l.record.Open() {
		l.settled()
	}
	l.is(v1alpha1.ActSucceeded, 1)

	l = newLab(t)
	l.Inject(simulator.Fault{Method: http.MethodPost, Path: "/nodes/pve1/qemu", CutBefore: true, Count: 1})
	if err := l.next(); !proxmox.IsOutcomeUnknown(err) {
		t.Fatalf("the call is lost, got %v", err)
	}
	l.now = l.now.Add(31 * time.Second)
	if l.settled(); !l.record.Open() {
		t.Fatal("it may show yet")
	}
	l.now = l.now.Add(30 * time.Second)
	l.settled()
	l.is(v1alpha1.ActUnknown, 1, "no task")

	l = newLab(t)
	l.Inject(simulator.Fault{Task: "qmrestore", Count: 1, TaskExit: "command 'vma extract' failed"})
	l.must(l.next())
	l.settled()
	l.is(v1alpha1.ActFailed, 1, "vma extract", "has lost its configuration")
	l.kind.Lost, l.spec().Token, l.record = true, "2", l.record.Next("2", time.Now())
	l.must(l.next())
	l.settled()
	l.is(v1alpha1.ActSucceeded, 2)

	l = newLab(t)
	l.kind.Lost = true
	if err := l.next(); err == nil || !strings.Contains(err.Error(), "left alone") {
		t.Errorf("what somebody has changed is theirs, got %v", err)
	}
}

// TestNodeGone takes the node down that restores the VM, whose configuration is moved to another node. The task is waited for until the node is no
// longer a member of the cluster.
func TestNodeGone(t *testing.T) {
	cases := map[string]struct {
		reason string
		task   proxmox.UPID
	}{
		"Known": {reason: "The task that was started may still run.", task: "UPID:pve2:00000001:00000001:65000000:qmrestore:500:crossplane@pve!demo:"},
		"Lost":  {reason: "The answer was lost, and the node may have the task."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.record.Node, l.record.Call = "pve2", act.Call{Begun: l.now.Add(-time.Hour).Unix(), Task: tc.task}
			l.record.Enter(v1alpha1.ActRestoring, "", l.now)
			l.PowerOff("pve2")
			l.settled()
			l.kind.Show(l.m, l.record)
			if o := l.m.Status.AtProvider.RestoreInPlace; !l.record.Open() || o.State != v1alpha1.ActRestoring || !strings.Contains(o.Message, "node pve2") {
				t.Fatalf("%s Got %+v, %+v", tc.reason, l.record, o)
			}
			if err := l.next(); !kind.IsWait(err) {
				t.Errorf("nothing is begun while the task may run, got %v", err)
			}
			l.Edit(func(s *simulator.State) {
				delete(s.Nodes, "pve2")
				for id, g := range s.Guests {
					if g.Node == "pve2" {
						delete(s.Guests, id)
					}
				}
			})
			l.settled()
			l.is(v1alpha1.ActUnknown, 0, "removed from the cluster")
			l.spec().Token, l.record = "2", l.record.Next("2", l.now)
			l.must(l.next())
			l.settled()
			l.is(v1alpha1.ActSucceeded, 1)
		})
	}
}

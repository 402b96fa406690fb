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

package volumes

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/vitistack/provider-proxmox/apis"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

const uuid = "aaaaaaaa-0000-4000-8000-000000000000"

// held returns the record of a disk that the VM has, for the Machine.
func held() *volumeref.Record {
	return &volumeref.Record{Volume: "lvm:vm-100-disk-1", Holder: volumeref.Holder{UUID: uuid}, Machine: "m", MachineName: "web"}
}

// reader returns a Reader of a Volume "d" with a record, or of no Volume for nil.
func reader(t *testing.T, r *volumeref.Record) Reader {
	t.Helper()
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(s)
	if r != nil {
		v := &namespaced.Volume{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "d", Annotations: map[string]string{volumeref.AnnotationRecord: r.String()},
		}}
		v.Observation().Node = "n1"
		b = b.WithObjects(v)
	}
	c := b.Build()
	return Reader{Kube: c, Direct: c, Object: &namespaced.Volume{}, Lists: []resource.ManagedList{&namespaced.VolumeList{}}}
}

// web returns a Machine that lists Volumes.
func web(names ...string) *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "m"}}
	for i, name := range names {
		k := v1alpha1.MachineDisk{Name: "disk" + string(rune('a'+i)), VolumeRef: &v1alpha1.VolumeReference{Name: name}}
		m.Parameters().Disks = append(m.Parameters().Disks, k)
	}
	return m
}

// here treats all resources as those of the Machine's cluster.
func here(resource.Managed) bool { return true }

func TestResolve(t *testing.T) {
	cases := map[string]struct {
		reason string
		record *volumeref.Record
		change func(*volumeref.Record)
		want   string
	}{
		"Has":     {reason: "The VM has it.", record: held()},
		"None":    {reason: "There is no such Volume.", want: "Volume 'd' not found"},
		"NotMade": {reason: "The disk of the Volume is on its way.", record: &volumeref.Record{}, want: "has no disk yet"},
		"Another": {
			reason: "The Volume is kept for another Machine.",
			record: held(), change: func(r *volumeref.Record) { r.Machine, r.MachineName = "x", "db" }, want: "kept for Machine db",
		},
		"Other VM": {
			reason: "Another VM has it.",
			record: held(), change: func(r *volumeref.Record) { r.Holder.UUID = "x" }, want: "not handed over yet",
		},
		"Leaves": {
			reason: "The disk is about to leave the VM.",
			record: held(), change: func(r *volumeref.Record) { r.Handover = &volumeref.Handover{} }, want: "not handed over yet",
		},
		"Lost": {
			reason: "The disk is gone.",
			record: held(), change: func(r *volumeref.Record) { r.Lost, r.Message = true, "destroyed" }, want: "lost: destroyed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.change != nil {
				tc.change(tc.record)
			}
			m := web("d")
			got, err := reader(t, tc.record).Resolve(t.Context(), m, m.Parameters(), VM{UUID: uuid}, here)
			if err != nil {
				t.Fatal(err)
			}
			p, waits := got.Parameters, got.Waits
			if has := p.Disks[0].Volume != nil; has != (tc.want == "") || !strings.Contains(strings.Join(waits, "; "), tc.want) {
				t.Errorf("%s\nResolve(): %t, %q, not %q", tc.reason, has, waits, tc.want)
			}
			if m.Parameters().Disks[0].Volume != nil {
				t.Error("the spec itself is changed")
			}
		})
	}
}

// TestDisplaces checks whether a VM has a disk where it was last seen.
func TestDisplaces(t *testing.T) {
	const disk, other = "lvm:vm-100-disk-1", "lvm:vm-100-disk-2"
	for name, tc := range map[string]struct {
		reason, device, node string
		config               qemu.Config
		want                 bool
	}{
		"There":      {reason: "The disk is where it was.", device: "scsi1", node: "n1", config: qemu.Config{"scsi1": disk}},
		"Exchanged":  {reason: "Another disk is where it was.", device: "scsi1", node: "n1", config: qemu.Config{"scsi1": other}, want: true},
		"Detached":   {reason: "The disk was detached on this node.", device: "scsi1", node: "n1", config: qemu.Config{"unused0": disk}},
		"Away":       {reason: "The VM is on another node without it.", device: "scsi1", node: "n2", config: qemu.Config{"scsi2": disk}, want: true},
		"Attached":   {reason: "The disk is attached, and another one unused.", device: "unused0", node: "n1", config: qemu.Config{"scsi1": disk, "unused0": other}},
		"UnusedAway": {reason: "The VM has migrated since.", device: "unused0", node: "n2", config: qemu.Config{"scsi1": disk, "unused0": other}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := VM{UUID: uuid, Node: "n1", State: qemu.State{Config: tc.config, Active: tc.config}}
			if got := v.displaces(disk, volumeref.Place{Node: tc.node, Device: tc.device}); got != tc.want {
				t.Errorf("%s displaces(): %t", tc.reason, got)
			}
		})
	}
}

// TestResolveElsewhere reports a Volume of another cluster, which no VM of this cluster ever gets.
func TestResolveElsewhere(t *testing.T) {
	nowhere := func(resource.Managed) bool { return false }
	for name, want := range map[string]string{"": "is in another cluster", "m": ""} {
		record := held()
		record.Machine = name
		m := web("d")
		got, err := reader(t, record).Resolve(t.Context(), m, m.Parameters(), VM{UUID: uuid}, nowhere)
		if waits := strings.Join(got.Waits, "; "); err != nil || (waits == "") != (want == "") || !strings.Contains(waits, want) {
			t.Errorf("kept for %q: %q, %v; want %q", name, waits, err, want)
		}
	}
}

func TestResolveTwice(t *testing.T) {
	m := web("d", "d")
	got, err := reader(t, held()).Resolve(t.Context(), m, m.Parameters(), VM{UUID: uuid}, here)
	p, waits := got.Parameters, got.Waits
	if err != nil || len(waits) != 1 || !strings.Contains(waits[0], "take one of them off") || p.Disks[1].Volume != nil {
		t.Errorf("a disk is two of one VM: %v, %v", waits, err)
	}
}

// TestLeaving finds the disks of Volumes that a VM is to give away.
func TestLeaving(t *testing.T) {
	cases := map[string]struct {
		reason string
		lists  []string
		change func(*volumeref.Record)
		want   bool
	}{
		"Listed":   {reason: "A Volume that the spec lists stays.", lists: []string{"d"}},
		"Unlisted": {reason: "A Volume that the spec does not list leaves, whoever has attached it.", want: true},
		"Another":  {reason: "A Volume is kept for another Machine.", lists: []string{"d"}, change: func(r *volumeref.Record) { r.Machine = "x" }, want: true},
		"NotNoted": {reason: "A Volume is yet to be noted as kept for this Machine.", lists: []string{"d"}, change: func(r *volumeref.Record) { r.Machine = "" }},
		"OtherVM":  {reason: "Another VM has it.", change: func(r *volumeref.Record) { r.Holder.UUID = "x" }},
		"Moving":   {reason: "A Volume that moves may have left already.", change: func(r *volumeref.Record) { r.Handover = &volumeref.Handover{} }},
		"Lost":     {reason: "Another disk may have its name.", change: func(r *volumeref.Record) { r.Lost = true }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			record, m := held(), web(tc.lists...)
			if tc.change != nil {
				tc.change(record)
			}
			got, err := reader(t, record).Resolve(t.Context(), m, m.Parameters(), VM{UUID: strings.ToUpper(uuid)}, here)
			if err != nil || slices.Contains(got.Leaving, record.Volume) != tc.want {
				t.Errorf("%s\nResolve(): %v, %v; want %t", tc.reason, got.Leaving, err, tc.want)
			}
		})
	}
}

// TestLeavingOfNamespace lets a Volume of another namespace claim that the VM has its disk: users of that namespace could otherwise detach disks here.
func TestLeavingOfNamespace(t *testing.T) {
	m := web()
	m.SetNamespace("elsewhere")
	if got, err := reader(t, held()).Resolve(t.Context(), m, m.Parameters(), VM{UUID: uuid}, here); err != nil || len(got.Leaving) > 0 {
		t.Errorf("Resolve(): %v, %v", got.Leaving, err)
	}
}

func TestNode(t *testing.T) {
	local, shared := []proxmox.Storage{{Name: "lvm", Node: "n1"}}, []proxmox.Storage{{Name: "lvm", Node: "n1", Shared: true}}
	yes := here
	m := web("d")
	if node, err := reader(t, held()).Node(t.Context(), m, local, yes); node != "n1" || err != nil {
		t.Errorf("local storage pins the VM: %q, %v", node, err)
	}
	if node, err := reader(t, held()).Node(t.Context(), m, shared, yes); node != "" || err != nil {
		t.Errorf("shared storage does not: %q, %v", node, err)
	}
	if _, err := reader(t, held()).Node(t.Context(), m, local, func(resource.Managed) bool { return false }); err == nil {
		t.Error("a Volume of another cluster is refused")
	}
	_, err := reader(t, nil).Node(t.Context(), m, local, yes)
	if reason, waits := conditions.WaitsForSource(err); !waits || reason != conditions.ReasonWaitingForVolume {
		t.Errorf("a Volume that is not there is waited for: %v", err)
	}
}

func TestCheckRemovable(t *testing.T) {
	coming, gone := &volumeref.Record{Volume: "lvm:vm-1-disk-0", Handover: &volumeref.Handover{Holder: volumeref.Holder{UUID: uuid}}}, held()
	gone.Lost = true
	cases := map[string]struct {
		reason string
		record *volumeref.Record
		held   bool
	}{
		"Has":    {reason: "The disk is in the VM.", record: held(), held: true},
		"Coming": {reason: "The disk may be about to come to the VM.", record: coming, held: true},
		"Lost":   {reason: "Somebody may have moved it.", record: gone, held: true},
		"None":   {reason: "There is no record of a disk."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := reader(t, tc.record).CheckRemovable(t.Context(), strings.ToUpper(uuid), 100)
			if (err != nil) != tc.held || tc.held && !strings.Contains(err.Error(), "team/d") {
				t.Errorf("%s\nCheckRemovable(): %v", tc.reason, err)
			}
		})
	}
}

// TestUnreadableRecord checks that a malformed record only holds up the VM that it names.
func TestUnreadableRecord(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, record, kept string
		held                 bool
	}{
		"Spoilt": {
			reason: "The disk that was noted before is not destroyed for it.", record: "x", kept: held().String(), held: true,
		},
		"Another": {reason: "Anybody may write such an annotation.", record: "x"},
		"This":    {reason: "A record that cannot be read may be about this VM.", record: `{"holder":{"uuid":"` + uuid + `"}`, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader(t, held())
			v := &namespaced.Volume{}
			if err := r.Kube.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "d"}, v); err != nil {
				t.Fatal(err)
			}
			v.Annotations[volumeref.AnnotationRecord] = tc.record
			v.Observation().Annotations = map[string]string{volumeref.AnnotationRecord: tc.kept}
			w, writes := r.Kube.(client.Client)
			if !writes {
				t.Fatal("the client of the test cannot write")
			}
			if err := w.Update(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if err := r.CheckRemovable(t.Context(), uuid, 100); (err != nil) != tc.held {
				t.Errorf("%s\nCheckRemovable(): %v", tc.reason, err)
			}
		})
	}
}

func TestPinned(t *testing.T) {
	m := web("d")
	m.Parameters().Disks[0].Volume = new("lvm:vm-100-disk-1")
	if no := Pinned(m.Parameters(), nil, []proxmox.LocalDisk{{Volume: "lvm:vm-100-disk-1"}}); !strings.Contains(no, "Volume 'd'") {
		t.Errorf("it would be copied: %q", no)
	}
	if no := Pinned(m.Parameters(), nil, []proxmox.LocalDisk{{Volume: "lvm:vm-100-disk-0"}}); no != "" {
		t.Errorf("another disk may be: %q", no)
	}
}

// TestResolveMigrated covers a VM whose disks were given the names of others by a migration, before its Volumes have read it.
func TestResolveMigrated(t *testing.T) {
	const name = "lvm:vm-100-disk-1"
	cases := map[string]struct {
		reason  string
		config  qemu.Config
		device  string
		node    string
		waits   string
		leaving bool
	}{
		"Same": {reason: "The VM has the disk where it was.", config: qemu.Config{"scsi5": name}, device: "scsi5", leaving: true},
		"Old":  {reason: "An old record does not tell where.", config: qemu.Config{"scsi6": name}, leaving: true},
		"Permuted": {
			reason: "The name is another disk's.", config: qemu.Config{"scsi5": "lvm:vm-100-disk-0", "scsi6": name},
			device: "scsi5", waits: "as after a migration",
		},
		"Migrated": {
			reason: "The name may be another disk's on another node.", config: qemu.Config{"unused0": name}, device: "scsi5", node: "n0", waits: "as after a migration",
		},
		"Attached": {reason: "The disk was attached a moment ago.", config: qemu.Config{"scsi5": name}, device: "unused0"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			record := held()
			record.Place = volumeref.Place{Node: cmp.Or(tc.node, "n1"), Device: tc.device}
			v := VM{UUID: uuid, Node: "n1", State: qemu.State{Config: tc.config, Active: tc.config}}
			m := web("d")
			got, err := reader(t, record).Resolve(t.Context(), m, m.Parameters(), v, here)
			if err != nil || !strings.Contains(strings.Join(got.Waits, " "), tc.waits) || (got.Parameters.Disks[0].Volume == nil) != (tc.waits != "") {
				t.Errorf("%s while it is listed: %v, %v", tc.reason, got.Waits, err)
			}
			m = web()
			got, err = reader(t, record).Resolve(t.Context(), m, m.Parameters(), v, here)
			if err != nil || slices.Contains(got.Leaving, name) != tc.leaving {
				t.Errorf("%s off the list: %v, %v", tc.reason, got.Leaving, err)
			}
			if !Awaits(got.Touching, []proxmox.LocalDisk{{Volume: name}, {Volume: "lvm:vm-100-disk-0"}}) {
				t.Errorf("%s the VM may go to another node", tc.reason)
			}
		})
	}
}

// TestAwaits covers VMs that wait for Volumes, or cannot move to another node at all.
func TestAwaits(t *testing.T) {
	disk, other := proxmox.LocalDisk{Volume: "lvm:vm-100-disk-1"}, proxmox.LocalDisk{Volume: "lvm:vm-100-disk-0"}
	medium := proxmox.LocalDisk{Volume: "local:iso/a.iso", CDROM: true}
	cases := map[string]struct {
		reason        string
		disk          Disk
		local         []proxmox.LocalDisk
		waits, pinned bool
	}{
		"Leaving":   {reason: "The disk is yet to be detached.", disk: Disk{Leaving: true}, local: []proxmox.LocalDisk{disk}, waits: true},
		"Shared":    {reason: "Shared storage copies nothing.", disk: Disk{Leaving: true}, local: []proxmox.LocalDisk{other}},
		"Moving":    {reason: "A disk on its way may have another name.", disk: Disk{Moving: true}, local: []proxmox.LocalDisk{other}, waits: true},
		"Medium":    {reason: "No disk is copied.", disk: Disk{Moving: true, Lost: true}, local: []proxmox.LocalDisk{medium}},
		"Displaced": {reason: "A displaced disk has another name.", disk: Disk{Displaced: true}, local: []proxmox.LocalDisk{other}, waits: true},
		"Lost":      {reason: "A lost disk may be there by another name.", disk: Disk{Lost: true, Leaving: true}, local: []proxmox.LocalDisk{other}, pinned: true},
		"Listed":    {reason: "The entry of the list tells of it.", disk: Disk{}, local: []proxmox.LocalDisk{disk}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.disk.Volume, tc.disk.ID = "d", "lvm:vm-100-disk-1"
			all := []Disk{tc.disk}
			if got := Awaits(all, tc.local); got != tc.waits {
				t.Errorf("%s Awaits(): %t", tc.reason, got)
			}
			if got := Pinned(web().Parameters(), all, tc.local); (got != "") != tc.pinned {
				t.Errorf("%s Pinned(): %q", tc.reason, got)
			}
		})
	}
}

func TestInSnapshot(t *testing.T) {
	storages := []proxmox.Storage{{Name: "thin", Type: "lvmthin"}, {Name: "files", Type: "dir"}, {Name: "pool", Type: "zfspool"}}
	in := []string{"one", "two"}
	cases := map[string]struct {
		reason  string
		running bool
		disk    proxmox.LocalDisk
		want    string
	}{
		"None":   {reason: "A disk without snapshots is copied.", running: true, disk: proxmox.LocalDisk{Volume: "thin:vm-1-disk-0"}},
		"Medium": {reason: "Others look at media.", running: true, disk: proxmox.LocalDisk{Volume: "files:iso/a.iso", CDROM: true, Snapshots: in}},
		"LVM": {
			reason: "LVM sends no snapshots.", disk: proxmox.LocalDisk{Volume: "thin:vm-1-disk-0", Snapshots: in},
			want: "disk thin:vm-1-disk-0 is on local storage, and in the VM's snapshot one, two: remove the snapshot before the VM migrates",
		},
		"Running": {
			reason: "QEMU's mirror copies none.", running: true, disk: proxmox.LocalDisk{Volume: "files:1/vm-1-disk-0.qcow2", Snapshots: in},
			want: "disk files:1/vm-1-disk-0.qcow2 is on local storage, and in the VM's snapshot one, two: remove the snapshot or stop the VM before it migrates",
		},
		"Off": {reason: "A file has them in it.", disk: proxmox.LocalDisk{Volume: "files:1/vm-1-disk-0.qcow2", Snapshots: in}},
		"Replicated": {
			reason:  "A replicated disk may have the snapshots on the target.",
			running: true, disk: proxmox.LocalDisk{Volume: "pool:vm-1-disk-0", Snapshots: in},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check := proxmox.MigrationCheck{Running: tc.running, LocalDisks: []proxmox.LocalDisk{tc.disk}}
			if got := InSnapshot(check, storages); got != tc.want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestCheckReplaceable checks that a restore leaves the disks of Volumes alone.
func TestCheckReplaceable(t *testing.T) {
	config := qemu.Config{"scsi0": "lvm:vm-100-disk-0,size=1G", "scsi1": "lvm:vm-100-disk-1,size=1G"}
	moving, renamed := held(), held()
	moving.Handover = &volumeref.Handover{}
	renamed.Volume, renamed.Place = "lvm:vm-100-disk-2", volumeref.Place{Node: "n1", Device: "scsi1"}
	cases := map[string]struct {
		reason  string
		record  *volumeref.Record
		devices []string
		want    string
	}{
		"Has":    {reason: "The Volume's disk would be destroyed.", record: held(), devices: []string{"scsi0", "scsi1"}, want: "scsi1 is the disk of Volume team/d"},
		"Other":  {reason: "The backup does not have it.", record: held(), devices: []string{"scsi0"}},
		"Moving": {reason: "A disk that moves may have another name by now.", record: moving, devices: []string{"scsi0"}, want: "on its way"},
		"Renamed": {
			reason: "A migration has given the disk another name.", record: renamed, devices: []string{"scsi1"}, want: "scsi1 is the disk of Volume team/d",
		},
		"None": {reason: "There is no Volume that a restore would destroy.", devices: []string{"scsi0", "scsi1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			no, err := reader(t, tc.record).CheckReplaceable(t.Context(), uuid, config, tc.devices)
			if err != nil || (no == "") != (tc.want == "") || !strings.Contains(no, tc.want) {
				t.Errorf("%s\nCheckReplaceable(): %q, %v; want %q", tc.reason, no, err, tc.want)
			}
		})
	}
}

// TestCheckHanded checks that a VM is kept for the disk of a Volume that no longer exists, with a message on what to check.
func TestCheckHanded(t *testing.T) {
	const disk, other = "lvm:vm-100-disk-1", "lvm:vm-100-disk-0"
	left, lost, another, back := held(), held(), held(), held()
	for _, r := range []*volumeref.Record{left, lost, back} {
		r.Volume, r.Former, r.Holder = "lvm:vm-900-disk-0", []string{disk}, volumeref.Holder{UUID: "9a60f2d4-4bb3-4b52-8f0c-6e5f0a2f3b11"}
	}
	another.Volume, another.Holder = left.Volume, left.Holder
	lost.Lost, back.Handover = true, &volumeref.Handover{Holder: volumeref.Holder{UUID: uuid}}
	devices := qemu.Devices{Handed: qemu.VolumeDisks{"d": {Device: "scsi1", Volume: disk}}}
	for name, tc := range map[string]struct {
		reason, annotation string
		record             *volumeref.Record
		config             qemu.Config
		want               []string
	}{
		"Left": {reason: "The Volume has its disk elsewhere, and somebody has plugged one in that got its name.", record: left, config: qemu.Config{"scsi9": disk}},
		"Lost": {reason: "The Volume does not know where its disk is.", record: lost, config: qemu.Config{"scsi9": disk}, want: []string{"may be"}},
		"Another": {
			reason: "The Volume was created again under the same name.", record: another, config: qemu.Config{"scsi1": disk}, want: []string{"is the disk"},
		},
		"Back":     {reason: "The VM is about to get the disk once more.", record: back, config: qemu.Config{"scsi1": disk}, want: []string{"is the disk"}},
		"Has":      {reason: "The VM has it.", config: qemu.Config{"scsi1": disk}, want: []string{"scsi1 (" + disk + ") is the disk of Volume 'd'"}},
		"Detached": {reason: "The disk is detached.", config: qemu.Config{"unused0": disk}, want: []string{"unused0 (" + disk + ") is the disk"}},
		"Exchanged": {
			reason: "A migration has exchanged names.", config: qemu.Config{"scsi1": other, "virtio0": disk}, want: []string{"scsi1 (" + other + ") may be", "look at"},
		},
		"Elsewhere": {
			reason: "The disk is another device now.", config: qemu.Config{"scsi2": disk}, want: []string{"scsi2 (" + disk + ") may be", "was scsi1 (" + disk + ")"},
		},
		"Gone":   {reason: "The VM does not have it.", config: qemu.Config{"scsi0": other}},
		"Spoilt": {reason: "What the VM has is not known.", annotation: "{", config: qemu.Config{"scsi0": other}, want: []string{"cannot read annotation"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Annotations: map[string]string{
				meta.AnnotationKeyExternalName: "100", object.AnnotationDevices: cmp.Or(tc.annotation, devices.String()),
			}}}
			v := &vmstate.VM{Ref: proxmox.Ref{VMID: 100}, State: qemu.State{Config: tc.config, Active: tc.config}}
			err := reader(t, tc.record).CheckHanded(t.Context(), m, uuid, v)
			if (err == nil) != (tc.want == nil) {
				t.Fatalf("%s CheckHanded(): %v, want %q", tc.reason, err, tc.want)
			}
			for _, words := range tc.want {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%s CheckHanded(): %v, want %q", tc.reason, err, words)
				}
			}
		})
	}
}

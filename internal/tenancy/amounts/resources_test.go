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

package amounts

import (
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// TestThereBegun distinguishes a VM whose creation has begun, of which only the spec shows what it has, from one that was observed.
func TestThereBegun(t *testing.T) {
	m := &namespaced.Machine{Spec: namespaced.MachineSpec{ForProvider: *spec(func(*v1alpha1.MachineParameters) {})}}
	for _, tc := range []struct {
		reason string
		change func()
		cores  int64
		begun  bool
	}{
		{reason: "A Machine without the time of its creation has begun no VM.", change: func() {}},
		{reason: "The VM may be there.", change: func() { meta.SetExternalCreatePending(m, time.Unix(1000, 0)) }, cores: 2, begun: true},
		{reason: "The VM was seen.", change: func() {
			m.Observation().UUID, m.Observation().CPU = "u", &v1alpha1.MachineCPUObservation{Cores: 3, Sockets: 1}
		}, cores: 3},
	} {
		tc.change()
		if got, _, begun := There(m); got[quota.Cores] != tc.cores || begun != tc.begun {
			t.Errorf("%s want %d cores, begun: %v, got %v, %v", tc.reason, tc.cores, tc.begun, got, begun)
		}
	}
}

// TestThereOfVolumes checks what a Volume has of a quota: its disk and its stub VM.
func TestThereOfVolumes(t *testing.T) {
	type amounts = quota.Amounts
	cases := map[string]struct {
		reason, record, size string
		want                 amounts
		vmid                 int
	}{
		"New":   {reason: "What was not begun has nothing."},
		"Begun": {reason: "The stub VM may be there.", record: `{"vmid":200}`, want: amounts{quota.VMs: 1, quota.Cores: 1, quota.Memory: 16 << 20}, vmid: 200},
		"Made": {
			reason: "The disk counts where it is.", record: `{"vmid":200,"volume":"ceph:vm-300-disk-1"}`, size: "2G", vmid: 200,
			want: amounts{quota.VMs: 1, quota.Cores: 1, quota.Memory: 16 << 20, quota.Disks("ceph"): 2 << 30},
		},
		"Lost": {
			reason: "A disk that is gone takes nothing.", record: `{"vmid":200,"volume":"ceph:vm-300-disk-1","lost":true}`, size: "2G", vmid: 200,
			want: amounts{quota.VMs: 1, quota.Cores: 1, quota.Memory: 16 << 20},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := &namespaced.Volume{}
			v.SetAnnotations(map[string]string{tenancy.AnnotationVolume: tc.record})
			v.Observation().Size = tc.size
			got, vmid, begun := There(v)
			if diff := cmp.Diff(tc.want, got); diff != "" || vmid != tc.vmid || begun != (name == "Begun") {
				t.Errorf("\n%s\nVM %d, begun: %v\n%s", tc.reason, vmid, begun, diff)
			}
		})
	}
}

// TestThereOfCopies checks that Snapshots and Backups count once they exist.
func TestThereOfCopies(t *testing.T) {
	snapshot, backup := &namespaced.Snapshot{}, &namespaced.Backup{}
	for _, mg := range []resource.Managed{snapshot, backup, &namespaced.Image{}} {
		if got, _, _ := There(mg); len(got) > 0 {
			t.Errorf("%T that was not made: want nothing, got %v", mg, got)
		}
	}
	now := metav1.Now()
	snapshot.Observation().Time, backup.Observation().Time = &now, &now
	for name, mg := range map[string]resource.Managed{quota.Snapshots: snapshot, quota.Backups: backup} {
		if got, _, _ := There(mg); got[name] != 1 || len(got) != 1 {
			t.Errorf("%T: want one of %s, got %v", mg, name, got)
		}
	}
}

// TestWants checks what resources will have by their specs.
func TestWants(t *testing.T) {
	type amounts = quota.Amounts
	stub := func(storage string, size int64) amounts {
		return quota.Most(Stub(), amounts{quota.Disks(storage): size * gib})
	}
	volume := func(record, seen string, p v1alpha1.VolumeParameters) resource.Managed {
		v := &namespaced.Volume{Spec: namespaced.VolumeSpec{ForProvider: p}}
		v.SetAnnotations(map[string]string{tenancy.AnnotationVolume: record})
		v.Observation().Size = seen
		return v
	}
	machine := func(p *v1alpha1.MachineParameters) resource.Managed {
		return &namespaced.Machine{Spec: namespaced.MachineSpec{ForProvider: *p}}
	}
	detached := before()
	detached["unused0"] = "ceph:vm-100-disk-3"
	grown := spec(func(p *v1alpha1.MachineParameters) { p.CPU.Cores, p.Disks[0].Size = new(int32(8)), new("30G") })
	lan := quota.Addresses("vmbr1")
	cases := map[string]struct {
		reason string
		of     resource.Managed
		vm     VM
		want   amounts
	}{
		"New": {
			reason: "A Machine without a VM is to have what its spec says.", of: machine(spec(func(*v1alpha1.MachineParameters) {})),
			want: amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("ceph"): 10 * gib, lan: 1},
		},
		"Defaults": {
			reason: "The provider configuration tells the storage and the bridge that a spec leaves open.",
			of:     machine(spec(func(p *v1alpha1.MachineParameters) { p.Disks[0].Storage, p.Networks[0].Bridge = nil, nil })),
			want:   amounts{quota.VMs: 1, quota.Cores: 2, quota.Memory: 2 * gib, quota.Disks("local"): 10 * gib, quota.Addresses("vmbr9"): 1},
		},
		"Grows": {
			reason: "A VM is to have what its spec says, and keeps its detached disk.", of: machine(grown),
			vm:   VM{Config: detached, Disks: Disks{Sizes: map[string]int64{"ceph:vm-100-disk-3": 4 * gib}}},
			want: amounts{quota.VMs: 1, quota.Cores: 8, quota.Memory: 2 * gib, quota.Disks("ceph"): 34 * gib, lan: 1},
		},
		"NewVolume": {
			reason: "A Volume is to have its disk and a stub VM.", of: volume("", "", v1alpha1.VolumeParameters{Size: new("5G"), Storage: new("ceph")}),
			want: stub("ceph", 5),
		},
		"DefaultVolume": {
			reason: "The provider configuration tells the storage that a Volume leaves open.", of: volume("", "", v1alpha1.VolumeParameters{Size: new("5G")}),
			want: stub("local", 5),
		},
		"Larger": {
			reason: "A disk that is larger than its spec stays so.",
			of:     volume(`{"vmid":200,"volume":"ceph:vm-200-disk-0"}`, "7G", v1alpha1.VolumeParameters{Size: new("5G")}), want: stub("ceph", 7),
		},
		"Moves": {
			reason: "The disk of a Volume counts where it moves to.",
			of:     volume(`{"vmid":200,"volume":"ceph:vm-200-disk-0"}`, "7G", v1alpha1.VolumeParameters{Storage: new("nfs")}), want: stub("nfs", 7),
		},
		"Snapshot": {reason: "A Snapshot is to have one snapshot.", of: &namespaced.Snapshot{}, want: amounts{quota.Snapshots: 1}},
		"Backup":   {reason: "A Backup is to have one backup.", of: &namespaced.Backup{}, want: amounts{quota.Backups: 1}},
		"Image":    {reason: "An Image counts for nothing.", of: &namespaced.Image{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Wants(tc.of, qemu.Defaults{Storage: "local", Bridge: "vmbr9"}, tc.vm)); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOpen checks of which amounts a VM may have more once it exists.
func TestOpen(t *testing.T) {
	names := []string{quota.VMs, quota.Cores, quota.Memory, quota.Disks("ceph"), quota.Addresses("vmbr0"), quota.Snapshots}
	for name, tc := range map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		want   []string
	}{
		"Alone": {reason: "A VM without a source has what its spec says."},
		"Template": {
			reason: "A template brings what the spec does not say.", spec: v1alpha1.MachineParameters{TemplateTags: []string{"golden"}},
			want: []string{quota.Cores, quota.Memory, quota.Disks("ceph"), quota.Addresses("vmbr0")},
		},
		"Said": {
			reason: "What the spec says stands in for the template's.",
			spec: v1alpha1.MachineParameters{
				Clone: &v1alpha1.MachineClone{}, Memory: new(kresource.MustParse("2Gi")), CPU: &v1alpha1.MachineCPU{Cores: new(int32(2)), Sockets: new(int32(1))},
			},
			want: []string{quota.Disks("ceph"), quota.Addresses("vmbr0")},
		},
		"Image": {
			reason: "An image may be larger than its disk.", spec: v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Volume: "local:import/a.raw"}},
			want: []string{quota.Disks("ceph")},
		},
	} {
		m := &namespaced.Machine{Spec: namespaced.MachineSpec{ForProvider: tc.spec}}
		var got []string
		for _, of := range names {
			if Open(m, of) {
				got = append(got, of)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s -want, +got:\n%s", name, tc.reason, diff)
		}
		if Open(&namespaced.Snapshot{}, names[0]) {
			t.Error("want nothing open of a Snapshot")
		}
	}
}

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

package object

import (
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

func TestRecalled(t *testing.T) {
	const uuid, other = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"
	seen := v1alpha1.MachineObservation{VMID: new(int32(10000)), UUID: uuid}
	all := v1alpha1.MachineObservation{Annotations: map[string]string{
		meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid, AnnotationNode: "pve1", AnnotationImages: "x",
	}}
	cases := map[string]struct {
		reason string
		has    map[string]string
		seen   v1alpha1.MachineObservation
		want   map[string]string
	}{
		"New": {reason: "Nothing is known of a Machine that is new."},
		"Complete": {
			reason: "Nothing is restored where nothing is lost.",
			has:    map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid}, seen: seen,
		},
		"Stripped": {reason: "All annotations are lost at once.", seen: seen, want: map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid}},
		"Unproven": {
			reason: "The proof is lost.", has: map[string]string{meta.AnnotationKeyExternalName: "10000"}, seen: seen,
			want: map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid},
		},
		"Unnamed": {
			reason: "The name is lost.", has: map[string]string{AnnotationUUID: uuid}, seen: seen,
			want: map[string]string{meta.AnnotationKeyExternalName: "10000"},
		},
		"NotCreated": {
			reason: "The name is lost before the VM is seen.", has: map[string]string{AnnotationUUID: uuid, AnnotationAllocated: "10001"},
			want: map[string]string{meta.AnnotationKeyExternalName: "10001"},
		},
		"HalfCloned": {
			reason: "A clone has not got its own UUID yet.", has: map[string]string{AnnotationUUID: other}, seen: seen,
			want: map[string]string{meta.AnnotationKeyExternalName: "10000"},
		},
		"Adoption": {reason: "Another VM is named, whose proof is yet to be found.", has: map[string]string{meta.AnnotationKeyExternalName: "200"}, seen: seen},
		"Exchanged": {
			reason: "Another name was given to the same proof: that is for a look to decide.",
			has:    map[string]string{meta.AnnotationKeyExternalName: "200", AnnotationUUID: uuid}, seen: seen,
		},
		"All": {
			reason: "What the status has of them is put back, and nothing else is changed.",
			has:    map[string]string{"a": "b", AnnotationNode: "pve2"}, seen: all,
			want: map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid, AnnotationImages: "x"},
		},
		"AllThere": {reason: "Nothing is put back that is there.", has: all.Annotations, seen: all},
		"Renamed":  {reason: "What belongs to another VM is not.", has: map[string]string{meta.AnnotationKeyExternalName: "200"}, seen: all},
		"Rekeyed": {
			reason: "What belongs to a VM with another proof is not put back.",
			has:    map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: other}, seen: all,
		},
		"Nameless": {reason: "Nothing says which VM it was.", has: map[string]string{AnnotationUUID: uuid}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{}
			m.SetAnnotations(tc.has)
			m.Status.AtProvider = tc.seen
			if diff := cmp.Diff(tc.want, LostAnnotations(m)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRecalledDevices(t *testing.T) {
	seen := v1alpha1.MachineObservation{
		UUID:     "AAAAAAAA-2222-4333-8444-555555555555",
		Disks:    []v1alpha1.MachineDiskObservation{{Device: "scsi1", Name: "root"}, {Device: "scsi0"}},
		CDROMs:   []v1alpha1.MachineCDROMObservation{{Device: "ide0", Name: "drivers"}, {Device: "ide2"}},
		Networks: []v1alpha1.MachineNetworkObservation{{Device: "net1", Name: "lan", MACAddress: "BC:24:11:00:00:01"}, {Device: "net0"}},
	}
	got := recoveredDevices(&seen, qemu.Identity{UUID: strings.ToLower(seen.UUID)})
	want := `{"disks":{"root":"scsi1"},"cdroms":{"drivers":"ide0"},"networks":{"lan":"net1"},"seen":{"root":true},"macs":{"lan":"BC:24:11:00:00:01"}}`
	if got.String() != want {
		t.Errorf("What was seen of the VM is known, want %s, got %s", want, got)
	}
	if got := recoveredDevices(&seen, qemu.Identity{UUID: "other"}); got.String() != "{}" {
		t.Errorf("What was seen of another VM is not meant, got %s", got)
	}
}

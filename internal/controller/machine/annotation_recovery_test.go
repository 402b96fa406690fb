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

package machine

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

func TestRecalled(t *testing.T) {
	const uuid, other = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"
	seen := v1alpha1.MachineObservation{VMID: new(int32(10000)), UUID: uuid}
	all := v1alpha1.MachineObservation{Annotations: map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid, AnnotationNode: "pve1", AnnotationImages: "x"}}
	cases := map[string]struct {
		reason string
		has    map[string]string
		seen   v1alpha1.MachineObservation
		want   map[string]string
	}{
		"New":       {reason: "Nothing is known of a Machine that is new."},
		"Complete":  {reason: "Nothing is lost.", has: map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid}, seen: seen},
		"Stripped":  {reason: "All is lost.", seen: seen, want: map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid}},
		"Unproven":  {reason: "The proof is lost.", has: map[string]string{meta.AnnotationKeyExternalName: "10000"}, seen: seen, want: map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid}},
		"Unnamed":   {reason: "The name is lost.", has: map[string]string{AnnotationUUID: uuid}, seen: seen, want: map[string]string{meta.AnnotationKeyExternalName: "10000"}},
		"Unborn":    {reason: "It is lost before the VM is seen.", has: map[string]string{AnnotationUUID: uuid, AnnotationAllocated: "10001"}, want: map[string]string{meta.AnnotationKeyExternalName: "10001"}},
		"Halfborn":  {reason: "A clone has not got its own UUID yet.", has: map[string]string{AnnotationUUID: other}, seen: seen, want: map[string]string{meta.AnnotationKeyExternalName: "10000"}},
		"Adoption":  {reason: "Another VM is named, whose proof is yet to be found.", has: map[string]string{meta.AnnotationKeyExternalName: "200"}, seen: seen},
		"Exchanged": {reason: "Another name was given to the same proof: that is for a look to decide.", has: map[string]string{meta.AnnotationKeyExternalName: "200", AnnotationUUID: uuid}, seen: seen},
		"All":       {reason: "What the status has of them is put back, and nothing else is changed.", has: map[string]string{"a": "b", AnnotationNode: "pve2"}, seen: all, want: map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: uuid, AnnotationImages: "x"}},
		"AllThere":  {reason: "Nothing is put back that is there.", has: all.Annotations, seen: all},
		"Renamed":   {reason: "What belongs to another VM is not.", has: map[string]string{meta.AnnotationKeyExternalName: "200"}, seen: all},
		"Rekeyed":   {reason: "Whatever says so.", has: map[string]string{meta.AnnotationKeyExternalName: "10000", AnnotationUUID: other}, seen: all},
		"Nameless":  {reason: "Nothing says which VM it was.", has: map[string]string{AnnotationUUID: uuid}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{}
			m.SetAnnotations(tc.has)
			m.Status.AtProvider = tc.seen
			if diff := cmp.Diff(tc.want, lostAnnotations(m)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Annotations that a release before has written get their present names, in metadata and in
// the status.
func TestFormerAnnotationsAreRenamed(t *testing.T) {
	for former, present := range map[string]string{
		"proxmox.vitistack.io/ran-since":           AnnotationRunningSince,
		"proxmox.vitistack.io/restarted-for":       AnnotationLastRestart,
		"proxmox.vitistack.io/outlived-definition": kind.AnnotationOrphaned,
	} {
		for place, change := range map[string]func(metadata, status map[string]string){
			"in metadata":        func(metadata, _ map[string]string) { metadata[former] = "x" },
			"in the status":      func(_, status map[string]string) { status[former] = "x" },
			"in both":            func(metadata, status map[string]string) { metadata[former], status[former] = "x", "x" },
			"beside the present": func(metadata, _ map[string]string) { metadata[former], metadata[present] = "y", "x" },
		} {
			b := newBench(t, func(m *namespaced.Machine) {
				status := map[string]string{AnnotationUUID: ourUUID, meta.AnnotationKeyExternalName: "10000"}
				change(m.Annotations, status)
				m.Status.AtProvider.Annotations = status
			})
			if err := (&connector{shared: &shared{kube: b.kube}}).Initialize(t.Context(), b.m); err != nil {
				t.Fatal(err)
			}
			stored := &namespaced.Machine{}
			if err := b.kube.Get(t.Context(), client.ObjectKeyFromObject(b.m), stored); err != nil {
				t.Fatal(err)
			}
			for where, a := range map[string]map[string]string{"memory": b.m.GetAnnotations(), "the API": stored.GetAnnotations()} {
				if _, left := a[former]; left || a[present] != "x" {
					t.Errorf("%s %s: want it renamed in %s, got %q", former, place, where, a)
				}
			}
			if _, left := b.m.Observation().Annotations[former]; left {
				t.Errorf("%s %s: want it renamed in the status, got %q", former, place, b.m.Observation().Annotations)
			}
		}
	}
}

// A VM that was restarted for its pending changes by a release before is not restarted again.
func TestFormerRestartIsNotRepeated(t *testing.T) {
	b := newBench(t, spec(restarting))
	b.vms[10000] = pendingVM()
	b.reconcile(t.Context())
	b.end(t, upid("pve1", "qmreboot", 10000), "VM quit/powerdown failed - got timeout")
	former := lastRestart(b.m).Changes
	b.m.Annotations[AnnotationLastRestart], b.m.Status.AtProvider.Annotations[AnnotationLastRestart] = former, former
	b.upgrade(t, "proxmox.vitistack.io/restarted-for", AnnotationLastRestart)
	b.clock.wait(time.Hour)
	b.reconcile(t.Context())
	if c := b.m.GetCondition(TypeRestartRequired); c.Reason != ReasonRestartIneffective || len(b.writes) != 1 {
		t.Errorf("want no second restart, got %q with %s: %s", b.writes, c.Reason, c.Message)
	}
}

// The time since when a VM runs outlives the release that has written it.
func TestFormerRunningSinceIsKept(t *testing.T) {
	b := newBench(t, runStrategy("RerunOnFailure"))
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	first := b.kept(t, AnnotationRunningSince)
	b.upgrade(t, "proxmox.vitistack.io/ran-since", AnnotationRunningSince)
	b.clock.wait(time.Hour)
	b.reconcile(t.Context())
	if got := b.kept(t, AnnotationRunningSince); first == "" || got != first {
		t.Errorf("want %q kept, got %q", first, got)
	}
}

// upgrade starts the provider on a Machine that has an annotation under its former name.
func (b *bench) upgrade(t *testing.T, former, present string) {
	t.Helper()
	for _, a := range []map[string]string{b.m.Annotations, b.m.Status.AtProvider.Annotations} {
		if value, ok := a[present]; ok {
			a[former] = value
			delete(a, present)
		}
	}
	if b.m.Annotations[former] == "" {
		t.Fatalf("want %s to be kept before, got %q", present, b.m.Annotations)
	}
	status := b.m.Status
	if err := b.kube.Update(t.Context(), b.m); err != nil {
		t.Fatal(err)
	}
	b.m.Status = status
	b.tasks = tasktrack.New(b.clock.now)
	if err := (&connector{shared: &shared{kube: b.kube}}).Initialize(t.Context(), b.m); err != nil {
		t.Fatal(err)
	}
}

// What the provider relies on is kept in the status, from when the VM is being made.
func TestAnnotationsAreRemembered(t *testing.T) {
	begun, want := "2001-01-01T00:00:00Z", map[string]string{
		AnnotationUUID: ourUUID, AnnotationAllocated: "10000", meta.AnnotationKeyExternalName: "10000", AnnotationDevices: "{}", AnnotationNode: "pve1",
	}
	want[meta.AnnotationKeyExternalCreatePending] = begun
	for reason, config := range map[string]map[string]string{
		"it is being made": {"lock": "create"},
		"it is there":      ourVM("running").config,
	} {
		b := newBench(t, func(m *namespaced.Machine) {
			m.Annotations["example.org/theirs"], m.Annotations[AnnotationPlacement], m.Annotations[AnnotationLastRestart] = "x", "{}", ""
		})
		b.vms[10000] = &guest{node: "pve1", status: "running", config: config}
		b.reconcile(t.Context())
		if diff := cmp.Diff(want, b.m.Observation().Annotations); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", reason, diff)
		}
	}
}

// An image that was made for the VM goes with it, whatever has become of the annotation.
func TestImagesAreRecalled(t *testing.T) {
	id := qemu.Identity{VMID: 10000, UUID: ourUUID}
	image, shared, theirs := "files:iso/"+id.NoCloudImageName(strings.Repeat("a", 16)), "iso:iso/"+id.NoCloudImageName(strings.Repeat("b", 16)), "files:iso/debian.iso"
	cases := map[string]struct {
		reason, has, drive, want string
	}{
		"Lost":      {reason: "It is lost.", drive: image, want: "pve1=" + image},
		"Known":     {reason: "It is known.", has: "pve1=" + image, drive: image, want: "pve1=" + image},
		"Elsewhere": {reason: "It came by another node.", has: "pve2=" + shared, drive: shared, want: "pve2=" + shared},
		"Theirs":    {reason: "It is somebody else's.", drive: theirs},
	}
	for name, tc := range cases {
		for _, state := range []string{"running", "stopped"} {
			t.Run(name+" "+state, func(t *testing.T) {
				b := newBench(t, func(m *namespaced.Machine) {
					m.Spec.ForProvider.RunStrategy = new("Manual")
					if tc.has != "" {
						m.Annotations[AnnotationImages] = tc.has
					}
					if state == "stopped" {
						deleted(m)
					}
				})
				b.storages = append(b.storages, proxmox.Storage{Name: "iso", Node: "pve2", Content: []string{"iso"}, Shared: true})
				b.vms[10000] = ourVM(state)
				b.vms[10000].config["ide2"] = tc.drive + ",media=cdrom"
				if s := b.reconcile(t.Context()); s.err != nil {
					t.Fatal(s.err)
				}
				if got := b.m.Annotations[AnnotationImages]; got != tc.want {
					t.Errorf("\n%s\nwant images %q kept, got %q", tc.reason, tc.want, got)
				}
			})
		}
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

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
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// TestFormerAnnotationsAreRenamed checks that annotations that an earlier release has written get their current names, in metadata and in the status.
func TestFormerAnnotationsAreRenamed(t *testing.T) {
	for former, present := range map[string]string{
		"proxmox.vitistack.io/ran-since":           object.AnnotationRunningSince,
		"proxmox.vitistack.io/restarted-for":       object.AnnotationLastRestart,
		"proxmox.vitistack.io/last-restart-hash":   object.AnnotationLastRestart,
		"proxmox.vitistack.io/outlived-definition": kind.AnnotationOrphaned,
	} {
		for place, change := range map[string]func(metadata, status map[string]string){
			"in metadata":        func(metadata, _ map[string]string) { metadata[former] = "x" },
			"in the status":      func(_, status map[string]string) { status[former] = "x" },
			"in both":            func(metadata, status map[string]string) { metadata[former], status[former] = "x", "x" },
			"beside the present": func(metadata, _ map[string]string) { metadata[former], metadata[present] = "y", "x" },
		} {
			b := newBench(t, func(m *namespaced.Machine) {
				status := map[string]string{object.AnnotationUUID: ourUUID, meta.AnnotationKeyExternalName: "10000"}
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

// TestFormerRestartIsNotRepeated checks that a VM that an earlier release has restarted for its pending changes is not restarted again.
func TestFormerRestartIsNotRepeated(t *testing.T) {
	for _, name := range []string{"proxmox.vitistack.io/restarted-for", "proxmox.vitistack.io/last-restart-hash"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, spec(restarting))
			b.vms[10000] = pendingVM()
			b.reconcile(t.Context())
			b.end(t, upid("pve1", "qmreboot", 10000), "VM quit/powerdown failed - got timeout")
			former := restart.Last(b.m).Changes
			b.m.Annotations[object.AnnotationLastRestart], b.m.Status.AtProvider.Annotations[object.AnnotationLastRestart] = former, former
			b.upgrade(t, name, object.AnnotationLastRestart)
			b.clock.wait(time.Hour)
			b.reconcile(t.Context())
			if c := b.m.GetCondition(conditions.TypeRestartRequired); c.Reason != conditions.ReasonRestartIneffective || len(b.writes) != 1 {
				t.Errorf("want no second restart, got %q with %s: %s", b.writes, c.Reason, c.Message)
			}
		})
	}
}

// TestFormerRunningSinceIsKept checks that the time since which a VM runs is kept from the release that has written it.
func TestFormerRunningSinceIsKept(t *testing.T) {
	b := newBench(t, runStrategy("RerunOnFailure"))
	b.vms[10000] = ourVM("running")
	b.reconcile(t.Context())
	first := b.kept(t, object.AnnotationRunningSince)
	b.upgrade(t, "proxmox.vitistack.io/ran-since", object.AnnotationRunningSince)
	b.clock.wait(time.Hour)
	b.reconcile(t.Context())
	if got := b.kept(t, object.AnnotationRunningSince); first == "" || got != first {
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

// TestAnnotationsAreRemembered checks that the status contains what the provider relies on, from the creation of the VM.
func TestAnnotationsAreRemembered(t *testing.T) {
	begun, want := "2001-01-01T00:00:00Z", map[string]string{
		object.AnnotationUUID: ourUUID, object.AnnotationAllocated: "10000", meta.AnnotationKeyExternalName: "10000",
		object.AnnotationDevices: "{}", object.AnnotationNode: "pve1",
	}
	want[meta.AnnotationKeyExternalCreatePending] = begun
	for reason, config := range map[string]map[string]string{
		"it is being made": {"lock": "create"},
		"it is there":      ourVM("running").config,
	} {
		b := newBench(t, func(m *namespaced.Machine) {
			m.Annotations["example.org/theirs"], m.Annotations[object.AnnotationPlacement], m.Annotations[object.AnnotationLastRestart] = "x", "{}", ""
		})
		b.vms[10000] = &guest{node: "pve1", status: "running", config: config}
		b.reconcile(t.Context())
		if diff := cmp.Diff(want, b.m.Observation().Annotations); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", reason, diff)
		}
	}
}

// TestImagesAreRecalled checks that an image that was created for the VM is removed with it, even if the annotation was lost.
func TestImagesAreRecalled(t *testing.T) {
	id := qemu.Identity{VMID: 10000, UUID: ourUUID}
	image, shared, theirs := "files:iso/"+
		id.NoCloudImageName(strings.Repeat("a", 16)), "iso:iso/"+id.NoCloudImageName(strings.Repeat("b", 16)), "files:iso/debian.iso"
	cases := map[string]struct {
		reason, has, drive, want string
	}{
		"Lost":      {reason: "The annotation of the image is lost.", drive: image, want: "pve1=" + image},
		"Known":     {reason: "The image is known.", has: "pve1=" + image, drive: image, want: "pve1=" + image},
		"Elsewhere": {reason: "The image came by another node.", has: "pve2=" + shared, drive: shared, want: "pve2=" + shared},
		"Theirs":    {reason: "The image is somebody else's.", drive: theirs},
	}
	for name, tc := range cases {
		for _, state := range []string{"running", "stopped"} {
			t.Run(name+" "+state, func(t *testing.T) {
				b := newBench(t, func(m *namespaced.Machine) {
					m.Spec.ForProvider.RunStrategy = new("Manual")
					if tc.has != "" {
						m.Annotations[object.AnnotationImages] = tc.has
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
				if got := b.m.Annotations[object.AnnotationImages]; got != tc.want {
					t.Errorf("\n%s\nwant images %q kept, got %q", tc.reason, tc.want, got)
				}
			})
		}
	}
}

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
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const ourImage = "files:iso/cidata-10000-" + ourUUID + "-0123456789abcdef.iso"

// TestImageHasPasswordHash checks that the data contains the hash of a password.
func TestImageHasPasswordHash(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Spec.ForProvider.CloudInit = &v1alpha1.MachineCloudInit{
			UserData: &v1alpha1.CloudInitData{Inline: new("#cloud-config\n")}, PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "data", Key: "password"},
		}
	})
	b.vms[10000] = ourVM("running")
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data"}, Data: map[string][]byte{"password": []byte("hush-hush")}}
	if err := b.kube.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	// uploaded returns the image that is uploaded next. It is put into its drive by hand.
	uploaded := func() string {
		b.writes = nil
		if got := b.reconcile(t.Context()); got.err != nil {
			t.Fatal(got.err)
		}
		if diff := cmp.Diff([]string{"UploadISO pve1/files"}, b.writes); diff != "" {
			t.Errorf("An image is uploaded, and no password sent to PVE: -want, +got:\n%s", diff)
		}
		for u := range b.ends {
			b.end(t, u, "OK")
			delete(b.ends, u)
		}
		uploaded := b.volumes["pve1"][len(b.volumes["pve1"])-1]
		b.vms[10000].config["ide2"] = uploaded + ",media=cdrom"
		return string(b.images[uploaded])
	}
	first := uploaded()
	if !strings.Contains(first, "password: $6$") || strings.Contains(first, "hush-hush") {
		t.Error("The image does not have the hash of the password, and nothing else of it")
	}
	b.writes = nil
	if got := b.reconcile(t.Context()); got.err != nil || !got.upToDate || len(b.writes) > 0 {
		t.Errorf("The image does not stay: %+v, %q", got, b.writes)
	}
	s.Data["password"] = []byte("other")
	if err := b.kube.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if other := uploaded(); other == first || !strings.Contains(other, "password: $6$") {
		t.Error("Another password makes no other image")
	}
}

// TestImagesOfDeletedMachines checks that images of a VM that no longer exists are removed through any node that has them, and that those that cannot
// be removed are finally reported.
func TestImagesOfDeletedMachines(t *testing.T) {
	offline := func(b *bench) { b.nodes[1].Status = "offline" }
	cases := map[string]struct {
		reason string
		pve    func(*bench)
		doubt  time.Duration // How long the image may still arrive.
		later  time.Duration
		writes []string
		events []string
		err    string
		exists bool
	}{
		"Online":  {reason: "An image is removed.", writes: []string{"DeleteVolume pve2"}, exists: true},
		"Doubted": {reason: "An image that may still arrive is waited for.", doubt: time.Hour, err: "may still arrive on node pve2", exists: true},
		"Arrived": {
			reason: "An image that has had time to arrive is removed.",
			doubt:  time.Hour, later: time.Hour, writes: []string{"DeleteVolume pve2"}, exists: true,
		},
		"Offline": {reason: "A node that is off is waited for.", pve: offline, err: "node pve2, which is offline", exists: true},
		"Dead": {
			reason: "A node that is off is not waited for for ever.",
			pve:    offline, later: obstacleTime, events: []string{string(events.ReasonOrphanedImages)},
		},
		"Lost": {
			reason: "A node that will not come back is not waited for.", pve: func(b *bench) { b.nodes = b.nodes[:1] },
			events: []string{string(events.ReasonOrphanedImages)},
		},
		"Shared": {reason: "Another node removes it from shared storage.", pve: func(b *bench) {
			offline(b)
			b.storages = []proxmox.Storage{{Name: "files", Node: "pve2", Shared: true}, {Name: "files", Node: "pve1", Shared: true}}
			b.volumes["pve1"] = []string{ourImage}
		}, writes: []string{"DeleteVolume pve1"}, exists: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, all(deleted, func(m *namespaced.Machine) { m.Annotations[object.AnnotationImages] = "pve2=" + ourImage }))
			if tc.doubt > 0 {
				b.m.Annotations[object.AnnotationImages] = nocloud.Ref{Node: "pve2", Volume: ourImage, UncertainUntil: b.clock.now().Add(tc.doubt)}.String()
			}
			b.volumes = map[string][]string{"pve2": {ourImage}}
			if tc.pve != nil {
				tc.pve(b)
			}
			h := &heard{}
			s := b.reconcileHeard(t.Context(), h)
			if tc.later > 0 {
				b.clock.wait(tc.later)
				s = b.reconcileHeard(t.Context(), h)
			}
			if tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
				t.Errorf("%s want error %q, got %v", tc.reason, tc.err, s.err)
			}
			if s.exists != tc.exists {
				t.Errorf("%s want exists %t, got %+v", tc.reason, tc.exists, s)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("%s writes: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.events, h.reasons); diff != "" {
				t.Errorf("%s events: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStaleImagesLast uses a token that may upload images, and may not remove them.
func TestStaleImagesLast(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Annotations[object.AnnotationImages] = "pve1=" + ourImage
		m.Spec.ForProvider.PowerState = new(v1alpha1.PowerStateRunning)
	})
	b.vms[10000] = ourVM("stopped")
	b.volumes = map[string][]string{"pve1": {ourImage}}
	b.errs["DeleteVolume"] = refused(http.StatusForbidden, "Permission check failed (/storage/files, Datastore.Allocate)")
	if got := b.reconcile(t.Context()); got.err != nil {
		t.Error(got.err)
	}
	if diff := cmp.Diff([]string{"Start 10000"}, b.writes); diff != "" {
		t.Errorf("The VM does not wait for what PVE lets nobody remove: -want, +got:\n%s", diff)
	}
	for u := range b.ends {
		b.end(t, u, "OK")
	}
	b.vms[10000].status = "running"
	if got := b.reconcile(t.Context()); got.err == nil || !strings.Contains(got.err.Error(), "Datastore.Allocate") {
		t.Errorf("It is told then what is missing, got %v", got.err)
	}
}

// TestStaleImageOfSuspended uses a suspended VM that takes no change, and an image that it does not have.
func TestStaleImageOfSuspended(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Annotations[object.AnnotationImages] = "pve1=" + ourImage
		m.Spec.ForProvider.PowerState, m.Spec.ForProvider.OnBoot = new(v1alpha1.PowerStateSuspended), new(true)
	})
	b.vms[10000] = suspendedVM()
	b.volumes = map[string][]string{"pve1": {ourImage}}
	if got := b.reconcile(t.Context()); got.err != nil {
		t.Error(got.err)
	}
	if diff := cmp.Diff([]string{"DeleteVolume pve1"}, b.writes); diff != "" {
		t.Errorf("The image is removed, and nothing else done: -want, +got:\n%s", diff)
	}
	if got := b.m.GetCondition(kind.TypeUpToDate).Message; !strings.Contains(got, "changes wait until the VM is resumed") {
		t.Errorf("The condition says %q", got)
	}
}

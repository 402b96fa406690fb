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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const (
	ourImage   = "files:iso/cidata-10000-" + ourUUID + "-0123456789abcdef.iso"
	theirImage = "files:iso/cidata-10001-11111111-2222-4333-8444-555555555555-0123456789abcdef.iso"
)

func TestSeedStorage(t *testing.T) {
	nfs := proxmox.Storage{Name: "nfs", Node: "pve1", Content: []string{"iso"}, Shared: true}
	off := nfs
	off.Status = "unknown"
	cases := map[string]struct {
		reason  string
		node    string
		wanted  *string
		present string
		more    []proxmox.Storage
		want    string
		refused string
	}{
		"First":     {reason: "Any storage for ISO images will do.", node: "pve1", want: "files"},
		"Shared":    {reason: "Rather one that all nodes have.", node: "pve1", more: []proxmox.Storage{nfs}, want: "nfs"},
		"Silent":    {reason: "And that answers now.", node: "pve1", more: []proxmox.Storage{off}, want: "files"},
		"Present":   {reason: "The one that has the present image stays.", node: "pve1", more: []proxmox.Storage{nfs}, present: ourImage, want: "files"},
		"Moved":     {reason: "Unless the spec says another.", node: "pve1", present: ourImage, wanted: new("iso"), want: "iso"},
		"Source":    {reason: "What a clone's source has says nothing.", node: "pve1", more: []proxmox.Storage{nfs}, present: theirImage, want: "nfs"},
		"Elsewhere": {reason: "It has to be on the node.", node: "pve2", wanted: new("iso"), refused: "storage 'iso' does not hold ISO images on node pve2"},
		"Disks":     {reason: "And to hold ISO images.", node: "pve1", wanted: new("ceph"), refused: "storage 'ceph' does not hold ISO images on node pve1"},
		"None":      {reason: "A node may have none.", node: "pve3", refused: "no storage of node pve3 holds ISO images"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.storages = append(b.storages, tc.more...)
			spec := &v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{Storage: tc.wanted}}
			d := desired{Policy: power.Policy{Desired: qemu.Desired{MachineParameters: spec, Identity: qemu.Identity{UUID: ourUUID, VMID: 10000}}}}
			before := slices.Clone(b.storages)
			got, err := cloudInitFeature{external: b.external()}.imageStorage(t.Context(), d, tc.node, tc.present)
			if diff := cmp.Diff(before, b.storages); diff != "" {
				t.Errorf("%s The list that others read was changed: -before, +after:\n%s", tc.reason, diff)
			}
			if got != tc.want || (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s Want %q or refusal %q, got %q, %v", tc.reason, tc.want, tc.refused, got, err)
			}
		})
	}
}

// TestSeedPassword has the data tell the guest of a password by its hash.
func TestSeedPassword(t *testing.T) {
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
	// uploaded is the image that is uploaded next. It is put into its drive by hand.
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

func TestEnsureUploaded(t *testing.T) {
	image := []byte("image")
	there := func(b *bench) {
		b.volumes, b.images = map[string][]string{"pve1": {ourImage}}, map[string][]byte{ourImage: image}
	}
	name := strings.TrimPrefix(ourImage, "files:iso/")
	s := noCloudImage{node: "pve1", storage: "files", name: name, device: "ide2", image: image}
	later, eject := s, s
	later.deferred, eject.ejectFirst = true, true
	doubted := func(d time.Duration) string {
		return nocloud.Ref{Node: "pve1", Volume: ourImage, UncertainUntil: newBench(t, nil).clock.now().Add(d)}.String()
	}
	answer := lostAnswer(t)
	lost := func(b *bench) { b.errs["UploadISO"] = answer }
	cases := map[string]struct {
		reason string
		seed   *noCloudImage
		medium string
		pve    func(*bench)
		asked  bool // It was uploaded a moment ago.
		noted  string
		writes []string
		images string
		err    string
	}{
		"None":     {reason: "Who has no custom data needs no image."},
		"Later":    {reason: "An image that cannot be made yet is not uploaded.", seed: &later},
		"Eject":    {reason: "Nor one whose drive has to be emptied first.", seed: &eject},
		"InDrive":  {reason: "Nor one that is in its drive.", seed: &s, medium: ourImage},
		"There":    {reason: "Nor one that its storage has.", seed: &s, pve: there},
		"Upload":   {reason: "It is noted before it is uploaded.", seed: &s, writes: []string{"UploadISO pve1/files"}, images: "pve1=" + ourImage},
		"Cut":      {reason: "One that was cut short is uploaded again.", seed: &s, pve: func(b *bench) { there(b); b.images[ourImage] = image[:2] }, writes: []string{"UploadISO pve1/files"}, images: "pve1=" + ourImage},
		"Asked":    {reason: "It is not uploaded again at once.", seed: &s, asked: true, noted: "pve1=" + ourImage, images: "pve1=" + ourImage, err: "was uploaded, but storage 'files' of node pve1 does not list it"},
		"Unlisted": {reason: "What is there has to be known.", seed: &s, pve: func(b *bench) { b.errs["Volumes"] = refused(http.StatusForbidden, "Permission check failed") }, err: "Permission check failed"},
		"Refused":  {reason: "A refusal is shown.", seed: &s, pve: func(b *bench) { b.errs["UploadISO"] = refused(http.StatusInternalServerError, "no space left") }, writes: []string{"UploadISO pve1/files"}, images: "pve1=" + ourImage, err: "no space left"},
		"Lost":     {reason: "One of which nothing was heard may still arrive.", seed: &s, pve: lost, writes: []string{"UploadISO pve1/files"}, images: doubted(maxUploadTime), err: "connection closed before the answer"},
		"Followed": {reason: "So may one before it, if the next one is heard of.", seed: &s, noted: doubted(time.Minute), writes: []string{"UploadISO pve1/files"}, images: doubted(time.Minute)},
		"Begun": {reason: "One that began is not noted again.", seed: &s, pve: func(b *bench) {
			b.on["UploadISO"] = func() {
				if got := b.m.GetAnnotations()[object.AnnotationImages]; got != doubted(maxUploadTime) {
					t.Errorf("Want %q noted while it is uploaded, got %q", doubted(maxUploadTime), got)
				}
			}
		}, writes: []string{"UploadISO pve1/files"}, images: "pve1=" + ourImage},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) { m.Annotations[object.AnnotationImages] = tc.noted })
			b.vms[10000] = ourVM("stopped")
			if tc.pve != nil {
				tc.pve(b)
			}
			e := b.external()
			e.vm = &vmstate.VM{Ref: proxmox.Ref{Node: "pve1", VMID: 10000}, State: qemu.State{Config: qemu.Config{"ide2": tc.medium + ",media=cdrom"}}}
			e.planned.image = tc.seed
			if tc.asked {
				e.tasks.Asked(b.m, "upload "+s.volume(), uploadAgain)
			}
			_, err := cloudInitFeature{external: e}.ensureUploaded(t.Context(), b.m)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s Want error %q, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("%s Calls: -want, +got:\n%s", tc.reason, diff)
			}
			if got := b.m.GetAnnotations()[object.AnnotationImages]; got != tc.images {
				t.Errorf("%s Want %q noted, got %q", tc.reason, tc.images, got)
			}
		})
	}
}

func TestStaleImages(t *testing.T) {
	at := func(node string) nocloud.Ref { return nocloud.Ref{Node: node, Volume: ourImage} }
	cases := map[string]struct {
		reason string
		noted  string
		medium string
		pve    func(*bench)
		gone   bool   // The VM is.
		was    string // What a snapshot has in the drive.
		want   []nocloud.Ref
	}{
		"None":   {reason: "Who never had an image leaves none."},
		"Used":   {reason: "The image in the drive stays.", noted: "pve1=" + ourImage, medium: ourImage},
		"Left":   {reason: "That of the node that the VM has left does not.", noted: "pve1=" + ourImage + " pve2=" + ourImage, medium: ourImage, want: []nocloud.Ref{at("pve2")}},
		"Shared": {reason: "On shared storage it is the same one.", noted: "pve2=" + ourImage, medium: ourImage, pve: func(b *bench) { b.storages = append(b.storages, proxmox.Storage{Name: "files", Shared: true}) }},
		"SharedOffline": {reason: "On shared storage it is reached by another node.", noted: "pve2=" + ourImage, gone: true, pve: func(b *bench) {
			b.nodes[1].Status = "offline"
			b.storages = append(b.storages, proxmox.Storage{Name: "files", Node: "pve2", Shared: true}, proxmox.Storage{Name: "files", Node: "pve1", Shared: true})
		}, want: []nocloud.Ref{at("pve2")}},
		"Offline":  {reason: "That of a node that is offline waits.", noted: "pve2=" + ourImage, pve: func(b *bench) { b.nodes[1].Status = "offline" }},
		"Gone":     {reason: "With the VM go all of them.", noted: "pve1=" + ourImage, gone: true, want: []nocloud.Ref{at("pve1")}},
		"Snapshot": {reason: "The image of a snapshot stays, without which PVE could not go back to it.", noted: "pve1=" + ourImage, medium: "none", was: ourImage},
		"Since":    {reason: "One that was made and replaced after it does not.", noted: "pve1=" + ourImage, medium: "none", was: "none", want: []nocloud.Ref{at("pve1")}},
		"Foreign":  {reason: "What was not made for the VM is not its own, whatever the annotation says.", noted: "pve1=" + theirImage + " pve1=local:iso/debian.iso", gone: true},
		"Doubted":  {reason: "While more may arrive none is removed.", noted: "pve1=" + ourImage + "@9999999999", gone: true},
		"Certain":  {reason: "Later it is.", noted: "pve1=" + ourImage + "@1", gone: true, want: []nocloud.Ref{{Node: "pve1", Volume: ourImage, UncertainUntil: time.Unix(1, 0)}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) { m.Annotations[object.AnnotationImages] = tc.noted })
			if tc.pve != nil {
				tc.pve(b)
			}
			e := b.external()
			if !tc.gone {
				e.vm = &vmstate.VM{Ref: proxmox.Ref{Node: "pve1", VMID: 10000}, State: qemu.State{Config: qemu.Config{"ide2": tc.medium + ",media=cdrom"}}}
			}
			if tc.was != "" {
				e.vm.Config["parent"], e.ownershipProven = "before", true
				b.vms[10000] = ourVM("running")
				b.vms[10000].snapshots = map[string]map[string]string{"before": {"ide2": tc.was + ",media=cdrom"}}
			}
			got, err := cloudInitFeature{external: e}.staleImages(t.Context(), b.m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(nocloud.Ref{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Images of a VM that is gone are removed by whatever node has them, and those that
// cannot be are told of in the end.
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
		"Arrived": {reason: "Then it is removed.", doubt: time.Hour, later: time.Hour, writes: []string{"DeleteVolume pve2"}, exists: true},
		"Offline": {reason: "A node that is off is waited for.", pve: offline, err: "node pve2, which is offline", exists: true},
		"Dead":    {reason: "But not for ever.", pve: offline, later: obstacleTime, events: []string{string(events.ReasonOrphanedImages)}},
		"Lost":    {reason: "Nor a node that will not come back.", pve: func(b *bench) { b.nodes = b.nodes[:1] }, events: []string{string(events.ReasonOrphanedImages)}},
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

// TestStaleImagesLast has a token that may upload images, and not remove them.
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

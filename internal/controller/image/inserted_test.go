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

package image

import (
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// iso returns an Image of an ISO image on all nodes, with the volume that VMs have in a drive.
func (l *lab) iso(t *testing.T) (m *namespaced.Image, volume string) {
	t.Helper()
	m = l.image(func(p *v1alpha1.ImageParameters) {
		p.Content, p.Source.URL = new(v1alpha1.ImageContentISO), new(l.mirror.URL+"/debian.iso")
	})
	l.settle(m)
	if got := l.ours("iso"); len(got) != 3 {
		t.Fatalf("want the ISO image on three nodes, got %v", got)
	}
	return m, m.Status.AtProvider.Replicas[0].Volume
}

// ours returns the files of a content type that Images have created.
func (l *lab) ours(content string) []string {
	l.t.Helper()
	return slices.DeleteFunc(l.files(content), func(file string) bool { return !strings.Contains(file, "team.") })
}

// gone deletes the Image, and reconciles it a few times.
func (l *lab) gone(t *testing.T, m *namespaced.Image) {
	t.Helper()
	m.Finalizers = []string{"test/keep"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.kube.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInserted checks that an ISO image is kept that a VM has in a drive, or may have, in any way in which it would be missed.
func TestInserted(t *testing.T) {
	ref := proxmox.Ref{Node: "pve2", VMID: 600}
	cases := map[string]struct {
		reason string
		use    func(t *testing.T, l *lab, volume string)
		want   string // A part of the message.
		free   func(t *testing.T, l *lab)
	}{
		"Drive": {
			reason: "A VM has the image in a drive.", use: func(*testing.T, *lab, string) {}, want: "used by VM 600",
			free: func(t *testing.T, l *lab) {
				t.Helper()
				l.configure(t, ref, proxmox.Change{Delete: []string{"ide2"}})
			},
		},
		"Offline": {
			reason: "A VM whose node is off may have it in a drive: it and its node are named.",
			use:    func(_ *testing.T, l *lab, _ string) { l.pve.PowerOff("pve2") },
			want:   `cannot see whether VMs 600, 9001 use the volume: node "pve2" is offline`,
			free: func(t *testing.T, l *lab) {
				t.Helper()
				l.pve.PowerOn("pve2")
				l.configure(t, ref, proxmox.Change{Delete: []string{"ide2"}})
			},
		},
		"Pending": {
			reason: "A VM has the image in its drive until it starts again.",
			use: func(t *testing.T, l *lab, _ string) {
				t.Helper()
				l.ended(t)(l.client.Start(t.Context(), ref))
				l.configure(t, ref, proxmox.Change{Delete: []string{"ide2"}})
			},
			want: "used by VM 600",
			free: func(t *testing.T, l *lab) {
				t.Helper()
				l.ended(t)(l.client.Stop(t.Context(), ref, proxmox.StopOptions{}))
			},
		},
		"Snapshot": {
			reason: "A snapshot of the VM has it in the drive.",
			use: func(t *testing.T, l *lab, _ string) {
				t.Helper()
				l.ended(t)(l.client.TakeSnapshot(t.Context(), ref, proxmox.SnapshotOptions{Name: "before"}))
				l.configure(t, ref, proxmox.Change{Delete: []string{"ide2"}})
			},
			want: "used by VM 600",
			free: func(t *testing.T, l *lab) {
				t.Helper()
				l.ended(t)(l.client.RemoveSnapshot(t.Context(), ref, "before"))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{})
			m, volume := l.iso(t)
			l.ended(t)(l.client.Create(t.Context(), ref, proxmox.Params{"ide2": volume + ",media=cdrom", "name": "other"}))
			tc.use(t, l, volume)
			l.gone(t, m)
			c := m.GetCondition(xpv2.TypeReady)
			if c.Reason != reasonInUse || !strings.Contains(c.Message, tc.want) {
				t.Errorf("%s Want %q, got %s: %s", tc.reason, tc.want, c.Reason, c.Message)
			}
			if there, err := l.client.Volumes(t.Context(), "pve1", "local", "iso"); err != nil || volumeNamed(there, m.Status.AtProvider.File) == nil {
				t.Errorf("%s Want the files to stay, also on other nodes, got %v, %v", tc.reason, there, err)
			}
			tc.free(t, l)
			l.settle(m)
			if got := l.ours("iso"); len(got) > 0 {
				t.Errorf("%s Want the files to go when nobody needs them, got %v", tc.reason, got)
			}
		})
	}
}

func (l *lab) configure(t *testing.T, ref proxmox.Ref, c proxmox.Change) {
	t.Helper()
	if err := l.client.Configure(t.Context(), ref, c); err != nil {
		t.Fatal(err)
	}
}

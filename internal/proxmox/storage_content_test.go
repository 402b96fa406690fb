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

package proxmox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

func TestVolumesOfStorage(t *testing.T) {
	releases(t, func(t *testing.T, o simulator.Options) {
		t.Helper()
		l := newLab(t, o)
		ctx := t.Context()
		const id = "local:iso/cidata-100.iso"
		there := func() bool {
			volumes, err := l.Volumes(ctx, "pve1", "local", "iso")
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(volumes, func(v proxmox.Volume) bool { return v.ID == id && v.Content == "iso" && v.Size == 4096 })
		}
		image := make([]byte, 4096)
		for range 2 { // The same image may be sent again.
			l.done(l.UploadISO(ctx, "pve1", "local", "cidata-100.iso", image))
			if !there() {
				t.Fatal("the volume is not listed")
			}
		}
		for range 2 { // A deleted one may be deleted again.
			l.done(l.DeleteVolume(ctx, "pve1", id))
			if there() {
				t.Fatal("the volume is still listed")
			}
		}
	})
}

func TestUploadToOtherNode(t *testing.T) {
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, simulator.Options{Scenario: scenario})
	l.done(l.UploadISO(t.Context(), "pve2", "local", "cidata-100.iso", make([]byte, 4096)))
	for node, want := range map[string]bool{"pve1": false, "pve2": true} {
		volumes, err := l.Volumes(t.Context(), node, "local", "iso")
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(volumes, func(v proxmox.Volume) bool { return v.ID == "local:iso/cidata-100.iso" }); got != want {
			t.Errorf("node %s: want the image there to be %t, got %t", node, want, got)
		}
	}
}

func TestVolumesRefused(t *testing.T) {
	l := newLab(t, simulator.Options{})
	ctx := t.Context()
	cases := map[string]struct {
		reason string
		call   func() error
		want   string
	}{
		"NoStorage": {
			reason: "A storage that is not there is named.", want: `"nowhere"`,
			call: func() error { _, err := l.Volumes(ctx, "pve1", "nowhere", "iso"); return err },
		},
		"WrongName": {
			reason: "PVE takes ISO images by their names.", want: "wrong file extension",
			call: func() error { _, err := l.UploadISO(ctx, "pve1", "local", "image.txt", []byte("x")); return err },
		},
		"Path": {
			reason: "A storage is no path.", want: "not valid",
			call: func() error { _, err := l.UploadISO(ctx, "pve1", "../x", "image.iso", []byte("x")); return err },
		},
		"NoVolume": {
			reason: "A volume has a storage.", want: "not valid",
			call: func() error { _, err := l.DeleteVolume(ctx, "pve1", ":iso/x.iso"); return err },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := tc.call(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

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

package qemu

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
)

func TestOverlay(t *testing.T) {
	type want struct {
		s        string
		declared bool
	}
	cases := map[string]struct {
		reason string
		now    string
		parts  []part
		want   want
	}{
		"Nothing": {reason: "Without declared parts nothing changes.", now: "a=1,b=2", parts: []part{{key: "a"}}, want: want{s: "a=1,b=2"}},
		"InPlace": {
			reason: "A part is changed where it stands.", now: "a=1,b=2", parts: []part{{key: "a", Codec: codec.Fixed(new("3"))}},
			want: want{s: "a=3,b=2", declared: true},
		},
		"New": {
			reason: "A part that is not there is added.", now: "a=1", parts: []part{{key: "b", Codec: codec.Fixed(new("2"))}},
			want: want{s: "a=1,b=2", declared: true},
		},
		"Default": {
			reason: "A part that holds by default is not added.", now: "a=1", parts: []part{{key: "b", Codec: codec.Fixed(new("0")), absent: "0"}},
			want: want{s: "a=1", declared: true},
		},
		"BackToDefault": {
			reason: "A part that is there is set to its default.", now: "b=1", parts: []part{{key: "b", Codec: codec.Fixed(new("0")), absent: "0"}},
			want: want{s: "b=0", declared: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := propertystring.Parse(tc.now, "")
			if err != nil {
				t.Fatal(err)
			}
			declared := overlay(&p, tc.parts...)
			if diff := cmp.Diff(tc.want, want{s: p.String(), declared: declared}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\noverlay: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

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

package nocloud

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRefs(t *testing.T) {
	const uuid = "11111111-2222-4333-8444-55555555555a"
	own, foreign := "iso:iso/"+ImageName(100, uuid, "0123456789abcdef"), "iso:iso/"+ImageName(100, "99999999-2222-4333-8444-55555555555f", "0123456789abcdef")
	refs := []Ref{{Node: "pve1", Volume: own}, {Node: "pve2", Volume: own, UncertainUntil: time.Unix(9, 0)}}
	for name, tc := range map[string]struct {
		reason string
		text   string
		want   []Ref
	}{
		"None":    {reason: "No annotation means no images."},
		"Written": {reason: "What was written is read again.", text: FormatRefs(refs), want: refs},
		"Foreign": {reason: "The image of another VM is not to be removed with this one.", text: "pve1=" + foreign, want: nil},
		"Other":   {reason: "A volume that is no image of a provider is not to be removed.", text: "pve1=iso:iso/debian.iso", want: nil},
		"Broken":  {reason: "A text without a node is no reference.", text: own, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseRefs(tc.text, uuid)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
	if last := refs[1]; !last.Uncertain(time.Unix(8, 0)) || last.Uncertain(time.Unix(9, 0)) || last.Storage() != "iso" || last.Is(refs[0]) {
		t.Errorf("want an image that may arrive for 9 seconds, got %s", last)
	}
}

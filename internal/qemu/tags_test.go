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

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestTagsOption(t *testing.T) {
	type want struct {
		set    proxmox.Params
		remove []string
	}
	cases := map[string]struct {
		reason string
		tags   []string
		tenant string
		now    string
		want   want
	}{
		"Undeclared":  {reason: "Tags of a VM whose spec declares none are left alone.", now: "b;a", want: want{set: proxmox.Params{}}},
		"Order":       {reason: "PVE sorts tags by itself.", tags: []string{"b", "a"}, now: "a;b", want: want{set: proxmox.Params{}}},
		"Case":        {reason: "PVE keeps the case of tags given at creation.", tags: []string{"web"}, now: "Web", want: want{set: proxmox.Params{}}},
		"Separators":  {reason: "Clients separate tags in several ways.", tags: []string{"a", "b", "c"}, now: "c,a b", want: want{set: proxmox.Params{}}},
		"Replaced":    {reason: "Declared tags replace all others.", tags: []string{"b", "a", "b"}, now: "c", want: want{set: proxmox.Params{"tags": "a;b"}}},
		"None":        {reason: "An empty list removes all tags.", tags: []string{}, now: "c", want: want{set: proxmox.Params{}, remove: []string{"tags"}}},
		"NoneAlready": {reason: "No tags are no difference to none.", tags: []string{}, want: want{set: proxmox.Params{}}},
		"TenantAlone": {
			reason: "The tenant's tag is added to those that the VM has.", tenant: "Blue Team", now: "x",
			want: want{set: proxmox.Params{"tags": "tenant_blue_team;x"}},
		},
		"TenantMoves": {reason: "A VM has one tenant.", tenant: "red", now: "Tenant_blue;x", want: want{set: proxmox.Params{"tags": "tenant_red;x"}}},
		"TenantDone":  {reason: "The tenant's tag is added once.", tenant: "blue", now: "tenant_blue;x", want: want{set: proxmox.Params{}}},
		"TenantAndTags": {
			reason: "The tenant's tag goes with those of the spec.", tags: []string{"x"}, tenant: "blue", now: "y",
			want: want{set: proxmox.Params{"tags": "tenant_blue;x"}},
		},
		"TenantAndNoTags": {
			reason: "The tenant's tag stays where the spec wants no other.", tags: []string{}, tenant: "blue", now: "y",
			want: want{set: proxmox.Params{"tags": "tenant_blue"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := append([]string(nil), tc.tags...)
			var got want
			got.set, got.remove = changeOf([]Option{tagsOption(tc.tags, tc.tenant)}, map[string]string{"tags": tc.now})
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nchange: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(spec, append([]string(nil), tc.tags...)); diff != "" {
				t.Errorf("\n%s\nthe spec was changed: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTagged(t *testing.T) {
	cases := map[string]struct {
		reason string
		tags   string
		given  []string
		want   bool
	}{
		"None":   {reason: "A VM without tags has none.", want: true},
		"Order":  {reason: "The order of tags does not count, nor how they are separated.", tags: "c,a b", given: []string{"b", "c", "a"}, want: true},
		"Twice":  {reason: "How often a tag is said does not count.", tags: "a;a;b", given: []string{"a", "b", "b"}, want: true},
		"Fewer":  {reason: "All of them count.", tags: "a;b", given: []string{"a"}},
		"More":   {reason: "No others may be there.", tags: "a", given: []string{"a", "b"}},
		"Casing": {reason: "PVE can tell tags apart that differ in case alone.", tags: "Web", given: []string{"web"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (Config{"tags": tc.tags}).Tagged(tc.given); got != tc.want {
				t.Errorf("\n%s\nTagged(%q): want %t, got %t", tc.reason, tc.given, tc.want, got)
			}
		})
	}
}

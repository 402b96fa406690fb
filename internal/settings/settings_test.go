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

package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func parts(name, defaultPart string, values map[string]string) Declared {
	d, pointers := Declared{}, map[string]*string{}
	for k, v := range values {
		pointers[k] = &v
	}
	d.SetParts(name, defaultPart, pointers)
	return d
}

func whole(name, value string) Declared {
	d := Declared{}
	d.Set(name, &value)
	return d
}

func TestChange(t *testing.T) {
	tags, prefix := whole("registered-tags", "b;a"), Declared{}
	d := tags["registered-tags"]
	d.Whole.Same = SameSet
	tags["registered-tags"] = d
	prefix["mac_prefix"] = Setting{Whole: Value{Text: "bc:24:11", Same: strings.EqualFold}, Default: "BC:24:11"}
	colors := parts("tag-style", "", map[string]string{"color-map": "b:000000;a:ffffff"})
	colors.Compare("tag-style", "color-map", SameSet)
	required := parts("migration", "type", map[string]string{"type": "secure"})
	required.Require("migration", "type", "secure")
	text := Declared{}
	text.SetSame("description", new("a\nb"), SameText)

	cases := map[string]struct {
		reason   string
		declared Declared
		seen     map[string]string
		want     proxmox.Change
		reset    proxmox.Change
	}{
		"Nothing": {reason: "What is not declared is left alone.", seen: map[string]string{"console": "vv"}},
		"Set":     {reason: "An option that is not set is.", declared: whole("console", "vv"), want: proxmox.Change{Set: proxmox.Params{"console": "vv"}}},
		"Drift": {
			reason: "An option that was changed is changed back.", declared: whole("console", "vv"), seen: map[string]string{"console": "html5"},
			want: proxmox.Change{Set: proxmox.Params{"console": "vv"}}, reset: proxmox.Change{Delete: []string{"console"}},
		},
		"Same": {
			reason: "An option that is as declared is not set again.", declared: whole("console", "vv"), seen: map[string]string{"console": "vv"},
			reset: proxmox.Change{Delete: []string{"console"}},
		},
		"Remove": {
			reason: "An empty value removes the option.", declared: whole("email_from", ""), seen: map[string]string{"email_from": "a@b"},
			want: proxmox.Change{Delete: []string{"email_from"}}, reset: proxmox.Change{Delete: []string{"email_from"}},
		},
		"Removed": {reason: "What is removed already is not removed again.", declared: whole("email_from", "")},
		"Set of tags": {
			reason: "The order of a set does not matter.", declared: tags, seen: map[string]string{"registered-tags": "a;b"},
			reset: proxmox.Change{Delete: []string{"registered-tags"}},
		},
		"Line ends": {
			reason: "PVE ends a description with a line end.", declared: text, seen: map[string]string{"description": "a\nb\n"},
			reset: proxmox.Change{Delete: []string{"description"}},
		},
		"Default": {reason: "PVE answers its default where nothing is set.", declared: prefix, seen: map[string]string{"mac_prefix": "BC:24:11"}},
		"Part": {
			reason: "Parts that are not declared stay.", declared: parts("ha", "", map[string]string{"a": "2"}),
			seen: map[string]string{"ha": "a=1,b=1"}, want: proxmox.Change{Set: proxmox.Params{"ha": "a=2,b=1"}},
			reset: proxmox.Change{Set: proxmox.Params{"ha": "b=1"}},
		},
		"First part": {
			reason: "An option without parts gets them sorted.", declared: parts("ha", "", map[string]string{"b": "2", "a": "1"}),
			want: proxmox.Change{Set: proxmox.Params{"ha": "a=1,b=2"}},
		},
		"Order": {
			reason: "Parts have no order.", declared: parts("ha", "", map[string]string{"a": "1", "b": "2"}),
			seen: map[string]string{"ha": "b=2,a=1"}, reset: proxmox.Change{Delete: []string{"ha"}},
		},
		"Default part": {
			reason: "One part may be written without its name.", declared: parts("migration", "type", map[string]string{"type": "secure"}),
			seen:  map[string]string{"migration": "secure,network=192.0.2.0/24"},
			reset: proxmox.Change{Set: proxmox.Params{"migration": "network=192.0.2.0/24"}},
		},
		"Last part": {
			reason:   "An option whose last part is removed is removed.",
			declared: parts("user-tag-access", "", map[string]string{"user-allow-list": ""}),
			seen:     map[string]string{"user-tag-access": "user-allow-list=a;b"}, want: proxmox.Change{Delete: []string{"user-tag-access"}},
			reset: proxmox.Change{Delete: []string{"user-tag-access"}},
		},
		"Colors": {
			reason: "A part may be a set.", declared: colors, seen: map[string]string{"tag-style": "color-map=a:ffffff;b:000000"},
			reset: proxmox.Change{Delete: []string{"tag-style"}},
		},
		"Location": {
			reason: "A number has many forms.", declared: Declared{"location": Location(&v1alpha1.Location{Latitude: "59.910", Longitude: "10"})},
			seen: map[string]string{"location": "name=Oslo,latitude=59.91,longitude=10.0"}, reset: proxmox.Change{Delete: []string{"location"}},
		},
		"Required": {
			reason: "PVE takes no network without a type.", declared: required,
			seen:  map[string]string{"migration": "type=insecure,network=192.0.2.0/24"},
			want:  proxmox.Change{Set: proxmox.Params{"migration": "type=secure,network=192.0.2.0/24"}},
			reset: proxmox.Change{Set: proxmox.Params{"migration": "network=192.0.2.0/24,type=secure"}},
		},
		"Reset": {reason: "What is reset is not reset again.", declared: required, seen: map[string]string{"migration": "network=192.0.2.0/24,type=secure"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := proxmox.Settings{Values: tc.seen, Digest: "abc"}
			tc.want.Digest, tc.reset.Digest = "abc", "abc"
			got, err := tc.declared.Change(seen)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("%s\nChange(): %v, -want, +got:\n%s", tc.reason, err, diff)
			}
			got, err = tc.declared.Reset(seen)
			if diff := cmp.Diff(tc.reset, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("%s\nReset(): %v, -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestChangeHolds applies changes and checks that no change is left, whatever the former settings were.
func TestChangeHolds(t *testing.T) {
	d := parts("crs", "", map[string]string{"ha": "static", "ha-rebalance-on-start": "0"})
	for _, before := range []string{"", "ha=basic", "ha=static,ha-rebalance-on-start=1", "other=1"} {
		seen := proxmox.Settings{Values: map[string]string{"crs": before}}
		c, err := d.Change(seen)
		if err != nil {
			t.Fatal(err)
		}
		seen.Values["crs"] = c.Set["crs"]
		if c, err = d.Change(seen); err != nil || !c.Empty() {
			t.Errorf("after %q: got %+v and error %v, want nothing to do", before, c, err)
		}
	}
}

func TestChangeUnreadable(t *testing.T) {
	seen := proxmox.Settings{Values: map[string]string{"crs": "ha=basic,ha=static"}}
	d := parts("crs", "", map[string]string{"ha": "static"})
	if _, err := d.Change(seen); err == nil {
		t.Error("Change(): what cannot be read must not be overwritten")
	}
	if _, err := d.Reset(seen); err == nil {
		t.Error("Reset(): what cannot be read must not be overwritten")
	}
}

func TestDifferences(t *testing.T) {
	long := strings.Repeat("é", longestShown)
	d := Declared{"http_proxy": Setting{Whole: Value{Text: "http://u:p@proxy"}, Secret: true}}
	d.Set("description", &long)
	d.Set("email_from", new(""))
	seen := proxmox.Settings{Values: map[string]string{"email_from": "a@b", "http_proxy": "http://old:secret@proxy"}}
	c, err := d.Change(seen)
	if err != nil {
		t.Fatal(err)
	}
	want := []v1alpha1.OptionDifference{
		{Option: "description", Desired: strings.Repeat("é", longestShown/2) + "…"},
		{Option: "email_from", Current: "a@b"},
		{Option: "http_proxy", Current: hidden, Desired: hidden},
	}
	if diff := cmp.Diff(want, d.Differences(c, seen)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestUndeclared(t *testing.T) {
	d := Declared{}
	d.Set("console", nil)
	d.SetParts("ha", "", map[string]*string{"shutdown_policy": nil})
	d.Compare("ha", "shutdown_policy", SameSet)
	if len(d) != 0 {
		t.Errorf("want nothing declared, got %v", d)
	}
}

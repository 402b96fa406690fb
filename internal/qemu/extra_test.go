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
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

func TestSameExtra(t *testing.T) {
	cases := map[string]struct {
		reason string
		option string
		a, b   string
		want   bool
	}{
		"Text":   {reason: "Text is compared as it is.", option: "args", a: "-a b,c", b: "-a c,b"},
		"Number": {reason: "Numbers are compared, not their digits.", option: "migrate_downtime", a: "0.10", b: "0.1", want: true},
		"Order": {
			reason: "Property strings have no order.", option: "spice_enhancements", a: "foldersharing=1,videostreaming=all",
			b: "videostreaming=all,foldersharing=1", want: true,
		},
		"DefaultKey":   {reason: "The first value may have its key.", option: "amd-sev", a: "type=std,no-debug=1", b: "std,no-debug=1", want: true},
		"OtherValue":   {reason: "Another value is a difference.", option: "amd-sev", a: "std", b: "es"},
		"Generated":    {reason: "PVE makes up what 1 asks for.", option: "vmgenid", a: otherUUID, b: "1", want: true},
		"NotGenerated": {reason: "The value 0 is no identifier that PVE makes up.", option: "vmgenid", a: "0", b: "1"},
		"Unknown":      {reason: "An option that is not known is text.", option: "no-such", a: "a=1,b=2", b: "b=2,a=1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sameExtra(fields.ExtraOf(tc.option))(tc.a, tc.b); got != tc.want {
				t.Errorf("\n%s\nsame(%q, %q): want %t, got %t", tc.reason, tc.a, tc.b, tc.want, got)
			}
		})
	}
}

func TestExtraRefusal(t *testing.T) {
	cases := map[string]struct{ reason, name, value, want string }{
		"Taken":    {reason: "What PVE takes is taken.", name: "keyboard", value: "de"},
		"Removed":  {reason: "Each option can be removed.", name: "keyboard"},
		"Value":    {reason: "PVE has no such keyboard.", name: "keyboard", value: "xx", want: `cannot be "xx": it is one of de, de-ch`},
		"Boolean":  {reason: "Booleans are written as PVE writes them.", name: "autostart", value: "yes", want: "it is one of 0, 1"},
		"Key":      {reason: "PVE has no such key.", name: "amd-sev", value: "std,debug=1", want: "its keys are type, allow-smt"},
		"Keyless":  {reason: "Not every property string has a first value without key.", name: "ivshmem", value: "32", want: "its keys are name, size"},
		"Free":     {reason: "Some options take anything.", name: "args", value: "-cpu x,a=b"},
		"Unknown":  {reason: "What is not known here PVE has to decide about.", name: "brand-new", value: "x"},
		"Field":    {reason: "An option with a field is set there.", name: "net0", value: "x", want: "has a field of its own: set networks"},
		"NoOption": {reason: "What says how a call is made is no option.", name: "skiplock", value: "1", want: "is no option of a VM"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := fields.ExtraRejection(tc.name, tc.value)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

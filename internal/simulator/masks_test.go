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

package simulator_test

import (
	"testing"
)

func TestMasks(t *testing.T) {
	m := newMasker()
	cases := map[string]struct {
		reason, one, other string
		equal              bool
	}{
		"Order": {reason: "Keys and entries have no order.", one: `{"a":[1,2],"b":3}`, other: `{"b":3,"a":[2,1]}`, equal: true},
		"Digest": {
			reason: "Digests may differ between clusters.", one: `{"digest":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}`,
			other: `{"digest":"b7db2478743d1485cb6386c73d646faf0eea6911"}`, equal: true,
		},
		"Time":  {reason: "Times may differ between runs.", one: `{"starttime":1}`, other: `{"starttime":2}`, equal: true},
		"Value": {reason: "Values must be the same.", one: `{"cores":1}`, other: `{"cores":2}`},
		"Type":  {reason: "A number is no text.", one: `{"cores":1}`, other: `{"cores":"1"}`},
		"Key":   {reason: "No key may be missing.", one: `{"cores":1}`, other: `{}`},
		"Text":  {reason: "Messages must be the same.", one: "no ticket", other: "No ticket"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := m.body(tc.one) == m.body(tc.other); got != tc.equal {
				t.Errorf("%s: equal %t, want %t", tc.reason, got, tc.equal)
			}
		})
	}
	begun := `{"data":[{"vmid":100,"name":"a"},{"vmid":101,"na`
	if !m.begins(begun, `{"data":[{"vmid":101,"name":"b"},{"vmid":100,"name":"a"}]}`) || m.begins(begun, `{"data":[{"vmid":100,"name":"x"}]}`) {
		t.Error("what is left of a cut body must be there, and be enough")
	}
}

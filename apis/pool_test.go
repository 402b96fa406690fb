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

package apis_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// poolOf returns a Pool of the scope with parameters in YAML.
func (s scope) poolOf(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "Pool", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

func TestPoolRefused(t *testing.T) {
	cases := map[string]refusal{
		"NameEmpty":    {reason: "A pool has a name.", spec: `{name: ""}`, want: []string{"spec.forProvider.name"}},
		"NameBegin":    {reason: "A name begins with a letter.", spec: `{name: 1a}`, want: []string{"spec.forProvider.name"}},
		"NameInner":    {reason: "Each part of a nested name begins with a letter.", spec: `{name: a/-b}`, want: []string{"spec.forProvider.name"}},
		"NameDeep":     {reason: "PVE nests pools in three levels.", spec: `{name: a/b/c/d}`, want: []string{"spec.forProvider.name"}},
		"NameLong":     {reason: "A name has 128 characters.", spec: `{name: ` + strings.Repeat("a", 129) + `}`, want: []string{"spec.forProvider.name"}},
		"VMIDLow":      {reason: "The VMIDs below 100 are reserved.", spec: `{vmids: [99]}`, want: []string{"vmids"}},
		"VMIDHigh":     {reason: "A VMID has nine digits.", spec: `{vmids: [1000000000]}`, want: []string{"vmids"}},
		"VMIDTwice":    {reason: "A VMID is named once.", spec: `{vmids: [100, 100]}`, want: []string{"vmids", "Duplicate"}},
		"StorageShort": {reason: "The name of a storage has two characters.", spec: `{storages: [a]}`, want: []string{"storages"}},
		"StorageTwice": {reason: "A storage is named once.", spec: `{storages: [ab, ab]}`, want: []string{"storages", "Duplicate"}},
		"RefTwice":     {reason: "A Machine is named once.", spec: `{machineRefs: [{name: a}, {name: a}]}`, want: []string{"machineRefs", "Duplicate"}},
		"StorageRefs":  {reason: "A Storage is named once.", spec: `{storageRefs: [{name: a}, {name: a}]}`, want: []string{"storageRefs", "Duplicate"}},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantRefused(t, tc.reason, tryCreate(t.Context(), s.poolOf(t, tc.spec)), tc.want...)
			})
		}
	}
}

func TestPoolAccepted(t *testing.T) {
	cases := map[string]struct{ reason, spec string }{
		"Nothing": {reason: "The name of the resource is that of the pool.", spec: `{}`},
		"Nested":  {reason: "PVE nests pools in three levels.", spec: `{name: a1/b_c/d.e-f}`},
		"Members": {
			reason: "Members are named, referenced and selected.",
			spec: `{vmids: [100, 999999999], machineRefs: [{name: a}], machineSelector: {matchLabels: {a: b}}, storages: [local],
				storageRefs: [{name: a}], storageSelector: {matchLabels: {a: b}}, comment: ""}`,
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) { wantAccepted(t, tc.reason, tryCreate(t.Context(), s.poolOf(t, tc.spec))) })
		}
	}
}

func TestPoolChange(t *testing.T) {
	cases := map[string]change{
		"Name":    {reason: "PVE cannot rename a pool.", before: `{name: a}`, after: `{name: b}`, want: []string{"name cannot change"}},
		"Named":   {reason: "A name that was that of the resource may be written down.", before: `{}`, after: `{name: admission}`},
		"Members": {reason: "Members and comments change.", before: `{vmids: [100], comment: a}`, after: `{vmids: [101], storages: [local], comment: b}`},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) { testChange(t, s.poolOf(t, tc.before), tc) })
		}
	}
}

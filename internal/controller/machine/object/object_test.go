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

package object

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

func TestMayCreate(t *testing.T) {
	cases := map[string]struct {
		reason   string
		policies xpv2.ManagementPolicies
		want     bool
	}{
		"None": {reason: "Without policies all is allowed.", want: true},
		"All":  {reason: "The policy * allows everything.", policies: xpv2.ManagementPolicies{xpv2.ManagementActionAll}, want: true},
		"Create": {
			reason:   "The policy Create allows a creation.",
			policies: xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate}, want: true,
		},
		"Observe": {reason: "The policy Observe allows no creation.", policies: xpv2.ManagementPolicies{xpv2.ManagementActionObserve}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{}
			m.SetManagementPolicies(tc.policies)
			if got := MayCreate(m); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

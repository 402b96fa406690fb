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

import "testing"

func TestTenantOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		labels map[string]string
		want   string
	}{
		"None":  {reason: "Most resources have no tenant.", labels: map[string]string{"app": "x"}},
		"Short": {reason: "The short label names the tenant.", labels: map[string]string{"tenant-id": "a"}, want: "a"},
		"Both":  {reason: "The qualified label goes first.", labels: map[string]string{"tenant-id": "a", "tenant.vitistack.io/id": "b"}, want: "b"},
		"Empty": {reason: "An empty label names nobody.", labels: map[string]string{"tenant-id": "a", "tenant.vitistack.io/id": ""}, want: "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := TenantOf(tc.labels); got != tc.want {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

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

package connect

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestIsOf tells whose resources count in the quota of a tenant.
func TestIsOf(t *testing.T) {
	const kind = "ClusterProviderConfig"
	cases := map[string]struct {
		reason    string
		namespace string
		names     string
		there     []client.Object
		want      bool
	}{
		"Own":       {reason: "One of the tenant's namespace counts.", namespace: "team-a", names: "site", want: true},
		"Another":   {reason: "One of another namespace does not.", namespace: "ops", names: "site"},
		"Elsewhere": {reason: "One of another configuration does not.", namespace: "team-a", names: "other"},
		"StandsIn":  {reason: "One that names a missing default counts where the configuration stands in.", namespace: "team-a", names: "default", want: true},
		"Default": {
			reason: "One that names a default which is there is its.", namespace: "team-a", names: "default", there: []client.Object{clusterProviderConfig("default")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New(kube(t, append(tc.there, clusterProviderConfig("site"))...), WithDefault("site"))
			got, err := c.IsOf(t.Context(), namespacedMachine(tc.namespace, kind, tc.names), kind+"/site", teams()[:1], "a")
			if got != tc.want || err != nil {
				t.Errorf("IsOf(): %s: want %t, got %t, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

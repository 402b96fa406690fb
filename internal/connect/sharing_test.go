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

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

func TestSharingClusters(t *testing.T) {
	same, upper, other := clusterConfig("same"), namespacedConfigOf("team", "upper"), clusterProviderConfig("other")
	same.Spec.Endpoints = []string{"https://pve9.example.com:8006", "https://pve1.example.com:8006/api2/json"}
	upper.Spec.Endpoints = []string{"https://PVE1.example.com/"}
	other.Spec.Endpoints = []string{"https://pve1.example.com:443"}
	cases := map[string]struct {
		reason   string
		resource resource.Managed
		want     bool
	}{
		"Same":    {reason: "One common endpoint is enough.", resource: clusterMachine("same"), want: true},
		"Written": {reason: "However it is written.", resource: namespacedMachine("team", "ProviderConfig", "upper"), want: true},
		"Port":    {reason: "Another port is another server.", resource: namespacedMachine("team", "ClusterProviderConfig", "other")},
		"Missing": {reason: "What does not exist shares nothing.", resource: clusterMachine("missing")},
		"Unknown": {reason: "What is of no known kind shares nothing.", resource: namespacedMachine("team", "Secret", "same")},
	}
	shares := New(kube(t, same, upper, other)).Sharing(t.Context(), []string{"https://pve1.example.com:8006", "https://pve2.example.com"})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 { // The second result is cached.
				if got := shares(tc.resource); got != tc.want {
					t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
				}
			}
		})
	}
}

func TestClusterOf(t *testing.T) {
	same, order, other := clusterConfig("same"), namespacedConfigOf("team", "order"), clusterProviderConfig("other")
	same.Spec.Endpoints = []string{"https://pve2.example.com:8006", "https://pve1.example.com:8006/api2/json"}
	order.Spec.Endpoints = []string{"https://PVE1.example.com/", "https://pve2.example.com"}
	other.Spec.Endpoints = []string{"https://pve3.example.com"}
	c := New(kube(t, same, order, other))
	cases := map[string]struct {
		reason   string
		resource resource.Managed
		want     string

		namespace string // The namespace that shares its capacity.
	}{
		"Same": {reason: "A cluster is named by an endpoint.", resource: clusterMachine("same"), want: "pve1.example.com:8006"},
		"Order": {
			reason: "Endpoints may be written in any order.", resource: namespacedMachine("team", "ProviderConfig", "order"), want: "pve1.example.com:8006",
			namespace: "team",
		},
		"Other":   {reason: "Another one has another name.", resource: namespacedMachine("team", "ClusterProviderConfig", "other"), want: "pve3.example.com:8006"},
		"Missing": {reason: "A configuration that does not exist is for no cluster.", resource: clusterMachine("missing")},
		"Unknown": {reason: "What is of no known kind has none.", resource: namespacedMachine("team", "Secret", "same")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.ClusterOf(t.Context(), tc.resource); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
			want := Sharer{Cluster: tc.want}
			if tc.namespace != "" {
				want = Sharer{Namespace: tc.namespace}
			}
			if got := c.SharerOf(t.Context(), tc.resource); got != want {
				t.Errorf("%s\nwant the share of %+v, got %+v", tc.reason, want, got)
			}
		})
	}
}

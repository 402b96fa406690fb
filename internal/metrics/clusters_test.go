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

package metrics

import "testing"

func TestClusters(t *testing.T) {
	m := New()
	r := registered(t, m)
	m.ClusterReached("lab", 3)
	m.ClusterReached("team-a/edge", 2)
	m.ClusterReached("gone", 1)
	m.ClusterUnreachable("team-a/edge")
	m.ClusterGone("gone")
	compare(t, r, "proxmox_cluster_nodes_available", `
# HELP proxmox_cluster_nodes_available Nodes that are online, by ProxmoxCluster and provider configuration.
# TYPE proxmox_cluster_nodes_available gauge
proxmox_cluster_nodes_available{cluster="lab"} 3
proxmox_cluster_nodes_available{cluster="team-a/edge"} 0
`)
	compare(t, r, "proxmox_cluster_connection_status", `
# HELP proxmox_cluster_connection_status Whether the cluster can be reached: 1 or 0, by ProxmoxCluster and provider configuration.
# TYPE proxmox_cluster_connection_status gauge
proxmox_cluster_connection_status{cluster="lab"} 1
proxmox_cluster_connection_status{cluster="team-a/edge"} 0
`)
}

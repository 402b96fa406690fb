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

import "github.com/prometheus/client_golang/prometheus"

// clusters has the metrics of PVE clusters, by the name of their ProxmoxCluster and by that of their provider configuration.
type clusters struct {
	nodes, connected *prometheus.GaugeVec
}

func newClusters() clusters {
	return clusters{
		nodes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "proxmox_cluster_nodes_available",
			Help: "Nodes that are online, by ProxmoxCluster and provider configuration.",
		}, []string{"cluster"}),
		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "proxmox_cluster_connection_status",
			Help: "Whether the cluster can be reached: 1 or 0, by ProxmoxCluster and provider configuration.",
		}, []string{"cluster"}),
	}
}

func (c clusters) collectors() []prometheus.Collector {
	return []prometheus.Collector{c.nodes, c.connected}
}

// ClusterReached records that a cluster answered, and how many of its nodes are online. The name is that of its ProxmoxCluster, with its namespace if
// it has one: team-a/lab. The name of a provider configuration is preceded by its kind: ProviderConfig/team-a/lab.
func (m *Metrics) ClusterReached(name string, nodes int) {
	m.clusters.nodes.WithLabelValues(name).Set(float64(nodes))
	m.clusters.connected.WithLabelValues(name).Set(1)
}

// ClusterUnreachable records that a cluster did not answer the provider.
func (m *Metrics) ClusterUnreachable(name string) {
	m.clusters.nodes.WithLabelValues(name).Set(0)
	m.clusters.connected.WithLabelValues(name).Set(0)
}

// ClusterGone removes the series of a cluster that is no longer observed.
func (m *Metrics) ClusterGone(name string) {
	m.clusters.nodes.DeleteLabelValues(name)
	m.clusters.connected.DeleteLabelValues(name)
}

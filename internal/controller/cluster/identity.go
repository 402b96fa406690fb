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

package cluster

import (
	"context"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// identify sets the external name of the resource to the cluster's name. If the resource already has another one, the connection leads to another
// cluster than before.
func identify(ctx context.Context, a config.Access, m Cluster, s *view) error {
	name := clusterName(s.status)
	if meta.GetExternalName(m) == "" {
		if err := kind.Annotate(ctx, a.Kube, m, map[string]string{meta.AnnotationKeyExternalName: name}); err != nil {
			return err
		}
	}
	if err := sameName(m, name); err != nil {
		return err
	}
	a.Metrics.ClusterReached(nameOf(m), s.online())
	return nil
}

// stillThere returns an error unless the connection still leads to the same cluster.
func stillThere(ctx context.Context, a config.Access, m Cluster) error {
	s, err := a.Client.ClusterStatus(ctx)
	if err != nil {
		return err
	}
	return sameName(m, clusterName(s))
}

// sameName rejects a cluster that is not the resource's.
func sameName(m Cluster, name string) error {
	if name == meta.GetExternalName(m) {
		return nil
	}
	return config.Rejection(kind.Problem{Reason: ReasonConflict, Message: "the provider configuration leads to cluster " +
		strconv.Quote(name) + ", not to " + strconv.Quote(meta.GetExternalName(m)) +
		", which is the external name: correct the configuration, or create another resource for that cluster"})
}

// clusterName returns the name of the cluster. For a standalone node, it is the node's name.
func clusterName(s proxmox.ClusterStatus) string {
	if s.Name != "" || len(s.Nodes) == 0 {
		return s.Name
	}
	return s.Nodes[0].Name
}

// overlaps reports whether both resources manage the options of the same cluster.
func overlaps(one, older Cluster) bool {
	return one.Parameters().Options != nil && older.Parameters().Options != nil && sameCluster(older.Observation().Nodes, one.Observation().Nodes)
}

// sameCluster reports whether two lists have a node in common: the same certificate
// under the same name.
func sameCluster(a, b []v1alpha1.ProxmoxClusterNode) bool {
	known := map[v1alpha1.ProxmoxClusterNode]bool{}
	for _, n := range a {
		known[v1alpha1.ProxmoxClusterNode{Name: n.Name, Fingerprint: n.Fingerprint}] = true
	}
	for _, n := range b {
		if known[v1alpha1.ProxmoxClusterNode{Name: n.Name, Fingerprint: n.Fingerprint}] {
			return true
		}
	}
	return false
}

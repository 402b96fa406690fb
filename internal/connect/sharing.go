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
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

// Sharing returns a function that reports whether the provider configuration of another resource is for the same PVE cluster, which is the case if it
// names one of the endpoints. The function is for one pass over many resources: it reads each configuration once. A configuration that cannot be read
// is not for the same cluster.
func (c *Connector) Sharing(ctx context.Context, endpoints []string) func(resource.Managed) bool {
	known := map[reference]bool{}
	return func(mg resource.Managed) bool {
		ref, err := referenceOf(mg)
		if err != nil {
			return false
		}
		same, ok := known[ref]
		if !ok {
			_, spec, err := c.resolve(ctx, ref)
			same = err == nil && overlap(spec.Endpoints, endpoints)
			known[ref] = same
		}
		return same
	}
}

// ClusterOf names the PVE cluster of a resource by the first of its endpoints in alphabetical order, so that it has one name in all
// configurations with the same endpoints. It is empty for a resource without a configuration.
func (c *Connector) ClusterOf(ctx context.Context, mg resource.Managed) string {
	ref, err := referenceOf(mg)
	if err != nil {
		return ""
	}
	_, spec, err := c.resolve(ctx, ref)
	all := hosts(spec.Endpoints)
	if err != nil || len(all) == 0 {
		return ""
	}
	return slices.Min(all)
}

// A Sharer shares the capacity of the provider with others: a cluster by its name in ClusterOf, or a namespace with all provider configurations in it,
// whatever their clusters are.
type Sharer struct{ Cluster, Namespace string }

// SharerOf returns the sharer of a resource. It is empty for a resource without a configuration.
func (c *Connector) SharerOf(ctx context.Context, mg resource.Managed) Sharer {
	s := Sharer{Cluster: c.ClusterOf(ctx, mg)}
	if ref, err := referenceOf(mg); err == nil && ref.namespace != "" && s.Cluster != "" {
		return Sharer{Namespace: ref.namespace}
	}
	return s
}

// overlap reports whether two lists of endpoints have one in common.
func overlap(a, b []string) bool {
	known := hosts(a)
	return slices.ContainsFunc(hosts(b), func(h string) bool { return slices.Contains(known, h) })
}

// hosts returns the hosts and ports of endpoints, however the endpoints are written.
func hosts(endpoints []string) []string {
	all := make([]string, 0, len(endpoints))
	for _, e := range endpoints {
		u, err := url.Parse(strings.ToLower(e))
		if err != nil {
			continue
		}
		h := u.Host
		if u.Port() == "" {
			h += ":8006"
		}
		all = append(all, h)
	}
	return all
}

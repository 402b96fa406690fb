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

// Package cluster describes Proxmox VE clusters for the engine of configuration objects. This file contains the table, identity.go determines which
// cluster a resource stands for, status.go reads the cluster and checks what is expected, and options.go contains its options.
package cluster

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// A Cluster is a ProxmoxCluster of either scope.
type Cluster interface {
	resource.Managed

	Parameters() *v1alpha1.ProxmoxClusterParameters
	Observation() *v1alpha1.ProxmoxClusterObservation
}

// Reasons why a ProxmoxCluster is not ready.
const (
	ReasonNoQuorum xpv2.ConditionReason = "NoQuorum"
	ReasonMissing  xpv2.ConditionReason = "Missing"
	ReasonConflict                      = config.ReasonConflict
)

// Table returns the table of the kind ProxmoxCluster.
func Table() config.Singleton[Cluster, *view, v1alpha1.ProxmoxClusterObservation] {
	return config.Singleton[Cluster, *view, v1alpha1.ProxmoxClusterObservation]{
		Kind: "ProxmoxCluster",
		Look: readCluster, Identify: identify, StillThere: stillThere, Overlaps: overlaps,
		Observe: func(s *view, _ v1alpha1.ProxmoxClusterObservation) v1alpha1.ProxmoxClusterObservation {
			return s.observation()
		},
		Status: func(o *v1alpha1.ProxmoxClusterObservation) config.Status {
			return config.Status{Ready: &o.Ready, Difference: &o.Difference, At: &o.LastHealthCheck}
		},
		WithoutUsage: withoutUsage,
		Problems: func(m Cluster, s *view) []kind.Problem {
			return append(s.problems(), s.missing(m.Parameters(), *m.Observation())...)
		},
		Hold:     func(s *view) bool { return !s.status.Quorate },
		Settings: []config.Settings[Cluster, *view]{{Declare: declare, Undeclare: undeclare, Read: readOptions, Write: writeOptions}},
		Words: config.Words{
			Well: "the cluster is healthy", Claims: "manages the options of this cluster",
			Changed: "ChangedOptions", Set: "options set in Proxmox VE: ", Reset: "options reset in Proxmox VE: ",
		},
		Unreachable: func(a config.Access, m Cluster) { a.Metrics.ClusterUnreachable(nameOf(m)) },
		Gone:        func(a config.Access, m Cluster) { a.Metrics.ClusterGone(nameOf(m)) },
	}
}

// declare declares the options of the spec, including those that it refers to in a Secret.
func declare(ctx context.Context, a config.Access, m Cluster, s *view) (settings.Declared, error) {
	o, proxy := m.Parameters().Options, (*string)(nil)
	if o != nil && o.HTTPProxySecretRef != nil {
		url, _, err := config.ReadSecret(ctx, a.Kube, m, *o.HTTPProxySecretRef)
		if err == nil && !strings.HasPrefix(url, "http://") {
			err = errors.Errorf("key %q of secret %q does not begin with http://", o.HTTPProxySecretRef.Key, o.HTTPProxySecretRef.Name)
		}
		if err != nil {
			return nil, errors.Wrap(err, "cannot use options.httpProxySecretRef")
		}
		proxy = &url
	}
	d := declared(o, proxy)
	return d, known(d, s.version)
}

// undeclare undeclares the options of the spec if they are removed with the resource. No Secret is needed to remove an option.
func undeclare(m Cluster) settings.Declared {
	p := m.Parameters()
	switch {
	case p.Options == nil || p.OnDelete == nil || *p.OnDelete != v1alpha1.OnDeleteReset:
		return nil
	case p.Options.HTTPProxySecretRef == nil:
		return declared(p.Options, nil)
	}
	return declared(p.Options, new(string))
}

func readOptions(ctx context.Context, a config.Access, _ Cluster) (proxmox.Settings, error) {
	if a.Fresh {
		return a.Client.ClusterOptions(ctx)
	}
	return a.Inventory.ClusterOptions(ctx)
}

func writeOptions(ctx context.Context, a config.Access, _ Cluster, _ proxmox.Settings, c proxmox.Change) error {
	defer a.Inventory.InvalidateOptions()
	return a.Client.SetClusterOptions(ctx, c)
}

// nameOf returns the name of a ProxmoxCluster in metrics.
func nameOf(m Cluster) string {
	if m.GetNamespace() == "" {
		return m.GetName()
	}
	return m.GetNamespace() + "/" + m.GetName()
}

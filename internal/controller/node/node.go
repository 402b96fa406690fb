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

// Package node describes nodes of Proxmox VE clusters for the engine of configuration objects. This file contains the table, initialize.go determines
// which node a resource stands for, status.go reads the node, and settings.go contains its settings.
package node

import (
	"context"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
)

// A Node is a ProxmoxNode of either scope.
type Node interface {
	resource.Managed

	Parameters() *v1alpha1.ProxmoxNodeParameters
	Observation() *v1alpha1.ProxmoxNodeObservation
}

// Reasons why a ProxmoxNode is not ready.
const (
	ReasonNotFound xpv2.ConditionReason = "NotFound"
	ReasonOffline  xpv2.ConditionReason = "Offline"
	ReasonConflict                      = config.ReasonConflict
)

// Table returns the table of the kind ProxmoxNode.
func Table() config.Singleton[Node, *view, v1alpha1.ProxmoxNodeObservation] {
	return config.Singleton[Node, *view, v1alpha1.ProxmoxNodeObservation]{
		Kind: "ProxmoxNode", Initialize: initialize, Via: via,
		Look: readNode, Identify: stays, Overlaps: overlaps,
		Observe: (*view).observation,
		Status: func(o *v1alpha1.ProxmoxNodeObservation) config.Status {
			return config.Status{Ready: &o.Ready, Difference: &o.Difference, At: &o.LastUpdated}
		},
		WithoutUsage: withoutUsage, Problems: problems,
		Settings: []config.Settings[Node, *view]{
			{Declare: declareOptions, Read: readOptions, Write: writeOptions},
			{Declare: declareDNS, Read: readDNS, Write: writeDNS},
			{Declare: declareTimeZone, Read: readTimeZone, Write: writeTimeZone},
		},
		Words: config.Words{
			Well: "the node is online", Claims: "stands for this node",
			Changed: "ChangedSettings", Set: "settings changed in Proxmox VE: ",
		},
	}
}

// via returns the ProxmoxCluster of the node, if there is one. Its provider configuration leads to the cluster.
func via(ctx context.Context, a config.Access, n Node) (resource.Managed, error) {
	name := n.Parameters().Cluster
	if name == nil {
		return n, nil
	}
	to, err := clusters(a)
	if err != nil {
		return nil, err
	}
	err = a.Kube.Get(ctx, client.ObjectKey{Namespace: n.GetNamespace(), Name: *name}, to.Managed)
	if kerrors.IsNotFound(err) {
		return nil, errors.Errorf("ProxmoxCluster %q does not exist", *name)
	}
	return to.Managed, errors.Wrapf(err, "cannot get ProxmoxCluster %q", *name)
}

// problems returns the problem that a node is not online, if it is not.
func problems(_ Node, s *view) []kind.Problem {
	if s.node.Online() {
		return nil
	}
	return []kind.Problem{{Reason: ReasonOffline, Message: "node " + strconv.Quote(s.node.Name) + " is " + s.node.Status}}
}

// overlaps reports whether both resources stand for the same node, in the same namespace or with both managing its settings. Other resources may have
// separate rules for their VMs.
func overlaps(one, older Node) bool {
	a, b := one.Observation(), older.Observation()
	return a.Fingerprint != "" && a.Fingerprint == b.Fingerprint && a.NodeName == b.NodeName &&
		(one.GetNamespace() == older.GetNamespace() || hasSettings(one.Parameters()) && hasSettings(older.Parameters()))
}

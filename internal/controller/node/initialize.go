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

package node

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reference"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/config"
)

// initialize records which node and which cluster the resource stands for.
func initialize(ctx context.Context, a config.Access, n Node) error {
	before, ok := n.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", n)
	}
	if err := nameNode(n); err != nil {
		return err
	}
	if err := resolve(ctx, a, n); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(before, n) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return errors.Wrap(a.Kube.Patch(ctx, n, patch), "cannot write down the node and its cluster")
}

// nameNode sets the external name, which is the node's name and does not change.
func nameNode(n Node) error {
	wanted := n.Parameters().NodeName
	switch is := meta.GetExternalName(n); {
	case is == "" && wanted == nil:
		meta.SetExternalName(n, n.GetName())
	case is == "":
		meta.SetExternalName(n, *wanted)
	case wanted != nil && *wanted != is:
		return errors.Errorf("nodeName is %q, but this resource stands for node %q, its external name", *wanted, is)
	}
	return nil
}

// resolve resolves the reference to the ProxmoxCluster, or the selector.
func resolve(ctx context.Context, a config.Access, n Node) error {
	p := n.Parameters()
	if p.Cluster != nil || p.ClusterRef == nil && p.ClusterSelector == nil {
		return nil
	}
	to, err := clusters(a)
	if err != nil {
		return err
	}
	request := reference.ResolutionRequest{
		To: to, Namespace: n.GetNamespace(), Extract: func(mg resource.Managed) string { return mg.GetName() },
	}
	if r := p.ClusterRef; r != nil {
		request.Reference = &xpv2.Reference{Name: r.Name}
	}
	if s := p.ClusterSelector; s != nil {
		request.Selector = &xpv2.Selector{MatchLabels: s.MatchLabels, MatchControllerRef: s.MatchControllerRef}
	}
	found, err := reference.NewAPIResolver(a.Kube, n).Resolve(ctx, request)
	if err != nil {
		return errors.Wrap(err, "cannot find the ProxmoxCluster of the node")
	}
	p.Cluster = &found.ResolvedValue
	return nil
}

// clusters returns an empty ProxmoxCluster of the scope, and an empty list of them.
func clusters(a config.Access) (reference.To, error) {
	id := a.Scope.Identity("ProxmoxCluster")
	cluster, ok := id.Object.DeepCopyObject().(resource.Managed)
	list, isList := id.List.DeepCopyObject().(resource.ManagedList)
	if !ok || !isList {
		return reference.To{}, errors.Errorf("cannot copy a %T", id.Object)
	}
	return reference.To{Managed: cluster, List: list}, nil
}

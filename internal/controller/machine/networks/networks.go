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

// Package networks finds the bridges that the networks of Machines name by NodeNetworks, and the nodes on which they are applied.
package networks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// A NodeNetwork of either scope.
type NodeNetwork interface {
	resource.Managed

	Parameters() *v1alpha1.NodeNetworkParameters
}

// typeApplied is the condition of a NodeNetwork that is True once its interface is as requested.
const typeApplied xpv2.ConditionType = "Applied"

// A Reader reads the NodeNetworks that Machines of one scope name. It queries only the Kubernetes API.
type Reader struct {
	Kube client.Reader
	List resource.ManagedList // An empty list of NodeNetworks of the scope.
}

// Bridges are the bridges that the networks of a Machine name by NodeNetworks. A nil value has none.
type Bridges struct{ refs []reference }

// A reference holds what one network of a Machine names.
type reference struct {
	network string

	// bridge that the reference means, or else the problem that prevents its resolution.
	bridge, problem string

	// nodes that have a NodeNetwork of the bridge, with why it cannot be used there, or an empty string if it can.
	nodes map[string]string
}

// bridgeRules are the rules of the tenant of a Machine, or of no tenant: which bridges it does not find, and by which rule.
type bridgeRules interface {
	HidesBridge(name string) bool
	AmongAllowed(rule string) string
}

// Resolve finds what the networks of a Machine name, among the NodeNetworks of its namespace that share its cluster. It ignores bridges that its
// tenant may not have.
func (r Reader) Resolve(
	ctx context.Context, m object.Machine, shares func(context.Context) func(resource.Managed) bool, tenant bridgeRules,
) (*Bridges, error) {
	refers := func(n v1alpha1.MachineNetwork) bool { return n.NetworkRef != nil }
	if !slices.ContainsFunc(m.Parameters().Networks, refers) {
		return nil, nil
	}
	listed, err := kind.ListCached(ctx, r.Kube, r.List, client.InNamespace(m.GetNamespace()))
	if err != nil {
		return nil, err
	}
	var all []NodeNetwork
	same := shares(ctx)
	for _, mg := range listed {
		if n, ok := mg.(NodeNetwork); ok && !tenant.HidesBridge(n.Parameters().Interface) && same(mg) {
			all = append(all, n)
		}
	}
	b := &Bridges{}
	for _, n := range m.Parameters().Networks {
		if refers(n) {
			ref := resolve(n.Name, n.NetworkRef, all)
			if ref.problem == noneSelected {
				ref.problem += tenant.AmongAllowed("bridges")
			}
			b.refs = append(b.refs, ref)
		}
	}
	return b, nil
}

// resolve resolves one reference.
func resolve(network string, ref *v1alpha1.MachineNetworkReference, all []NodeNetwork) reference {
	out := reference{network: network, nodes: map[string]string{}}
	meant := slices.DeleteFunc(slices.Clone(all), func(n NodeNetwork) bool { return !means(ref, n) })
	if ref.Name != nil {
		out.bridge = *ref.Name
	} else {
		out.bridge, out.problem = sharedName(meant)
	}
	for _, n := range meant {
		node, why := n.Parameters().Node, unusable(n)
		if before, known := out.nodes[node]; !known || before != "" {
			out.nodes[node] = why
		}
	}
	return out
}

// means reports whether a reference means a NodeNetwork. A selector only means bridges: the bonds and VLANs below them may have the same labels.
func means(ref *v1alpha1.MachineNetworkReference, n NodeNetwork) bool {
	if ref.Name != nil {
		return n.Parameters().Interface == *ref.Name
	}
	return ref.Selector != nil && isBridge(n) && labels.SelectorFromSet(ref.Selector.MatchLabels).Matches(labels.Set(n.GetLabels()))
}

func isBridge(n NodeNetwork) bool {
	return slices.Contains([]string{"bridge", "OVSBridge"}, n.Parameters().Type)
}

// noneSelected is the problem of a selector that finds nothing.
const noneSelected = "networkRef.selector matches no NodeNetwork of a bridge of this cluster"

// sharedName returns the name that the interfaces of NodeNetworks share, or why there is no single name.
func sharedName(meant []NodeNetwork) (name, problem string) {
	names := map[string]string{}
	for _, n := range meant {
		if first, known := names[n.Parameters().Interface]; !known || n.GetName() < first {
			names[n.Parameters().Interface] = n.GetName()
		}
	}
	sorted := slices.Sorted(maps.Keys(names))
	switch len(sorted) {
	case 0:
		return "", noneSelected
	case 1:
		return sorted[0], ""
	}
	for i, name := range sorted {
		sorted[i] = fmt.Sprintf("%s (NodeNetwork '%s')", name, names[name])
	}
	return "", "networkRef.selector matches NodeNetworks of several interfaces: " + strings.Join(sorted, ", ")
}

// unusable returns why no NIC can be attached to the interface of a NodeNetwork, or an empty string if one can.
func unusable(n NodeNetwork) string {
	applied := n.GetCondition(typeApplied)
	switch {
	case !isBridge(n):
		return fmt.Sprintf("NodeNetwork '%s' is of type %s, not a bridge", n.GetName(), n.Parameters().Type)
	case meta.WasDeleted(n):
		return fmt.Sprintf("NodeNetwork '%s' is being deleted", n.GetName())
	case applied.Status == corev1.ConditionTrue:
		return ""
	case applied.Reason == "":
		return fmt.Sprintf("NodeNetwork '%s' is not applied yet", n.GetName())
	}
	return fmt.Sprintf("NodeNetwork '%s' is not applied yet (%s)", n.GetName(), applied.Reason)
}

// Parameters returns the parameters of a Machine with the bridges that its networks name.
func (b *Bridges) Parameters(p *v1alpha1.MachineParameters) *v1alpha1.MachineParameters {
	if b == nil {
		return p
	}
	out := *p
	out.Networks = slices.Clone(p.Networks)
	for _, r := range b.refs {
		for i := range out.Networks {
			if out.Networks[i].Name == r.network && r.bridge != "" {
				out.Networks[i].Bridge = new(r.bridge)
			}
		}
	}
	return &out
}

// Problems returns why it cannot be determined which bridges are meant.
func (b *Bridges) Problems() []string {
	var all []string
	if b == nil {
		return nil
	}
	for _, r := range b.refs {
		if r.problem != "" {
			all = append(all, fmt.Sprintf("network %q: %s", r.network, r.problem))
		}
	}
	return all
}

// Lacks returns which of the bridges a node does not have yet, or an empty string if it has all of them.
func (b *Bridges) Lacks(node string) string {
	if b == nil {
		return ""
	}
	for _, r := range b.refs {
		if why := r.lacks(node); why != "" {
			return why
		}
	}
	return ""
}

// Missing returns which of the given bridges a node does not have yet.
func (b *Bridges) Missing(node string, among []string) []string {
	var all []string
	if b == nil {
		return nil
	}
	for _, r := range b.refs {
		if why := r.lacks(node); why != "" && slices.Contains(among, r.bridge) {
			all = append(all, why)
		}
	}
	return all
}

// lacks returns why the bridge cannot be used on a node, or an empty string if it can.
func (r reference) lacks(node string) string {
	if r.bridge == "" {
		return ""
	}
	why, known := r.nodes[node]
	if !known {
		why = fmt.Sprintf("no NodeNetwork has the interface '%s' of node %s", r.bridge, node)
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("network %q: %s", r.network, why)
}

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

package placement

import (
	"fmt"
	"slices"
	"strings"
)

// A Kind is the kind of a reason against a node.
type Kind int

// The kinds of reasons. Those that the user can influence least come first.
const (
	// Outdone nodes fit, but another one fits better.
	Outdone Kind = iota
	// Excluded nodes are ruled out by the spec or by a ProxmoxNode.
	Excluded
	// Down nodes are not online.
	Down
	// Missing means that the node lacks something.
	Missing
	// Network means that the node lacks a network.
	Network
	// Resources means that the node has not enough of a resource.
	Resources
)

// A Rejection is the reason against one node.
type Rejection struct {
	// Node that was not chosen.
	Node string

	// Kind of the reason.
	Kind Kind

	// Reason in a few words.
	Reason string

	// Memory that was requested and how much was Available, in bytes, if that is the reason.
	Memory, Available int64

	// Bridge that the node does not have, if that is the reason.
	Bridge string
}

// String returns the reason as a clause about the node.
func (r Rejection) String() string {
	switch r.Kind {
	case Resources:
		return fmt.Sprintf("insufficient resources on node %s: %s", r.Node, r.Reason)
	case Down:
		return fmt.Sprintf("node %q is %s", r.Node, strings.TrimPrefix(r.Reason, "it is "))
	case Outdone, Excluded, Missing, Network:
	}
	return r.Reason + " on node " + r.Node
}

// NoFitError is the error if no node fits the VM.
type NoFitError struct {
	// Named is the node that the spec names, if any.
	Named string

	// Rejections of all nodes, sorted by name.
	Rejections []Rejection
}

// Error names all nodes and the reason against each.
func (e *NoFitError) Error() string {
	switch {
	case e.Named != "" && len(e.Rejections) == 0:
		return fmt.Sprintf("node '%s' not found", e.Named)
	case len(e.Rejections) == 0:
		return "no node of the cluster is known"
	case len(e.Rejections) == 1:
		return e.Rejections[0].String()
	}
	var clauses []string
	for _, r := range e.Rejections {
		if !slices.ContainsFunc(clauses, func(c string) bool { return strings.HasSuffix(c, ": "+e.clause(r)) }) {
			clauses = append(clauses, list(e.same(r))+": "+e.clause(r))
		}
	}
	return "no node can take the VM: " + strings.Join(clauses, "; ")
}

// clause returns a reason that several nodes may share.
func (e *NoFitError) clause(r Rejection) string {
	if r.Kind == Resources {
		return r.String()
	}
	return r.Reason
}

// same returns the nodes that are rejected for the same reason.
func (e *NoFitError) same(r Rejection) []string {
	var names []string
	for _, o := range e.Rejections {
		if e.clause(o) == e.clause(r) {
			names = append(names, o.Node)
		}
	}
	return names
}

// Kind returns the kind of the reason that came closest among all.
func (e *NoFitError) Kind() Kind {
	kind := Missing
	if len(e.Rejections) > 0 {
		kind = slices.MaxFunc(e.Rejections, func(a, b Rejection) int { return int(a.Kind - b.Kind) }).Kind
	}
	return kind
}

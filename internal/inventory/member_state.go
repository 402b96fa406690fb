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

package inventory

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Members tell of the nodes of a cluster.
type Members interface {
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
}

// A MemberState is the state of a node as a member of its cluster.
type MemberState int

const (
	// Online is a member, or may be one.
	Online MemberState = iota

	// Offline is a member that the cluster cannot reach.
	Offline

	// Removed is no member any more.
	Removed

	// Undecided is a node that is not listed by a node of a cluster which it has no quorum of.
	Undecided
)

// MemberStateOf a node. A node that is not listed is removed if a cluster with quorum does not name it now: a node that is cut off, or has not joined
// its cluster yet after a start, tells by what it knew last. A node that belongs to no cluster is the only one there is, and may have had another name. Who
// may not ask for the quorum takes its word.
func MemberStateOf(ctx context.Context, in Members, node string) (MemberState, error) {
	nodes, err := in.Nodes(ctx)
	if err != nil || node == "" {
		return Online, err
	}
	if i := slices.IndexFunc(nodes, func(n proxmox.Node) bool { return n.Name == node }); i >= 0 {
		if nodes[i].Offline() {
			return Offline, nil
		}
		return Online, nil
	}
	s, err := in.ClusterStatus(ctx, Fresh)
	switch {
	case proxmox.IsAuthorization(err):
		return Removed, nil
	case err != nil, slices.ContainsFunc(s.Nodes, func(n proxmox.ClusterNode) bool { return n.Name == node }):
		return Online, err
	case len(s.Nodes) == 0, !s.Standalone && (s.Name == "" || !s.Quorate):
		return Undecided, nil
	}
	return Removed, nil
}

// errNodeRemoved is why a task cannot be asked for whose node is no member of the cluster any more. It has ended.
var errNodeRemoved = errors.New("its node was removed from the cluster")

// orRemoved returns the error of a question to a node, or that the node was removed, which PVE tells like a failure to resolve its name.
func orRemoved(ctx context.Context, in Members, node string, err error) error {
	if err == nil || proxmox.IsNoSuchTask(err) || proxmox.IsAuthorization(err) {
		return err
	}
	if state, stateErr := MemberStateOf(ctx, in, node); state == Removed && stateErr == nil {
		return errNodeRemoved
	}
	return err
}

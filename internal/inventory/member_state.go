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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A statusReader reads the name, quorum and members of a cluster.
type statusReader interface {
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
}

// Members reads the nodes of a cluster.
type Members interface {
	statusReader
	Nodes(ctx context.Context) ([]proxmox.Node, error)
}

// QuorateStatus reads the state of the cluster now. The reason is empty if the node that answers belongs to a cluster with quorum. Otherwise it explains
// why lists of that node do not prove that something no longer exists: a node without quorum, or one that has not joined its cluster yet after a start,
// answers with outdated data. The caller decides whether to trust a standalone node (Standalone), because such nodes cannot be distinguished from each
// other.
func QuorateStatus(ctx context.Context, in statusReader) (s proxmox.ClusterStatus, reason string, err error) {
	s, err = in.ClusterStatus(ctx, Fresh)
	switch {
	case proxmox.IsAuthorization(err):
		return proxmox.ClusterStatus{}, "the user needs Sys.Audit on / to see whether the cluster has quorum", nil
	case err != nil:
		return proxmox.ClusterStatus{}, "", err
	case s.Name == "" || !s.Quorate:
		return s, "the node that answers is not in a cluster with quorum", nil
	}
	return s, "", nil
}

// A MemberState is the state of a node as a member of its cluster.
type MemberState int

const (
	// Online means that the node is a member, or may be one.
	Online MemberState = iota

	// Offline means that the cluster cannot reach the member.
	Offline

	// Removed means that the node is no longer a member.
	Removed

	// Undecided means that a node without quorum does not list the node, or that the user may not see the quorum.
	Undecided
)

// MemberStateOf returns the state of a node. An unlisted node is Removed if a cluster with quorum does not name it now, or if the node that answers is
// known to be standalone: then it is the only node, and may have had another name. Otherwise, or without Sys.Audit on /, the state is Undecided.
func MemberStateOf(ctx context.Context, in Members, node string) (MemberState, error) {
	nodes, err := in.Nodes(ctx)
	if err != nil || node == "" {
		return Online, err
	}
	if n, listed := proxmox.NodeOf(nodes, node); listed {
		if n.Offline() {
			return Offline, nil
		}
		return Online, nil
	}
	s, reason, err := QuorateStatus(ctx, in)
	switch {
	case err != nil, s.HasNode(node):
		return Online, err
	case len(s.Nodes) == 0, reason != "" && !s.Standalone:
		return Undecided, nil
	}
	return Removed, nil
}

// errNodeRemoved is the error for a task whose node is no longer a member of the cluster. Such a task has ended.
var errNodeRemoved = errors.New("its node was removed from the cluster")

// orRemoved returns the error of a request to a node, or errNodeRemoved if the node was removed. PVE reports a removed node like a failure to resolve its
// name.
func orRemoved(ctx context.Context, in Members, node string, err error) error {
	if err == nil || proxmox.IsNoSuchTask(err) || proxmox.IsAuthorization(err) {
		return err
	}
	if state, stateErr := MemberStateOf(ctx, in, node); state == Removed && stateErr == nil {
		return errNodeRemoved
	}
	return err
}

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

package target

import (
	"context"
	"fmt"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A taskReader reads tasks from the nodes that run them.
type taskReader interface {
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
}

// A taskLister lists the tasks of nodes.
type taskLister interface {
	NodeTasks(ctx context.Context, node, taskType string) ([]proxmox.Task, error)
}

// Tasks holds what is known of the tasks of a node.
type Tasks struct {
	// All tasks of the node. It is empty if the node is no longer a member of the cluster.
	All []proxmox.Task

	// Offline is the problem that the node cannot be asked now. It is nil if the node has answered.
	Offline *kind.Problem
}

// Task returns a task, or nil if PVE does not know it, as for a task of a node that is no longer a member of the cluster. A task on a node that
// cannot be asked now may still run, so it is returned as running, with the problem.
func Task(ctx context.Context, in inventory.Members, c taskReader, u proxmox.UPID) (*proxmox.Task, *kind.Problem, error) {
	offline, removed, err := NodeState(ctx, in, u.Node())
	switch {
	case err != nil || removed:
		return nil, nil, err
	case offline != nil:
		return &proxmox.Task{UPID: u, Node: u.Node(), Running: true}, offline, nil
	}
	t, err := c.Task(ctx, u)
	if proxmox.IsNoSuchTask(err) {
		return nil, nil, nil
	}
	return &t, nil, err
}

// NodeTasks lists the tasks of a type on a node.
func NodeTasks(ctx context.Context, in inventory.Members, c taskLister, node, taskType string) (Tasks, error) {
	offline, removed, err := NodeState(ctx, in, node)
	if err != nil || removed || offline != nil {
		return Tasks{Offline: offline}, err
	}
	all, err := c.NodeTasks(ctx, node, taskType)
	return Tasks{All: all}, err
}

// undecided explains that nothing proves whether a node is a member of the cluster.
const undecided = "cannot be reached, and no cluster with quorum confirms whether it is a member, which needs Sys.Audit on /"

// VMUnreachable returns the problem that the node of a VM cannot be asked, or nil if it can. PVE keeps listing a VM on a node that was removed from
// the cluster, because the configuration stays there.
func VMUnreachable(ctx context.Context, in inventory.Members, node string) (*kind.Problem, error) {
	state, err := inventory.MemberStateOf(ctx, in, node)
	why := ""
	switch state {
	case inventory.Online:
		return nil, err
	case inventory.Offline:
		why = "is offline: bring it back"
	case inventory.Undecided:
		why = undecided + ": bring the node or the quorum back"
	case inventory.Removed:
		why = fmt.Sprintf("is not part of the cluster: if it never comes back, "+
			"move the VM's configuration in /etc/pve/nodes/%s/qemu-server to another node, or remove it", node)
	}
	return &kind.Problem{Reason: ReasonNodeOffline, Message: fmt.Sprintf("node %s, which has the VM, %s", node, why)}, err
}

// NodeState returns the problem of a node that cannot be reached, and whether the node was removed from the cluster.
func NodeState(ctx context.Context, in inventory.Members, node string) (offline *kind.Problem, removed bool, err error) {
	state, err := inventory.MemberStateOf(ctx, in, node)
	why := ""
	switch state {
	case inventory.Offline:
		why = "is offline: what the task has done is seen once the node is back, or is removed from the cluster"
	case inventory.Undecided:
		why = undecided
	case inventory.Removed:
		return nil, true, err
	case inventory.Online:
	}
	if why != "" {
		offline = &kind.Problem{Reason: ReasonNodeOffline, Message: fmt.Sprintf("node %s, which a task was started on, %s", node, why)}
	}
	return offline, false, err
}

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

package vmcache

import (
	"cmp"
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A clusterReader is the part of an Inventory that finds VMs and reports the state of nodes.
type clusterReader interface {
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
}

// A vmReader is the part of a Client that reads VMs.
type vmReader interface {
	VMIDTaken(ctx context.Context, vmid int) (bool, error)
	Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)
}

// A Reader finds and reads VMs of a cluster.
type Reader struct {
	client    vmReader
	inventory clusterReader
}

// NewReader returns a reader of a cluster.
func NewReader(client vmReader, inventory clusterReader) *Reader {
	return &Reader{client: client, inventory: inventory}
}

// Find looks for a VM by its VMID, first on the node hint. It returns nil only if the VM is neither there nor in the cluster's list: either source alone
// may be out of date or hide the VM. It returns an error if they disagree, as they do while a VM is migrated.
func (e *Reader) Find(ctx context.Context, id int, hint string) (*vmstate.VM, error) {
	guests, err := e.inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return nil, err
	}
	off, err := e.NodeUnreachable(ctx, hint)
	if err != nil {
		return nil, err
	}
	node := hint
	if g, ok := proxmox.GuestOf(guests, id); ok {
		node = g.Node
	} else if off {
		node = "" // The list also contains the VMs of nodes that cannot be asked.
	}
	var denied error
	if node != "" {
		v, err := e.GetConfig(ctx, proxmox.Ref{Node: node, VMID: id})
		if denied = err; v != nil || err != nil && !proxmox.IsAuthorization(err) {
			return v, err
		}
	}
	if guests, err = e.inventory.Guests(ctx, inventory.Fresh); err != nil {
		return nil, err
	}
	g, ok := proxmox.GuestOf(guests, id)
	switch {
	case ok:
		return e.GetListed(ctx, g)
	case off:
		if err := e.checkQuorum(ctx, id, hint); err != nil {
			return nil, err
		}
		return nil, e.checkVisible(ctx, id, OfflineError{errors.Errorf("the user may not see VM %d, and its last node, %q, cannot be reached", id, hint)})
	case denied != nil:
		return nil, e.checkVisible(ctx, id, denied)
	}
	return nil, nil
}

// checkQuorum returns an error unless the list that lacks a VM is from a cluster with quorum. A standalone node proves nothing: it may not be the node
// that had the VM.
func (e *Reader) checkQuorum(ctx context.Context, id int, node string) error {
	_, reason, err := inventory.QuorateStatus(ctx, e.inventory)
	if err != nil || reason == "" {
		return err
	}
	return OfflineError{errors.Errorf("cannot tell whether VM %d is gone: node %q cannot be reached, and %s", id, node, reason)}
}

// checkVisible returns the reason why a VM may not be read, or nil if there is none. If the user only has privileges on a pool, PVE refuses to read any VM
// outside that pool, whether it exists or not.
func (e *Reader) checkVisible(ctx context.Context, id int, denied error) error {
	if taken, err := e.client.VMIDTaken(ctx, id); taken || err != nil {
		return cmp.Or(err, denied)
	}
	return nil
}

// GetListed reads a guest that is in the cluster's list although it was not found on its node.
func (e *Reader) GetListed(ctx context.Context, g proxmox.Guest) (*vmstate.VM, error) {
	if g.Type == "lxc" {
		return &vmstate.VM{Ref: g.Ref()}, nil // It shows no identity, so no Machine owns it here.
	}
	v, err := e.GetConfig(ctx, g.Ref())
	if v == nil && err == nil {
		err = errors.Errorf("VM %d is listed on node %q but cannot be found there", g.VMID, g.Node)
	}
	return v, err
}

// GetConfig reads a VM. It returns nil if the VM does not exist.
func (e *Reader) GetConfig(ctx context.Context, ref proxmox.Ref) (*vmstate.VM, error) {
	if err := e.checkNodeOnline(ctx, ref.Node); err != nil {
		return nil, err
	}
	values, err := e.client.Pending(ctx, ref)
	if proxmox.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &vmstate.VM{Ref: ref}
	v.Read(values)
	return v, nil
}

// checkNodeOnline returns an error if the cluster reports a node as offline or no longer knows it. This saves waiting for the node's answer. The
// configurations of VMs remain when their node is removed from the cluster.
func (e *Reader) checkNodeOnline(ctx context.Context, node string) error {
	nodes, err := e.inventory.Nodes(ctx)
	n, listed := proxmox.NodeOf(nodes, node)
	switch {
	case err != nil || len(nodes) == 0:
		return err
	case !listed:
		return OfflineError{errors.Errorf("node %q is not part of the cluster: if it never comes back, "+
			"move the VM's configuration in /etc/pve/nodes/%s/qemu-server to another node, or remove it", node, node)}
	case n.Offline():
		return OfflineError{errors.Errorf("node %q is offline", node)}
	}
	return nil
}

// NodeOffline reports whether the cluster knows a node and reports it as offline.
func (e *Reader) NodeOffline(ctx context.Context, node string) (bool, error) {
	nodes, err := e.inventory.Nodes(ctx)
	n, _ := proxmox.NodeOf(nodes, node)
	return n.Offline(), err
}

// NodeUnreachable reports whether a node cannot be asked, for a time or for good: it is offline, or the cluster no longer knows it.
func (e *Reader) NodeUnreachable(ctx context.Context, node string) (bool, error) {
	nodes, err := e.inventory.Nodes(ctx)
	n, listed := proxmox.NodeOf(nodes, node)
	return node != "" && len(nodes) > 0 && (!listed || n.Offline()), err
}

// OfflineError reports that the node of a VM is offline.
type OfflineError struct{ error }

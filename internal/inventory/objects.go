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

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An objectsClient lists configuration objects.
type objectsClient interface {
	Objects(ctx context.Context, of proxmox.Collection) ([]proxmox.Object, error)
	PoolMembers(ctx context.Context, pool string) (proxmox.PoolMembers, error)
	NodeInterfaces(ctx context.Context, node string) (proxmox.NodeInterfaces, error)
}

// objects caches the configuration objects of a cluster. One list serves all resources of a collection, however many there are.
type objects struct {
	times *times

	lists   *cachedBy[proxmox.Collection, []proxmox.Object]
	members *cachedBy[string, proxmox.PoolMembers]

	interfaces *cachedBy[string, proxmox.NodeInterfaces]
}

func newObjects(times *times, client objectsClient) *objects {
	return &objects{
		times: times, lists: newCachedBy(client.Objects), members: newCachedBy(client.PoolMembers), interfaces: newCachedBy(client.NodeInterfaces),
	}
}

// Objects returns the objects of a collection. The list is read again after InvalidateObjects. The objects must not be changed.
func (o *objects) Objects(ctx context.Context, of proxmox.Collection, maxAge time.Duration) ([]proxmox.Object, error) {
	if of.Node != "" {
		all, err := o.NodeInterfaces(ctx, of.Node, maxAge)
		return all.Objects, err
	}
	return read(ctx, o.times, o.lists.of(of), maxAge)
}

// InvalidateObjects invalidates what was read of a collection. Call it after a change of an object there.
func (o *objects) InvalidateObjects(of proxmox.Collection) {
	if of.Node != "" {
		o.interfaces.of(of.Node).invalidate()
		return
	}
	o.lists.of(of).invalidate()
}

// NodeInterfaces returns the network interfaces of a node. They are read again after InvalidateObjects, and after a reload of the network.
func (o *objects) NodeInterfaces(ctx context.Context, node string, maxAge time.Duration) (proxmox.NodeInterfaces, error) {
	return read(ctx, o.times, o.interfaces.of(node), maxAge)
}

// PoolMembers returns the members of a pool. They are read again after InvalidatePoolMembers.
func (o *objects) PoolMembers(ctx context.Context, pool string, maxAge time.Duration) (proxmox.PoolMembers, error) {
	return read(ctx, o.times, o.members.of(pool), maxAge)
}

// PoolVMs returns the VMIDs of the guests in a pool, and whether the pool exists. Both are Relaxed.
func (o *objects) PoolVMs(ctx context.Context, pool string) (vmids []int, exists bool, err error) {
	return proxmox.PoolVMs(o.PoolMembers(ctx, pool, Relaxed))
}

// InvalidatePoolMembers invalidates what was read of the members of a pool. Call it after a change of them.
func (o *objects) InvalidatePoolMembers(pool string) { o.members.of(pool).invalidate() }

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

package cloudinit

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Stale returns the images that the VM no longer has, except those on nodes that cannot be reached, and those that may still arrive. desired is the
// image that the VM is to have, if any.
func (k Keeper) Stale(ctx context.Context, m object.Machine, desired *Image) ([]nocloud.Ref, error) {
	stale, err := k.unused(ctx, m, desired)
	if err != nil {
		return nil, err
	}
	return k.withoutSnapshots(ctx, stale)
}

// unused returns the images that the VM neither has nor is to have, except those on nodes that cannot be reached, and those that may still arrive.
func (k Keeper) unused(ctx context.Context, m object.Machine, desired *Image) ([]nocloud.Ref, error) {
	all := Refs(m)
	if len(all) == 0 {
		return nil, nil
	}
	storages, err := k.Inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	var stale []nocloud.Ref
	for _, p := range all {
		node, err := k.reachableNode(ctx, p)
		if err != nil {
			return nil, err
		}
		shared := slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == p.Storage() && s.Shared })
		if node != "" && !p.Uncertain(k.Now()) && !k.inUse(p, shared, desired) {
			stale = append(stale, p)
		}
	}
	return stale, nil
}

// withoutSnapshots leaves out images that a snapshot of the VM has in a drive: without them PVE cannot go back to a snapshot with the VM's memory.
// They wait until the snapshot is removed, which causes another reconcile.
func (k Keeper) withoutSnapshots(ctx context.Context, stale []nocloud.Ref) ([]nocloud.Ref, error) {
	if len(stale) == 0 || k.VM == nil || k.VM.Config["parent"] == "" {
		return stale, nil
	}
	if !k.OwnershipProven {
		return nil, nil
	}
	names, err := k.Client.Snapshots(ctx, k.VM.Ref)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		snapshot, err := k.Client.SnapshotConfig(ctx, k.VM.Ref, name)
		if err != nil {
			return nil, err
		}
		config := qemu.Config(snapshot.Values)
		stale = slices.DeleteFunc(stale, func(p nocloud.Ref) bool { return hasMedium(config, p.Volume) })
	}
	return stale, nil
}

// reachableNode returns the node through which an image can be reached, or an empty string while there is none. On shared storage it may differ from
// the node of the upload.
func (k Keeper) reachableNode(ctx context.Context, p nocloud.Ref) (string, error) {
	unreachable, err := k.Nodes.NodeUnreachable(ctx, p.Node)
	if !unreachable || err != nil {
		return p.Node, err
	}
	storages, err := k.Inventory.Storages(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range storages {
		if s.Name != p.Storage() || !s.Shared || s.Status == "unknown" {
			continue
		}
		if unreachable, err := k.Nodes.NodeUnreachable(ctx, s.Node); !unreachable || err != nil {
			return s.Node, err
		}
	}
	return "", nil
}

// inUse reports whether the VM has an image, or is to have it.
func (k Keeper) inUse(p nocloud.Ref, shared bool, desired *Image) bool {
	if k.VM == nil || p.Node != k.VM.Node && !shared {
		return false
	}
	if desired != nil && (desired.Pending() || desired.Volume() == p.Volume) {
		return true
	}
	return hasMedium(k.VM.Config, p.Volume) || hasMedium(k.VM.Active, p.Volume)
}

func hasMedium(config qemu.Config, volume string) bool {
	return slices.ContainsFunc(config.CDROMs(), func(device string) bool { return config.Volume(device) == volume })
}

// RemoveStale removes the first of the images, or forgets it if it no longer exists.
func (k Keeper) RemoveStale(ctx context.Context, m object.Machine, stale []nocloud.Ref) (proxmox.UPID, error) {
	for _, p := range stale {
		node, err := k.reachableNode(ctx, p)
		if node == "" || err != nil {
			return "", err
		}
		there, err := k.Client.Volumes(ctx, node, p.Storage(), "iso")
		if err != nil && (!proxmox.IsUnknownReference(err) || proxmox.IsDisabledStorage(err)) {
			return "", errors.Wrapf(err, "cannot remove image %s from node %s", p.Volume, node)
		}
		if slices.ContainsFunc(there, func(v proxmox.Volume) bool { return v.ID == p.Volume }) {
			return k.Client.DeleteVolume(ctx, node, p.Volume)
		}
		rest := slices.DeleteFunc(Refs(m), p.Is)
		if err := k.saveRefs(ctx, m, rest); err != nil {
			return "", err
		}
	}
	return "", nil
}

// removing is the key under which the tracker of tasks remembers the beginning of the wait.
const removing = "remove images"

// Wait returns why a Machine whose VM no longer exists must wait for its images: they may still arrive, or are on nodes that are off. Images for
// which it need not wait are left.
func (k Keeper) Wait(ctx context.Context, m object.Machine) (waits, err error) {
	all := Refs(m)
	for _, p := range all {
		if p.Uncertain(k.Now()) {
			return errors.Errorf("image %s may still arrive on node %s, since the answer to its upload was lost: the provider waits for it until %s",
				p.Volume, p.Node, p.UncertainUntil.UTC().Format(time.RFC3339)), nil
		}
		off, err := k.Nodes.NodeOffline(ctx, p.Node)
		if err != nil {
			return nil, err
		}
		if off && k.Tasks.Waited(m, removing) < k.ObstacleTime {
			return errors.Errorf("image %s is to be removed from node %s, which is offline: the provider waits for it for %s at most",
				p.Volume, p.Node, k.ObstacleTime), nil
		}
	}
	for _, p := range all {
		k.Record.Event(m, xpevent.Warning(events.ReasonOrphanedImages, errors.Errorf("image %s is left on node %s: remove it unless a VM has it", p.Volume, p.Node)))
	}
	return nil, nil
}

// Annotation records images in the VM's drives that belong to the VM and that the Machine does not know, because another Machine had the VM. They are
// removed with the VM.
func (k Keeper) Annotation(m object.Machine) map[string]string {
	known := m.GetAnnotations()[object.AnnotationImages]
	all, id := known, qemu.Identity{UUID: m.GetAnnotations()[object.AnnotationUUID]}
	for _, device := range k.VM.Config.CDROMs() {
		if volume := k.VM.Config.Volume(device); id.OwnsNoCloudImage(volume) && !strings.Contains(all, "="+volume) {
			all = strings.TrimSpace(all + " " + k.VM.Node + "=" + volume)
		}
	}
	if all == known {
		return nil
	}
	return map[string]string{object.AnnotationImages: all}
}

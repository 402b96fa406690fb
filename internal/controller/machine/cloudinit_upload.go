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

package machine

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// maxUploadTime is how long after it was asked for an upload may arrive of which nothing
// was heard: PVE's proxy works off what it has received, however late.
const maxUploadTime = 15 * time.Minute

// imageRefs that are kept with a Machine. Whatever else an annotation names was not made
// for its VM, and is not to be removed with it.
func imageRefs(m Machine) []nocloud.Ref {
	return nocloud.ParseRefs(m.GetAnnotations()[object.AnnotationImages], m.GetAnnotations()[object.AnnotationUUID])
}

func (e cloudInitFeature) saveImageRefs(ctx context.Context, m Machine, all []nocloud.Ref) error {
	return kind.Annotate(ctx, e.kube, m, map[string]string{object.AnnotationImages: nocloud.FormatRefs(all)})
}

// uploadAgain is when an image is uploaded again that is still not there.
const uploadAgain = time.Minute

// ensureUploaded starts to put the image onto its storage, if it is to be put into its drive
// and is not there yet. That it may be there is written down before.
func (e cloudInitFeature) ensureUploaded(ctx context.Context, m Machine) (proxmox.UPID, error) {
	s := e.planned.image
	if s != nil && s.ejectFirst {
		return "", e.checkUploadPrivileges(ctx, s)
	}
	if s == nil || s.deferred || e.vm.Config.Volume(s.device) == s.volume() {
		return "", nil
	}
	there, err := e.client.Volumes(ctx, s.node, s.storage, "iso")
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(there, func(v proxmox.Volume) bool { return v.ID == s.volume() && v.Size == int64(len(s.image)) }) {
		return "", nil
	}
	if err := e.checkUploadPrivileges(ctx, s); err != nil {
		return "", err
	}
	if e.tasks.Asked(m, "upload "+s.volume(), uploadAgain) {
		return "", errors.Errorf("image %s was uploaded, but storage '%s' of node %s does not list it", s.name, s.storage, s.node)
	}
	return e.upload(ctx, m, s)
}

// upload the image. Until its outcome is known, the image may or may not be there.
func (e cloudInitFeature) upload(ctx context.Context, m Machine, s *noCloudImage) (proxmox.UPID, error) {
	p := nocloud.Ref{Node: s.node, Volume: s.volume()}
	all := imageRefs(m)
	rest := slices.DeleteFunc(slices.Clone(all), p.Is)
	if len(rest) < len(all) {
		p = all[slices.IndexFunc(all, p.Is)]
	}
	doubted := p
	doubted.UncertainUntil = e.now().Add(maxUploadTime)
	if err := e.saveImageRefs(ctx, m, append(slices.Clip(rest), doubted)); err != nil {
		e.tasks.WithdrawAsked(m)
		return "", err
	}
	u, err := e.client.UploadISO(ctx, s.node, s.storage, s.name, s.image)
	if proxmox.IsOutcomeUnknown(err) {
		return "", err
	}
	if err != nil {
		e.tasks.WithdrawAsked(m)
	}
	// An upload before it may be in doubt still.
	if kept := e.saveImageRefs(ctx, m, append(slices.Clip(rest), p)); kept != nil {
		e.log.Debug("An image that is removed within minutes is waited for longer than need be", "volume", p.Volume, "error", kept)
	}
	return u, err
}

// imagePending reports whether the VM has to wait for its image before it starts.
func (p plan) imagePending() bool { return p.image != nil && (p.image.deferred || p.image.ejectFirst) }

// staleImages are the images that the VM no longer has, apart from those on nodes that
// cannot be asked, and those of which more may arrive.
func (e cloudInitFeature) staleImages(ctx context.Context, m Machine) ([]nocloud.Ref, error) {
	all := imageRefs(m)
	if len(all) == 0 {
		return nil, nil
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	var stale []nocloud.Ref
	for _, p := range all {
		node, err := e.reachableNode(ctx, p)
		if err != nil {
			return nil, err
		}
		shared := slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == p.Storage() && s.Shared })
		if node != "" && !p.Uncertain(e.now()) && !e.inUse(p, shared) {
			stale = append(stale, p)
		}
	}
	return e.withoutSnapshotImages(ctx, stale)
}

// withoutSnapshotImages leaves out images that a snapshot of the VM has in a drive: without them
// PVE cannot go back to one with the VM's memory. They wait until it is removed, which
// is a sign to look at the VM anew.
func (e cloudInitFeature) withoutSnapshotImages(ctx context.Context, stale []nocloud.Ref) ([]nocloud.Ref, error) {
	if len(stale) == 0 || e.vm == nil || e.vm.Config["parent"] == "" {
		return stale, nil
	}
	if !e.ownershipProven {
		return nil, nil
	}
	names, err := e.client.Snapshots(ctx, e.vm.Ref)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		snapshot, err := e.client.SnapshotConfig(ctx, e.vm.Ref, name)
		if err != nil {
			return nil, err
		}
		config := qemu.Config(snapshot.Values)
		stale = slices.DeleteFunc(stale, func(p nocloud.Ref) bool { return hasMedium(config, p.Volume) })
	}
	return stale, nil
}

// reachableNode is the node by which an image can be reached, empty while there is none. On
// shared storage that may be another one than it came by.
func (e cloudInitFeature) reachableNode(ctx context.Context, p nocloud.Ref) (string, error) {
	silent, err := e.reader.NodeUnreachable(ctx, p.Node)
	if !silent || err != nil {
		return p.Node, err
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range storages {
		if s.Name != p.Storage() || !s.Shared || s.Status == "unknown" {
			continue
		}
		if silent, err := e.reader.NodeUnreachable(ctx, s.Node); !silent || err != nil {
			return s.Node, err
		}
	}
	return "", nil
}

// inUse reports whether the VM has an image, or is to have it.
func (e cloudInitFeature) inUse(p nocloud.Ref, shared bool) bool {
	if e.vm == nil || p.Node != e.vm.Node && !shared {
		return false
	}
	if s := e.planned.image; s != nil && (s.deferred || s.ejectFirst || s.volume() == p.Volume) {
		return true
	}
	return hasMedium(e.vm.Config, p.Volume) || hasMedium(e.vm.Active, p.Volume)
}

func hasMedium(config qemu.Config, volume string) bool {
	return slices.ContainsFunc(config.CDROMs(), func(device string) bool { return config.Volume(device) == volume })
}

// removeStaleImage removes the first of the images, or forgets it when it is gone.
func (e cloudInitFeature) removeStaleImage(ctx context.Context, m Machine, stale []nocloud.Ref) (proxmox.UPID, error) {
	for _, p := range stale {
		node, err := e.reachableNode(ctx, p)
		if node == "" || err != nil {
			return "", err
		}
		there, err := e.client.Volumes(ctx, node, p.Storage(), "iso")
		if err != nil && !proxmox.IsUnknownReference(err) {
			return "", err
		}
		if slices.ContainsFunc(there, func(v proxmox.Volume) bool { return v.ID == p.Volume }) {
			return e.client.DeleteVolume(ctx, node, p.Volume)
		}
		rest := slices.DeleteFunc(imageRefs(m), p.Is)
		if err := e.saveImageRefs(ctx, m, rest); err != nil {
			return "", err
		}
	}
	return "", nil
}

// removingImages is what tasks remember that begin.
const removingImages = "remove images"

// waitForImages says why a Machine whose VM is gone has to wait for images of it: they may
// still arrive, or are on nodes that are off. Those that nobody can wait for are left.
func (e cloudInitFeature) waitForImages(ctx context.Context, m Machine) (waits, err error) {
	all := imageRefs(m)
	for _, p := range all {
		if p.Uncertain(e.now()) {
			return errors.Errorf("image %s may still arrive on node %s, since the answer to its upload was lost: it is waited for until %s",
				p.Volume, p.Node, p.UncertainUntil.UTC().Format(time.RFC3339)), nil
		}
		off, err := e.reader.NodeOffline(ctx, p.Node)
		if err != nil {
			return nil, err
		}
		if off && e.tasks.Waited(m, removingImages) < obstacleTime {
			return errors.Errorf("image %s is to be removed from node %s, which is offline and is waited for %s at most", p.Volume, p.Node, obstacleTime), nil
		}
	}
	for _, p := range all {
		e.record.Event(m, xpevent.Warning(events.ReasonOrphanedImages, errors.Errorf("image %s is left on node %s: remove it unless a VM has it", p.Volume, p.Node)))
	}
	return nil, nil
}

// checkUploadPrivileges of an image, and what is done with it. That comes first if the drive is
// emptied for it.
func (e *external) checkUploadPrivileges(ctx context.Context, s *noCloudImage) error {
	needs := validate.RequiredPrivileges(e.planned.change, e.vm.Config, validate.Place{VMID: e.vm.VMID})
	return e.checks.CheckPrivileges(ctx, "upload an image to storage "+s.storage, append(needs, preflight.UploadPrivileges(s.storage)...))
}

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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// maxUploadTime is how long after its request an upload of unknown outcome may arrive: PVE's proxy processes what it has received, however late.
const maxUploadTime = 15 * time.Minute

// Refs returns the images that are recorded on a Machine. Other volumes that an annotation names were not created for its VM, and must not be removed
// with it.
func Refs(m object.Machine) []nocloud.Ref {
	return nocloud.ParseRefs(m.GetAnnotations()[object.AnnotationImages], m.GetAnnotations()[object.AnnotationUUID])
}

func (k Keeper) saveRefs(ctx context.Context, m object.Machine, all []nocloud.Ref) error {
	return kind.Annotate(ctx, k.Kube, m, map[string]string{object.AnnotationImages: nocloud.FormatRefs(all)})
}

// uploadAgain is the time after which an image that is still missing is uploaded again.
const uploadAgain = time.Minute

// EnsureUploaded starts to put the image onto its storage, if it is to be put into its drive and is not there yet. It first records that the image
// may be there. The change of options follows the upload.
func (k Keeper) EnsureUploaded(ctx context.Context, m object.Machine, image *Image, change qemu.Difference) (proxmox.UPID, error) {
	if image != nil && image.EjectFirst {
		return "", k.checkUploadPrivileges(ctx, image, change)
	}
	if image == nil || image.Deferred || k.VM.Config.Volume(image.Device) == image.Volume() {
		return "", nil
	}
	there, err := k.Client.Volumes(ctx, image.Node, image.Storage, "iso")
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(there, func(v proxmox.Volume) bool { return v.ID == image.Volume() && v.Size == int64(len(image.content)) }) {
		return "", nil
	}
	if err := k.checkUploadPrivileges(ctx, image, change); err != nil {
		return "", err
	}
	if k.Tasks.Asked(m, "upload "+image.Volume(), uploadAgain) {
		return "", errors.Errorf("image %s was uploaded, but storage '%s' of node %s does not list it", image.Name, image.Storage, image.Node)
	}
	return k.upload(ctx, m, image)
}

// upload uploads the image. Until its outcome is known, the image may or may not be there.
func (k Keeper) upload(ctx context.Context, m object.Machine, image *Image) (proxmox.UPID, error) {
	p := nocloud.Ref{Node: image.Node, Volume: image.Volume()}
	all := Refs(m)
	rest := slices.DeleteFunc(slices.Clone(all), p.Is)
	if len(rest) < len(all) {
		p = all[slices.IndexFunc(all, p.Is)]
	}
	doubted := p
	doubted.UncertainUntil = k.Now().Add(maxUploadTime)
	if err := k.saveRefs(ctx, m, append(slices.Clip(rest), doubted)); err != nil {
		k.Tasks.WithdrawAsked(m)
		return "", err
	}
	u, err := k.Client.UploadISO(ctx, image.Node, image.Storage, image.Name, image.content)
	if proxmox.IsOutcomeUnknown(err) {
		return "", err
	}
	if err != nil {
		k.Tasks.WithdrawAsked(m)
	}
	// The outcome of an earlier upload may still be unknown.
	if kept := k.saveRefs(ctx, m, append(slices.Clip(rest), p)); kept != nil {
		k.Log.Debug("An image that is removed within minutes is waited for longer than need be", "volume", p.Volume, "error", kept)
	}
	return u, err
}

// checkUploadPrivileges checks the privileges to upload an image and to use it. If the drive must be emptied for the image, the check comes before that.
func (k Keeper) checkUploadPrivileges(ctx context.Context, image *Image, change qemu.Difference) error {
	needs := validate.RequiredPrivileges(change, k.VM.Config, validate.Place{VMID: k.VM.VMID})
	return k.Checks.CheckPrivileges(ctx, "upload an image to storage "+image.Storage, append(needs, preflight.UploadPrivileges(image.Storage)...))
}

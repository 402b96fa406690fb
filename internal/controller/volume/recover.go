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

package volume

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// recoverLost shows a disk that exists under the name of one that was lost, and assigns it to the Volume if the user has consented to exactly this
// disk. It returns the problem that prevents that. PVE gives a free name to the next disk of the VM, so consent is required. Nothing is written to
// PVE.
func (e *external) recoverLost(ctx context.Context, m Volume) (*kind.Problem, error) {
	v, a := e.view, e.adoption(m)
	if !v.Lost || v.Handover != nil || v.Begun != 0 || meta.WasDeleted(m) {
		return nil, nil
	}
	owner, there, err := a.find(ctx)
	if v.found = there; there == nil || err != nil {
		return nil, err
	}
	if ptr.Deref(m.Parameters().RecoverLost, "") != there.Checksum || !kind.MayChange(m) {
		v.hint += there.words()
		return nil, nil
	}
	if !v.isRecordedHolder(owner) { // It is another VM than the one that had the disk, and the record may be forged.
		if err := e.confinement.checkAdopted(ctx, v.Volume, owner.VMID); err != nil {
			return nil, err
		}
	}
	if p, err := a.checkUnused(ctx, v.Volume, owner); p != nil || err != nil {
		return p, err
	}
	if p, err := e.admit(ctx, m, owner, v.Volume); p != nil || err != nil {
		return p, err
	}
	e.Event(m, event.Normal(eventRecovered, fmt.Sprintf("disk %s, %s of VM %d, is this resource's again", v.Volume, there.Device, owner.VMID)))
	v.Place = placeOf(owner, v.Volume, proxmox.Size(there.Size).String())
	v.Holder, v.Lost, v.LostAt, v.Message, v.Adopted, v.found = owner.holder(), false, 0, "", true, nil
	e.confinement.unchecked()
	return nil, e.save(ctx, m)
}

// A found disk has the name of the one that was lost.
type found struct{ v1alpha1.VolumeFound }

// words returns the text for the user who has to decide whether it is the same disk.
func (f *found) words() string {
	which := "another one than had it"
	if f.SameVM {
		which = "the one that had it"
	}
	return fmt.Sprintf("; a disk by this name is there again, with %s, as %s of VM %d, which is %s: if it is this Volume's, set recoverLost to %s",
		proxmox.Size(f.Size), f.Device, f.VMID, which, f.Checksum)
}

// find finds the disk by its name, and the VM that has it. The disk must be attached to no VM except the stub VM, its storage must list it, and
// nothing may work on its VM. Both are nil if there is none.
func (a adoption) find(ctx context.Context) (*vm, *found, error) {
	s := a.state
	owner, p, err := a.ownerOf(ctx, s.Volume)
	if p != nil || err != nil {
		return nil, nil, err
	}
	if err := a.reader.readBusy(ctx, owner); err != nil {
		return nil, nil, err
	}
	device := owner.unused(s.Volume)
	if s.isStub(owner) && device == "" {
		device = owner.attached(s.Volume)
	}
	if device == "" || owner.attached(s.Volume) != "" && !s.isStub(owner) || owner.waits() != nil {
		return nil, nil, nil
	}
	listed, err := a.reader.listed(ctx, owner, s.Volume)
	if listed == nil || err != nil {
		return nil, nil, err
	}
	return owner, &found{v1alpha1.VolumeFound{
		VMID: int32(owner.VMID), Device: device, SameVM: s.isRecordedHolder(owner), Size: listed.Size, //nolint:gosec // No VMID is that large.
		Checksum: checksumOf(a.of.GetUID(), s.Volume, s.LostAt, owner.VMID, owner.holder(), listed.Size),
	}}, nil
}

// checksumOf returns the checksum of what a user consents to.
func checksumOf(parts ...any) string {
	var text []string
	for _, part := range parts {
		text = append(text, fmt.Sprintf("%q", fmt.Sprint(part)))
	}
	sum := sha256.Sum256([]byte(strings.Join(text, " ")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

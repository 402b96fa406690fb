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

// Package volumeref has what Volumes and the Machines that list them share: where the disk of a Volume is, and which Machine it is kept for.
package volumeref

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// AnnotationRecord has what was done for a Volume, as JSON: which VM has its disk, and which VM is about to get it. It is written before each related
// call to Proxmox VE.
const AnnotationRecord = tenancy.AnnotationVolume

// A Volume is a Volume of either scope.
type Volume interface {
	resource.Managed

	Parameters() *v1alpha1.VolumeParameters
	Observation() *v1alpha1.VolumeObservation
}

// A Record has what was done for a Volume. Nothing else proves to whom a disk of PVE belongs.
type Record struct {
	// VMID and UUID of the stub VM, and the Node that it is created on.
	VMID int    `json:"vmid,omitempty"`
	UUID string `json:"uuid,omitempty"`
	Node string `json:"node,omitempty"`

	// Begun is when the intent to create the stub VM was recorded, in seconds, and Task is the task that creates it. Task is empty if it is not known to
	// have started.
	Begun int64        `json:"begun,omitempty"`
	Task  proxmox.UPID `json:"task,omitempty"`

	// Volume is the volume ID of the disk. It is empty until the disk exists.
	Volume string `json:"volume,omitempty"`

	// Former are volume IDs that the disk had before, and NamedAt is when one of them was last replaced in the external name, in seconds.
	Former  []string `json:"former,omitempty"`
	NamedAt int64    `json:"namedAt,omitempty"`

	// Holder is the VM that has the disk.
	Holder Holder `json:"holder,omitzero"`

	// Place is where the holder had the disk when it was last seen there.
	Place Place `json:"place,omitzero"`

	// Adopted is true if the disk was not created by the provider.
	Adopted bool `json:"adopted,omitempty"`

	// Handover is in progress, or may be: to another VM, or to another storage.
	Handover *Handover `json:"handover,omitempty"`

	// Machine is the UID of the Machine that the disk is kept for, and MachineName its name.
	Machine     string `json:"machine,omitempty"`
	MachineName string `json:"machineName,omitempty"`

	// Lost is true once the disk was observed to be missing, and LostAt is when that was, in seconds.
	Lost   bool  `json:"lost,omitempty"`
	LostAt int64 `json:"lostAt,omitempty"`

	// Removing is set to true before the stub VM is destroyed.
	Removing bool `json:"removing,omitempty"`

	// Lock is how long PVE was observed to hold the lock of a VM that has the disk, or will get it.
	Lock tasktrack.LockWait `json:"lock,omitzero"`

	// Failures in succession, when the last of them was observed, in seconds, and its message.
	Failures int    `json:"failures,omitempty"`
	FailedAt int64  `json:"failedAt,omitempty"`
	Message  string `json:"message,omitempty"`
}

// A Holder is a VM that has the disk.
type Holder struct {
	// UUID of the VM, and PVE's record of its creation: a VM that was created again has another disk with the same name.
	UUID    string `json:"uuid,omitempty"`
	Created string `json:"created,omitempty"`
}

// A Place is where a VM has a disk. When a VM migrates, Proxmox VE gives its local disks other names, which other disks may have had before, and keeps
// their devices.
type Place struct {
	// Node of the VM, and the Device of the disk: that of an attached disk, or an option such as unused0.
	Node   string `json:"node,omitempty"`
	Device string `json:"device,omitempty"`

	// Size in Proxmox VE's notation. Proxmox VE records it for attached disks.
	Size string `json:"size,omitempty"`
}

// A Handover gives the disk to another VM.
type Handover struct {
	// From is the VM with the disk as Key, and To the VM that will have it as TargetKey.
	From      int    `json:"from"`
	Key       string `json:"key"`
	To        int    `json:"to"`
	TargetKey string `json:"targetKey"`

	// Holder is the target.
	Holder Holder `json:"holder"`

	// Before are the volumes that the target had.
	Before []string `json:"before,omitempty"`

	// Storage that the disk is moved to. In this case the VM stays the same.
	Storage string `json:"storage,omitempty"`

	// Begun is when the intent was recorded, in seconds, and Task is the task of the handover. Begun is 0 once the call was refused.
	Begun int64        `json:"begun,omitempty"`
	Task  proxmox.UPID `json:"task,omitempty"`
}

// Words describes the handover.
func (h *Handover) Words() string {
	if h.Storage != "" {
		return fmt.Sprintf("the disk is moved to storage %s", h.Storage)
	}
	return fmt.Sprintf("VM %d gets the disk from VM %d", h.To, h.From)
}

// RecordOf reads the record of a Volume. If the annotation was removed, it reads the copy in the status.
func RecordOf(mg resource.Managed) (*Record, error) {
	r := &Record{}
	text := cmp.Or(mg.GetAnnotations()[AnnotationRecord], kept(mg))
	if text == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, errors.Errorf("annotation %s is not what this provider wrote", AnnotationRecord)
	}
	return r, nil
}

// kept returns the copy of the record in the status of a Volume.
func kept(mg resource.Managed) string {
	v, ok := mg.(Volume)
	if !ok {
		return ""
	}
	return v.Observation().Annotations[AnnotationRecord]
}

// Mentions reports whether the record of a Volume, or its copy in the status, contains a text such as the UUID of a VM. The record need not be valid: a
// disk must not be lost because a user has damaged an annotation.
func Mentions(mg resource.Managed, text string) bool {
	has := func(record string) bool { return strings.Contains(strings.ToLower(record), strings.ToLower(text)) }
	return text != "" && (has(mg.GetAnnotations()[AnnotationRecord]) || has(kept(mg)))
}

// String returns the record in the form of the annotation.
func (r *Record) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // Such values can always be encoded.
	}
	return string(text)
}

// PlaceOf returns where the disk of a Volume was last observed: by its record, or by its status if the record does not have it.
func PlaceOf(mg resource.Managed, r *Record) Place {
	v, ok := mg.(Volume)
	if r.Place != (Place{}) || !ok || !r.Made() || v.Observation().Volume != r.Volume || v.Observation().Device == "" {
		return r.Place
	}
	o := v.Observation()
	return Place{Node: o.Node, Device: o.Device, Size: o.Size}
}

// Made reports whether the disk has existed.
func (r *Record) Made() bool { return r.Volume != "" }

// mostFormer is how many former volume IDs are kept. Each handover gives the disk another one.
const mostFormer = 32

// Rename records another volume ID of the disk. If there are too many former ones, the first one is still kept, since a manifest that adopted the disk
// has it.
func (r *Record) Rename(volume string) {
	if former := r.Volume; former != "" && former != volume && !slices.Contains(r.Former, former) {
		r.Former = append(r.Former, former)
	}
	if len(r.Former) > mostFormer {
		r.Former = slices.Delete(r.Former, 1, 2)
	}
	r.Volume = volume
}

// WasNamed reports whether the disk had a volume ID before. Proxmox VE may have given it to another disk since.
func (r *Record) WasNamed(volume string) bool {
	return volume != r.Volume && slices.Contains(r.Former, volume)
}

// Touches reports whether the VM with the UUID has the disk, or may be about to get it. A VM in which the disk is no longer seen also counts: an
// administrator may have moved the disk, and it would be destroyed with the VM.
func (r *Record) Touches(uuid string) bool {
	if uuid == "" {
		return false
	}
	return r.On(uuid) || r.Handover != nil && strings.EqualFold(r.Handover.Holder.UUID, uuid)
}

// On reports whether the VM with the UUID was observed to have the disk.
func (r *Record) On(uuid string) bool {
	return r.Made() && uuid != "" && strings.EqualFold(r.Holder.UUID, uuid)
}

// Settled reports whether the VM with the UUID has the disk, and no handover is about to take it.
func (r *Record) Settled(uuid string) bool { return r.On(uuid) && r.Handover == nil && !r.Lost }

// Listed reports whether a Machine lists the Volume of this name.
func Listed(p *v1alpha1.MachineParameters, name string) bool {
	for _, k := range p.Disks {
		if k.VolumeRef != nil && k.VolumeRef.Name == name {
			return true
		}
	}
	return false
}

// Lists reports whether a Machine lists any Volume.
func Lists(p *v1alpha1.MachineParameters) bool {
	for _, k := range p.Disks {
		if k.VolumeRef != nil {
			return true
		}
	}
	return false
}

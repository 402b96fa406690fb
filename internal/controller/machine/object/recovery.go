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

package object

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// isPersisted reports whether the provider relies on an annotation. These are its own, except for the one that the status has in another form and the
// one that users set, and those of the managed reconciler that name the VM and record whether it was created.
func isPersisted(annotation string) bool {
	switch annotation {
	case AnnotationPlacement, AnnotationCluster:
		return false
	case meta.AnnotationKeyExternalName, meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded:
		return true
	}
	return strings.HasPrefix(annotation, annotationPrefix)
}

// PersistedAnnotations returns the annotations of a Machine that the provider relies on.
func PersistedAnnotations(m Machine) map[string]string {
	kept := maps.Clone(m.GetAnnotations())
	maps.DeleteFunc(kept, func(annotation, text string) bool { return text == "" || !isPersisted(annotation) })
	return kept
}

// LostAnnotations returns the annotations that a Machine has lost, for example because a user has replaced it by its manifest. Only this provider
// writes the status, which a user cannot even create. The result is nil if nothing is lost, nothing is known, or another VM is named.
func LostAnnotations(m Machine) map[string]string {
	kept, a := m.Observation().Annotations, m.GetAnnotations()
	lost := maps.Clone(kept)
	for annotation := range a {
		delete(lost, annotation)
	}
	for _, names := range []string{meta.AnnotationKeyExternalName, AnnotationUUID} {
		if has := a[names]; has != "" && has != kept[names] || kept[names] == "" {
			return recoveredIdentity(m)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return lost
}

// recoveredIdentity returns the identity of a Machine whose status has no annotations.
func recoveredIdentity(m Machine) map[string]string {
	o, a := m.Observation(), m.GetAnnotations()
	name, uuid, vmid := meta.GetExternalName(m), a[AnnotationUUID], ""
	if o.VMID != nil {
		vmid = strconv.Itoa(int(*o.VMID))
	}
	switch {
	case uuid != "" && name == "":
		// The UUID proves which VM it is, wherever the provider looks for it.
		if vmid = cmp.Or(vmid, a[AnnotationAllocated]); vmid != "" {
			return map[string]string{meta.AnnotationKeyExternalName: vmid}
		}
	case uuid == "" && o.UUID != "" && vmid != "" && (name == "" || name == vmid):
		return map[string]string{meta.AnnotationKeyExternalName: vmid, AnnotationUUID: o.UUID}
	}
	return nil
}

// recoveredDevices returns the devices that the entries of the spec were seen to have.
func recoveredDevices(o *v1alpha1.MachineObservation, id qemu.Identity) qemu.Devices {
	d := qemu.Devices{Disks: map[string]string{}, CDROMs: map[string]string{}, Networks: map[string]string{}, Seen: map[string]bool{}, MACs: map[string]string{}}
	if !strings.EqualFold(o.UUID, id.UUID) {
		return d
	}
	for _, k := range o.Disks {
		if k.Name != "" {
			d.Disks[k.Name], d.Seen[k.Name] = k.Device, true
		}
	}
	for _, c := range o.CDROMs {
		if c.Name != "" {
			d.CDROMs[c.Name] = c.Device
		}
	}
	for _, n := range o.Networks {
		if n.Name != "" {
			d.Networks[n.Name], d.MACs[n.Name] = n.Device, n.MACAddress
		}
	}
	return d
}

// RecordedDevices reads the recorded devices of the entries of the spec.
func RecordedDevices(m Machine, id qemu.Identity) (qemu.Devices, error) {
	if m.GetAnnotations()[AnnotationDevices] == "" {
		return recoveredDevices(m.Observation(), id), nil
	}
	before, err := qemu.ParseDevices(m.GetAnnotations()[AnnotationDevices])
	return before, errors.Wrapf(err, "cannot read annotation %q", AnnotationDevices)
}

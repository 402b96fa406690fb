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

package qemu

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// imageRemedy is how to distinguish an entry from the disk that the image has filled. Setting its device does not help, because on a new VM the image
// would fill that device.
const imageRemedy = `set its volume to "" for a new one, or list the entry of the other before it`

// ImageDisk returns the entry of disks that the image of the spec fills on a new VM: the entry that the image names, or the first without other content.
// It is empty if there is none.
func ImageDisk(p *v1alpha1.MachineParameters) string {
	if p.Image == nil {
		return ""
	}
	i := slices.IndexFunc(p.Disks, func(k v1alpha1.MachineDisk) bool {
		return k.VolumeRef == nil && k.Volume == nil && (p.Image.Disk == nil || *p.Image.Disk == k.Name)
	})
	if i < 0 {
		return ""
	}
	return p.Disks[i].Name
}

// WithImage returns the parameters with the image as the content of its disk on a new VM. The volume is that of an Image which the spec names, and empty
// while it is not known.
func WithImage(p *v1alpha1.MachineParameters, volume string) *v1alpha1.MachineParameters {
	if p.Image == nil || cmp.Or(p.Image.Volume, volume) == "" {
		return p
	}
	volume = cmp.Or(p.Image.Volume, volume)
	name := ImageDisk(p)
	out := *p
	out.Disks = slices.Clone(p.Disks)
	for i, k := range out.Disks {
		if k.Name == name {
			out.Disks[i].ImportFrom = &volume
		}
	}
	return &out
}

// Refilled returns the parameters with the image as the content of a disk of an existing VM, if the disk that it has filled no longer exists and an entry
// replaces it.
func Refilled(p *v1alpha1.MachineParameters, d Devices, volume string, have Config) *v1alpha1.MachineParameters {
	if !(filling{Devices: &d, p: p, have: have}).due() {
		return p
	}
	return WithImage(p, volume)
}

// A filling determines the disk of a VM that the image of the spec fills, or has filled.
type filling struct {
	*Devices
	p    *v1alpha1.MachineParameters
	have Config
}

// due reports whether the VM is still to get the disk.
func (f filling) due() bool {
	device := f.Disks[ImageDisk(f.p)]
	return device != "" && f.Source.Image && slices.Index(f.Source.Disks, device) == 0 && f.have[device] == ""
}

// imageRejections returns why the image cannot fill a disk.
func imageRejections(d Desired, config Config) []string {
	name, filled := ImageDisk(d.MachineParameters), filling{Devices: &d.Devices, p: d.MachineParameters, have: config}
	i := slices.IndexFunc(d.Disks, func(k v1alpha1.MachineDisk) bool { return k.Name == name })
	switch {
	case d.Image != nil && i < 0 && d.Created && len(config) == 0:
		return []string{"no disk of the list can be filled by the image: list one without volume and volumeRef"}
	case i >= 0 && d.existingVolume(d.Disks[i]) == "" && d.Disks[i].ImportFrom == nil && filled.due():
		return []string{fmt.Sprintf(`disk %q is to be filled by the image, whose file is not known: set its volume to "" for an empty disk`, name)}
	}
	return nil
}

// follow determines the disk if none is recorded for the VM, and records where source disks are attached now if they were attached again elsewhere.
func (f filling) follow() {
	if f.assigned && f.p.Image != nil && !f.Source.Image && len(f.Disks)+len(f.Volumes) > 0 {
		f.set(f.likely())
	}
	for i, device := range f.Source.Disks {
		if at := f.at(device); BusOf(at) != "" {
			f.Source.Disks[i] = at
		}
	}
}

// likely returns the disk that the image has most likely filled, for a VM without a record: that of the entry which the image names, the one that the VM
// boots from, or that of the first entry. It is empty if none is left.
func (f filling) likely() string {
	boot := f.have.bootDisk()
	if !has(f.Disks, boot) {
		boot = ""
	}
	var unused []string
	for name := range f.Volumes {
		if left, off := f.Left[listDisks+"/"+name]; off && f.Disks[name] == "" && f.have.Holder(f.Volumes[name]) != "" {
			unused = append(unused, left.Device)
		}
	}
	slices.SortFunc(unused, CompareDevices)
	return cmp.Or(f.Disks[ptr.Deref(f.p.Image.Disk, "")], boot, f.Disks[ImageDisk(f.p)], cmp.Or(unused...), cmp.Or(f.Source.Disks...))
}

// set records the disk as the first of the source disks.
func (f filling) set(device string) {
	f.Source.Image = true
	if device == "" {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(f.Source.Disks), func(other string) bool { return other == device })
	f.Source.Disks = append([]string{device}, rest...)
}

// note records the disk that the image fills on a new VM, or in place of a disk that no longer exists.
func (f filling) note(before Devices) {
	device := f.Disks[ImageDisk(f.p)]
	switch {
	case device == "" || before.Disks[ImageDisk(f.p)] == device:
	case !f.Source.Image:
		f.set(device)
	case len(f.Source.Disks) == 0:
		f.Source.Disks = []string{device}
	case f.at(f.Source.Disks[0]) == "":
		f.Source.Disks[0] = device
	}
}

// at returns the device or the unused disk at which the VM has a source disk, or nothing if it no longer exists.
func (f filling) at(device string) string {
	if _, there := f.withLeaving(f.have)[device]; there {
		return device
	}
	for _, name := range slices.Sorted(maps.Keys(f.Volumes)) {
		if f.Left[listDisks+"/"+name].Device == device || f.Disks[name] == device {
			if at := f.have.Holder(f.Volumes[name]); at != "" {
				return at
			}
		}
	}
	return ""
}

// overlapsImage returns an error for an entry that names the device of a new disk if the image would fill that device on a new VM. On this VM, the image has
// filled another one.
func (l deviceList) overlapsImage(e listEntry, d Devices, have Config) error {
	if l.name != listDisks || e.name != l.image || len(l.source) == 0 || l.source[0] == e.device || d.Volumes[e.name] != "" {
		return nil
	}
	at := (filling{Devices: &d, have: have}).at(l.source[0])
	if at == "" {
		return nil
	}
	return twoWays(l, e, at+", which the image has filled", "a new disk at "+e.device,
		"set its device to "+l.source[0]+`, or its volume to "" for a new one`)
}

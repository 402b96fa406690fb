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
	"slices"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// WithImage returns the parameters with the image as what fills its disk. The volume is that
// of an Image which the spec names, and empty while it is not known.
func WithImage(p *v1alpha1.MachineParameters, volume string) *v1alpha1.MachineParameters {
	if p.Image == nil || cmp.Or(p.Image.Volume, volume) == "" {
		return p
	}
	volume = cmp.Or(p.Image.Volume, volume)
	out := *p
	out.Disks = slices.Clone(p.Disks)
	for i, k := range out.Disks {
		if p.Image.Disk == nil && k.VolumeRef == nil || ptr.Deref(p.Image.Disk, "") == k.Name {
			out.Disks[i].ImportFrom = &volume
			break
		}
	}
	return &out
}

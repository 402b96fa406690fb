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
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// What becomes of disks that are taken off the list, beside Detach.
const (
	removalRetain  = "Retain"
	removalDestroy = "Destroy"
)

// A removal is what the list said of a disk while it was on it.
type removal struct {
	Policy string `json:"policy"`

	// Volume of the disk then: another one at the same device is not meant.
	Volume string `json:"volume"`

	// Generation of the spec that said so last. A spec in between that nobody
	// has seen may have said otherwise.
	Generation int64 `json:"generation"`

	// Due is true once the disk was taken off by the generation that followed.
	Due bool `json:"due,omitempty"`
}

// remember what the list says of its disks' removal, and whether it is due for
// those that are off it.
func (d Devices) remember(p *v1alpha1.MachineParameters, config Config, generation int64) Devices {
	all := maps.Clone(d.Removal)
	if all == nil {
		all = map[string]removal{}
	}
	listed := map[string]bool{}
	for _, k := range p.Disks {
		listed[k.Name] = true
		delete(all, k.Name)
		policy, volume := ptr.Deref(k.RemovalPolicy, ""), volumeOf(k, config[d.Disks[k.Name]])
		if volume != "" && (policy == removalRetain || policy == removalDestroy) {
			all[k.Name] = removal{Policy: policy, Volume: volume, Generation: generation}
		}
	}
	for name, r := range all {
		if !listed[name] && r.Generation+1 == generation {
			r.Due = true
			all[name] = r
		}
	}
	d.Removal = all
	return d
}

// volumeOf a listed disk: the one that is there, or that is to be attached.
func volumeOf(k v1alpha1.MachineDisk, config string) string {
	if disk, err := proxmox.ParseDisk(config); err == nil {
		return disk.Volume
	}
	return ptr.Deref(k.Volume, "")
}

// retained are the disks off the list that stay attached.
func (d Devices) retained(p *v1alpha1.MachineParameters) Devices {
	disks := d.removed(p).Disks
	maps.DeleteFunc(disks, func(name, _ string) bool { return d.Removal[name].Policy != removalRetain })
	return Devices{Disks: disks}
}

// Destroyed are the devices of disks off the list whose data is to be deleted.
func (d Devices) Destroyed(p *v1alpha1.MachineParameters, config Config) []string {
	var found []string
	for name, device := range d.removed(p).Disks {
		r := d.Removal[name]
		disk, err := proxmox.ParseDisk(config[device])
		if err == nil && r.Policy == removalDestroy && r.Due && disk.Volume == r.Volume && !disk.CDROM() {
			found = append(found, device)
		}
	}
	slices.SortFunc(found, compareDevices)
	return found
}

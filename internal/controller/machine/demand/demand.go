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

// Package demand determines what a VM that is to be created needs of its node: room, storages, bridges, devices and its source.
package demand

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A VM is a VM that is to be created.
type VM struct {
	qemu.Desired

	// Config that it starts with, which is that of its source, or nil without one.
	Config qemu.Config

	// Source that it is cloned from, or nil.
	Source *source.Source

	// Archive is the backup that it is restored from, or nil.
	Archive *restore.Archive

	// Image is the revision of an Image that it is created from, or nil, and ImageNodes are the nodes that have its file.
	Image      *imageref.Choice
	ImageNodes []string
}

// Elsewhere reports whether a VM that must be created on the node of its source then moves to the node that its user's rules determine.
func (v VM) Elsewhere() bool {
	return v.Source != nil && !v.Source.Shared && v.Placement != nil && v.Node == nil && source.IsFull(v.Clone, v.Source)
}

// Request returns the request to placement for a Machine's VM. The node is empty if placement is to choose one. Otherwise chosenBy is why it is
// already chosen.
func (v VM) Request(m object.Machine, node, chosenBy string) placement.Request {
	need := v.Requirements()
	r := placement.Request{
		ID: string(m.GetUID()), Namespace: m.GetNamespace(), Labels: m.GetLabels(), Rules: scheduler.RulesOf(m),
		Node: node, Why: chosenBy, Current: m.GetAnnotations()[object.AnnotationNode],
		Runs: need.Runs, CPUs: need.CPUs, Memory: need.Memory,
	}
	if node != "" {
		return r // The checks of a chosen node give better advice.
	}
	r.Disks, r.Bridges, r.Mappings = need.Disks, v.Bridges(v.Config), v.Mappings()
	for _, medium := range preflight.Media(m.Parameters()) {
		r.Disks = append(r.Disks, placement.Disk{Storage: medium.Storage(), Content: medium.Content})
	}
	for _, name := range v.Storages(v.Config) { // Firmware and cloud-init drives need hardly any room.
		r.Disks = append(r.Disks, placement.Disk{Storage: name, Content: scheduler.ContentImages})
	}
	if v.Source != nil {
		r.Source = &placement.Source{Name: fmt.Sprintf("the source (VM %d on node %s)", v.Source.VMID, v.Source.Node)}
		if !v.Source.Shared && !v.Elsewhere() {
			r.Source.Nodes = v.Source.Nodes()
		}
	}
	if v.Archive != nil {
		r.Source = &placement.Source{Name: "backup " + v.Archive.Volume, Nodes: v.Archive.Nodes}
		for _, name := range v.Archive.Storages() {
			r.Disks = append(r.Disks, placement.Disk{Storage: name, Content: scheduler.ContentImages})
		}
	}
	if v.Image != nil && !v.Image.Pin.Template {
		r.Source = &placement.Source{Name: fmt.Sprintf("the file of image '%s'", v.Image.Pin.Name), Nodes: v.ImageNodes}
	}
	return r
}

// Requirements returns what the VM uses of a node, whichever that is.
func (v VM) Requirements() placement.Occupant {
	return placement.Occupant{
		Runs: scheduler.Runs(v.MachineParameters), CPUs: scheduler.CPUsOf(v.MachineParameters, v.Config),
		Memory: scheduler.MemoryOf(v.MachineParameters, v.Config), Disks: v.disks(),
	}
}

// disks returns the room that the disks of the VM take. The disks of a linked clone take none at first, but their storage must be there.
func (v VM) disks() []placement.Disk {
	declared := map[string]v1alpha1.MachineDisk{}
	var all []placement.Disk
	for _, k := range v.Disks {
		device := v.Devices.Disks[k.Name]
		declared[device] = k
		if v.Config[device] == "" && k.VolumeRef == nil {
			all = append(all, scheduler.RoomFor(k, v.Defaults.Storage))
		}
	}
	for _, device := range v.Config.Disks() {
		d, err := proxmox.ParseDisk(v.Config[device])
		if err != nil {
			continue
		}
		all = append(all, v.cloned(d, declared[device])...)
	}
	return all
}

// cloned returns the room for a disk of the source: on the storage of its clone, and on the storage to which the spec moves it.
func (v VM) cloned(d proxmox.Disk, declared v1alpha1.MachineDisk) []placement.Disk {
	size, _ := d.Size()
	bytes := int64(max(size, qemu.SizeOf(declared)))
	made := placement.Disk{Storage: d.Storage(), Content: scheduler.ContentImages}
	if source.IsFull(v.Clone, v.Source) {
		made.Bytes = bytes
	}
	if to := ptr.Deref(declared.Storage, ""); to != "" && to != made.Storage {
		return []placement.Disk{made, {Storage: to, Content: scheduler.ContentImages, Bytes: bytes}}
	}
	return []placement.Disk{made}
}

// Mappings returns the resource mappings that the host devices of the VM are taken from.
func (v VM) Mappings() []string {
	var names []string
	for _, d := range v.PCIDevices {
		if d.Mapping != nil {
			names = append(names, *d.Mapping)
		}
	}
	return names
}

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

// Package qemu handles the configuration of QEMU guests: as a spec declares it, as Proxmox VE stores it, and the differences between the two. It decides
// and makes no calls. Data flows from Desired by Difference to what is sent, and from what is read to State.
//
// Tables define how each option is written and read (scalars, composed, disks, networks, …). Two packages build on them: validate finds obstacles to a
// change or to a start, and export writes a VM back as a spec. Package qemu imports neither.
package qemu

import (
	"cmp"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Desired VM is a spec, with everything else that determines the configuration.
type Desired struct {
	*v1alpha1.MachineParameters

	// Identity of the VM.
	Identity Identity

	// Devices of the spec's entries.
	Devices Devices

	// Tenant whose tag the VM is to have. It is empty if there is none.
	Tenant string

	// CarriedTags are tags that the VM is to have in addition to those of the spec.
	CarriedTags []string

	// Defaults for settings of new devices that the spec leaves open.
	Defaults Defaults

	// NoCloudImage is the drive of the VM's own NoCloud image, or nil to leave it as it is.
	NoCloudImage *NoCloudImage

	// Leaving lists volumes to detach wherever they are attached: those of Volumes that the spec does not list.
	Leaving []string

	// Counted lists volumes that a quota counts as Volumes, not as disks of the VM.
	Counted []string

	// EjectStorages lists the storages whose ISO images are temporarily kept out of the VM's drives, because the VM cannot be migrated with them.
	EjectStorages map[string]bool

	// CloudInitFrozen is true for a VM whose cloud-init data was already applied, and whose changes of that data are ignored.
	CloudInitFrozen bool

	// Created is true for a VM that was created for the spec, false for one that
	// was adopted.
	Created bool
}

// Defaults of a provider config. Fields are empty if it sets none.
type Defaults struct {
	// Storage of new disks.
	Storage string

	// Bridge of new networks.
	Bridge string
}

// DefaultsOf returns the defaults of a provider config.
func DefaultsOf(config *v1alpha1.ProviderConfigSpec) Defaults {
	return Defaults{Storage: ptr.Deref(config.DefaultStorage, ""), Bridge: ptr.Deref(config.DefaultBridge, "")}
}

// options returns the managed options of the VM's configuration.
func (d Desired) options() []Option {
	p := d.MachineParameters
	options := slices.Concat(
		d.Identity.options(p.Description, p.SMBIOS),
		Scalars(p), Composed(p), serials(p), numaNodes(p.CPU), d.cloudInit(), extraOptions(p),
		[]Option{tagsOption(p.Tags, d.Tenant, d.CarriedTags...)},
		d.mediumOptions(),
		d.noCloudOption(),
	)
	for _, f := range firmware(p) {
		options = append(options, f.option(d.Defaults.Storage))
	}
	for _, k := range p.Disks {
		options = append(options, diskOption(d.Devices.Disks[k.Name], k, d.Devices.Declared[listDisks+"/"+k.Name], func() proxmox.Disk { return d.newDisk(k) }))
	}
	for _, n := range p.Networks {
		device, before := d.Devices.Networks[n.Name], beforeNIC(n, d.Devices)
		options = append(options, nicOption(device, n, before, func() proxmox.NIC { return d.newNIC(n) }), ipConfigOption(device, n.IPConfig, before))
	}
	for _, t := range d.Devices.passthroughs(p) {
		for _, h := range t.hosts {
			options = append(options, h.withdrawn(d.Devices.Declared[t.key(h.name)]).option(t.devices[h.name]))
		}
	}
	return options
}

// Params returns the parameters for the creation of a new VM.
func (d Desired) Params() proxmox.Params {
	p := d.Difference(nil).Set
	if d.SCSIController == nil && d.hasSCSI() {
		p["scsihw"] = "virtio-scsi-single"
	}
	if order, needed := d.bootOrderOfNew(Config(p)); needed {
		p["boot"] = order
	}
	return p
}

func (d Desired) hasSCSI() bool {
	for _, device := range d.Devices.drives() {
		if BusOf(device) == "scsi" {
			return true
		}
	}
	return false
}

// Storages returns the storages on which disks are created for a VM that starts with a configuration.
func (d Desired) Storages(config Config) []string {
	var names []string
	if d.Clone != nil && d.Clone.Storage != nil {
		names = append(names, *d.Clone.Storage)
	}
	if d.usesDrive() && config.CloudInitDrive() == "" && d.cloudInitStorage() != "" {
		names = append(names, d.cloudInitStorage())
	}
	for _, f := range firmware(d.MachineParameters) {
		if f.wanted() && config[f.device] == "" {
			names = append(names, cmp.Or(ptr.Deref(f.storage, ""), d.Defaults.Storage))
		}
	}
	for _, k := range d.Disks {
		if config[d.Devices.Disks[k.Name]] == "" && k.VolumeRef == nil {
			names = append(names, cmp.Or(ptr.Deref(k.Storage, ""), d.Defaults.Storage))
		}
	}
	return names
}

// Bridges returns the bridges that the networks of a VM need that starts with a configuration.
func (d Desired) Bridges(config Config) []string {
	var names []string
	for _, n := range d.Networks {
		if n.Bridge != nil {
			names = append(names, *n.Bridge)
		} else if bridge := beforeNIC(n, d.Devices)[partBridge]; bridge != "" {
			names = append(names, bridge)
		} else if config[d.Devices.Networks[n.Name]] == "" {
			names = append(names, d.Defaults.Bridge)
		}
	}
	return names
}

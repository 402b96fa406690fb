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

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Params of a VM that is created from nothing.
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

// Storages that disks of a VM are made on which starts with a configuration.
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
		if config[d.Devices.Disks[k.Name]] == "" {
			names = append(names, cmp.Or(ptr.Deref(k.Storage, ""), d.Defaults.Storage))
		}
	}
	return names
}

// Bridges that the networks of a VM need which starts with a configuration.
func (d Desired) Bridges(config Config) []string {
	var names []string
	for _, n := range d.Networks {
		if n.Bridge != nil {
			names = append(names, *n.Bridge)
		} else if config[d.Devices.Networks[n.Name]] == "" {
			names = append(names, d.Defaults.Bridge)
		}
	}
	return names
}

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

package machine

import (
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// usesDrive says whether the guest is configured by PVE's cloud-init drive.
func (d desired) usesDrive() bool {
	return !custom(d.CloudInit) &&
		(d.CloudInit != nil || slices.ContainsFunc(d.Networks, func(n v1alpha1.MachineNetwork) bool { return n.IPConfig != nil }))
}

// cloudInit are the options that PVE's cloud-init drive is made of.
func (d desired) cloudInit() []option {
	if d.settled {
		return nil
	}
	return cloudInit(d.MachineParameters)
}

// cloudInitStorage is where PVE makes its cloud-init drive if the VM has none.
// The drive of a clone is that of its source; of a VM that is made from an image
// or from nothing it goes to where its disks are.
func (d desired) cloudInitStorage() string {
	if d.CloudInit != nil && d.CloudInit.Storage != nil {
		return *d.CloudInit.Storage
	}
	if !d.created || d.Template != nil || d.Clone != nil {
		return ""
	}
	for _, k := range d.Disks {
		if k.Storage != nil {
			return *k.Storage
		}
	}
	return d.defaults.Storage
}

// pveDrive is the device of PVE's cloud-init drive, or empty.
func pveDrive(config map[string]string) string {
	for _, device := range cdromsOf(config) {
		if k, err := proxmox.ParseDisk(config[device]); err == nil && k.CloudInit() {
			return device
		}
	}
	return ""
}

// cloudInitDrive adds the drive of cloud-init's data to a difference, and takes
// away from a clone the image that tells its source what it is.
func (d desired) cloudInitDrive(config map[string]string, diff *difference) {
	for _, device := range cdromsOf(config) {
		if k := mediumOf(config, device); d.created && isSeed(k) && !d.identity.ownSeed(k) && diff.Set[device] == "" {
			diff.Set[device] = "none,media=cdrom"
		}
	}
	if !d.usesDrive() || pveDrive(config) != "" || d.cloudInitStorage() == "" {
		return
	}
	if device := d.devices.freeDrive(config); device != "" {
		diff.Set[device] = d.cloudInitStorage() + ":cloudinit,media=cdrom"
		diff.Allocates = true
	}
}

// cloudInitRefusals say why the guest cannot be configured.
func (d desired) cloudInitRefusals(config map[string]string) []string {
	switch {
	case !d.usesDrive() || pveDrive(config) != "":
		return nil
	case d.cloudInitStorage() == "":
		return []string{"cloudInit and networks[].ipConfig need a cloud-init drive, and the VM or its template has none: set cloudInit.storage"}
	case d.devices.freeDrive(config) == "":
		return []string{"cloudInit and networks[].ipConfig need a cloud-init drive, and no ide or sata device is free for one"}
	}
	return nil
}

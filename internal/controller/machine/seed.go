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
	"regexp"
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// reSeed is the volume of a NoCloud image that a provider has made for a VM: its
// VMID, UUID and the hash of its content.
var reSeed = regexp.MustCompile(`:iso/cidata-[0-9]+-([0-9a-f-]{36})-[0-9a-f]{16}\.iso$`)

func isSeed(volume string) bool { return reSeed.MatchString(volume) }

func (d desired) usesCloudInit() bool {
	return d.CloudInit != nil || slices.ContainsFunc(d.Networks, func(n v1alpha1.MachineNetwork) bool { return n.IPConfig != nil })
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

// cloudInitDrive adds the drive of cloud-init's data to a difference.
func (d desired) cloudInitDrive(config map[string]string, diff *difference) {
	if !d.usesCloudInit() || pveDrive(config) != "" || d.cloudInitStorage() == "" {
		return
	}
	device := d.devices.freeDrive(config)
	if device == "" {
		return
	}
	diff.Set[device] = d.cloudInitStorage() + ":cloudinit,media=cdrom"
	diff.Allocates = true
}

// cloudInitRefusals say why the guest cannot be configured.
func (d desired) cloudInitRefusals(config map[string]string) []string {
	switch {
	case !d.usesCloudInit() || pveDrive(config) != "":
		return nil
	case d.cloudInitStorage() == "":
		return []string{"cloudInit and networks[].ipConfig need a cloud-init drive, and the VM or its template has none: set cloudInit.storage"}
	case d.devices.freeDrive(config) == "":
		return []string{"cloudInit and networks[].ipConfig need a cloud-init drive, and no ide or sata device is free for one"}
	}
	return nil
}

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
	"regexp"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Seed is the drive of a NoCloud image of our own, which PVE's cloud-init drive
// gives way to: with two of them in a VM it would be left to chance which one is
// read.
type Seed struct {
	// Device that the image is put into.
	Device string

	// Volume that the image is; empty to take out what is in the drive.
	Volume string
}

// reSeed is the volume of a NoCloud image that a provider has made for a VM: its
// VMID, UUID and the hash of its content.
var reSeed = regexp.MustCompile(`:iso/cidata-[0-9]+-([0-9a-f-]{36})-[0-9a-f]{16}\.iso$`)

// IsSeed says whether a volume is a NoCloud image that a provider has made.
func IsSeed(volume string) bool { return reSeed.MatchString(volume) }

// OwnsSeed says whether a volume is a NoCloud image of the VM with this identity.
func (id Identity) OwnsSeed(volume string) bool {
	m := reSeed.FindStringSubmatch(volume)
	return m != nil && strings.EqualFold(m[1], id.UUID)
}

// SeedName is the name of a NoCloud image of the VM, by the checksum of its content.
func (id Identity) SeedName(sum string) string {
	return fmt.Sprintf("cidata-%d-%s-%s.iso", id.VMID, strings.ToLower(id.UUID), sum)
}

// SeedDrive is the drive for the image: the one that has an image of the VM's own,
// that of PVE's, or a free one; empty if there is none.
func (d Desired) SeedDrive(config Config) string {
	for _, device := range config.CDROMs() {
		if d.Identity.OwnsSeed(config.Volume(device)) {
			return device
		}
	}
	for _, device := range config.CDROMs() {
		if IsSeed(config.Volume(device)) { // That of the VM that this is a clone of.
			return device
		}
	}
	for _, device := range config.CDROMs() {
		if config.Volume(device) == noMedium && device != d.Devices.ISO && config.CloudInitDrive() == "" {
			return device
		}
	}
	return cmp.Or(config.CloudInitDrive(), d.Devices.freeDrive(config))
}

// seedOption is the drive with the image.
func (d Desired) seedOption() []option {
	if d.Seed == nil {
		return nil
	}
	return []option{cdrom(d.Seed.Device, cmp.Or(d.Seed.Volume, noMedium))}
}

// GuestNetworks are the networks that the guest configures, and whether the MAC
// addresses of all are known: PVE makes up those that the spec leaves open.
func (d Desired) GuestNetworks(config Config) ([]cloudinit.Network, bool) {
	var networks []cloudinit.Network
	for _, n := range d.Networks {
		if n.IPConfig == nil {
			continue
		}
		device := d.Devices.Networks[n.Name]
		nic, _ := proxmox.ParseNIC(config[device])
		mac := cmp.Or(ptr.Deref(n.MACAddress, ""), nic.MAC)
		if mac == "" {
			return nil, false
		}
		c := n.IPConfig
		networks = append(networks, cloudinit.Network{
			Number: deviceNumber(device), MAC: mac,
			Address: ptr.Deref(c.Address, ""), Gateway: ptr.Deref(c.Gateway, ""),
			Address6: ptr.Deref(c.Address6, ""), Gateway6: ptr.Deref(c.Gateway6, ""),
		})
	}
	if c := d.CloudInit; len(networks) > 0 || c == nil || len(c.Nameservers)+len(c.SearchDomains) == 0 {
		return networks, true
	}
	return d.namedNetwork(config)
}

// namedNetwork is the one that has the name servers where the spec configures none:
// the first, configured as the guest would by itself.
func (d Desired) namedNetwork(config Config) ([]cloudinit.Network, bool) {
	for _, device := range config.NICs() {
		if nic, err := proxmox.ParseNIC(config[device]); err == nil && nic.MAC != "" {
			return []cloudinit.Network{{Number: deviceNumber(device), MAC: nic.MAC, Address: "dhcp"}}, true
		}
	}
	return nil, len(d.Networks) == 0
}

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
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// A NoCloudImage is the drive with this provider's NoCloud image, which replaces PVE's cloud-init drive. With both in a VM, it would be undefined which
// one the guest reads.
type NoCloudImage struct {
	// Device with the image.
	Device string

	// Volume of the image. If it is empty, the drive is emptied.
	Volume string
}

// OwnsNoCloudImage reports whether a volume is a NoCloud image of the VM with this identity.
func (id Identity) OwnsNoCloudImage(volume string) bool { return nocloud.IsImageOf(id.UUID, volume) }

// NoCloudImageName returns the name of a NoCloud image of the VM for the checksum of its content.
func (id Identity) NoCloudImageName(sum string) string {
	return nocloud.ImageName(id.VMID, id.UUID, sum)
}

// noCloudImageDrive returns the drive with an image of this VM, or nothing if there is none.
func (id Identity) noCloudImageDrive(config Config) string {
	return cmp.Or(config.drives(func(d proxmox.Disk) bool { return d.CDROM() && id.OwnsNoCloudImage(d.Volume) })...)
}

// NoCloudDrive returns the drive for the image: the one with an image of this VM, PVE's own, or a free one. It is empty if there is none.
func (d Desired) NoCloudDrive(config Config) string {
	ofSource := config.drives(func(d proxmox.Disk) bool { return d.CDROM() && nocloud.IsImage(d.Volume) })
	if device := cmp.Or(d.Identity.noCloudImageDrive(config), cmp.Or(ofSource...)); device != "" {
		return device
	}
	for _, device := range config.CDROMs() {
		if config.Volume(device) == noMedium && !has(d.Devices.drives(), device) && config.CloudInitDrive() == "" {
			return device
		}
	}
	return cmp.Or(config.CloudInitDrive(), d.Devices.freeDrive(config, ""))
}

// noCloudOption returns the drive with the image.
func (d Desired) noCloudOption() []Option {
	if d.NoCloudImage == nil {
		return nil
	}
	return []Option{cdrom(d.NoCloudImage.Device, cmp.Or(d.NoCloudImage.Volume, noMedium))}
}

// GuestData returns the data of the guest, as PVE's own drive would contain it: the values of the spec, and those of the VM for fields that the spec
// leaves open. It also reports whether the MAC addresses of all networks are known, because PVE generates those that the spec leaves open.
func (d Desired) GuestData(config Config) (nocloud.Data, bool) {
	d.CloudInitFrozen = false
	config = d.Difference(config).After(config)
	data := nocloud.Data{
		User: config["ciuser"], SSHKeys: splitKeys(config["sshkeys"]),
		Nameservers: splitList(config["nameserver"]), SearchDomains: splitList(config["searchdomain"]),
	}
	if upgrade, err := propertystring.ParseFlag(config["ciupgrade"]); err == nil {
		data.Upgrade = &upgrade
	}
	if d.CloudInit != nil && d.CloudInit.Upgrade != nil {
		data.Upgrade = d.CloudInit.Upgrade // PVE's default is not always stored.
	}
	var known bool
	data.Networks, known = d.guestNetworks(config)
	if len(data.Networks) == 0 && known && len(data.Nameservers)+len(data.SearchDomains) > 0 {
		data.Networks, known = namedNetwork(config)
	}
	return data, known
}

// guestNetworks returns the networks that the guest configures.
func (d Desired) guestNetworks(config Config) ([]nocloud.Network, bool) {
	var networks []nocloud.Network
	for _, device := range config.NICs() {
		option, has := config[IPConfigName(device)]
		if !has && !d.configures(device) {
			continue
		}
		mac := config.mac(device)
		if mac == "" {
			return nil, false
		}
		ip, err := propertystring.Parse(option, "")
		if err != nil {
			ip = propertystring.Properties{}
		}
		networks = append(networks, nocloud.Network{
			Number: deviceNumber(device), MAC: mac,
			Address: ip.Get("ip"), Gateway: ip.Get("gw"), Address6: ip.Get("ip6"), Gateway6: ip.Get("gw6"),
		})
	}
	return networks, true
}

// configures reports whether the spec declares how a network is configured, including that it is not configured.
func (d Desired) configures(device string) bool {
	return slices.ContainsFunc(d.Networks, func(n v1alpha1.MachineNetwork) bool {
		return n.IPConfig != nil && d.Devices.Networks[n.Name] == device
	})
}

// namedNetwork returns the network that has the name servers if no network is configured: the first, with the guest's default configuration.
func namedNetwork(config Config) ([]nocloud.Network, bool) {
	nics := config.NICs()
	if len(nics) == 0 {
		return nil, true
	}
	mac := config.mac(nics[0])
	if mac == "" {
		return nil, false
	}
	return []nocloud.Network{{Number: deviceNumber(nics[0]), MAC: mac, Address: "dhcp"}}, true
}

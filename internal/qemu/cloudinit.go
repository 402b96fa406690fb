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
	"net/url"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// CustomData reports whether cloud-init gets data that PVE does not generate.
func (d Desired) CustomData() bool {
	c := d.CloudInit
	return c != nil && (c.UserData != nil || c.VendorData != nil || c.NetworkConfig != nil)
}

// usesDrive reports whether PVE's cloud-init drive configures the guest.
func (d Desired) usesDrive() bool {
	return !d.CustomData() &&
		(d.CloudInit != nil || slices.ContainsFunc(d.Networks, func(n v1alpha1.MachineNetwork) bool { return n.IPConfig != nil }))
}

// cloudInit returns the options from which PVE creates its cloud-init drive.
func (d Desired) cloudInit() []Option {
	if d.CloudInitFrozen {
		return nil
	}
	return CloudInitOptions(d.MachineParameters)
}

// CloudInitOptions returns the options of PVE's cloud-init drive.
func CloudInitOptions(p *v1alpha1.MachineParameters) []Option {
	ci := p.CloudInit
	if ci == nil {
		return nil
	}
	return codecOptions(
		Option{Name: "ciuser", codec: codec.Texts(&ci.User)},
		Option{Name: "sshkeys", codec: codec.Lists(&ci.SSHKeys, joinKeys, splitKeys), same: sameKeys},
		Option{Name: "nameserver", codec: codec.Lists(&ci.Nameservers, joinWords, splitList), same: sameWords},
		Option{Name: "searchdomain", codec: codec.Lists(&ci.SearchDomains, joinWords, splitList), same: sameWords},
		Option{Name: "ciupgrade", absent: "1", codec: codec.Flags(&ci.Upgrade)},
	)
}

// cloudInitStorage returns the storage for PVE's cloud-init drive if the VM has none. A clone has the drive of its source. On a VM that is created from an
// image or empty, the drive is on the storage of its disks.
func (d Desired) cloudInitStorage() string {
	if d.CloudInit != nil && d.CloudInit.Storage != nil {
		return *d.CloudInit.Storage
	}
	if !d.Created || d.NamesTemplate() || d.TemplateRef != nil || d.Clone != nil {
		return ""
	}
	for _, k := range d.Disks {
		if k.Storage != nil {
			return *k.Storage
		}
	}
	return d.Defaults.Storage
}

// cloudInitDrive adds the cloud-init drive to a difference. It replaces the VM's own NoCloud image, because with two of them it would be undefined which
// one the guest reads. From a clone it removes the image that identifies its source.
func (d Desired) cloudInitDrive(config Config, diff *Difference) {
	for _, device := range config.CDROMs() {
		if k := config.Volume(device); d.Created && nocloud.IsImage(k) && !d.Identity.OwnsNoCloudImage(k) && diff.Set[device] == "" {
			diff.Set[device] = "none,media=cdrom"
		}
	}
	if !d.usesDrive() || config.CloudInitDrive() != "" || d.cloudInitStorage() == "" {
		return
	}
	ours := d.Identity.noCloudImageDrive(config)
	if ours != "" && d.CloudInitFrozen {
		return // The guest already has all of its data.
	}
	if device := cmp.Or(ours, d.Devices.freeDrive(config, "")); device != "" {
		diff.Set[device] = d.cloudInitStorage() + ":cloudinit,media=cdrom"
		diff.Allocates = true
	}
}

// cloudInitRejections returns why the guest cannot be configured.
func (d Desired) cloudInitRejections(config Config) []string {
	switch {
	case !d.usesDrive() || config.CloudInitDrive() != "":
		return nil
	case d.cloudInitStorage() == "":
		return []string{"cloudInit and networks[].ipConfig need a cloud-init drive, and the VM or its template has none: set cloudInit.storage"}
	case d.Identity.noCloudImageDrive(config) == "" && d.Devices.freeDrive(config, "") == "":
		return []string{"cloudInit and networks[].ipConfig need a cloud-init drive, and no ide or sata device is free for one"}
	}
	return nil
}

func joinWords(v []string) string { return strings.Join(v, " ") }

// sameWords compares lists as PVE reads them, which also separates words by commas and semicolons.
func sameWords(a, b string) bool { return slices.Equal(splitList(a), splitList(b)) }

// joinKeys encodes SSH keys, one per line.
func joinKeys(keys []string) string { return codec.Escape(strings.Join(keys, "\n")) }

// splitKeys decodes SSH keys, one per line that is not blank.
func splitKeys(s string) []string {
	plain, err := url.PathUnescape(s)
	if err != nil {
		return []string{s}
	}
	keys := []string{}
	for line := range strings.Lines(plain) {
		if key := strings.TrimSpace(line); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

func sameKeys(a, b string) bool { return slices.Equal(splitKeys(a), splitKeys(b)) }

// NeedsCloudInitRegen reports whether PVE's cloud-init drive of a running VM is outdated after the change. PVE writes the drive when it starts a VM, and
// on changes only if hotplug includes that.
func (d Difference) NeedsCloudInitRegen(s State) bool {
	return s.Active.CloudInitDrive() != "" &&
		!slices.Contains(SplitHotplug(cmp.Or(d.After(s.Config)["hotplug"], DefaultHotplug)), "cloudinit") &&
		slices.ContainsFunc(d.Options(), onDrive)
}

// OnDrive returns the part of the change that PVE writes to its cloud-init drive.
func (d Difference) OnDrive() Difference {
	part := Difference{Set: proxmox.Params{}}
	for option, v := range d.Set {
		if onDrive(option) {
			part.Set[option] = v
		}
	}
	for _, option := range d.Delete {
		if onDrive(option) {
			part.Delete = append(part.Delete, option)
		}
	}
	return part
}

// onDrive reports whether PVE writes an option to its cloud-init drive.
func onDrive(option string) bool {
	f := fields.Of(option)
	return strings.HasPrefix(f, "cloudInit") || strings.HasSuffix(f, ".ipConfig") || option == "cicustom" || option == "citype"
}

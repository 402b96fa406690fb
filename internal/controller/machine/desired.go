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
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A desired VM: the spec, and what else decides how it is carried out.
type desired struct {
	*v1alpha1.MachineParameters

	identity identity
	devices  devices
	tenant   string
	name     string
	defaults defaults

	// placed is the node that placement has chosen, if the VM is made elsewhere.
	placed string

	// seed is the NoCloud image that the VM is to have, if any.
	seed *seed

	// password of cloud-init's user, if it is to be sent; resealed is the version
	// of the one that was sent, if only its Secret has changed since.
	password *password
	resealed string

	// settled is true when the VM was told already what cloud-init is to do, and
	// a change of that is to be ignored.
	settled bool

	// ruling is what becomes of HA's rules of the VM.
	ruling ruling

	// created is true when the VM was created by this resource, not adopted.
	created bool

	// ran is since when the VM was seen to run, and nodeUp when its node was
	// booted.
	ran, nodeUp time.Time
}

// defaults of the provider config.
type defaults struct {
	Node, Storage, Bridge string
}

// options of the VM's configuration that are managed.
func (d desired) options() []option {
	p := d.MachineParameters
	options := slices.Concat(
		d.identity.options(p.Description, p.SMBIOS),
		scalars(p), composed(p), serials(p), numaNodes(p.CPU), d.cloudInit(), extraOptions(p),
		[]option{tagsOption(p.Tags, d.tenant)},
		d.mediumOption(),
		d.seedOption(),
	)
	for _, f := range firmware(p) {
		options = append(options, f.option(d.defaults.Storage))
	}
	for _, k := range p.Disks {
		options = append(options, diskOption(d.devices.Disks[k.Name], k, d.defaults.Storage))
	}
	for _, n := range p.Networks {
		device := d.devices.Networks[n.Name]
		options = append(options, nicOption(device, n, d.defaults.Bridge), ipConfigOption(device, n.IPConfig))
	}
	for _, t := range d.devices.passthroughs(p) {
		for _, h := range t.entries {
			options = append(options, h.option(t.devices[h.name]))
		}
	}
	return options
}

// A difference is what separates a VM's configuration from the desired one.
type difference struct {
	// Set and Delete are the options to change.
	Set    proxmox.Params
	Delete []string

	// Allocates is true when the change makes disks, which takes a task.
	Allocates bool
}

// options that differ.
func (d difference) options() []string {
	return slices.Concat(slices.Sorted(maps.Keys(d.Set)), d.Delete)
}

func (d difference) empty() bool { return len(d.Set) == 0 && len(d.Delete) == 0 }

// after is a configuration with the difference made.
func (d difference) after(config map[string]string) map[string]string {
	after := map[string]string{}
	maps.Copy(after, config)
	maps.Copy(after, d.Set)
	for _, o := range d.Delete {
		delete(after, o)
	}
	return after
}

// difference to a VM's configuration, pending changes applied.
func (d desired) difference(config map[string]string) difference {
	diff := difference{Set: proxmox.Params{}}
	for _, o := range d.options() {
		want, declared := o.want(config[o.name])
		if !declared || o.equal(config[o.name], want) {
			continue
		}
		if want == "" {
			diff.Delete = append(diff.Delete, o.name)
			continue
		}
		diff.Set[o.name] = want
		diff.Allocates = diff.Allocates || o.allocates && config[o.name] == ""
	}
	diff.Delete = append(diff.Delete, d.detached(config)...)
	d.cloudInitDrive(config, &diff)
	d.boot(config, &diff)
	slices.Sort(diff.Delete)
	return diff
}

// detached are the devices of entries that the spec no longer lists. PVE keeps
// the disks as unused ones.
func (d desired) detached(config map[string]string) []string {
	gone := d.devices.removed(d.MachineParameters)
	maps.DeleteFunc(gone.Disks, func(_, device string) bool {
		return slices.Contains(d.devices.destroyed(d.MachineParameters, config), device)
	})
	var options []string
	for _, taken := range gone.all() {
		for _, device := range taken {
			if _, ok := config[device]; ok {
				options = append(options, device)
			}
			if ip := ipConfigName(device); config[ip] != "" {
				options = append(options, ip)
			}
		}
	}
	return options
}

// boot adds the boot order, which may name devices of the same change.
func (d desired) boot(config map[string]string, diff *difference) {
	after := diff.after(config)
	want, declared := bootOrder(d.MachineParameters, d.devices, after)
	switch {
	case !declared || slices.Equal(bootDevices(want), bootDevices(config["boot"])):
	case len(bootDevices(want)) == 0:
		diff.Delete = append(diff.Delete, "boot") // PVE knows no empty order.
	default:
		diff.Set["boot"] = want
	}
}

// A resize brings a disk to a size.
type resize struct {
	Device string
	Size   proxmox.Size
}

// resizes are the disks that are smaller than they should be.
func (d desired) resizes(config map[string]string) []resize {
	var out []resize
	for _, k := range d.Disks {
		device, want := d.devices.Disks[k.Name], diskSize(k)
		has, known := sizeOf(config[device])
		if known && want > has {
			out = append(out, resize{Device: device, Size: want})
		}
	}
	return out
}

func sizeOf(disk string) (proxmox.Size, bool) {
	k, err := proxmox.ParseDisk(disk)
	if err != nil {
		return 0, false
	}
	return k.Size()
}

// refusals are the changes that the spec asks for and that cannot be made to a
// VM with this configuration. They are found before anything is sent.
func (d desired) refusals(config map[string]string) []string {
	no := append(extraRefusals(d.MachineParameters), d.platformRefusals(config)...)
	for _, f := range firmware(d.MachineParameters) {
		no = append(no, f.refusals(config[f.device], d.defaults.Storage)...)
	}
	for _, k := range d.Disks {
		no = append(no, d.diskRefusals(k, config)...)
	}
	for _, n := range d.Networks {
		if config[d.devices.Networks[n.Name]] == "" && n.Bridge == nil && d.defaults.Bridge == "" {
			no = append(no, fmt.Sprintf("network %q is new and has no bridge, and the provider config has no defaultBridge", n.Name))
		}
	}
	if least := integer(config["balloon"], 0); d.ballooned() && int64(least)*int64(proxmox.MiB) > d.Memory.Value() {
		no = append(no, fmt.Sprintf("memory %s is less than the %d MiB that ballooning leaves to the VM: "+
			"set memoryOptions.minimum, or balloon to false", d.Memory, least))
	}
	return append(no, d.cloudInitRefusals(config)...)
}

// rounding is how much larger than asked for a storage may make a disk: LVM, for
// one, allocates whole extents.
const rounding = 32 * proxmox.MiB

func (d desired) diskRefusals(k v1alpha1.MachineDisk, config map[string]string) []string {
	device := d.devices.Disks[k.Name]
	disk, err := proxmox.ParseDisk(config[device])
	if err != nil && d.devices.Seen[k.Name] {
		return []string{fmt.Sprintf("disk %q is no longer at %s of the VM: attach it there again, "+
			"or take it off the list and add a new one by another name", k.Name, device)}
	}
	if err != nil {
		return d.newDiskRefusals(k, config)
	}
	if disk.CDROM() {
		return []string{fmt.Sprintf("disk %q is device %s, which is a CD-ROM drive", k.Name, device)}
	}
	var no []string
	if has, known := disk.Size(); known && k.Size != nil && diskSize(k)+rounding < has {
		no = append(no, fmt.Sprintf("disk %q (%s) cannot shrink from %s to %s", k.Name, device, has, *k.Size))
	}
	return no
}

func (d desired) newDiskRefusals(k v1alpha1.MachineDisk, config map[string]string) []string {
	if k.Volume != nil {
		return d.attachRefusals(k, config)
	}
	var no []string
	if k.Size == nil && k.ImportFrom == nil {
		no = append(no, fmt.Sprintf("disk %q is new and has no size", k.Name))
	}
	if k.Storage == nil && d.defaults.Storage == "" {
		no = append(no, fmt.Sprintf("disk %q is new and has no storage, and the provider config has no defaultStorage", k.Name))
	}
	return no
}

// ballooned says whether memory is declared, but nothing of ballooning.
func (d desired) ballooned() bool {
	return d.Memory != nil && d.Balloon == nil && (d.MemoryOptions == nil || d.MemoryOptions.Minimum == nil)
}

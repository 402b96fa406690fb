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
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Difference holds the changes from a VM's configuration to the desired one.
type Difference struct {
	// Set and Delete are the options to change.
	Set    proxmox.Params
	Delete []string

	// Allocates is true when the change creates disks, which PVE does in a task.
	Allocates bool
}

// Options returns the options that differ.
func (d Difference) Options() []string {
	return slices.Concat(slices.Sorted(maps.Keys(d.Set)), d.Delete)
}

// Within reports whether the change is a part of another.
func (d Difference) Within(whole Difference) bool {
	for option, v := range d.Set {
		if has, ok := whole.Set[option]; !ok || has != v {
			return false
		}
	}
	return !slices.ContainsFunc(d.Delete, func(option string) bool { return !slices.Contains(whole.Delete, option) })
}

// Empty reports whether nothing differs.
func (d Difference) Empty() bool { return len(d.Set) == 0 && len(d.Delete) == 0 }

// After returns a configuration after the change.
func (d Difference) After(config Config) Config {
	after := Config{}
	maps.Copy(after, config)
	maps.Copy(after, d.Set)
	for _, o := range d.Delete {
		delete(after, o)
	}
	return after
}

// Difference returns the difference to a VM's configuration, with pending changes applied.
func (d Desired) Difference(config Config) Difference {
	diff := Difference{Set: proxmox.Params{}}
	for _, o := range d.options() {
		want, declared := o.Want(config[o.Name])
		if !declared || o.Equal(config[o.Name], want) {
			continue
		}
		if want == "" {
			diff.Delete = append(diff.Delete, o.Name)
			continue
		}
		diff.Set[o.Name] = want
		diff.Allocates = diff.Allocates || o.allocates && config[o.Name] == ""
	}
	diff.Delete = append(diff.Delete, d.detached(config)...)
	d.cloudInitDrive(config, &diff)
	d.boot(config, &diff)
	if config.protected() { // Its disks can be removed once the VM is no longer protected.
		diff.Delete = slices.DeleteFunc(diff.Delete, IsDisk)
	}
	slices.Sort(diff.Delete)
	return diff
}

// detached returns the devices of entries that the spec no longer lists. PVE keeps their disks as unused disks.
func (d Desired) detached(config Config) []string {
	gone := d.Devices.removed(d.MachineParameters)
	maps.DeleteFunc(gone.Disks, func(_, device string) bool {
		return slices.Contains(d.Devices.Destroyed(d.MachineParameters, config), device)
	})
	maps.DeleteFunc(gone.CDROMs, func(_, device string) bool { return !config.takesMedia(device) })
	var options []string
	for _, taken := range gone.all() {
		for _, device := range taken {
			if _, ok := config[device]; ok {
				options = append(options, device)
			}
			if ip := IPConfigName(device); config[ip] != "" {
				options = append(options, ip)
			}
		}
	}
	for _, device := range d.leaving(config) {
		if !slices.Contains(options, device) {
			options = append(options, device)
		}
	}
	return options
}

// leaving returns the devices with volumes that are to leave the VM, except those whose entry names the volume instead of a Volume.
func (d Desired) leaving(config Config) []string {
	return slices.DeleteFunc(config.Drives(), func(device string) bool {
		volume := config.Volume(device)
		return !slices.Contains(d.Leaving, volume) || slices.ContainsFunc(d.Disks, func(k v1alpha1.MachineDisk) bool {
			return k.VolumeRef == nil && d.Devices.Disks[k.Name] == device
		})
	})
}

// Pending returns the pending changes of what the spec declares. It leaves out pending changes of others.
func (d Desired) Pending(s State) []proxmox.PendingValue {
	declared := map[string]bool{}
	for _, o := range d.options() {
		if _, ok := o.Want(s.Config[o.Name]); ok {
			declared[o.Name] = true
		}
	}
	gone := d.Devices.removed(d.MachineParameters)
	for _, devices := range gone.all() {
		for _, device := range devices {
			declared[device] = true
		}
	}
	for _, device := range d.leaving(s.Active) {
		declared[device] = true
	}
	declared["boot"] = d.BootOrder != nil
	if d.usesDrive() {
		declared[s.Config.CloudInitDrive()] = true
	}
	return slices.DeleteFunc(slices.Clone(s.Pending), func(p proxmox.PendingValue) bool { return !declared[p.Key] })
}

// Predict returns the options of a stopped VM after a difference, as PVE reports them, and whether they are known. Values that PVE allocates or generates
// are not.
func (d Difference) Predict(values []proxmox.PendingValue) ([]proxmox.PendingValue, bool) {
	if d.Allocates {
		return nil, false
	}
	all := map[string]string{}
	for _, p := range values {
		if p.Changes() {
			return nil, false
		}
		if p.Key != "digest" {
			all[p.Key] = ptr.Deref(p.Value, "")
		}
	}
	for option, v := range d.Set {
		nic, err := proxmox.ParseNIC(v)
		switch {
		case option == "cipassword":
			v = "**********"
		case BusOf(option) == "net" && (err != nil || nic.MAC == ""), BusOf(option) != "" && BusOf(option) != "net", madeUp(option):
			return nil, false
		}
		all[option] = v
	}
	for _, option := range d.Delete {
		if BusOf(option) != "" && BusOf(option) != "net" || madeUp(option) {
			return nil, false
		}
		delete(all, option)
	}
	out := make([]proxmox.PendingValue, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, proxmox.PendingValue{Key: k, Value: new(all[k])})
	}
	return out, true
}

// madeUp reports whether PVE generates the value of an option.
func madeUp(option string) bool {
	all := []string{"efidisk", "tpmstate", "unused", "vmgenid", "lock", "template"}
	return slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(option, s) })
}

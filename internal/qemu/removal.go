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
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Removal policies for the device of an entry that leaves its list.
const (
	policyDetach  = "Detach"
	policyRetain  = "Retain"
	policyDestroy = "Destroy"
)

// Reasons why a device stays although its entry has left the list.
const (
	reasonPolicy   = "its removalPolicy is Retain"
	reasonBootDisk = "the VM boots from it"
	reasonNotMade  = "it was not made for this list"
)

// A declaredPolicy is the removal policy that a list declares for an entry.
type declaredPolicy struct {
	Policy string `json:"policy"`

	// Generation of the spec that declared it last. A spec in between that was not seen may have declared another one.
	Generation int64 `json:"generation"`
}

// A leftEntry is an entry that has left its list.
type leftEntry struct {
	// Policy that was chosen when it left, and the reason to retain it.
	Policy string `json:"policy"`
	Reason string `json:"reason,omitempty"`

	// Device of the entry, and its value at that time.
	Device string `json:"device"`
	Value  string `json:"value,omitempty"`

	// Generation of the spec that left it out.
	Generation int64 `json:"generation"`
}

// A Retained device stays attached although its entry has left its list.
type Retained struct {
	// List of the entry, and the name of such entries in messages.
	List, What string

	// Name of the entry, and its device.
	Name, Device string

	// Reason to retain it.
	Reason string
}

// leave decides what happens to the devices of entries that have left their lists.
func (d Devices) leave(s State, p *v1alpha1.MachineParameters, generation int64) {
	for _, l := range d.lists(p) {
		for name, device := range l.devices {
			if _, decided := d.Left[l.key(name)]; decided || !l.declared || l.has(name) {
				continue
			}
			left := leftEntry{Device: device, Value: s.Config[device], Generation: generation}
			left.Policy, left.Reason = d.removalOf(l, name, s, generation)
			d.Left[l.key(name)] = left
		}
	}
}

// removalOf returns the policy for an entry that leaves its list with a generation of the spec, and the reason to retain its device. A boot disk, or a
// device that was not created for the list, is only removed by a policy that was declared up to this generation.
func (d Devices) removalOf(l deviceList, name string, s State, generation int64) (policy, reason string) {
	declared := d.Policies[l.key(name)]
	certain := declared.Generation+1 == generation
	why := d.whyRetained(l, name, s)
	switch {
	case declared.Policy == policyRetain:
		return policyRetain, reasonPolicy
	case declared.Policy == policyDestroy && certain && d.sameVolume(l, name, s):
		return policyDestroy, ""
	case declared.Policy == policyDetach && certain, why == "":
		return policyDetach, ""
	}
	return policyRetain, why
}

// whyRetained returns the reason to retain a device whose entry declares no policy.
func (d Devices) whyRetained(l deviceList, name string, s State) string {
	device := l.devices[name]
	switch {
	case l.name == listDisks && (s.Config.bootDisk() == device || s.Active.bootDisk() == device):
		return reasonBootDisk
	case !d.Made[l.key(name)]:
		return reasonNotMade
	}
	return ""
}

// sameVolume reports whether a device has the volume that it had while its entry was listed. A policy does not apply to another volume.
func (d Devices) sameVolume(l deviceList, name string, s State) bool {
	return l.name != listDisks || s.Config.Volume(l.devices[name]) == d.Volumes[name]
}

// removed returns the devices of entries that have left their lists and that are to be removed.
func (d Devices) removed(p *v1alpha1.MachineParameters) Devices {
	gone := d.clone()
	all := gone.lists(p)
	for _, l := range all {
		for name := range l.devices {
			left, off := d.Left[l.key(name)]
			if !l.declared || l.has(name) || !off || left.Policy == policyRetain {
				delete(l.devices, name)
			}
		}
	}
	return gone
}

// listed returns the devices of entries that the spec lists.
func (d Devices) listed(p *v1alpha1.MachineParameters) []string {
	var devices []string
	for _, l := range d.lists(p) {
		for _, e := range l.entries {
			devices = append(devices, l.devices[e.name])
		}
	}
	return devices
}

// Destroyed returns the devices of disks off the list whose data is to be deleted.
func (d Devices) Destroyed(p *v1alpha1.MachineParameters, config Config) []string {
	var found []string
	for name, device := range d.removed(p).Disks {
		left := d.Left[listDisks+"/"+name]
		disk, err := proxmox.ParseDisk(config[device])
		if err == nil && left.Policy == policyDestroy && disk.Volume == volumeIn(left.Value) && !disk.CDROM() {
			found = append(found, device)
		}
	}
	slices.SortFunc(found, CompareDevices)
	return found
}

// volumeIn returns the volume in the value of a disk, or nothing if there is none.
func volumeIn(value string) string { return Config{"disk": value}.Volume("disk") }

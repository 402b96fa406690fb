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

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// Names of the lists of a spec whose entries are devices of the VM.
const (
	listDisks    = "disks"
	listCDROMs   = "cdroms"
	listNetworks = "networks"
	listPCI      = "pciDevices"
	listUSB      = "usbDevices"
	listVirtioFS = "virtiofs"
)

// A deviceList is a list of the spec whose entries are devices of the VM.
type deviceList struct {
	// name of the list in the spec, and the name of an entry in messages.
	name, what string

	// declared is false for a list that is absent from the spec. Then nothing is changed.
	declared bool

	entries []listEntry

	// devices of the entries, by name.
	devices map[string]string

	// source holds the devices of the type that the VM came with.
	source []string

	// filled is true if the image of the spec has filled the first of source. Then image is the entry that it fills on a new VM, or empty if there is none.
	filled bool
	image  string

	// suits reports whether an option of a VM is a device of the type.
	suits func(device string, config Config) bool
}

// A listEntry holds what an entry of a list asks of its device.
type listEntry struct {
	name string

	// device and bus that the spec names. They are empty if it does not name them.
	device, bus string

	// volume that the spec names for a disk. It is empty for a new one.
	volume *string

	// policy of its removal. It is empty if the spec has none.
	policy string

	// handed is true for the disk of a Volume, which comes from another VM and leaves for another one.
	handed bool
}

// has reports whether the spec lists an entry of that name.
func (l deviceList) has(name string) bool {
	return slices.ContainsFunc(l.entries, func(e listEntry) bool { return e.name == name })
}

// key returns the key of an entry among those of all lists.
func (l deviceList) key(name string) string { return l.name + "/" + name }

// owner returns the listed entry that has a device, or nothing if there is none.
func (l deviceList) owner(device string) string {
	for _, e := range l.entries {
		if l.devices[e.name] == device {
			return e.name
		}
	}
	return ""
}

// former returns the entry off the list that had a device, or nothing if there is none.
func (l deviceList) former(device string) string {
	for name, has := range l.devices {
		if has == device && !l.has(name) {
			return name
		}
	}
	return ""
}

// fromSource returns the source devices of entries as on a new VM: the entries get them in the order of the list, except entries that name a device or a
// volume.
func (l deviceList) fromSource() map[string]string {
	var taken []string
	for _, e := range l.entries {
		taken = append(taken, e.device)
	}
	found, source := map[string]string{}, l.source
	if l.filled && len(source) > 0 {
		source = source[1:]
	}
	for _, e := range l.entries {
		if e.name == l.image && e.device == "" && len(l.source) > 0 {
			found[e.name] = l.source[0] // Whatever its bus, and whichever entry names it.
			continue
		}
		i := slices.IndexFunc(source, func(device string) bool {
			return !slices.Contains(taken, device) && (e.bus == "" || BusOf(device) == e.bus)
		})
		if i >= 0 && e.device == "" && e.volume == nil {
			found[e.name] = source[i]
			taken = append(taken, source[i])
		}
	}
	return found
}

// lists returns the lists of the spec.
func (d Devices) lists(p *v1alpha1.MachineParameters) []deviceList {
	lists := []deviceList{d.diskList(p), d.cdromList(p), d.networkList(p)}
	for _, t := range d.passthroughs(p) {
		lists = append(lists, t.deviceList)
	}
	return lists
}

func (d Devices) diskList(p *v1alpha1.MachineParameters) deviceList {
	l := deviceList{name: listDisks, what: "disk", declared: p.Disks != nil, devices: d.Disks, source: d.Source.Disks, suits: isAny}
	for _, k := range p.Disks {
		e := listEntry{name: k.Name, device: ptr.Deref(k.Device, ""), bus: ptr.Deref(k.Type, ""), volume: k.Volume, policy: ptr.Deref(k.RemovalPolicy, "")}
		if k.VolumeRef != nil { // It is never the former disk of the entry, and never a disk of the source.
			e.volume, e.policy, e.handed = ptr.To(ptr.Deref(k.Volume, "")), policyDetach, true
		}
		l.entries = append(l.entries, e)
	}
	if l.filled = d.Source.Image; l.filled {
		l.image = ImageDisk(p)
	}
	return l
}

func (d Devices) cdromList(p *v1alpha1.MachineParameters) deviceList {
	takesMedia := func(device string, config Config) bool { return config.takesMedia(device) }
	l := deviceList{name: listCDROMs, what: cdromDrive, declared: p.CDROMs != nil, devices: d.CDROMs, source: d.Source.CDROMs, suits: takesMedia}
	for _, c := range p.CDROMs {
		l.entries = append(l.entries, listEntry{
			name: c.Name, device: ptr.Deref(c.Device, ""), bus: ptr.Deref(c.Type, ""), policy: ptr.Deref(c.RemovalPolicy, ""),
		})
	}
	return l
}

func (d Devices) networkList(p *v1alpha1.MachineParameters) deviceList {
	l := deviceList{name: listNetworks, what: "network", declared: p.Networks != nil, devices: d.Networks, source: d.Source.Networks, suits: isAny}
	for _, n := range p.Networks {
		l.entries = append(l.entries, listEntry{
			name: n.Name, device: ptr.Deref(n.Device, ""), bus: "net", policy: ptr.Deref(n.RemovalPolicy, ""),
		})
	}
	return l
}

func isAny(string, Config) bool { return true }

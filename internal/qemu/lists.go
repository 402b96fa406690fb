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
	// name of the list in the spec, and what messages call an entry.
	name, what string

	// declared is false for a list that the spec leaves out. Nothing is changed then.
	declared bool

	entries []listEntry

	// devices by the name of the entry.
	devices map[string]string

	// source are the devices of the sort that the VM came with.
	source []string

	// filled is true if the first of source is what the image of the spec has filled. image is the entry that it fills on a new VM then; empty
	// if there is none.
	filled bool
	image  string

	// suits reports whether an option of a VM is a device of the sort.
	suits func(device string, config Config) bool
}

// A listEntry is what an entry of a list asks for its device.
type listEntry struct {
	name string

	// device and bus that the spec names; empty if it leaves them open.
	device, bus string

	// volume that the spec names for a disk; empty for a new one.
	volume *string

	// policy of its removal; empty if the spec leaves it open.
	policy string

	// handed is true for a disk that is a Volume: it comes from another VM, and leaves for one.
	handed bool
}

// has reports whether the spec lists an entry of that name.
func (l deviceList) has(name string) bool {
	return slices.ContainsFunc(l.entries, func(e listEntry) bool { return e.name == name })
}

// key returns the key of an entry among those of all lists.
func (l deviceList) key(name string) string { return l.name + "/" + name }

// owner returns the owner of a device among the entries that the spec lists; empty if there is none.
func (l deviceList) owner(device string) string {
	for _, e := range l.entries {
		if l.devices[e.name] == device {
			return e.name
		}
	}
	return ""
}

// former returns the former owner of a device, which has left the list; empty if there is none.
func (l deviceList) former(device string) string {
	for name, has := range l.devices {
		if has == device && !l.has(name) {
			return name
		}
	}
	return ""
}

// fromSource returns the devices that the VM came with as a list means them that declares a
// VM for the first time: the first ones, in the order of the list, unless an entry names
// its device or its volume.
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
			found[e.name] = l.source[0] // Whatever its bus, and whoever names it.
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
		if k.VolumeRef != nil { // It is never what the entry was before, nor what the VM came with.
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

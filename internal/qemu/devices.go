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
	"encoding/json"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// Devices say which device of PVE each named entry of the spec is. They are
// kept with the resource, so that an entry stands for the same device whatever
// its position in the list. The zero value has none assigned yet.
type Devices struct {
	// Devices of the entries of each list, by name.
	Disks    map[string]string `json:"disks,omitempty"`
	CDROMs   map[string]string `json:"cdroms,omitempty"`
	Networks map[string]string `json:"networks,omitempty"`
	PCI      map[string]string `json:"pci,omitempty"`
	USB      map[string]string `json:"usb,omitempty"`
	VirtioFS map[string]string `json:"virtiofs,omitempty"`

	// ISO is the CD-ROM drive of the ISO image.
	ISO string `json:"iso,omitempty"`

	// Seen are the disks that the VM has had, and those of its firmware, by their
	// device and a slash before it. One that is gone since is not replaced by an empty
	// one.
	Seen map[string]bool `json:"seen,omitempty"`

	// MACs are the MAC addresses that the networks' interfaces had last. One that is
	// gone comes back with its own.
	MACs map[string]string `json:"macs,omitempty"`

	// Removal is what becomes of disks that are taken off the list, where it is
	// not to detach them.
	Removal map[string]removal `json:"removal,omitempty"`

	assigned bool
}

// ParseDevices reads what String has written. Empty is the zero value.
func ParseDevices(s string) (Devices, error) {
	d := Devices{}
	if s == "" {
		return d, nil
	}
	d.assigned = true
	if err := json.Unmarshal([]byte(s), &d); err != nil {
		return d, errors.New("it is not what this provider wrote")
	}
	return d, nil
}

// String is what is kept of them.
func (d Devices) String() string {
	b, err := json.Marshal(d)
	if err != nil {
		return "" // Maps of strings can always be written.
	}
	return string(b)
}

// Equal says whether both are the same assignment.
func (d Devices) Equal(o Devices) bool {
	return d.ISO == o.ISO && slices.EqualFunc(d.all(), o.all(), maps.Equal) &&
		maps.Equal(d.Seen, o.Seen) && maps.Equal(d.MACs, o.MACs) && maps.Equal(d.Removal, o.Removal)
}

// On a VM that exists: the devices of the spec's entries, with what is to be known
// of those that the VM has, and without those off the lists that it no longer has.
// The generation is that of the spec.
func (d Devices) On(s State, p *v1alpha1.MachineParameters, generation int64) (Devices, error) {
	now, err := d.Assign(p, s.Config)
	if err != nil {
		return now, err
	}
	now = now.without(now.settled(p, s.all())).without(now.retained(p))
	return now.see(s.Config).seeFirmware(p, s.Config).seeMACs(s.Config).remember(p, s.Config, generation), nil
}

// clone has maps of its own, that entries can be added to.
func (d Devices) clone() Devices {
	own := func(m map[string]string) map[string]string {
		if m == nil {
			return map[string]string{}
		}
		return maps.Clone(m)
	}
	return Devices{
		Disks: own(d.Disks), CDROMs: own(d.CDROMs), Networks: own(d.Networks), PCI: own(d.PCI), USB: own(d.USB), VirtioFS: own(d.VirtioFS),
		ISO: d.ISO, Seen: maps.Clone(d.Seen), MACs: maps.Clone(d.MACs), Removal: maps.Clone(d.Removal),
	}
}

// all assignments, by sort of device.
func (d Devices) all() []map[string]string {
	return []map[string]string{d.Disks, d.CDROMs, d.Networks, d.PCI, d.USB, d.VirtioFS}
}

// removed are the devices of names that the spec no longer lists.
func (d Devices) removed(p *v1alpha1.MachineParameters) Devices {
	gone := d.clone()
	gone.Seen, gone.MACs = nil, nil
	for _, k := range p.Disks {
		delete(gone.Disks, k.Name)
	}
	for _, c := range p.CDROMs {
		delete(gone.CDROMs, c.Name)
	}
	for _, n := range p.Networks {
		delete(gone.Networks, n.Name)
	}
	for _, t := range gone.passthroughs(p) {
		for _, h := range t.entries {
			delete(t.devices, h.name)
		}
	}
	return gone
}

// without leaves out what is in gone.
func (d Devices) without(gone Devices) Devices {
	out := d.clone()
	for name := range gone.Disks {
		delete(out.Seen, name)
		delete(out.Removal, name)
	}
	for name := range gone.Networks {
		delete(out.MACs, name)
	}
	mine := out.all()
	for i, taken := range gone.all() {
		for name := range taken {
			delete(mine[i], name)
		}
	}
	return out
}

// settled are the removed devices that the VM no longer has. What takes their
// place later is not theirs.
func (d Devices) settled(p *v1alpha1.MachineParameters, config Config) Devices {
	gone := d.removed(p)
	still := func(_, device string) bool { _, ok := config[device]; return ok }
	drives := maps.Clone(gone.CDROMs)
	maps.DeleteFunc(drives, func(_, device string) bool { return config.takesMedia(device) })
	for _, taken := range gone.all() {
		maps.DeleteFunc(taken, still)
	}
	gone.CDROMs = drives // What has become another sort of drive is somebody else's.
	return gone
}

// see notes the disks that a VM has.
func (d Devices) see(config Config) Devices {
	seen := map[string]bool{}
	maps.Copy(seen, d.Seen)
	for name, device := range d.Disks {
		if _, ok := config[device]; ok {
			seen[name] = true
		}
	}
	d.Seen = seen
	return d
}

// seeFirmware notes the disks of the firmware that a VM has, as long as the spec wants
// them.
func (d Devices) seeFirmware(p *v1alpha1.MachineParameters, config Config) Devices {
	wanted := map[string]bool{}
	for _, f := range firmware(p) {
		wanted[f.device] = f.wanted()
	}
	for _, device := range []string{efiDevice, tpmDevice} {
		switch _, there := config[device]; {
		case !wanted[device]:
			delete(d.Seen, firmwareKey(device))
		case there:
			d.Seen[firmwareKey(device)] = true
		}
	}
	return d
}

// seeMACs notes the MAC addresses of the interfaces that a VM has. That of one which
// is gone is forgotten once another has it.
func (d Devices) seeMACs(config Config) Devices {
	macs := map[string]string{}
	for name, device := range d.Networks {
		mac := config.mac(device)
		if last := d.MACs[name]; mac == "" && !config.hasMAC(last) {
			mac = last
		}
		if mac != "" {
			macs[name] = mac
		}
	}
	d.MACs = macs
	return d
}

// firmwareKey is what no disk of a spec is called.
func firmwareKey(device string) string { return "/" + device }

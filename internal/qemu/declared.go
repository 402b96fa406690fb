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
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
)

// A declaration holds what an entry of a list declares about its device, apart from which device it is.
type declaration struct {
	// key is the list and the name of the entry.
	key string

	// parts that an entry of the list can declare.
	parts []part

	// device as the VM has it, and whether the VM has it.
	device propertystring.Properties
	there  bool

	// made are the values that a device created for the entry has by default.
	made map[string]string
}

const (
	// partModel and partMedium are the parts of a device that have no key in PVE's option.
	partModel  = "model"
	partMedium = "medium"

	partBridge = "bridge"
)

// declarations returns the declarations of the entries of the spec.
func (d Devices) declarations(p *v1alpha1.MachineParameters, config Config, defaults Defaults) []declaration {
	all := make([]declaration, 0, len(p.Disks)+len(p.Networks)+len(p.CDROMs))
	for _, k := range p.Disks {
		disk, err := proxmox.ParseDisk(config[d.Disks[k.Name]])
		all = append(all, declaration{key: listDisks + "/" + k.Name, parts: diskParts(&k), device: disk.Options, there: err == nil})
	}
	for _, c := range p.CDROMs {
		all = append(all, driveDeclaration(c, config[d.CDROMs[c.Name]]))
	}
	for _, n := range p.Networks {
		all = append(all, nicDeclaration(n, d.Networks[n.Name], config, defaults))
	}
	for _, t := range d.passthroughs(p) {
		for _, h := range t.hosts {
			device, err := propertystring.Parse(config[t.devices[h.name]], h.defaultKey)
			all = append(all, declaration{key: t.key(h.name), parts: h.details(), device: device, there: err == nil && device.Len() > 0})
		}
	}
	return all
}

// details returns the parts except those that identify the device.
func (h hostDevice) details() []part {
	return slices.DeleteFunc(slices.Clone(h.parts), func(d part) bool { return d.key == h.defaultKey || d.key == "mapping" })
}

func driveDeclaration(c v1alpha1.MachineCDROM, value string) declaration {
	var asked *string
	if c.ISO != nil || c.Physical != nil {
		asked = ptr.To(mediumOf(c))
	}
	k, err := proxmox.ParseDisk(value)
	d := declaration{key: listCDROMs + "/" + c.Name, parts: []part{{key: partMedium, Codec: codec.Fixed(asked)}}, there: err == nil}
	if err == nil && k.Volume != noMedium {
		d.device.Set(partMedium, k.Volume)
	}
	return d
}

func nicDeclaration(n v1alpha1.MachineNetwork, device string, config Config, defaults Defaults) declaration {
	nic, err := proxmox.ParseNIC(config[device])
	d := declaration{
		key: listNetworks + "/" + n.Name, there: err == nil,
		parts: append(nicParts(&n), part{key: partModel, Codec: codec.Texts(&n.Model)}),
		made:  map[string]string{partModel: defaultModel, partBridge: defaults.Bridge},
	}
	d.parts = append(d.parts, ipParts(cmp.Or(n.IPConfig, &v1alpha1.MachineIPConfig{}))...)
	for key, value := range nic.Options.Map() {
		d.device.Set(key, value)
	}
	d.device.Set(partModel, nic.Model)
	if ip, err := propertystring.Parse(config[IPConfigName(device)], ""); err == nil {
		for key, value := range ip.Map() {
			d.device.Set(key, value)
		}
	}
	return d
}

// recordDeclared records which parts each entry declares, with the values that the device had without them. It deletes the records of parts that the entry
// no longer declares and that have their old values again.
func (d Devices) recordDeclared(p *v1alpha1.MachineParameters, config Config, defaults Defaults) {
	for _, e := range d.declarations(p, config, defaults) {
		before := cloned(d.Declared[e.key])
		for _, part := range e.parts {
			key, _ := part.in(&e.device)
			now := e.device.Get(key)
			was, known := before[part.key]
			switch {
			case part.Value != nil && !known && d.Made[e.key]:
				before[part.key] = e.made[part.key]
			case part.Value != nil && !known:
				before[part.key] = now
			case part.Value == nil && e.there && (part.Same(now, was) || cmp.Or(now, part.absent) == cmp.Or(was, part.absent)):
				delete(before, part.key)
			}
		}
		d.Declared[e.key] = before
		if len(before) == 0 {
			delete(d.Declared, e.key)
		}
	}
}

// withdrawn returns parts with the former values of those that an entry no longer declares, so that they are restored.
func withdrawn(parts []part, before map[string]string) []part {
	for i, d := range parts {
		if was, ok := before[d.key]; ok && d.Value == nil {
			parts[i].Value = &was
		}
	}
	return parts
}

// isDeclared reports whether the part of a key has a value, which may be empty.
func isDeclared(parts []part, key string) bool {
	return slices.ContainsFunc(parts, func(d part) bool { return d.key == key && d.Value != nil })
}

// beforeNIC returns the parts that the entry of an interface has declared. If an interface had no bridge before, or if a reference names its bridge, the
// bridge is not restored.
func beforeNIC(n v1alpha1.MachineNetwork, d Devices) map[string]string {
	before := maps.Clone(d.Declared[listNetworks+"/"+n.Name])
	if before[partBridge] == "" || n.NetworkRef != nil {
		delete(before, partBridge)
	}
	return before
}

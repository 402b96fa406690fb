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
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// A Reader reads the value of an option that a VM has into parameters. It returns the option that the parameters then ask for, and what they cannot hold
// of the value: keys of it, or [WholeOption].
type Reader func(p *v1alpha1.MachineParameters, name, now string) (o Option, left []string)

// unreadable returns the result for a value that no field can hold.
func unreadable() (Option, []string) { return Option{Want: undeclared}, []string{WholeOption} }

func without(left []string, keys ...string) []string {
	return slices.DeleteFunc(left, func(key string) bool { return slices.Contains(keys, key) })
}

// ReadTable returns a reader of the option at an index of a table.
func ReadTable(of func(p *v1alpha1.MachineParameters) []Option, i int) Reader {
	return func(p *v1alpha1.MachineParameters, _, now string) (Option, []string) {
		left := of(p)[i].read(now)
		return of(p)[i], left
	}
}

// ReadSMBIOS reads the SMBIOS hardware information.
func ReadSMBIOS(p *v1alpha1.MachineParameters, name, now string) (Option, []string) {
	uuid := Config{name: now}.UUID()
	props, err := propertystring.Parse(now, "uuid")
	if err != nil {
		return smbiosOption(uuid, nil), []string{WholeOption}
	}
	left := readParts(plainSMBIOS(props), smbiosTexts(p.SMBIOS))
	return smbiosOption(uuid, p.SMBIOS), without(left, "uuid")
}

// ReadDescription reads the description, without markers of providers.
func ReadDescription(p *v1alpha1.MachineParameters, _, now string) (Option, []string) {
	p.Description = NonEmpty(strings.TrimRight(Unmark(now), " \t\r\n"))
	return Identity{}.options(p.Description, nil)[1], nil
}

// ReadTags reads the tags, sorted.
func ReadTags(p *v1alpha1.MachineParameters, _, now string) (Option, []string) {
	if tags := splitList(joinTags(splitList(strings.ToLower(now)))); len(tags) > 0 {
		p.Tags = tags
	}
	return tagsOption(p.Tags, ""), nil
}

// ReadSerialPort returns a reader that adds a serial port.
func ReadSerialPort(i int) Reader {
	return func(p *v1alpha1.MachineParameters, _, now string) (Option, []string) {
		p.SerialPorts = append(p.SerialPorts, now)
		return serials(p)[i], nil
	}
}

// ReadNUMANode returns a reader that adds a NUMA node completely, or not at all.
func ReadNUMANode(i int) Reader {
	return func(p *v1alpha1.MachineParameters, _, now string) (Option, []string) {
		n := v1alpha1.MachineNUMANode{}
		left := readProperties(now, "", numaParts(&n))
		p.CPU.NUMANodes = append(p.CPU.NUMANodes, n)
		if len(left) > 0 { // The list describes a node completely.
			left = []string{WholeOption}
		}
		return numaNodes(p.CPU)[i], left
	}
}

// ReadHA reads settings of HA, and returns those without a field.
func ReadHA(h *v1alpha1.MachineHighAvailability, settings propertystring.Properties) (left []string) {
	return readParts(settings, haParts(h))
}

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
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A writer writes a VM's options down as parameters.
type writer struct {
	config Config

	// told are the options that were dealt with.
	told map[string]bool

	p         *v1alpha1.MachineParameters
	omissions []Omission
}

// Reasons of omissions.
const (
	noField   = "no field of the spec sets it"
	noValue   = "its field does not take this value"
	oldBoot   = "it is of the old form that Proxmox VE no longer writes: set bootOrder to replace it"
	needDrive = "the VM has no cloud-init drive that it would be written to"
)

func (w *writer) omit(option, key, reason string) {
	w.omissions = append(w.omissions, Omission{Option: strings.TrimSpace(option + " " + key), Reason: reason})
}

func (w *writer) write(s Subject) {
	w.table(scalars)
	w.table(composed)
	w.texts()
	w.disks()
	w.firmware()
	w.networks()
	w.cloudInit()
	w.cdroms()
	w.passthroughs()
	w.lists()
	w.boot()
	w.others()
	w.poolAndHA(s)
}

// try to read an option that the VM has into a copy of the parameters, and keep
// that unless it would then ask for another value.
func (w *writer) try(name string, read func(p *v1alpha1.MachineParameters, now string) (o option, left []string)) {
	now, there := w.config[name]
	if !there {
		return
	}
	w.told[name] = true
	trial := w.p.DeepCopy()
	o, left := read(trial, now)
	if want, declared := o.want(now); slices.Contains(left, wholeOption) || declared && !o.equal(now, want) {
		w.omit(name, "", noValue)
		return
	}
	w.p = trial
	for _, key := range left {
		w.omit(name, key, noField)
	}
}

// table reads the options of a table.
func (w *writer) table(of func(p *v1alpha1.MachineParameters) []option) {
	for i, o := range of(w.p) {
		w.try(o.name, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
			left := of(p)[i].read(now)
			return of(p)[i], left
		})
	}
}

// texts are the description, the tags, and what SMBIOS says of the system.
func (w *writer) texts() {
	uuid := w.config.UUID()
	w.try("smbios1", func(p *v1alpha1.MachineParameters, now string) (option, []string) {
		props, err := proxmox.ParseProperties(now, "uuid")
		if err != nil {
			return smbiosOption(uuid, nil), []string{wholeOption}
		}
		left := readParts(plainSMBIOS(props), smbiosTexts(p.SMBIOS))
		return smbiosOption(uuid, p.SMBIOS), without(left, "uuid")
	})
	w.try("description", func(p *v1alpha1.MachineParameters, now string) (option, []string) {
		p.Description = nonEmpty(strings.TrimRight(unmark(now), " \t\r\n"))
		return Identity{UUID: uuid}.options(p.Description, nil)[1], nil
	})
	w.try("tags", func(p *v1alpha1.MachineParameters, now string) (option, []string) {
		if tags := splitList(joinTags(splitList(strings.ToLower(now)))); len(tags) > 0 {
			p.Tags = tags
		}
		return tagsOption(p.Tags, ""), nil
	})
}

// without leaves out keys that other fields say.
func without(left []string, keys ...string) []string {
	return slices.DeleteFunc(left, func(key string) bool { return slices.Contains(keys, key) })
}

// lists are options that are numbered from 0 and that a list sets in its order.
// One with a gap cannot be said.
func (w *writer) lists() {
	if w.gapless("serial", maxSerials) {
		for i := range maxSerials {
			w.try("serial"+strconv.Itoa(i), func(p *v1alpha1.MachineParameters, now string) (option, []string) {
				p.SerialPorts = append(p.SerialPorts, now)
				return serials(p)[i], nil
			})
		}
	}
	if w.gapless("numa", maxNUMANodes) {
		for i := range maxNUMANodes {
			w.try("numa"+strconv.Itoa(i), func(p *v1alpha1.MachineParameters, now string) (option, []string) {
				n := v1alpha1.MachineNUMANode{}
				left := readProperties(now, "", numaParts(&n))
				p.CPU.NUMANodes = append(p.CPU.NUMANodes, n)
				if len(left) > 0 { // The list says all of a node.
					left = []string{wholeOption}
				}
				return numaNodes(p.CPU)[i], left
			})
		}
	}
}

// gapless reports whether an option is there from 0 on without a gap, and omits it
// otherwise.
func (w *writer) gapless(prefix string, most int) bool {
	var found []string
	whole := true
	for i := range most {
		name := prefix + strconv.Itoa(i)
		if _, there := w.config[name]; there {
			whole = whole && len(found) == i
			found = append(found, name)
		}
	}
	for _, name := range found {
		if !whole {
			w.told[name] = true
			w.omit(name, "", "a list has no gaps, and "+prefix+"0 to "+found[len(found)-1]+" has one")
		}
	}
	return whole
}

func (w *writer) boot() {
	w.told["boot"] = true
	order := bootDevices(w.config["boot"])
	switch {
	case len(order) > 0:
		w.p.BootOrder = order
	case strings.TrimSpace(w.config["boot"]) != "":
		w.omit("boot", "", oldBoot)
	}
}

// others are the options that have no field, and what is no option.
func (w *writer) others() {
	for _, name := range slices.Sorted(maps.Keys(w.config)) {
		if w.told[name] {
			continue
		}
		s, _ := Stem(name)
		switch reason := leftAlone(s); {
		case reason != "":
			w.omit(name, "", reason)
		case noOption[s] != "": // Proxmox VE keeps it for itself.
		case FieldOf(name) != "":
			w.omit(name, "", noField)
		default:
			w.extra(name)
		}
	}
}

// leftAlone says why an option that has no field is not said, if that is of
// interest.
func leftAlone(option string) string {
	switch option {
	case "cipassword":
		return "Proxmox VE shows it to nobody: name a Secret in cloudInit.passwordSecretRef to set another"
	case "unused":
		return "it is a detached disk: list it in disks with its volume to attach it"
	case "lock":
		return "Proxmox VE holds it while something is done with the VM"
	case "parent":
		return "the VM has snapshots, which stay as they are"
	case "bootdisk":
		return oldBoot
	}
	return ""
}

func (w *writer) extra(name string) {
	now := w.config[name]
	if extras[name].generated && len(now) > 1 {
		return // Proxmox VE made it up, and makes another up when it restores the VM.
	}
	switch {
	case strings.Contains(now, "\n") || now == "":
		w.omit(name, "", "extraConfig has values of one line")
		return
	case extras[name].rejection(now) != "":
		w.omit(name, "", noValue)
		return
	}
	if w.p.ExtraConfig == nil {
		w.p.ExtraConfig = map[string]v1alpha1.ExtraValue{}
	}
	w.p.ExtraConfig[name] = v1alpha1.ExtraValue(now)
}

// poolAndHA are what Proxmox VE keeps elsewhere.
func (w *writer) poolAndHA(s Subject) {
	w.p.Pool = nonEmpty(s.Pool)
	var settings proxmox.Properties
	for _, key := range slices.Sorted(maps.Keys(s.HA)) {
		if s.HA[key] != "" {
			settings.Set(key, s.HA[key])
		}
	}
	for _, key := range readParts(settings, haParts(w.p.HighAvailability)) {
		w.omit("ha", key, noField)
	}
	if s.HA != nil && *w.p.HighAvailability == (v1alpha1.MachineHighAvailability{}) {
		w.p.HighAvailability.Enabled = new(true)
	}
}

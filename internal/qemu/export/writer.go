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

package export

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/bootorder"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// A writer writes a VM's options as parameters.
type writer struct {
	config qemu.Config

	// processed holds the names of the options that were processed.
	processed map[string]bool

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
	w.table(qemu.Scalars)
	w.table(qemu.Composed)
	w.try("smbios1", qemu.ReadSMBIOS)
	w.try("description", qemu.ReadDescription)
	w.try("tags", qemu.ReadTags)
	w.disks()
	w.try(qemu.EFIDevice, qemu.ReadEFIDisk)
	w.try(qemu.TPMDevice, qemu.ReadTPM)
	w.each(w.config.NICs(), qemu.ReadNIC)
	w.cloudInit()
	w.cdroms()
	w.each(qemu.DevicesOnBus("hostpci"), qemu.ReadPCIDevice)
	w.each(qemu.DevicesOnBus("usb"), qemu.ReadUSBDevice)
	w.each(qemu.DevicesOnBus("virtiofs"), qemu.ReadVirtioFS)
	w.list("serial", qemu.MaxSerials, qemu.ReadSerialPort)
	w.list("numa", qemu.MaxNUMANodes, qemu.ReadNUMANode)
	w.boot()
	w.others()
	w.poolAndHA(s)
}

// try reads an option of the VM into a copy of the parameters. It keeps the copy unless that would ask for another value.
func (w *writer) try(name string, read qemu.Reader) {
	now, there := w.config[name]
	if !there {
		return
	}
	w.processed[name] = true
	trial := w.p.DeepCopy()
	o, left := read(trial, name, now)
	if want, asked := o.Want(now); slices.Contains(left, qemu.WholeOption) || asked && !o.Equal(now, want) {
		w.omit(name, "", noValue)
		return
	}
	w.p = trial
	for _, key := range left {
		w.omit(name, key, noField)
	}
}

// each tries to read the options with these names.
func (w *writer) each(names []string, read qemu.Reader) {
	for _, name := range names {
		w.try(name, read)
	}
}

// table reads the options of a table.
func (w *writer) table(of func(p *v1alpha1.MachineParameters) []qemu.Option) {
	for i, o := range of(w.p) {
		w.try(o.Name, qemu.ReadTable(of, i))
	}
}

// list reads options that are numbered from 0 and that a list sets in its order. A list cannot express gaps.
func (w *writer) list(prefix string, most int, read func(i int) qemu.Reader) {
	if !w.gapless(prefix, most) {
		return
	}
	for i := range most {
		w.try(prefix+strconv.Itoa(i), read(i))
	}
}

// disks writes the disks, named by their devices.
func (w *writer) disks() {
	disks := w.config.Disks()
	slices.SortFunc(disks, qemu.CompareDevices)
	w.each(disks, qemu.ReadDisk)
}

// cloudInit writes the cloud-init options if the VM has a drive for them. Without one, the spec would ask for a new drive.
func (w *writer) cloudInit() {
	drive, err := proxmox.ParseDisk(w.config[w.config.CloudInitDrive()])
	if err != nil {
		w.noDrive()
		return
	}
	w.p.CloudInit.Storage = qemu.NonEmpty(drive.Storage())
	w.table(qemu.CloudInitOptions)
	for i, n := range w.p.Networks {
		w.try(qemu.IPConfigName(*n.Device), qemu.ReadIPConfig(i))
	}
}

// noDrive omits the options that PVE writes to the drive.
func (w *writer) noDrive() {
	for _, name := range slices.Sorted(maps.Keys(w.config)) {
		f := fields.Of(name)
		if strings.HasPrefix(f, "cloudInit.") || strings.HasSuffix(f, ".ipConfig") {
			w.processed[name] = true
			w.omit(name, "", needDrive)
		}
	}
}

// cdroms writes the drives, named by their devices.
func (w *writer) cdroms() {
	for _, device := range w.config.CDROMs() {
		w.processed[device] = true
		k, err := proxmox.ParseDisk(w.config[device])
		switch {
		case err == nil && k.CloudInit():
		case nocloud.IsImage(w.config.Volume(device)):
			w.omit(device, "", "it is an image that a provider made for cloud-init: set cloudInit.userData to have one")
		default:
			w.try(device, qemu.ReadCDROM)
		}
	}
}

// gapless reports whether options exist from 0 on without a gap, and omits them otherwise.
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
			w.processed[name] = true
			w.omit(name, "", "a list has no gaps, and "+prefix+"0 to "+found[len(found)-1]+" has one")
		}
	}
	return whole
}

func (w *writer) boot() {
	w.processed["boot"] = true
	order := bootorder.Devices(w.config["boot"])
	switch {
	case len(order) > 0:
		w.p.BootOrder = order
	case strings.TrimSpace(w.config["boot"]) != "":
		w.omit("boot", "", oldBoot)
	}
}

// others processes the options that have no field, and values that are no options.
func (w *writer) others() {
	for _, name := range slices.Sorted(maps.Keys(w.config)) {
		if w.processed[name] {
			continue
		}
		s, _ := fields.Stem(name)
		switch reason := leftAlone(s); {
		case reason != "":
			w.omit(name, "", reason)
		case !fields.IsOption(name): // Proxmox VE keeps it for internal use.
		case fields.Of(name) != "":
			w.omit(name, "", noField)
		default:
			w.extra(name)
		}
	}
}

// leftAlone returns why an option without a field is omitted, if that is of interest.
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
	if fields.GeneratedByPVE(name, now) {
		return // Proxmox VE generates it, and generates another one when it restores the VM.
	}
	switch {
	case strings.Contains(now, "\n") || now == "":
		w.omit(name, "", "extraConfig has values of one line")
		return
	case fields.ExtraRejection(name, now) != "":
		w.omit(name, "", noValue)
		return
	}
	if w.p.ExtraConfig == nil {
		w.p.ExtraConfig = map[string]v1alpha1.ExtraValue{}
	}
	w.p.ExtraConfig[name] = v1alpha1.ExtraValue(now)
}

// poolAndHA writes the settings that Proxmox VE stores outside the VM's configuration.
func (w *writer) poolAndHA(s Subject) {
	w.p.Pool = qemu.NonEmpty(s.Pool)
	var settings propertystring.Properties
	for _, key := range slices.Sorted(maps.Keys(s.HA)) {
		if s.HA[key] != "" {
			settings.Set(key, s.HA[key])
		}
	}
	for _, key := range qemu.ReadHA(w.p.HighAvailability, settings) {
		w.omit("ha", key, noField)
	}
	if s.HA != nil && *w.p.HighAvailability == (v1alpha1.MachineHighAvailability{}) {
		w.p.HighAvailability.Enabled = new(true)
	}
}

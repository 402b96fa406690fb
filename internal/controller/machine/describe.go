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
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Subject is a VM as Proxmox VE tells of it.
type Subject struct {
	// Options of the VM, with what is pending.
	Options []proxmox.PendingValue

	// Pool that the VM is a member of; empty for none.
	Pool string

	// HA is what HA was told of the VM; nil if HA does not manage it.
	HA proxmox.HASettings
}

// A Description is a VM written down as a spec that asks for what the VM is. Its
// node and its power state are left out: the one follows from where the VM is, the
// other is left alone unless it is asked for.
type Description struct {
	// UUID of the VM, which proves it to be the same one later.
	UUID string

	// Parameters that ask for it.
	Parameters v1alpha1.MachineParameters

	// Omissions are what the parameters do not say, and which is left alone
	// therefore, by option.
	Omissions []Omission
}

// An Omission is something that a VM has and that its description does not say.
type Omission struct {
	// Option of Proxmox VE, followed by the key of its value if it is only that.
	Option string `json:"option"`

	// Reason for which it is left out, in words.
	Reason string `json:"reason"`
}

// Describe a VM. What refuses says of parameters is left out: paths of fields that
// admission does not take, such as disks[0].size. It is an error if no Machine could
// adopt the VM: if it is a template, is not complete, or has no SMBIOS UUID.
func Describe(s Subject, refuses func(v1alpha1.MachineParameters) []string) (Description, error) {
	v := &vm{Pool: s.Pool, HA: s.HA}
	v.read(s.Options)
	switch {
	case v.template():
		return Description{}, errors.New("it is a template, which Machines are cloned from: name it in their template")
	case v.beingCreated():
		return Description{}, errors.Errorf("it is being created (locked: %s)", v.lock())
	case unmark(v.Config["description"]) != v.Config["description"]:
		return Description{}, errors.New("a provider is about to finish it")
	case smbiosUUID(v.Config) == "":
		return Description{}, errors.New("it has no SMBIOS UUID that would prove it to be the same one later: " +
			"set one with qm set --smbios1 uuid=…, which the guest sees after a restart")
	}
	w := &writer{config: v.Config, told: map[string]bool{}, p: blank()}
	w.write(v)
	w.conform()
	prune(reflect.ValueOf(w.p).Elem())
	w.accept(refuses)
	if why := w.disagreement(w.p); len(why) > 0 {
		return Description{}, errors.Errorf("it cannot be described so that nothing of it would change: %s", strings.Join(why, ", "))
	}
	slices.SortFunc(w.omissions, func(a, b Omission) int { return strings.Compare(a.Option, b.Option) })
	return Description{UUID: strings.ToLower(smbiosUUID(v.Config)), Parameters: *w.p, Omissions: w.omissions}, nil
}

// blank are parameters whose every struct is there to be written to.
func blank() *v1alpha1.MachineParameters {
	return &v1alpha1.MachineParameters{
		CPU: &v1alpha1.MachineCPU{}, MemoryOptions: &v1alpha1.MachineMemoryOptions{}, AgentOptions: &v1alpha1.MachineAgentOptions{},
		MachineOptions: &v1alpha1.MachineOptions{}, VGA: &v1alpha1.MachineVGA{}, Startup: &v1alpha1.MachineStartup{},
		Audio: &v1alpha1.MachineAudio{}, RNG: &v1alpha1.MachineRNG{}, Watchdog: &v1alpha1.MachineWatchdog{},
		SMBIOS: &v1alpha1.MachineSMBIOS{}, CloudInit: &v1alpha1.MachineCloudInit{}, HighAvailability: &v1alpha1.MachineHighAvailability{},
	}
}

// prune structs that nothing was written to.
func prune(v reflect.Value) {
	for _, f := range v.Fields() {
		switch {
		case f.Kind() == reflect.Pointer && !f.IsNil() && ownStruct(f.Type().Elem()):
			prune(f.Elem())
			if f.Elem().IsZero() {
				f.SetZero()
			}
		case f.Kind() == reflect.Slice && ownStruct(f.Type().Elem()):
			for i := range f.Len() {
				prune(f.Index(i))
			}
		}
	}
}

func ownStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[v1alpha1.MachineParameters]().PkgPath()
}

// A writer writes a VM's options down as parameters.
type writer struct {
	config map[string]string

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

func (w *writer) write(v *vm) {
	w.table(scalars)
	w.table(composed)
	w.texts()
	w.disks()
	w.firmware()
	w.networks()
	w.cloudInit()
	w.medium()
	w.passthroughs()
	w.lists()
	w.boot()
	w.others()
	w.surroundings(v)
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
	uuid := smbiosUUID(w.config)
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
		return identity{UUID: uuid}.options(p.Description, nil)[1], nil
	})
	w.try("tags", func(p *v1alpha1.MachineParameters, now string) (option, []string) {
		if tags := splitTags(joinTags(splitTags(strings.ToLower(now)))); len(tags) > 0 {
			p.Tags = tags
		}
		return tagsOption(p.Tags, ""), nil
	})
}

// without leaves out keys that other fields say.
func without(left []string, keys ...string) []string {
	return slices.DeleteFunc(left, func(key string) bool { return slices.Contains(keys, key) })
}

// disks by their device, which is their name too.
func (w *writer) disks() {
	disks := disksOf(w.config)
	slices.SortFunc(disks, compareDevices)
	for _, device := range disks {
		w.try(device, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
			k := v1alpha1.MachineDisk{Name: device, Device: &device, Geometry: &v1alpha1.MachineDiskGeometry{}, Limits: &v1alpha1.MachineDiskLimits{}}
			disk, err := proxmox.ParseDisk(now)
			if err != nil {
				return option{want: undeclared}, []string{wholeOption}
			}
			k.Storage, k.Format, k.Size = nonEmpty(disk.Storage()), nonEmpty(formatOf(disk.Volume)), declaredSize(disk)
			left := readParts(disk.Options, diskParts(&k))
			p.Disks = append(p.Disks, k)
			return diskOption(device, k, ""), without(left, "size", "format", "media")
		})
	}
}

// declaredSize of a disk, in the form that the spec has it.
func declaredSize(k proxmox.Disk) *string {
	size, known := k.Size()
	if s := size.String(); known && size >= proxmox.MiB && size%proxmox.KiB == 0 {
		return &s
	}
	return nil
}

func (w *writer) firmware() {
	w.try(efiDevice, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
		p.EFIDisk = &v1alpha1.MachineEFIDisk{}
		return readFirmware(now, &p.EFIDisk.Storage, &p.EFIDisk.Format, func() firmwareDisk { return efiDisk(p.EFIDisk) })
	})
	w.try(tpmDevice, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
		p.TPM = &v1alpha1.MachineTPM{}
		return readFirmware(now, &p.TPM.Storage, &p.TPM.Format, func() firmwareDisk { return tpmDisk(p.TPM) })
	})
}

func readFirmware(now string, storage, format **string, of func() firmwareDisk) (option, []string) {
	disk, err := proxmox.ParseDisk(now)
	if err != nil {
		return option{want: undeclared}, []string{wholeOption}
	}
	*storage, *format = nonEmpty(disk.Storage()), nonEmpty(formatOf(disk.Volume))
	parts := of().changeable
	for _, m := range of().made {
		parts = append(parts, m.part)
	}
	left := readParts(disk.Options, parts)
	return of().option(""), without(left, "size", "format")
}

// networks by their device, which is their name too.
func (w *writer) networks() {
	for _, device := range nicsOf(w.config) {
		w.try(device, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
			nic, err := proxmox.ParseNIC(now)
			if err != nil {
				return option{want: undeclared}, []string{wholeOption}
			}
			n := v1alpha1.MachineNetwork{Name: device, Device: &device, Model: &nic.Model, MACAddress: nonEmpty(nic.MAC)}
			left := readParts(nic.Options, nicParts(&n))
			p.Networks = append(p.Networks, n)
			return nicOption(device, n, ""), left
		})
	}
}

// cloudInit is written down if the VM has a drive for it: the spec would ask for
// one otherwise.
func (w *writer) cloudInit() {
	drive, err := proxmox.ParseDisk(w.config[pveDrive(w.config)])
	if err != nil {
		w.noDrive()
		return
	}
	w.p.CloudInit.Storage = nonEmpty(drive.Storage())
	w.table(cloudInit)
	for i, n := range w.p.Networks {
		w.try(ipConfigName(*n.Device), func(p *v1alpha1.MachineParameters, now string) (option, []string) {
			c := &v1alpha1.MachineIPConfig{}
			p.Networks[i].IPConfig = c
			left := readProperties(now, "", ipParts(c))
			return ipConfigOption(*n.Device, c), left
		})
	}
}

// noDrive omits what would be written to the drive.
func (w *writer) noDrive() {
	for _, name := range slices.Sorted(maps.Keys(w.config)) {
		f := field(name)
		if strings.HasPrefix(f, "cloudInit.") || strings.HasSuffix(f, ".ipConfig") {
			w.told[name] = true
			w.omit(name, "", needDrive)
		}
	}
}

// medium is what is in the drive that iso stands for. Other drives are left alone.
func (w *writer) medium() {
	first := devices{}.mediumDrive(w.config)
	for _, device := range cdromsOf(w.config) {
		w.told[device] = true
		k, err := proxmox.ParseDisk(w.config[device])
		switch {
		case err == nil && k.CloudInit():
		case isSeed(mediumOf(w.config, device)):
			w.omit(device, "", "it is an image that a provider made for cloud-init: set cloudInit.userData to have one")
		case device != first:
			w.omit(device, "", "iso is the medium of one CD-ROM drive, "+first)
		default:
			w.try(device, func(p *v1alpha1.MachineParameters, _ string) (option, []string) {
				p.ISO = new(strings.TrimPrefix(k.Volume, "none"))
				return desired{MachineParameters: p, devices: devices{ISO: device}}.mediumOption()[0], nil
			})
		}
	}
}

// passthroughs by their device, which is their name too.
func (w *writer) passthroughs() {
	for _, sort := range []struct {
		prefix  string
		add     func(p *v1alpha1.MachineParameters, name string)
		entries func(p *v1alpha1.MachineParameters) []hostDevice
	}{
		{"hostpci", func(p *v1alpha1.MachineParameters, name string) {
			p.PCIDevices = append(p.PCIDevices, v1alpha1.MachinePCIDevice{Name: name})
		}, pciDevices},
		{"usb", func(p *v1alpha1.MachineParameters, name string) {
			p.USBDevices = append(p.USBDevices, v1alpha1.MachineUSBDevice{Name: name})
		}, usbDevices},
		{"virtiofs", func(p *v1alpha1.MachineParameters, name string) {
			p.VirtioFS = append(p.VirtioFS, v1alpha1.MachineVirtioFS{Name: name})
		}, sharedDirectories},
	} {
		for i := range busSizes[sort.prefix] {
			device := sort.prefix + strconv.Itoa(i)
			w.try(device, func(p *v1alpha1.MachineParameters, now string) (option, []string) {
				sort.add(p, device)
				last := len(sort.entries(p)) - 1
				h := sort.entries(p)[last]
				left := readProperties(now, h.defaultKey, h.parts)
				return sort.entries(p)[last].option(device), left
			})
		}
	}
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

// gapless says whether an option is there from 0 on without a gap, and omits it
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
		s, _ := stem(name)
		switch reason := leftAlone(s); {
		case reason != "":
			w.omit(name, "", reason)
		case noOption[s] != "": // Proxmox VE keeps it for itself.
		case field(name) != "":
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
	if strings.Contains(now, "\n") || now == "" {
		w.omit(name, "", "extraConfig has values of one line")
		return
	}
	if w.p.ExtraConfig == nil {
		w.p.ExtraConfig = map[string]v1alpha1.ExtraValue{}
	}
	w.p.ExtraConfig[name] = v1alpha1.ExtraValue(now)
}

// surroundings are what Proxmox VE keeps elsewhere.
func (w *writer) surroundings(v *vm) {
	w.p.Pool = nonEmpty(v.Pool)
	var settings proxmox.Properties
	for _, key := range slices.Sorted(maps.Keys(v.HA)) {
		if v.HA[key] != "" {
			settings.Set(key, v.HA[key])
		}
	}
	for _, key := range readParts(settings, haParts(w.p.HighAvailability)) {
		w.omit("ha", key, noField)
	}
	if v.HA != nil && *w.p.HighAvailability == (v1alpha1.MachineHighAvailability{}) {
		w.p.HighAvailability.Enabled = new(true)
	}
}

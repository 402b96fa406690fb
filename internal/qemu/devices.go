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
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/bootorder"
)

// Devices records which device of PVE each named entry of the spec is, and what is
// known of entries that have left their list. It is kept with the resource, so that an
// entry stands for the same device whatever its position in the list. The zero value
// has none assigned yet.
type Devices struct {
	// Devices of the entries of each list, by name. Entries that have left their list
	// are among them as long as the VM has their device.
	Disks    map[string]string `json:"disks,omitempty"`
	CDROMs   map[string]string `json:"cdroms,omitempty"`
	Networks map[string]string `json:"networks,omitempty"`
	PCI      map[string]string `json:"pci,omitempty"`
	USB      map[string]string `json:"usb,omitempty"`
	VirtioFS map[string]string `json:"virtiofs,omitempty"`

	// ISO is the CD-ROM drive of the ISO image.
	ISO string `json:"iso,omitempty"`

	// Source are the devices that the VM came with.
	Source SourceDevices `json:"source,omitzero"`

	// Seen are the disks that the VM has had, and those of its firmware, by their
	// device and a slash before it. One that is gone since is not replaced by an empty
	// one.
	Seen map[string]bool `json:"seen,omitempty"`

	// Volumes that the disks had last, by name. A disk that is detached is attached
	// again with its own.
	Volumes map[string]string `json:"volumes,omitempty"`

	// Options of the disks that were not made for the list, by name, without their sizes. One
	// that somebody has detached comes back with them.
	Options map[string]string `json:"options,omitempty"`

	// Boot is the boot order that the VM had last while it had all devices of it. PVE
	// takes a device that leaves the VM out of the order, and does not put it back.
	Boot []string `json:"boot,omitempty"`

	// MACs are the MAC addresses that the networks' interfaces had last, by name. One
	// that is gone comes back with its own.
	MACs map[string]string `json:"macs,omitempty"`

	// Made are the entries whose devices the provider has made, by list and name.
	Made map[string]bool `json:"made,omitempty"`

	// Declared are the parts of a device that its entry declares, by list and name and PVE's
	// key, with what the device has without them. It has that again once the entry no
	// longer declares them.
	Declared map[string]map[string]string `json:"declared,omitempty"`

	// Policies are the removal policies of the entries that declare one, by list and
	// name.
	Policies map[string]declaredPolicy `json:"policies,omitempty"`

	// Left are the entries that have left their list, by list and name.
	Left map[string]leftEntry `json:"left,omitempty"`

	// Handed are the disks of Volumes that the VM has got for entries of the list, by the names of the Volumes. PVE destroys them with the VM, and
	// nobody hands them back once their Volumes are gone.
	Handed VolumeDisks `json:"handed,omitempty"`

	// returning are the values that devices are attached with again, by list and name.
	returning map[string]string

	// leaving are the devices that the VM has until its next start, with their values.
	leaving Config

	// overwritten is true when PVE has lost a boot order that waited for the VM's next start.
	overwritten bool

	assigned bool
}

// returningDisk is the value that a disk of the list is attached with again; empty for one that the VM did not have before.
func returningDisk(d Devices, name string) string { return d.returning[listDisks+"/"+name] }

// VolumeDisks are disks of Volumes, by the names of these.
type VolumeDisks map[string]VolumeDisk

// A VolumeDisk is the disk of a Volume that a VM had when it was looked at last.
type VolumeDisk struct {
	// Device that it was, and its Volume ID.
	Device string `json:"device"`
	Volume string `json:"volume"`

	// Now is what the device was last, if that is another volume: the disk, by the name that a migration has given it, or one that has taken its place.
	Now string `json:"now,omitempty"`
}

// in are the devices of a VM that may be the disk, the likeliest first. A live migration gives local disks other names, maybe each other's, and keeps
// their devices (PVE::QemuServer, vm_migrate_alloc_nbd_disks); by hand, a disk changes its device and keeps its name.
func (h VolumeDisk) in(c Config, vmid int) []string {
	at, now, there := c.Holder(h.Volume), c.Holder(h.Now), c.Volume(h.Device)
	own := ofVM(there) && slices.Contains(c.OwnVolumes(vmid), there)
	var found []string
	add := func(device string, may bool) {
		if may && device != "" && !slices.Contains(found, device) {
			found = append(found, device)
		}
	}
	switch {
	case at == h.Device, IsUnused(at):
		add(at, true)
	default:
		add(now, IsUnused(now))
		add(h.Device, own)
		add(now, true)
		add(at, true)
	}
	return found
}

// ofVM reports whether a volume is one of a VM that is no template.
func ofVM(volume string) bool { return strings.Contains(volume, "vm-") }

// IsUnused reports whether a device is the option of an unused disk.
func IsUnused(device string) bool { return strings.HasPrefix(device, "unused") }

// In returns those that a VM has, or may have, with the devices and the names that they have now.
func (d VolumeDisks) In(s State, vmid int) VolumeDisks {
	found := VolumeDisks{}
	for name, h := range d {
		for _, c := range []Config{s.Config, s.Active} {
			if at := h.in(c, vmid); len(at) > 0 {
				found[name] = VolumeDisk{Device: at[0], Volume: c.Volume(at[0])}
			}
		}
	}
	return found
}

// Among returns the Volume whose disk one of these devices of a VM may be, and the device; empty for none.
func (d VolumeDisks) Among(s State, vmid int, devices []string) (volume, device string) {
	for _, name := range slices.Sorted(maps.Keys(d)) {
		for _, c := range []Config{s.Config, s.Active} {
			for _, at := range d[name].in(c, vmid) {
				if slices.Contains(devices, at) {
					return name, at
				}
			}
		}
	}
	return "", ""
}

// record notes the disks of Volumes that the VM has for entries of the list, whose devices are given with the volumes that they had before, and forgets
// those that it has no longer, and those that an entry has which names no Volume: they are the Machine's by then. That the disk of an entry which had
// another one has the name of one proves nothing, since a migration may have given it that.
func (d VolumeDisks) record(devices, before map[string]string, s State, p *v1alpha1.MachineParameters) {
	all := s.all()
	if all.Unfinished() {
		return // A restore in place has failed: the disks are there, and the VM has them again after the next one.
	}
	maps.DeleteFunc(d, func(_ string, h VolumeDisk) bool {
		return all.Holder(h.Volume) == "" && all.Volume(h.Device) == "" && all.Holder(h.Now) == ""
	})
	for name, h := range d {
		if there := all.Volume(h.Device); ofVM(there) && there != h.Volume && !IsUnused(all.Holder(h.Volume)) && !IsUnused(all.Holder(h.Now)) {
			h.Now = there
			d[name] = h
		}
	}
	for _, k := range p.Disks {
		device, volume := devices[k.Name], ptr.Deref(k.Volume, "")
		switch now, at := s.Config.Volume(device), all.Holder(volume); {
		case k.VolumeRef != nil && at != "":
			maps.DeleteFunc(d, func(_ string, h VolumeDisk) bool {
				return h.Volume == volume || h.Now == volume && all.Holder(h.Volume) == ""
			})
			d[k.VolumeRef.Name] = VolumeDisk{Device: at, Volume: volume}
		case k.VolumeRef == nil && now != "":
			maps.DeleteFunc(d, func(_ string, h VolumeDisk) bool {
				return h.Device == device && (h.Volume == now || all.Holder(h.Volume) == "") ||
					h.Volume == now && before[k.Name] == "" && all.Volume(h.Device) == ""
			})
		}
	}
}

// SourceDevices are the devices that a VM came with: those of the template or VM that
// it is a clone of, or those that it had when it was adopted.
type SourceDevices struct {
	// Disks, the one that the VM boots from first.
	Disks []string `json:"disks,omitempty"`

	// CDROMs are drives for removable media that have nothing of cloud-init's.
	CDROMs []string `json:"cdroms,omitempty"`

	// Networks are network interfaces.
	Networks []string `json:"networks,omitempty"`

	// Image is true once the first of Disks is the one that the image of the spec has filled, whether the VM came with it or not.
	Image bool `json:"image,omitempty"`
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

// String returns what is kept of them.
func (d Devices) String() string {
	b, err := json.Marshal(d)
	if err != nil {
		return "" // Maps of strings can always be written.
	}
	return string(b)
}

// Equal reports whether the same is kept of both.
func (d Devices) Equal(o Devices) bool { return d.String() == o.String() }

// On returns the devices of the spec's entries on a VM that exists, with what is to be
// known of them later. The generation is that of the spec.
func (d Devices) On(s State, p *v1alpha1.MachineParameters, defaults Defaults, generation int64) (Devices, error) {
	now := d.clone()
	now.leaving, now.overwritten = s.leaving(), len(now.Boot) > 0 && bootorder.Overwritten(s.Active, s.Config)
	now.leave(s, p, generation)
	now.release(s, p)
	now, err := now.Assign(p, s.Config)
	if err != nil {
		return now, err
	}
	now.attachAgain(s.Config, p)
	now.record(s, p, generation)
	now.Handed.record(now.Disks, d.Volumes, s, p)
	now.recordDeclared(p, s.Config, defaults)
	now.Boot = now.lastBoot(s.Config, p)
	now.forget(s)
	return now, nil
}

// clone has maps of its own, that entries can be added to.
func (d Devices) clone() Devices {
	d.Disks, d.CDROMs, d.Networks = cloned(d.Disks), cloned(d.CDROMs), cloned(d.Networks)
	d.PCI, d.USB, d.VirtioFS = cloned(d.PCI), cloned(d.USB), cloned(d.VirtioFS)
	d.Seen, d.Volumes, d.MACs, d.Made = cloned(d.Seen), cloned(d.Volumes), cloned(d.MACs), cloned(d.Made)
	d.Options, d.Declared = cloned(d.Options), cloned(d.Declared)
	d.Handed = VolumeDisks(cloned(d.Handed))
	d.Policies, d.Left, d.returning = cloned(d.Policies), cloned(d.Left), cloned(d.returning)
	d.Source.Disks = slices.Clone(d.Source.Disks)
	return d
}

func cloned[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// record notes what the VM has of the entries' devices, and the removal policies that
// the lists declare.
func (d Devices) record(s State, p *v1alpha1.MachineParameters, generation int64) {
	for name, device := range d.Disks {
		if _, there := s.Config[device]; there {
			d.Seen[name] = true
		}
		if v := s.Config.Volume(device); v != "" {
			d.Volumes[name] = v
		}
		d.recordOptions(name, s.Config[device])
	}
	d.recordFirmware(p, s.Config)
	d.recordMACs(s.Config)
	for _, l := range d.lists(p) {
		for _, e := range l.entries {
			key := l.key(e.name)
			delete(d.Policies, key)
			if e.policy != "" {
				d.Policies[key] = declaredPolicy{Policy: e.policy, Generation: generation}
			}
			if _, there := s.Config[l.devices[e.name]]; there {
				delete(d.Left, key)
			}
		}
	}
}

// recordOptions notes the options of a disk that was not made for the list.
func (d Devices) recordOptions(name, value string) {
	disk, err := proxmox.ParseDisk(value)
	if err != nil || d.Made[listDisks+"/"+name] {
		return
	}
	disk.Options.Delete("size")
	if _, options, _ := strings.Cut(disk.String(), ","); options != "" {
		d.Options[name] = options
	} else {
		delete(d.Options, name)
	}
}

// recordFirmware notes the disks of the firmware that a VM has, as long as the spec
// wants them.
func (d Devices) recordFirmware(p *v1alpha1.MachineParameters, config Config) {
	wanted := map[string]bool{}
	for _, f := range firmware(p) {
		wanted[f.device] = f.wanted()
	}
	for _, device := range []string{EFIDevice, TPMDevice} {
		switch _, there := config[device]; {
		case !wanted[device]:
			delete(d.Seen, FirmwareKey(device))
		case there:
			d.Seen[FirmwareKey(device)] = true
		}
	}
}

// recordMACs notes the MAC addresses of the interfaces that a VM has. That of one which
// is gone is forgotten once another interface has it.
func (d Devices) recordMACs(config Config) {
	for name, last := range d.MACs {
		if config.mac(d.Networks[name]) == "" && config.hasMAC(last) {
			delete(d.MACs, name)
		}
	}
	for name, device := range d.Networks {
		if mac := config.mac(device); mac != "" {
			d.MACs[name] = mac
		}
	}
}

// release drops the devices of entries off the lists that the VM no longer has: what
// takes their place later is not theirs.
func (d Devices) release(s State, p *v1alpha1.MachineParameters) {
	all := s.all()
	for _, l := range d.lists(p) {
		maps.DeleteFunc(l.devices, func(name, device string) bool {
			_, there := all[device]
			return l.declared && !l.has(name) && (!there || !l.suits(device, all))
		})
	}
}

// mostMACs is how many MAC addresses of interfaces that are gone are kept.
const mostMACs = 32

// forget forgets what is known of entries off the lists that nothing is left of.
func (d Devices) forget(s State) {
	all := s.all()
	maps.DeleteFunc(d.Volumes, func(name, volume string) bool { return d.Disks[name] == "" && all.Holder(volume) == "" })
	d.forgetMACs()
	known := map[string]bool{}
	for _, l := range d.lists(&v1alpha1.MachineParameters{}) {
		for name := range l.devices {
			known[l.key(name)] = true
		}
	}
	for name := range d.Volumes {
		known[listDisks+"/"+name] = true
	}
	for name := range d.MACs {
		known[listNetworks+"/"+name] = true
	}
	maps.DeleteFunc(d.Options, func(name, _ string) bool { return d.Volumes[name] == "" })
	maps.DeleteFunc(d.Made, func(key string, _ bool) bool { return !known[key] })
	maps.DeleteFunc(d.Declared, func(key string, _ map[string]string) bool { return !known[key] })
	maps.DeleteFunc(d.Policies, func(key string, _ declaredPolicy) bool { return !known[key] })
	maps.DeleteFunc(d.Left, func(key string, _ leftEntry) bool { return !known[key] })
	maps.DeleteFunc(d.Seen, func(name string, _ bool) bool { return !strings.HasPrefix(name, "/") && !known[listDisks+"/"+name] })
}

// forgetMACs forgets the MAC addresses of interfaces that were to be destroyed, and the oldest of those beyond the
// most that are kept.
func (d Devices) forgetMACs() {
	var gone []string
	for name := range d.MACs {
		left, off := d.Left[listNetworks+"/"+name]
		switch {
		case d.Networks[name] != "":
		case off && left.Policy == policyDestroy:
			delete(d.MACs, name)
		default:
			gone = append(gone, name)
		}
	}
	slices.SortFunc(gone, func(a, b string) int {
		return cmp.Or(cmp.Compare(d.Left[listNetworks+"/"+a].Generation, d.Left[listNetworks+"/"+b].Generation), strings.Compare(a, b))
	})
	for _, name := range gone[:max(0, len(gone)-mostMACs)] {
		delete(d.MACs, name)
	}
}

// FirmwareKey returns the name by which Seen has a disk of the firmware: no disk of a spec is called so.
func FirmwareKey(device string) string { return "/" + device }

// drives returns the devices of disks and of removable media that entries have.
func (d Devices) drives() map[string]string {
	all := map[string]string{"iso": d.ISO}
	for name, device := range d.Disks {
		all["disk "+name] = device
	}
	for name, device := range d.CDROMs {
		all[cdromDrive+" "+name] = device
	}
	return all
}

// all returns all assignments, by sort of device.
func (d Devices) all() []map[string]string {
	return []map[string]string{d.Disks, d.CDROMs, d.Networks, d.PCI, d.USB, d.VirtioFS}
}

// Retained returns the devices of entries that have left their list and that stay
// attached.
func (d Devices) Retained() []Retained {
	var found []Retained
	for _, l := range d.lists(&v1alpha1.MachineParameters{}) {
		for name, device := range l.devices {
			if left := d.Left[l.key(name)]; left.Policy == policyRetain {
				found = append(found, Retained{List: l.name, What: l.what, Name: name, Device: device, Reason: left.Reason})
			}
		}
	}
	slices.SortFunc(found, func(a, b Retained) int { return strings.Compare(a.List+"/"+a.Device, b.List+"/"+b.Device) })
	return found
}

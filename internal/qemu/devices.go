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

// Devices records which device of PVE each named entry of the spec has, and what is known of entries that have left their list. It is stored with the
// resource, so that an entry keeps its device whatever its position in the list. In the zero value no devices are assigned.
type Devices struct {
	// Devices of the entries of each list, by name. Entries that have left their list remain as long as the VM has their device.
	Disks    map[string]string `json:"disks,omitempty"`
	CDROMs   map[string]string `json:"cdroms,omitempty"`
	Networks map[string]string `json:"networks,omitempty"`
	PCI      map[string]string `json:"pci,omitempty"`
	USB      map[string]string `json:"usb,omitempty"`
	VirtioFS map[string]string `json:"virtiofs,omitempty"`

	// ISO is the CD-ROM drive of the ISO image.
	ISO string `json:"iso,omitempty"`

	// Source holds the devices that the VM came with.
	Source SourceDevices `json:"source,omitzero"`

	// Seen holds the disks that the VM has had, and those of its firmware by their device after a slash. A disk that has disappeared since is not replaced by
	// an empty one.
	Seen map[string]bool `json:"seen,omitempty"`

	// Volumes that the disks had last, by name. A detached disk is attached again with its own volume.
	Volumes map[string]string `json:"volumes,omitempty"`

	// Options of the disks that were not created for the list, by name, without their sizes. A disk that was detached manually is attached again with them.
	Options map[string]string `json:"options,omitempty"`

	// Boot is the last boot order of which the VM had all devices. PVE removes a device from the order when the VM loses it, and does not restore it.
	Boot []string `json:"boot,omitempty"`

	// MACs holds the last MAC addresses of the networks' interfaces, by name. An interface that was removed gets its own again.
	MACs map[string]string `json:"macs,omitempty"`

	// Made holds the entries whose devices the provider has created, by list and name.
	Made map[string]bool `json:"made,omitempty"`

	// Declared holds the parts of a device that its entry declares, by list and name and PVE's key, with their values before. They get these values again
	// once the entry no longer declares them.
	Declared map[string]map[string]string `json:"declared,omitempty"`

	// Policies holds the removal policies of the entries that declare one, by list and name.
	Policies map[string]declaredPolicy `json:"policies,omitempty"`

	// Left holds the entries that have left their list, by list and name.
	Left map[string]leftEntry `json:"left,omitempty"`

	// Handed holds the disks of Volumes that the VM has for entries of the list, by the names of the Volumes. PVE destroys them with the VM, and once their
	// Volumes are deleted nothing hands them back.
	Handed VolumeDisks `json:"handed,omitempty"`

	// returning holds the values with which devices are attached again, by list and name.
	returning map[string]string

	// leaving holds the devices that the VM has until its next start, with their values.
	leaving Config

	// overwritten is true when PVE has lost a boot order that waited for the VM's next start.
	overwritten bool

	assigned bool
}

// returningDisk returns the value with which a disk of the list is attached again. It is empty for a disk that the VM did not have before.
func returningDisk(d Devices, name string) string { return d.returning[listDisks+"/"+name] }

// VolumeDisks holds disks of Volumes, by the names of the Volumes.
type VolumeDisks map[string]VolumeDisk

// A VolumeDisk is the disk of a Volume that a VM had when it was last seen.
type VolumeDisk struct {
	// Device of the disk, and its volume ID.
	Device string `json:"device"`
	Volume string `json:"volume"`

	// Now is the last volume of the device if that is another one: the disk under the name that a migration has given it, or a disk that has replaced it.
	Now string `json:"now,omitempty"`
}

// in returns the devices of a VM that may be the disk, the likeliest first. A live migration renames local disks, possibly to each other's names, and
// keeps their devices (PVE::QemuServer, vm_migrate_alloc_nbd_disks). A manual change may change the device of a disk and keeps its name.
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

// ofVM reports whether a volume belongs to a VM that is no template.
func ofVM(volume string) bool { return strings.Contains(volume, "vm-") }

// IsUnused reports whether a device is the option of an unused disk.
func IsUnused(device string) bool { return strings.HasPrefix(device, "unused") }

// In returns the disks that a VM has, or may have, with their current devices and names.
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

// Among returns the Volume whose disk one of these devices of a VM may be, and the device. Both are empty if there is none.
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

// record records the disks of Volumes that the VM has for entries of the list. devices holds the devices of these entries, before the volumes that they
// had. record deletes disks that the VM no longer has, and those of an entry that names no Volume, which belong to the Machine. If the disk of an entry
// had another volume before, the name of a Volume's disk proves nothing, because a migration may have given it that name.
func (d VolumeDisks) record(devices, before map[string]string, s State, p *v1alpha1.MachineParameters) {
	all := s.all()
	if all.Unfinished() {
		return // A restore in place has failed. The disks exist, and the VM has them again after the next restore.
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

// SourceDevices holds the devices that a VM came with: those of the template or VM that it was cloned from, or those that it had when it was adopted.
type SourceDevices struct {
	// Disks, the one that the VM boots from first.
	Disks []string `json:"disks,omitempty"`

	// CDROMs are the drives for removable media that are not for cloud-init.
	CDROMs []string `json:"cdroms,omitempty"`

	// Networks are the network interfaces.
	Networks []string `json:"networks,omitempty"`

	// Image is true once the first of Disks is the one that the image of the spec has filled, whether the VM came with that disk or not.
	Image bool `json:"image,omitempty"`
}

// ParseDevices parses the result of String. An empty text is the zero value.
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

// String returns what is stored of the devices.
func (d Devices) String() string {
	b, err := json.Marshal(d)
	if err != nil {
		return "" // Maps of strings can always be marshalled.
	}
	return string(b)
}

// Equal reports whether the same is stored of both.
func (d Devices) Equal(o Devices) bool { return d.String() == o.String() }

// On returns the devices of the spec's entries on a VM that exists, with what later changes need to know of them. The generation is that of the spec.
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

// clone returns a copy whose maps can be changed.
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

// record records what the VM has of the entries' devices, and the removal policies that the lists declare.
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

// recordOptions records the options of a disk that was not created for the list.
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

// recordFirmware records the disks of the firmware that a VM has, as long as the spec declares them.
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

// recordMACs records the MAC addresses of the interfaces that a VM has. It forgets the address of an interface that no longer exists once another
// interface has that address.
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

// release removes the devices of entries off the lists that the VM no longer has. A later device in the same place is not theirs.
func (d Devices) release(s State, p *v1alpha1.MachineParameters) {
	all := s.all()
	for _, l := range d.lists(p) {
		maps.DeleteFunc(l.devices, func(name, device string) bool {
			_, there := all[device]
			return l.declared && !l.has(name) && (!there || !l.suits(device, all))
		})
	}
}

// mostMACs is the maximum number of MAC addresses that are kept of removed interfaces.
const mostMACs = 32

// forget deletes what is recorded for entries off the lists of which nothing is left.
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

// forgetMACs forgets the MAC addresses of interfaces that were to be destroyed, and the oldest of those beyond the maximum.
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

// FirmwareKey returns the key in Seen of a disk of the firmware. No disk of a spec can have that name.
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

// all returns all assignments, by type of device.
func (d Devices) all() []map[string]string {
	return []map[string]string{d.Disks, d.CDROMs, d.Networks, d.PCI, d.USB, d.VirtioFS}
}

// Retained returns the devices that stay attached although their entries have left their lists.
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

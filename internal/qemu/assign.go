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
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// defaultBus is the bus of a new disk whose spec names none.
const defaultBus = "scsi"

// Assign gives every named entry of the spec a device, in this order of preference: the device that it has, the device that it names, the device that it
// had before it left the list, the device of the source that a new VM would give it, or a free one. have is the configuration of the VM, or of the source
// that the VM is to be cloned from. Assign returns an error if an entry cannot have a device, or can be read in two ways.
func (d Devices) Assign(p *v1alpha1.MachineParameters, have Config) (Devices, error) {
	out := d.clone()
	out.assigned = true
	if !d.assigned {
		out.Source = SourceDevices{Disks: have.Disks(), CDROMs: have.mediaDrives(), Networks: have.NICs()}
	}
	filled := filling{Devices: &out, p: p, have: have}
	filled.follow()
	out.ISO = out.releaseISO(p, have)
	if err := out.claimDrives(p, have); err != nil {
		return out, err
	}
	if err := out.assignListed(out.diskList(p), have); err != nil {
		return out, err
	}
	filled.note(d)
	networks := out.networkList(p)
	if err := out.claimAll(networks, have); err != nil {
		return out, err
	}
	if err := out.assignListed(networks, have); err != nil {
		return out, err
	}
	if p.ISO != nil {
		out.ISO = cmp.Or(out.ISO, out.isoDrive(*p.ISO, have))
	}
	err := out.assignCDROMs(p, have)
	if err == nil && d.assigned {
		err = compareDrives(out.cdromList(p), d, p, have)
	}
	if err != nil {
		return out, err
	}
	return out, out.assignPassthroughs(p, have)
}

// releaseISO returns the drive of iso, or nothing if an entry takes the drive over.
func (d Devices) releaseISO(p *v1alpha1.MachineParameters, have Config) string {
	takes := func(c v1alpha1.MachineCDROM) bool {
		return ptr.Deref(c.Device, "") == d.ISO || d.CDROMs[c.Name] == "" && mediumOf(c) == have.Volume(d.ISO)
	}
	if p.ISO == nil && slices.ContainsFunc(p.CDROMs, takes) {
		return ""
	}
	return d.ISO
}

// claimDrives gives disks and CD-ROM drives the devices that the spec names. The drive of a removed entry is free for a new entry that fits it.
func (d Devices) claimDrives(p *v1alpha1.MachineParameters, have Config) error {
	if err := d.claimAll(d.diskList(p), have); err != nil {
		return err
	}
	drives := d.cdromList(p)
	for _, c := range p.CDROMs {
		for name, device := range d.CDROMs {
			if d.CDROMs[c.Name] == "" && drives.declared && !drives.has(name) && fits(c, device, have) {
				d.takeOver(drives, name, c.Name)
			}
		}
	}
	if err := d.claimAll(drives, have); err != nil {
		return err
	}
	return d.deviceConflict()
}

// deviceConflict returns an error if a CD-ROM drive has the device of a disk, or the drive of iso.
func (d Devices) deviceConflict() error {
	for _, name := range slices.Sorted(maps.Keys(d.CDROMs)) {
		device := d.CDROMs[name]
		if device == d.ISO {
			return errors.Errorf("device %s is the drive of iso already: %s %q cannot have it", device, cdromDrive, name)
		}
		for disk, taken := range d.Disks {
			if taken == device {
				return errors.Errorf("device %s is both disk %q and %s %q", device, disk, cdromDrive, name)
			}
		}
	}
	return nil
}

// claimAll gives the entries of a list the devices that the spec names.
func (d Devices) claimAll(l deviceList, have Config) error {
	for _, e := range l.entries {
		if e.device == "" {
			continue
		}
		if err := d.claim(l, e, have); err != nil {
			return err
		}
	}
	return nil
}

// claim gives an entry the device that the spec names. That may be the device of an entry which has left the list: then the new entry is the old one under
// another name.
func (d Devices) claim(l deviceList, e listEntry, have Config) error {
	switch has := l.devices[e.name]; {
	case has == e.device:
		return nil
	case has != "":
		return errors.Errorf("%s %q is device %s: it cannot become %s, which %s", l.what, e.name, has, e.device, l.remedy(e))
	}
	if owner := l.owner(e.device); owner != "" {
		return errors.Errorf("device %s is %s %q already: %q cannot have it", e.device, l.what, owner, e.name)
	}
	volume, at := d.kept(l, e, have)
	if there := have.Volume(e.device); at != "" && at != e.device && there != "" {
		return twoWays(l, e, "the volume "+volume+" that it had, at "+at, "the volume "+there+" at "+e.device, "set volume to the one that is meant")
	}
	if l.name == listDisks && at == "" {
		d.forgetEntry(l, e.name)
	}
	if _, there := d.withLeaving(have)[e.device]; !there && at == "" && e.volume == nil && l.former(e.device) == "" {
		if err := d.inherit(l, e, have); err != nil {
			return err
		}
		if err := l.overlapsImage(e, d, have); err != nil {
			return err
		}
	}
	d.bind(l, e, e.device, have)
	return nil
}

// remedy returns what the spec can do instead, for an error about an entry with a device that belongs to another name. Exchanging two names is ambiguous:
// either both disks get other names, or each gets the device of the other.
func (l deviceList) remedy(e listEntry) string {
	if owner := l.owner(e.device); owner != "" {
		return fmt.Sprintf("is %q: to exchange the names of both, give %q a third name first, then %q its name, then the third the name %q",
			owner, e.name, owner, owner)
	}
	return "an entry of another name can be"
}

// inherit gives an entry the data of the entry that had its device under another name, if the VM still has the volume, or if the MAC address of the
// interface is known.
func (d Devices) inherit(l deviceList, e listEntry, have Config) error {
	var former []string
	for name := range d.leftNames(l, e.device) {
		unused := l.name == listDisks && d.Volumes[name] != "" && strings.HasPrefix(have.Holder(d.Volumes[name]), "unused")
		if unused || l.name == listNetworks && d.MACs[name] != "" && d.MACs[e.name] == "" {
			former = append(former, name)
		}
	}
	slices.SortFunc(former, func(a, b string) int { return cmp.Compare(d.Left[l.key(b)].Generation, d.Left[l.key(a)].Generation) })
	switch {
	case len(former) > 1 && l.name == listDisks:
		return twoWays(l, e, d.Volumes[former[0]]+", which was "+e.device, d.Volumes[former[1]]+", which was so before", "set volume to the one that is meant")
	case len(former) > 0:
		d.takeOver(l, former[0], e.name)
	}
	return nil
}

// leftNames returns the entries that have left a list and that had a device which they no longer have.
func (d Devices) leftNames(l deviceList, device string) map[string]bool {
	found := map[string]bool{}
	for key, left := range d.Left {
		name, ok := strings.CutPrefix(key, l.name+"/")
		if ok && left.Device == device && l.devices[name] == "" && !l.has(name) {
			found[name] = true
		}
	}
	return found
}

// bind binds an entry to a device. If an entry that has left the list had the device, the new entry takes over what is recorded for it.
func (d Devices) bind(l deviceList, e listEntry, device string, have Config) {
	if former := l.former(device); former != "" {
		d.takeOver(l, former, e.name)
		return
	}
	l.devices[e.name] = device
	_, there := d.withLeaving(have)[device]
	_, back := d.Left[l.key(e.name)]
	if e.handed || !there && !back && ptr.Deref(e.volume, "") == "" {
		d.Made[l.key(e.name)] = true
	}
}

// takeOver gives the device of an entry that has left the list, or the device that it had, to another entry, with what is recorded for it.
func (d Devices) takeOver(l deviceList, from, to string) {
	if _, bound := l.devices[from]; bound {
		delete(d.Left, l.key(from))
		delete(d.Left, l.key(to))
	}
	move(l.devices, from, to)
	move(d.Left, l.key(from), l.key(to))
	move(d.Made, l.key(from), l.key(to))
	move(d.Declared, l.key(from), l.key(to))
	delete(d.Policies, l.key(from))
	switch l.name {
	case listDisks:
		move(d.Volumes, from, to)
		move(d.Options, from, to)
		move(d.Seen, from, to)
	case listNetworks:
		move(d.MACs, from, to)
	}
}

// move moves the value of one key of a map to another key, or deletes the value of the other key if there is none.
func move[V any](m map[string]V, from, to string) {
	v, there := m[from]
	delete(m, from)
	delete(m, to)
	if there {
		m[to] = v
	}
}

// twoWays returns the error for an entry that can be read in two ways, and how to resolve it.
func twoWays(l deviceList, e listEntry, one, other, remedy string) error {
	return errors.Errorf("%s %q can be read in two ways: as %s, or as %s; %s", l.what, e.name, one, other, remedy)
}

// assignListed gives a device to each entry of a list of disks or networks that has none yet.
func (d Devices) assignListed(l deviceList, have Config) error {
	source := l.fromSource()
	for _, e := range l.entries {
		if has := l.devices[e.name]; has != "" {
			if e.bus != "" && BusOf(has) != e.bus {
				return errors.Errorf("%s %q is device %s: its type cannot become %s", l.what, e.name, has, e.bus)
			}
			continue
		}
		if back, err := d.assignKept(l, e, have); back || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		device, err := d.sourceDevice(l, e, source[e.name], have)
		if err != nil {
			return err
		}
		if device = cmp.Or(device, d.free(l, e, have)); device == "" {
			return errors.Errorf("no free %s device for %s %q", cmp.Or(e.bus, defaultBus), l.what, e.name)
		}
		d.bind(l, e, device, have)
	}
	return nil
}

// withLeaving returns a configuration together with the devices that the VM only has until its next start.
func (d Devices) withLeaving(have Config) Config {
	all := cloned(d.leaving)
	maps.Copy(all, have)
	return all
}

// free returns the lowest device for a new entry that neither another entry nor the VM has.
func (d Devices) free(l deviceList, e listEntry, have Config) string {
	have = d.withLeaving(have)
	if l.name == listNetworks {
		return lowestFree(l.devices, have, e.bus)
	}
	return lowestFree(d.drives(), have, cmp.Or(e.bus, defaultBus))
}

// kept returns the volume that an entry had before it left the list, and where the VM has it. Both are empty if another entry has it, or if the spec names
// a volume. at is empty if the VM no longer has the volume.
func (d Devices) kept(l deviceList, e listEntry, have Config) (volume, at string) {
	if l.name != listDisks || e.volume != nil || d.Volumes[e.name] == "" || l.devices[e.name] != "" {
		return "", ""
	}
	volume = d.Volumes[e.name]
	at = have.Holder(volume)
	if l.owner(at) != "" {
		return "", ""
	}
	return volume, at
}

// assignKept handles an entry that returns to its list. A disk gets the device that it had if its volume still exists, an interface what is recorded for
// it. Otherwise the entry counts as new.
func (d Devices) assignKept(l deviceList, e listEntry, have Config) (bool, error) {
	left, off := d.Left[l.key(e.name)]
	volume, at := d.kept(l, e, have)
	switch {
	case BusOf(at) != "" && e.bus != "" && BusOf(at) != e.bus:
		return false, errors.Errorf("%s %q had the volume %s, which is device %s: its type cannot become %s", l.what, e.name, volume, at, e.bus)
	case BusOf(at) != "":
		d.bind(l, e, at, have)
		return true, nil
	case at == "" && (l.name != listNetworks || !off):
		d.forgetEntry(l, e.name)
		return false, nil
	}
	device := left.Device
	if _, there := d.withLeaving(have)[device]; device == "" || there || d.taken(l, device) || e.bus != "" && BusOf(device) != e.bus {
		device = d.free(l, listEntry{bus: cmp.Or(e.bus, BusOf(device))}, have)
	}
	if device == "" {
		return false, errors.Errorf("no free device for %s %q", l.what, e.name)
	}
	l.devices[e.name] = device
	return true, nil
}

// taken reports whether another entry has a device.
func (d Devices) taken(l deviceList, device string) bool {
	if l.name == listNetworks {
		return has(l.devices, device)
	}
	return has(d.drives(), device)
}

// forgetEntry deletes what is recorded for an entry that has left its list.
func (d Devices) forgetEntry(l deviceList, name string) {
	delete(d.Left, l.key(name))
	delete(d.Made, l.key(name))
	delete(d.Declared, l.key(name))
	switch l.name {
	case listDisks:
		delete(d.Volumes, name)
		delete(d.Options, name)
		delete(d.Seen, name)
	case listNetworks:
		delete(d.MACs, name)
	}
}

// sourceDevice returns the device of the source that the entry would have on a new VM. It is empty if the entry would have a new device. sourceDevice
// returns an error if another entry has that device, or if the device has changed.
func (d Devices) sourceDevice(l deviceList, e listEntry, device string, have Config) (string, error) {
	if device == "" {
		return d.namedVolume(l, e, have), nil
	}
	asNew, came, remedy := "a new "+l.what, ", with which the VM came", "set its device"
	if e.name == l.image {
		came, remedy = ", which the image has filled", imageRemedy
	}
	if owner := l.owner(device); owner != "" {
		return "", twoWays(l, e, device+came+" and which is "+l.what+" "+strconv.Quote(owner)+" here", asNew, remedy)
	}
	former := l.former(device)
	if left, off := d.Left[l.key(former)]; former != "" && off && left.Policy != policyRetain {
		return "", twoWays(l, e, device+came+" and which the removalPolicy of "+l.what+" "+strconv.Quote(former)+" takes away", asNew, remedy)
	}
	_, there := d.withLeaving(have)[device]
	if there && e.bus != "" && BusOf(device) != e.bus {
		return "", twoWays(l, e, device+came, asNew+" of type "+e.bus, imageRemedy)
	}
	if there {
		return device, nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.leftNames(l, device))) {
		volume := d.Volumes[name]
		if at := have.Holder(volume); at != "" && l.owner(at) == "" {
			return "", twoWays(l, e, volume+" at "+at+came+" as "+device, asNew, `set its volume, "" for a new one`)
		}
	}
	return "", nil
}

// namedVolume returns the device of the source that has the volume which the spec names.
func (d Devices) namedVolume(l deviceList, e listEntry, have Config) string {
	volume := ptr.Deref(e.volume, "")
	at := have.Holder(volume)
	if l.name != listDisks || volume == "" || !slices.Contains(l.source, at) || l.owner(at) != "" {
		return ""
	}
	return at
}

// attachAgain records the values with which devices of listed entries are attached again: disks whose volumes are unused disks of the VM, and networks of
// the source.
func (d Devices) attachAgain(config Config, p *v1alpha1.MachineParameters) {
	for _, l := range d.lists(p) {
		if l.name != listDisks && l.name != listNetworks {
			continue
		}
		for _, e := range l.entries {
			value := d.Left[l.key(e.name)].Value
			if l.name == listDisks {
				value = d.unusedValue(e.name, value, config)
			}
			if _, there := config[l.devices[e.name]]; !there && value != "" && (l.name == listDisks || !d.Made[l.key(e.name)]) {
				d.returning[l.key(e.name)] = value
			}
		}
	}
}

// unusedValue returns the value with which a disk is attached again if its volume is an unused disk of the VM. It is empty otherwise. A disk that was not
// created for the list has its original options.
func (d Devices) unusedValue(name, left string, config Config) string {
	volume := d.Volumes[name]
	if at := config.Holder(volume); at == "" || BusOf(at) != "" {
		return ""
	}
	if volumeIn(left) == volume {
		return left
	}
	if options := d.Options[name]; options != "" {
		return volume + "," + options
	}
	return volume
}

// assignPassthroughs gives an entry the device of the VM that is what the entry asks for, if no other entry has it. Otherwise the entry gets a free
// device. What the entry asks for identifies the device, so an entry may be added at any time.
func (d Devices) assignPassthroughs(p *v1alpha1.MachineParameters, have Config) error {
	for _, t := range d.passthroughs(p) {
		for i, h := range t.hosts {
			if t.devices[h.name] != "" {
				continue
			}
			device := t.existing(h, have)
			if device == "" {
				device = lowestFree(t.devices, have, t.prefix)
			}
			if device == "" {
				return errors.Errorf("no free device for %s %q: Proxmox VE has %d", t.what, h.name, busSizes[t.prefix])
			}
			d.bind(t.deviceList, t.entries[i], device, have)
		}
	}
	return nil
}

// firstFree returns the first of the VM's devices that no entry has, on the bus if one is given.
func firstFree(taken map[string]string, existing []string, bus string) string {
	for _, device := range existing {
		if bus != "" && BusOf(device) != bus {
			continue
		}
		if !has(taken, device) {
			return device
		}
	}
	return ""
}

// lowestFree returns the lowest device of a bus that neither an entry nor the VM has.
func lowestFree(taken, have Config, bus string) string {
	for i := range busSizes[bus] {
		device := bus + strconv.Itoa(i)
		if _, ok := have[device]; !ok && !has(taken, device) {
			return device
		}
	}
	return ""
}

func has(taken map[string]string, device string) bool {
	for _, d := range taken {
		if d == device {
			return true
		}
	}
	return false
}

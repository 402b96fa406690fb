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

package faults

import (
	stdcmp "cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/bootorder"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// devices returns the devices that are recorded for the Machine.
func (w *env) devices() (qemu.Devices, error) {
	return qemu.ParseDevices(w.m.GetAnnotations()[object.AnnotationDevices])
}

// likeNew checks path independence: each entry of the spec has the same options on the VM as on that of a new Machine. Existing data are an exception:
// entries whose devices were created for the data name those devices for the new VM.
func (k *randomRun) likeNew(l *subject, g simulator.Guest) {
	k.t.Helper()
	p := k.m.Parameters()
	if l != k.subjects[0] || l.edited || len(p.Disks)+len(p.CDROMs)+len(p.Networks)+len(p.PCIDevices)+len(p.USBDevices)+len(p.VirtioFS) == 0 {
		return
	}
	kept, err := k.devices()
	if err != nil {
		k.t.Fatal(err)
	}
	s := l.start
	s.spec = specLike(p, l.start.spec, kept)
	k.oneSystem(g)
	if s.spec.Image != nil && qemu.ImageDisk(&s.spec) == "" {
		return // No new Machine is created without the disk that the image fills.
	}
	fresh := newEnv(k.t, s, 0)
	fresh.until(k.t, "a new Machine of the spec is settled", fresh.settled)
	made, err := fresh.devices()
	if err != nil {
		k.t.Fatal(err)
	}
	want := declared(&s.spec, made, effective(fresh.mine()), l.rewired)
	got := declared(&s.spec, kept, effective(g), l.rewired)
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("what is declared is not on VM %d as on one of a new Machine: -new, +VM:\n%s\n%s", g.VMID, diff, k)
	}
	k.nothingBeside(kept, effective(g))
	if !l.reordered {
		k.bootsLike(p, kept, effective(fresh.mine()), effective(g))
	}
}

// bootsLike checks that a VM boots from the same disk as a new one, unless the spec has a boot order, or the VM boots from another disk that it has.
func (k *randomRun) bootsLike(p *v1alpha1.MachineParameters, kept qemu.Devices, fresh, config map[string]string) {
	k.t.Helper()
	disks := qemu.Config(config).Disks()
	other := slices.ContainsFunc(bootorder.Devices(config["boot"]), func(device string) bool { return slices.Contains(disks, device) })
	for _, d := range p.Disks {
		device := kept.Disks[d.Name]
		if p.BootOrder == nil && !other && slices.Contains(bootorder.Devices(fresh["boot"]), device) {
			k.t.Errorf("a new VM boots from %s, and this one does not: %q\n%s", device, config["boot"], k)
		}
	}
}

// nothingBeside checks that a VM has no devices of the node except those of entries and retained ones, if their list is declared, since nothing else
// has added any.
func (k *randomRun) nothingBeside(kept qemu.Devices, config map[string]string) {
	k.t.Helper()
	p, known := k.m.Parameters(), map[string]bool{}
	for _, r := range k.m.Observation().RetainedDevices {
		known[r.Device] = true
	}
	note(known, kept.PCI, p.PCIDevices, func(d v1alpha1.MachinePCIDevice) string { return d.Name })
	note(known, kept.USB, p.USBDevices, func(d v1alpha1.MachineUSBDevice) string { return d.Name })
	note(known, kept.VirtioFS, p.VirtioFS, func(s v1alpha1.MachineVirtioFS) string { return s.Name })
	declared := map[string]bool{"hostpci": p.PCIDevices != nil, "usb": p.USBDevices != nil, "virtiofs": p.VirtioFS != nil}
	for option, value := range config {
		if declared[strings.TrimRight(option, "0123456789")] && !known[option] {
			k.t.Errorf("%s (%s) is neither declared nor retained\n%s", option, value, k)
		}
	}
}

// note records the devices of the entries of a list.
func note[T any](known map[string]bool, devices map[string]string, entries []T, name func(T) string) {
	for _, e := range entries {
		known[devices[name(e)]] = true
	}
}

// specLike returns a spec with the fields that determine devices.
func specLike(p *v1alpha1.MachineParameters, start v1alpha1.MachineParameters, kept qemu.Devices) v1alpha1.MachineParameters {
	p = p.DeepCopy()
	out := v1alpha1.MachineParameters{
		Template: p.Template, Clone: p.Clone, Image: p.Image, Node: start.Node, BIOS: p.BIOS, EFIDisk: p.EFIDisk, TPM: p.TPM,
		PowerState: new(v1alpha1.PowerStateStopped), CDROMs: p.CDROMs, Networks: p.Networks,
		PCIDevices: p.PCIDevices, USBDevices: p.USBDevices, VirtioFS: p.VirtioFS,
	}
	for _, d := range p.Disks {
		if d.Volume != nil {
			continue // A new VM has no such volume.
		}
		if kept.Made["disks/"+d.Name] || len(kept.Source.Disks) > 1 {
			d.Device = new(kept.Disks[d.Name])
		}
		out.Disks = append(out.Disks, d)
	}
	for i, c := range out.CDROMs {
		out.CDROMs[i].Device = new(kept.CDROMs[c.Name])
	}
	for i, n := range out.Networks {
		if kept.Made["networks/"+n.Name] || len(kept.Source.Networks) > 1 {
			out.Networks[i].Device = new(kept.Networks[n.Name])
		}
	}
	return out
}

// declared returns what a VM has of the lists of a spec: the devices of the entries, and the options that an entry can declare. Of networks that were
// edited manually, it returns the options that the entry does declare. Devices of the node are not compared by place.
func declared(p *v1alpha1.MachineParameters, kept qemu.Devices, config map[string]string, rewired bool) map[string]map[string]string {
	found := map[string]map[string]string{}
	for _, d := range p.Disks {
		device := kept.Disks[d.Name]
		has := map[string]string{"device": device, "there": "no"}
		if disk, err := proxmox.ParseDisk(config[device]); err == nil {
			has["there"] = "yes"
			if d.Storage != nil {
				has["storage"] = disk.Storage()
			}
			if size, known := disk.Size(); d.VolumeRef == nil && known && size < qemu.SizeOf(d) {
				has["size"] = size.String() + " of " + *d.Size
			}
			for _, key := range []string{"cache", "backup", "discard", "serial", "iops"} {
				has[key] = stdcmp.Or(disk.Options.Get(key), map[string]string{"cache": "none", "backup": "1", "discard": "ignore"}[key])
			}
		}
		found["disk "+d.Name] = has
	}
	for _, c := range p.CDROMs {
		volume, _, _ := strings.Cut(config[kept.CDROMs[c.Name]], ",")
		found["drive "+c.Name] = map[string]string{"device": kept.CDROMs[c.Name], "medium": volume}
	}
	for _, n := range p.Networks {
		found["network "+n.Name] = declaredNetwork(n, kept.Networks[n.Name], config, rewired)
	}
	for _, d := range p.PCIDevices {
		found["PCI device "+d.Name] = partsOf(config[kept.PCI[d.Name]], "host", "mapping", "rombar")
	}
	for _, d := range p.USBDevices {
		found["USB device "+d.Name] = partsOf(config[kept.USB[d.Name]], "host", "host", "mapping", "usb3")
	}
	for _, s := range p.VirtioFS {
		found["share "+s.Name] = partsOf(config[kept.VirtioFS[s.Name]], "dirid", "dirid", "cache")
	}
	return found
}

func declaredNetwork(n v1alpha1.MachineNetwork, device string, config map[string]string, rewired bool) map[string]string {
	has := map[string]string{"device": device, "there": "no"}
	nic, err := proxmox.ParseNIC(config[device])
	if err != nil {
		return has
	}
	has["there"] = "yes"
	for key, asked := range map[string]bool{"bridge": n.Bridge != nil, "tag": n.VLAN != nil, "firewall": n.Firewall != nil, "link_down": n.LinkDown != nil} {
		if asked || !rewired {
			has[key] = strings.TrimPrefix(nic.Options.Get(key), "0")
		}
	}
	if n.Model != nil || !rewired {
		has["model"] = nic.Model
	}
	return has
}

// partsOf returns the parts of a device of the node, with defaults for missing values. It is empty if there is no such device.
func partsOf(value, key string, parts ...string) map[string]string {
	p, err := propertystring.Parse(value, key)
	if value == "" || err != nil {
		return nil
	}
	found := map[string]string{}
	for _, part := range parts {
		found[part] = stdcmp.Or(p.Get(part), map[string]string{"rombar": "1", "usb3": "0", "cache": "auto"}[part])
	}
	return found
}

// oneSystem checks that the image of a Machine is on one disk of its VM, used or not: with two, the guest could boot from either.
func (k *randomRun) oneSystem(g simulator.Guest) {
	k.t.Helper()
	if k.m.Parameters().Image == nil {
		return
	}
	systems := map[string]bool{}
	k.pve.Edit(func(s *simulator.State) {
		for _, value := range effective(g) {
			file, _, _ := strings.Cut(value, ",")
			if v := s.Volume(g.Node, file); v != nil && v.System {
				systems[file] = true
			}
		}
	})
	if len(systems) > 1 {
		k.t.Errorf("VM %d has the image on several disks: %v\n%s", g.VMID, slices.Sorted(maps.Keys(systems)), k)
	}
}

// keepsMACs checks that no entry of the spec has got another MAC address while no other interface has got its own.
func (k *randomRun) keepsMACs(l *subject, g simulator.Guest) {
	k.t.Helper()
	if l.rewired || l.created != g.Config["meta"] {
		l.macs, l.created = nil, g.Config["meta"]
	}
	if l.macs == nil {
		l.macs = map[string]string{}
	}
	for _, n := range l.networksOff {
		if ptr.Deref(n.RemovalPolicy, "") == "Destroy" {
			delete(l.macs, n.Name) // It is removed on purpose.
		}
	}
	for _, n := range k.m.Observation().Networks {
		if n.Name == "" || n.MACAddress == "" {
			continue
		}
		had := l.macs[n.Name]
		maps.DeleteFunc(l.macs, func(name, mac string) bool { return mac == n.MACAddress && name != n.Name })
		if had != "" && had != n.MACAddress && !slices.ContainsFunc(k.m.Observation().Networks, func(other v1alpha1.MachineNetworkObservation) bool {
			return other.MACAddress == had
		}) {
			k.t.Errorf("network %q of VM %d had the MAC address %s, and has %s\n%s", n.Name, g.VMID, had, n.MACAddress, k)
		}
		l.macs[n.Name] = n.MACAddress
	}
}

// keepsData checks that no entry of the spec has got another volume while its own is an
// unused disk of the VM.
func (k *randomRun) keepsData(l *subject, g simulator.Guest) {
	k.t.Helper()
	if l.edited {
		l.volumes = nil
		return
	}
	unused := map[string]bool{}
	for option, value := range g.Config {
		if strings.HasPrefix(option, "unused") {
			unused[value] = true
		}
	}
	now := map[string]string{}
	for _, d := range k.m.Observation().Disks {
		if d.Name != "" && slices.ContainsFunc(k.m.Parameters().Disks, func(x v1alpha1.MachineDisk) bool { return x.Name == d.Name && x.VolumeRef == nil }) {
			now[d.Name] = d.Volume
		}
	}
	for name, volume := range now {
		if had := l.volumes[name]; had != "" && had != volume && unused[had] {
			k.t.Errorf("disk %q of VM %d is %s, and its data are unused: %s\n%s", name, g.VMID, volume, had, k)
		}
	}
	if l.volumes == nil {
		l.volumes = map[string]string{}
	}
	maps.Copy(l.volumes, now)
}

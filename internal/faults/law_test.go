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
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// devices that are kept of the Machine.
func (w *env) devices() (qemu.Devices, error) {
	return qemu.ParseDevices(w.m.GetAnnotations()[object.AnnotationDevices])
}

// likeNew checks the law of path independence: each entry of the spec is on the VM as it
// is on that of a new Machine. Exceptions are data that are there: entries whose devices
// were made for them name those for the new VM.
func (k *randomRun) likeNew(l *subject, g simulator.Guest) {
	k.t.Helper()
	p := k.m.Parameters()
	if l != k.subjects[0] || l.edited || len(p.Disks)+len(p.Networks) == 0 {
		return
	}
	kept, err := k.devices()
	if err != nil {
		k.t.Fatal(err)
	}
	s := l.start
	s.spec = specLike(p, l.start.spec, kept)
	fresh := newEnv(k.t, s, 0)
	fresh.until(k.t, "a new Machine of the spec is settled", fresh.settled)
	made, err := fresh.devices()
	if err != nil {
		k.t.Fatal(err)
	}
	want := declared(&s.spec, made, effective(fresh.mine()))
	got := declared(&s.spec, kept, effective(g))
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("what is declared is not on VM %d as on one of a new Machine: -new, +VM:\n%s\n%s", g.VMID, diff, k)
	}
}

// specLike is a spec with what decides about devices.
func specLike(p *v1alpha1.MachineParameters, start v1alpha1.MachineParameters, kept qemu.Devices) v1alpha1.MachineParameters {
	p = p.DeepCopy()
	out := v1alpha1.MachineParameters{
		Template: p.Template, Clone: p.Clone, Image: p.Image, Node: start.Node, BIOS: p.BIOS, EFIDisk: p.EFIDisk, TPM: p.TPM,
		PowerState: new(v1alpha1.PowerStateStopped), Networks: p.Networks,
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
	for i, n := range out.Networks {
		if kept.Made["networks/"+n.Name] || len(kept.Source.Networks) > 1 {
			out.Networks[i].Device = new(kept.Networks[n.Name])
		}
	}
	return out
}

// declared is what a VM has of the disks and networks of a spec: their devices, and the
// options that the spec declares.
func declared(p *v1alpha1.MachineParameters, kept qemu.Devices, config map[string]string) map[string]map[string]string {
	found := map[string]map[string]string{}
	for _, d := range p.Disks {
		device := kept.Disks[d.Name]
		has := map[string]string{"device": device, "there": "no"}
		if disk, err := proxmox.ParseDisk(config[device]); err == nil {
			has["there"] = "yes"
			if d.Storage != nil {
				has["storage"] = disk.Storage()
			}
		}
		found["disk "+d.Name] = has
	}
	for _, n := range p.Networks {
		device := kept.Networks[n.Name]
		has := map[string]string{"device": device, "there": "no"}
		if nic, err := proxmox.ParseNIC(config[device]); err == nil {
			has["there"] = "yes"
			for key, asked := range map[string]bool{"bridge": n.Bridge != nil, "tag": n.VLAN != nil, "firewall": n.Firewall != nil, "link_down": n.LinkDown != nil} {
				if asked {
					has[key] = strings.TrimPrefix(nic.Options.Get(key), "0")
				}
			}
		}
		found["network "+n.Name] = has
	}
	return found
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
		if d.Name != "" && slices.ContainsFunc(k.m.Parameters().Disks, func(x v1alpha1.MachineDisk) bool { return x.Name == d.Name }) {
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

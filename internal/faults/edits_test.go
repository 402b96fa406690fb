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
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A step does something to a Machine, to its VM or to the cluster, and returns a description.
type step func(*randomRun, *subject, *rand.Rand) string

// steps returns all operations of random runs.
func steps() map[string]step {
	all := map[string]step{}
	for _, some := range []map[string]step{edits(), deviceEdits(), volumeEdits(), manualEdits(), troubles()} {
		maps.Copy(all, some)
	}
	return all
}

func sorted(all map[string]step) []string { return slices.Sorted(maps.Keys(all)) }

// edits returns the edits that users make to a Machine.
func edits() map[string]step {
	return map[string]step{
		"cpu": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.CPU = &v1alpha1.MachineCPU{Cores: new(oneOf(r, int32(1), 2, 4))}
		}),
		"memory": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.Memory = new(resource.MustParse(oneOf(r, "512Mi", "1Gi", "3Gi")))
		}),
		"description": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.Description = new(oneOf(r, "", "ours", "ours\ntoo: ä % #"))
		}),
		"tags": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.Tags = oneOf(r, []string{}, []string{"b", "a"}, []string{"ours"})
		}),
		"name": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) { p.Name = new(oneOf(r, "one", "two.example.org")) }),
		"onboot": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.OnBoot, p.Balloon = new(oneOf(r, true, false)), oneOf(r, nil, new(true), new(false))
		}),
		"pool":       edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) { p.Pool = new(oneOf(r, "", "crossplane")) }),
		"node":       edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) { p.Node = new(oneOf(r, "pve1", "pve2", "pve3")) }),
		"protection": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) { p.Protection = oneOf(r, nil, new(true), new(false)) }),
		"extra": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.ExtraConfig = oneOf(r, nil, map[string]v1alpha1.ExtraValue{"keyboard": "de"}, map[string]v1alpha1.ExtraValue{"keyboard": ""})
		}),
		"hotplug": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.Hotplug = oneOf(r, []string{}, []string{"disk", "network"}, []string{"network", "cpu", "disk", "usb"})
		}),
		"ha": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.HighAvailability = oneOf(r, nil, &v1alpha1.MachineHighAvailability{}, &v1alpha1.MachineHighAvailability{Enabled: new(false)},
				&v1alpha1.MachineHighAvailability{MaxRestart: new(int32(2))})
		}),
		"power": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.RunStrategy = nil
			p.PowerState = oneOf(r, nil, new(v1alpha1.PowerStateRunning), new(v1alpha1.PowerStateStopped), new(v1alpha1.PowerStatePaused),
				new(v1alpha1.PowerStateSuspended))
		}),
		"strategy": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.PowerState = nil
			p.RunStrategy = oneOf(r, nil, new("Always"), new("RerunOnFailure"), new("Manual"), new("Halted"))
		}),
		"restarts": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			p.RestartPolicy = new(oneOf(r, "Never", "WhenRequired", "WhenRequired"))
			p.RestartTimeoutSeconds = oneOf(r, nil, new(int32(1)), new(int32(30)))
			p.MaintenanceWindow = oneOf(r, nil,
				&v1alpha1.MaintenanceWindow{Schedule: "* * * * *", DurationMinutes: 1, TimeZone: new("Europe/Oslo")},
				&v1alpha1.MaintenanceWindow{Schedule: "0 0 29 2 *", DurationMinutes: 1})
		}),
		"action": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
			action := oneOf(r, "Reboot", "Reset", "Shutdown", "Stop", "Start")
			p.PowerAction = &v1alpha1.MachinePowerAction{Action: action, Token: strconv.Itoa(r.IntN(1000))}
		}),
		"disk":      edit(addDisk),
		"grow":      edit(growDisk),
		"move":      edit(moveDisk),
		"policy":    edit(setRemoval),
		"drop":      dropDisk,
		"reattach":  reattach,
		"network":   edit(addNetwork),
		"rewire":    edit(changeNetwork),
		"retune":    edit(changeDisk),
		"unplug":    unplug,
		"absent":    leaveOut,
		"none":      takeAllOff,
		"putback":   putBack,
		"rename":    edit(renameDisk),
		"rebrand":   edit(renameNetwork),
		"cloudinit": edit(setCloudInit),
		"policies":  setPolicies,
		"pause": func(k *randomRun, _ *subject, r *rand.Rand) string {
			paused := oneOf(r, "true", "false")
			k.update(func(m *namespaced.Machine) {
				meta.AddAnnotations(m, map[string]string{meta.AnnotationKeyReconciliationPaused: paused})
			})
			return paused
		},
		"delete": func(k *randomRun, l *subject, _ *rand.Rand) string {
			if l.start.adopts != 0 && k.m.Observation().VMID == nil {
				return "nothing is adopted yet"
			}
			k.delete(k.t)
			return "deleted"
		},
		"anew": func(k *randomRun, l *subject, _ *rand.Rand) string {
			if !l.gone || l.start.adopts != 0 {
				return "is there"
			}
			k.create(l)
			return "created again"
		},
	}
}

// edit returns a step that changes the spec in a way that the API server accepts.
func edit(change func(*v1alpha1.MachineParameters, *rand.Rand)) step {
	return func(k *randomRun, _ *subject, r *rand.Rand) string {
		if !k.exists(k.t) {
			return "is gone"
		}
		before := k.m.Parameters().DeepCopy()
		k.change(k.t, func(p *v1alpha1.MachineParameters) {
			before = p.DeepCopy()
			change(p, r)
			agree(p)
		})
		return diff(before, k.m.Parameters())
	}
}

// agree resolves conflicts between fields that exclude each other.
func agree(p *v1alpha1.MachineParameters) {
	if p.HighAvailability != nil && ptr.Deref(p.HighAvailability.Enabled, true) && ptr.Deref(p.PowerState, "") == v1alpha1.PowerStateSuspended {
		p.PowerState = nil
	}
}

func addDisk(p *v1alpha1.MachineParameters, r *rand.Rand) {
	d := v1alpha1.MachineDisk{
		Name: fmt.Sprintf("more%d", r.IntN(1e6)), Size: new(oneOf(r, "1G", "2G")), Storage: oneOf(r, nil, new("ceph"), new("local-lvm"), new("nfs")),
		Type: oneOf(r, nil, new("scsi"), new("virtio"), new("sata")), RemovalPolicy: oneOf(r, nil, new("Destroy"), new("Retain")),
	}
	if oneOf(r, true, false) {
		d.Type, d.Device = nil, new(fmt.Sprintf("scsi%d", 10+r.IntN(20)))
		if slices.ContainsFunc(p.Disks, func(other v1alpha1.MachineDisk) bool { return ptr.Deref(other.Device, "") == *d.Device }) {
			return // Admission refuses it.
		}
	}
	if len(p.Disks) > 0 || p.Template == nil {
		p.Disks = slices.Insert(p.Disks, oneOf(r, len(p.Disks), min(1, len(p.Disks)), 0), d)
		return
	}
	p.Disks = []v1alpha1.MachineDisk{{Name: "root", Device: new("scsi0")}, d}
}

// anyDisk returns a random disk of the list, or nil if the list is empty.
func anyDisk(p *v1alpha1.MachineParameters, r *rand.Rand) *v1alpha1.MachineDisk {
	if len(p.Disks) == 0 {
		return nil
	}
	return &p.Disks[r.IntN(len(p.Disks))]
}

func growDisk(p *v1alpha1.MachineParameters, r *rand.Rand) {
	if d := anyDisk(p, r); d != nil && d.VolumeRef == nil {
		var gib int
		_, _ = fmt.Sscanf(ptr.Deref(d.Size, "8G"), "%dG", &gib)
		d.Size = new(fmt.Sprintf("%dG", max(1, gib+oneOf(r, -1, 1, 1, 2, 3))))
	}
}

func moveDisk(p *v1alpha1.MachineParameters, r *rand.Rand) {
	if d := anyDisk(p, r); d != nil && d.VolumeRef == nil {
		d.Storage = new(oneOf(r, "ceph", "local-lvm", "nfs"))
	}
}

func setRemoval(p *v1alpha1.MachineParameters, r *rand.Rand) {
	if d := anyDisk(p, r); d != nil && d.VolumeRef == nil {
		d.RemovalPolicy = oneOf(r, nil, new("Detach"), new("Destroy"), new("Retain"))
	}
}

// dropDisk removes a disk from the list.
func dropDisk(k *randomRun, l *subject, r *rand.Rand) string {
	return edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
		i := r.IntN(max(1, len(p.Disks)))
		if i >= len(p.Disks) {
			return
		}
		l.takeOff(p.Disks[i])
		p.Disks = slices.Delete(slices.Clone(p.Disks), i, i+1)
	})(k, l, r)
}

func (l *subject) takeOff(d v1alpha1.MachineDisk) {
	if ptr.Deref(d.RemovalPolicy, "") == "Destroy" {
		l.mayGo++
	}
	if d.Volume == nil && d.VolumeRef == nil {
		l.disksOff = append(l.disksOff, d)
	}
}

// unplug removes the last network.
func unplug(k *randomRun, l *subject, r *rand.Rand) string {
	return edit(func(p *v1alpha1.MachineParameters, _ *rand.Rand) {
		if last := len(p.Networks) - 1; last >= 0 {
			l.networksOff = append(l.networksOff, p.Networks[last])
			p.Networks = p.Networks[:last]
		}
	})(k, l, r)
}

// leaveOut unsets a list. Its former entries may be restored later.
func leaveOut(k *randomRun, l *subject, r *rand.Rand) string {
	return edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
		if oneOf(r, true, false) {
			l.networksOff, p.Networks = append(l.networksOff, p.Networks...), nil
			return
		}
		for _, d := range p.Disks {
			l.takeOff(d)
		}
		p.Disks = nil
	})(k, l, r)
}

// takeAllOff removes all entries of a list.
func takeAllOff(k *randomRun, l *subject, r *rand.Rand) string {
	return edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
		if oneOf(r, true, false) {
			l.networksOff, p.Networks = append(l.networksOff, p.Networks...), []v1alpha1.MachineNetwork{}
			return
		}
		for _, d := range p.Disks {
			l.takeOff(d)
		}
		p.Disks = []v1alpha1.MachineDisk{}
	})(k, l, r)
}

// putBack restores an entry that was removed from its list.
func putBack(k *randomRun, l *subject, r *rand.Rand) string {
	return edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
		if n := len(l.disksOff); n > 0 && (len(l.networksOff) == 0 || oneOf(r, true, false)) {
			back := l.disksOff[r.IntN(n)]
			if !slices.ContainsFunc(p.Disks, func(d v1alpha1.MachineDisk) bool { return d.Name == back.Name }) {
				p.Disks = append(p.Disks, back)
			}
			return
		}
		if n := len(l.networksOff); n > 0 {
			back := l.networksOff[r.IntN(n)]
			if !slices.ContainsFunc(p.Networks, func(d v1alpha1.MachineNetwork) bool { return d.Name == back.Name }) {
				p.Networks = append(p.Networks, back)
			}
		}
	})(k, l, r)
}

// renameDisk gives a disk another name, if its device is declared or an image has filled it.
func renameDisk(p *v1alpha1.MachineParameters, r *rand.Rand) {
	if d := anyDisk(p, r); d != nil && (d.Device != nil || d.Name == qemu.ImageDisk(p)) {
		d.Name = fmt.Sprintf("other%d", r.IntN(1e6))
	}
}

func renameNetwork(p *v1alpha1.MachineParameters, r *rand.Rand) {
	if n := len(p.Networks); n > 0 && p.Networks[n-1].Device != nil {
		p.Networks[n-1].Name = fmt.Sprintf("other%d", r.IntN(1e6))
	}
}

// reattach attaches an unused disk of the VM.
func reattach(k *randomRun, l *subject, r *rand.Rand) string {
	g, ok := k.guest()
	if !ok {
		return "no VM"
	}
	for _, option := range slices.Sorted(maps.Keys(g.Config)) {
		if volume, _, _ := strings.Cut(g.Config[option], ","); strings.HasPrefix(option, "unused") {
			return edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) {
				p.Disks = append(p.Disks, v1alpha1.MachineDisk{Name: fmt.Sprintf("again%d", r.IntN(1e6)), Volume: &volume, Type: new("scsi")})
			})(k, l, r)
		}
	}
	return "no unused disk"
}

func addNetwork(p *v1alpha1.MachineParameters, r *rand.Rand) {
	n := v1alpha1.MachineNetwork{Name: fmt.Sprintf("more%d", r.IntN(1e6)), Bridge: oneOf(r, nil, new("vmbr0"), new("vmbr1"))}
	if oneOf(r, true, false) {
		n.VLAN = new(int32(20))
	}
	if device := fmt.Sprintf("net%d", 8+r.IntN(20)); oneOf(r, true, false) {
		if slices.ContainsFunc(p.Networks, func(other v1alpha1.MachineNetwork) bool { return ptr.Deref(other.Device, "") == device }) {
			return
		}
		n.Device = &device
	}
	n.RemovalPolicy = oneOf(r, nil, new("Detach"), new("Retain"), new("Destroy"))
	p.Networks = slices.Insert(p.Networks, oneOf(r, len(p.Networks), len(p.Networks), len(p.Networks), 0), n)
}

func changeNetwork(p *v1alpha1.MachineParameters, r *rand.Rand) {
	if len(p.Networks) == 0 {
		return
	}
	n := &p.Networks[r.IntN(len(p.Networks))]
	n.Bridge, n.VLAN = oneOf(r, nil, new("vmbr0"), new("vmbr1")), oneOf(r, nil, new(int32(0)), new(int32(30)))
	n.Firewall, n.LinkDown = oneOf(r, nil, new(true)), oneOf(r, nil, new(true), new(false))
}

// changeDisk changes the declared options of a disk, or removes them.
func changeDisk(p *v1alpha1.MachineParameters, r *rand.Rand) {
	d := anyDisk(p, r)
	if d == nil {
		return
	}
	d.Cache, d.Backup = oneOf(r, nil, new("writeback"), new("none")), oneOf(r, nil, new(false))
	d.Discard, d.Serial = oneOf(r, nil, new(true)), oneOf(r, nil, new("a b"))
	d.Limits = oneOf(r, nil, &v1alpha1.MachineDiskLimits{TotalIOPS: new(int32(100))})
}

func setCloudInit(p *v1alpha1.MachineParameters, r *rand.Rand) {
	if p.CloudInit == nil {
		p.CloudInit = &v1alpha1.MachineCloudInit{}
	}
	c := p.CloudInit
	switch r.IntN(4) {
	case 0:
		c.User, c.PasswordSecretRef = new("admin"), passwordAt(oneOf(r, "first", "second"))
		c.UserData = nil
	case 1:
		c.UserData, c.PasswordSecretRef, c.User = &v1alpha1.CloudInitData{SecretRef: &v1alpha1.SecretKeyReference{
			Name: "userdata", Key: oneOf(r, "a", "b"),
		}}, nil, nil
	case 2:
		c.ChangePolicy = oneOf(r, nil, new("Ignore"), new("Regenerate"), new("RerunOnReboot"))
	case 3:
		c.SSHKeys = oneOf(r, nil, []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtK0oqxHqHCq7eJmX0WQ7Qo6Qm0nJ9mJ0m3bT6qg1Xl a@b"})
		c.UserData = nil
	}
	if ofUbuntu := p.Template != nil && p.Template.StrVal == "ubuntu-24.04"; c.Storage == nil && (c.UserData != nil || !ofUbuntu) {
		c.Storage = new(oneOf(r, "local", "nfs"))
	}
}

// userData returns a Secret with data for guests.
func userData() client.Object {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "userdata"},
		Data:       map[string][]byte{"a": []byte("#cloud-config\nx: rosebud-a\n"), "b": []byte("#cloud-config\nx: rosebud-b\n")},
	}
}

func setPolicies(k *randomRun, _ *subject, r *rand.Rand) string {
	const observe, create, update, remove = xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate, xpv2.ManagementActionDelete
	policies := oneOf(r, xpv2.ManagementPolicies{xpv2.ManagementActionAll}, xpv2.ManagementPolicies{observe},
		xpv2.ManagementPolicies{observe, create, update}, xpv2.ManagementPolicies{observe, create, update, remove}, xpv2.ManagementPolicies{observe, remove})
	k.update(func(m *namespaced.Machine) { m.SetManagementPolicies(policies); m.Generation++ })
	return fmt.Sprint(policies)
}

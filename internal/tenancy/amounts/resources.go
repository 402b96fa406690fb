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

package amounts

import (
	"cmp"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// The interfaces that identify the kinds that count, in both scopes.
type (
	machine interface {
		Parameters() *v1alpha1.MachineParameters
		Observation() *v1alpha1.MachineObservation
	}
	snapshot interface {
		Parameters() *v1alpha1.SnapshotParameters
		Observation() *v1alpha1.SnapshotObservation
	}
	backup interface {
		Parameters() *v1alpha1.BackupParameters
		Observation() *v1alpha1.BackupObservation
	}
)

// There returns the amounts that the status of a resource shows, and the VMID that it names, or 0. The result begun is true if its VM has not been
// observed yet, so that only its spec or its record shows what exists. A kind that does not count has no amounts.
func There(mg resource.Managed) (there quota.Amounts, vmid int, begun bool) {
	switch m := mg.(type) {
	case machine:
		return ofMachine(mg, m)
	case volumeref.Volume:
		return ofVolume(m)
	case snapshot:
		if m.Observation().Time != nil {
			there = quota.Amounts{quota.Snapshots: 1}
		}
	case backup:
		if m.Observation().Time != nil {
			there = quota.Amounts{quota.Backups: 1}
		}
	}
	return there, 0, false
}

// ofMachine returns the amounts that the status of a Machine shows. If the creation of its VM has begun, it returns what the VM will have, as far as
// the spec shows it.
func ofMachine(mg resource.Managed, m machine) (there quota.Amounts, vmid int, begun bool) {
	o, p := m.Observation(), m.Parameters()
	vmid = tenancy.VMIDOf(meta.GetExternalName(mg))
	if o.UUID == "" {
		if meta.GetExternalCreatePending(mg).IsZero() {
			return nil, vmid, false
		}
		return Disks{}.ofSpec(p, qemu.Defaults{}), vmid, true
	}
	a := quota.Amounts{quota.VMs: 1, quota.Memory: ptr.Deref(o.MemoryBytes, 0)}
	if o.CPU != nil {
		a[quota.Cores] = int64(o.CPU.Cores) * int64(o.CPU.Sockets)
	}
	for _, k := range o.Disks {
		if isVolume(p, k.Name) {
			continue
		}
		size, _ := proxmox.ParseSize(k.Size)
		a.Add(quota.Disks(storageOf(k.Volume)), int64(size))
	}
	for _, n := range o.Networks {
		a.Add(quota.Addresses(n.Bridge), 1)
	}
	return quota.Most(a, nil), vmid, false
}

// ofSpec returns the amounts that a VM without a source will have.
func (k Disks) ofSpec(p *v1alpha1.MachineParameters, defaults qemu.Defaults) quota.Amounts {
	d := qemu.Desired{MachineParameters: p, Defaults: defaults}
	d.Devices, _ = qemu.Devices{}.Assign(p, nil) // A spec for which this fails is not created.
	return k.After(d, nil)
}

// StubMemory is the memory of the stub VM of a Volume in MiB. It is the minimum that PVE accepts: that VM is never started.
const StubMemory = 16

// Stub returns the amounts of the stub VM of a Volume, as the cluster lists it.
func Stub() quota.Amounts {
	return quota.Amounts{quota.VMs: 1, quota.Cores: 1, quota.Memory: int64(StubMemory * proxmox.MiB)}
}

// ofVolume returns the amounts that a Volume is observed to have. The size of an unused disk is not known, so the granted size counts. While there is
// no disk, only the record of the Volume shows its stub VM.
func ofVolume(m volumeref.Volume) (there quota.Amounts, vmid int, begun bool) {
	r, err := volumeref.RecordOf(m)
	if err != nil || r.VMID == 0 && !r.Made() {
		return nil, 0, false
	}
	a := Stub()
	if r.Made() && !r.Lost {
		size, _ := proxmox.ParseSize(m.Observation().Size) // Nothing is 0 bytes.
		a[quota.Disks(storageOf(r.Volume))] = int64(size)
	}
	return a, r.VMID, !r.Made()
}

// A VM has what is known of the VM of a Machine.
type VM struct {
	Disks

	// Config of the VM; nil if the Machine has no VM.
	Config qemu.Config
}

// Wants returns all that a resource will have by its spec, including what its VM keeps.
func Wants(mg resource.Managed, defaults qemu.Defaults, vm VM) quota.Amounts {
	switch m := mg.(type) {
	case machine:
		return wantsOfMachine(mg, m, defaults, vm)
	case volumeref.Volume:
		return wantsOfVolume(m, defaults.Storage)
	case snapshot:
		return quota.Amounts{quota.Snapshots: 1}
	case backup:
		return quota.Amounts{quota.Backups: 1}
	}
	return nil
}

func wantsOfMachine(mg resource.Managed, m machine, defaults qemu.Defaults, vm VM) quota.Amounts {
	if vm.Config == nil {
		return vm.ofSpec(m.Parameters(), defaults)
	}
	before, err := qemu.ParseDevices(mg.GetAnnotations()[tenancy.AnnotationDevices])
	if err != nil {
		return vm.Of(vm.Config) // Its Machine reports the error.
	}
	d := qemu.Desired{MachineParameters: m.Parameters(), Defaults: defaults}
	if d.Devices, err = before.On(qemu.State{Config: vm.Config, Active: vm.Config}, d.MachineParameters, defaults, mg.GetGeneration()); err != nil {
		return vm.Of(vm.Config)
	}
	return vm.After(d, vm.Config)
}

// wantsOfVolume counts the disk on its storage, or on the storage where it will be created or moved to.
func wantsOfVolume(m volumeref.Volume, defaultStorage string) quota.Amounts {
	there, _, _ := ofVolume(m)
	r, err := volumeref.RecordOf(m)
	if err != nil {
		return there
	}
	p, a := m.Parameters(), Stub()
	size, _ := proxmox.ParseSize(ptr.Deref(p.Size, ""))
	at := storageOf(r.Volume)
	storage := cmp.Or(ptr.Deref(p.Storage, ""), at, defaultStorage)
	a[quota.Disks(storage)] = max(int64(size), there[quota.Disks(at)])
	return quota.Most(a, nil)
}

// Open reports whether the VM of a Machine may have more of an amount than Wants returns, since it has not been created yet and what its template,
// backup or image adds is known only afterwards.
func Open(mg resource.Managed, name string) bool {
	m, is := mg.(machine)
	if !is {
		return false
	}
	p := m.Parameters()
	copied := p.Clone != nil || p.Template != nil || len(p.TemplateTags) > 0 || p.TemplateRef != nil || p.TemplateSelector != nil ||
		p.Restore != nil || p.Image != nil && p.Image.Ref != nil
	_, isDisks := quota.StorageOf(name)
	_, isAddresses := quota.BridgeOf(name)
	switch {
	case isDisks:
		return copied || p.Image != nil
	case isAddresses:
		return copied
	case name == quota.Memory:
		return copied && p.Memory == nil
	case name == quota.Cores:
		return copied && (p.CPU == nil || p.CPU.Cores == nil || p.CPU.Sockets == nil)
	}
	return false
}

// isVolume reports whether a disk of a spec is that of a Volume.
func isVolume(p *v1alpha1.MachineParameters, name string) bool {
	return slices.ContainsFunc(p.Disks, func(k v1alpha1.MachineDisk) bool { return k.Name == name && k.VolumeRef != nil })
}

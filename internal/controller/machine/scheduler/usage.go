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

package scheduler

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// ContentImages is the content type of storages that hold disks.
const ContentImages = "images"

// A reservedFunc returns what was reserved for an ID, if anything was.
type reservedFunc func(id string) (placement.Occupant, bool)

// An annotationsCountFunc reports whether the annotations of a Machine determine where its VM is to be. If it is nil, all count.
type annotationsCountFunc func(resource.Managed) bool

func (f annotationsCountFunc) of(m object.Machine) bool { return f == nil || f(m) }

// occupantsOf returns the users of the cluster's nodes: the guests that PVE lists, each once, and Machines that it does not list yet or not as they
// will be. A Machine does not count for a guest that is not its VM: that guest belongs to no Machine.
func occupantsOf(v View, machines []object.Machine, reserved reservedFunc) []placement.Occupant {
	byID := make(map[int]proxmox.Guest, len(v.Guests))
	for _, g := range v.Guests {
		byID[g.VMID] = g
	}
	owned := make(map[int]object.Machine, len(machines))
	out := make([]placement.Occupant, 0, len(v.Guests)+len(machines))
	for _, m := range machines {
		vmid, _ := strconv.Atoi(meta.GetExternalName(m)) // No guest has VMID zero.
		if g, listed := byID[vmid]; listed && (v.GuestCounts == nil || v.GuestCounts(m, g)) {
			if has := owned[vmid]; has == nil || claimsMore(m, has, reserved, v.AnnotationsCount) {
				owned[vmid] = m
			}
			continue
		}
		if o, ok := occupantOf(m, proxmox.Guest{}, reserved, v.AnnotationsCount, byID, v.Storage); ok {
			out = append(out, o)
		}
	}
	for _, g := range v.Guests {
		if g.Template {
			continue
		}
		o := occupant(g)
		if m := owned[g.VMID]; m != nil {
			if its, ok := occupantOf(m, g, reserved, v.AnnotationsCount, byID, v.Storage); ok {
				o = its
			}
		}
		out = append(out, o)
	}
	return out
}

// claimsMore reports whether one Machine rather than another has a VM that both name.
func claimsMore(m, than object.Machine, reserved reservedFunc, annotationsCount annotationsCountFunc) bool {
	proof := func(m object.Machine) int {
		_, booked := reserved(string(m.GetUID()))
		uuid := m.Observation().UUID
		switch {
		case booked:
			return 3
		case uuid != "" && uuid == m.GetAnnotations()[object.AnnotationUUID] && annotationsCount.of(m):
			return 2
		case comes(m):
			return 1
		}
		return 0
	}
	if has, other := proof(m), proof(than); has != other {
		return has > other
	}
	return kind.Older(m, than)
}

func occupant(g proxmox.Guest) placement.Occupant {
	return placement.Occupant{Node: g.Node, Runs: g.Status != "stopped", CPUs: g.MaxCPU, Memory: g.MaxMemory}
}

// settledGuest reports whether PVE shows a guest as it will be. It does not if the guest has just been created or is still being copied, possibly on
// another node.
func settledGuest(g proxmox.Guest) bool {
	return g.VMID != 0 && g.Status != "unknown" && g.MaxMemory > 0 && !slices.Contains([]string{"clone", "create", "migrate"}, g.Lock)
}

// occupantOf returns the usage of a Machine, if it has a VM or a node for one. If its annotations do not count, only its reservation and the list of
// PVE determine that.
func occupantOf(
	m object.Machine, g proxmox.Guest, reserved reservedFunc, annotationsCount annotationsCountFunc, guests map[int]proxmox.Guest, storage string,
) (placement.Occupant, bool) {
	o, was := occupant(g), settledGuest(g)
	r, booked := reserved(string(m.GetUID()))
	told := booked || annotationsCount.of(m)
	switch {
	case was:
	case booked:
		o = r
	case g.VMID == 0 && (!comes(m) || !told):
		return o, false
	case told && m.GetAnnotations()[object.AnnotationNode] != "" && !meta.WasDeleted(m):
		o = needOf(m, sourceConfig(m, guests), storage)
		o.Node = m.GetAnnotations()[object.AnnotationNode]
	}
	if told {
		o.Node = cmp.Or(m.GetAnnotations()[object.AnnotationTarget], o.Node)
	}
	o.Runs = o.Runs || (told || comes(m)) && !meta.WasDeleted(m) && Runs(m.Parameters())
	o.Coming = o.Runs && (!was || g.Status == "stopped")
	o.ID, o.Namespace, o.Labels = string(m.GetUID()), m.GetNamespace(), m.GetLabels()
	o.Rules = RulesOf(m)
	return o, o.Node != ""
}

// comes reports whether a VM may be about to be created for a Machine. A Machine that is not reconciled takes no room from others by its annotations.
// The same applies to a Machine whose VM its tenant may not have.
func comes(m object.Machine) bool {
	reason := m.GetCondition(kind.TypeUpToDate).Reason
	return !meta.WasDeleted(m) && !meta.IsPaused(m) && reason != v1alpha1.ReasonTenantRefused && reason != v1alpha1.ReasonQuotaExceeded
}

// RulesOf returns where a Machine asks to be placed.
func RulesOf(m object.Machine) v1alpha1.MachinePlacement {
	if p := m.Parameters().Placement; p != nil {
		return *p
	}
	return v1alpha1.MachinePlacement{}
}

// Runs reports whether the VM is to run.
func Runs(p *v1alpha1.MachineParameters) bool {
	return p.PowerState == nil || *p.PowerState == v1alpha1.PowerStateRunning
}

// sourceConfig returns the configuration of the source of a Machine as far as the list of guests shows it.
func sourceConfig(m object.Machine, guests map[int]proxmox.Guest) qemu.Config {
	vmid, _ := strconv.Atoi(m.GetAnnotations()[object.AnnotationSource])
	g, ok := guests[vmid]
	if !ok {
		return nil
	}
	return qemu.Config{"memory": strconv.FormatInt(g.MaxMemory/int64(proxmox.MiB), 10), "cores": strconv.Itoa(g.MaxCPU)}
}

// needOf returns the needs of a Machine whose VM starts with a configuration. Only the disks of a VM that is created without a source are known from
// its spec alone.
func needOf(m object.Machine, config qemu.Config, storage string) placement.Occupant {
	p := m.Parameters()
	o := placement.Occupant{Runs: Runs(p), CPUs: CPUsOf(p, config), Memory: MemoryOf(p, config)}
	for _, k := range p.Disks {
		if m.GetAnnotations()[object.AnnotationSource] == "" && k.VolumeRef == nil {
			o.Disks = append(o.Disks, RoomFor(k, storage))
		}
	}
	return o
}

// RoomFor returns the space that a new disk takes.
func RoomFor(k v1alpha1.MachineDisk, defaultStorage string) placement.Disk {
	return placement.Disk{Storage: cmp.Or(ptr.Deref(k.Storage, ""), defaultStorage), Content: ContentImages, Bytes: int64(qemu.SizeOf(k))}
}

// CPUsOf returns the number of CPUs of a VM according to its spec, or else to the configuration that it starts with.
func CPUsOf(p *v1alpha1.MachineParameters, config qemu.Config) int {
	cores, sockets := config.Integer("cores", 1), config.Integer("sockets", 1)
	if p.CPU != nil && p.CPU.Cores != nil {
		cores = *p.CPU.Cores
	}
	if p.CPU != nil && p.CPU.Sockets != nil {
		sockets = *p.CPU.Sockets
	}
	return int(cores) * int(sockets)
}

// MemoryOf returns the memory of a VM according to its spec, or else to the configuration that it starts with.
func MemoryOf(p *v1alpha1.MachineParameters, config qemu.Config) int64 {
	if p.Memory != nil {
		return p.Memory.Value()
	}
	return config.Memory()
}

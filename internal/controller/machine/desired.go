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
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/cloudinit"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/networks"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rules"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A desired VM has its configuration, and the other values that determine how the spec is carried out.
type desired struct {
	power.Policy

	// name of the resource.
	name string

	// goesTo is the node that placement has chosen, if the VM is created on another.
	goesTo string

	// image is the NoCloud image that the VM is to have, if any.
	image *cloudinit.Image

	// password of cloud-init's user, if it is to be sent. unchangedPassword is the version of the password that was sent, if only its Secret has changed
	// since.
	password          *password.Password
	unchangedPassword string

	// awaited lists why the VM does not have Volumes that the spec lists.
	awaited []string

	// touching are the disks of Volumes that concern the VM.
	touching []volumes.Disk

	// exceeded is why the VM does not grow, if the quota of its tenant has no room.
	exceeded error

	// haRules are the changes of HA's rules of the VM.
	haRules rules.Rules
}

// A specReader reads a spec along with the other values that determine how it is carried out.
type specReader struct {
	vm       *vmstate.VM // nil if there is none
	bridges  *networks.Bridges
	pooled   *ipam.Addresses
	tenant   tenant.Checks
	defaults qemu.Defaults
}

// spec returns the specReader of this reconcile.
func (e *external) spec() specReader {
	return specReader{vm: e.vm, bridges: e.bridges, pooled: e.pooled, tenant: e.tenant, defaults: e.defaults.Defaults}
}

// desired returns the VM that a spec asks for.
func (r specReader) desired(m Machine, id qemu.Identity) desired {
	p := m.Parameters()
	if r.vm == nil {
		p = qemu.WithImage(p, images.PinnedVolume(m))
	}
	p = r.pooled.Parameters(r.bridges.Parameters(p), func(network string) *v1alpha1.MachineIPConfig { return r.ipConfig(m, id, network) })
	if r.vm == nil {
		p = r.tenant.WithDefaultPool(p)
	}
	return desired{
		Policy: power.Policy{Desired: qemu.Desired{
			MachineParameters: p,
			Identity:          id,
			Tenant:            object.TenantOf(m.GetLabels()),
			CarriedTags:       r.tenant.WantedTags(r.vm),
			Defaults:          r.defaults,
			Created:           !meta.GetExternalCreatePending(m).IsZero(),
		}},
		name:   m.GetName(),
		goesTo: m.GetAnnotations()[object.AnnotationTarget],
	}
}

// ipConfig returns the IP configuration of a network as the VM has it, or nil if the network's device is not known.
func (r specReader) ipConfig(m Machine, id qemu.Identity, network string) *v1alpha1.MachineIPConfig {
	before, err := object.RecordedDevices(m, id)
	if err != nil || r.vm == nil || before.Networks[network] == "" {
		return nil
	}
	return ipam.Configured(r.vm.Config[qemu.IPConfigName(before.Networks[network])])
}

// defaults of the provider config.
type defaults struct {
	qemu.Defaults

	// Node of VMs whose spec names none, the candidates if there is no such node, and the preferred nodes.
	Node      string
	Nodes     []string
	Preferred []string
}

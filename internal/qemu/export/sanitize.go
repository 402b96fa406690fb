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

package export

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A constraint concerns settings that Proxmox VE accepts and admission rejects, because they have no effect or the VM would not start. Each corresponds to
// a rule in the API's schema.
type constraint struct {
	option, reason string

	// drop removes the setting from the parameters and reports whether it was there.
	drop func(p *v1alpha1.MachineParameters) bool
}

// constraints of settings that a VM has once.
//
//nolint:gochecknoglobals // A constant.
var constraints = []constraint{
	{"memory", "it is less than 64 MiB", func(p *v1alpha1.MachineParameters) bool {
		return dropIf(&p.Memory, p.Memory != nil && p.Memory.Value() < 64*int64(proxmox.MiB))
	}},
	{"balloon", "it is more than the VM's memory", func(p *v1alpha1.MachineParameters) bool {
		least := &p.MemoryOptions.Minimum
		return dropIf(least, *least != nil && p.Memory != nil && (*least).Cmp(*p.Memory) > 0)
	}},
	{"vcpus", "they are more than cores * sockets", func(p *v1alpha1.MachineParameters) bool {
		c := p.CPU
		if c.VCPUs != nil && c.Cores == nil {
			c.Cores = new(int32(1)) // This is the value that the VM has.
		}
		return dropIf(&c.VCPUs, c.VCPUs != nil && *c.VCPUs > *c.Cores*orOne(c.Sockets))
	}},
	{"cpu flags", "they need a type of CPU", func(p *v1alpha1.MachineParameters) bool {
		clashing := len(p.CPU.Flags) > 0 && p.CPU.Type == nil
		if clashing {
			p.CPU.Flags = nil
		}
		return clashing
	}},
	{"efidisk0 pre-enrolled-keys", "they need efitype 4m", func(p *v1alpha1.MachineParameters) bool {
		e := p.EFIDisk
		return e != nil && dropIf(&e.PreEnrolledKeys, ptr.Deref(e.PreEnrolledKeys, false) && e.Type != nil && *e.Type != "4m")
	}},
}

func dropIf[T any](field **T, clashing bool) bool {
	if clashing {
		*field = nil
	}
	return clashing
}

func orOne(v *int32) int32 {
	if v == nil {
		return 1
	}
	return *v
}

// sanitize makes the spec conform to the rules of admission about combinations of values.
func (w *writer) sanitize() {
	for _, c := range constraints {
		if c.drop(w.p) {
			w.omit(c.option, "", c.reason)
		}
	}
	for i := range w.p.Disks {
		w.sanitizeDisk(&w.p.Disks[i])
	}
	for i := range w.p.Networks {
		w.sanitizeNetwork(&w.p.Networks[i])
	}
}

func (w *writer) sanitizeDisk(k *v1alpha1.MachineDisk) {
	l := k.Limits
	both := func(total, each []bool) bool { return slices.Contains(total, true) && slices.Contains(each, true) }
	if both([]bool{l.TotalMBps != nil, l.TotalBurstMBps != nil},
		[]bool{l.ReadMBps != nil, l.WriteMBps != nil, l.ReadBurstMBps != nil, l.WriteBurstMBps != nil}) ||
		both([]bool{l.TotalIOPS != nil, l.TotalBurstIOPS != nil},
			[]bool{l.ReadIOPS != nil, l.WriteIOPS != nil, l.ReadBurstIOPS != nil, l.WriteBurstIOPS != nil}) {
		*l = v1alpha1.MachineDiskLimits{}
		w.omit(k.Name, "", "limits are for reading and writing each or for their total, not both")
	}
}

const modelForOptions = "virtio"

func (w *writer) sanitizeNetwork(n *v1alpha1.MachineNetwork) {
	for key, drop := range map[string]bool{
		"mtu":         dropIf(&n.MTU, ptr.Deref(n.MTU, 0) != 0 && *n.Model != modelForOptions),
		"host-tunnel": dropIf(&n.HostTunnel, n.HostTunnel != nil && *n.Model != modelForOptions),
	} {
		if drop {
			w.omit(n.Name, key, "it needs the model "+modelForOptions)
		}
	}
	c := n.IPConfig
	if c == nil {
		return
	}
	w.sanitizeGateway(n.Name, "gw", &c.Gateway, ptr.Deref(c.Address, ""))
	w.sanitizeGateway(n.Name, "gw6", &c.Gateway6, ptr.Deref(c.Address6, ""))
}

// sanitizeGateway leaves out a gateway that admission rejects for an address.
func (w *writer) sanitizeGateway(network, key string, gateway **string, address string) {
	switch {
	case dropIf(gateway, *gateway != nil && !qemu.IsStatic(address)):
		w.omit(qemu.IPConfigName(network), key, "it needs a static address")
	case dropIf(gateway, *gateway != nil && !onLink(**gateway, address)):
		w.omit(qemu.IPConfigName(network), key, "it is not in the network of the address")
	}
}

// onLink reports whether an address with prefix length can reach a gateway directly: the gateway is in its network or link-local, or the network is a
// single address or pair. The schema checks values that cannot be parsed.
func onLink(gateway, address string) bool {
	g, err := netip.ParseAddr(gateway)
	if err != nil {
		return true
	}
	p, err := netip.ParsePrefix(address)
	if err != nil {
		return true
	}
	return p.Contains(g) || p.Bits() >= p.Addr().BitLen()-1 || g.Is6() && g.IsLinkLocalUnicast()
}

// disagreement returns the options that parameters ask for with other values than the VM has.
func (w *writer) disagreement(p *v1alpha1.MachineParameters) []string {
	var err error
	d := qemu.Desired{MachineParameters: p, Identity: qemu.Identity{UUID: w.config.UUID()}}
	if d.Devices, err = d.Devices.Assign(p, w.config); err != nil {
		return []string{err.Error()}
	}
	why := append(d.Difference(w.config).Options(), d.Rejections(w.config)...)
	for _, m := range d.Moves(w.config) {
		why = append(why, m.Device)
	}
	for _, r := range d.Resizes(w.config) {
		why = append(why, r.Device)
	}
	return why
}

// accept leaves out what admission rejects: only the field if the VM can do without it, otherwise the entry or the list that contains it.
func (w *writer) accept(refuses func(v1alpha1.MachineParameters) []string) {
	for {
		paths := refuses(*w.p)
		if len(paths) == 0 || !w.leaveOut(paths[0]) {
			return
		}
	}
}

func (w *writer) leaveOut(path string) bool {
	for at := path; at != ""; at = parentOf(at) {
		if p, err := withoutField(w.p, at); err == nil && len(w.disagreement(p)) == 0 {
			w.p = p
			w.omit("forProvider."+at, "", noValue)
			return true
		}
	}
	return false
}

// parentOf returns the parent of the path of a field: disks[0] of disks[0].size, and disks of disks[0].
func parentOf(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// withoutField returns a copy of parameters without the value at a path.
func withoutField(p *v1alpha1.MachineParameters, path string) (*v1alpha1.MachineParameters, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		return nil, err
	}
	if err := fieldpath.Pave(tree).DeleteField(path); err != nil {
		return nil, err
	}
	out := &v1alpha1.MachineParameters{}
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(tree, out)
}

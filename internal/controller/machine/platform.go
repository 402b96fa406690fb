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
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// composed are the options that several fields set a part of each.
func composed(p *v1alpha1.MachineParameters) []option {
	return []option{
		{name: "cpu", want: cpuModel(p.CPU), same: sameProperties("cputype")},
		{name: "agent", absent: "0", want: agent(p.Agent, p.AgentOptions), same: sameProperties("enabled")},
		{name: "machine", want: machineType(p.MachineType, p.MachineOptions), same: sameMachine},
		{name: "vga", absent: "std", want: vga(p.VGA), same: sameProperties("type")},
		{name: "startup", want: startup(p.Startup), same: sameProperties("order")},
		{name: "audio0", want: audio(p.Audio), same: sameProperties("device")},
		{name: "rng0", want: rng(p.RNG), same: sameProperties("source")},
		{name: "watchdog", want: watchdog(p.Watchdog), same: sameProperties("model")},
	}
}

// sameMachine knows that a VM of type q35 or pc may have been pinned by PVE to a
// version of it, as it does for Windows.
func sameMachine(now, want string) bool {
	x, errX := proxmox.ParseProperties(now, "type")
	y, errY := proxmox.ParseProperties(want, "type")
	if errX != nil || errY != nil {
		return false
	}
	pinned := map[string]string{"q35": "pc-q35-", "pc": "pc-i440fx-"}[y.Get("type")]
	if pinned != "" && strings.HasPrefix(x.Get("type"), pinned) {
		x.SetDefault("type", y.Get("type"))
	}
	return x.Equal(y)
}

func cpuModel(c *v1alpha1.MachineCPU) func(string) (string, bool) {
	if c == nil {
		return undeclared
	}
	parts := []part{
		{key: "cputype", value: c.Type},
		{key: "hidden", value: optional(c.Hidden, bit), absent: "0"},
		{key: "hv-vendor-id", value: c.HVVendorID},
		{key: "phys-bits", value: c.PhysBits},
		{key: "guest-phys-bits", value: optional(c.GuestPhysBits, unlessZero)},
		{key: "level", value: optional(c.Level, unlessZero)},
	}
	if c.Flags != nil {
		flags := strings.Join(c.Flags, ";")
		parts = append(parts, part{key: "flags", value: &flags})
	}
	return properties("cputype", "kvm64", parts...)
}

func agent(on *bool, o *v1alpha1.MachineAgentOptions) func(string) (string, bool) {
	if o == nil {
		o = &v1alpha1.MachineAgentOptions{}
	}
	return properties("enabled", "0",
		part{key: "enabled", value: optional(on, bit)},
		part{key: "type", value: o.Type, absent: "virtio"},
		part{key: "fstrim_cloned_disks", value: optional(o.FSTrimClonedDisks, bit), absent: "0"},
		part{
			key: "freeze-fs-on-backup", value: optional(o.FreezeFSOnBackup, bit), absent: "1",
			aliases: []string{"freeze-fs", "guest-fsfreeze"},
		},
	)
}

func machineType(t *string, o *v1alpha1.MachineOptions) func(string) (string, bool) {
	if o == nil {
		o = &v1alpha1.MachineOptions{}
	}
	return properties("type", "",
		part{key: "type", value: t},
		part{key: "viommu", value: o.VIOMMU},
		part{key: "aw-bits", value: optional(o.AWBits, unlessZero)},
		part{key: "enable-s3", value: optional(o.EnableS3, bit)},
		part{key: "enable-s4", value: optional(o.EnableS4, bit)},
	)
}

func vga(v *v1alpha1.MachineVGA) func(string) (string, bool) {
	if v == nil {
		return undeclared
	}
	return properties("type", "std",
		part{key: "type", value: v.Type},
		part{key: "memory", value: optional(v.MemoryMiB, unlessZero)},
		part{key: "clipboard", value: v.Clipboard},
	)
}

func startup(s *v1alpha1.MachineStartup) func(string) (string, bool) {
	if s == nil {
		return undeclared
	}
	order := properties("order", "",
		part{key: "order", value: optional(s.Order, itoa)},
		part{key: "up", value: optional(s.UpSeconds, itoa)},
		part{key: "down", value: optional(s.DownSeconds, itoa)},
	)
	return unless(s.Enabled, order)
}

func audio(a *v1alpha1.MachineAudio) func(string) (string, bool) {
	if a == nil {
		return undeclared
	}
	return unless(a.Enabled, properties("", "",
		part{key: "device", value: a.Device},
		part{key: "driver", value: a.Driver, absent: "spice"},
	))
}

func rng(r *v1alpha1.MachineRNG) func(string) (string, bool) {
	if r == nil {
		return undeclared
	}
	return unless(r.Enabled, properties("source", "",
		part{key: "source", value: r.Source},
		part{key: "max_bytes", value: optional(r.MaxBytes, itoa), absent: "1024"},
		part{key: "period", value: optional(r.PeriodMilliseconds, itoa), absent: "1000"},
	))
}

func watchdog(w *v1alpha1.MachineWatchdog) func(string) (string, bool) {
	if w == nil {
		return undeclared
	}
	return unless(w.Enabled, properties("model", "i6300esb",
		part{key: "model", value: optional(w.Model, strings.Clone)},
		part{key: "action", value: w.Action},
	))
}

// maxSerials and maxNUMANodes are how many of them PVE has.
const (
	maxSerials   = 4
	maxNUMANodes = 8
)

// serials are the serial ports. Those beyond the list are removed.
func serials(p *v1alpha1.MachineParameters) []option {
	if p.SerialPorts == nil {
		return nil
	}
	options := make([]option, 0, maxSerials)
	for i := range maxSerials {
		port := ""
		if i < len(p.SerialPorts) {
			port = p.SerialPorts[i]
		}
		options = append(options, option{name: "serial" + strconv.Itoa(i), want: text(&port)})
	}
	return options
}

// numaNodes are the NUMA nodes. Those beyond the list are removed.
func numaNodes(c *v1alpha1.MachineCPU) []option {
	if c == nil || c.NUMANodes == nil {
		return nil
	}
	options := make([]option, 0, maxNUMANodes)
	for i := range maxNUMANodes {
		node := ""
		if i < len(c.NUMANodes) {
			node = numaNode(c.NUMANodes[i])
		}
		options = append(options, option{name: "numa" + strconv.Itoa(i), want: text(&node), same: sameProperties("")})
	}
	return options
}

func numaNode(n v1alpha1.MachineNUMANode) string {
	var p proxmox.Properties
	overlay(&p,
		part{key: "cpus", value: &n.CPUs},
		part{key: "hostnodes", value: n.HostNodes},
		part{key: "memory", value: pointer(n.Memory, mebibytesText)},
		part{key: "policy", value: n.Policy},
	)
	return p.String()
}

// smbiosTexts are the fields of SMBIOS that are text, in base64 where the string
// says so.
func smbiosTexts(s *v1alpha1.MachineSMBIOS) []part {
	if s == nil {
		s = &v1alpha1.MachineSMBIOS{}
	}
	return []part{
		{key: "manufacturer", value: s.Manufacturer},
		{key: "product", value: s.Product},
		{key: "version", value: s.Version},
		{key: "serial", value: s.Serial},
		{key: "sku", value: s.SKU},
		{key: "family", value: s.Family},
	}
}

// smbiosOption carries the UUID that is a VM's identity, and what else the guest
// sees of its hardware.
func smbiosOption(uuid string, s *v1alpha1.MachineSMBIOS) option {
	return option{name: "smbios1", same: sameSMBIOS, want: func(now string) (string, bool) {
		p, err := proxmox.ParseProperties(now, "uuid")
		if err != nil {
			p = proxmox.Properties{}
		}
		known := strings.EqualFold(p.Get("uuid"), uuid)
		if !known {
			p.Set("uuid", uuid)
		}
		plain := plainSMBIOS(p)
		if declared := overlay(&plain, smbiosTexts(s)...); !declared {
			return p.String(), !known
		}
		return encodedSMBIOS(plain), true
	}}
}

// plainSMBIOS has its texts as they are.
func plainSMBIOS(p proxmox.Properties) proxmox.Properties {
	if p.Get("base64") != "1" {
		return p
	}
	p.Delete("base64")
	for _, d := range smbiosTexts(nil) {
		if b, err := base64.StdEncoding.DecodeString(p.Get(d.key)); err == nil && p.Has(d.key) {
			p.Set(d.key, string(b))
		}
	}
	return p
}

// encodedSMBIOS has its texts in base64, in which they may have any characters.
func encodedSMBIOS(p proxmox.Properties) string {
	encoded := false
	for _, d := range smbiosTexts(nil) {
		if p.Has(d.key) {
			encoded = true
			p.Set(d.key, base64.StdEncoding.EncodeToString([]byte(p.Get(d.key))))
		}
	}
	if encoded {
		p.Set("base64", "1")
	}
	return p.String()
}

// longestSMBIOS that PVE takes, in bytes.
const longestSMBIOS = 512

// platformRefusals are values that no schema can check.
func (d desired) platformRefusals(config map[string]string) []string {
	var no []string
	smbios, _ := smbiosOption(d.identity.UUID, d.SMBIOS).want(config["smbios1"])
	if len(smbios) > longestSMBIOS {
		no = append(no, fmt.Sprintf("smbios has %d characters in base64: Proxmox VE takes %d", len(smbios), longestSMBIOS))
	}
	if d.CPU == nil {
		return no
	}
	for i, n := range d.CPU.NUMANodes {
		if n.Memory != nil && (n.Memory.Value()%int64(proxmox.MiB) != 0 || n.Memory.Value() <= 0) {
			no = append(no, fmt.Sprintf("cpu.numaNodes[%d].memory %s is not a whole number of MiB", i, n.Memory))
		}
	}
	return no
}

func sameSMBIOS(a, b string) bool {
	x, errX := proxmox.ParseProperties(a, "uuid")
	y, errY := proxmox.ParseProperties(b, "uuid")
	if errX != nil || errY != nil {
		return false
	}
	x, y = plainSMBIOS(x), plainSMBIOS(y)
	x.Set("uuid", strings.ToLower(x.Get("uuid")))
	y.Set("uuid", strings.ToLower(y.Get("uuid")))
	return x.Equal(y)
}

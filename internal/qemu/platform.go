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
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
)

// Composed returns the options that several fields set, each of them a part.
func Composed(p *v1alpha1.MachineParameters) []Option {
	startup, audio := cmp.Or(p.Startup, &v1alpha1.MachineStartup{}), cmp.Or(p.Audio, &v1alpha1.MachineAudio{})
	rng, watchdog := cmp.Or(p.RNG, &v1alpha1.MachineRNG{}), cmp.Or(p.Watchdog, &v1alpha1.MachineWatchdog{})
	return []Option{
		composite{name: "cpu", defaultKey: "cputype", first: "kvm64", parts: cpuParts(p.CPU)}.option(),
		composite{name: "agent", absent: "0", defaultKey: "enabled", first: "0", parts: agentParts(p)}.option(),
		composite{name: "machine", defaultKey: "type", parts: machineParts(p), same: sameMachine}.option(),
		composite{name: "vga", absent: "std", defaultKey: "type", first: "std", parts: vgaParts(p.VGA)}.option(),
		composite{name: "startup", defaultKey: "order", enabled: startup.Enabled, spelled: true, parts: startupParts(startup)}.option(),
		composite{name: "audio0", enabled: audio.Enabled, parts: audioParts(audio)}.option(),
		composite{name: "rng0", defaultKey: "source", enabled: rng.Enabled, parts: rngParts(rng)}.option(),
		composite{name: "watchdog", defaultKey: "model", first: "i6300esb", enabled: watchdog.Enabled, parts: watchdogParts(watchdog)}.option(),
	}
}

// sameMachine compares machine types. PVE may have pinned the type q35, pc or virt to a version, as it does for Windows.
func sameMachine(now, want string) bool {
	x, errX := propertystring.Parse(now, "type")
	y, errY := propertystring.Parse(want, "type")
	if errX != nil || errY != nil {
		return false
	}
	pinned := map[string]string{"q35": "pc-q35-", "pc": "pc-i440fx-", "virt": "virt-"}[y.Get("type")]
	if pinned != "" && strings.HasPrefix(x.Get("type"), pinned) {
		x.SetDefault("type", y.Get("type"))
	}
	return x.Equal(y)
}

func cpuParts(c *v1alpha1.MachineCPU) []part {
	if c == nil {
		return nil
	}
	return []part{
		{key: "cputype", Codec: codec.Texts(&c.Type)},
		{key: "hidden", Codec: codec.Flags(&c.Hidden), absent: "0"},
		{key: "hv-vendor-id", Codec: codec.Texts(&c.HVVendorID)},
		{key: "phys-bits", Codec: codec.Texts(&c.PhysBits)},
		{key: "guest-phys-bits", Codec: codec.Counts(&c.GuestPhysBits)},
		{key: "level", Codec: codec.Counts(&c.Level)},
		{key: "flags", Codec: codec.Sets(&c.Flags, joinBySemicolon, splitList)},
	}
}

func joinBySemicolon(v []string) string { return strings.Join(v, ";") }

func agentParts(p *v1alpha1.MachineParameters) []part {
	o := cmp.Or(p.AgentOptions, &v1alpha1.MachineAgentOptions{})
	return []part{
		{key: "enabled", Codec: codec.Flags(&p.Agent)},
		{key: "type", Codec: codec.Texts(&o.Type), absent: "virtio"},
		{key: "fstrim_cloned_disks", Codec: codec.Flags(&o.FSTrimClonedDisks), absent: "0"},
		{key: "freeze-fs-on-backup", Codec: codec.Flags(&o.FreezeFSOnBackup), absent: "1", aliases: []string{"freeze-fs", "guest-fsfreeze"}},
	}
}

func machineParts(p *v1alpha1.MachineParameters) []part {
	o := cmp.Or(p.MachineOptions, &v1alpha1.MachineOptions{})
	return []part{
		{key: "type", Codec: codec.Texts(&p.MachineType)},
		{key: "viommu", Codec: codec.Texts(&o.VIOMMU)},
		{key: "aw-bits", Codec: codec.Counts(&o.AWBits), needs: "viommu"},
		{key: "enable-s3", Codec: codec.Flags(&o.EnableS3)},
		{key: "enable-s4", Codec: codec.Flags(&o.EnableS4)},
	}
}

func vgaParts(v *v1alpha1.MachineVGA) []part {
	if v == nil {
		return nil
	}
	return []part{
		{key: "type", Codec: codec.Texts(&v.Type)},
		{key: "memory", Codec: codec.Counts(&v.MemoryMiB)},
		{key: "clipboard", Codec: codec.Texts(&v.Clipboard)},
	}
}

func startupParts(s *v1alpha1.MachineStartup) []part {
	return []part{
		{key: "order", Codec: codec.Integers(&s.Order)},
		{key: "up", Codec: codec.Integers(&s.UpSeconds)},
		{key: "down", Codec: codec.Integers(&s.DownSeconds)},
	}
}

func audioParts(a *v1alpha1.MachineAudio) []part {
	return []part{
		{key: "device", Codec: codec.Texts(&a.Device)},
		{key: "driver", Codec: codec.Texts(&a.Driver), absent: "spice"},
	}
}

func rngParts(r *v1alpha1.MachineRNG) []part {
	return []part{
		{key: "source", Codec: codec.Texts(&r.Source)},
		{key: "max_bytes", Codec: codec.Integers(&r.MaxBytes), absent: "1024"},
		{key: "period", Codec: codec.Integers(&r.PeriodMilliseconds), absent: "1000"},
	}
}

func watchdogParts(w *v1alpha1.MachineWatchdog) []part {
	return []part{
		{key: "model", Codec: codec.Texts(&w.Model)},
		{key: "action", Codec: codec.Texts(&w.Action)},
	}
}

// MaxSerials and MaxNUMANodes are the numbers of serial ports and NUMA nodes in PVE.
const (
	MaxSerials   = 4
	MaxNUMANodes = 8
)

// serials returns the serial ports. Ports beyond the list are removed.
func serials(p *v1alpha1.MachineParameters) []Option {
	if p.SerialPorts == nil {
		return nil
	}
	options := make([]Option, 0, MaxSerials)
	for i := range MaxSerials {
		port := ""
		if i < len(p.SerialPorts) {
			port = p.SerialPorts[i]
		}
		options = append(options, Option{Name: "serial" + strconv.Itoa(i), Want: codec.Fixed(&port).Want})
	}
	return options
}

// numaNodes returns the NUMA nodes. Nodes beyond the list are removed.
func numaNodes(c *v1alpha1.MachineCPU) []Option {
	if c == nil || c.NUMANodes == nil {
		return nil
	}
	options := make([]Option, 0, MaxNUMANodes)
	for i := range MaxNUMANodes {
		node := ""
		if i < len(c.NUMANodes) {
			node = numaNode(c.NUMANodes[i])
		}
		options = append(options, Option{Name: "numa" + strconv.Itoa(i), Want: codec.Fixed(&node).Want, same: sameProperties("")})
	}
	return options
}

func numaNode(n v1alpha1.MachineNUMANode) string {
	var p propertystring.Properties
	overlay(&p, numaParts(&n)...)
	return p.String()
}

func numaParts(n *v1alpha1.MachineNUMANode) []part {
	return []part{
		{key: "cpus", Codec: codec.Required(&n.CPUs)},
		{key: "hostnodes", Codec: codec.Texts(&n.HostNodes)},
		{key: "memory", Codec: codec.Mebibytes(&n.Memory)},
		{key: "policy", Codec: codec.Texts(&n.Policy)},
	}
}

// smbiosTexts returns the text fields of SMBIOS. They are in base64 if the option has that flag.
func smbiosTexts(s *v1alpha1.MachineSMBIOS) []part {
	if s == nil {
		s = &v1alpha1.MachineSMBIOS{}
	}
	return []part{
		{key: "manufacturer", Codec: codec.Texts(&s.Manufacturer)},
		{key: "product", Codec: codec.Texts(&s.Product)},
		{key: "version", Codec: codec.Texts(&s.Version)},
		{key: "serial", Codec: codec.Texts(&s.Serial)},
		{key: "sku", Codec: codec.Texts(&s.SKU)},
		{key: "family", Codec: codec.Texts(&s.Family)},
	}
}

// smbiosOption returns the option with the UUID, which identifies the VM, and the other hardware information for the guest.
func smbiosOption(uuid string, s *v1alpha1.MachineSMBIOS) Option {
	return Option{Name: "smbios1", same: sameSMBIOS, others: openValuesOfSMBIOS(s), Want: func(now string) (string, bool) {
		p, err := propertystring.Parse(now, "uuid")
		if err != nil {
			p = propertystring.Properties{}
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

// openValuesOfSMBIOS returns the SMBIOS values that the spec leaves open.
func openValuesOfSMBIOS(s *v1alpha1.MachineSMBIOS) func(string) string {
	return func(value string) string {
		p, err := propertystring.Parse(value, "uuid")
		if err != nil {
			return value
		}
		return otherProperties(plainSMBIOS(p), smbiosTexts(s))
	}
}

// plainSMBIOS returns the values with their texts decoded.
func plainSMBIOS(p propertystring.Properties) propertystring.Properties {
	if encoded, err := propertystring.ParseFlag(p.Get("base64")); err != nil || !encoded {
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

// encodedSMBIOS returns the option with its texts in base64, which allows any characters.
func encodedSMBIOS(p propertystring.Properties) string {
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

// longestSMBIOS is the maximum length of the option in PVE, in bytes.
const longestSMBIOS = 512

// platformRejections rejects values that no schema can check.
func (d Desired) platformRejections(config Config) []string {
	var no []string
	smbios, _ := smbiosOption(d.Identity.UUID, d.SMBIOS).Want(config["smbios1"])
	if len(smbios) > longestSMBIOS {
		no = append(no, fmt.Sprintf("smbios has %d characters in base64: Proxmox VE takes %d", len(smbios), longestSMBIOS))
	}
	no = append(no, d.machineRejections(config["machine"])...)
	no = append(no, d.displayRejections(config["vga"])...)
	if d.CPU == nil {
		return no
	}
	no = append(no, d.vcpuRejections(config)...)
	for i, n := range d.CPU.NUMANodes {
		if n.Memory != nil && (n.Memory.Value()%int64(proxmox.MiB) != 0 || n.Memory.Value() <= 0) {
			no = append(no, fmt.Sprintf("cpu.numaNodes[%d].memory %s is not a whole number of MiB", i, n.Memory))
		}
	}
	return no
}

// vcpuRejections rejects fewer cores than the VM starts with, if the spec does not declare the latter. QEMU would not start.
func (d Desired) vcpuRejections(config Config) []string {
	plugged, cores, sockets := config.Integer("vcpus", 0), config.Integer("cores", 1), config.Integer("sockets", 1)
	most := ptr.Deref(d.CPU.Cores, cores) * ptr.Deref(d.CPU.Sockets, sockets)
	if most == cores*sockets || d.CPU.VCPUs != nil || plugged <= most {
		return nil
	}
	return []string{fmt.Sprintf("cpu has %d cores in all, and the VM is to start with %d: set cpu.vcpus, 0 for all", most, plugged)}
}

// machineRejections rejects combinations of machine options that PVE does not accept.
func (d Desired) machineRejections(now string) []string {
	want, declared := properties("type", "", machineParts(d.MachineParameters)...)(now)
	p, err := propertystring.Parse(want, "type")
	if !declared || err != nil || sameMachine(now, want) {
		return nil
	}
	var no []string
	if p.Get("viommu") == "intel" && !strings.Contains(p.Get("type"), "q35") {
		no = append(no, "machineOptions.viommu intel needs machineType q35")
	}
	switch bits := p.Get("aw-bits"); {
	case bits == "":
	case !p.Has("viommu"):
		no = append(no, "machineOptions.awBits needs machineOptions.viommu")
	case p.Get("viommu") == "intel" && bits != "39" && bits != "48":
		no = append(no, "machineOptions.awBits is 39 or 48 with viommu intel, not "+bits)
	}
	return no
}

// noClipboard matches the displays for which PVE has no clipboard: PVE::QemuServer::assert_clipboard_config.
var noClipboard = regexp.MustCompile(`^(none|serial\d)$`)

// displayRejections rejects a clipboard for a display that the spec does not name, and the other way round.
func (d Desired) displayRejections(now string) []string {
	want, declared := properties("type", "std", vgaParts(d.VGA)...)(now)
	p, err := propertystring.Parse(want, "type")
	if !declared || err != nil || want == now || p.Get("clipboard") != "vnc" || !noClipboard.MatchString(p.Get("type")) {
		return nil
	}
	return []string{fmt.Sprintf("vga.clipboard vnc does not go with vga.type %s", p.Get("type"))}
}

func sameSMBIOS(a, b string) bool {
	x, errX := propertystring.Parse(a, "uuid")
	y, errY := propertystring.Parse(b, "uuid")
	if errX != nil || errY != nil {
		return false
	}
	x, y = plainSMBIOS(x), plainSMBIOS(y)
	x.Set("uuid", strings.ToLower(x.Get("uuid")))
	y.Set("uuid", strings.ToLower(y.Get("uuid")))
	return x.Equal(y)
}

// HASettings returns the HA settings that a spec declares, as HA has them.
func HASettings(h *v1alpha1.MachineHighAvailability) proxmox.HASettings {
	settings := proxmox.HASettings{}
	for _, s := range haParts(h) {
		if s.Value != nil {
			settings[s.key] = *s.Value
		}
	}
	return settings
}

// haParts returns the settings that have a field.
func haParts(h *v1alpha1.MachineHighAvailability) []part {
	return []part{
		{key: "state", Codec: codec.Texts(&h.State)},
		{key: "group", Codec: codec.Texts(&h.Group)},
		{key: "max_restart", Codec: codec.Integers(&h.MaxRestart)},
		{key: "max_relocate", Codec: codec.Integers(&h.MaxRelocate)},
		{key: "failback", Codec: codec.Flags(&h.Failback)},
	}
}

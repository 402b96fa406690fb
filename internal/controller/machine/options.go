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
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An option of a VM's configuration, and what the spec wants of it.
type option struct {
	// name of the option in PVE.
	name string

	// absent is the value that holds in PVE when the option is not there. Empty
	// if that depends on something else.
	absent string

	// want is the wanted value, made from the value that the option has now, and
	// whether the spec declares one at all. An empty value removes the option.
	want func(now string) (value string, declared bool)

	// same compares two values. Nil compares the text.
	same func(a, b string) bool

	// allocates says that PVE allocates a volume when the option is new.
	allocates bool
}

// equal says whether the option has the wanted value.
func (o option) equal(now, want string) bool {
	if now == "" {
		now = o.absent
	}
	if want == "" {
		want = o.absent
	}
	if o.same != nil {
		return o.same(now, want)
	}
	return now == want
}

// scalars are the options that one field each sets.
func scalars(p *v1alpha1.MachineParameters) []option {
	cpu, mem := p.CPU, p.MemoryOptions
	if cpu == nil {
		cpu = &v1alpha1.MachineCPU{}
	}
	if mem == nil {
		mem = &v1alpha1.MachineMemoryOptions{}
	}
	return []option{
		{name: "name", want: text(p.Name)},
		{name: "cores", absent: "1", want: number(cpu.Cores)},
		{name: "sockets", absent: "1", want: number(cpu.Sockets)},
		{name: "vcpus", want: number(cpu.VCPUs)},
		{name: "cpulimit", absent: "0", want: decimal(cpu.Limit), same: sameNumber},
		{name: "cpuunits", want: number(cpu.Units), same: sameUnits},
		{name: "numa", absent: "0", want: flag(cpu.NUMA)},
		{name: "memory", absent: "512", want: mebibytes(p.Memory), same: sameMemory},
		{name: "balloon", want: balloon(p.Balloon, mem.Minimum)},
		{name: "shares", absent: "1000", want: number(mem.Shares)},
		{name: "ostype", absent: "other", want: osType(p.OSType)},
		{name: "bios", absent: "seabios", want: text(p.BIOS)},
		{name: "scsihw", absent: "lsi", want: text(p.SCSIController)},
		{name: "onboot", absent: "0", want: flag(p.OnBoot)},
		{name: "protection", absent: "0", want: flag(p.Protection)},
		{name: "acpi", absent: "1", want: flag(p.ACPI)},
		{name: "kvm", absent: "1", want: flag(p.KVM)},
		{name: "tablet", absent: "1", want: flag(p.Tablet)},
		{name: "localtime", want: flag(p.LocalTime)},
		{name: "hotplug", absent: hotplugDefault, want: hotplug(p.Hotplug), same: sameHotplug},
	}
}

// composed are the options that several fields set a part of each.
func composed(p *v1alpha1.MachineParameters) []option {
	return []option{
		{name: "cpu", want: cpuModel(p.CPU), same: sameProperties("cputype")},
		{name: "agent", absent: "0", want: agent(p.Agent, p.AgentOptions), same: sameProperties("enabled")},
		{name: "machine", want: properties("type", "", part{key: "type", value: p.MachineType}), same: sameMachine},
		{name: "vga", absent: "std", want: vga(p.VGA), same: sameProperties("type")},
		{name: "startup", want: startup(p.Startup), same: sameProperties("order")},
	}
}

// maxSerials is how many serial ports PVE has.
const maxSerials = 4

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

// cloudInit are the options of PVE's cloud-init drive.
func cloudInit(p *v1alpha1.MachineParameters) []option {
	ci := p.CloudInit
	if ci == nil {
		return nil
	}
	return []option{
		{name: "ciuser", want: text(ci.User)},
		{name: "sshkeys", want: sshKeys(ci.SSHKeys), same: sameKeys},
		{name: "nameserver", want: words(ci.Nameservers)},
		{name: "searchdomain", want: words(ci.SearchDomains)},
		{name: "ciupgrade", absent: "1", want: flag(ci.Upgrade)},
	}
}

func undeclared(string) (string, bool) { return "", false }

func text(v *string) func(string) (string, bool) {
	if v == nil {
		return undeclared
	}
	return func(string) (string, bool) { return *v, true }
}

func number(v *int32) func(string) (string, bool) {
	if v == nil {
		return undeclared
	}
	return func(string) (string, bool) { return strconv.Itoa(int(*v)), true }
}

func flag(v *bool) func(string) (string, bool) {
	if v == nil {
		return undeclared
	}
	return func(string) (string, bool) { return bit(*v), true }
}

// bit is a boolean as PVE writes it.
func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func decimal(q *resource.Quantity) func(string) (string, bool) {
	if q == nil {
		return undeclared
	}
	return func(string) (string, bool) { return decimalText(q), true }
}

func decimalText(q *resource.Quantity) string {
	return strconv.FormatFloat(q.AsApproximateFloat64(), 'f', -1, 64)
}

// mebibytes is a quantity of bytes in MiB, which admission has made whole.
func mebibytes(q *resource.Quantity) func(string) (string, bool) {
	if q == nil {
		return undeclared
	}
	return func(string) (string, bool) { return mebibytesText(q), true }
}

func mebibytesText(q *resource.Quantity) string {
	return strconv.FormatInt(q.Value()/int64(proxmox.MiB), 10)
}

func words(v []string) func(string) (string, bool) {
	if v == nil {
		return undeclared
	}
	return func(string) (string, bool) { return strings.Join(v, " "), true }
}

// balloon is 0 without the device, otherwise the least memory in MiB. Without
// a minimum, only a device that was turned off is turned on again.
func balloon(on *bool, minimum *resource.Quantity) func(string) (string, bool) {
	return func(now string) (string, bool) {
		switch {
		case on != nil && !*on:
			return "0", true
		case minimum != nil:
			return mebibytesText(minimum), true
		case on != nil && now == "0":
			return "", true
		}
		return "", false
	}
}

func osType(v *string) func(string) (string, bool) {
	if v == nil {
		return undeclared
	}
	switch *v {
	case "linux":
		return func(string) (string, bool) { return "l26", true }
	case "windows":
		return func(string) (string, bool) { return "win11", true }
	}
	return text(v)
}

const hotplugDefault = "network,disk,usb"

func hotplug(v []string) func(string) (string, bool) {
	if v == nil {
		return undeclared
	}
	return func(string) (string, bool) {
		if len(v) == 0 {
			return "0", true
		}
		return strings.Join(v, ","), true
	}
}

// sameHotplug knows that 1 stands for the default and that order is of no
// meaning.
func sameHotplug(a, b string) bool {
	features := func(s string) []string {
		if s == "1" {
			s = hotplugDefault
		}
		return slices.Sorted(slices.Values(strings.Split(s, ",")))
	}
	return slices.Equal(features(a), features(b))
}

func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// mostUnits is where PVE caps the weight of a VM with cgroup v2.
const mostUnits = 10000

func sameUnits(a, b string) bool {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	return errX == nil && errY == nil && min(x, mostUnits) == min(y, mostUnits)
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

// sameMemory compares memory, which PVE also writes as current=2048.
func sameMemory(a, b string) bool {
	return strings.TrimPrefix(a, "current=") == strings.TrimPrefix(b, "current=")
}

// sameProperties compares property strings, in which order is of no meaning.
func sameProperties(defaultKey string) func(a, b string) bool {
	return func(a, b string) bool {
		x, errX := proxmox.ParseProperties(a, defaultKey)
		y, errY := proxmox.ParseProperties(b, defaultKey)
		return errX == nil && errY == nil && x.Equal(y)
	}
}

// sshKeys are URL-encoded once more by PVE's own encoding, in which a space is
// %20.
func sshKeys(keys []string) func(string) (string, bool) {
	if keys == nil {
		return undeclared
	}
	return func(string) (string, bool) {
		return strings.ReplaceAll(url.QueryEscape(strings.Join(keys, "\n")), "+", "%20"), true
	}
}

func sameKeys(a, b string) bool {
	x, errX := url.PathUnescape(a)
	y, errY := url.PathUnescape(b)
	return errX == nil && errY == nil && strings.TrimSpace(x) == strings.TrimSpace(y)
}

// A part of a property string: its key, the value that is wanted, or nil if the
// spec declares none, and what holds when it is not there.
type part struct {
	key    string
	value  *string
	absent string
}

// overlay sets the declared parts and leaves the others as they are. A part that
// is not there and is wanted as what holds then is not added.
func overlay(p *proxmox.Properties, parts ...part) (declared bool) {
	for _, d := range parts {
		if d.value == nil {
			continue
		}
		declared = true
		now := d.absent
		if p.Has(d.key) {
			now = p.Get(d.key)
		}
		if now != *d.value {
			p.Set(d.key, *d.value)
		}
	}
	return declared
}

// properties wants the parts in a property string whose first value has no key.
func properties(defaultKey, first string, parts ...part) func(string) (string, bool) {
	return func(now string) (string, bool) {
		p, err := proxmox.ParseProperties(now, defaultKey)
		if err != nil {
			p = proxmox.Properties{}
		}
		if !overlay(&p, parts...) {
			return "", false
		}
		if lead := p.Get(defaultKey); lead != "" || first != "" {
			p.SetDefault(defaultKey, cmp.Or(lead, first))
		}
		return p.String(), true
	}
}

func optional[T any](v *T, write func(T) string) *string {
	if v == nil {
		return nil
	}
	s := write(*v)
	return &s
}

func itoa(i int32) string { return strconv.Itoa(int(i)) }

func cpuModel(c *v1alpha1.MachineCPU) func(string) (string, bool) {
	if c == nil {
		return undeclared
	}
	parts := []part{{key: "cputype", value: c.Type}}
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
		part{key: "freeze-fs-on-backup", value: optional(o.FreezeFSOnBackup, bit), absent: "1"},
	)
}

func vga(v *v1alpha1.MachineVGA) func(string) (string, bool) {
	if v == nil {
		return undeclared
	}
	return properties("type", "std",
		part{key: "type", value: v.Type},
		part{key: "memory", value: optional(v.MemoryMiB, itoa)},
		part{key: "clipboard", value: v.Clipboard},
	)
}

func startup(s *v1alpha1.MachineStartup) func(string) (string, bool) {
	if s == nil {
		return undeclared
	}
	return func(now string) (string, bool) {
		p, err := proxmox.ParseProperties(now, "order")
		if err != nil {
			p = proxmox.Properties{}
		}
		declared := overlay(&p,
			part{key: "order", value: optional(s.Order, itoa)},
			part{key: "up", value: optional(s.UpSeconds, itoa)},
			part{key: "down", value: optional(s.DownSeconds, itoa)},
		)
		return p.String(), declared
	}
}

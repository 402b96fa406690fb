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
	if now == want {
		return true
	}
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
		{name: "vcpus", want: count(cpu.VCPUs)},
		{name: "cpulimit", absent: "0", want: decimal(cpu.Limit), same: sameNumber},
		{name: "cpuunits", want: count(cpu.Units), same: sameUnits},
		{name: "affinity", want: text(cpu.Affinity)},
		{name: "numa", absent: "0", want: flag(cpu.NUMA)},
		{name: "memory", absent: "512", want: mebibytes(p.Memory), same: sameMemory},
		{name: "balloon", want: balloon(p.Balloon, mem.Minimum)},
		{name: "shares", absent: "1000", want: number(mem.Shares)},
		{name: "allow-ksm", absent: "1", want: flag(mem.AllowKSM)},
		{name: "hugepages", want: text(mem.HugePages)},
		{name: "keephugepages", absent: "0", want: flag(mem.KeepHugePages)},
		{name: "ostype", absent: "other", want: osType(p.OSType)},
		{name: "bios", absent: "seabios", want: text(p.BIOS)},
		{name: "scsihw", absent: "lsi", want: text(p.SCSIController)},
		{name: "onboot", absent: "0", want: flag(p.OnBoot)},
		{name: "protection", absent: "0", want: flag(p.Protection)},
		{name: "acpi", absent: "1", want: flag(p.ACPI)},
		{name: "kvm", absent: "1", want: flag(p.KVM)},
		{name: "tablet", absent: "1", want: flag(p.Tablet)},
		{name: "localtime", want: flag(p.LocalTime)},
		{name: "hookscript", want: text(p.Hookscript)},
		{name: "hotplug", absent: hotplugDefault, want: hotplug(p.Hotplug), same: sameHotplug},
	}
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

// count is a number of which 0 is none.
func count(v *int32) func(string) (string, bool) { return text(optional(v, unlessZero)) }

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

// decimalUnlessZero is a number, or nothing for 0.
func decimalUnlessZero(q *resource.Quantity) string {
	if q.IsZero() {
		return ""
	}
	return decimalText(q)
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

// sameMemory compares memory, which PVE also writes as current=2048.
func sameMemory(a, b string) bool {
	return strings.TrimPrefix(a, "current=") == strings.TrimPrefix(b, "current=")
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

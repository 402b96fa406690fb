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
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
)

// An Option is an option of a VM's configuration, and the value that the spec declares for it.
type Option struct {
	// Name of the option in PVE.
	Name string

	// absent is the value that applies in PVE when the option is absent. It is empty if that depends on something else.
	absent string

	// codec of the field, for an option with a single field.
	codec codec.Codec

	// read sets the fields of the spec to the value that a VM has. It returns what they cannot hold: keys of the value, or WholeOption. It is nil for options
	// that are not read this way.
	read func(now string) (left []string)

	// Want returns the wanted value, based on the option's current value, and whether the spec declares one. An empty value removes the option.
	Want func(now string) (value string, declared bool)

	// same compares two values. If it is nil, the texts are compared.
	same func(a, b string) bool

	// others returns the part of a value that the spec leaves open. It is nil if the spec declares all of it.
	others func(value string) string

	// allocates is true if PVE allocates a volume when the option is new.
	allocates bool
}

// Equal reports whether the option has the wanted value.
func (o Option) Equal(now, want string) bool {
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

// Scalars returns the options that a single field sets.
func Scalars(p *v1alpha1.MachineParameters) []Option {
	cpu, mem := cmp.Or(p.CPU, &v1alpha1.MachineCPU{}), cmp.Or(p.MemoryOptions, &v1alpha1.MachineMemoryOptions{})
	return codecOptions(
		Option{Name: "name", codec: codec.Texts(&p.Name)},
		Option{Name: "cores", absent: "1", codec: codec.Integers(&cpu.Cores)},
		Option{Name: "sockets", absent: "1", codec: codec.Integers(&cpu.Sockets)},
		Option{Name: "vcpus", codec: codec.Counts(&cpu.VCPUs)},
		Option{Name: "cpulimit", absent: "0", codec: codec.Decimals(&cpu.Limit), same: sameNumber},
		Option{Name: "cpuunits", codec: codec.Counts(&cpu.Units), same: sameUnits},
		Option{Name: "affinity", codec: codec.Texts(&cpu.Affinity)},
		Option{Name: "numa", absent: "0", codec: codec.Flags(&cpu.NUMA)},
		Option{Name: "memory", absent: "512", codec: codec.Mebibytes(&p.Memory), same: sameMemory},
		Option{Name: "balloon", Want: balloon(p.Balloon, mem.Minimum), codec: readBalloon(&p.Balloon, &mem.Minimum)},
		Option{Name: "shares", absent: "1000", codec: codec.Integers(&mem.Shares)},
		Option{Name: "allow-ksm", absent: "1", codec: codec.Flags(&mem.AllowKSM)},
		Option{Name: "hugepages", codec: codec.Texts(&mem.HugePages)},
		Option{Name: "keephugepages", absent: "0", codec: codec.Flags(&mem.KeepHugePages)},
		Option{Name: "ostype", absent: "other", codec: osTypes(&p.OSType)},
		Option{Name: "bios", absent: "seabios", codec: codec.Texts(&p.BIOS)},
		Option{Name: "scsihw", absent: "lsi", codec: codec.Texts(&p.SCSIController)},
		Option{Name: "onboot", absent: "0", codec: codec.Flags(&p.OnBoot)},
		Option{Name: "protection", absent: "0", codec: codec.Flags(&p.Protection)},
		Option{Name: "acpi", absent: "1", codec: codec.Flags(&p.ACPI)},
		Option{Name: "kvm", absent: "1", codec: codec.Flags(&p.KVM)},
		Option{Name: "tablet", absent: "1", codec: codec.Flags(&p.Tablet)},
		Option{Name: "localtime", codec: codec.Flags(&p.LocalTime)},
		Option{Name: "hookscript", codec: codec.Texts(&p.Hookscript)},
		Option{Name: "hotplug", absent: DefaultHotplug, codec: codec.Lists(&p.Hotplug, joinHotplug, SplitHotplug), same: sameHotplug},
	)
}

// codecOptions sets how options are read and written by their codecs.
func codecOptions(options ...Option) []Option {
	for i, o := range options {
		if o.Want == nil {
			options[i].Want = o.codec.Want
		}
		options[i].read = func(now string) []string {
			if o.codec.Read(now, o.Equal) {
				return nil
			}
			return []string{WholeOption}
		}
	}
	return options
}

func undeclared(string) (string, bool) { return "", false }

// balloon returns 0 if the device is turned off, and the minimum memory in MiB otherwise. Without a minimum, it only changes the option to turn on a
// device that was off.
func balloon(on *bool, minimum *resource.Quantity) func(string) (string, bool) {
	return func(now string) (string, bool) {
		switch {
		case on != nil && !*on:
			return "0", true
		case minimum != nil:
			return codec.InMebibytes(minimum), true
		case on != nil && now == "0":
			return "", true
		}
		return "", false
	}
}

// readBalloon reads the values that balloon writes.
func readBalloon(on **bool, minimum **resource.Quantity) codec.Codec {
	return codec.Codec{Read: func(now string, same func(now, want string) bool) bool {
		if now == "0" {
			*on = new(bool)
			return true
		}
		return codec.Mebibytes(minimum).Read(now, same)
	}}
}

// systems maps names of guest systems to PVE's types.
//
//nolint:gochecknoglobals // A constant.
var systems = map[string]string{"linux": "l26", "windows": "win11"}

func osTypes(v **string) codec.Codec {
	return codec.Mapped(v, func(s string) string { return cmp.Or(systems[s], s) })
}

// DefaultHotplug lists what can be hotplugged when the option is absent.
const DefaultHotplug = "network,disk,usb"

func joinHotplug(v []string) string { return cmp.Or(strings.Join(v, ","), "0") }

// SplitHotplug returns the features in a value of hotplug.
func SplitHotplug(s string) []string {
	switch s {
	case "0":
		return []string{}
	case "1":
		s = DefaultHotplug
	}
	return splitList(s)
}

// sameHotplug treats 1 as the default, and ignores the order.
func sameHotplug(a, b string) bool {
	features := func(s string) []string { return slices.Sorted(slices.Values(SplitHotplug(s))) }
	return slices.Equal(features(a), features(b))
}

func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// maxUnits is the maximum weight of a VM in PVE with cgroup v2.
const maxUnits = 10000

func sameUnits(a, b string) bool {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	return errX == nil && errY == nil && min(x, maxUnits) == min(y, maxUnits)
}

// sameMemory compares memory, which PVE may also write as current=2048.
func sameMemory(a, b string) bool {
	return strings.TrimPrefix(a, codec.CurrentMemory) == strings.TrimPrefix(b, codec.CurrentMemory)
}

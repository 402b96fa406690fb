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
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/bootorder"
)

// stored returns the configuration that PVE stores after a change was sent to a stopped VM: volumes are allocated, MAC addresses are generated, options
// are in PVE's own order, and detached disks are unused and not in the boot order.
func stored(t *testing.T, config Config, d Difference) Config {
	t.Helper()
	after := maps.Clone(config)
	for _, name := range d.Delete {
		if _, ok := after[name]; !ok {
			t.Fatalf("%s is to be removed and is not there", name)
		}
		if IsDisk(name) && config.protected() {
			t.Fatalf("%s is to be detached from a VM that is protected", name)
		}
		if b := BusOf(name); b != "" && b != "net" && !config.takesMedia(name) {
			after["unused"+strconv.Itoa(len(after))] = after[name]
		}
		delete(after, name)
		after["boot"] = withoutDevice(after["boot"], name)
	}
	if after["boot"] == "" {
		delete(after, "boot")
	}
	for name, value := range d.Set {
		if value == "" {
			t.Fatalf("%s is set to nothing", name)
		}
		after[name] = canonical(t, name, value)
	}
	for _, device := range bootorder.Devices(after["boot"]) {
		if _, ok := after[device]; !ok {
			t.Fatalf("boot order %q names %s, which is not there", after["boot"], device)
		}
	}
	return after
}

// withoutDevice returns a boot order after a device was detached.
func withoutDevice(boot, device string) string {
	order := slices.DeleteFunc(bootorder.Devices(boot), func(d string) bool { return d == device })
	if len(order) == 0 {
		return ""
	}
	return "order=" + strings.Join(order, ";")
}

func canonical(t *testing.T, name, value string) string {
	t.Helper()
	switch b := BusOf(name); {
	case name == EFIDevice || name == TPMDevice:
		return canonicalDisk(t, name, value)
	case b == "net":
		n, err := proxmox.ParseNIC(value)
		if err != nil {
			t.Fatalf("%s: %q: %v", name, value, err)
		}
		if n.MAC == "" {
			n.MAC = "BC:24:11:" + fmt.Sprintf("%02X:00:01", deviceNumber(name))
		}
		return n.String()
	case b != "":
		return canonicalDisk(t, name, value)
	case name == "tags":
		return joinTags(splitList(strings.ToLower(value)))
	case name == "description":
		return value + "\n"
	case name == "memory":
		return "current=" + value
	}
	return value
}

// coherent reports whether PVE accepts the limits of a disk together.
func coherent(p propertystring.Properties) bool {
	for key, needed := range map[string]string{
		"mbps_max": "mbps", "mbps_rd_max": "mbps_rd", "mbps_wr_max": "mbps_wr",
		"bps_max_length": "mbps_max", "bps_rd_max_length": "mbps_rd_max", "bps_wr_max_length": "mbps_wr_max",
		"iops_max_length": "iops_max", "iops_rd_max_length": "iops_rd_max", "iops_wr_max_length": "iops_wr_max",
	} {
		if p.Has(key) && !p.Has(needed) {
			return false
		}
	}
	return !p.Has("mbps") || !p.Has("mbps_rd") && !p.Has("mbps_wr")
}

// canonicalDisk returns a disk with its volume and size, and its options in order.
func canonicalDisk(t *testing.T, name, value string) string {
	t.Helper()
	d, err := proxmox.ParseDisk(value)
	if err != nil || !coherent(d.Options) {
		t.Fatalf("%s: %q: PVE is unable to parse that: %v", name, value, err)
	}
	storage, rest, _ := strings.Cut(d.Volume, ":")
	if gib, err := strconv.ParseFloat(rest, 64); err == nil {
		d.Volume = storage + ":vm-100-" + name
		d.Options.Set("size", proxmox.Size(gib*float64(proxmox.GiB)).String())
		d.Options.Delete("format")
	}
	if d.Options.Get("ms-cert") == "2023" {
		d.Options.Set("ms-cert", "2023k") // PVE has enrolled the certificates.
	}
	sorted := proxmox.Disk{Volume: d.Volume}
	keys := d.Options.Keys()
	slices.Sort(keys)
	for _, k := range keys {
		sorted.Options.Set(k, d.Options.Get(k))
	}
	return sorted.String()
}

// FuzzDifference generates a spec and a VM, changes the VM to the spec, and then to a second spec, in one round each, or two if the VM was protected.
func FuzzDifference(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := randomSpec{rand.New(rand.NewPCG(seed, 1))}
		config := g.config()
		if g.maybe() {
			config = Config{}
		}
		kept := Devices{}
		for round := range 2 {
			p := g.spec()
			for i, k := range p.Disks {
				if kept.Disks[k.Name] != "" {
					p.Disks[i].Type = nil // Admission does not allow it to change.
				}
			}
			for i, c := range p.CDROMs {
				if kept.CDROMs[c.Name] != "" {
					p.CDROMs[i].Type = nil
				}
			}
			if _, err := assigned(&p, kept, config); round > 0 && err != nil {
				return // It can be read in two ways, or asks for another bus.
			}
			d := desiredOf(t, p, kept, config)
			diff := d.Difference(config)
			after := stored(t, config, diff)
			if config.protected() { // Disks can be detached once the protection is removed.
				after = stored(t, after, d.Difference(after))
			}
			if again := d.Difference(after); !again.Empty() {
				t.Fatalf(
					"round %d: the difference is not empty after one change:\nspec %+v\nconfig %v\nchange %v\nafter %v\ndifference %v", round, p, config,
					diff, after, again,
				)
			}
			if diff.Empty() && cmp.Diff(config, after) != "" {
				t.Fatalf("an empty change changed %s", cmp.Diff(config, after))
			}
			checkKept(t, d, config, after)
			now, err := d.Devices.On(State{Config: after, Active: after}, &p, d.Defaults, int64(round)+2)
			if err != nil {
				t.Fatal(err)
			}
			if kept, err = ParseDevices(now.String()); err != nil {
				t.Fatal(err)
			}
			config = after
		}
	})
}

// checkKept fails if a change affected a device that it must leave alone.
func checkKept(t *testing.T, d Desired, before, after Config) {
	t.Helper()
	gone := d.Devices.removed(d.MachineParameters)
	for device, was := range before {
		is, ok := after[device]
		switch b := BusOf(device); {
		case b == "":
			continue
		case !ok && (has(gone.Disks, device) || has(gone.CDROMs, device) || has(gone.Networks, device)):
			continue
		case !ok:
			t.Fatalf("%s is gone although nothing asked for that", device)
		case !has(d.Devices.drives(), device) && !has(d.Devices.Networks, device) && is != was:
			t.Fatalf("%s is not declared, and became %q", device, is)
		case d.Devices.ISO == device || has(d.Devices.CDROMs, device):
			checkMedium(t, device, was, is)
		case b == "net":
			checkMAC(t, d, device, was, is)
		default:
			checkVolume(t, device, was, is)
		}
	}
}

func checkMAC(t *testing.T, d Desired, device, was, is string) {
	t.Helper()
	x, errX := proxmox.ParseNIC(was)
	y, errY := proxmox.ParseNIC(is)
	if errX != nil || errY != nil {
		t.Fatalf("%s: %v, %v", device, errX, errY)
	}
	declared := slices.ContainsFunc(d.Networks, func(n v1alpha1.MachineNetwork) bool {
		return d.Devices.Networks[n.Name] == device && n.MACAddress != nil
	})
	if !declared && x.MAC != y.MAC {
		t.Fatalf("%s: the MAC address %s became %s", device, x.MAC, y.MAC)
	}
}

func checkVolume(t *testing.T, device, was, is string) {
	t.Helper()
	x, errX := proxmox.ParseDisk(was)
	y, errY := proxmox.ParseDisk(is)
	if errX != nil || errY != nil {
		t.Fatalf("%s: %v, %v", device, errX, errY)
	}
	if x.Volume != y.Volume || x.Options.Get("size") != y.Options.Get("size") {
		t.Fatalf("%s: %q became %q", device, was, is)
	}
}

// checkMedium fails if a drive of media has become a different device.
func checkMedium(t *testing.T, device, was, is string) {
	t.Helper()
	before, after := Config{device: was}, Config{device: is}
	if before.takesMedia(device) != after.takesMedia(device) {
		t.Fatalf("%s: %q became %q", device, was, is)
	}
}

// FuzzDevices checks that any annotation is read without a panic, and that an annotation of the provider is read back unchanged.
func FuzzDevices(f *testing.F) {
	for _, s := range []string{"", "{}", `{"disks":{"a":"scsi0"},"networks":{"x":"net0"}}`, "null", "[]", `{"disks":1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDevices(s)
		if err != nil {
			return
		}
		again, err := ParseDevices(d.String())
		if err != nil || !again.Equal(d) {
			t.Errorf("%q was read as %+v, written as %s and read as %+v, %v", s, d, d, again, err)
		}
	})
}

// FuzzUnmark checks that the text of users stays unchanged.
func FuzzUnmark(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "# x\n\ny", markerStart, markerEnd, "<!-- x -->"} {
		f.Add(s)
	}
	id := Identity{UUID: ourUUID}
	f.Fuzz(func(t *testing.T, s string) {
		marked := id.Mark(s)
		if id.Prove(map[string]string{"description": marked}) != Ours {
			t.Errorf("%q is not proven ours", marked)
		}
		if strings.Contains(s, markerStart) {
			return
		}
		if got, want := Unmark(marked), strings.TrimRight(s, "\n"); got != want {
			t.Errorf("%q was marked as %q and unmarked as %q", s, marked, got)
		}
	})
}

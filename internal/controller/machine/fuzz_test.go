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
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// stored is the configuration that PVE stores when a change is sent to a VM that
// does not run: volumes allocated, MAC addresses made up, options in PVE's own
// order, detached disks unused and out of the boot order.
func stored(t *testing.T, config map[string]string, d difference) map[string]string {
	t.Helper()
	after := maps.Clone(config)
	for _, name := range d.Delete {
		if _, ok := after[name]; !ok {
			t.Fatalf("%s is to be removed and is not there", name)
		}
		if b := busOf(name); b != "" && b != "net" {
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
	for _, device := range bootDevices(after["boot"]) {
		if _, ok := after[device]; !ok {
			t.Fatalf("boot order %q names %s, which is not there", after["boot"], device)
		}
	}
	return after
}

// withoutDevice is a boot order after a device was detached.
func withoutDevice(boot, device string) string {
	order := slices.DeleteFunc(bootDevices(boot), func(d string) bool { return d == device })
	if len(order) == 0 {
		return ""
	}
	return "order=" + strings.Join(order, ";")
}

func canonical(t *testing.T, name, value string) string {
	t.Helper()
	switch b := busOf(name); {
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
		return joinTags(splitTags(strings.ToLower(value)))
	case name == "description":
		return value + "\n"
	case name == "memory":
		return "current=" + value
	}
	return value
}

// canonicalDisk has its volume and size, and its options in order.
func canonicalDisk(t *testing.T, name, value string) string {
	t.Helper()
	d, err := proxmox.ParseDisk(value)
	if err != nil {
		t.Fatalf("%s: %q: %v", name, value, err)
	}
	storage, rest, _ := strings.Cut(d.Volume, ":")
	if gib, err := strconv.ParseFloat(rest, 64); err == nil {
		d.Volume = storage + ":vm-100-" + name
		d.Options.Set("size", proxmox.Size(gib*float64(proxmox.GiB)).String())
		d.Options.Delete("format")
	}
	sorted := proxmox.Disk{Volume: d.Volume}
	keys := d.Options.Keys()
	slices.Sort(keys)
	for _, k := range keys {
		sorted.Options.Set(k, d.Options.Get(k))
	}
	return sorted.String()
}

// A gambler makes specs and configurations up.
type gambler struct{ *rand.Rand }

func (g gambler) maybe() bool { return g.IntN(2) == 0 }

func some[T any](g gambler, values ...T) *T {
	if g.maybe() {
		return nil
	}
	return &values[g.IntN(len(values))]
}

func (g gambler) names(from ...string) []string {
	g.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	return from[:g.IntN(len(from)+1)]
}

func (g gambler) spec() v1alpha1.MachineParameters {
	p := v1alpha1.MachineParameters{
		Name: some(g, "a", "b"), Memory: some(g, *quantity("512Mi"), *quantity("2Gi")), Balloon: some(g, true, false),
		Description: some(g, "", "x", "y\n"), OSType: some(g, "linux", "other", "win10"), Agent: some(g, true, false),
		OnBoot: some(g, true, false), Protection: some(g, true, false), Tablet: some(g, true, false), BIOS: some(g, "seabios", "ovmf"),
		SCSIController: some(g, "lsi", "virtio-scsi-single"), ACPI: some(g, true, false),
	}
	if g.maybe() {
		p.CPU = &v1alpha1.MachineCPU{Cores: some(g, int32(1), 2), Sockets: some(g, int32(1), 2), Type: some(g, "host", "kvm64"), NUMA: some(g, true, false), Limit: some(g, resource.MustParse("0"), resource.MustParse("1500m"))}
	}
	if g.maybe() {
		p.AgentOptions = &v1alpha1.MachineAgentOptions{Type: some(g, "virtio", "isa"), FSTrimClonedDisks: some(g, true, false), FreezeFSOnBackup: some(g, true, false)}
	}
	if g.maybe() {
		p.VGA = &v1alpha1.MachineVGA{Type: some(g, "std", "qxl"), MemoryMiB: some(g, int32(16), 32)}
	}
	if g.maybe() {
		p.Startup = &v1alpha1.MachineStartup{Order: some(g, int32(1), 2), UpSeconds: some(g, int32(3)), DownSeconds: some(g, int32(4))}
	}
	if g.maybe() {
		p.Tags = g.names("a", "b", "c")
	}
	if g.maybe() {
		p.Hotplug = g.names("network", "disk", "usb", "cpu")
	}
	for _, name := range g.names("root", "data", "more") {
		p.Disks = append(p.Disks, v1alpha1.MachineDisk{
			Name: name, Size: new([]string{"1G", "512Mi", "3000M", "1T"}[g.IntN(4)]), Type: some(g, "scsi", "virtio", "sata"), Storage: some(g, "s", "t"),
			Format: some(g, "raw"), Cache: some(g, "none", "writeback"), Discard: some(g, true, false), Backup: some(g, true, false),
		})
	}
	for _, name := range g.names("lan", "dmz", "own") {
		p.Networks = append(p.Networks, v1alpha1.MachineNetwork{
			Name: name, Bridge: some(g, "vmbr0", "vmbr1"), Model: some(g, "virtio", "e1000"), VLAN: some(g, int32(1), 4094),
			MACAddress: some(g, "BC:24:11:AA:00:01", "bc:24:11:aa:00:02"), Firewall: some(g, true, false), LinkDown: some(g, true, false),
		})
	}
	if order := g.names("disk", "network", "cdrom"); len(order) > 0 && g.maybe() {
		p.BootOrder = order
	}
	return p
}

func (g gambler) config() map[string]string {
	config := map[string]string{}
	for name, values := range map[string][]string{
		"name": {"a", "z"}, "cores": {"1", "4"}, "sockets": {"1", "2"}, "memory": {"512", "current=2048", "4096"}, "balloon": {"0", "256"},
		"description": {"x\n", "z", identity{UUID: ourUUID}.mark("z")}, "ostype": {"l26", "other"}, "agent": {"1", "enabled=0,type=isa", "0"},
		"onboot": {"0", "1"}, "protection": {"0", "1"}, "cpu": {"host", "cputype=kvm64,flags=+aes"}, "vga": {"std", "type=qxl,memory=16"},
		"startup": {"1", "order=2,up=9"}, "tags": {"a;b", "Z;c", ""}, "hotplug": {"1", "0", "usb,disk,network"}, "bios": {"ovmf"},
		"smbios1": {"uuid=" + otherUUID, "base64=1,uuid=" + ourUUID}, "cpulimit": {"1.5", "0"}, "numa": {"1"}, "scsihw": {"lsi"},
		"scsi0": {"s:a,size=1G", "s:a,discard=on,size=8G"}, "scsi1": {"t:b,backup=0,size=512M"}, "virtio0": {"s:c,cache=writeback,size=1G"},
		"ide2": {"none,media=cdrom", "s:cloudinit,media=cdrom"}, "net0": {"virtio=BC:24:11:00:00:01,bridge=vmbr0", "e1000=bc:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=3"},
		"net1": {"virtio=BC:24:11:00:00:02"},
	} {
		if g.maybe() {
			config[name] = values[g.IntN(len(values))]
		}
	}
	return config
}

// FuzzDifference makes up a spec and a VM, brings the VM to the spec, and then
// to a second spec, in one round each.
func FuzzDifference(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := gambler{rand.New(rand.NewPCG(seed, 1))}
		config := g.config()
		if g.maybe() {
			config = map[string]string{}
		}
		kept := devices{}
		for round := range 2 {
			p := g.spec()
			for i, k := range p.Disks {
				if kept.Disks[k.Name] != "" {
					p.Disks[i].Type = nil // Admission does not let it change.
				}
			}
			d := desiredOf(t, p, kept, config)
			diff := d.difference(config)
			after := stored(t, config, diff)
			if again := d.difference(after); !again.empty() {
				t.Fatalf("round %d: the difference is not empty after one change:\nspec %+v\nconfig %v\nchange %v\nafter %v\ndifference %v", round, p, config, diff, after, again)
			}
			if diff.empty() && cmp.Diff(config, after) != "" {
				t.Fatalf("an empty change changed %s", cmp.Diff(config, after))
			}
			checkKept(t, d, config, after)
			var err error
			if kept, err = parseDevices(d.devices.without(d.devices.removed(&p)).String()); err != nil {
				t.Fatal(err)
			}
			config = after
		}
	})
}

// checkKept fails if a change touched a device that it must leave alone.
func checkKept(t *testing.T, d desired, before, after map[string]string) {
	t.Helper()
	for device, was := range before {
		is, ok := after[device]
		switch b := busOf(device); {
		case b == "":
			continue
		case !ok && (has(d.devices.removed(d.MachineParameters).Disks, device) || has(d.devices.removed(d.MachineParameters).Networks, device)):
			continue
		case !ok:
			t.Fatalf("%s is gone although nothing asked for that", device)
		case !has(d.devices.Disks, device) && !has(d.devices.Networks, device) && is != was:
			t.Fatalf("%s is not declared, and became %q", device, is)
		case b == "net":
			checkMAC(t, d, device, was, is)
		default:
			checkVolume(t, device, was, is)
		}
	}
}

func checkMAC(t *testing.T, d desired, device, was, is string) {
	t.Helper()
	x, errX := proxmox.ParseNIC(was)
	y, errY := proxmox.ParseNIC(is)
	if errX != nil || errY != nil {
		t.Fatalf("%s: %v, %v", device, errX, errY)
	}
	declared := slices.ContainsFunc(d.Networks, func(n v1alpha1.MachineNetwork) bool {
		return d.devices.Networks[n.Name] == device && n.MACAddress != nil
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

// FuzzDevices reads any annotation without a panic, and what it wrote itself as
// it was.
func FuzzDevices(f *testing.F) {
	for _, s := range []string{"", "{}", `{"disks":{"a":"scsi0"},"networks":{"x":"net0"}}`, "null", "[]", `{"disks":1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDevices(s)
		if err != nil {
			return
		}
		again, err := parseDevices(d.String())
		if err != nil || !again.equal(d) {
			t.Errorf("%q was read as %+v, written as %s and read as %+v, %v", s, d, d, again, err)
		}
	})
}

// FuzzUnmark leaves what people wrote as it is.
func FuzzUnmark(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "# x\n\ny", markerStart, markerEnd, "<!-- x -->"} {
		f.Add(s)
	}
	id := identity{UUID: ourUUID}
	f.Fuzz(func(t *testing.T, s string) {
		marked := id.mark(s)
		if id.prove(map[string]string{"description": marked}) != ours {
			t.Errorf("%q is not proven ours", marked)
		}
		if strings.Contains(s, markerStart) {
			return
		}
		if got, want := unmark(marked), strings.TrimRight(s, "\n"); got != want {
			t.Errorf("%q was marked as %q and unmarked as %q", s, marked, got)
		}
	})
}

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
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// devices say which device of PVE each named entry of the spec is. They are
// kept with the resource, so that an entry stands for the same device whatever
// its position in the list.
type devices struct {
	Disks    map[string]string `json:"disks,omitempty"`
	Networks map[string]string `json:"networks,omitempty"`
	PCI      map[string]string `json:"pci,omitempty"`
	USB      map[string]string `json:"usb,omitempty"`
	VirtioFS map[string]string `json:"virtiofs,omitempty"`

	// ISO is the CD-ROM drive of the ISO image.
	ISO string `json:"iso,omitempty"`

	// Seen are the disks that the VM has had. One that is gone since is not
	// replaced by an empty one.
	Seen map[string]bool `json:"seen,omitempty"`

	// Removal is what becomes of disks that are taken off the list, where it is
	// not to detach them.
	Removal map[string]removal `json:"removal,omitempty"`

	assigned bool
}

// parseDevices reads what String has written.
func parseDevices(s string) (devices, error) {
	d := devices{}
	if s == "" {
		return d, nil
	}
	d.assigned = true
	if err := json.Unmarshal([]byte(s), &d); err != nil {
		return d, errors.Errorf("cannot read annotation %q: it is not what this provider wrote", AnnotationDevices)
	}
	return d, nil
}

// String is the annotation's value.
func (d devices) String() string {
	b, err := json.Marshal(d)
	if err != nil {
		return "" // Maps of strings can always be written.
	}
	return string(b)
}

// Number of devices of each bus that PVE has.
//
//nolint:gochecknoglobals // Constants.
var (
	busSizes = map[string]int{"ide": 4, "sata": 6, "scsi": 31, "virtio": 16, "net": 32, "hostpci": 16, "usb": 14, "virtiofs": 10}
	reDevice = regexp.MustCompile(`^(ide|sata|scsi|virtio|net)([0-9]+)$`)
)

// defaultBus is the bus of a new disk whose spec names none.
const defaultBus = "scsi"

// assign gives every named entry of the spec a device: the one it has, the
// one it names, or a free one. have is the configuration of the VM, or of the
// source that it is to be cloned from. Only the first assignment takes devices
// that are there already; an entry that is added later is a new device.
func (d devices) assign(p *v1alpha1.MachineParameters, have map[string]string) (devices, error) {
	out := d.clone()
	var disks, nics []string
	if !d.assigned {
		disks, nics = disksOf(have), nicsOf(have)
	}
	if err := out.assignDisks(p.Disks, disks, have); err != nil {
		return out, err
	}
	if err := out.assignNetworks(p.Networks, nics, have); err != nil {
		return out, err
	}
	if p.ISO != nil {
		out.ISO = cmp.Or(d.ISO, out.mediumDrive(have))
	}
	return out, out.assignPassthroughs(p, !d.assigned, have)
}

// clone has maps of its own, that entries can be added to.
func (d devices) clone() devices {
	own := func(m map[string]string) map[string]string {
		if m == nil {
			return map[string]string{}
		}
		return maps.Clone(m)
	}
	return devices{
		Disks: own(d.Disks), Networks: own(d.Networks), PCI: own(d.PCI), USB: own(d.USB), VirtioFS: own(d.VirtioFS),
		ISO: d.ISO, Seen: maps.Clone(d.Seen), Removal: maps.Clone(d.Removal),
	}
}

// all assignments, by sort of device.
func (d devices) all() []map[string]string {
	return []map[string]string{d.Disks, d.Networks, d.PCI, d.USB, d.VirtioFS}
}

func (d devices) assignDisks(disks []v1alpha1.MachineDisk, existing []string, have map[string]string) error {
	for _, k := range disks {
		if k.Device != nil {
			if err := claim(d.Disks, "disk", k.Name, *k.Device); err != nil {
				return err
			}
		}
	}
	for _, k := range disks {
		if has := d.Disks[k.Name]; has != "" {
			if k.Type != nil && busOf(has) != *k.Type {
				return errors.Errorf("disk %q is device %s: its type cannot become %s", k.Name, has, *k.Type)
			}
			continue
		}
		device := firstFree(d.Disks, existing, value(k.Type))
		if device == "" {
			device = lowestFree(d.Disks, have, cmp.Or(value(k.Type), defaultBus))
		}
		if device == "" {
			return errors.Errorf("no free %s device for disk %q", cmp.Or(value(k.Type), defaultBus), k.Name)
		}
		d.Disks[k.Name] = device
	}
	return nil
}

func (d devices) assignNetworks(networks []v1alpha1.MachineNetwork, existing []string, have map[string]string) error {
	for _, n := range networks {
		if n.Device != nil {
			if err := claim(d.Networks, "network", n.Name, *n.Device); err != nil {
				return err
			}
		}
	}
	for _, n := range networks {
		if d.Networks[n.Name] != "" {
			continue
		}
		device := firstFree(d.Networks, existing, "net")
		if device == "" {
			device = lowestFree(d.Networks, have, "net")
		}
		if device == "" {
			return errors.Errorf("no free device for network %q", n.Name)
		}
		d.Networks[n.Name] = device
	}
	return nil
}

// assignPassthroughs gives an entry the device that is what it asks for, if the
// VM has one and this is the first assignment, or a free one.
func (d devices) assignPassthroughs(p *v1alpha1.MachineParameters, first bool, have map[string]string) error {
	for _, t := range d.passthroughs(p) {
		for _, h := range t.entries {
			if t.devices[h.name] != "" {
				continue
			}
			device := ""
			if first {
				device = t.existing(h, have)
			}
			if device == "" {
				device = lowestFree(t.devices, have, t.prefix)
			}
			if device == "" {
				return errors.Errorf("no free device for %s %q: Proxmox VE has %d", t.what, h.name, busSizes[t.prefix])
			}
			t.devices[h.name] = device
		}
	}
	return nil
}

// claim gives a name the device that the spec names.
func claim(taken map[string]string, what, name, device string) error {
	if has := taken[name]; has != "" && has != device {
		return errors.Errorf("%s %q is device %s: it cannot become %s", what, name, has, device)
	}
	for other, has := range taken {
		if other != name && has == device {
			return errors.Errorf("device %s is %s %q already: %q cannot have it", device, what, other, name)
		}
	}
	taken[name] = device
	return nil
}

// firstFree is the first of the VM's devices, of that bus if one is named, that
// no entry has.
func firstFree(taken map[string]string, existing []string, bus string) string {
	for _, device := range existing {
		if bus != "" && busOf(device) != bus {
			continue
		}
		if !has(taken, device) {
			return device
		}
	}
	return ""
}

// lowestFree is the lowest device of a bus that neither an entry nor the VM has.
func lowestFree(taken, have map[string]string, bus string) string {
	for i := range busSizes[bus] {
		device := bus + strconv.Itoa(i)
		if _, ok := have[device]; !ok && !has(taken, device) {
			return device
		}
	}
	return ""
}

func has(taken map[string]string, device string) bool {
	for _, d := range taken {
		if d == device {
			return true
		}
	}
	return false
}

// removed are the devices of names that the spec no longer lists.
func (d devices) removed(p *v1alpha1.MachineParameters) devices {
	gone := d.clone()
	gone.Seen = nil
	for _, k := range p.Disks {
		delete(gone.Disks, k.Name)
	}
	for _, n := range p.Networks {
		delete(gone.Networks, n.Name)
	}
	for _, t := range gone.passthroughs(p) {
		for _, h := range t.entries {
			delete(t.devices, h.name)
		}
	}
	return gone
}

// without leaves out what is in gone.
func (d devices) without(gone devices) devices {
	out := d.clone()
	for name := range gone.Disks {
		delete(out.Seen, name)
		delete(out.Removal, name)
	}
	mine := out.all()
	for i, taken := range gone.all() {
		for name := range taken {
			delete(mine[i], name)
		}
	}
	return out
}

// settled are the removed devices that the VM no longer has. What takes their
// place later is not theirs.
func (d devices) settled(p *v1alpha1.MachineParameters, config map[string]string) devices {
	gone := d.removed(p)
	still := func(_, device string) bool { _, ok := config[device]; return ok }
	for _, taken := range gone.all() {
		maps.DeleteFunc(taken, still)
	}
	return gone
}

// equal says whether both are the same assignment.
func (d devices) equal(o devices) bool {
	return d.ISO == o.ISO && maps.Equal(d.Seen, o.Seen) && maps.Equal(d.Removal, o.Removal) && slices.EqualFunc(d.all(), o.all(), maps.Equal)
}

// see notes the disks that a VM has.
func (d devices) see(config map[string]string) devices {
	seen := map[string]bool{}
	maps.Copy(seen, d.Seen)
	for name, device := range d.Disks {
		if _, ok := config[device]; ok {
			seen[name] = true
		}
	}
	d.Seen = seen
	return d
}

func busOf(device string) string {
	if m := reDevice.FindStringSubmatch(device); m != nil {
		return m[1]
	}
	return ""
}

// disksOf are the devices of a configuration that hold disks: what it boots
// from first, then by bus and number.
func disksOf(config map[string]string) []string {
	var disks []string
	for device, v := range config {
		if b := busOf(device); b == "" || b == "net" {
			continue
		}
		if d, err := proxmox.ParseDisk(v); err == nil && !d.CDROM() {
			disks = append(disks, device)
		}
	}
	boot := bootDevices(config["boot"])
	slices.SortFunc(disks, func(a, b string) int {
		if x, y := rank(boot, a), rank(boot, b); x != y {
			return x - y
		}
		return compareDevices(a, b)
	})
	return disks
}

// nicsOf are the network devices of a configuration by number.
func nicsOf(config map[string]string) []string {
	return devicesOf(config, func(device string) bool { return busOf(device) == "net" })
}

// cdromsOf are the drives of removable media of a configuration.
func cdromsOf(config map[string]string) []string {
	return devicesOf(config, func(device string) bool {
		d, err := proxmox.ParseDisk(config[device])
		return busOf(device) != "net" && err == nil && d.CDROM()
	})
}

func devicesOf(config map[string]string, keep func(device string) bool) []string {
	var found []string
	for device := range config {
		if busOf(device) != "" && keep(device) {
			found = append(found, device)
		}
	}
	slices.SortFunc(found, compareDevices)
	return found
}

func rank(order []string, device string) int {
	if i := slices.Index(order, device); i >= 0 {
		return i
	}
	return len(order)
}

// compareDevices orders devices by bus, then by number.
func compareDevices(a, b string) int {
	x, y := busOf(a), busOf(b)
	if x != y {
		return strings.Compare(x, y)
	}
	return deviceNumber(a) - deviceNumber(b)
}

func deviceNumber(device string) int {
	m := reDevice.FindStringSubmatch(device)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return 0
	}
	return n
}

// bootDevices are the devices in a boot option, in order.
func bootDevices(boot string) []string {
	p, err := proxmox.ParseProperties(strings.TrimSpace(boot), "legacy")
	if err != nil || p.Get("order") == "" {
		return nil
	}
	return strings.Split(p.Get("order"), ";")
}

// bootOrder is the boot option that the spec wants of a configuration which has
// the devices given.
func bootOrder(p *v1alpha1.MachineParameters, d devices, config map[string]string) (string, bool) {
	if p.BootOrder == nil {
		return "", false
	}
	var order []string
	for _, entry := range p.BootOrder {
		for _, device := range bootEntry(entry, d, config) {
			if !slices.Contains(order, device) {
				order = append(order, device)
			}
		}
	}
	return fmt.Sprintf("order=%s", strings.Join(order, ";")), true
}

func bootEntry(entry string, d devices, config map[string]string) []string {
	if device := cmp.Or(d.Disks[entry], d.Networks[entry], d.PCI[entry], d.USB[entry]); device != "" {
		return []string{device}
	}
	switch entry {
	case "disk":
		return disksOf(config)
	case "network":
		return nicsOf(config)
	case "cdrom":
		return cdromsOf(config)
	}
	return []string{entry}
}

func value[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

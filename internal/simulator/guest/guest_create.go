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

package guest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// A Creation is a request to create a VM.
type Creation struct {
	VMID    int
	Node    string
	Options map[string]string
	Pool    string
	Storage string
	Start   bool
	// HA adds the VM to the HA resources.
	HA bool
}

// CreateControls returns the parameters of a creation that are not options of the VM.
func CreateControls() []string {
	return []string{
		"node", "vmid", "archive", "bwlimit", "force", "pool", "start", "ha-managed", "storage", "unique", "live-restore",
		"import-working-storage",
	}
}

// ResolveCDROM replaces the option "cdrom" by the drive for which it stands.
func ResolveCDROM(options map[string]string) {
	value, ok := options["cdrom"]
	if !ok {
		return
	}
	if !strings.Contains(value, "media=") {
		value += ",media=cdrom"
	}
	options["ide2"] = value
	delete(options, "cdrom")
}

// CheckValues performs the check of values when they are written to a configuration. It is stricter than the check of requests.
func CheckValues(s *engine.Engine, options map[string]string) error {
	for key, value := range options {
		p := s.Option(key)
		if p != nil && p.Type == "integer" && strings.Trim(value, "0123456789") != "" {
			return apierr.Errorf("unable to parse value of '%s' - type check ('integer') failed - got '%s'", key, value)
		}
		if p != nil && p.Type == "integer" {
			options[key] = strconv.Itoa(schema.Int(value))
		}
	}
	return nil
}

// ClampedUnits returns a CPU weight as a node with cgroup v2 stores it: at most 10000, although requests may contain more.
func ClampedUnits(value string) string {
	if schema.Int(value) > 10000 {
		return "10000"
	}
	return value
}

// WithMAC writes a NIC option as PVE stores it, with a random address if it has none.
func WithMAC(s *engine.Engine, key, value string) string {
	nic := s.Parse(key, value)
	if nic["macaddr"] == "" {
		nic["macaddr"] = random.MAC()
	}
	return s.Print(key, nic)
}

// Build creates the disks and writes the configuration.
func Build(o *engine.Op, cr *Creation) error {
	g, err := o.State.Written(cr.Node, cr.VMID)
	if err != nil {
		return err
	}
	drives, err := makeDrives(o, cr.VMID, cr.Options, cr.Options, cr.Storage)
	if err != nil {
		return err
	}
	config := maps.Clone(cr.Options)
	maps.Copy(config, drives)
	config["meta"] = fmt.Sprintf("creation-qemu=%s,ctime=%d", qemu(o.State), o.Engine.Clock.Now().Unix())
	if config["boot"] == "" {
		config["boot"] = defaultBootOrder(o.Engine, config)
	}
	for key, value := range map[string]string{"smbios1": "uuid=" + random.UUID(), "vmgenid": random.UUID()} {
		if config[key] == "" || config[key] == "1" {
			config[key] = value
		}
	}
	pinMachine(o, config, config)
	// 8.4 stores the tags of a new VM unchanged.
	if tags, ok := config["tags"]; ok && o.State.Version != "8.4" {
		if err := mayTag(o, cr.VMID, cr.Pool, "", tags); err != nil {
			return err
		}
		config["tags"] = UniqueTags(tags)
	}
	delete(config, "description")
	if d := cr.Options["description"]; d != "" {
		config["description"] = strings.TrimRight(d, "\n ")
	}
	g.Config = config
	if p := o.State.Pools[cr.Pool]; p != nil {
		p.VMs[cr.VMID] = true
	}
	if cr.HA {
		o.Logf("Add as HA resource")
		o.State.HA[state.HAID(cr.VMID)] = &state.HAResource{State: map[bool]string{true: "started", false: "stopped"}[cr.Start]}
	}
	return nil
}

// pinMachine pins the machine of a Windows guest to the current version, which later releases do not change.
func pinMachine(o *engine.Op, config, into map[string]string) {
	pinned := o.Engine.Parse("machine", config["machine"])
	kind := map[string]string{"": "pc-i440fx", "pc": "pc-i440fx", "q35": "pc-q35"}[pinned["type"]]
	if kind == "" || !strings.HasPrefix(config["ostype"], "w") {
		return
	}
	version := machine(o.State)
	if revisions := MachineRevisions(version); len(revisions) > 0 {
		version += revisions[0][0]
	}
	pinned["type"] = kind + "-" + version
	into["machine"] = o.Engine.Print("machine", pinned)
	o.Logf("pinning machine type to '%s' for Windows guest OS", pinned["type"])
}

// qemu returns the QEMU version of the release.
func qemu(st *state.State) string {
	if st.QEMU != "" {
		return st.QEMU
	}
	if st.Version == "8.4" {
		return "9.2.0"
	}
	return "10.0.13"
}

// defaultBootOrder returns the default order: the first disk, the first CD drive, the first NIC.
func defaultBootOrder(s *engine.Engine, config map[string]string) string {
	var disk, cdrom, nic string
	for _, key := range bootDevices(s, config) {
		switch {
		case IsNIC(key):
			nic = firstOf(nic, key)
		case ParseDrive(s, key, config[key]).CDROM():
			cdrom = firstOf(cdrom, key)
		default:
			disk = firstOf(disk, key)
		}
	}
	return printBootOrder(slices.DeleteFunc([]string{disk, cdrom, nic}, func(d string) bool { return d == "" }))
}

func firstOf(have, candidate string) string {
	if have != "" {
		return have
	}
	return candidate
}

// bootDevices lists the possible boot devices of a VM, in the order in which PVE searches for them.
func bootDevices(_ *engine.Engine, config map[string]string) []string {
	out := []string{}
	for _, bus := range []string{"ide", "scsi", "virtio", "sata", "net"} {
		for i := range 32 {
			key := bus + strconv.Itoa(i)
			if config[key] != "" {
				out = append(out, key)
			}
		}
	}
	return out
}

func printBootOrder(devices []string) string {
	if len(devices) == 0 {
		return " "
	}
	return "order=" + strings.Join(devices, ";")
}

// UniqueTags sorts tags, in lower case, and removes duplicates.
func UniqueTags(tags string) string {
	list := strings.FieldsFunc(strings.ToLower(tags), func(r rune) bool { return strings.ContainsRune(",; ", r) })
	slices.Sort(list)
	if list = slices.Compact(list); len(list) == 0 {
		return " "
	}
	return strings.Join(list, ";")
}

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
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// Access performs the permission checks for options of a VM that the API description does not contain.
type Access struct {
	*engine.Op
	VMID int
	// Pool of a new VM. Privileges on it count too.
	Pool string
}

// May fails unless the caller has one of the privileges on the VM or its pool.
func (a *Access) May(privileges ...string) error {
	if a.Pool != "" && a.State.CheckAny(a.Who, "/pool/"+a.Pool, privileges...) == nil {
		return nil
	}
	path := fmt.Sprintf("/vms/%d", a.VMID)
	if len(privileges) == 1 {
		return a.State.Check(a.Who, path, privileges[0])
	}
	return a.State.CheckAny(a.Who, path, privileges...)
}

// optionPrivileges maps options to the privileges that changing them requires, one of which suffices. Options without a match are reserved for root@pam.
var optionPrivileges = sync.OnceValue(func() []optionPrivilege { //nolint:gochecknoglobals // Read only.
	line := func(expression string, privileges ...string) optionPrivilege {
		return optionPrivilege{regexp.MustCompile("^(" + expression + ")$"), privileges}
	}
	return []optionPrivilege{
		line(`(ide|scsi|virtio|sata|efidisk|tpmstate|unused|serial|usb|hostpci|virtiofs)\d+|cdrom|tags`),
		line(`cores|cpu|cpulimit|cpuunits|numa|smp|sockets|vcpus|runningcpu|numa\d+`, "VM.Config.CPU"),
		line(`memory|balloon|shares|allow-ksm`, "VM.Config.Memory"),
		line(`acpi|hotplug|kvm|machine|runningmachine|scsihw|smbios1|tablet|vga|watchdog|audio0|rng0`, "VM.Config.HWType"),
		line(`agent|autostart|bios|description|keyboard|localtime|migrate_downtime|migrate_speed|name|onboot|ostype|protection|`+
			`reboot|startdate|startup|tdf|template`, "VM.Config.Options"),
		line(`freeze`, "VM.PowerMgmt"),
		line(`boot|bootdisk|vmstatestorage`, "VM.Config.Disk"),
		line(`net\d+|running-nets-host-mtu`, "VM.Config.Network"),
		line(`cicustom|cipassword|citype|ciuser|ciupgrade|nameserver|searchdomain|sshkeys|ipconfig\d+`,
			"VM.Config.Cloudinit", "VM.Config.Network"),
	}
})

type optionPrivilege struct {
	options    *regexp.Regexp
	privileges []string
}

// Options checks the options of a request.
func (a *Access) Options(keys []string) error {
	if a.Who == state.Root {
		return nil
	}
	for _, key := range keys {
		if err := a.option(key); err != nil {
			return err
		}
	}
	return nil
}

func (a *Access) option(key string) error {
	for _, line := range optionPrivileges() {
		if !line.options.MatchString(key) {
			continue
		}
		if len(line.privileges) == 0 {
			return nil
		}
		if err := a.May(line.privileges...); err != nil {
			return err
		}
		if key == "startup" {
			return a.State.Check(a.Who, "/", "Sys.Modify")
		}
		return nil
	}
	return apierr.Errorf("only root can set '%s' config", key)
}

// Devices checks options for devices of the host, whose value determines whether they are reserved for root@pam.
func (a *Access) Devices(options map[string]string) error {
	if a.Who == state.Root {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if err := a.device(key, options[key]); err != nil {
			return err
		}
	}
	return nil
}

func (a *Access) device(key, value string) error {
	switch {
	case Indexed(key, "serial") && value != "socket":
		return apierr.Errorf("only root can set '%s' config for real devices", key)
	case Indexed(key, "serial"):
		return a.May("VM.Config.HWType")
	case Indexed(key, "usb"):
		return a.mapped(key, value, "usb", "real devices")
	case Indexed(key, "hostpci"):
		return a.mapped(key, value, "pci", "non-mapped devices")
	case Indexed(key, "rng"):
		if err := a.May("VM.Config.HWType"); err != nil || a.Engine.Parse(key, value)["source"] != "/dev/hwrng" {
			return err
		}
		return a.State.Check(a.Who, "/mapping/hwrng", "Mapping.Use")
	case Indexed(key, "virtiofs"):
		if err := a.May("VM.Config.Disk"); err != nil {
			return err
		}
		return a.State.Check(a.Who, "/mapping/dir/"+a.Engine.Parse(key, value)["dirid"], "Mapping.Use")
	}
	return nil
}

// mapped allows devices of the host through a resource mapping.
func (a *Access) mapped(key, value, kind, what string) error {
	device := a.Engine.Parse(key, value)
	host := device["host"]
	if host != "" && !strings.EqualFold(host, "spice") {
		return apierr.Errorf("only root can set '%s' config for %s", key, what)
	}
	if err := a.May("VM.Config.HWType"); err != nil || host != "" {
		return err
	}
	if device["mapping"] == "" {
		return apierr.Errorf("either 'host' or 'mapping' must be set.")
	}
	return a.State.Check(a.Who, "/mapping/"+kind+"/"+device["mapping"], "Mapping.Use")
}

// mappings checks that the caller may use the mappings of a VM that is cloned. Unmapped devices of the host are reserved for root@pam.
func (a *Access) mappings(options map[string]string) error {
	if a.Who == state.Root {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		device := a.Engine.Parse(key, options[key])
		path := ""
		switch {
		case Indexed(key, "usb") && device["host"] != "" && !strings.EqualFold(device["host"], "spice"):
			return apierr.Errorf("only root can set '%s' config for real devices", key)
		case Indexed(key, "hostpci") && device["host"] != "":
			return apierr.Errorf("only root can set '%s' config for non-mapped devices", key)
		case Indexed(key, "usb") && device["mapping"] != "":
			path = "usb/" + device["mapping"]
		case Indexed(key, "hostpci"):
			path = "pci/" + device["mapping"]
		case Indexed(key, "rng") && device["source"] == "/dev/hwrng":
			path = "hwrng"
		case Indexed(key, "virtiofs"):
			path = "dir/" + device["dirid"]
		}
		if path == "" {
			continue
		}
		if err := a.State.Check(a.Who, "/mapping/"+path, "Mapping.Use"); err != nil {
			return err
		}
	}
	return nil
}

// Bridges checks that the caller may use the bridges of all NICs.
func (a *Access) Bridges(options map[string]string) error {
	if a.Who == state.Root {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if !IsNIC(key) {
			continue
		}
		if err := a.bridge(a.Engine.Parse(key, options[key])); err != nil {
			return err
		}
	}
	return nil
}

func (a *Access) bridge(nic map[string]string) error {
	bridge := nic["bridge"]
	if bridge == "" {
		if a.State.Version == "8.4" {
			return apierr.Errorf("no sdn vnet ID specified")
		}
		return nil
	}
	path := "/sdn/zones/" + a.State.ZoneOf(bridge) + "/" + bridge
	tags := trunked(nic["trunks"])
	if nic["tag"] != "" {
		tags = append([]string{nic["tag"]}, tags...)
	}
	if len(tags) == 0 {
		return a.State.Check(a.Who, path, "SDN.Use")
	}
	for _, tag := range tags {
		if err := a.State.Check(a.Who, path+"/"+tag, "SDN.Use"); err != nil {
			return err
		}
	}
	return nil
}

// trunked returns the VLANs of a list such as "2;4-6", sorted as text.
func trunked(trunks string) []string {
	var tags []string
	for part := range strings.SplitSeq(trunks, ";") {
		first, last, is := strings.Cut(part, "-")
		if !is {
			last = first
		}
		for tag := schema.Int(first); tag > 0 && tag <= schema.Int(last); tag++ {
			tags = append(tags, strconv.Itoa(tag))
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// Processor checks that the caller may use a CPU model that the cluster defines, unless the VM already has it.
func (a *Access) Processor(value, old string) error {
	model := a.Engine.Parse("cpu", value)["cputype"]
	name, custom := strings.CutPrefix(model, "custom-")
	if a.Who == state.Root || !custom || a.Engine.Parse("cpu", old)["cputype"] == model {
		return nil
	}
	if a.State.Version == "8.4" {
		return a.State.Check(a.Who, "/nodes", "Sys.Audit")
	}
	return a.State.Check(a.Who, "/mapping/cpu/"+name, "Mapping.Use")
}

// Storages checks the storages of all drives.
func (a *Access) Storages(options map[string]string, defaultStorage string) error {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if !IsDrive(key) {
			continue
		}
		if err := a.drive(key, ParseDrive(a.Engine, key, options[key]), defaultStorage); err != nil {
			return err
		}
	}
	if id := options["vmstatestorage"]; id != "" {
		return a.State.Check(a.Who, "/storage/"+id, "Datastore.AllocateSpace")
	}
	return nil
}

func (a *Access) drive(key string, d Drive, defaultStorage string) error {
	storage, _, isNew := newDisk(d.File())
	switch {
	case d.File() == "none" || d.File() == "cloudinit" || strings.HasSuffix(d.File(), ":cloudinit"):
	case d.File() == "cdrom":
		return a.State.Check(a.Who, "/", "Sys.Console")
	case isNew && d["media"] != "cdrom":
		if err := a.newDisk(storage, defaultStorage); err != nil {
			return err
		}
	default:
		if err := a.Volume(d.File()); err != nil {
			return err
		}
	}
	if d["import-from"] != "" {
		return a.importSource(key, d["import-from"])
	}
	return nil
}

func (a *Access) newDisk(storage, defaultStorage string) error {
	if storage == "" {
		storage = defaultStorage
	}
	if storage == "" {
		return apierr.Errorf("no storage ID specified (and no default storage)")
	}
	if err := a.State.Check(a.Who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	s, err := a.State.Storage(storage)
	if err == nil && !s.Holds("images") {
		return apierr.Param("storage", "storage '%s' does not support vm images", storage)
	}
	return err
}

// Volume checks access to an existing volume.
func (a *Access) Volume(id string) error {
	storage, name, ok := state.SplitVolume(id)
	if !ok {
		if a.Who == state.Root {
			return nil
		}
		return apierr.Errorf("Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line %d.", a.storageLine())
	}
	s, err := a.State.Storage(storage)
	if err != nil {
		return err
	}
	content, owner, err := s.KindOf(name)
	path := "/storage/" + storage
	switch {
	case err != nil:
		return err
	case a.State.May(a.Who, path, "Datastore.Allocate"), content == "images" && owner == a.VMID:
		return nil
	case content == "images":
		if err := a.State.Check(a.Who, path, "Datastore.Audit"); err != nil {
			return err
		}
		return a.State.Check(a.Who, fmt.Sprintf("/vms/%d", owner), "VM.Config.Disk")
	}
	return a.State.CheckAny(a.Who, path, "Datastore.AllocateSpace", "Datastore.Audit")
}

// storageLine returns the line number at which the module rejects host paths.
func (a *Access) storageLine() int {
	if a.State.Version == "8.4" {
		return 581
	}
	return 651
}

func (a *Access) importSource(key, id string) error {
	storage, name, ok := state.SplitVolume(id)
	if !ok {
		return a.Volume(id)
	}
	s, err := a.State.Storage(storage)
	if err != nil {
		return err
	}
	content, owner, err := s.KindOf(name)
	if err != nil {
		return err
	}
	if content != "images" && content != "import" {
		return apierr.Param(key, "%s has wrong type '%s' - needs to be 'images' or 'import'", id, content)
	}
	if _, format := inArchive(id); format != "" {
		if err := a.unpacks(key, s); err != nil {
			return err
		}
	}
	if owner != 0 {
		return a.State.Check(a.Who, fmt.Sprintf("/vms/%d", owner), "VM.Clone")
	}
	return a.Volume(id)
}

// unpacks checks the storage of an OVA, to which its files are unpacked.
func (a *Access) unpacks(key string, s *state.Storage) error {
	if !s.Holds("images") || !s.FileBased() {
		return apierr.Param(key, "import working storage '%s' does not support 'images' content type or is not file based.", s.ID)
	}
	return a.State.Check(a.Who, "/storage/"+s.ID, "Datastore.AllocateSpace")
}

// CheckDrives performs the checks of drive options that follow those of permissions.
func (a *Access) CheckDrives(options map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if !IsDrive(key) {
			continue
		}
		d := ParseDrive(a.Engine, key, options[key])
		if !d.coherent() {
			return apierr.Param(key, "unable to parse drive options")
		}
		_, size, isNew := newDisk(d.File())
		if d["import-from"] != "" && (!isNew || strings.Trim(size, "0.") != "") {
			return apierr.Param(key, "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>")
		}
		_, name, _ := state.SplitVolume(d.File())
		if strings.HasPrefix(name, "iso/") && d["media"] != "cdrom" {
			return apierr.Param(key, "explicit 'media=cdrom' is required for iso images")
		}
	}
	return nil
}

// CheckSSHKeys performs the check of ssh-keygen, which PVE runs on each decoded key: PVE::Tools::validate_ssh_public_keys.
func CheckSSHKeys(encoded string) error {
	decoded, err := url.PathUnescape(encoded)
	if err != nil {
		return apierr.Errorf("SSH public key validation error")
	}
	for line := range strings.SplitSeq(decoded, "\n") {
		if strings.TrimSpace(line) != "" && !hasSSHKey(line) {
			return apierr.Errorf("SSH public key validation error")
		}
	}
	return nil
}

// sshKey matches the type of a key and its content in base64, which begins with the type again.
var sshKey = regexp.MustCompile(`(?:^|\s)((?:sk-)?(?:ssh|ecdsa)-\S+)\s+(\S+)`)

func hasSSHKey(line string) bool {
	m := sshKey.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	content, err := base64.StdEncoding.DecodeString(m[2])
	head := string(binary.BigEndian.AppendUint32(nil, uint32(len(m[1])))) + m[1] //nolint:gosec // The length of a word.
	rest, ok := strings.CutPrefix(string(content), head)
	return err == nil && ok && len(rest) > 4 && (m[1] != "ssh-ed25519" || len(rest) == 4+32)
}

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

package simulator

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
)

// guestAccess makes the permission checks for options of a VM that the API description does not tell.
type guestAccess struct {
	*op
	vmid int
	// pool is where a new VM goes; privileges on it count too.
	pool string
}

// may fails unless the caller has one of the privileges on the VM or its pool.
func (a *guestAccess) may(privileges ...string) error {
	if a.pool != "" && a.st.checkAny(a.who, "/pool/"+a.pool, privileges...) == nil {
		return nil
	}
	path := fmt.Sprintf("/vms/%d", a.vmid)
	if len(privileges) == 1 {
		return a.st.check(a.who, path, privileges[0])
	}
	return a.st.checkAny(a.who, path, privileges...)
}

// optionPrivileges maps options to the privileges that changing them needs; one of them is enough. Options that no line
// matches are for root@pam only.
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

// options checks the options that a request names.
func (a *guestAccess) options(keys []string) error {
	if a.who == root {
		return nil
	}
	for _, key := range keys {
		if err := a.option(key); err != nil {
			return err
		}
	}
	return nil
}

func (a *guestAccess) option(key string) error {
	for _, line := range optionPrivileges() {
		if !line.options.MatchString(key) {
			continue
		}
		if len(line.privileges) == 0 {
			return nil
		}
		if err := a.may(line.privileges...); err != nil {
			return err
		}
		if key == "startup" {
			return a.st.check(a.who, "/", "Sys.Modify")
		}
		return nil
	}
	return die("only root can set '%s' config", key)
}

// devices checks the options whose value decides whether they are for root@pam only: devices of the host.
func (a *guestAccess) devices(options map[string]string) error {
	if a.who == root {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if err := a.device(key, options[key]); err != nil {
			return err
		}
	}
	return nil
}

func (a *guestAccess) device(key, value string) error {
	switch {
	case indexed(key, "serial") && value != "socket":
		return die("only root can set '%s' config for real devices", key)
	case indexed(key, "serial"):
		return a.may("VM.Config.HWType")
	case indexed(key, "usb"):
		return a.mapped(key, value, "usb", "real devices")
	case indexed(key, "hostpci"):
		return a.mapped(key, value, "pci", "non-mapped devices")
	case indexed(key, "rng"):
		if err := a.may("VM.Config.HWType"); err != nil || a.s.parse(key, value)["source"] != "/dev/hwrng" {
			return err
		}
		return a.st.check(a.who, "/mapping/hwrng", "Mapping.Use")
	case indexed(key, "virtiofs"):
		if err := a.may("VM.Config.Disk"); err != nil {
			return err
		}
		return a.st.check(a.who, "/mapping/dir/"+a.s.parse(key, value)["dirid"], "Mapping.Use")
	}
	return nil
}

// mapped allows devices of the host that a resource mapping names.
func (a *guestAccess) mapped(key, value, kind, what string) error {
	device := a.s.parse(key, value)
	host := device["host"]
	if host != "" && !strings.EqualFold(host, "spice") {
		return die("only root can set '%s' config for %s", key, what)
	}
	if err := a.may("VM.Config.HWType"); err != nil || host != "" {
		return err
	}
	if device["mapping"] == "" {
		return die("either 'host' or 'mapping' must be set.")
	}
	return a.st.check(a.who, "/mapping/"+kind+"/"+device["mapping"], "Mapping.Use")
}

// mappings checks that the caller may use the mappings of a VM that is cloned, whose devices of the host itself are for
// root@pam only.
func (a *guestAccess) mappings(options map[string]string) error {
	if a.who == root {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		device := a.s.parse(key, options[key])
		path := ""
		switch {
		case indexed(key, "usb") && device["host"] != "" && !strings.EqualFold(device["host"], "spice"):
			return die("only root can set '%s' config for real devices", key)
		case indexed(key, "hostpci") && device["host"] != "":
			return die("only root can set '%s' config for non-mapped devices", key)
		case indexed(key, "usb") && device["mapping"] != "":
			path = "usb/" + device["mapping"]
		case indexed(key, "hostpci"):
			path = "pci/" + device["mapping"]
		case indexed(key, "rng") && device["source"] == "/dev/hwrng":
			path = "hwrng"
		case indexed(key, "virtiofs"):
			path = "dir/" + device["dirid"]
		}
		if path == "" {
			continue
		}
		if err := a.st.check(a.who, "/mapping/"+path, "Mapping.Use"); err != nil {
			return err
		}
	}
	return nil
}

// bridges checks that the caller may use the bridges of all NICs.
func (a *guestAccess) bridges(options map[string]string) error {
	if a.who == root {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if !isNIC(key) {
			continue
		}
		if err := a.bridge(a.s.parse(key, options[key])); err != nil {
			return err
		}
	}
	return nil
}

func (a *guestAccess) bridge(nic map[string]string) error {
	bridge := nic["bridge"]
	if bridge == "" {
		if a.st.Version == "8.4" {
			return die("no sdn vnet ID specified")
		}
		return nil
	}
	path := "/sdn/zones/" + a.st.zoneOf(bridge) + "/" + bridge
	tags := trunked(nic["trunks"])
	if nic["tag"] != "" {
		tags = append([]string{nic["tag"]}, tags...)
	}
	if len(tags) == 0 {
		return a.st.check(a.who, path, "SDN.Use")
	}
	for _, tag := range tags {
		if err := a.st.check(a.who, path+"/"+tag, "SDN.Use"); err != nil {
			return err
		}
	}
	return nil
}

// trunked are the VLANs of a list such as "2;4-6", sorted as text.
func trunked(trunks string) []string {
	var tags []string
	for part := range strings.SplitSeq(trunks, ";") {
		first, last, is := strings.Cut(part, "-")
		if !is {
			last = first
		}
		for tag := atoi(first); tag > 0 && tag <= atoi(last); tag++ {
			tags = append(tags, strconv.Itoa(tag))
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// processor checks that the caller may give a VM a CPU model that the cluster defines, unless it has that already.
func (a *guestAccess) processor(value, old string) error {
	model := a.s.parse("cpu", value)["cputype"]
	name, custom := strings.CutPrefix(model, "custom-")
	if a.who == root || !custom || a.s.parse("cpu", old)["cputype"] == model {
		return nil
	}
	if a.st.Version == "8.4" {
		return a.st.check(a.who, "/nodes", "Sys.Audit")
	}
	return a.st.check(a.who, "/mapping/cpu/"+name, "Mapping.Use")
}

// storages checks the storages of all drives.
func (a *guestAccess) storages(options map[string]string, defaultStorage string) error {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if !isDrive(key) {
			continue
		}
		if err := a.drive(key, a.s.parseDrive(key, options[key]), defaultStorage); err != nil {
			return err
		}
	}
	if id := options["vmstatestorage"]; id != "" {
		return a.st.check(a.who, "/storage/"+id, "Datastore.AllocateSpace")
	}
	return nil
}

func (a *guestAccess) drive(key string, d drive, defaultStorage string) error {
	storage, _, isNew := newDisk(d.file())
	switch {
	case d.file() == "none" || d.file() == "cloudinit" || strings.HasSuffix(d.file(), ":cloudinit"):
	case d.file() == "cdrom":
		return a.st.check(a.who, "/", "Sys.Console")
	case isNew && d["media"] != "cdrom":
		if err := a.newDisk(storage, defaultStorage); err != nil {
			return err
		}
	default:
		if err := a.volume(d.file()); err != nil {
			return err
		}
	}
	if d["import-from"] != "" {
		return a.importSource(key, d["import-from"])
	}
	return nil
}

func (a *guestAccess) newDisk(storage, defaultStorage string) error {
	if storage == "" {
		storage = defaultStorage
	}
	if storage == "" {
		return die("no storage ID specified (and no default storage)")
	}
	if err := a.st.check(a.who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	s, err := a.st.storage(storage)
	if err == nil && !s.holds("images") {
		return paramError("storage", "storage '%s' does not support vm images", storage)
	}
	return err
}

// volume checks access to an existing volume.
func (a *guestAccess) volume(id string) error {
	storage, name, ok := splitVolume(id)
	if !ok {
		if a.who == root {
			return nil
		}
		return die("Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line %d.", a.storageLine())
	}
	s, err := a.st.storage(storage)
	if err != nil {
		return err
	}
	content, owner, err := s.kindOf(name)
	path := "/storage/" + storage
	switch {
	case err != nil:
		return err
	case a.st.may(a.who, path, "Datastore.Allocate"), content == "images" && owner == a.vmid:
		return nil
	case content == "images":
		if err := a.st.check(a.who, path, "Datastore.Audit"); err != nil {
			return err
		}
		return a.st.check(a.who, fmt.Sprintf("/vms/%d", owner), "VM.Config.Disk")
	}
	return a.st.checkAny(a.who, path, "Datastore.AllocateSpace", "Datastore.Audit")
}

// storageLine is where the module that refuses host paths says so.
func (a *guestAccess) storageLine() int {
	if a.st.Version == "8.4" {
		return 581
	}
	return 651
}

func (a *guestAccess) importSource(key, id string) error {
	storage, name, ok := splitVolume(id)
	if !ok {
		return a.volume(id)
	}
	s, err := a.st.storage(storage)
	if err != nil {
		return err
	}
	content, owner, err := s.kindOf(name)
	if err != nil {
		return err
	}
	if content != "images" && content != "import" {
		return paramError(key, "%s has wrong type '%s' - needs to be 'images' or 'import'", id, content)
	}
	if _, format := inArchive(id); format != "" {
		if err := a.unpacks(key, s); err != nil {
			return err
		}
	}
	if owner != 0 {
		return a.st.check(a.who, fmt.Sprintf("/vms/%d", owner), "VM.Clone")
	}
	return a.volume(id)
}

// unpacks checks the storage of an OVA, which is where its files are unpacked.
func (a *guestAccess) unpacks(key string, s *Storage) error {
	if !s.holds("images") || !s.fileBased() {
		return paramError(key, "import working storage '%s' does not support 'images' content type or is not file based.", s.ID)
	}
	return a.st.check(a.who, "/storage/"+s.ID, "Datastore.AllocateSpace")
}

// checkDrives makes the checks of drive options that come after those of permissions.
func (a *guestAccess) checkDrives(options map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if !isDrive(key) {
			continue
		}
		d := a.s.parseDrive(key, options[key])
		if !d.coherent() {
			return paramError(key, "unable to parse drive options")
		}
		_, size, isNew := newDisk(d.file())
		if d["import-from"] != "" && (!isNew || strings.Trim(size, "0.") != "") {
			return paramError(key, "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>")
		}
		_, name, _ := splitVolume(d.file())
		if strings.HasPrefix(name, "iso/") && d["media"] != "cdrom" {
			return paramError(key, "explicit 'media=cdrom' is required for iso images")
		}
	}
	return nil
}

// checkSSHKeys makes the check that PVE has ssh-keygen make of each key after decoding: PVE::Tools::validate_ssh_public_keys.
func checkSSHKeys(encoded string) error {
	decoded, err := url.PathUnescape(encoded)
	if err != nil {
		return die("SSH public key validation error")
	}
	for line := range strings.SplitSeq(decoded, "\n") {
		if strings.TrimSpace(line) != "" && !hasSSHKey(line) {
			return die("SSH public key validation error")
		}
	}
	return nil
}

// sshKey is the type of a key and its content in base64, which begins with the type again.
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

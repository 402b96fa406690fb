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
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// drive is a parsed drive option.
type drive map[string]string

func (d drive) file() string { return d["file"] }

func (d drive) cloudInit() bool {
	file := d.file()
	return strings.HasSuffix(file, ":cloudinit") || strings.Contains(baseName(file), "cloudinit")
}

func (d drive) cdrom() bool {
	return d["media"] == "cdrom" || d.file() == "none" || d.file() == "cdrom" || strings.HasSuffix(d.file(), ":cloudinit")
}

// throttleNeeds are the limits without which a drive cannot have others.
//
//nolint:gochecknoglobals // Constants.
var throttleNeeds = map[string]string{
	"mbps_max": "mbps", "mbps_rd_max": "mbps_rd", "mbps_wr_max": "mbps_wr",
	"bps_max_length": "mbps_max", "bps_rd_max_length": "mbps_rd_max", "bps_wr_max_length": "mbps_wr_max",
	"iops_max_length": "iops_max", "iops_rd_max_length": "iops_rd_max", "iops_wr_max_length": "iops_wr_max",
}

// coherent reports whether a drive can have its options together (PVE::QemuServer::Drive::parse_drive). What is 0 counts
// as absent.
func (d drive) coherent() bool {
	set := func(key string) bool { return d[key] != "" && d[key] != "0" }
	for key, other := range throttleNeeds {
		if set(key) && !set(other) {
			return false
		}
	}
	for _, total := range []string{"mbps", "iops"} {
		if set(total) && (set(total+"_rd") || set(total+"_wr")) {
			return false
		}
	}
	return true
}

// newDisk matches the file of a drive that asks for a new volume: "storage:size in GiB".
func newDisk(file string) (storage, size string, ok bool) {
	storage, size, ok = strings.Cut(file, ":")
	if !ok {
		storage, size = "", file
	}
	whole, fraction, point := strings.Cut(size, ".")
	if (ok && storage == "") || strings.ContainsAny(storage, "/ \t") || !digits(whole) || (point && !digits(fraction)) {
		return "", "", false
	}
	return storage, size, true
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isDrive reports whether an option is a drive. Unused disks are none.
func isDrive(key string) bool {
	base := strings.TrimRight(key, "0123456789")
	return base != key && slices.Contains([]string{"ide", "scsi", "virtio", "sata", "efidisk", "tpmstate"}, base)
}

func isNIC(key string) bool { return indexed(key, "net") }

func isUnused(key string) bool { return indexed(key, "unused") }

func indexed(key, base string) bool {
	digits, ok := strings.CutPrefix(key, base)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func index(key string) int { return atoi(strings.TrimLeft(key, "abcdefghijklmnopqrstuvwxyz")) }

// option returns the type of a configuration option.
func (s *engine) option(key string) *schema.Property { return s.creation.Find(key) }

// configOption reports whether a key is an option of the configuration: what a change may set but does not control it.
func (s *engine) configOption(key string) bool {
	switch key {
	case "node", "vmid", "digest", "delete", "revert", "force", "skiplock", "background_delay", "import-working-storage", "cdrom":
		return false
	case "meta":
		return true // It is an option, though not one that the API takes.
	}
	return s.change.Find(key) != nil
}

// parse reads a property string; one that cannot be read is empty. The caller may change the result.
func (s *engine) parse(key, value string) map[string]string { return maps.Clone(s.read(key, value)) }

// read is parse for callers that change nothing.
func (s *engine) read(key, value string) map[string]string {
	p := s.option(key)
	if p == nil {
		return map[string]string{}
	}
	return s.parsed.get(p.Format, value, func() map[string]string {
		out, err := s.facts.ParseProperties(p.Format, value)
		if err != nil {
			return map[string]string{}
		}
		return out
	})
}

// parseCache remembers property strings that were read: many guests have the same ones, and lists read them all.
type parseCache struct {
	mu      sync.Mutex
	entries map[[2]string]map[string]string
}

// maxParsed is how many property strings are remembered before all are forgotten.
const maxParsed = 100_000

func (c *parseCache) get(format, value string, read func() map[string]string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{format, value}
	if out, ok := c.entries[key]; ok {
		return out
	}
	if c.entries == nil || len(c.entries) >= maxParsed {
		c.entries = map[[2]string]map[string]string{}
	}
	c.entries[key] = read()
	return c.entries[key]
}

func (s *engine) parseDrive(key, value string) drive { return s.parse(key, value) }

func (s *engine) print(key string, values map[string]string) string {
	return s.facts.FormatProperties(s.option(key).Format, values)
}

func storageOf(file string) string {
	storage, _, _ := splitVolume(file)
	return storage
}

// makeDrives creates what the drive options of a VM ask for and returns the options to store. On an error nothing of it
// is left.
func (o *op) makeDrives(vmid int, options map[string]string, taken map[string]string, defaultStorage string) (map[string]string, error) {
	out := map[string]string{}
	m := &driveMaker{op: o, vmid: vmid, storage: defaultStorage, config: taken}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if !isDrive(key) {
			continue
		}
		value, err := m.make(key, options[key])
		if err != nil {
			for _, id := range m.created {
				o.free(id)
			}
			return nil, err
		}
		out[key] = value
	}
	return out, nil
}

// driveMaker creates the volumes of one VM.
type driveMaker struct {
	*op
	vmid    int
	storage string
	// config are the options that the VM has or will have.
	config  map[string]string
	created []string
}

func (m *driveMaker) make(key, value string) (string, error) {
	d := m.s.parseDrive(key, value)
	storage, size, isNew := newDisk(d.file())
	switch {
	case d.file() == "none" || d.file() == "cdrom":
		d["media"] = "cdrom"
	case strings.HasSuffix(d.file(), ":cloudinit"):
		return m.cloudInit(key, d)
	case isNew:
		return m.fresh(key, d, storage, size)
	default:
		if err := m.existing(key, d); err != nil {
			return "", err
		}
	}
	return m.s.print(key, d), nil
}

// cloudInit creates the drive that PVE writes cloud-init data to; a VM has one at most.
func (m *driveMaker) cloudInit(key string, d drive) (string, error) {
	for _, other := range slices.Sorted(maps.Keys(m.config)) {
		if other != key && isDrive(other) && m.s.parseDrive(other, m.config[other]).cloudInit() {
			return "", die("%s - cloud-init drive is already attached at '%s'", key, other)
		}
	}
	s, err := m.st.enabledStorage(storageOf(d.file()), m.node)
	if err != nil {
		return "", err
	}
	format := "raw"
	if s.fileBased() {
		format = firstOf(d["format"], "qcow2")
	}
	delete(d, "format")
	if d["file"], err = m.allocate(s, m.vmid, "vm-"+strconv.Itoa(m.vmid)+"-cloudinit", format, 4<<20); err != nil {
		return "", err
	}
	d["media"] = "cdrom"
	m.created = append(m.created, d["file"])
	return m.report(key, d), nil
}

// fresh allocates a disk, empty or with the content of another volume.
func (m *driveMaker) fresh(key string, d drive, storage, size string) (string, error) {
	if storage == "" {
		storage = m.storage
	}
	s, err := m.st.enabledStorage(storage, m.node)
	if err != nil {
		return "", err
	}
	bytes, source := m.size(key, d, size), (*Volume)(nil)
	if from := d["import-from"]; from != "" {
		if source, err = m.source(from); err != nil {
			return "", err
		}
		bytes = source.Size
		m.logf("create full clone of drive (%s)", from)
	}
	if d["file"], err = m.allocate(s, m.vmid, m.freeDisk(s, m.vmid), m.format(s, d, source), bytes); err != nil {
		return "", err
	}
	m.created = append(m.created, d["file"])
	if source != nil {
		m.st.volume(m.node, d["file"]).System = true
		m.logf("allocated target volume '%s'", d["file"])
		if err := m.write(d["file"], source, m.st.path(d["import-from"])); err != nil {
			return "", die("cannot import from '%s' - %s", d["import-from"], err)
		}
	}
	delete(d, "format")
	delete(d, "import-from")
	d["size"] = sizeOption(bytes)
	return m.report(key, d), nil
}

func (m *driveMaker) report(key string, d drive) string {
	value := m.s.print(key, d)
	m.logf("%s: successfully created disk '%s'", key, value)
	return value
}

// size is how large a new disk gets; EFI and TPM disks have sizes of their own.
func (m *driveMaker) size(key string, d drive, size string) int64 {
	switch {
	case key == "tpmstate0":
		return 4 << 20
	case key == "efidisk0" && d["efitype"] == "4m":
		return 528 << 10
	case key == "efidisk0":
		return 128 << 10
	}
	return gib(size)
}

func (m *driveMaker) format(s *Storage, d drive, source *Volume) string {
	if d["format"] != "" {
		return d["format"]
	}
	if source != nil && slices.Contains(s.formats(), source.Format) {
		return source.Format
	}
	return s.formats()[0]
}

// source finds the volume that a disk is to be copied from.
func (m *driveMaker) source(id string) (*Volume, error) {
	if v := m.st.volume(m.node, id); v != nil {
		return v, nil
	}
	if archive, format := inArchive(id); format != "" {
		if v := m.st.volume(m.node, archive); v != nil {
			return &Volume{Content: "import", Format: format, Size: v.Size, Used: v.Used}, nil
		}
	}
	storage, name, _ := splitVolume(id)
	s, err := m.st.enabledStorage(storage, m.node)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(name, "import/") {
		return nil, die("failed to stat '%s'", s.filePath("import", name))
	}
	return nil, die("volume '%s' does not exist", id)
}

// inArchive tells of a volume that is a file of an OVA which OVA that is, and what format the file has.
func inArchive(id string) (archive, format string) {
	before, file, in := strings.Cut(id, ".ova/")
	if !in {
		return "", ""
	}
	return before + ".ova", strings.TrimPrefix(path.Ext(file), ".")
}

// existing checks a volume that a drive refers to and notes its true size; the format stays if it is the volume's.
func (m *driveMaker) existing(key string, d drive) error {
	if _, err := m.st.enabledStorage(storageOf(d.file()), m.node); err != nil {
		return err
	}
	v := m.st.volume(m.node, d.file())
	if v == nil {
		return die("volume '%s' does not exist", d.file())
	}
	if d["format"] != "" && d["format"] != v.Format {
		return die("drive '%s' - volume '%s' - 'format=%s' option different from storage format '%s'", key, d.file(), d["format"], v.Format)
	}
	d["size"] = sizeOption(v.Size)
	return nil
}

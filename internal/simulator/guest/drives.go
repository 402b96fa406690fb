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
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// Drive is a parsed drive option.
type Drive map[string]string

// File returns the volume or file of a drive.
func (d Drive) File() string { return d["file"] }

// CloudInit reports whether a drive is a cloud-init drive.
func (d Drive) CloudInit() bool {
	file := d.File()
	return strings.HasSuffix(file, ":cloudinit") || strings.Contains(state.BaseName(file), "cloudinit")
}

// CDROM reports whether a drive is a CD-ROM drive.
func (d Drive) CDROM() bool {
	return d["media"] == "cdrom" || d.File() == "none" || d.File() == "cdrom" || strings.HasSuffix(d.File(), ":cloudinit")
}

// throttleNeeds holds the limits that a drive must have in order to have others.
//
//nolint:gochecknoglobals // Constants.
var throttleNeeds = map[string]string{
	"mbps_max": "mbps", "mbps_rd_max": "mbps_rd", "mbps_wr_max": "mbps_wr",
	"bps_max_length": "mbps_max", "bps_rd_max_length": "mbps_rd_max", "bps_wr_max_length": "mbps_wr_max",
	"iops_max_length": "iops_max", "iops_rd_max_length": "iops_rd_max", "iops_wr_max_length": "iops_wr_max",
}

// coherent reports whether the options of a drive can be combined (PVE::QemuServer::Drive::parse_drive). A value of 0 counts as absent.
func (d Drive) coherent() bool {
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

// IsDrive reports whether an option is a drive, which excludes unused disks.
func IsDrive(key string) bool {
	base := strings.TrimRight(key, "0123456789")
	return base != key && slices.Contains([]string{"ide", "scsi", "virtio", "sata", "efidisk", "tpmstate"}, base)
}

// IsNIC reports whether an option is a network interface.
func IsNIC(key string) bool { return Indexed(key, "net") }

// IsUnused reports whether an option is an unused disk.
func IsUnused(key string) bool { return Indexed(key, "unused") }

// Indexed reports whether an option is a base name with a number.
func Indexed(key, base string) bool {
	digits, ok := strings.CutPrefix(key, base)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// Index returns the number at the end of an option's name.
func Index(key string) int { return schema.Int(strings.TrimLeft(key, "abcdefghijklmnopqrstuvwxyz")) }

// ParseDrive reads a drive option.
func ParseDrive(s *engine.Engine, key, value string) Drive { return s.Parse(key, value) }

// StorageOf returns the storage of a volume.
func StorageOf(file string) string {
	storage, _, _ := state.SplitVolume(file)
	return storage
}

// makeDrives creates the volumes that the drive options of a VM request, and returns the options to store. On an error, it removes them again.
func makeDrives(o *engine.Op, vmid int, options map[string]string, taken map[string]string, defaultStorage string) (map[string]string, error) {
	out := map[string]string{}
	m := &driveMaker{Op: o, vmid: vmid, storage: defaultStorage, config: taken}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if !IsDrive(key) {
			continue
		}
		value, err := m.make(key, options[key])
		if err != nil {
			for _, id := range m.created {
				volume.Free(o, id)
			}
			return nil, err
		}
		out[key] = value
	}
	return out, nil
}

// driveMaker creates the volumes of one VM.
type driveMaker struct {
	*engine.Op
	vmid    int
	storage string
	// config are the options that the VM has or will have.
	config  map[string]string
	created []string
}

func (m *driveMaker) make(key, value string) (string, error) {
	d := ParseDrive(m.Engine, key, value)
	storage, size, isNew := newDisk(d.File())
	switch {
	case d.File() == "none" || d.File() == "cdrom":
		d["media"] = "cdrom"
	case strings.HasSuffix(d.File(), ":cloudinit"):
		return m.cloudInit(key, d)
	case isNew:
		return m.fresh(key, d, storage, size)
	default:
		if err := m.existing(key, d); err != nil {
			return "", err
		}
	}
	return m.Engine.Print(key, d), nil
}

// cloudInit creates PVE's cloud-init drive. A VM can have only one.
func (m *driveMaker) cloudInit(key string, d Drive) (string, error) {
	for _, other := range slices.Sorted(maps.Keys(m.config)) {
		if other != key && IsDrive(other) && ParseDrive(m.Engine, other, m.config[other]).CloudInit() {
			return "", apierr.Errorf("%s - cloud-init drive is already attached at '%s'", key, other)
		}
	}
	s, err := m.State.EnabledStorage(StorageOf(d.File()), m.Node)
	if err != nil {
		return "", err
	}
	format := "raw"
	if s.FileBased() {
		format = firstOf(d["format"], "qcow2")
	}
	delete(d, "format")
	if d["file"], err = volume.Allocate(m.Op, s, m.vmid, "vm-"+strconv.Itoa(m.vmid)+"-cloudinit", format, 4<<20); err != nil {
		return "", err
	}
	d["media"] = "cdrom"
	m.created = append(m.created, d["file"])
	return m.report(key, d), nil
}

// fresh allocates a disk, empty or with the content of another volume.
func (m *driveMaker) fresh(key string, d Drive, storage, size string) (string, error) {
	if storage == "" {
		storage = m.storage
	}
	s, err := m.State.EnabledStorage(storage, m.Node)
	if err != nil {
		return "", err
	}
	bytes, source := m.size(key, d, size), (*state.Volume)(nil)
	if from := d["import-from"]; from != "" {
		if source, err = m.source(from); err != nil {
			return "", err
		}
		bytes = source.Size
		m.Logf("create full clone of drive (%s)", from)
	}
	if d["file"], err = volume.Allocate(m.Op, s, m.vmid, freeDisk(m.Op, s, m.vmid), m.format(s, d, source), bytes); err != nil {
		return "", err
	}
	m.created = append(m.created, d["file"])
	if source != nil {
		m.State.Volume(m.Node, d["file"]).System = true
		m.Logf("allocated target volume '%s'", d["file"])
		if err := volume.Write(m.Op, d["file"], source, m.State.Path(d["import-from"])); err != nil {
			return "", apierr.Errorf("cannot import from '%s' - %s", d["import-from"], err)
		}
	}
	delete(d, "format")
	delete(d, "import-from")
	d["size"] = volume.SizeOption(shownSize(key, s, bytes))
	if key == "efidisk0" && source == nil && d["pre-enrolled-keys"] == "1" && m.State.Firmware2023 && m.State.Version != "8.4" {
		d["ms-cert"] = "2023k"
	}
	return m.report(key, d), nil
}

func (m *driveMaker) report(key string, d Drive) string {
	value := m.Engine.Print(key, d)
	m.Logf("%s: successfully created disk '%s'", key, value)
	return value
}

// shownSize returns the size in an option. An EFI disk has that of the volume, which some storages round up.
func shownSize(key string, s *state.Storage, bytes int64) int64 {
	unit := map[string]int64{"zfspool": 1 << 20, "rbd": 1 << 20, "lvm": 4 << 20, "lvmthin": 4 << 20}[s.Type]
	if key != "efidisk0" || unit == 0 {
		return bytes
	}
	return (bytes + unit - 1) / unit * unit
}

// size returns the size of a new disk. EFI and TPM disks have fixed sizes.
func (m *driveMaker) size(key string, d Drive, size string) int64 {
	switch {
	case key == "tpmstate0":
		return 4 << 20
	case key == "efidisk0" && d["efitype"] == "4m":
		return 528 << 10
	case key == "efidisk0":
		return 128 << 10
	}
	return volume.Gib(size)
}

func (m *driveMaker) format(s *state.Storage, d Drive, source *state.Volume) string {
	if d["format"] != "" {
		return d["format"]
	}
	if source != nil && slices.Contains(s.Formats(), source.Format) {
		return source.Format
	}
	return s.Formats()[0]
}

// source returns the volume from which a disk is copied.
func (m *driveMaker) source(id string) (*state.Volume, error) {
	if v := m.State.Volume(m.Node, id); v != nil {
		return v, nil
	}
	if archive, format := inArchive(id); format != "" {
		if v := m.State.Volume(m.Node, archive); v != nil {
			return &state.Volume{Content: "import", Format: format, Size: v.Size, Used: v.Used}, nil
		}
	}
	storage, name, _ := state.SplitVolume(id)
	s, err := m.State.EnabledStorage(storage, m.Node)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(name, "import/") {
		return nil, apierr.Errorf("failed to stat '%s'", s.FilePath("import", name))
	}
	return nil, apierr.Errorf("volume '%s' does not exist", id)
}

// inArchive returns the OVA of a volume that is a file in an OVA, and the format of the file.
func inArchive(id string) (archive, format string) {
	before, file, in := strings.Cut(id, ".ova/")
	if !in {
		return "", ""
	}
	return before + ".ova", strings.TrimPrefix(path.Ext(file), ".")
}

// existing checks a volume that a drive references, and sets its real size. The format is kept if it is the volume's.
func (m *driveMaker) existing(key string, d Drive) error {
	s, err := m.State.EnabledStorage(StorageOf(d.File()), m.Node)
	if err != nil {
		return err
	}
	v := m.State.Volume(m.Node, d.File())
	if v == nil {
		return apierr.Errorf("volume '%s' does not exist", d.File())
	}
	if d["format"] != "" && d["format"] != v.Format {
		return apierr.Errorf("drive '%s' - volume '%s' - 'format=%s' option different from storage format '%s'", key, d.File(), d["format"], v.Format)
	}
	d["size"] = volume.SizeOption(shownSize(key, s, v.Size))
	return nil
}

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

package proxmox

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// A Disk is the value of a disk option, such as scsi0, efidisk0 or unused0.
type Disk struct {
	// Volume of the disk, such as local:100/vm-100-disk-0.raw. In requests, local:32 is a new disk of 32 GiB. Drives of removable media can also have none
	// and cdrom.
	Volume string

	// Options of the disk except its volume.
	Options propertystring.Properties
}

// The volume's key, and another name of it in PVE.
const (
	volumeKey   = "file"
	volumeAlias = "volume"
)

// ParseDisk reads the value of a disk option.
func ParseDisk(s string) (Disk, error) {
	p, err := propertystring.Parse(s, volumeKey)
	if err != nil {
		return Disk{}, errors.Wrap(err, "cannot read disk")
	}
	d := Disk{Volume: cmp.Or(p.Get(volumeKey), p.Get(volumeAlias)), Options: p}
	if strings.TrimSpace(d.Volume) == "" {
		return Disk{}, errors.New("cannot read disk: it has no volume")
	}
	d.Options.Delete(volumeKey)
	d.Options.Delete(volumeAlias)
	return d, nil
}

// String returns the value of the option.
func (d Disk) String() string {
	p := d.Options
	p.SetDefault(volumeKey, d.Volume)
	return p.String()
}

// Storage returns the name of the volume's storage, or nothing if it is on none.
func (d Disk) Storage() string {
	storage, _, ok := strings.Cut(d.Volume, ":")
	if !ok || strings.HasPrefix(d.Volume, "/") {
		return ""
	}
	return storage
}

// Size returns the size of the disk from its options, and whether they contain one.
func (d Disk) Size() (Size, bool) {
	s, err := ParseSize(d.Options.Get("size"))
	return s, err == nil
}

// CDROM reports whether this is a drive of removable media.
func (d Disk) CDROM() bool { return d.Options.Get("media") == "cdrom" }

// CloudInit reports whether this is PVE's cloud-init drive, or a request for one.
func (d Disk) CloudInit() bool { return reCloudInit.MatchString(d.Volume) }

var reCloudInit = regexp.MustCompile(`[:/]vm-[0-9]+-cloudinit(\.[a-z0-9]+)?$|^[^:/]+:cloudinit$`)

// Equal reports whether both are the same volume with the same options.
func (d Disk) Equal(o Disk) bool { return d.Volume == o.Volume && d.Options.Equal(o.Options) }

// A NIC is the value of a network option, such as net0.
type NIC struct {
	// Model of the NIC, such as virtio.
	Model string

	// MAC address. If it is empty, PVE generates one.
	MAC string

	// Options of the NIC in addition to those, such as bridge, tag and firewall.
	Options propertystring.Properties
}

const (
	modelKey = "model"
	macKey   = "macaddr"
)

// nicModel reports whether s is a model, which as a key is the short form of model
// and macaddr.
func nicModel(s string) bool {
	switch s {
	case "e1000", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "e1000e", "i82551", "i82557b", "i82559er",
		"ne2k_isa", "ne2k_pci", "pcnet", "rtl8139", "virtio", "vmxnet3":
		return true
	}
	return false
}

// ParseNIC parses the value of a network option in any of the forms virtio=BC:24:11:00:00:01, virtio, and model=virtio,macaddr=BC:24:11:00:00:01.
func ParseNIC(s string) (NIC, error) {
	p, err := propertystring.Parse(s, modelKey)
	if err != nil {
		return NIC{}, errors.Wrap(err, "cannot read NIC")
	}
	n := NIC{Model: p.Get(modelKey), MAC: p.Get(macKey)}
	for _, key := range p.Keys() {
		if !nicModel(key) {
			continue
		}
		if n.Model != "" {
			return NIC{}, errors.New("cannot read NIC: it has more than one model")
		}
		n.Model, n.MAC = key, p.Get(key)
		p.Delete(key)
	}
	if !nicModel(n.Model) {
		return NIC{}, errors.Errorf("cannot read NIC: %q is not a model", n.Model)
	}
	p.Delete(modelKey)
	p.Delete(macKey)
	n.Options = p
	return n, nil
}

// String returns the value of the option as PVE writes it.
func (n NIC) String() string {
	p := n.Options
	if n.MAC == "" {
		p.SetDefault(modelKey, n.Model)
		return p.String()
	}
	if p.Len() == 0 {
		return n.Model + "=" + n.MAC
	}
	return n.Model + "=" + n.MAC + "," + p.String()
}

// Bridge returns the bridge to which the NIC is attached, or nothing.
func (n NIC) Bridge() string { return n.Options.Get("bridge") }

// Equal reports whether both are the same NIC. It ignores the case of MAC addresses, which PVE stores as they were given.
func (n NIC) Equal(o NIC) bool {
	return n.Model == o.Model && strings.EqualFold(n.MAC, o.MAC) && n.Options.Equal(o.Options)
}

// Size is the size of a disk in bytes.
type Size int64

// Sizes for which PVE has letters. They are powers of 1024.
const (
	Byte Size = 1
	KiB       = 1024 * Byte
	MiB       = 1024 * KiB
	GiB       = 1024 * MiB
	TiB       = 1024 * GiB
)

//nolint:gochecknoglobals // Constants.
var (
	reSize = regexp.MustCompile(`^(\d+)(\.\d+)?([KMGT]?)$`)
	units  = map[string]Size{"": Byte, "K": KiB, "M": MiB, "G": GiB, "T": TiB}
)

// ParseSize parses a size as PVE writes it in disks: 32G, 512M, 0.5T, or bytes without a letter. Fractions of a byte are dropped.
func ParseSize(s string) (Size, error) {
	m := reSize.FindStringSubmatch(s)
	if m == nil {
		return 0, errors.Errorf("cannot read %q as a size", s)
	}
	unit := units[m[3]]
	if m[2] != "" {
		return parseFraction(s, m[1]+m[2], unit)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) {
		return 0, errors.Errorf("cannot read %q as a size: too large", s)
	}
	return Size(n) * unit, nil
}

func parseFraction(s, number string, unit Size) (Size, error) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f*float64(unit) >= math.MaxInt64 {
		return 0, errors.Errorf("cannot read %q as a size: too large", s)
	}
	return Size(f * float64(unit)), nil
}

// String returns the size as PVE writes it, with the largest unit that gives a whole number.
func (s Size) String() string {
	if s == 0 {
		return "0"
	}
	letter := ""
	for _, l := range []string{"K", "M", "G", "T"} {
		if s%KiB != 0 {
			break
		}
		s, letter = s/KiB, l
	}
	return strconv.FormatInt(int64(s), 10) + letter
}

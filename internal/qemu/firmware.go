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
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
)

// The disks of a VM that are on no bus.
const (
	EFIDevice = "efidisk0"
	TPMDevice = "tpmstate0"
)

// A firmwareDisk is a disk of the VM's firmware that the spec declares.
type firmwareDisk struct {
	device, field   string
	enabled         *bool
	storage, format *string

	// made are the parts that are set when the disk is created.
	made []decided

	// changeable are the parts that may change later.
	changeable []part
}

// A decided part of a disk cannot be changed.
type decided struct {
	part

	// initial is the value of a new disk if the spec sets none.
	initial string
}

// firmware returns the firmware disks that the spec declares.
func firmware(p *v1alpha1.MachineParameters) []firmwareDisk {
	var disks []firmwareDisk
	if p.EFIDisk != nil {
		disks = append(disks, efiDisk(p.EFIDisk))
	}
	if p.TPM != nil {
		disks = append(disks, tpmDisk(p.TPM))
	}
	return disks
}

func efiDisk(e *v1alpha1.MachineEFIDisk) firmwareDisk {
	return firmwareDisk{
		device: EFIDevice, field: "efiDisk", enabled: e.Enabled, storage: e.Storage, format: e.Format,
		made: []decided{
			{part: part{key: "efitype", Codec: codec.Texts(&e.Type), absent: "2m"}, initial: "4m"},
			{part: part{key: "pre-enrolled-keys", Codec: codec.Flags(&e.PreEnrolledKeys), absent: "0"}},
		},
		changeable: []part{{key: "ms-cert", Codec: certificates(&e.MSCertificate)}},
	}
}

func tpmDisk(t *v1alpha1.MachineTPM) firmwareDisk {
	return firmwareDisk{
		device: TPMDevice, field: "tpm", enabled: t.Enabled, storage: t.Storage, format: t.Format,
		made: []decided{{part: part{key: "version", Codec: codec.Texts(&t.Version), absent: "v1.2"}, initial: "v2.0"}},
	}
}

// certificates returns the codec of a field for the certificates of 2023, which PVE renames once it has enrolled them.
func certificates(field **string) codec.Codec {
	c := codec.Texts(field)
	read := c.Read
	c.Read = func(now string, same func(now, want string) bool) bool {
		if strings.HasPrefix(now, "2023") {
			now = "2023"
		}
		return read(now, same)
	}
	return c
}

func (f firmwareDisk) wanted() bool { return f.enabled == nil || *f.enabled }

// option returns the option of the disk. PVE determines the size, whatever is requested.
func (f firmwareDisk) option(defaultStorage string) Option {
	others := undeclaredParts("file", f.changeable)
	return Option{Name: f.device, same: sameFirmware, allocates: true, others: others, Want: unless(f.enabled, func(now string) (string, bool) {
		d, err := proxmox.ParseDisk(now)
		if err != nil {
			d = f.create(defaultStorage)
		}
		declared := overlay(&d.Options, f.changeable...)
		return d.String(), declared || err != nil
	})}
}

func (f firmwareDisk) create(defaultStorage string) proxmox.Disk {
	d := proxmox.Disk{Volume: cmp.Or(ptr.Deref(f.storage, ""), defaultStorage) + ":1"}
	overlay(&d.Options, part{key: "format", Codec: codec.Fixed(f.format)})
	for _, m := range f.made {
		if v := cmp.Or(ptr.Deref(m.Value, ""), m.initial); v != "" {
			d.Options.Set(m.key, v)
		}
	}
	return d
}

// sameFirmware treats 2023 and 2023k as equal, because PVE writes 2023k once it has enrolled the certificates of 2023.
func sameFirmware(a, b string) bool {
	x, errX := proxmox.ParseDisk(a)
	y, errY := proxmox.ParseDisk(b)
	if errX != nil || errY != nil {
		return false
	}
	if y.Options.Get("ms-cert") == "2023" && strings.HasPrefix(x.Options.Get("ms-cert"), "2023") {
		x.Options.Set("ms-cert", "2023")
	}
	return x.Equal(y)
}

// rejections returns what the spec asks of the disk and cannot have, for an existing disk or a new one.
func (f firmwareDisk) rejections(now, defaultStorage string) []string {
	d, err := proxmox.ParseDisk(now)
	switch {
	case !f.wanted():
		return nil
	case err != nil && f.storage == nil && defaultStorage == "":
		return []string{fmt.Sprintf("%s is new and has no storage, and the provider config has no defaultStorage", f.field)}
	case err != nil:
		return nil
	}
	var no []string
	for _, m := range f.made {
		is := cmp.Or(d.Options.Get(m.key), m.absent)
		if m.Value != nil && *m.Value != is {
			no = append(no, fmt.Sprintf("%s has %s=%s and cannot change to %s: that is decided when the disk is made. "+
				"To create it again, set %s.enabled to false, then true", f.field, m.key, is, *m.Value, f.field))
		}
	}
	return no
}

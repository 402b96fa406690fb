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
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A move brings a disk to another storage or format.
type move struct {
	name, device string
	disk         proxmox.Disk

	// storage and format to go to. An empty format is as it is.
	storage, format string
}

// moves are the disks that are on another storage than they should be, or in
// another format.
func (d desired) moves(config map[string]string) []move {
	var out []move
	for _, k := range d.Disks {
		device := d.devices.Disks[k.Name]
		disk, err := proxmox.ParseDisk(config[device])
		if err != nil || disk.CDROM() || disk.Storage() == "" {
			continue
		}
		m := move{name: k.Name, device: device, disk: disk, storage: disk.Storage()}
		if k.Storage != nil {
			m.storage = *k.Storage
		}
		has := formatOf(disk.Volume)
		if k.Format != nil && has != *k.Format {
			m.format = *k.Format
		}
		// Storages without files have one format only.
		if m.storage != disk.Storage() || m.format != "" && has != "" {
			out = append(out, m)
		}
	}
	return append(out, d.firmwareMoves(config)...)
}

// firmwareMoves are the disks of the firmware that are on another storage than
// they should be.
func (d desired) firmwareMoves(config map[string]string) []move {
	var out []move
	for _, f := range firmware(d.MachineParameters) {
		disk, err := proxmox.ParseDisk(config[f.device])
		if err != nil || !f.wanted() || f.storage == nil || *f.storage == disk.Storage() {
			continue
		}
		out = append(out, move{name: f.field, device: f.device, disk: disk, storage: *f.storage})
	}
	return out
}

// formatOf a volume that is a file; empty for others.
func formatOf(volume string) string {
	switch ext := strings.TrimPrefix(path.Ext(volume), "."); ext {
	case "raw", "qcow2", "vmdk":
		return ext
	}
	return ""
}

// moveErrands move disks, one after the other, or say why one cannot go. A disk
// whose storage is only where the VM is to migrate goes there with it.
func (e *external) moveErrands(ctx context.Context, j *journey) ([]errand, []string, error) {
	moves := e.plan.moves(e.vm.Config)
	if len(moves) == 0 {
		return nil, nil, nil
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, nil, err
	}
	var (
		errands []errand
		no      []string
	)
	for _, m := range moves {
		here, there := m.allowed(storages, e.vm.Node), m.allowed(storages, j.to)
		owner, known := volumeOwner(m.disk.Volume)
		switch {
		case !known || owner != e.vm.VMID:
			no = append(no, fmt.Sprintf("disk %q (%s) cannot move: volume %s is not this VM's own, and its source would be deleted", m.name, m.device, m.disk.Volume))
		case here == "" && m.device == tpmDevice && e.vm.Status.Running():
			no = append(no, "tpm cannot move while the VM runs: Proxmox VE moves its state of a stopped VM only")
		case here == "":
			errands = append(errands, e.moveErrand(m))
		case j.to != "" && there == "":
			j.take(m)
		default:
			no = append(no, fmt.Sprintf("disk %q (%s) cannot move: %s", m.name, m.device, here))
		}
	}
	return errands, no, nil
}

// take a disk along to another storage.
func (j *journey) take(m move) {
	if j.storages == nil {
		j.storages = map[string]string{}
	}
	j.storages[m.disk.Storage()] = m.storage
}

// allowed says why a disk cannot be on its storage on a node; empty if it can.
func (m move) allowed(storages []proxmox.Storage, node string) string {
	i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == m.storage && s.Node == node })
	switch {
	case i < 0:
		return fmt.Sprintf("storage '%s' not found on node %s", m.storage, node)
	case !slices.Contains(storages[i].Content, "images"):
		return fmt.Sprintf("storage '%s' does not hold disks: its content is %s", m.storage, strings.Join(storages[i].Content, ", "))
	}
	return ""
}

func (m move) String() string { return strings.TrimSuffix(m.storage+" "+m.format, " ") }

// moveErrand moves one disk. What it leaves is deleted when all has been copied,
// whosever PVE holds it to be: it has to be the VM's own.
func (e *external) moveErrand(m move) errand {
	o := proxmox.MoveOptions{Disk: m.device, Storage: m.storage, Format: m.format, Delete: true, Digest: e.vm.Digest}
	from := move{storage: m.disk.Storage()}
	if m.format != "" {
		from.format = formatOf(m.disk.Volume)
	}
	return errand{
		exact: true,
		shown: v1alpha1.MachinePendingChange{Option: m.device + " storage", Current: from.String(), Desired: m.String()},
		call: func(ctx context.Context) (proxmox.UPID, error) {
			return e.client.MoveDisk(ctx, e.vm.Ref, o)
		},
	}
}

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
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// Restoration is how a VM is to be made from a backup.
type Restoration struct {
	*Creation
	Archive       string
	Force, Unique bool
}

// Restorable fails for a guest that cannot be overwritten by a backup.
func Restorable(g *state.Guest) error {
	switch {
	case g.Config["protection"] == "1":
		return apierr.Errorf("- protection mode enabled")
	case g.Power != state.Stopped:
		return apierr.Errorf("vm is running")
	}
	return nil
}

// Restore writes the disks and the configuration of a backup.
func Restore(o *engine.Op, r *Restoration) error {
	v := o.State.Volume(r.Node, r.Archive)
	if v == nil {
		return apierr.Errorf("volume '%s' does not exist", r.Archive)
	}
	g, config := o.State.Guests[r.VMID], maps.Clone(v.Backup.Config)
	made := []string{}
	o.Logf("restore vma archive: %s", o.State.Path(r.Archive))
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if !IsDrive(key) {
			continue
		}
		value, err := restoreDrive(o, r, key, config[key], v.Backup.Disks, &made)
		if err != nil {
			for _, id := range made {
				volume.Free(o, id)
			}
			return err
		}
		if config[key] = value; value == "" {
			delete(config, key)
		}
	}
	dropOld(o, g, made)
	maps.Copy(config, r.Options)
	freshen(o, config, r.Unique)
	g.Config, g.Pending, g.Delete, g.Snapshots = config, map[string]string{}, map[string]bool{}, map[string]*state.Snapshot{}
	if p := o.State.Pools[r.Pool]; p != nil {
		p.VMs[r.VMID] = true
	}
	return nil
}

// dropOld removes the volumes that a VM had before it was put back.
func dropOld(o *engine.Op, g *state.Guest, made []string) {
	for _, id := range Volumes(o, g) {
		if !slices.Contains(made, id) {
			o.Logf("old volume '%s' is removed", id)
			volume.Free(o, id)
		}
	}
}

// freshen gives a VM what must not be the same in two of them.
func freshen(o *engine.Op, config map[string]string, unique bool) {
	if config["vmgenid"] != "" {
		config["vmgenid"] = random.UUID()
	}
	if !unique {
		return
	}
	for key, value := range config {
		if IsNIC(key) {
			nic := o.Engine.Parse(key, value)
			nic["macaddr"] = random.MAC()
			config[key] = o.Engine.Print(key, nic)
		}
	}
	id := o.Engine.Parse("smbios1", config["smbios1"])
	id["uuid"] = random.UUID()
	config["smbios1"] = o.Engine.Print("smbios1", id)
}

// restoreDrive makes a drive's volume anew; a disk that the backup does not hold is left out.
func restoreDrive(o *engine.Op, r *Restoration, key, value string, disks map[string]state.Volume, made *[]string) (string, error) {
	d := ParseDrive(o.Engine, key, value)
	if d.CDROM() && !d.CloudInit() {
		return value, nil
	}
	disk, held := disks[key]
	if !held && !d.CloudInit() {
		return "", nil
	}
	s, err := o.State.ImageStorage(firstOf(r.Storage, StorageOf(d.File())), r.Node)
	if err != nil {
		return "", err
	}
	if d.CloudInit() {
		m := &driveMaker{Op: o, vmid: r.VMID, config: map[string]string{}}
		d["file"] = s.ID + ":cloudinit"
		value, err := m.cloudInit(key, d)
		*made = append(*made, m.created...)
		return value, err
	}
	format := disk.Format
	if !slices.Contains(s.Formats(), format) {
		format = s.Formats()[0]
	}
	if d["file"], err = volume.Allocate(o, s, r.VMID, freeDisk(o, s, r.VMID), format, disk.Size); err != nil {
		return "", err
	}
	*made = append(*made, d["file"])
	restored := o.State.Volume(r.Node, d["file"])
	restored.System = disk.System
	o.Logf("map 'drive-%s' to '%s' (write zeros = 0)", key, o.State.Path(d["file"]))
	d["size"] = volume.SizeOption(disk.Size)
	if err := volume.Write(o, d["file"], &disk, o.State.Path(r.Archive)); err != nil {
		return "", apierr.Errorf("command 'vma extract' failed: %s", strings.TrimPrefix(err.Error(), "copy failed: "))
	}
	return o.Engine.Print(key, d), nil
}

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

// BeginRestore reads the head of a backup. From then on the VM has next to no configuration, without
// a lock unless a backup server has the backup, and the disks that the backup holds are gone.
func BeginRestore(o *engine.Op, r *Restoration) error {
	g := o.State.Guests[r.VMID]
	if err := restorable(g); err != nil {
		return apierr.Errorf("unable to restore VM %d - %s", r.VMID, err)
	}
	v := o.State.Volume(r.Node, r.Archive)
	if v == nil {
		return apierr.Errorf("volume '%s' does not exist", r.Archive)
	}
	o.Logf("restore vma archive: %s", o.State.Path(r.Archive))
	for key := range v.Backup.Disks {
		if _, err := restoreStorage(o, r, key, v.Backup.Config[key]); err != nil {
			return err
		}
	}
	dropOld(o, g)
	g.Config = map[string]string{"memory": "128"}
	if storage, _, _ := state.SplitVolume(r.Archive); o.State.Storages[storage].Type == "pbs" {
		g.Config["lock"] = "create"
	}
	g.Pending, g.Delete, g.Snapshots = map[string]string{}, map[string]bool{}, map[string]*state.Snapshot{}
	return nil
}

// restorable fails for a guest that cannot be overwritten by a backup.
func restorable(g *state.Guest) error {
	switch {
	case g.Config["protection"] == "1":
		return apierr.Errorf("protection mode enabled")
	case g.Power != state.Stopped:
		return apierr.Errorf("vm is running")
	}
	return nil
}

// restoreStorage is the storage that the disk of a drive is put on.
func restoreStorage(o *engine.Op, r *Restoration, key, value string) (*state.Storage, error) {
	s, err := o.State.EnabledStorage(firstOf(r.Storage, StorageOf(ParseDrive(o.Engine, key, value).File())), r.Node)
	if err == nil && !s.Holds("images") {
		return nil, apierr.Errorf("Content type 'images' is not available on storage '%s'", s.ID)
	}
	return s, err
}

// Restore writes the disks and the configuration of a backup.
func Restore(o *engine.Op, r *Restoration) error {
	v := o.State.Volume(r.Node, r.Archive)
	if v == nil {
		return apierr.Errorf("volume '%s' does not exist", r.Archive)
	}
	g, config := o.State.Guests[r.VMID], maps.Clone(v.Backup.Config)
	made := []string{}
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
	freshen(o, config, r.Unique)
	maps.Copy(config, r.Options) // What replaces options of the backup counts as it is.
	g.Config = config
	if p := o.State.Pools[r.Pool]; p != nil {
		p.VMs[r.VMID] = true
	}
	return nil
}

// dropOld removes the volumes that a VM had before it was put back.
func dropOld(o *engine.Op, g *state.Guest) {
	for _, id := range Volumes(o, g) {
		o.Logf("old volume '%s' is removed", id)
		volume.Free(o, id)
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
	s, err := restoreStorage(o, r, key, value)
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

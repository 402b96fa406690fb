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
	"strconv"
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
// a lock unless a backup server has the backup, and its disks that the backup holds are gone, as are its snapshots.
func BeginRestore(o *engine.Op, r *Restoration) error {
	g, err := o.State.Guest(r.Node, r.VMID)
	if err == nil {
		err = restorable(g)
	}
	if err != nil {
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
	dropOld(o, g, v.Backup)
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

// restoreStorage returns the storage that the disk of a drive is put on.
func restoreStorage(o *engine.Op, r *Restoration, key, value string) (*state.Storage, error) {
	s, err := o.State.EnabledStorage(firstOf(r.Storage, StorageOf(ParseDrive(o.Engine, key, value).File())), r.Node)
	if err == nil && !s.Holds("images") {
		return nil, apierr.Errorf("Content type 'images' is not available on storage '%s'", s.ID)
	}
	return s, err
}

// Restore writes the disks and the configuration of a backup. Disks that the VM had beside them are in no configuration until Rescan.
func Restore(o *engine.Op, r *Restoration) error {
	v := o.State.Volume(r.Node, r.Archive)
	if v == nil {
		return apierr.Errorf("volume '%s' does not exist", r.Archive)
	}
	g, err := o.State.Written(r.Node, r.VMID)
	if err != nil {
		return err
	}
	config := maps.Clone(v.Backup.Config)
	made := []string{}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if !IsDrive(key) {
			continue
		}
		if ParseDrive(o.Engine, key, config[key])["backup"] == "0" {
			comment(config, key)
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

// dropOld removes the volumes of the drives that the backup puts back, and the memory of the snapshots, which the VM no longer has. Other
// disks, and unused ones, stay where they are.
func dropOld(o *engine.Op, g *state.Guest, b *state.Backup) {
	for key, value := range g.Config {
		file := ParseDrive(o.Engine, key, value).File()
		switch v := o.State.Volume(g.Node, file); {
		case !IsDrive(key) || v == nil || v.VMID != g.VMID || !putsBack(o, b, key):
		case volume.Clones(o, file):
			o.Logf("base volume '%s' is still in use by linked cloned", file)
		default:
			volume.Free(o, file)
		}
	}
	for _, s := range g.Snapshots {
		if s.Config["vmstate"] != "" {
			volume.Free(o, s.Config["vmstate"])
		}
	}
}

// putsBack reports whether a restore makes the volume of a drive.
func putsBack(o *engine.Op, b *state.Backup, key string) bool {
	_, held := b.Disks[key]
	return held || b.Config[key] != "" && ParseDrive(o.Engine, key, b.Config[key]).CloudInit()
}

// Rescan makes unused disks of the volumes that belong to a VM by their names, and that it does not refer to.
func Rescan(o *engine.Op, node string, vmid int) error {
	g, err := o.State.Guest(node, vmid)
	if err != nil {
		return err
	}
	var found []string
	for key, v := range o.State.Volumes {
		id := key.Storage + ":" + key.Name
		if v.VMID == g.VMID && v.Content == "images" && o.State.Volume(g.Node, id) == v && !strings.Contains(key.Name, "-state-") {
			found = append(found, id)
		}
	}
	used := Volumes(o, g)
	slices.Sort(found)
	for _, id := range found {
		if slices.Contains(used, id) {
			continue
		}
		if key := keepUnused(o, g, Drive{"file": id}); key != "" {
			o.Logf("VM %d add unreferenced volume '%s' as '%s' to config", g.VMID, id, key)
		}
	}
	return nil
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

// comment makes a comment of the line of a drive that was left out, which PVE reads as a part of the description.
func comment(config map[string]string, key string) {
	config["description"] = strings.TrimPrefix(config["description"]+"\n"+key+": "+config[key], "\n")
	delete(config, key)
}

// restoreDrive makes a drive's volume again; a disk that the backup does not hold is left out.
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
		if volume.Taken(o, s, r.VMID, "vm-"+strconv.Itoa(r.VMID)+"-cloudinit") {
			return "", apierr.Errorf("disk image 'vm-%d-cloudinit' already exists", r.VMID)
		}
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

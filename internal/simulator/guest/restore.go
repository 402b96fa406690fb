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

// A Restoration describes how a VM is created from a backup.
type Restoration struct {
	*Creation
	Archive       string
	Force, Unique bool
}

// BeginRestore reads the header of a backup. From then on the VM has almost no configuration, without a lock unless the backup is on a backup server. Its
// disks that the backup contains are deleted, and so are its snapshots.
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

// restoreStorage returns the storage for the disk of a drive.
func restoreStorage(o *engine.Op, r *Restoration, key, value string) (*state.Storage, error) {
	s, err := o.State.EnabledStorage(firstOf(r.Storage, StorageOf(ParseDrive(o.Engine, key, value).File())), r.Node)
	if err == nil && !s.Holds("images") {
		return nil, apierr.Errorf("Content type 'images' is not available on storage '%s'", s.ID)
	}
	return s, err
}

// Restore writes the disks and the configuration of a backup. Other disks of the VM are in no configuration until Rescan.
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
	maps.Copy(config, r.Options) // Options that override those of the backup are used unchanged.
	g.Config = config
	if p := o.State.Pools[r.Pool]; p != nil {
		p.VMs[r.VMID] = true
	}
	return nil
}

// dropOld removes the volumes of the drives that the backup restores, and the memory of the snapshots, which the VM no longer has. Other disks, and unused
// ones, stay.
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

// putsBack reports whether a restore creates the volume of a drive.
func putsBack(o *engine.Op, b *state.Backup, key string) bool {
	_, held := b.Disks[key]
	return held || b.Config[key] != "" && ParseDrive(o.Engine, key, b.Config[key]).CloudInit()
}

// Rescan adds the volumes that belong to a VM by their names, and that it does not reference, as unused disks.
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

// freshen replaces values that must be unique for each VM.
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

// comment turns the line of an excluded drive into a comment, which PVE reads as a part of the description.
func comment(config map[string]string, key string) {
	config["description"] = strings.TrimPrefix(config["description"]+"\n"+key+": "+config[key], "\n")
	delete(config, key)
}

// restoreDrive creates the volume of a drive again. A disk that the backup does not contain is left out.
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

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
	"slices"
	"strings"
)

// restoration is how a VM is to be made from a backup.
type restoration struct {
	*creation
	archive       string
	force, unique bool
}

// checkArchive makes the checks of a backup that come before those of the options which replace its own.
func (c *call) checkArchive(a *guestAccess, cr *creation) error {
	for _, key := range slices.Sorted(maps.Keys(cr.options)) {
		if isDrive(key) {
			return paramError(key, "option conflicts with option 'archive'")
		}
	}
	archive := c.str("archive")
	if archive == "-" {
		return die("pipe requires cli environment")
	}
	storage, name, ok := splitVolume(archive)
	if !ok {
		return a.volume(archive)
	}
	s, err := c.state.enabledStorage(storage, c.node)
	if err != nil {
		return err
	}
	v := c.state.volume(c.node, archive)
	if kind, _, err := s.kindOf(name); err != nil || kind != "backup" {
		return die("volume '%s' does not exist", archive)
	}
	if err := c.mayRestore(storage, v); err != nil {
		return err
	}
	if v == nil || v.Backup == nil {
		return die("volume '%s' does not exist", archive)
	}
	return nil
}

// mayRestore checks access to a backup.
func (c *call) mayRestore(storage string, v *Volume) error {
	if c.state.may(c.who, "/storage/"+storage, "Datastore.Allocate") {
		return nil
	}
	if err := c.state.check(c.who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil || v == nil {
		return err
	}
	return c.state.check(c.who, vmPath(v.VMID), "VM.Backup")
}

// restoreGuest makes a VM from a backup, or puts one back that exists.
func (c *call) restoreGuest(cr *creation) (any, error) {
	r := &restoration{creation: cr, archive: c.str("archive"), force: c.flag("force"), unique: c.flag("unique")}
	g := c.state.Guests[cr.vmid]
	switch {
	case g == nil || !r.force || g.Node != c.node:
		if err := c.claim(cr.vmid, "create"); err != nil {
			return nil, die("unable to restore VM %d - %s", cr.vmid, err)
		}
	default:
		if err := g.lock(); err != nil {
			return nil, die("unable to restore VM %d - %s", cr.vmid, err)
		}
		g.Config["lock"] = "create"
	}
	return c.spawnFor(cr.vmid, "qmrestore", func(w *worker) error { return w.restore(r, g == nil) })
}

// restore is the task that makes a VM from a backup. A VM that was there keeps its configuration when it fails.
func (w *worker) restore(r *restoration, fresh bool) error {
	err := w.locked(r.vmid, exclusive, briefLockWait, func() error {
		if err := w.do(func(st *State) error { return restorable(st.Guests[r.vmid]) }); err != nil {
			return err
		}
		if err := w.pauseFor("qmrestore"); err != nil {
			return err
		}
		return w.do(func(st *State) error { return w.op(st).restore(r) })
	})
	if err != nil {
		w.s.update(func(st *State) {
			if fresh {
				delete(st.Guests, r.vmid)
			} else if g := st.Guests[r.vmid]; g != nil {
				delete(g.Config, "lock")
			}
		})
		return die("unable to restore VM %d - %s", r.vmid, err)
	}
	if r.start {
		w.logf("Execute autostart")
		w.spawnStart(r.node, r.vmid)
	}
	return nil
}

func restorable(g *Guest) error {
	switch {
	case g.Config["protection"] == "1":
		return die("- protection mode enabled")
	case g.Power != Stopped:
		return die("vm is running")
	}
	return nil
}

// restore writes the disks and the configuration of a backup.
func (o *op) restore(r *restoration) error {
	v := o.st.volume(r.node, r.archive)
	if v == nil {
		return die("volume '%s' does not exist", r.archive)
	}
	g, config := o.st.Guests[r.vmid], maps.Clone(v.Backup.Config)
	made := []string{}
	o.logf("restore vma archive: %s", o.st.path(r.archive))
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if !isDrive(key) {
			continue
		}
		value, err := o.restoreDrive(r, key, config[key], v.Backup.Disks, &made)
		if err != nil {
			for _, id := range made {
				o.free(id)
			}
			return err
		}
		if config[key] = value; value == "" {
			delete(config, key)
		}
	}
	o.dropOld(g, made)
	maps.Copy(config, r.options)
	o.freshen(config, r.unique)
	g.Config, g.Pending, g.Delete, g.Snapshots = config, map[string]string{}, map[string]bool{}, map[string]*Snapshot{}
	if p := o.st.Pools[r.pool]; p != nil {
		p.VMs[r.vmid] = true
	}
	return nil
}

// dropOld removes the volumes that a VM had before it was put back.
func (o *op) dropOld(g *Guest, made []string) {
	for _, id := range o.volumes(g) {
		if !slices.Contains(made, id) {
			o.logf("old volume '%s' is removed", id)
			o.free(id)
		}
	}
}

// freshen gives a VM what must not be the same in two of them.
func (o *op) freshen(config map[string]string, unique bool) {
	if config["vmgenid"] != "" {
		config["vmgenid"] = newUUID()
	}
	if !unique {
		return
	}
	for key, value := range config {
		if isNIC(key) {
			nic := o.s.parse(key, value)
			nic["macaddr"] = newMAC()
			config[key] = o.s.print(key, nic)
		}
	}
	id := o.s.parse("smbios1", config["smbios1"])
	id["uuid"] = newUUID()
	config["smbios1"] = o.s.print("smbios1", id)
}

// restoreDrive makes a drive's volume anew; a disk that the backup does not hold is left out.
func (o *op) restoreDrive(r *restoration, key, value string, disks map[string]Volume, made *[]string) (string, error) {
	d := o.s.parseDrive(key, value)
	if d.cdrom() && !d.cloudInit() {
		return value, nil
	}
	disk, held := disks[key]
	if !held && !d.cloudInit() {
		return "", nil
	}
	s, err := o.st.imageStorage(firstOf(r.storage, storageOf(d.file())), r.node)
	if err != nil {
		return "", err
	}
	if d.cloudInit() {
		m := &driveMaker{op: o, vmid: r.vmid, config: map[string]string{}}
		d["file"] = s.ID + ":cloudinit"
		value, err := m.cloudInit(key, d)
		*made = append(*made, m.created...)
		return value, err
	}
	format := disk.Format
	if !slices.Contains(s.formats(), format) {
		format = s.formats()[0]
	}
	if d["file"], err = o.allocate(s, r.vmid, o.freeDisk(s, r.vmid), format, disk.Size); err != nil {
		return "", err
	}
	*made = append(*made, d["file"])
	restored := o.st.volume(r.node, d["file"])
	restored.System = disk.System
	o.logf("map 'drive-%s' to '%s' (write zeros = 0)", key, o.st.path(d["file"]))
	d["size"] = sizeOption(disk.Size)
	if err := o.write(d["file"], &disk, o.st.path(r.archive)); err != nil {
		return "", die("command 'vma extract' failed: %s", strings.TrimPrefix(err.Error(), "copy failed: "))
	}
	return o.s.print(key, d), nil
}

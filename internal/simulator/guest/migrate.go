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
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// LocalMedia returns the media in drives of a guest, in force, pending or in a snapshot, that only its node has: images on local storage, and the drive of
// the node itself (PVE::QemuServer::foreach_volid). Cloud-init drives are migrated with the guest.
func LocalMedia(o *engine.Op, g *state.Guest) []string {
	out := []string{}
	configs := []map[string]string{g.Config, g.Pending}
	for _, s := range g.Snapshots {
		configs = append(configs, s.Config)
	}
	for _, config := range configs {
		for key, value := range config {
			if !IsDrive(key) {
				continue
			}
			d := ParseDrive(o.Engine, key, value)
			s := o.State.Storages[StorageOf(d.File())]
			if d.CDROM() && !d.CloudInit() && (d.File() == "cdrom" || s != nil && !s.Shared) {
				out = append(out, d.File())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// stayingMedia fails for media that cannot be migrated (PVE::QemuMigrate::scan_local_volumes).
func stayingMedia(o *engine.Op, g *state.Guest) error {
	media := LocalMedia(o, g)
	for _, file := range media {
		if file == "cdrom" {
			o.Logf("can't migrate local cdrom drive")
			continue
		}
		o.Logf("can't migrate local disk '%s': local cdrom image", file)
	}
	if len(media) == 0 {
		return nil
	}
	return apierr.Errorf("Problem found while scanning volumes - can't migrate VM - check log")
}

// StoragesOf returns the storages of all drives of a guest.
func StoragesOf(o *engine.Op, g *state.Guest) []string {
	out := []string{}
	for key, value := range g.Config {
		if !IsDrive(key) {
			continue
		}
		if id := StorageOf(ParseDrive(o.Engine, key, value).File()); o.State.Storages[id] != nil {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MissingStorages returns the storages of a guest that a node does not have.
func MissingStorages(o *engine.Op, g *state.Guest, node string) []string {
	return slices.DeleteFunc(StoragesOf(o, g), func(id string) bool {
		_, err := o.State.EnabledStorage(id, node)
		return err == nil
	})
}

// A StorageMap maps the storages of disks to their targets.
type StorageMap struct {
	Entries  map[string]string
	Fallback string
}

// ParseStorageMap parses a map such as "a:b,c". "1" keeps every storage.
func ParseStorageMap(text string) (*StorageMap, error) {
	m := &StorageMap{Entries: map[string]string{}}
	for _, entry := range schema.SplitList(text) {
		from, to, pair := strings.Cut(entry, ":")
		switch {
		case entry == "1":
		case pair && m.Entries[from] != "":
			return nil, apierr.Param("targetstorage", "failed to parse storage map: duplicate mapping for source '%s'\n", from)
		case pair:
			m.Entries[from] = to
		case m.Fallback != "":
			return nil, apierr.Param("targetstorage", "failed to parse storage map: default target ID can only be provided once\n")
		default:
			m.Fallback = entry
		}
	}
	return m, nil
}

func (m *StorageMap) target(id string) string {
	if to := m.Entries[id]; to != "" {
		return to
	}
	return firstOf(m.Fallback, id)
}

// A Migration moves a VM to another node.
type Migration struct {
	Node, Target  string
	VMID          int
	Online, Local bool
	Storages      *StorageMap
}

// MigrationEnd returns the exit status of a task whose migration failed. A missing configuration and a lock are noticed before it begins.
func MigrationEnd(err error) error {
	for _, early := range []string{"Configuration file", "VM is locked"} {
		if strings.HasPrefix(err.Error(), early) {
			return err
		}
	}
	return apierr.Errorf("migration aborted")
}

// Arrive moves a VM to the target node, unless the migration was interrupted.
func Arrive(o *engine.Op, m *Migration, wait error) error {
	g := o.State.Guests[m.VMID]
	if g == nil {
		return apierr.Errorf("the configuration has gone")
	}
	delete(g.Config, "lock")
	if wait != nil {
		return wait
	}
	if job := JobTo(o.State, g.VMID, m.Target); job != "" {
		o.Logf("replicating disk images")
		if err := syncReplica(o, job, g); err != nil {
			return err
		}
	}
	if err := carry(o, g, m); err != nil {
		return err
	}
	g.Node = m.Target
	switchReplication(o.State, g.VMID, m.Node, m.Target)
	return nil
}

// Migratable fails for a guest that cannot be migrated to the target.
func Migratable(o *engine.Op, g *state.Guest, m *Migration) error {
	job := JobTo(o.State, g.VMID, m.Target)
	if o.State.Replications[job]["remove_job"] != "" {
		return apierr.Errorf("refusing to migrate replicated VM whose replication job is marked for removal")
	}
	if err := g.Lock(); err != nil {
		return err
	}
	if o.State.Nodes[m.Target].Offline {
		return apierr.Errorf("Can't connect to destination address using public key")
	}
	if err := stayingMedia(o, g); err != nil {
		return err
	}
	for _, id := range Volumes(o, g) {
		s := o.State.Storages[StorageOf(id)]
		if s.Shared || job != "" && replicates(s) && !leftOut(o, g, id) {
			continue
		}
		if g.Power != state.Stopped && !m.Local && mirrors(o, g, id) {
			return staysHere(o, id, "can't live migrate attached local disks without with-local-disks option")
		}
		if why := snapshotObstacle(o, g, id, s); why != "" {
			return staysHere(o, id, why)
		}
		if _, err := o.State.EnabledStorage(m.Storages.target(s.ID), m.Target); err != nil {
			return err
		}
	}
	return nil
}

// staysHere returns the error for a volume that cannot be migrated.
func staysHere(o *engine.Op, id, why string) error {
	o.Logf("can't migrate local disk '%s': %s", id, why)
	return apierr.Errorf("Problem found while scanning volumes - can't migrate VM - check log")
}

// snapshotObstacle returns why a volume in snapshots cannot be migrated, other than by replication (PVE::QemuMigrate::scan_local_volumes). The saved
// memory of a snapshot can be migrated.
func snapshotObstacle(o *engine.Op, g *state.Guest, id string, s *state.Storage) string {
	names, v := SnapshotsWith(o, g, id), o.State.Volume(g.Node, id)
	switch {
	case v == nil || len(names) == 0 || g.Snapshots[names[0]].Config["vmstate"] == id:
		return ""
	case g.Power != state.Stopped:
		return "online storage migration not possible if non-replicated snapshot exists"
	case s.Type == "zfspool" || s.Type == "btrfs" && v.Format == "raw" || v.Format == "qcow2" && s.Options["snapshot-as-volume-chain"] != "1":
		return ""
	}
	return "non-migratable snapshot exists"
}

// SnapshotsWith returns the snapshots of a guest that contain a volume.
func SnapshotsWith(o *engine.Op, g *state.Guest, id string) []string {
	var names []string
	for name, s := range g.Snapshots {
		for key, value := range s.Config {
			if key == "vmstate" && value == id || IsDrive(key) && ParseDrive(o.Engine, key, value).File() == id {
				names = append(names, name)
				break
			}
		}
	}
	slices.Sort(names)
	return names
}

// mirrors reports whether QEMU itself has to copy a volume of a running guest, which applies to volumes of drives in force. Volumes that are created
// again, cloud-init drives, the state of a TPM, and volumes that are unused, pending or of snapshots are copied like files.
func mirrors(o *engine.Op, g *state.Guest, id string) bool {
	for key, value := range g.Config {
		if !IsDrive(key) || key == "tpmstate0" {
			continue
		}
		if d := ParseDrive(o.Engine, key, value); d.File() == id && !d.CloudInit() {
			return true
		}
	}
	return false
}

// carry moves the volumes of local storages to the target node, to other storages if that was requested. Files are copied first, and keep their names if
// these are free. For the disks that QEMU copies, new disks are created in the order of their devices, each with the lowest free name (PVE::QemuMigrate,
// sync_offline_local_volumes; PVE::QemuServer, vm_migrate_alloc_nbd_disks). So devices stay, and names may be exchanged.
func carry(o *engine.Op, g *state.Guest, m *Migration) error {
	there := &engine.Op{Engine: o.Engine, State: o.State, Who: o.Who, Node: m.Target, Task: o.Task}
	renamed, formats := map[string]string{}, map[string]string{}
	files, live := carried(o, g)
	for _, id := range append(files, live...) {
		storage, name, _ := state.SplitVolume(id)
		from, to := o.State.Storages[storage], o.State.Storages[m.Storages.target(storage)]
		if from.Shared {
			continue
		}
		v := o.State.Volumes[from.Key(m.Node, name)]
		if r := o.State.Volume(m.Target, id); r != nil && r.Replica != "" && r.Replica == JobTo(o.State, g.VMID, m.Target) {
			continue
		}
		if v.Used > volume.Room(there, to) {
			return apierr.Errorf("storage migration for '%s' to storage '%s' failed - No space left on device", id, to.ID)
		}
		mirror := slices.Contains(live, id)
		if mirror || to != from || o.State.Volumes[to.Key(m.Target, name)] != nil {
			name = arrivalName(there, g, to, name, v, mirror)
		}
		o.Logf("volume '%s' is '%s:%s' on the target", id, to.ID, name)
		delete(o.State.Volumes, from.Key(m.Node, storageName(id)))
		o.State.Volumes[to.Key(m.Target, name)] = v
		renamed[id] = to.ID + ":" + name
		if mirror {
			formats[id] = v.Format // QEMU's mirror requires it.
		}
	}
	for key, value := range g.Config {
		g.Config[key] = mirrored(o, key, value, relocated(o, key, value, renamed), formats)
	}
	relocate := func(config map[string]string) {
		for key, value := range config {
			config[key] = relocated(o, key, value, renamed)
		}
	}
	relocate(g.Pending)
	for _, snapshot := range g.Snapshots {
		relocate(snapshot.Config)
	}
	return nil
}

// carried returns the volumes of a guest that are migrated: those that are copied like files, and those of a running guest that QEMU copies, in the order
// of their devices.
func carried(o *engine.Op, g *state.Guest) (files, live []string) {
	files = Volumes(o, g)
	if g.Power == state.Stopped {
		return files, nil
	}
	for _, device := range slices.Sorted(maps.Keys(g.Config)) {
		if !IsDrive(device) {
			continue
		}
		id := ParseDrive(o.Engine, device, g.Config[device]).File()
		if i := slices.Index(files, id); i >= 0 && mirrors(o, g, id) {
			files, live = slices.Delete(files, i, i+1), append(live, id)
		}
	}
	return files, live
}

// mirrored returns the new value of a drive whose disk QEMU has copied. It contains the format.
func mirrored(o *engine.Op, key, before, value string, formats map[string]string) string {
	format := formats[ParseDrive(o.Engine, key, before).File()]
	if !IsDrive(key) || format == "" {
		return value
	}
	d := ParseDrive(o.Engine, key, value)
	d["format"] = format
	return o.Engine.Print(key, d)
}

func storageName(id string) string {
	_, name, _ := state.SplitVolume(id)
	return name
}

// arrivalName returns the name of a volume on its target storage, or that of the disk which is created there for QEMU's copy. Storages without files
// contain only raw images.
func arrivalName(o *engine.Op, g *state.Guest, to *state.Storage, name string, v *state.Volume, mirror bool) string {
	if !slices.Contains(to.Formats(), v.Format) {
		v.Format = to.Formats()[0]
	}
	base := state.BaseName(name)
	switch {
	case mirror:
		return to.ImageName(g.VMID, freeDiskBut(o, to, g.VMID, nil), v.Format)
	case !strings.Contains(base, "-disk-"):
		return to.ImageName(g.VMID, base, v.Format)
	}
	return to.ImageName(g.VMID, freeDisk(o, to, g.VMID), v.Format)
}

// relocated returns the value of an option after volumes were renamed.
func relocated(o *engine.Op, key, value string, renamed map[string]string) string {
	if to, ok := renamed[value]; ok {
		return to
	}
	if !IsDrive(key) && !IsUnused(key) {
		return value
	}
	d := ParseDrive(o.Engine, key, value)
	to, ok := renamed[d.File()]
	if !ok || to == d.File() {
		return value
	}
	d["file"] = to
	return o.Engine.Print(key, d)
}

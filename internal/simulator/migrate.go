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

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// migrateCheck tells where a guest could go and what would go with it.
func (c *call) migrateCheck() (any, error) {
	g, err := c.guest()
	if err == nil {
		err = g.lock()
	}
	if err != nil {
		return nil, err
	}
	allowed, refused, o := []string{}, map[string]any{}, c.op()
	for _, name := range slices.Sorted(maps.Keys(c.state.Nodes)) {
		if name == g.Node || c.state.Nodes[name].Offline {
			continue
		}
		if missing := o.missingStorages(g, name); len(missing) > 0 {
			refused[name] = map[string]any{"unavailable_storages": missing}
			continue
		}
		allowed = append(allowed, name)
	}
	local := []map[string]any{}
	for _, id := range o.volumes(g) {
		if s := c.state.Storages[storageOf(id)]; s != nil && !s.Shared {
			local = append(local, map[string]any{"volid": id, "size": c.state.volume(g.Node, id).Size, "cdrom": 0})
		}
	}
	for _, file := range o.localMedia(g) {
		local = append(local, map[string]any{"volid": file, "cdrom": 1})
	}
	return map[string]any{
		"running": boolInt(g.Power != Stopped), "allowed_nodes": allowed, "not_allowed_nodes": refused, "local_disks": local,
		"local_resources": []string{}, "mapped-resources": []string{}, "mapped-resource-info": map[string]any{}, "has-dbus-vmstate": 1,
	}, nil
}

// localMedia are the media in drives of a guest, now, pending or in a snapshot, that only its node has: images on local
// storage, and the drive of the node itself (PVE::QemuServer::foreach_volid). Drives for cloud-init go along.
func (o *op) localMedia(g *Guest) []string {
	out := []string{}
	configs := []map[string]string{g.Config, g.Pending}
	for _, s := range g.Snapshots {
		configs = append(configs, s.Config)
	}
	for _, config := range configs {
		for key, value := range config {
			if !isDrive(key) {
				continue
			}
			d := o.s.parseDrive(key, value)
			s := o.st.Storages[storageOf(d.file())]
			if d.cdrom() && !d.cloudInit() && (d.file() == "cdrom" || s != nil && !s.Shared) {
				out = append(out, d.file())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// stayingMedia fails for media that cannot go along (PVE::QemuMigrate::scan_local_volumes).
func (o *op) stayingMedia(g *Guest) error {
	media := o.localMedia(g)
	for _, file := range media {
		if file == "cdrom" {
			o.logf("can't migrate local cdrom drive")
			continue
		}
		o.logf("can't migrate local disk '%s': local cdrom image", file)
	}
	if len(media) == 0 {
		return nil
	}
	return die("Problem found while scanning volumes - can't migrate VM - check log")
}

// storagesOf are the storages of all drives that a guest has.
func (o *op) storagesOf(g *Guest) []string {
	out := []string{}
	for key, value := range g.Config {
		if !isDrive(key) {
			continue
		}
		if id := storageOf(o.s.parseDrive(key, value).file()); o.st.Storages[id] != nil {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// missingStorages are those storages of a guest that a node has not.
func (o *op) missingStorages(g *Guest, node string) []string {
	return slices.DeleteFunc(o.storagesOf(g), func(id string) bool {
		_, err := o.st.enabledStorage(id, node)
		return err == nil
	})
}

// storageMap says to which storages disks go.
type storageMap struct {
	entries  map[string]string
	fallback string
}

// parseStorageMap reads a map such as "a:b,c"; "1" keeps every storage.
func parseStorageMap(text string) (*storageMap, error) {
	m := &storageMap{entries: map[string]string{}}
	for _, entry := range schema.SplitList(text) {
		from, to, pair := strings.Cut(entry, ":")
		switch {
		case entry == "1":
		case pair && m.entries[from] != "":
			return nil, paramError("targetstorage", "failed to parse storage map: duplicate mapping for source '%s'\n", from)
		case pair:
			m.entries[from] = to
		case m.fallback != "":
			return nil, paramError("targetstorage", "failed to parse storage map: default target ID can only be provided once\n")
		default:
			m.fallback = entry
		}
	}
	return m, nil
}

func (m *storageMap) target(id string) string {
	if to := m.entries[id]; to != "" {
		return to
	}
	return firstOf(m.fallback, id)
}

func (c *call) migrateGuest() (any, error) {
	m := &migration{
		node: c.node, vmid: c.vmid(), target: c.str("target"), online: c.flag("online"), local: c.flag("with-local-disks"),
	}
	switch {
	case m.target == c.node:
		return nil, paramError("target", "target is local node.")
	case c.state.Nodes[m.target] == nil:
		return nil, die("no such cluster node '%s'", m.target)
	}
	if err := c.rootOnly("force", "migration_type", "migration_network"); err != nil {
		return nil, err
	}
	g, err := c.guest()
	if err == nil {
		err = g.lock()
	}
	if err == nil && g.Power != Stopped {
		err = c.liveMigratable(m)
	}
	if err == nil {
		m.storages, err = c.targetStorages(g, m.target)
	}
	if err != nil {
		return nil, err
	}
	if c.state.haManaged(m.vmid) {
		return c.spawnFor(m.vmid, "hamigrate", func(w *worker) error { return w.requestMove(m) })
	}
	return c.spawnFor(m.vmid, "qmigrate", func(w *worker) error {
		return w.locked(m.vmid, exclusive, configLockWait, func() error { return w.migrate(m) })
	})
}

// liveMigratable fails for a guest that runs and cannot be moved so.
func (c *call) liveMigratable(m *migration) error {
	switch {
	case !m.online:
		return die("can't migrate running VM without --online")
	case !c.flag("force") && c.state.replicates(m.vmid) != nil && c.state.jobTo(m.vmid, m.target) == "":
		return die("Cannot live-migrate replicated VM to node '%s' - not a replication target. Use 'force' to override.", m.target)
	}
	return nil
}

// targetStorages reads where disks are to go, and checks that they can.
func (c *call) targetStorages(g *Guest, node string) (*storageMap, error) {
	m, err := parseStorageMap(c.str("targetstorage"))
	if err != nil {
		return nil, err
	}
	if len(m.entries) == 0 && m.fallback == "" {
		for _, id := range c.op().storagesOf(g) {
			if _, err := c.state.enabledStorage(id, node); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	if err := (&guestAccess{op: c.op(), vmid: g.VMID}).may("VM.Config.Disk"); err != nil {
		return nil, err
	}
	targets := slices.Sorted(maps.Values(m.entries))
	if m.fallback != "" {
		targets = append(targets, m.fallback)
	}
	for _, id := range targets {
		s, err := c.state.enabledStorage(id, node)
		if err == nil {
			err = c.state.check(c.who, "/storage/"+id, "Datastore.AllocateSpace")
		}
		if err == nil && !s.holds("images") {
			err = die("storage '%s' does not support vm images", id)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// requestMove asks HA to move a guest; HA starts a task of its own a little later.
func (w *worker) requestMove(m *migration) error {
	w.logf("Requesting HA migration for VM %d to node %s", m.vmid, m.target)
	return w.do(func(st *State) error {
		w.op(st).moveHA(m.vmid, m.target)
		return nil
	})
}

// migration is a VM's way to another node.
type migration struct {
	node, target  string
	vmid          int
	online, local bool
	storages      *storageMap
}

// migrate is the task that moves a VM. Whatever goes wrong is in its log; its end only says that it was aborted.
func (w *worker) migrate(m *migration) error {
	w.logf("starting migration of VM %d to node '%s'", m.vmid, m.target)
	err := w.do(func(st *State) error {
		g, err := st.guest(m.node, m.vmid)
		if err != nil {
			return err
		}
		if err := w.op(st).migratable(g, m); err != nil {
			return err
		}
		g.Config["lock"] = "migrate"
		return nil
	})
	if err == nil {
		wait := w.pauseFor("qmigrate")
		err = w.do(func(st *State) error { return w.op(st).arrive(m, wait) })
	}
	if err != nil {
		w.logf("ERROR: migration aborted: %s", err)
		return migrationEnd(err)
	}
	w.logf("migration finished successfully")
	return nil
}

// migrationEnd is how a task ends whose migration failed; a missing configuration and a lock are noticed before it begins.
func migrationEnd(err error) error {
	for _, early := range []string{"Configuration file", "VM is locked"} {
		if strings.HasPrefix(err.Error(), early) {
			return err
		}
	}
	return die("migration aborted")
}

// arrive lets a VM be on the other node, unless the way there was interrupted.
func (o *op) arrive(m *migration, wait error) error {
	g := o.st.Guests[m.vmid]
	if g == nil {
		return die("the configuration has gone")
	}
	delete(g.Config, "lock")
	if wait != nil {
		return wait
	}
	if job := o.st.jobTo(g.VMID, m.target); job != "" {
		o.logf("replicating disk images")
		if err := syncReplica(o, job, g); err != nil {
			return err
		}
	}
	if err := o.carry(g, m); err != nil {
		return err
	}
	g.Node = m.target
	o.st.switchReplication(g.VMID, m.node, m.target)
	return nil
}

func (o *op) migratable(g *Guest, m *migration) error {
	job := o.st.jobTo(g.VMID, m.target)
	if o.st.Replications[job]["remove_job"] != "" {
		return die("refusing to migrate replicated VM whose replication job is marked for removal")
	}
	if err := g.lock(); err != nil {
		return err
	}
	if o.st.Nodes[m.target].Offline {
		return die("Can't connect to destination address using public key")
	}
	if err := o.stayingMedia(g); err != nil {
		return err
	}
	for _, id := range o.volumes(g) {
		s := o.st.Storages[storageOf(id)]
		if s.Shared && m.storages.target(s.ID) == s.ID || job != "" && s.replicates() && !o.leftOut(g, id) {
			continue
		}
		if g.Power != Stopped && !m.local {
			o.logf("can't migrate local disk '%s': can't live migrate attached local disks without with-local-disks option", id)
			return die("Problem found while scanning volumes - can't migrate VM - check log")
		}
		if _, err := o.st.enabledStorage(m.storages.target(s.ID), m.target); err != nil {
			return err
		}
	}
	return nil
}

// carry moves the volumes of local storages to the other node, to other storages if they are to go there.
func (o *op) carry(g *Guest, m *migration) error {
	there := &op{s: o.s, st: o.st, who: o.who, node: m.target, task: o.task}
	renamed := map[string]string{}
	for _, id := range o.volumes(g) {
		storage, name, _ := splitVolume(id)
		from, to := o.st.Storages[storage], o.st.Storages[m.storages.target(storage)]
		if from.Shared && from == to {
			continue
		}
		v := o.st.Volumes[from.key(m.node, name)]
		if r := o.st.volume(m.target, id); r != nil && r.Replica != "" && r.Replica == o.st.jobTo(g.VMID, m.target) {
			continue
		}
		if v.Used > there.room(to) {
			return die("storage migration for '%s' to storage '%s' failed - No space left on device", id, to.ID)
		}
		if to != from || o.st.Volumes[to.key(m.target, name)] != nil {
			name = there.arrivalName(g, to, name, v)
		}
		o.logf("volume '%s' is '%s:%s' on the target", id, to.ID, name)
		delete(o.st.Volumes, from.key(m.node, storageName(id)))
		o.st.Volumes[to.key(m.target, name)] = v
		renamed[id] = to.ID + ":" + name
	}
	for key, value := range g.Config {
		g.Config[key] = o.relocated(key, value, renamed)
	}
	for _, snapshot := range g.Snapshots {
		for key, value := range snapshot.Config {
			snapshot.Config[key] = o.relocated(key, value, renamed)
		}
	}
	return nil
}

func storageName(id string) string {
	_, name, _ := splitVolume(id)
	return name
}

// arrivalName is the name of a volume on a storage that it comes to. Storages without files hold raw images only.
func (o *op) arrivalName(g *Guest, to *Storage, name string, v *Volume) string {
	if !slices.Contains(to.formats(), v.Format) {
		v.Format = to.formats()[0]
	}
	base := baseName(name)
	if !strings.Contains(base, "-disk-") {
		return to.imageName(g.VMID, base, v.Format)
	}
	return to.imageName(g.VMID, o.freeDisk(to, g.VMID), v.Format)
}

// relocated is the value of an option after volumes have got other names.
func (o *op) relocated(key, value string, renamed map[string]string) string {
	if to, ok := renamed[value]; ok {
		return to
	}
	if !isDrive(key) && !isUnused(key) {
		return value
	}
	d := o.s.parseDrive(key, value)
	to, ok := renamed[d.file()]
	if !ok || to == d.file() {
		return value
	}
	d["file"] = to
	return o.s.print(key, d)
}

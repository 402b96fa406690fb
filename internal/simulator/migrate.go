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

import "maps"

func (c *call) migrateCheck() (any, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	allowed := []string{}
	for name := range c.state.Nodes {
		if name != g.Node && (c.op().sharedDisks(g) || g.Power != Stopped) {
			allowed = append(allowed, name)
		}
	}
	local := []map[string]any{}
	for _, id := range c.op().volumes(g) {
		if s := c.state.Storages[storageOf(id)]; s != nil && !s.Shared {
			local = append(local, map[string]any{"volid": id, "size": c.state.volume(g.Node, id).Size, "cdrom": 0})
		}
	}
	return map[string]any{
		"running": boolInt(g.Power != Stopped), "allowed_nodes": allowed, "local_disks": local, "local_resources": []string{},
		"mapped-resources": []string{},
	}, nil
}

func (c *call) migrateGuest() (any, error) {
	m := &migration{
		node: c.node, vmid: c.vmid(), target: c.str("target"), online: c.flag("online"), local: c.flag("with-local-disks"),
	}
	if s := c.str("targetstorage"); s != "" && s != "1" {
		return nil, notSimulated(c.method.Verb, c.path+" with 'targetstorage'")
	}
	g, err := c.guest()
	switch {
	case m.target == c.node:
		return nil, paramError("target", "target is local node.")
	case c.state.Nodes[m.target] == nil:
		return nil, die("no such cluster node '%s'", m.target)
	case err != nil:
		return nil, err
	case g.Power != Stopped && !m.online:
		return nil, die("can't migrate running VM without --online")
	}
	if err := g.lock(); err != nil {
		return nil, err
	}
	return c.spawnFor(m.vmid, "qmigrate", func(w *worker) error {
		return w.locked(m.vmid, exclusive, configLockWait, func() error { return w.migrate(m) })
	})
}

// migration is a VM's way to another node.
type migration struct {
	node, target  string
	vmid          int
	online, local bool
}

func (w *worker) migrate(m *migration) error {
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
	if err != nil {
		return err
	}
	wait := w.pauseFor("qmigrate")
	return w.do(func(st *State) error {
		g := st.Guests[m.vmid]
		if g == nil {
			return die("migration aborted")
		}
		delete(g.Config, "lock")
		if wait != nil {
			return wait
		}
		w.op(st).carry(g, m)
		g.Node = m.target
		return nil
	})
}

func (o *op) migratable(g *Guest, m *migration) error {
	if err := g.lock(); err != nil {
		return err
	}
	if o.st.Nodes[m.target].Offline {
		return die("target node is offline")
	}
	for _, id := range o.volumes(g) {
		s := o.st.Storages[storageOf(id)]
		if s.Shared {
			if _, err := o.st.enabledStorage(s.ID, m.target); err != nil {
				return err
			}
			continue
		}
		if g.Power != Stopped && !m.local {
			return die("can't migrate VM - local disks are attached, use --with-local-disks")
		}
	}
	return nil
}

// carry moves the volumes of local storages to the other node.
func (o *op) carry(g *Guest, m *migration) {
	moved := map[VolumeKey]*Volume{}
	for _, id := range o.volumes(g) {
		storage, name, _ := splitVolume(id)
		s := o.st.Storages[storage]
		if s.Shared {
			continue
		}
		moved[VolumeKey{Storage: storage, Node: m.target, Name: name}] = o.st.Volumes[s.key(m.node, name)]
		delete(o.st.Volumes, s.key(m.node, name))
	}
	maps.Copy(o.st.Volumes, moved)
}

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

func (c *call) templateGuest() (any, error) {
	node, vmid, only := c.node, c.vmid(), c.str("disk")
	g, err := c.guest()
	if err == nil {
		err = templatable(g, only)
	}
	if err != nil {
		return nil, err
	}
	return c.spawnFor(vmid, "qmtemplate", func(w *worker) error {
		return w.locked(vmid, exclusive, configLockWait, func() error {
			if err := w.pauseFor("qmtemplate"); err != nil {
				return err
			}
			return w.do(func(st *State) error {
				g, err := st.guest(node, vmid)
				if err != nil {
					return err
				}
				if err := templatable(g, only); err != nil {
					return err
				}
				w.op(st).makeTemplate(g, only)
				return nil
			})
		})
	})
}

func templatable(g *Guest, only string) error {
	if err := g.lock(); err != nil {
		return err
	}
	switch {
	case len(g.Snapshots) > 0:
		return die("unable to create template, because VM contains snapshots")
	case g.template() && only == "":
		return die("you can't convert a template to a template")
	case g.Power != Stopped:
		return die("you can't convert a VM to template if VM is running")
	}
	return nil
}

// makeTemplate turns a VM into a template: its disks become base volumes.
func (o *op) makeTemplate(g *Guest, only string) {
	g.Config["template"] = "1"
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		if !isDrive(key) || (only != "" && key != only) {
			continue
		}
		d := o.s.parseDrive(key, g.Config[key])
		if d.cdrom() || isBase(d.file()) {
			continue
		}
		d["file"] = o.rebase(d.file())
		g.Config[key] = o.s.print(key, d)
	}
}

// rebase renames a volume "vm-…" to "base-…".
func (o *op) rebase(id string) string {
	storage, name, _ := splitVolume(id)
	s := o.st.Storages[storage]
	v := o.st.Volumes[s.key(o.node, name)]
	if v == nil {
		return id
	}
	i := strings.LastIndex(name, "/") + 1
	renamed := name[:i] + "base-" + strings.TrimPrefix(name[i:], "vm-")
	delete(o.st.Volumes, s.key(o.node, name))
	o.st.Volumes[s.key(o.node, renamed)] = v
	return storage + ":" + renamed
}

func (c *call) feature() (any, error) {
	g, err := c.guest()
	if err != nil {
		return nil, err
	}
	has, config := true, g.Config
	if c.has("snapname") {
		s, err := c.snapshot()
		if err != nil {
			return nil, err
		}
		config = s.Config
	}
	for key, value := range config {
		if d := c.s.parseDrive(key, value); isDrive(key) && !d.cdrom() {
			has = has && c.op().hasFeature(d, c.str("feature")) && c.op().ofSnapshot(d, c.str("snapname"), c.str("feature"))
		}
	}
	nodes := slices.Sorted(maps.Keys(c.state.Nodes))
	if !c.op().sharedDisks(g) {
		nodes = []string{g.Node}
	}
	return map[string]any{"hasFeature": boolInt(has), "nodes": nodes}, nil
}

func (o *op) hasFeature(d drive, feature string) bool {
	s := o.st.Storages[storageOf(d.file())]
	v := o.st.volume(o.node, d.file())
	if s == nil || v == nil {
		return false
	}
	switch feature {
	case "clone":
		return isBase(d.file())
	case "snapshot":
		return (!isBase(d.file()) || o.st.Version != "8.4") && (v.Format == "qcow2" || (!s.fileBased() && s.Type != "lvm"))
	}
	return true
}

// ofSnapshot reports whether a volume's snapshot can be copied too.
func (o *op) ofSnapshot(d drive, snapshot, feature string) bool {
	if snapshot == "" || feature != "copy" {
		return true
	}
	s, v := o.st.Storages[storageOf(d.file())], o.st.volume(o.node, d.file())
	return v.Format == "qcow2" || (!s.fileBased() && s.Type != "lvm" && s.Type != "zfspool")
}

// sharedDisks reports whether every node sees the guest's disks.
func (o *op) sharedDisks(g *Guest) bool {
	for key, value := range g.Config {
		if !isDrive(key) {
			continue
		}
		if s := o.st.Storages[storageOf(o.s.parseDrive(key, value).file())]; s != nil && !s.Shared {
			return false
		}
	}
	return true
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

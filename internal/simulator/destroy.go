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
	"fmt"
	"slices"
)

func (c *call) deleteGuest() (any, error) {
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	d := &destruction{
		node: c.node, vmid: c.vmid(), skipLock: c.flag("skiplock"), purge: c.flag("purge"),
		unreferenced: c.flag("destroy-unreferenced-disks"),
	}
	if _, err := c.op().destroyable(d); err != nil {
		return nil, err
	}
	return c.spawnFor(d.vmid, "qmdestroy", func(w *worker) error {
		return w.locked(d.vmid, exclusive, configLockWait, func() error {
			if err := w.do(func(st *State) error { return w.op(st).mayDestroy(d) }); err != nil {
				return err
			}
			if err := w.pauseFor("qmdestroy"); err != nil {
				return err
			}
			return w.do(func(st *State) error {
				w.op(st).destroy(d)
				return nil
			})
		})
	})
}

// destruction is how a VM is to be removed.
type destruction struct {
	node         string
	vmid         int
	skipLock     bool
	purge        bool
	unreferenced bool
}

// destroyable makes the checks that a call makes before it starts the task.
func (o *op) destroyable(d *destruction) (*Guest, error) {
	g, err := o.st.guest(d.node, d.vmid)
	switch {
	case err != nil:
		return nil, err
	case g.Config["protection"] == "1":
		return nil, die("can't remove VM %d - protection mode enabled", d.vmid)
	case !d.purge && o.st.HA[haID(d.vmid)] != nil:
		return nil, die("unable to remove VM %d - used in HA resources and purge parameter not set.", d.vmid)
	}
	if err := o.st.replicates(d.vmid); err != nil && !d.purge {
		return nil, err
	}
	if g.Power != Stopped {
		return nil, die("VM %d is running - destroy failed", d.vmid)
	}
	return g, nil
}

func (o *op) mayDestroy(d *destruction) error {
	g, err := o.destroyable(d)
	if err != nil {
		return err
	}
	if err := g.lock(); err != nil && !d.skipLock && g.Config["lock"] != "suspended" {
		return err
	}
	for _, id := range o.volumes(g) {
		if o.clones(id) {
			return die("base volume '%s' is still in use by linked cloned", id)
		}
	}
	return nil
}

// volumes lists the volumes that a guest owns and refers to, in its configuration and its snapshots.
func (o *op) volumes(g *Guest) []string {
	out := []string{}
	configs := []map[string]string{g.Config, g.Pending}
	for _, s := range g.Snapshots {
		configs = append(configs, s.Config)
	}
	for _, config := range configs {
		for key, value := range config {
			if !isDrive(key) && !isUnused(key) && key != "vmstate" {
				continue
			}
			id := value
			if key != "vmstate" {
				id = o.s.parse(key, value)["file"]
			}
			if v := o.st.volume(g.Node, id); v != nil && v.VMID == g.VMID {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (o *op) destroy(d *destruction) {
	g := o.st.Guests[d.vmid]
	for _, id := range o.volumes(g) {
		o.free(id)
	}
	if d.unreferenced {
		o.freeOwned(d.vmid)
	}
	for _, p := range o.st.Pools {
		delete(p.VMs, d.vmid)
	}
	path := fmt.Sprintf("/vms/%d", d.vmid)
	o.st.ACL = slices.DeleteFunc(o.st.ACL, func(g Grant) bool { return g.Path == path })
	if d.purge {
		o.logf("purging VM %d from related configurations..", d.vmid)
		if o.st.HA[haID(d.vmid)] != nil {
			delete(o.st.HA, haID(d.vmid))
			o.st.leaveRules(haID(d.vmid))
			o.logf("NOTE: removed VM %d from HA resource configuration.", d.vmid)
		}
		o.st.forgetReplications(d.vmid)
	}
	delete(o.st.Guests, d.vmid)
}

func (o *op) freeOwned(vmid int) {
	for key, v := range o.st.Volumes {
		s := o.st.Storages[key.Storage]
		if v.VMID == vmid && (s == nil || s.Shared || key.Node == o.node) {
			delete(o.st.Volumes, key)
		}
	}
}

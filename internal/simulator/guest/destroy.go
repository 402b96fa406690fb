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
	"fmt"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// A Destruction describes how a VM is removed.
type Destruction struct {
	Node         string
	VMID         int
	SkipLock     bool
	Purge        bool
	Unreferenced bool
}

// Destroyable performs the checks of a call before it starts the task.
func Destroyable(o *engine.Op, d *Destruction) (*state.Guest, error) {
	g, err := o.State.Guest(d.Node, d.VMID)
	switch {
	case err != nil:
		return nil, err
	case g.Config["protection"] == "1":
		return nil, apierr.Errorf("can't remove VM %d - protection mode enabled", d.VMID)
	case !d.Purge && o.State.HA[state.HAID(d.VMID)] != nil:
		return nil, apierr.Errorf("unable to remove VM %d - used in HA resources and purge parameter not set.", d.VMID)
	}
	if err := Replicates(o.State, d.VMID); err != nil && !d.Purge {
		return nil, err
	}
	if g.Power != state.Stopped {
		return nil, apierr.Errorf("VM %d is running - destroy failed", d.VMID)
	}
	return g, nil
}

// MayDestroy fails for a guest that is still in use.
func MayDestroy(o *engine.Op, d *Destruction) error {
	g, err := Destroyable(o, d)
	if err != nil {
		return err
	}
	if err := g.Lock(); err != nil && !d.SkipLock && g.Config["lock"] != "suspended" {
		return err
	}
	for _, id := range Volumes(o, g) {
		if volume.Clones(o, id) {
			return apierr.Errorf("base volume '%s' is still in use by linked cloned", id)
		}
	}
	return nil
}

// Volumes lists the volumes that a guest owns and references, in its configuration and its snapshots.
func Volumes(o *engine.Op, g *state.Guest) []string {
	out := []string{}
	configs := []map[string]string{g.Config, g.Pending}
	for _, s := range g.Snapshots {
		configs = append(configs, s.Config)
	}
	for _, config := range configs {
		for key, value := range config {
			if !IsDrive(key) && !IsUnused(key) && key != "vmstate" {
				continue
			}
			id := value
			if key != "vmstate" {
				id = o.Engine.Parse(key, value)["file"]
			}
			if v := o.State.Volume(g.Node, id); v != nil && v.VMID == g.VMID {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Destroy removes a guest with its volumes.
func Destroy(o *engine.Op, d *Destruction) {
	g := o.State.Guests[d.VMID]
	for _, id := range Volumes(o, g) {
		volume.Free(o, id)
	}
	if d.Unreferenced {
		freeOwned(o, d.VMID)
	}
	for _, p := range o.State.Pools {
		delete(p.VMs, d.VMID)
	}
	path := fmt.Sprintf("/vms/%d", d.VMID)
	o.State.ACL = slices.DeleteFunc(o.State.ACL, func(g state.Grant) bool { return g.Path == path })
	if d.Purge {
		o.Logf("purging VM %d from related configurations..", d.VMID)
		if o.State.HA[state.HAID(d.VMID)] != nil {
			delete(o.State.HA, state.HAID(d.VMID))
			o.State.LeaveRules(state.HAID(d.VMID))
			o.Logf("NOTE: removed VM %d from HA resource configuration.", d.VMID)
		}
		forgetReplications(o.State, d.VMID)
	}
	delete(o.State.Guests, d.VMID)
}

func freeOwned(o *engine.Op, vmid int) {
	for key, v := range o.State.Volumes {
		s := o.State.Storages[key.Storage]
		if v.VMID == vmid && (s == nil || s.Shared || key.Node == o.Node) {
			delete(o.State.Volumes, key)
		}
	}
}

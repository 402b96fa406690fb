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

package qemu

import (
	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func moveDisk(c *engine.Call) (any, error) {
	switch {
	case c.Has("target-vmid") && c.Has("storage"):
		const both = "either set 'storage' or 'target-vmid', but not both"
		return nil, apierr.Params(map[string]string{"target-vmid": both, "storage": both})
	case c.Has("target-vmid"):
		return reassignDisk(c)
	case !c.Has("storage"):
		const neither = "both 'storage' and 'target-vmid' missing, either needs to be set"
		return nil, apierr.Params(map[string]string{"target-vmid": neither, "storage": neither})
	}
	m := &guest.DiskMove{
		Node: c.Node, VMID: c.VMID(), Key: c.Str("disk"), Storage: c.Str("storage"), Format: c.Str("format"), Remove: c.Flag("delete"),
		Digest: c.Str("digest"),
	}
	if err := c.State.Check(c.Who, "/storage/"+m.Storage, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	if err := guest.Movable(c.Op(), m); err != nil {
		return nil, err
	}
	return c.SpawnFor(m.VMID, "qmmove", func(w *engine.Worker) error {
		return onGuest(w, "qmmove", m.Node, m.VMID, func(o *engine.Op, _ *state.Guest) error {
			if err := guest.Movable(o, m); err != nil {
				return err
			}
			return guest.MoveDisk(o, m)
		})
	})
}

// unlink removes drives from the configuration, and their volumes on request.
func unlink(c *engine.Call) (any, error) {
	vmid := c.VMID()
	ch := &guest.Change{
		VMID: vmid, Remove: schema.SplitList(c.Str("idlist")), Force: c.Flag("force"), Line: changeLine(c), Set: map[string]string{},
	}
	if err := guest.Changeable(c.Op(), ch); err != nil {
		return nil, err
	}
	return &engine.Locked{VMID: vmid, Wait: engine.ConfigLockWait, Then: func(c *engine.Call) (any, error) { return nil, guest.Apply(c.Op(), ch) }}, nil
}

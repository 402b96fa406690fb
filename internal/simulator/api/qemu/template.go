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
	"maps"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func templateGuest(c *engine.Call) (any, error) {
	node, vmid, only := c.Node, c.VMID(), c.Str("disk")
	g, err := c.Guest()
	if err == nil {
		err = guest.Templatable(g, only)
	}
	if err != nil {
		return nil, err
	}
	return c.SpawnFor(vmid, "qmtemplate", func(w *engine.Worker) error {
		return w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error {
			if err := w.PauseFor("qmtemplate"); err != nil {
				return err
			}
			return w.Do(func(st *state.State) error {
				g, err := st.Guest(node, vmid)
				if err != nil {
					return err
				}
				if err := guest.Templatable(g, only); err != nil {
					return err
				}
				guest.MakeTemplate(w.Op(st), g, only)
				return nil
			})
		})
	})
}

func feature(c *engine.Call) (any, error) {
	g, err := c.Guest()
	if err != nil {
		return nil, err
	}
	has, config := true, g.Config
	if c.Has("snapname") {
		s, err := snapshot(c)
		if err != nil {
			return nil, err
		}
		config = s.Config
	}
	for key, value := range config {
		if d := guest.ParseDrive(c.Engine, key, value); guest.IsDrive(key) && !d.CDROM() {
			has = has && guest.HasFeature(c.Op(), d, c.Str("feature")) && guest.OfSnapshot(c.Op(), d, c.Str("snapname"), c.Str("feature"))
		}
	}
	nodes := slices.Sorted(maps.Keys(c.State.Nodes))
	if !guest.SharedDisks(c.Op(), g) {
		nodes = []string{g.Node}
	}
	return map[string]any{"hasFeature": schema.Flag(has), "nodes": nodes}, nil
}

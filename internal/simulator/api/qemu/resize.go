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
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func resizeDisk(c *engine.Call) (any, error) {
	if err := c.RootOnly("skiplock"); err != nil {
		return nil, err
	}
	node, vmid, key, size := c.Node, c.VMID(), c.Str("disk"), c.Str("size")
	digest, skip := c.Str("digest"), c.Flag("skiplock")
	return c.SpawnFor(vmid, "resize", func(w *engine.Worker) error {
		return w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error {
			if err := w.PauseFor("resize"); err != nil {
				return err
			}
			return w.Do(func(st *state.State) error {
				g, err := st.Guest(node, vmid)
				if err != nil {
					return err
				}
				if digest != "" && digest != g.Digest() {
					return apierr.Errorf("checksum mismatch (file change by other user?)")
				}
				if err := g.Lock(); err != nil && !skip {
					return err
				}
				return guest.Resize(w.Op(st), g, key, size)
			})
		})
	})
}

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
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func deleteGuest(c *engine.Call) (any, error) {
	if err := c.RootOnly("skiplock"); err != nil {
		return nil, err
	}
	d := &guest.Destruction{
		Node: c.Node, VMID: c.VMID(), SkipLock: c.Flag("skiplock"), Purge: c.Flag("purge"),
		Unreferenced: c.Flag("destroy-unreferenced-disks"),
	}
	if _, err := guest.Destroyable(c.Op(), d); err != nil {
		return nil, err
	}
	return c.SpawnFor(d.VMID, "qmdestroy", func(w *engine.Worker) error {
		return w.Locked(d.VMID, engine.Exclusive, engine.ConfigLockWait, func() error {
			if err := w.Do(func(st *state.State) error { return guest.MayDestroy(w.Op(st), d) }); err != nil {
				return err
			}
			if err := w.PauseFor("qmdestroy"); err != nil {
				return err
			}
			return w.Do(func(st *state.State) error {
				_, err := st.Guest(d.Node, d.VMID)
				if err == nil {
					guest.Destroy(w.Op(st), d)
				}
				return err
			})
		})
	})
}

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
	"fmt"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// reassignDisk gives a disk to another VM on the same node.
func reassignDisk(c *engine.Call) (any, error) {
	r := &guest.Reassignment{
		VMID: c.VMID(), Target: c.Num("target-vmid"), Key: c.Str("disk"), TargetKey: c.Str("target-disk"), Digest: c.Str("digest"),
		TargetDigest: c.Str("target-digest"),
	}
	if r.TargetKey == "" {
		r.TargetKey = r.Key
	}
	if c.Who != state.Root {
		if err := (&guest.Access{Op: c.Op(), VMID: r.Target}).May("VM.Config.Disk"); err != nil {
			return nil, err
		}
	}
	if r.VMID == r.Target {
		return nil, apierr.Param("target-vmid", "must be different than source VMID to reassign disk")
	}
	d, err := guest.Reassignable(c.Op(), r)
	if err != nil {
		return nil, err
	}
	if err := c.State.Check(c.Who, "/storage/"+guest.StorageOf(d.File()), "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("%d-%s>%d-%s", r.VMID, r.Key, r.Target, r.TargetKey)
	return c.Spawn("qmmove", subject, func(w *engine.Worker) error {
		return w.Locked(r.VMID, engine.Exclusive, engine.ConfigLockWait, func() error {
			return w.Locked(r.Target, engine.Exclusive, engine.ConfigLockWait, func() error {
				if err := w.PauseFor("qmmove"); err != nil {
					return err
				}
				return w.Do(func(st *state.State) error { return guest.Reassign(w.Op(st), r) })
			})
		})
	})
}

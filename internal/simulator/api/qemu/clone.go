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
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

func cloneGuest(c *engine.Call) (any, error) {
	cl := &guest.CloneRequest{
		Node: c.Node, Target: c.Str("target"), VMID: c.VMID(), NewID: c.Num("newid"), Name: c.Str("name"),
		Description: c.Str("description"), Pool: c.Str("pool"), Snapshot: c.Str("snapname"), Storage: c.Str("storage"), Format: c.Str("format"),
		Limit: c.Num("bwlimit"),
	}
	if c.Has("full") {
		full := c.Flag("full")
		cl.Full = &full
	}
	if cl.Target == c.Node || cl.Target == "localhost" {
		cl.Target = ""
	}
	g, err := c.State.Process(c.Node, cl.VMID)
	if err != nil {
		return nil, err
	}
	cl.Running = g.Power != state.Stopped
	if _, err := guest.Cloneable(c.Op(), cl); err != nil {
		return nil, err
	}
	mode := engine.Shared
	if cl.Running {
		mode = engine.Exclusive
	}
	return c.SpawnFor(cl.VMID, "qmclone", func(w *engine.Worker) error {
		return w.Locked(cl.VMID, mode, engine.BriefLockWait, func() error {
			return w.Locked(cl.NewID, engine.Exclusive, engine.BriefLockWait, func() error { return clone(w, cl) })
		})
	})
}

// clone runs the task that copies a VM.
func clone(w *engine.Worker, cl *guest.CloneRequest) error {
	var p *guest.ClonePlan
	err := w.Do(func(st *state.State) error {
		var err error
		if p, err = guest.Cloneable(w.Op(st), cl); err != nil {
			return err
		}
		g, err := st.Written(cl.Node, cl.NewID)
		if err != nil {
			return err
		}
		guest.Identify(w.Op(st), cl, p)
		g.Config = map[string]string{"lock": "clone", "description": " qmclone temporary file"}
		return nil
	})
	if err != nil {
		return err
	}
	if w.Engine.Facts.Version != "8.4" {
		w.Logf("creating a clone of VM %d with ID %d", cl.VMID, cl.NewID)
	}
	made := []string{}
	err = copyDrives(w, cl, p, &made)
	return w.Do(func(st *state.State) error {
		o := w.Op(st)
		if err == nil {
			err = guest.FinishClone(o, cl, p)
		}
		if err == nil {
			return nil
		}
		for _, id := range made {
			volume.Free(o, id)
		}
		delete(st.Guests, cl.NewID)
		return apierr.Errorf("clone failed: %s", err)
	})
}

func copyDrives(w *engine.Worker, cl *guest.CloneRequest, p *guest.ClonePlan, made *[]string) error {
	if err := w.PauseFor("qmclone"); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(p.Drives)) {
		copied := func() error { return copyOne(w, cl, p, key, made) }
		var err error
		if p.Full[key] {
			err = copied()
		} else {
			err = link(w, p.Drives[key], copied)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyTime returns how long the copy of a disk takes, including a limit of its rate in KiB/s.
func copyTime(w *engine.Worker, cl *guest.CloneRequest, d guest.Drive) time.Duration {
	out := w.Engine.Duration("copydisk")
	if size, ok := schema.ParseSize(d["size"]); ok && cl.Limit > 0 {
		out = max(out, time.Duration(size/(int64(cl.Limit)<<10))*time.Second)
	}
	return out
}

// link creates a linked copy of a drive while its storage is locked.
func link(w *engine.Worker, d guest.Drive, fn func() error) error {
	return w.WithStorage(guest.StorageOf(d.File()), func() error {
		if err := w.PauseFor("link"); err != nil {
			return err
		}
		return fn()
	})
}

// copyOne creates a volume, fills it, and adds it to the configuration when it is complete.
func copyOne(w *engine.Worker, cl *guest.CloneRequest, p *guest.ClonePlan, key string, made *[]string) error {
	d := p.Drives[key]
	var value guest.Drive
	err := w.Do(func(st *state.State) error {
		var err error
		if value, err = guest.CopyDrive(w.Op(st), cl, key, d, p.Full[key]); err == nil {
			*made = append(*made, value.File())
		}
		return err
	})
	if err != nil {
		return err
	}
	if p.Full[key] && !d.CloudInit() {
		if err := w.Sleep(copyTime(w, cl, d)); err != nil {
			return err
		}
	}
	return w.Do(func(st *state.State) error {
		g, err := st.Written(cl.Node, cl.NewID)
		if err != nil {
			return err
		}
		p.Config[key] = w.Engine.Print(key, value)
		g.Config = maps.Clone(p.Config)
		g.Config["lock"] = "clone"
		return nil
	})
}

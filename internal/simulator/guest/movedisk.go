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
	"maps"
	"path"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// A DiskMove moves a disk to another storage or format.
type DiskMove struct {
	Node            string
	VMID            int
	Key             string
	Storage, Format string
	Remove          bool
	Digest          string
}

// Movable fails for a disk that cannot be moved.
func Movable(o *engine.Op, m *DiskMove) error {
	g, err := o.State.Guest(m.Node, m.VMID)
	if err != nil {
		return err
	}
	if err := g.Lock(); err != nil {
		return err
	}
	if m.Digest != "" && m.Digest != g.Digest() {
		return apierr.Modified()
	}
	if g.Config[m.Key] == "" {
		return apierr.Errorf("disk '%s' does not exist", m.Key)
	}
	d := ParseDrive(o.Engine, m.Key, g.Config[m.Key])
	v := o.State.Volume(m.Node, d.File())
	switch {
	case d.CDROM():
		return apierr.Errorf("you can't move a cdrom")
	case StorageOf(d.File()) == m.Storage && (m.Format == "" || m.Format == imageFormat(d.File())):
		return apierr.Errorf("you can't move to the same storage with same format")
	}
	if _, err := o.State.ImageStorage(m.Storage, m.Node); err != nil {
		return err
	}
	switch {
	case m.Remove && inSnapshot(g, d.File()):
		return apierr.Errorf("you can't move a disk with snapshots and delete the source")
	case v == nil:
		return apierr.Errorf("volume '%s' does not exist", d.File())
	}
	return nil
}

// imageFormat returns the format in the name of an image. Images without an extension are raw.
func imageFormat(id string) string {
	if ext := path.Ext(id); ext != "" {
		return ext[1:]
	}
	return "raw"
}

// MoveDisk moves a disk to another storage.
func MoveDisk(o *engine.Op, m *DiskMove) error {
	g := o.State.Guests[m.VMID]
	old := ParseDrive(o.Engine, m.Key, g.Config[m.Key])
	line := fmt.Sprintf("move disk VM %d: move --disk %s --storage %s", m.VMID, m.Key, m.Storage)
	o.State.LogLine(state.LogEntry{Time: o.Engine.Clock.Now(), Node: o.Node, User: string(o.Who), Priority: 6, Message: line})
	o.Logf("copying volume '%s' from current storage '%s' to target storage '%s'", old.File(), StorageOf(old.File()), m.Storage)
	copied, err := CopyDrive(o, &CloneRequest{NewID: m.VMID, Storage: m.Storage, Format: m.Format}, m.Key, maps.Clone(old), true)
	if err != nil {
		return apierr.Errorf("storage migration failed: %s", err)
	}
	g.Config[m.Key] = o.Engine.Print(m.Key, copied)
	if g.Template() {
		MakeTemplate(o, g, m.Key)
	}
	if m.Remove {
		o.Logf("removing source volume '%s' after successful copy", old.File())
		volume.Free(o, old.File())
		return nil
	}
	o.Logf("adding source volume '%s' as '%s' to config", old.File(), keepUnused(o, g, old))
	return nil
}

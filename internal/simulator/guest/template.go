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
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// Templatable fails for a guest that cannot become a template.
func Templatable(g *state.Guest, only string) error {
	if err := g.Lock(); err != nil {
		return err
	}
	switch {
	case len(g.Snapshots) > 0:
		return apierr.Errorf("unable to create template, because VM contains snapshots")
	case g.Template() && only == "":
		return apierr.Errorf("you can't convert a template to a template")
	case g.Power != state.Stopped:
		return apierr.Errorf("you can't convert a VM to template if VM is running")
	}
	return nil
}

// MakeTemplate converts a VM to a template. Its disks become base volumes.
func MakeTemplate(o *engine.Op, g *state.Guest, only string) {
	g.Config["template"] = "1"
	for _, key := range slices.Sorted(maps.Keys(g.Config)) {
		if !IsDrive(key) || (only != "" && key != only) {
			continue
		}
		d := ParseDrive(o.Engine, key, g.Config[key])
		if d.CDROM() || isBase(d.File()) {
			continue
		}
		d["file"] = rebase(o, d.File())
		g.Config[key] = o.Engine.Print(key, d)
	}
}

// rebase renames a volume "vm-…" to "base-…".
func rebase(o *engine.Op, id string) string {
	storage, name, _ := state.SplitVolume(id)
	s := o.State.Storages[storage]
	v := o.State.Volumes[s.Key(o.Node, name)]
	if v == nil {
		return id
	}
	i := strings.LastIndex(name, "/") + 1
	renamed := name[:i] + "base-" + strings.TrimPrefix(name[i:], "vm-")
	delete(o.State.Volumes, s.Key(o.Node, name))
	o.State.Volumes[s.Key(o.Node, renamed)] = v
	return storage + ":" + renamed
}

// HasFeature reports whether a drive can be cloned, copied or snapshotted.
func HasFeature(o *engine.Op, d Drive, feature string) bool {
	s := o.State.Storages[StorageOf(d.File())]
	v := o.State.Volume(o.Node, d.File())
	if s == nil || v == nil {
		return false
	}
	switch feature {
	case "clone":
		return isBase(d.File())
	case "snapshot":
		return (!isBase(d.File()) || o.State.Version != "8.4") && (v.Format == "qcow2" || (!s.FileBased() && s.Type != "lvm"))
	}
	return true
}

// OfSnapshot reports whether the snapshot of a volume can be copied too.
func OfSnapshot(o *engine.Op, d Drive, snapshot, feature string) bool {
	if snapshot == "" || feature != "copy" {
		return true
	}
	s, v := o.State.Storages[StorageOf(d.File())], o.State.Volume(o.Node, d.File())
	return v.Format == "qcow2" || (!s.FileBased() && s.Type != "lvm" && s.Type != "zfspool")
}

// SharedDisks reports whether every node has access to the guest's disks.
func SharedDisks(o *engine.Op, g *state.Guest) bool {
	for key, value := range g.Config {
		if !IsDrive(key) {
			continue
		}
		if s := o.State.Storages[StorageOf(ParseDrive(o.Engine, key, value).File())]; s != nil && !s.Shared {
			return false
		}
	}
	return true
}

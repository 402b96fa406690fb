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
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// A Reassignment gives a disk of one VM to another one.
type Reassignment struct {
	VMID, Target         int
	Key, TargetKey       string
	Digest, TargetDigest string
}

// Reassignable performs the checks of a reassignment and returns the disk.
func Reassignable(o *engine.Op, r *Reassignment) (Drive, error) {
	from, to := o.State.Guests[r.VMID], o.State.Guests[r.Target]
	switch {
	case from == nil:
		return nil, apierr.Errorf("could not find VM %d", r.VMID)
	case to == nil:
		return nil, apierr.Errorf("could not find target VM %d", r.Target)
	case from.Node != to.Node:
		return nil, apierr.Errorf("Both VMs need to be on the same node (%s != %s)", from.Node, to.Node)
	}
	for _, g := range []*state.Guest{from, to} {
		if err := g.Lock(); err != nil {
			return nil, err
		}
	}
	switch {
	case from.Template() || to.Template():
		return nil, apierr.Errorf("Can't move disks from or to template VMs")
	case r.Digest != "" && r.Digest != from.Digest():
		return nil, apierr.Errorf("VM %d: %s", r.VMID, apierr.Modified())
	case r.TargetDigest != "" && r.TargetDigest != to.Digest():
		return nil, apierr.Errorf("VM %d: %s", r.Target, apierr.Modified())
	case from.Config[r.Key] == "":
		return nil, apierr.Errorf("Disk '%s' for VM '%d' does not exist", r.Key, r.VMID)
	case to.Config[r.TargetKey] != "":
		return nil, apierr.Errorf("Target disk key '%s' is already in use for VM '%d'", r.TargetKey, r.Target)
	}
	return loose(o, r, from)
}

// loose checks that a disk can be removed from its VM.
func loose(o *engine.Op, r *Reassignment, from *state.Guest) (Drive, error) {
	d := Drive(o.Engine.Parse(r.Key, from.Config[r.Key]))
	storage, _, ok := state.SplitVolume(d.File())
	switch {
	case d.CDROM():
		return nil, apierr.Errorf("CD drive contents can't be moved to another VM")
	case !ok:
		return nil, apierr.Errorf("Volume '%s' not managed by PVE", d.File())
	case inSnapshot(from, d.File()), attachedAs(from, r.Key, d.File()):
		return nil, apierr.Errorf("Can't move disk used by a snapshot to another VM")
	case !renames(o.State.Storages[storage]):
		return nil, apierr.Errorf("Storage does not support moving of this disk to another VM")
	case from.Power != state.Stopped && !IsUnused(r.Key):
		return nil, apierr.Errorf("Cannot move disk to another VM while the source VM is running - detach first")
	case o.State.Volume(o.Node, d.File()) == nil:
		return nil, apierr.Errorf("volume '%s' does not exist", d.File())
	}
	return d, nil
}

// attachedAs reports whether a drive of the guest other than key has the volume. Proxmox VE takes such a volume for one in a snapshot.
func attachedAs(g *state.Guest, key, volume string) bool {
	for other, value := range g.Config {
		if other != key && IsDrive(other) && strings.HasPrefix(value+",", volume+",") {
			return true
		}
	}
	return false
}

// renames reports whether volumes of the storage can be renamed.
func renames(s *state.Storage) bool {
	return s != nil && !slices.Contains([]string{"iscsi", "iscsidirect"}, s.Type)
}

// Reassign gives a disk to another guest.
func Reassign(o *engine.Op, r *Reassignment) error {
	d, err := Reassignable(o, r)
	if err != nil {
		return err
	}
	o.Logf("reassign disk '%s' from VM '%d' as '%s' to VM '%d'", r.Key, r.VMID, r.TargetKey, r.Target)
	from, to := o.State.Guests[r.VMID], o.State.Guests[r.Target]
	id := renameVolume(o, d.File(), r.Target)
	u := &update{Op: o, g: from, modified: map[string]bool{}, order: bootOrder(from.Config["boot"])}
	if slices.Contains(u.order, r.Key) {
		o.Logf("removing disk '%s' from boot order config", r.Key)
		u.leaveBootOrder(r.Key)
		applyPending(o, from)
	}
	delete(from.Config, r.Key)
	o.Logf("removing disk '%s' from VM '%d' config", r.Key, r.VMID)
	if IsUnused(r.TargetKey) {
		to.Config[r.TargetKey] = id
		return nil
	}
	d["file"] = id
	return Apply(o, &Change{VMID: r.Target, Set: map[string]string{r.TargetKey: o.Engine.Print(r.TargetKey, d)}})
}

// renameVolume renames a volume for another VM.
func renameVolume(o *engine.Op, id string, vmid int) string {
	storage, name, _ := state.SplitVolume(id)
	s := o.State.Storages[storage]
	v := o.State.Volumes[s.Key(o.Node, name)]
	renamed := s.ImageName(vmid, freeDisk(o, s, vmid), v.Format)
	if base := strings.LastIndex(name, "/base-"); v.Base != "" && base >= 0 {
		renamed = v.Base + "/" + renamed
	}
	delete(o.State.Volumes, s.Key(o.Node, name))
	v.VMID = vmid
	o.State.Volumes[s.Key(o.Node, renamed)] = v
	return storage + ":" + renamed
}

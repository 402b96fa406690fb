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

// Package guest implements the operations of nodes on VMs, on behalf of a call, a task or HA: configuration, drives, power, snapshots, migration,
// replication. Each function has exclusive access to the state.
package guest

import (
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// A Change is a requested change of a configuration.
type Change struct {
	VMID     int
	Set      map[string]string
	Remove   []string
	Revert   []string
	Force    bool
	SkipLock bool
	Digest   string
	// Line is the log line.
	Line string
}

// Changeable checks a change against the current configuration.
func Changeable(o *engine.Op, ch *Change) error {
	g, err := o.State.Guest(o.Node, ch.VMID)
	if err != nil {
		return err
	}
	if err := staysReplicable(o, ch); err != nil {
		return err
	}
	if ch.Digest != "" && ch.Digest != g.Digest() {
		return apierr.Errorf("checksum mismatch (file change by other user?)")
	}
	if !ch.SkipLock {
		if err := g.Lock(); err != nil {
			return err
		}
	}
	if err := (&Access{Op: o, VMID: ch.VMID}).Processor(ch.Set["cpu"], g.Config["cpu"]); err != nil {
		return err
	}
	if err := clipboardFits(o.Engine, ch.Set); err != nil {
		return err
	}
	return balloonFits(o, g, ch)
}

func balloonFits(o *engine.Op, g *state.Guest, ch *Change) error {
	_, resized := ch.Set["memory"]
	_, ballooned := ch.Set["balloon"]
	if !resized && !ballooned {
		return nil
	}
	after := g.Effective()
	maps.Copy(after, ch.Set)
	if b := schema.Int(after["balloon"]); b > 0 && int64(b) > memory(o.Engine, after)>>20 {
		return apierr.Errorf("balloon value too large (must be smaller than assigned memory)")
	}
	return nil
}

// memory returns the size of a VM's memory in bytes.
func memory(s *engine.Engine, config map[string]string) int64 {
	mib := schema.Int(s.Read("memory", config["memory"])["current"])
	if mib == 0 {
		mib = 512
	}
	return int64(mib) << 20
}

// Apply makes a change. First everything becomes pending, then everything possible is applied.
func Apply(o *engine.Op, ch *Change) error {
	if err := Changeable(o, ch); err != nil {
		return err
	}
	g := o.State.Guests[ch.VMID]
	o.Logf("%s", ch.Line)
	o.State.LogLine(state.LogEntry{Time: o.Engine.Clock.Now(), Node: o.Node, User: string(o.Who), Priority: 6, Message: ch.Line})
	u := &update{Op: o, g: g, force: ch.Force, modified: map[string]bool{}, order: bootOrder(g.Config["boot"])}
	ch = u.reverted(ch)
	for _, key := range ch.Remove {
		if err := u.remove(key); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ch.Set)) {
		if err := u.set(key, ch.Set[key], ch); err != nil {
			return err
		}
	}
	dropNoops(g)
	dropUsed(o, g)
	if g.Power == state.Stopped {
		applyPending(o, g)
		if g.Template() {
			MakeTemplate(o, g, "")
		}
		return nil
	}
	return hotplug(o, g, u.modified)
}

// An update is one change to a guest.
type update struct {
	*engine.Op
	g        *state.Guest
	force    bool
	modified map[string]bool
	// order holds the devices of the boot order in force after the change, whatever is pending.
	order []string
}

// reverted converts options to revert into values to set and options to remove.
func (u *update) reverted(ch *Change) *Change {
	out := *ch
	out.Set = maps.Clone(ch.Set)
	for _, key := range ch.Revert {
		if value, ok := u.g.Config[key]; ok {
			out.Set[key] = value
		} else if _, ok := u.g.Pending[key]; ok {
			out.Remove = append(slices.Clone(out.Remove), key)
		}
	}
	return &out
}

func (u *update) remove(key string) error {
	u.modified[key] = true
	value, current := u.g.Config[key]
	pending, waiting := u.g.Pending[key]
	if waiting {
		delete(u.g.Pending, key)
	}
	if !current && !waiting {
		u.modified[key] = false
		return nil
	}
	if err := u.mayRemove(key, firstOf(value, pending)); err != nil {
		return err
	}
	u.leaveBootOrder(key)
	switch {
	case IsUnused(key):
		return u.dropUnused(key)
	case key == "tags":
		if err := mayTag(u.Op, u.g.VMID, "", firstOf(value, pending), ""); err != nil {
			return err
		}
		delete(u.g.Config, key)
	default:
		if waiting && IsDrive(key) {
			keepUnused(u.Op, u.g, ParseDrive(u.Engine, key, pending))
		}
		u.g.Delete[key] = u.force
	}
	return nil
}

func (u *update) mayRemove(key, value string) error {
	a := &Access{Op: u.Op, VMID: u.g.VMID}
	switch {
	case IsUnused(key):
		if u.g.Config["protection"] == "1" {
			return apierr.Errorf("can't remove unused disk '%s' - protection mode enabled", value)
		}
		return a.May("VM.Config.Disk")
	case IsDrive(key):
		if u.g.Config["protection"] == "1" {
			return apierr.Errorf("can't remove drive '%s' - protection mode enabled", key)
		}
		return a.mayDrive(ParseDrive(u.Engine, key, value))
	}
	return a.leaves(key, u.g.Config[key], value)
}

// leaves checks the permissions for the current and the new value of an option that is replaced or removed. Bridges and host devices in force count like
// new ones.
func (a *Access) leaves(key, now, value string) error {
	if IsNIC(key) && now != "" {
		return a.Bridges(map[string]string{key: now})
	}
	return a.Devices(map[string]string{key: value})
}

// mayDrive checks the privilege for the kind of drive.
func (a *Access) mayDrive(d Drive) error {
	switch {
	case d.CloudInit():
		if err := a.May("VM.Config.Cloudinit"); err != nil {
			return err
		}
		return a.May("VM.Config.CDROM")
	case d.CDROM():
		return a.May("VM.Config.CDROM")
	}
	return a.May("VM.Config.Disk")
}

// bootOrder returns the devices of a boot order, or nil for the old format.
func bootOrder(boot string) []string {
	list, ok := strings.CutPrefix(boot, "order=")
	if !ok {
		return nil
	}
	return schema.SplitList(list)
}

func (u *update) leaveBootOrder(key string) {
	if !slices.Contains(u.order, key) {
		return
	}
	u.setBootOrder(slices.DeleteFunc(u.order, func(d string) bool { return d == key }))
}

func (u *update) setBootOrder(order []string) {
	u.order = order
	u.g.Pending["boot"] = printBootOrder(order)
	u.modified["boot"] = true
}

// dropUnused destroys the volume of an unused disk.
func (u *update) dropUnused(key string) error {
	id := u.Engine.Parse(key, u.g.Config[key])["file"]
	if err := u.mayFree(id); err != nil {
		return err
	}
	if inSnapshot(u.g, id) {
		return apierr.Errorf("unable to delete '%s' - volume is still in use (snapshot?)", id)
	}
	volume.Free(u.Op, id)
	delete(u.g.Config, key)
	return nil
}

// mayFree checks the privilege to destroy a volume of the guest.
func (u *update) mayFree(id string) error {
	storage, name, _ := state.SplitVolume(id)
	s := u.State.Storages[storage]
	if s == nil {
		return nil
	}
	if _, owner, err := s.KindOf(name); err != nil || owner != u.g.VMID {
		return nil //nolint:nilerr // What is not the guest's is not destroyed.
	}
	return u.State.Check(u.Who, "/storage/"+storage, "Datastore.AllocateSpace")
}

func inSnapshot(g *state.Guest, volume string) bool {
	for _, s := range g.Snapshots {
		for key, value := range s.Config {
			if IsDrive(key) && strings.HasPrefix(value+",", volume+",") {
				return true
			}
		}
	}
	return false
}

func (u *update) set(key, value string, ch *Change) error {
	u.modified[key] = true
	if old, ok := u.g.Pending[key]; ok && old == value {
		return nil
	}
	if old, ok := u.g.Config[key]; ok && !IsDrive(key) {
		if err := (&Access{Op: u.Op, VMID: u.g.VMID}).leaves(key, old, old); err != nil {
			return err
		}
	}
	delete(u.g.Delete, key)
	switch {
	case IsDrive(key):
		return u.setDrive(key, value)
	case key == "cipassword":
		u.g.Config[key] = value
	case key == "boot":
		return u.setBoot(value, ch)
	case key == "tags":
		u.g.Pending[key] = value
		return mayTag(u.Op, u.g.VMID, "", u.g.Config[key], value)
	case key == "description" && value == "":
		delete(u.g.Pending, key)
		u.g.Delete[key] = false
	case key == "ostype":
		u.g.Pending[key] = value
		if _, given := ch.Set["machine"]; !given && u.g.Pending["machine"] == "" && !slices.Contains(ch.Remove, "machine") {
			pinMachine(u.Op, map[string]string{"ostype": value, "machine": u.g.Config["machine"]}, u.g.Pending)
		}
	default:
		u.g.Pending[key] = value
	}
	return nil
}

func (u *update) setDrive(key, value string) error {
	a := &Access{Op: u.Op, VMID: u.g.VMID}
	if old, ok := u.g.Config[key]; ok {
		if err := a.mayDrive(ParseDrive(u.Engine, key, old)); err != nil {
			return err
		}
	}
	if err := a.mayDrive(ParseDrive(u.Engine, key, value)); err != nil {
		return err
	}
	made, err := makeDrives(u.Op, u.g.VMID, map[string]string{key: value}, u.g.Effective(), "")
	if err != nil {
		return err
	}
	if old, ok := u.g.Pending[key]; ok {
		keepUnused(u.Op, u.g, ParseDrive(u.Engine, key, old))
	}
	u.g.Pending[key] = made[key]
	if d := ParseDrive(u.Engine, key, made[key]); len(u.order) > 0 && d.CDROM() && !d.CloudInit() && !slices.Contains(u.order, key) {
		u.setBootOrder(append(u.order, key))
	}
	return nil
}

func (u *update) setBoot(value string, ch *Change) error {
	list, ok := u.Engine.Parse("boot", value)["order"]
	if !ok {
		u.g.Pending["boot"] = value
		return nil
	}
	after := u.g.Effective()
	maps.Copy(after, ch.Set)
	for _, device := range schema.SplitList(list) {
		if after[device] == "" || slices.Contains(ch.Remove, device) {
			return apierr.Errorf("invalid bootorder: device '%s' does not exist'", device)
		}
	}
	u.g.Pending["boot"] = printBootOrder(schema.SplitList(list))
	if u.g.Config["bootdisk"] != "" {
		u.g.Delete["bootdisk"] = false
	}
	return nil
}

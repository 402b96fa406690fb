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

package simulator

import (
	"fmt"
	"slices"
	"strings"
)

// reassignment is a disk's way from one VM to another.
type reassignment struct {
	vmid, target         int
	key, targetKey       string
	digest, targetDigest string
}

// reassignDisk gives a disk to another VM of the same node.
func (c *call) reassignDisk() (any, error) {
	r := &reassignment{
		vmid: c.vmid(), target: c.num("target-vmid"), key: c.str("disk"), targetKey: c.str("target-disk"), digest: c.str("digest"),
		targetDigest: c.str("target-digest"),
	}
	if r.targetKey == "" {
		r.targetKey = r.key
	}
	if c.who != root {
		if err := (&guestAccess{op: c.op(), vmid: r.target}).may("VM.Config.Disk"); err != nil {
			return nil, err
		}
	}
	if r.vmid == r.target {
		return nil, paramError("target-vmid", "must be different than source VMID to reassign disk")
	}
	d, err := c.op().reassignable(r)
	if err != nil {
		return nil, err
	}
	if err := c.state.check(c.who, "/storage/"+storageOf(d.file()), "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("%d-%s>%d-%s", r.vmid, r.key, r.target, r.targetKey)
	return c.spawn("qmmove", subject, func(w *worker) error {
		return w.locked(r.vmid, exclusive, configLockWait, func() error {
			return w.locked(r.target, exclusive, configLockWait, func() error {
				return w.do(func(st *State) error { return w.op(st).reassign(r) })
			})
		})
	})
}

// reassignable makes the checks of a reassignment and returns the disk.
func (o *op) reassignable(r *reassignment) (drive, error) {
	from, to := o.st.Guests[r.vmid], o.st.Guests[r.target]
	switch {
	case from == nil:
		return nil, die("could not find VM %d", r.vmid)
	case to == nil:
		return nil, die("could not find target VM %d", r.target)
	case from.Node != to.Node:
		return nil, die("Both VMs need to be on the same node (%s != %s)", from.Node, to.Node)
	}
	for _, g := range []*Guest{from, to} {
		if err := g.lock(); err != nil {
			return nil, err
		}
	}
	switch {
	case from.template() || to.template():
		return nil, die("Can't move disks from or to template VMs")
	case r.digest != "" && r.digest != from.digest():
		return nil, die("VM %d: %s", r.vmid, errModified())
	case r.targetDigest != "" && r.targetDigest != to.digest():
		return nil, die("VM %d: %s", r.target, errModified())
	case from.Config[r.key] == "":
		return nil, die("Disk '%s' for VM '%d' does not exist", r.key, r.vmid)
	case to.Config[r.targetKey] != "":
		return nil, die("Target disk key '%s' is already in use for VM '%d'", r.targetKey, r.target)
	}
	return o.loose(r, from)
}

// loose checks that a disk can leave its VM.
func (o *op) loose(r *reassignment, from *Guest) (drive, error) {
	d := drive(o.s.parse(r.key, from.Config[r.key]))
	storage, _, ok := splitVolume(d.file())
	switch {
	case d.cdrom():
		return nil, die("CD drive contents can't be moved to another VM")
	case !ok:
		return nil, die("Volume '%s' not managed by PVE", d.file())
	case from.inSnapshot(d.file()):
		return nil, die("Can't move disk used by a snapshot to another VM")
	case !o.st.Storages[storage].renames():
		return nil, die("Storage does not support moving of this disk to another VM")
	case from.Power != Stopped && !isUnused(r.key):
		return nil, die("Cannot move disk to another VM while the source VM is running - detach first")
	case o.st.volume(o.node, d.file()) == nil:
		return nil, die("volume '%s' does not exist", d.file())
	}
	return d, nil
}

// renames reports whether volumes of the storage can be given another name.
func (s *Storage) renames() bool {
	return s != nil && !slices.Contains([]string{"iscsi", "iscsidirect"}, s.Type)
}

func (o *op) reassign(r *reassignment) error {
	d, err := o.reassignable(r)
	if err != nil {
		return err
	}
	o.logf("reassign disk '%s' from VM '%d' as '%s' to VM '%d'", r.key, r.vmid, r.targetKey, r.target)
	from, to := o.st.Guests[r.vmid], o.st.Guests[r.target]
	id := o.renameVolume(d.file(), r.target)
	u := &update{op: o, g: from, modified: map[string]bool{}, order: bootOrder(from.Config["boot"])}
	if slices.Contains(u.order, r.key) {
		o.logf("removing disk '%s' from boot order config", r.key)
		u.leaveBootOrder(r.key)
		o.applyPending(from)
	}
	delete(from.Config, r.key)
	o.logf("removing disk '%s' from VM '%d' config", r.key, r.vmid)
	if isUnused(r.targetKey) {
		to.Config[r.targetKey] = id
		return nil
	}
	d["file"] = id
	return o.change(&change{vmid: r.target, set: map[string]string{r.targetKey: o.s.print(r.targetKey, d)}})
}

// renameVolume gives a volume to another VM.
func (o *op) renameVolume(id string, vmid int) string {
	storage, name, _ := splitVolume(id)
	s := o.st.Storages[storage]
	v := o.st.Volumes[s.key(o.node, name)]
	renamed := s.imageName(vmid, o.freeDisk(s, vmid), v.Format)
	if base := strings.LastIndex(name, "/base-"); v.Base != "" && base >= 0 {
		renamed = v.Base + "/" + renamed
	}
	delete(o.st.Volumes, s.key(o.node, name))
	v.VMID = vmid
	o.st.Volumes[s.key(o.node, renamed)] = v
	return storage + ":" + renamed
}

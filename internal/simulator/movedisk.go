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
	"maps"
	"path"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

func (c *call) moveDisk() (any, error) {
	switch {
	case c.has("target-vmid") && c.has("storage"):
		const both = "either set 'storage' or 'target-vmid', but not both"
		return nil, paramErrors(map[string]string{"target-vmid": both, "storage": both})
	case c.has("target-vmid"):
		return c.reassignDisk()
	case !c.has("storage"):
		const neither = "both 'storage' and 'target-vmid' missing, either needs to be set"
		return nil, paramErrors(map[string]string{"target-vmid": neither, "storage": neither})
	}
	m := &move{
		node: c.node, vmid: c.vmid(), key: c.str("disk"), storage: c.str("storage"), format: c.str("format"), remove: c.flag("delete"),
		digest: c.str("digest"),
	}
	if err := c.state.check(c.who, "/storage/"+m.storage, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	if err := c.op().movable(m); err != nil {
		return nil, err
	}
	return c.spawnFor(m.vmid, "qmmove", func(w *worker) error {
		return w.onGuest("qmmove", m.node, m.vmid, func(o *op, _ *Guest) error {
			if err := o.movable(m); err != nil {
				return err
			}
			return o.move(m)
		})
	})
}

// move is a disk's way to another storage or format.
type move struct {
	node            string
	vmid            int
	key             string
	storage, format string
	remove          bool
	digest          string
}

func (o *op) movable(m *move) error {
	g, err := o.st.guest(m.node, m.vmid)
	if err != nil {
		return err
	}
	if err := g.lock(); err != nil {
		return err
	}
	if m.digest != "" && m.digest != g.digest() {
		return errModified()
	}
	if g.Config[m.key] == "" {
		return die("disk '%s' does not exist", m.key)
	}
	d := o.s.parseDrive(m.key, g.Config[m.key])
	v := o.st.volume(m.node, d.file())
	switch {
	case d.cdrom():
		return die("you can't move a cdrom")
	case storageOf(d.file()) == m.storage && (m.format == "" || m.format == imageFormat(d.file())):
		return die("you can't move to the same storage with same format")
	}
	if _, err := o.st.imageStorage(m.storage, m.node); err != nil {
		return err
	}
	switch {
	case m.remove && g.inSnapshot(d.file()):
		return die("you can't move a disk with snapshots and delete the source")
	case v == nil:
		return die("volume '%s' does not exist", d.file())
	}
	return nil
}

// imageFormat is the format that the name of an image tells; images without an extension are raw.
func imageFormat(id string) string {
	if ext := path.Ext(id); ext != "" {
		return ext[1:]
	}
	return "raw"
}

func (o *op) move(m *move) error {
	g := o.st.Guests[m.vmid]
	old := o.s.parseDrive(m.key, g.Config[m.key])
	line := fmt.Sprintf("move disk VM %d: move --disk %s --storage %s", m.vmid, m.key, m.storage)
	o.st.logLine(logEntry{time: o.s.clock.Now(), node: o.node, user: string(o.who), pri: 6, msg: line})
	o.logf("copying volume '%s' from current storage '%s' to target storage '%s'", old.file(), storageOf(old.file()), m.storage)
	copied, err := o.copyDrive(&cloning{newID: m.vmid, storage: m.storage, format: m.format}, m.key, maps.Clone(old), true)
	if err != nil {
		return die("storage migration failed: %s", err)
	}
	g.Config[m.key] = o.s.print(m.key, copied)
	if g.template() {
		o.makeTemplate(g, m.key)
	}
	if m.remove {
		o.logf("removing source volume '%s' after successful copy", old.file())
		o.free(old.file())
		return nil
	}
	o.logf("adding source volume '%s' as '%s' to config", old.file(), o.keepUnused(g, old))
	return nil
}

// unlink removes drives from the configuration, and their volumes on request.
func (c *call) unlink() (any, error) {
	vmid := c.vmid()
	ch := &change{
		vmid: vmid, remove: schema.SplitList(c.str("idlist")), force: c.flag("force"), line: c.changeLine(), set: map[string]string{},
	}
	if err := c.op().changeable(ch); err != nil {
		return nil, err
	}
	return &locked{vmid: vmid, wait: configLockWait, then: func(c *call) (any, error) { return nil, c.op().change(ch) }}, nil
}

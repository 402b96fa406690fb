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
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

func (c *call) resizeDisk() (any, error) {
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	node, vmid, key, size := c.node, c.vmid(), c.str("disk"), c.str("size")
	digest, skip := c.str("digest"), c.flag("skiplock")
	return c.spawnFor(vmid, "resize", func(w *worker) error {
		return w.locked(vmid, exclusive, configLockWait, func() error {
			if err := w.pauseFor("resize"); err != nil {
				return err
			}
			return w.do(func(st *State) error {
				g, err := st.guest(node, vmid)
				if err != nil {
					return err
				}
				if digest != "" && digest != g.digest() {
					return die("checksum mismatch (file change by other user?)")
				}
				if err := g.lock(); err != nil && !skip {
					return err
				}
				return w.op(st).resize(g, key, size)
			})
		})
	})
}

// resize grows a disk. A size with a plus sign is added; one without a unit is in bytes.
func (o *op) resize(g *Guest, key, size string) error {
	if g.Config[key] == "" {
		return die("disk '%s' does not exist", key)
	}
	d := o.s.parseDrive(key, g.Config[key])
	if !strings.Contains(d.file(), ":") {
		return die("unable to parse volume ID '%s'", d.file())
	}
	if d.cdrom() {
		return die("you can't resize a cdrom")
	}
	if err := o.st.check(o.who, "/storage/"+storageOf(d.file()), "Datastore.AllocateSpace"); err != nil {
		return err
	}
	v := o.st.volume(g.Node, d.file())
	if v == nil {
		return die("volume '%s' does not exist", d.file())
	}
	bytes, _ := schema.ParseSize(strings.TrimPrefix(size, "+"))
	if strings.HasPrefix(size, "+") {
		bytes += v.Size
	}
	if bytes < v.Size {
		return die("shrinking disks is not supported")
	}
	if isBase(d.file()) && o.st.Version == "8.4" {
		return o.resizeBase(d, v, bytes)
	}
	if bytes == v.Size {
		return nil
	}
	line := fmt.Sprintf("update VM %d: resize --disk %s --size %s", g.VMID, key, size)
	o.st.logLine(logEntry{time: o.s.clock.Now(), node: o.node, user: string(o.who), pri: 6, msg: line})
	if g.Power == Stopped {
		o.logf("Image resized.")
	}
	if err := o.extend(d, v, bytes); err != nil {
		return err
	}
	v.Size = bytes
	d["size"] = sizeOption(bytes)
	g.Config[key] = o.s.print(key, d)
	return nil
}

// resizeBase is what happens to the disk of a template: up to PVE 8 its file is read-only.
func (o *op) resizeBase(d drive, v *Volume, bytes int64) error {
	storage, name, _ := splitVolume(d.file())
	file := o.st.Storages[storage].filePath("images", name)
	return die("command '/usr/bin/qemu-img resize -f %s %s %d' failed: exit code 1", v.Format, file, bytes)
}

// extend sets aside more of a storage that sets aside the whole size of a volume.
func (o *op) extend(d drive, v *Volume, bytes int64) error {
	id, name, _ := splitVolume(d.file())
	s := o.st.Storages[id]
	switch more := bytes - v.Size; {
	case !s.thick():
		return nil
	case more > o.room(s) && s.Type == "lvm":
		return die("error resizing volume '%s': Insufficient free space: %d extents needed, but only %d available", d.file(), more>>22, o.room(s)>>22)
	case more > o.room(s):
		return die("zfs error: cannot set property for '%s/%s': size is greater than available space", s.ID, name)
	}
	v.Used += bytes - v.Size
	return nil
}

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

// Package migration determines what prevents the migration of a VM to another node, and which storages its disks use there.
package migration

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A Migration describes the migration of a VM to another node.
type Migration struct {
	// Target node, or empty if the VM stays.
	Target string

	// Storages that disks are put on there, by their current storage.
	Storages map[string]string
}

// AddDisk moves a disk along to another storage.
func (j *Migration) AddDisk(m qemu.Move) {
	if j.Storages == nil {
		j.Storages = map[string]string{}
	}
	j.Storages[m.Disk.Storage()] = m.Storage
}

// Rejections returns what prevents the migration of the VM with the configuration that it has then.
func (j *Migration) Rejections(c proxmox.MigrationCheck, v *vmstate.VM, config qemu.Config) []string {
	var why []string
	if len(c.LocalResources) > 0 {
		why = append(why, fmt.Sprintf("it uses %s of node %s", strings.Join(c.LocalResources, ", "), v.Node))
	}
	for _, d := range c.LocalDisks {
		switch {
		case !d.CDROM, strings.Contains(d.Volume, "cloudinit"):
		case len(d.Snapshots) > 0:
			why = append(why, fmt.Sprintf("medium %s is on local storage, and in the VM's snapshot %s: remove the snapshot", d.Volume, strings.Join(d.Snapshots, ", ")))
		case v.MediumBeingRemoved(d.Volume):
			why = append(why, fmt.Sprintf("medium %s is on local storage, and in its drive until the VM restarts", d.Volume))
		case config.Uses(d.Volume) == "":
		case d.Volume == "cdrom":
			why = append(why, "it has the physical CD-ROM drive of node "+v.Node)
		default:
			why = append(why, fmt.Sprintf("medium %s is on local storage: take it out, or put it on shared storage", d.Volume))
		}
	}
	if missing := j.excluding(c.Missing[j.Target]); len(missing) > 0 {
		why = append(why, fmt.Sprintf("node %s has no %s", j.Target, strings.Join(missing, ", ")))
	}
	if by := c.Blocking[j.Target]; len(by) > 0 {
		why = append(why, "high availability keeps it apart from "+strings.Join(by, ", "))
	}
	for i := range why {
		why[i] = fmt.Sprintf("the VM cannot migrate to node %s: %s", j.Target, why[i])
	}
	return why
}

// excluding leaves out the storages whose disks move to another one.
func (j *Migration) excluding(missing []string) []string {
	return slices.DeleteFunc(slices.Clone(missing), func(s string) bool { return j.Storages[s] != "" })
}

// TargetStorage returns the mapping of storages in the form that PVE takes.
func (j *Migration) TargetStorage() string {
	var pairs []string
	for _, from := range slices.Sorted(maps.Keys(j.Storages)) {
		pairs = append(pairs, from+":"+j.Storages[from])
	}
	return strings.Join(pairs, ",")
}

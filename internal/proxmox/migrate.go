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

package proxmox

import (
	"context"
	"maps"
	"net/http"
	"slices"
)

// A MigrationCheck lists the obstacles to migrating a VM.
type MigrationCheck struct {
	// Running reports whether the VM is running, so that it would have to be migrated online.
	Running bool

	// Allowed nodes.
	Allowed []string

	// Missing contains, for each node that is not allowed, the storages and mapped resources that the VM needs and the node lacks.
	Missing map[string][]string

	// Blocking contains the HA resources that keep the VM off a node, by node.
	Blocking map[string][]string

	// LocalDisks are the volumes on storage that is not shared, including those of unused disks and removable media.
	LocalDisks []LocalDisk

	// LocalResources that cannot be migrated, such as hostpci0.
	LocalResources []string
}

// A LocalDisk is a volume that only the VM's node can access.
type LocalDisk struct {
	// Volume of the disk.
	Volume string

	// CDROM reports whether the volume is in a drive of removable media.
	CDROM bool

	// Snapshots of the VM that contain the volume, by name. They are not reported for the saved memory of a snapshot.
	Snapshots []string
}

// CheckMigration returns the obstacles to migrating a VM to other nodes. It needs VM.Migrate, and changes nothing.
func (c GuestAPI) CheckMigration(ctx context.Context, ref Ref) (MigrationCheck, error) {
	var d struct {
		Running  flag            `json:"running"`
		Allowed  list[text]      `json:"allowed_nodes"`
		Refused  refusals        `json:"not_allowed_nodes"`
		Disks    list[localDisk] `json:"local_disks"`
		Resource list[text]      `json:"local_resources"`
	}
	if err := c.vm(ctx, ref, machine("check the migration of", http.MethodGet, ref, "/migrate"), &d); err != nil {
		return MigrationCheck{}, err
	}
	check := MigrationCheck{
		Running: bool(d.Running), Allowed: texts(d.Allowed), LocalResources: texts(d.Resource),
		Missing: map[string][]string{}, Blocking: map[string][]string{},
	}
	for node, r := range d.Refused {
		check.Missing[node] = append(texts(r.Storages), texts(r.Resources)...)
		for _, b := range r.Blocking {
			check.Blocking[node] = append(check.Blocking[node], string(b.SID))
		}
	}
	for _, l := range d.Disks {
		disk := LocalDisk{Volume: string(l.Volume), CDROM: bool(l.CDROM)}
		if !l.Memory {
			disk.Snapshots = slices.Sorted(maps.Keys(l.Snapshots))
		}
		check.LocalDisks = append(check.LocalDisks, disk)
	}
	return check, nil
}

type localDisk struct {
	Volume text `json:"volid"`
	CDROM  flag `json:"cdrom"`
	Memory flag `json:"is_vmstate"`

	// Snapshots that contain it (PVE::QemuServer::foreach_volid).
	Snapshots map[string]flag `json:"referenced_in_snapshot"`
}

// refusals holds the obstacles by node.
type refusals map[string]struct {
	Storages  list[text] `json:"unavailable_storages"`
	Resources list[text] `json:"unavailable-resources"`
	Blocking  list[struct {
		SID text `json:"sid"`
	}] `json:"blocking-ha-resources"`
}

func texts(l list[text]) []string {
	var out []string
	for _, t := range l {
		out = append(out, string(t))
	}
	return out
}

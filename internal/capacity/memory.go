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

package capacity

import (
	"cmp"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// StateStorage returns where PVE saves the memory of a VM (PVE::QemuConfig, find_vmstate_storage): on the storage that the VM names, or else on that of
// one of its disks. PVE prefers a shared one to a local one, and the last one with files to the first one. Without disks it is "local", which is on the
// root file system of the node.
func StateStorage(config qemu.Config, there []proxmox.Storage) string {
	if named := config["vmstatestorage"]; named != "" {
		return named
	}
	names := storagesOf(config)
	if len(names) == 0 {
		return "local"
	}
	chosen := map[bool]string{}
	for _, name := range names {
		i := slices.IndexFunc(there, func(s proxmox.Storage) bool { return s.Name == name })
		if i < 0 {
			continue
		}
		if s := there[i]; chosen[s.Shared] == "" || slices.Contains([]string{"dir", "nfs", "cifs", "cephfs", "btrfs"}, s.Type) {
			chosen[s.Shared] = name
		}
	}
	return cmp.Or(chosen[true], chosen[false], names[0]) // A storage that may not be read.
}

// storagesOf returns the storages of the disks of a VM, by name.
func storagesOf(config qemu.Config) []string {
	var names []string
	for _, device := range append(config.Drives(), "efidisk0", "tpmstate0") {
		if d, err := proxmox.ParseDisk(config[device]); err == nil && !d.CDROM() && d.Storage() != "" {
			names = append(names, d.Storage())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

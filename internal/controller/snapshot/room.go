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

package snapshot

import (
	"context"
	"fmt"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/capacity"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// driverState is the space for the state of the devices that PVE adds to twice the memory (PVE::QemuConfig, __snapshot_save_vmstate).
const driverState = 500 * int64(proxmox.MiB)

// stateSize returns the size of the volume in which the memory of a VM is saved.
func stateSize(config qemu.Config) int64 { return 2*config.Memory() + driverState }

// roomForMemory returns the problem that a storage has no room for the memory of the VM. Thick LVM allocates all of it when the volume is created.
// Other storages allocate what is written, so that only the task finds out.
func (e *external) roomForMemory(ctx context.Context, config qemu.Config) (*kind.Problem, error) {
	all, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	node := e.view.guest.Node
	all = slices.DeleteFunc(slices.Clone(all), func(s proxmox.Storage) bool { return s.Node != node })
	name, size := capacity.StateStorage(config, all), stateSize(config)
	if err := e.tenant.CheckMemoryStorage(name); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(s proxmox.Storage) bool { return s.Name == name && s.Type == "lvm" && s.MaxDisk > 0 })
	if i < 0 || all[i].MaxDisk-all[i].Disk >= size {
		return nil, nil
	}
	return &kind.Problem{Reason: target.ReasonStorageFull, Message: fmt.Sprintf(
		"the memory of VM %d takes %s on storage %q, which has %s left: make room there, or name another storage in the option vmstatestorage of the VM",
		e.view.target.VMID, proxmox.Size(size), name, proxmox.Size(max(all[i].MaxDisk-all[i].Disk, 0)))}, nil
}

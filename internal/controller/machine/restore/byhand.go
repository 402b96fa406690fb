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

package restore

import (
	"fmt"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Overwritten returns what a Machine waits for if a user restores a backup over its VM by hand, or has tried to, and an empty string for any other
// VM. Until such a restore ends, the configuration has neither the UUID nor the disks, and no lock (PVE::QemuServer, restore_vma_archive). Meanwhile
// the VM has no other owner, and must not be left behind.
func Overwritten(m object.Machine, id qemu.Identity, v *vmstate.VM, busy bool) string {
	o := m.Observation()
	switch had := o.VMID != nil && int(*o.VMID) == id.VMID && strings.EqualFold(o.UUID, id.UUID); {
	case !had || id.UUID == "" || !Unfinished(v.Config):
		return ""
	case busy:
		return fmt.Sprintf("somebody restores a backup over VM %d, which has neither its options nor its disks until that ends: the provider waits for it", id.VMID)
	}
	return fmt.Sprintf("VM %d has lost its options and disks, as while a backup is restored over it, but no task is seen that works on it. "+
		"If that lasts, the restore has failed: restore a backup over VM %d once more, or remove the VM", id.VMID, id.VMID)
}

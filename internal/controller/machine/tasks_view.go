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

package machine

import (
	"slices"
	"strconv"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A taskView is what was known of tasks at some time.
type taskView struct {
	listed []proxmox.Task
	err    error
	ours   bool // Whether the Machine's own last task was running.
}

// busy reports whether a task works on the VM, of ours or anybody's.
func (v taskView) busy(vmid int) (bool, error) {
	return v.err == nil && (v.ours || slices.ContainsFunc(v.listed, func(t proxmox.Task) bool {
		return t.Works() && t.ID == strconv.Itoa(vmid)
	})), v.err
}

// createsVM reports whether tasks of a type make VMs.
func createsVM(task string) bool { return slices.Contains([]string{"qmcreate", "qmclone"}, task) }

// hasRecentTask reports whether a task, other than the one given, is listed that works on a VM
// or did not long ago.
func (v taskView) hasRecentTask(vmid int, but proxmox.UPID) bool {
	return v.err != nil || slices.ContainsFunc(v.listed, func(t proxmox.Task) bool { return t.ID == strconv.Itoa(vmid) && t.UPID != but })
}

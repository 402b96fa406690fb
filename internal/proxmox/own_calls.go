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
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/owncalls"
)

// own returns the traces that a request leaves in the cluster's lists.
func (r request) own() owncalls.Call { return owncalls.Call{VMID: r.target(), Logged: r.logged()} }

// target returns the VMID of the VM that a request changes, or nothing.
func (r request) target() string {
	if !r.writes() || !strings.HasPrefix(r.path, "/nodes/{node}/qemu") {
		return ""
	}
	if len(r.args) > 1 {
		return r.args[1]
	}
	return r.form["vmid"]
}

// logged reports whether PVE logs a line for a request in addition to that of its task.
func (r request) logged() bool {
	_, what, _ := strings.Cut(r.path, "{vmid}")
	return slices.Contains([]string{"/config", "/resize", "/move_disk"}, what)
}

// StartedByUs reports whether this Client surely has started a task, and whether a call that is still running may have started it.
func (c TaskAPI) StartedByUs(u UPID) (sure, maybe bool) { return c.ownCalls.StartedByUs(u) }

// LoggedByUs reports whether a log line that names a VM is from a call of this Client. It must be called once for each line.
func (c TaskAPI) LoggedByUs(vmid, user string) bool { return c.ownCalls.LoggedByUs(vmid, user) }

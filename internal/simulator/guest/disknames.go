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

package guest

import (
	"fmt"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// freeDisk returns the first name "vm-100-disk-N" that is free on the storage.
func freeDisk(o *engine.Op, s *state.Storage, vmid int) string {
	return freeDiskBut(o, s, vmid, linkedDisks(o, s, vmid))
}

// freeDiskBut returns the first such name that is not among others either.
func freeDiskBut(o *engine.Op, s *state.Storage, vmid int, others map[string]bool) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("vm-%d-disk-%d", vmid, i)
		if !others[name] && !volume.Taken(o, s, vmid, name) && !volume.Taken(o, s, vmid, "base"+strings.TrimPrefix(name, "vm")) {
			return name
		}
	}
}

// linkedDisks returns the names of the guest's linked clones, whose full names also contain the base.
func linkedDisks(o *engine.Op, s *state.Storage, vmid int) map[string]bool {
	out := map[string]bool{}
	g := o.State.Guests[vmid]
	if g == nil {
		return out
	}
	for _, id := range Volumes(o, g) {
		if storage, name, _ := state.SplitVolume(id); storage == s.ID {
			out[state.BaseName(name)] = true
		}
	}
	return out
}

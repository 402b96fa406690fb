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
)

// freeDisk returns the first name "vm-100-disk-N" that is not taken on the storage.
func (o *op) freeDisk(s *Storage, vmid int) string {
	linked := o.linkedDisks(s, vmid)
	for i := 0; ; i++ {
		name := fmt.Sprintf("vm-%d-disk-%d", vmid, i)
		if !linked[name] && !o.taken(s, vmid, name) && !o.taken(s, vmid, "base"+strings.TrimPrefix(name, "vm")) {
			return name
		}
	}
}

// linkedDisks are the names of the guest's linked clones, whose full names tell the base as well.
func (o *op) linkedDisks(s *Storage, vmid int) map[string]bool {
	out := map[string]bool{}
	g := o.st.Guests[vmid]
	if g == nil {
		return out
	}
	for _, id := range o.volumes(g) {
		if storage, name, _ := splitVolume(id); storage == s.ID {
			out[baseName(name)] = true
		}
	}
	return out
}

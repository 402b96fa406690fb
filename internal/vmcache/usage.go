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

package vmcache

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Used stores the resource usage of the VM from the cluster's list.
func (p Watcher) Used(g *proxmox.Guest) {
	p.Cache.all.Lock()
	defer p.Cache.all.Unlock()
	r := p.Cache.all.Get(p.UID)
	switch {
	case r == nil:
	case g == nil, g.Status == "stopped", g.Status == "unknown":
		r.usage = nil
	default:
		r.usage = &vmstate.Usage{
			Node: g.Node, CPU: g.CPU, CPUs: g.MaxCPU, Memory: g.Memory, DiskRead: g.DiskRead, DiskWritten: g.DiskWritten, At: p.Cache.now(),
		}
	}
}

// Usage returns the last known resource usage of the VM of a Machine, or nil if it is not known.
func (s *Cache) Usage(m objectstate.Object) *vmstate.Usage {
	var u *vmstate.Usage
	s.at(m, func(r *entry) { u = r.usage })
	return u
}

// Usages returns the last known resource usage of all VMs, by the UIDs of their Machines.
func (s *Cache) Usages() map[types.UID]vmstate.Usage {
	s.all.Lock()
	defer s.all.Unlock()
	all := map[types.UID]vmstate.Usage{}
	for uid, r := range s.all.All() {
		if r.usage != nil {
			all[uid] = *r.usage
		}
	}
	return all
}

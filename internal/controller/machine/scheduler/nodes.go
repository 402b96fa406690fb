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

package scheduler

import (
	"cmp"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// NodesOf returns the nodes of a cluster along with the settings of their ProxmoxNodes. If there are several for one node, the strictest counts, and
// the labels of all.
func NodesOf(nodes []proxmox.Node, storages []proxmox.Storage, declared []Node) []placement.Node {
	out := make([]placement.Node, 0, len(nodes))
	for _, n := range nodes {
		p := placement.Node{
			Name: n.Name, Status: n.Status, CPUs: n.MaxCPU, Memory: n.MaxMemory, UsedMemory: n.Memory,
			Labels: map[string]string{}, Storages: map[string]placement.Storage{},
		}
		for _, s := range storages {
			if s.Node == n.Name {
				p.Storages[s.Name] = placement.Storage{
					Active: s.Status == "" || s.Status == "available", Shared: s.Shared, Thin: thin(s.Type),
					Content: s.Content, Size: s.MaxDisk, Used: s.Disk,
				}
			}
		}
		for _, d := range declared {
			if cmp.Or(ptr.Deref(d.Parameters().NodeName, ""), meta.GetExternalName(d), d.GetName()) == n.Name {
				declare(&p, d.Parameters(), d.GetLabels())
			}
		}
		out = append(out, p)
	}
	return out
}

// thin reports whether disks on a type of storage only use the space that is written to. ZFS may be configured otherwise, and then reports itself
// that it is full.
func thin(storageType string) bool {
	return slices.Contains([]string{"btrfs", "cephfs", "cifs", "dir", "glusterfs", "lvmthin", "nfs", "rbd", "zfspool"}, storageType)
}

func declare(n *placement.Node, p *v1alpha1.ProxmoxNodeParameters, labels map[string]string) {
	maps.Copy(n.Labels, labels)
	maps.Copy(n.Labels, p.Labels)
	n.Cordoned = n.Cordoned || p.Schedulable != nil && !*p.Schedulable
	if p.MaxVMs != nil && (n.MaxVMs == nil || int(*p.MaxVMs) < *n.MaxVMs) {
		n.MaxVMs = new(int(*p.MaxVMs))
	}
}

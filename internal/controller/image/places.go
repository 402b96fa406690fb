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

package image

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A place is a storage that holds one file, or the disks of one template: a shared
// storage, or a local one on a node.
type place struct {
	Storage string

	// Node that works there, which is the only one of a local storage.
	Node   string
	Shared bool

	// Nodes that have access to the place, and are online.
	Nodes []string

	// Down is true if the nodes do not report the storage as available.
	Down bool
}

// key names the place in the record.
func (p place) key() string {
	if p.Shared {
		return p.Storage
	}
	return p.Storage + "@" + p.Node
}

// String names the place in messages.
func (p place) String() string {
	if p.Shared {
		return "storage " + p.Storage
	}
	return "storage " + p.Storage + " of node " + p.Node
}

// A placement holds what was found about the places of an image.
type placement struct {
	places []place

	// away are the places on nodes that are offline now.
	away []place

	// problems prevent the image from being on a storage where it is to be, and blocked from being on any.
	problems, blocked []kind.Problem
}

// Reasons why an image cannot be somewhere.
const (
	reasonStorageNotFound xpv2.ConditionReason = "StorageNotFound"
	reasonNotSupported    xpv2.ConditionReason = "NotSupported"
	reasonUnavailable     xpv2.ConditionReason = "StorageUnavailable"
	reasonNodeOffline     xpv2.ConditionReason = "NodeOffline"
)

// filePlaces returns the places where the files of an image are to be.
func filePlaces(p *v1alpha1.ImageParameters, storages []proxmox.Storage, nodes []proxmox.Node) placement {
	out := placement{}
	names := p.Storages
	if p.StorageSelector != nil {
		names = selected(p, storages)
		if len(names) == 0 {
			out.problems = append(out.problems, kind.Problem{Reason: reasonStorageNotFound, Message: fmt.Sprintf(
				"no storage that storageSelector matches holds content %s", contentOf(p))})
		}
	}
	for _, name := range names {
		out.add(name, string(contentOf(p)), p.Nodes, storages, nodes)
	}
	out.places = slices.DeleteFunc(out.places, func(s place) bool {
		problem := notOfFiles(s.Storage, storages)
		if problem != nil && !slices.Contains(out.problems, *problem) {
			out.problems = append(out.problems, *problem)
		}
		return problem != nil
	})
	return out
}

// templatePlaces returns the places where the templates of an image are to be: on local storages, one for each of the nodes that can create one.
func templatePlaces(storage string, on []string, storages []proxmox.Storage, nodes []proxmox.Node) placement {
	out := placement{}
	if storage == "" {
		out.problems = append(out.problems, kind.Problem{Reason: reasonStorageNotFound, Message: "template.storage is not set, and " +
			"the provider config has no defaultStorage"})
		return out
	}
	out.add(storage, "images", on, storages, nodes)
	return out
}

// add adds the places of a storage. on limits the nodes of a local storage, and determines the node that works on a shared one.
func (out *placement) add(name, content string, on []string, storages []proxmox.Storage, nodes []proxmox.Node) {
	online := map[string]bool{}
	for _, n := range nodes {
		online[n.Name] = n.Online()
	}
	var shared place
	found := false
	for _, s := range sortedStorages(storages) {
		if s.Name != name || !s.Shared && len(on) > 0 && !slices.Contains(on, s.Node) {
			continue
		}
		found = true
		if !slices.Contains(s.Content, content) {
			out.problems = append(out.problems, kind.Problem{Reason: reasonNotSupported, Message: fmt.Sprintf(
				"storage '%s' does not hold content %s: its content is %s; add it to the storage", name, content, strings.Join(s.Content, ", "))})
			return
		}
		switch {
		case s.Shared && online[s.Node]:
			shared = shared.with(s, on)
		case s.Shared:
		case online[s.Node]:
			out.places = append(out.places, place{Storage: name, Node: s.Node, Nodes: []string{s.Node}, Down: down(s)})
		default:
			out.away = append(out.away, place{Storage: name, Node: s.Node})
		}
	}
	if shared.Storage != "" {
		out.places = append(out.places, shared)
	}
	if !found {
		out.problems = append(out.problems, kind.Problem{Reason: reasonStorageNotFound, Message: fmt.Sprintf(
			"storage '%s' not found%s: it does not exist there, or the token lacks Datastore.Audit on /storage/%s", name, among(on), name)})
	}
}

// with adds a node to a shared place. The node that works there is one where the storage is available, and among these a preferred one, if possible.
func (p place) with(s proxmox.Storage, on []string) place {
	rank := func(node string, down bool) int {
		r := 0
		if !down {
			r += 2
		}
		if len(on) == 0 || slices.Contains(on, node) {
			r++
		}
		return r
	}
	if p.Storage == "" || rank(s.Node, down(s)) > rank(p.Node, p.Down) {
		p.Node, p.Down = s.Node, down(s)
	}
	p.Storage, p.Shared = s.Name, true
	p.Nodes = append(p.Nodes, s.Node)
	return p
}

// down reports whether the cluster reports that a node does not have the storage now, for example because it is not mounted there.
func down(s proxmox.Storage) bool { return s.Status == "unknown" }

func among(nodes []string) string {
	if len(nodes) == 0 {
		return ""
	}
	return " on nodes " + strings.Join(nodes, ", ")
}

func sortedStorages(storages []proxmox.Storage) []proxmox.Storage {
	return slices.SortedFunc(slices.Values(storages), func(a, b proxmox.Storage) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Node, b.Node))
	})
}

// selected returns the names of the storages that match the selector.
func selected(p *v1alpha1.ImageParameters, storages []proxmox.Storage) []string {
	s := p.StorageSelector
	var names []string
	for _, x := range sortedStorages(storages) {
		if slices.Contains(x.Content, string(contentOf(p))) && ptr.Deref(s.Shared, x.Shared) == x.Shared &&
			(len(s.Types) == 0 || slices.Contains(s.Types, x.Type)) && ofFiles(x.Type) {
			names = append(names, x.Name)
		}
	}
	return slices.Compact(names)
}

// ofFiles reports whether a type of storage may hold files. Unknown types may.
func ofFiles(storageType string) bool {
	return !slices.Contains([]string{"lvm", "lvmthin", "zfspool", "zfs", "rbd", "iscsi", "iscsidirect", "pbs", "esxi"}, storageType)
}

func notOfFiles(name string, storages []proxmox.Storage) *kind.Problem {
	for _, s := range storages {
		if s.Name == name && !ofFiles(s.Type) {
			return &kind.Problem{Reason: reasonNotSupported, Message: fmt.Sprintf(
				"storage '%s' is of type %s, which holds no files: use one of type dir, nfs, cifs, btrfs or cephfs", name, s.Type)}
		}
	}
	return nil
}

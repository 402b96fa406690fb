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

package preflight

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A Medium is a volume that a VM is created from, and that PVE must find on the VM's node.
type Medium struct {
	// what is its name in the spec, and Content the content type under which its storage holds it.
	what, Content string

	volume string
}

// Storage returns the storage that has the medium.
func (m Medium) Storage() string {
	s, _, _ := strings.Cut(m.volume, ":")
	return s
}

// ContentISO is the content type of ISO images.
const ContentISO = "iso"

// archive returns the OVA that contains the medium, which storages list instead, or an empty string.
func (m Medium) archive() string {
	before, _, in := strings.Cut(m.volume, ".ova/")
	if !in {
		return ""
	}
	return before + ".ova"
}

// Media returns the media of the spec.
func Media(p *v1alpha1.MachineParameters) []Medium {
	var all []Medium
	if p.ISO != nil && *p.ISO != "" {
		all = append(all, Medium{what: "iso", Content: ContentISO, volume: *p.ISO})
	}
	for _, c := range p.CDROMs {
		if ptr.Deref(c.ISO, "") != "" {
			all = append(all, Medium{what: "iso", Content: ContentISO, volume: *c.ISO})
		}
	}
	for _, k := range qemu.WithImage(p, "").Disks {
		if _, name, _ := strings.Cut(ptr.Deref(k.ImportFrom, ""), ":"); strings.HasPrefix(name, "import/") {
			all = append(all, Medium{what: "image", Content: "import", volume: *k.ImportFrom})
		}
	}
	return all
}

// MissingMedia returns which medium is not where the VM needs it: images where it is created, and ISO images where it then moves to.
func (e *Checks) MissingMedia(ctx context.Context, p *v1alpha1.MachineParameters, node string) (missing, err error) {
	var here, there []Medium
	for _, v := range Media(p) {
		if v.Content == ContentISO {
			there = append(there, v)
		} else {
			here = append(here, v)
		}
	}
	if missing, err = e.MissingMedium(ctx, here, node); missing != nil || err != nil {
		return missing, err
	}
	return e.MissingMedium(ctx, there, cmp.Or(ptr.Deref(p.Node, ""), node))
}

// MissingMedium returns which medium is not on a node, if any, and which media are there instead. If the user may not list the storage, the check is
// left to PVE.
func (e *Checks) MissingMedium(ctx context.Context, all []Medium, node string) (missing, err error) {
	storages, err := e.Inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == m.Storage() && s.Node == node })
		if i < 0 {
			no := conditions.Reject(conditions.Creating, "%s '%s' not found: storage '%s' not found on node %s", m.what, m.volume, m.Storage(), node)
			return e.HintMissingPrivilege(ctx, no, StorageReadPrivilege(m.Storage())), nil
		}
		if c := storages[i].Content; !slices.Contains(c, m.Content) {
			return conditions.Reject(conditions.Creating, "%s '%s' not found: the content of storage '%s' is %s, not %s",
				m.what, m.volume, m.Storage(), strings.Join(c, ", "), m.Content), nil
		}
		if c := storages[i].Content; m.archive() != "" && !slices.Contains(c, "images") {
			return conditions.Reject(conditions.Creating, "%s '%s' cannot be unpacked: the content of storage '%s' is %s, and has to have images too",
				m.what, m.volume, m.Storage(), strings.Join(c, ", ")), nil
		}
		there, err := e.volumesWith(ctx, m, node)
		if err != nil && !proxmox.IsAuthorization(err) {
			return nil, err
		}
		if err == nil && !m.among(there) {
			return conditions.Reject(conditions.Creating, "%s '%s' not found on node %s%s",
				m.what, m.volume, node, e.instead("volumes there", volumeIDs(there), e.Tenant.HidesImage)), nil
		}
	}
	return nil, nil
}

// volumesWith returns the volumes with a medium on a node. A list that may be old suffices if it has the medium. Otherwise the volumes are read now,
// by one call for all callers at the same time.
func (e *Checks) volumesWith(ctx context.Context, m Medium, node string) ([]proxmox.Volume, error) {
	there, err := e.Inventory.Volumes(ctx, node, m.Storage(), m.Content, inventory.Stable)
	if err != nil || m.among(there) {
		return there, err
	}
	return e.Inventory.Volumes(ctx, node, m.Storage(), m.Content, inventory.Fresh)
}

func (m Medium) among(there []proxmox.Volume) bool {
	return slices.ContainsFunc(there, func(v proxmox.Volume) bool { return v.ID == cmp.Or(m.archive(), m.volume) })
}

// MissingImage returns which image of a new disk or a drive is not on the node of an existing VM.
func (e *Checks) MissingImage(ctx context.Context, change qemu.Difference, node string) ([]string, error) {
	var all []Medium
	for _, device := range slices.Sorted(maps.Keys(change.Set)) {
		k, err := proxmox.ParseDisk(change.Set[device])
		if image := k.Options.Get("import-from"); err == nil && image != "" {
			all = append(all, Medium{what: "image", Content: "import", volume: image})
		}
		if _, name, _ := strings.Cut(k.Volume, ":"); err == nil && strings.HasPrefix(name, "iso/") && !nocloud.IsImage(k.Volume) {
			all = append(all, Medium{what: "iso", Content: ContentISO, volume: k.Volume})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	missing, err := e.MissingMedium(ctx, all, node)
	if missing == nil || err != nil {
		return nil, err
	}
	return []string{missing.Error()}, nil
}

func volumeIDs(volumes []proxmox.Volume) []string {
	ids := make([]string, 0, len(volumes))
	for _, v := range volumes {
		ids = append(ids, v.ID)
	}
	return ids
}

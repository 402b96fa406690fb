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

// A StorageReader has what VMs are made from and plugged into.
type StorageReader interface {
	SnapshotConfig(ctx context.Context, ref proxmox.Ref, snapshot string) (proxmox.VMConfig, error)
	Snapshots(ctx context.Context, ref proxmox.Ref) ([]string, error)
	Volumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error)
	UploadISO(ctx context.Context, node, storage, name string, image []byte) (proxmox.UPID, error)
	DeleteVolume(ctx context.Context, node, volume string) (proxmox.UPID, error)
}

// A medium is a volume that a VM is created from, and that PVE has to find on
// the VM's node.
type medium struct {
	// what the spec calls it, and the content type that its storage holds it as.
	what, content string

	volume string
}

// storage that has the medium.
func (m medium) storage() string {
	s, _, _ := strings.Cut(m.volume, ":")
	return s
}

// contentISO is the content type of ISO images.
const contentISO = "iso"

// archive is the OVA that has the medium in it, which is what storages list then; else
// empty.
func (m medium) archive() string {
	before, _, in := strings.Cut(m.volume, ".ova/")
	if !in {
		return ""
	}
	return before + ".ova"
}

// media of the spec.
func media(p *v1alpha1.MachineParameters) []medium {
	var all []medium
	if p.ISO != nil && *p.ISO != "" {
		all = append(all, medium{what: "iso", content: contentISO, volume: *p.ISO})
	}
	for _, c := range p.CDROMs {
		if ptr.Deref(c.ISO, "") != "" {
			all = append(all, medium{what: "iso", content: contentISO, volume: *c.ISO})
		}
	}
	for _, k := range withImage(p, "").Disks {
		if _, name, _ := strings.Cut(ptr.Deref(k.ImportFrom, ""), ":"); strings.HasPrefix(name, "import/") {
			all = append(all, medium{what: "image", content: "import", volume: *k.ImportFrom})
		}
	}
	return all
}

// withImage are the parameters with the image as what fills its disk. The volume is that
// of an Image which the spec names, and empty while it is not known.
func withImage(p *v1alpha1.MachineParameters, volume string) *v1alpha1.MachineParameters {
	if p.Image == nil || cmp.Or(p.Image.Volume, volume) == "" {
		return p
	}
	volume = cmp.Or(p.Image.Volume, volume)
	out := *p
	out.Disks = slices.Clone(p.Disks)
	for i, k := range out.Disks {
		if p.Image.Disk == nil || *p.Image.Disk == k.Name {
			out.Disks[i].ImportFrom = &volume
			break
		}
	}
	return &out
}

// nodeWithMedia is the chosen node if all media are there. Otherwise placement is
// to choose one that has them, unless the spec names the node.
func (e creator) nodeWithMedia(ctx context.Context, m Machine, chosen string) (string, error) {
	if chosen == "" {
		return "", nil
	}
	missing, err := e.missingMedia(ctx, m, chosen)
	if missing == nil || err != nil {
		return chosen, err
	}
	if m.Parameters().Node != nil || m.Parameters().Template != nil || m.Parameters().TemplateRef != nil || m.Parameters().Clone != nil {
		return "", missing
	}
	return "", nil
}

// missingMedia says which of the media is not where the VM needs it: images where it
// is made, and ISO images where it goes from there.
func (e creator) missingMedia(ctx context.Context, m Machine, node string) (missing, err error) {
	var here, there []medium
	for _, v := range media(m.Parameters()) {
		if v.content == contentISO {
			there = append(there, v)
		} else {
			here = append(here, v)
		}
	}
	if missing, err = e.checks.missingMedium(ctx, here, node); missing != nil || err != nil {
		return missing, err
	}
	return e.checks.missingMedium(ctx, there, cmp.Or(ptr.Deref(m.Parameters().Node, ""), node))
}

// missingMedium says which of the media is not on a node, if any, and what is
// there in its place. Where the user may not list the storage, PVE has to find
// out.
func (e *preflight) missingMedium(ctx context.Context, all []medium, node string) (missing, err error) {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == m.storage() && s.Node == node })
		if i < 0 {
			no := conditions.Reject(conditions.Creating, "%s '%s' not found: storage '%s' not found on node %s", m.what, m.volume, m.storage(), node)
			return e.hintMissingPrivilege(ctx, no, storageReadPrivilege(m.storage())), nil
		}
		if c := storages[i].Content; !slices.Contains(c, m.content) {
			return conditions.Reject(conditions.Creating, "%s '%s' not found: the content of storage '%s' is %s, not %s",
				m.what, m.volume, m.storage(), strings.Join(c, ", "), m.content), nil
		}
		if c := storages[i].Content; m.archive() != "" && !slices.Contains(c, "images") {
			return conditions.Reject(conditions.Creating, "%s '%s' cannot be unpacked: the content of storage '%s' is %s, and has to have images too",
				m.what, m.volume, m.storage(), strings.Join(c, ", ")), nil
		}
		there, err := e.volumesWith(ctx, m, node)
		if err != nil && !proxmox.IsAuthorization(err) {
			return nil, err
		}
		if err == nil && !m.among(there) {
			return conditions.Reject(conditions.Creating, "%s '%s' not found on node %s%s", m.what, m.volume, node, conditions.Instead("volumes there", volumeIDs(there))), nil
		}
	}
	return nil, nil
}

// volumesWith a medium on a node. A list that may be old is good enough if it has the
// medium.
func (e *preflight) volumesWith(ctx context.Context, m medium, node string) ([]proxmox.Volume, error) {
	there, err := e.inventory.Volumes(ctx, node, m.storage(), m.content, inventory.Stable)
	if err != nil || m.among(there) {
		return there, err
	}
	return e.inventory.Volumes(ctx, node, m.storage(), m.content, inventory.Current)
}

func (m medium) among(there []proxmox.Volume) bool {
	return slices.ContainsFunc(there, func(v proxmox.Volume) bool { return v.ID == cmp.Or(m.archive(), m.volume) })
}

// missingImage says which image of a new disk or a drive is not on the node of a VM that
// exists.
func (e planner) missingImage(ctx context.Context, change qemu.Difference) ([]string, error) {
	var all []medium
	for _, device := range slices.Sorted(maps.Keys(change.Set)) {
		k, err := proxmox.ParseDisk(change.Set[device])
		if image := k.Options.Get("import-from"); err == nil && image != "" {
			all = append(all, medium{what: "image", content: "import", volume: image})
		}
		if _, name, _ := strings.Cut(k.Volume, ":"); err == nil && strings.HasPrefix(name, "iso/") && !nocloud.IsImage(k.Volume) {
			all = append(all, medium{what: "iso", content: contentISO, volume: k.Volume})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	missing, err := e.checks.missingMedium(ctx, all, e.vm.Node)
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

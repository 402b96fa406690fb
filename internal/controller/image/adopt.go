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
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// adopted returns what an external name names for adoption: the name of a file, and the VMIDs of templates, separated by commas.
func adopted(m Image) (name string, vmids []int) {
	for part := range strings.SplitSeq(meta.GetExternalName(m), ",") {
		part = strings.TrimSpace(part)
		if id, err := strconv.Atoi(part); err == nil && id >= 100 {
			vmids = append(vmids, id)
		} else if part != "" {
			name = part
		}
	}
	return name, vmids
}

// adoptedFile returns the name of the file to adopt, or an empty name.
func adoptedFile(m Image) string {
	name, _ := adopted(m)
	return name
}

// adopt adopts what the user has named in the external name. It writes nothing to PVE. Missing files are created later.
func (e *external) adopt(ctx context.Context, m Image, v *view) error {
	if e.tenant != nil || v.record.latest() != nil || meta.GetExternalName(m) == "" || m.Parameters().Source.Volume != nil {
		return nil
	}
	name, vmids := adopted(m)
	rev := &revision{File: name, URL: ptr.Deref(m.Parameters().Source.URL, ""), Created: e.now().Unix()}
	if c, decided := v.record.wanted(m.Parameters()); decided {
		rev.Checksum = c.String()
	}
	if err := e.adoptFiles(ctx, m, v, rev); err != nil {
		return err
	}
	if err := e.adoptTemplates(ctx, v, rev, vmids); err != nil {
		return err
	}
	if rev.empty() && !kind.MayChange(m) {
		return nil
	}
	v.record.begin(rev)
	if !kind.MayChange(m) {
		return nil
	}
	if !rev.empty() {
		e.event(m, event.Normal(eventAdopted, "the file and the templates that the external name names are managed by this Image from now on"))
	}
	return e.save(ctx, m, v)
}

// adoptFiles adopts the files of the name, wherever they exist.
func (e *external) adoptFiles(ctx context.Context, m Image, v *view, rev *revision) error {
	if !fetches(m.Parameters()) {
		return nil
	}
	extensions := formats(contentOf(m.Parameters()))
	if m.Parameters().Source.OCI != nil {
		extensions = []string{ociFormat}
	}
	if !slices.ContainsFunc(extensions, func(f string) bool { return strings.HasSuffix(rev.File, "."+f) }) {
		return errors.Errorf("annotation %s is %q: it must be the name of a file of content %s, with VMIDs of templates after it if there are any",
			meta.AnnotationKeyExternalName, meta.GetExternalName(m), contentOf(m.Parameters()))
	}
	for _, p := range filePlaces(m.Parameters(), v.storages, v.nodes).places {
		there, err := e.inventory.Volumes(ctx, p.Node, p.Storage, string(contentOf(m.Parameters())), inventory.Fresh) // The decision is made once.
		if err != nil {
			return errors.Wrapf(err, "cannot look for the file on %s", p)
		}
		if found := volumeNamed(there, rev.File); found != nil {
			*rev.file(p) = file{
				Node: p.Node, Storage: p.Storage, Shared: p.Shared, Done: true, Size: found.Size, Changed: found.Changed, Adopted: true,
			}
		}
	}
	return nil
}

// adoptTemplates adopts templates by their VMIDs.
func (e *external) adoptTemplates(ctx context.Context, v *view, rev *revision, vmids []int) error {
	for _, id := range vmids {
		i := slices.IndexFunc(v.guests, func(g proxmox.Guest) bool { return g.VMID == id })
		if i < 0 {
			return errors.Errorf("cannot adopt template %d: it does not exist, or the user may not see it", id)
		}
		config, err := e.inventory.Config(ctx, v.guests[i].Ref())
		if err != nil {
			return err
		}
		t := &template{Node: v.guests[i].Node, VMID: id, UUID: qemu.Config(config.Values).UUID(), Done: true, Adopted: true}
		switch {
		case !qemu.Config(config.Values).Template():
			return errors.Errorf("cannot adopt VM %d: it is not a template", id)
		case t.UUID == "":
			return errors.Errorf("cannot adopt template %d: %s", id, qemu.NoUUID)
		}
		p := v.placeOf(qemu.Config(config.Values), t.Node)
		t.Storage, t.Shared = p.Storage, p.Shared
		if rev.Templates == nil {
			rev.Templates = map[string]*template{}
		}
		rev.Templates[p.key()] = t
	}
	return nil
}

// placeOf returns the place of the first disk of a VM.
func (v *view) placeOf(config qemu.Config, node string) place {
	for _, device := range config.Disks() {
		d, err := proxmox.ParseDisk(config[device])
		if err != nil {
			continue
		}
		shared := slices.ContainsFunc(v.storages, func(s proxmox.Storage) bool { return s.Name == d.Storage() && s.Shared })
		return place{Storage: d.Storage(), Node: node, Shared: shared}
	}
	return place{Node: node}
}

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
	"fmt"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A view holds what was found about an Image, and what to do next.
type view struct {
	record   *record
	storages []proxmox.Storage
	nodes    []proxmox.Node
	guests   []proxmox.Guest

	// files and templates are the places where they are to be.
	files, templates placement

	// items are the files and templates, of all revisions.
	items []*item

	// refresh is true if the list of checksums is to be read now, and next is when it is to be read again.
	refresh bool
	next    time.Time

	// begin is the checksum of a revision to begin; nil for none.
	begin *checksum.Checksum

	// problems keep the Image from being ready, in addition to those of items.
	problems []kind.Problem

	// undefined records for storages that are listed nowhere whether their definitions are deleted, as far as that was determined. nodesRemoved records
	// for nodes whether they are no longer members of the cluster.
	undefined, nodesRemoved map[string]bool

	// users of revisions that would otherwise be removed, and unseen, why the users of others cannot be determined.
	users  map[int32][]string
	unseen map[int32]string
}

// An item is a file or a template of a revision, and what to do about it.
type item struct {
	decision

	rev      *revision
	key      string
	file     *file
	template *template
	place    place

	// volume of an existing file, and progress, how much of it was downloaded.
	volume   *proxmox.Volume
	progress *int32

	// offline is why the task that creates it cannot be asked for now, and unlisted why its storage cannot be listed; empty if they can.
	offline, unlisted string

	// removing is true if it is to be removed, and superseded if it is only observed.
	removing, superseded bool

	// undefined is true if an item to remove is on a storage that is no longer defined, where nothing can be looked for or removed. nodeRemoved is true
	// if it is on a node that is no longer a member of the cluster.
	undefined, nodeRemoved bool
}

// ready reports whether the item exists as it was created.
func (i *item) ready() bool { return i.action == keep && !i.removing && i.unlisted == "" }

// String names the item.
func (i *item) String() string {
	if i.template != nil {
		return "template on " + i.place.String()
	}
	return "file on " + i.place.String()
}

// Observe reads the state of the image, and decides what to do.
func (e *external) Observe(ctx context.Context, m Image) (managed.ExternalObservation, error) {
	if err := persisted().Restore(ctx, e.kube, m, m.Observation().Annotations); err != nil {
		return managed.ExternalObservation{}, err
	}
	r, err := recordOf(m)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if err := e.confine(m, r); err != nil {
		return managed.ExternalObservation{}, err
	}
	v := &view{record: r, users: map[int32][]string{}, unseen: map[int32]string{}, undefined: map[string]bool{}, nodesRemoved: map[string]bool{}}
	e.view = v
	if err := e.read(ctx, v); err != nil {
		return managed.ExternalObservation{}, err
	}
	if meta.WasDeleted(m) {
		return e.observeDeleted(ctx, m, v)
	}
	if owner, err := e.olderClaim(ctx, m, v); owner != "" || err != nil {
		return e.observeConflict(m, v, owner), err
	}
	if err := e.adopt(ctx, m, v); err != nil {
		return managed.ExternalObservation{}, err
	}
	if err := e.look(ctx, m, v); err != nil {
		return managed.ExternalObservation{}, err
	}
	if v.completed() && kind.MayChange(m) {
		if err := e.save(ctx, m, v); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	show(m, v, e.now())
	return managed.ExternalObservation{ResourceExists: r.latest() != nil, ResourceUpToDate: !v.due()}, nil
}

// read reads the data that all decisions need.
func (e *external) read(ctx context.Context, v *view) error {
	var err error
	if v.nodes, err = e.inventory.Nodes(ctx); err != nil {
		return err
	}
	if v.storages, err = e.inventory.Storages(ctx); err != nil {
		return err
	}
	v.guests, err = e.inventory.Guests(ctx, inventory.Current)
	return err
}

// olderClaim returns the name of an older Image that creates the same file on a storage of the same cluster, or an empty name if there is none.
func (e *external) olderClaim(ctx context.Context, m Image, v *view) (string, error) {
	names := fileNames(m, e.prefix())
	if len(names) == 0 {
		return "", nil
	}
	shares, among := e.shares(ctx), e.isolation(ctx)
	return e.peers.Older(ctx, m, func(other resource.Managed) bool {
		o, ok := other.(Image)
		return ok && slices.ContainsFunc(fileNames(o, among.ImagePrefix(o)), func(n string) bool { return slices.Contains(names, n) }) &&
			overlap(m.Parameters(), o.Parameters(), v.storages) && shares(other) && among.SpecCounts(m, other)
	})
}

// fileNames returns the names of the files that an Image creates or has created. By default they begin with the prefix.
func fileNames(m Image, prefix string) []string {
	var names []string
	if !fetches(m.Parameters()) {
		return nil
	}
	if r, err := recordOf(m); err == nil {
		for _, rev := range r.Revisions {
			names = append(names, rev.File)
		}
	}
	if name := adoptedFile(m); name != "" {
		return append(names, name)
	}
	ext, err := extensionOf(m.Parameters())
	c, decided := (&record{}).wanted(m.Parameters())
	if err == nil && decided {
		names = append(names, fileName(stemOf(m, prefix), c, ext))
	}
	return names
}

// overlap reports whether two Images have a storage in common.
func overlap(a, b *v1alpha1.ImageParameters, storages []proxmox.Storage) bool {
	names := func(p *v1alpha1.ImageParameters) []string {
		if p.StorageSelector != nil {
			return selected(p, storages)
		}
		return p.Storages
	}
	return slices.ContainsFunc(names(a), func(n string) bool { return slices.Contains(names(b), n) })
}

// observeConflict returns the observation of an Image whose file an older one creates.
func (e *external) observeConflict(m Image, v *view, owner string) managed.ExternalObservation {
	if owner == "" {
		return managed.ExternalObservation{}
	}
	v.problems = append(v.problems, kind.OwnershipConflict("file", fileNames(m, e.prefix())[0], owner))
	show(m, v, e.now())
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}
}

// look reads the items that are to exist, and decides about each file and template.
func (e *external) look(ctx context.Context, m Image, v *view) error {
	p := m.Parameters()
	if err := v.lookForRevision(p, e.now()); err != nil {
		v.problems = append(v.problems, kind.Problem{Reason: reasonInvalid, Message: err.Error()})
	}
	if fetches(p) {
		v.files = filePlaces(p, e.usable(v.storages), v.nodes)
		if err := v.files.checkVersion(ctx, e.inventory, p); err != nil {
			return err
		}
	} else if p.Source.Volume != nil {
		if err := e.reader().lookForVolume(ctx, *p.Source.Volume, v); err != nil {
			return err
		}
	}
	v.problems = slices.Concat(v.problems, v.files.blocked, v.files.problems)
	if last := v.record.latest(); last != nil {
		if err := e.lookAtFiles(ctx, m, v, last); err != nil {
			return err
		}
		if err := e.lookAtTemplates(ctx, m, v, last); err != nil {
			return err
		}
	}
	return e.removal().planOldRevisions(ctx, m, v)
}

// checkVersion checks whether the version of PVE supports the source.
func (out *placement) checkVersion(ctx context.Context, in Inventory, p *v1alpha1.ImageParameters) error {
	if p.Source.OCI == nil {
		return nil
	}
	version, err := in.Version(ctx)
	if err == nil && !version.AtLeast(ociMajor, ociMinor) {
		out.blocked = append(out.blocked, kind.Problem{Reason: reasonNotSupported, Message: fmt.Sprintf(
			"source.oci needs Proxmox VE %d.%d or later, and this is %s: upgrade, or set source.url to a container template, such as one of a distribution",
			ociMajor, ociMinor, version.Version)})
	}
	return err
}

// The first version of PVE that can pull OCI images.
const (
	ociMajor = 9
	ociMinor = 1
)

// lookForRevision determines whether to begin a revision.
func (v *view) lookForRevision(p *v1alpha1.ImageParameters, now time.Time) error {
	if !fetches(p) {
		return nil
	}
	if _, err := extensionOf(p); err != nil {
		return err
	}
	var err error
	if v.refresh, v.next, err = v.record.refreshDue(p, now); err != nil {
		return err
	}
	if c, needed := v.record.needsRevision(p); needed && v.record.latest() != nil {
		v.begin = &c
	}
	return nil
}

// lookAtFiles reads the files of the newest revision, at the places that are to have one and at those that are no longer to have one.
func (e *external) lookAtFiles(ctx context.Context, m Image, v *view, rev *revision) error {
	if !fetches(m.Parameters()) {
		return nil
	}
	r := e.reader()
	for _, p := range v.files.places {
		if err := r.lookAtFile(ctx, m, v, &item{rev: rev, key: p.key(), file: rev.file(p), place: p}); err != nil {
			return err
		}
	}
	var leaving []*item
	for _, key := range rev.fileKeys() {
		f := rev.Files[key]
		here := slices.ContainsFunc(v.items, func(i *item) bool { return i.file == f })
		if !here && !declared(m.Parameters(), f, v.storages) {
			leaving = append(leaving, v.leaving(rev, key))
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	if used, err := e.usage().inUse(ctx, m, v, rev); used || err != nil {
		return err
	}
	for _, i := range leaving {
		if err := r.lookAtFile(ctx, m, v, i); err != nil {
			return err
		}
	}
	return nil
}

// declared reports whether the spec requires a file at its place, whether or not the place is visible now.
func declared(p *v1alpha1.ImageParameters, f *file, storages []proxmox.Storage) bool {
	if !f.Shared && len(p.Nodes) > 0 && !slices.Contains(p.Nodes, f.Node) {
		return false
	}
	if p.StorageSelector == nil {
		return slices.Contains(p.Storages, f.Storage)
	}
	known := slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == f.Storage })
	return !known || slices.Contains(selected(p, storages), f.Storage)
}

// leaving returns the item of a file to remove.
func (v *view) leaving(rev *revision, key string) *item {
	f := rev.Files[key]
	p := v.reach(place{Storage: f.Storage, Node: f.Node, Shared: f.Shared})
	return &item{rev: rev, key: key, file: f, place: p, removing: true}
}

// reach returns a place with what is known of its storage now: a shared one with a node that has it, a local one with its own node if that has it.
func (v *view) reach(p place) place {
	var at place
	for _, s := range sortedStorages(v.storages) {
		if s.Name == p.Storage && v.online(s.Node) && (p.Shared || s.Node == p.Node) {
			at = at.with(s, []string{p.Node})
		}
	}
	if at.Storage != "" {
		p.Node, p.Down = at.Node, at.Down
	}
	return p
}

// online reports whether a node can be asked.
func (v *view) online(node string) bool {
	return slices.ContainsFunc(v.nodes, func(n proxmox.Node) bool { return n.Name == node && n.Online() })
}

// lookAtFile decides about a file.
func (r reader) lookAtFile(ctx context.Context, m Image, v *view, i *item) error {
	if undefined, err := r.lookAtStorage(ctx, v, i); undefined || err != nil {
		return err
	}
	s, err := r.fileStateOf(ctx, m, v, i)
	if err != nil {
		return err
	}
	if err := v.lookAtNode(ctx, r.inventory, i); err != nil {
		return err
	}
	i.volume, i.offline = s.volume, s.offline
	// PVE would compare the checksum with the file as it was downloaded. A decompressed file is not that.
	verifiable := i.rev.Checksum != "" && !i.file.Adopted && m.Parameters().Source.Decompression == nil
	i.decision = i.file.decide(s, verifiable, r.now().Unix(), m.GetGeneration())
	if i.unlisted != "" && i.action != forget {
		i.message = i.unlisted
	}
	if s.task != nil && s.task.Running && s.offline == "" && v.online(s.task.UPID.Node()) {
		if err := r.readProgress(ctx, i, s.task.UPID); err != nil {
			return err
		}
	}
	v.items = append(v.items, i)
	return nil
}

// lookAtStorage reports whether an item to remove is on a storage whose definition is deleted. Nothing else is then decided about it.
func (r reader) lookAtStorage(ctx context.Context, v *view, i *item) (bool, error) {
	if !i.removing && !i.superseded {
		return false, nil
	}
	var err error
	if i.undefined, err = r.undefined(ctx, v, i.place); !i.undefined || err != nil {
		return false, err
	}
	i.decision = decision{action: stuck, message: noStorage}
	v.items = append(v.items, i)
	return true, nil
}

// lookAtNode determines whether an item to remove is on a node that is no longer a member of the cluster. That is determined once per observation.
func (v *view) lookAtNode(ctx context.Context, in inventory.Members, i *item) error {
	node := i.node()
	if !i.removing || i.place.Shared || v.online(node) {
		return nil
	}
	if _, decided := v.nodesRemoved[node]; !decided {
		state, err := inventory.MemberStateOf(ctx, in, node)
		if err != nil {
			return errors.Wrapf(err, "cannot see whether node %s is a member of the cluster", node)
		}
		v.nodesRemoved[node] = state == inventory.Removed
	}
	i.nodeRemoved = v.nodesRemoved[node]
	return nil
}

// noStorage is why nothing can be done about an item on a storage whose definition is deleted.
const noStorage = "its storage is not defined any more"

// lookAtTemplates reads the templates of the newest revision.
func (e *external) lookAtTemplates(ctx context.Context, m Image, v *view, rev *revision) error {
	p := m.Parameters()
	if p.Template == nil {
		return e.removal().leaveUnused(ctx, m, v, rev)
	}
	on, problem := e.templateNodes(ctx, m, v)
	if problem != nil {
		v.problems = append(v.problems, kind.Problem{Reason: reasonSourceNotFound, Message: problem.Error()})
		return nil //nolint:nilerr // It is shown, and keeps nothing else from being done.
	}
	v.templates = templatePlaces(ptr.Deref(p.Template.Storage, e.storage), on, v.storages, v.nodes)
	v.problems = append(v.problems, v.templates.problems...)
	for _, place := range v.templates.places {
		if !place.Shared && !slices.Contains(on, place.Node) {
			continue
		}
		t := rev.Templates[place.key()]
		if t == nil {
			t = &template{Node: place.Node, Storage: place.Storage, Shared: place.Shared}
		}
		i := &item{rev: rev, key: place.key(), template: t, place: place}
		if err := e.reader().lookAtTemplate(ctx, m, v, i); err != nil {
			return err
		}
		if i.action == start && !v.hasFileOn(i.template.Node, p) {
			i.decision = decision{action: wait, message: "waiting for the file"}
		}
	}
	return nil
}

// leaveTemplates decides about removing the templates of a revision.
func (r reader) leaveTemplates(ctx context.Context, m Image, v *view, rev *revision) error {
	for _, key := range rev.templateKeys() {
		t := rev.Templates[key]
		i := &item{rev: rev, key: key, template: t, place: place{Storage: t.Storage, Node: t.Node, Shared: t.Shared}, removing: true}
		if err := r.lookAtTemplate(ctx, m, v, i); err != nil {
			return err
		}
	}
	return nil
}

// templateNodes returns the nodes that have the source of a template.
func (e *external) templateNodes(ctx context.Context, m Image, v *view) ([]string, error) {
	if m.Parameters().Source.Machine != nil {
		source, err := e.sourceMachine(ctx, m)
		if err != nil {
			return nil, err
		}
		return []string{source.Node}, nil
	}
	var nodes []string
	for _, p := range v.files.places {
		nodes = append(nodes, p.Nodes...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}

// hasFileOn reports whether the file of the newest revision is ready for a node.
func (v *view) hasFileOn(node string, p *v1alpha1.ImageParameters) bool {
	return p.Source.Machine != nil || v.fileFor(node) != ""
}

// fileFor returns the storage of a file that is ready for a node, or an empty name. It prefers a local one.
func (v *view) fileFor(node string) string {
	storage := ""
	for _, i := range v.items {
		if i.file != nil && i.rev == v.record.latest() && i.ready() && slices.Contains(i.place.Nodes, node) && (storage == "" || !i.place.Shared) {
			storage = i.place.Storage
		}
	}
	for _, p := range v.files.places {
		if len(v.record.latest().Files) == 0 && slices.Contains(p.Nodes, node) && (storage == "" || !p.Shared) {
			storage = p.Storage // The file is not created, only checked to exist.
		}
	}
	return storage
}

// lookAtTemplate decides about a template.
func (r reader) lookAtTemplate(ctx context.Context, m Image, v *view, i *item) error {
	if undefined, err := r.lookAtStorage(ctx, v, i); undefined || err != nil {
		return err
	}
	s, err := r.vmStateOf(ctx, v, i.template)
	if err != nil {
		return err
	}
	if err := v.lookAtNode(ctx, r.inventory, i); err != nil {
		return err
	}
	i.decision = i.template.decide(s, r.now().Unix(), m.GetGeneration())
	v.items = append(v.items, i)
	return nil
}

// completed records that the newest revision is complete, and reports whether that is new.
func (v *view) completed() bool {
	rev := v.record.latest()
	if rev == nil || rev.Complete || len(v.problems) > 0 {
		return false
	}
	some := len(v.files.places) > 0 && len(rev.Files) == 0
	for _, i := range v.items {
		if i.rev == rev && !i.removing && !i.ready() {
			return false
		}
		some = some || i.rev == rev && i.ready()
	}
	rev.Complete = some
	return some
}

// due reports whether there is anything to do now.
func (v *view) due() bool {
	if v.refresh || v.begin != nil {
		return true
	}
	return slices.ContainsFunc(v.items, func(i *item) bool { return i.due(v) })
}

// due reports whether there is anything to do about the item now.
func (i *item) due(v *view) bool {
	if i.superseded {
		return false
	}
	if !i.removing {
		return i.action != keep && i.action != wait && i.action != stuck && len(v.problemsFor(i)) == 0
	}
	return i.removal(v) != keep
}

// problemsFor returns the problems that prevent the creation of an item.
func (v *view) problemsFor(i *item) []kind.Problem {
	if i.file != nil && i.action == start {
		return v.files.blocked
	}
	return nil
}

// obstacle returns what prevents the first revision from being begun. A problem with one of several storages does not.
func (v *view) obstacle() *kind.Problem {
	for i, p := range v.problems {
		if len(v.files.places) == 0 || !slices.Contains(v.files.problems, p) {
			return &v.problems[i]
		}
	}
	return nil
}

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
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A view is what was found about an Image: what there is, and what is to be done.
type view struct {
	record   *record
	storages []proxmox.Storage
	nodes    []proxmox.Node
	guests   []proxmox.Guest

	// files and templates are where they are to be.
	files, templates placement

	// items are the files and templates, of all revisions.
	items []*item

	// refresh is true if the list of checksums is to be read, next at that time.
	refresh bool
	next    time.Time

	// begin is the checksum of a revision that is to be begun; nil for none.
	begin *checksum.Checksum

	// problems keep the Image from being ready, in addition to those of items.
	problems []kind.Problem

	// undefined tells of storages that are listed nowhere whether their definitions are gone, as far as that was asked, and nodesRemoved of nodes
	// whether they are no members of the cluster any more.
	undefined, nodesRemoved map[string]bool

	// users of revisions that would be removed otherwise, and why it cannot be seen of others whether they have any.
	users  map[int32][]string
	unseen map[int32]string
}

// An item is a file or a template of a revision, and what is to be done about it.
type item struct {
	decision

	rev      *revision
	key      string
	file     *file
	template *template
	place    place

	// volume that is there, if it is a file, and how much of it was downloaded.
	volume   *proxmox.Volume
	progress *int32

	// offline is why the task that makes it cannot be asked for now, and unlisted why its storage cannot be listed; empty if they can.
	offline, unlisted string

	// removing is true if it is to go, and superseded if it is only looked at.
	removing, superseded bool

	// undefined is true if one that is to go is on a storage that is defined no more, where nothing can be looked for or removed, and nodeRemoved if it
	// is on a node that is no member of the cluster any more.
	undefined, nodeRemoved bool
}

// ready reports whether the item is there and as it was made.
func (i *item) ready() bool { return i.action == keep && !i.removing && i.unlisted == "" }

// String names the item.
func (i *item) String() string {
	if i.template != nil {
		return "template on " + i.place.String()
	}
	return "file on " + i.place.String()
}

// Observe finds what there is of the image.
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
		return removal{external: e}.observeDeleted(ctx, m, v)
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

// read reads what all of it is decided by.
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

// olderClaim returns the name of an older Image that makes the same file on a storage
// of the same cluster; empty if there is none.
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

// fileNames returns the names of the files that an Image makes or has made. By default they begin with the prefix.
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

// overlap reports whether two Images are on a storage in common.
func overlap(a, b *v1alpha1.ImageParameters, storages []proxmox.Storage) bool {
	names := func(p *v1alpha1.ImageParameters) []string {
		if p.StorageSelector != nil {
			return selected(p, storages)
		}
		return p.Storages
	}
	return slices.ContainsFunc(names(a), func(n string) bool { return slices.Contains(names(b), n) })
}

// observeConflict returns the observation of an Image whose file an older one makes.
func (e *external) observeConflict(m Image, v *view, owner string) managed.ExternalObservation {
	if owner == "" {
		return managed.ExternalObservation{}
	}
	v.problems = append(v.problems, kind.OwnershipConflict("file", fileNames(m, e.prefix())[0], owner))
	show(m, v, e.now())
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}
}

// look looks at what is to be there, and decides about each file and template.
func (e *external) look(ctx context.Context, m Image, v *view) error {
	p := m.Parameters()
	if err := e.lookForRevision(p, v); err != nil {
		v.problems = append(v.problems, kind.Problem{Reason: reasonInvalid, Message: err.Error()})
	}
	if fetches(p) {
		v.files = filePlaces(p, e.usable(v.storages), v.nodes)
		if err := v.files.checkVersion(ctx, e.inventory, p); err != nil {
			return err
		}
	} else if p.Source.Volume != nil {
		if err := e.lookForVolume(ctx, *p.Source.Volume, v); err != nil {
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
	return removal{external: e}.lookAtOld(ctx, m, v)
}

// checkVersion finds whether the version of PVE has what the source takes.
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

// The first version of PVE that pulls OCI images.
const (
	ociMajor = 9
	ociMinor = 1
)

// lookForRevision finds whether a revision is to be begun.
func (e *external) lookForRevision(p *v1alpha1.ImageParameters, v *view) error {
	if !fetches(p) {
		return nil
	}
	if _, err := extensionOf(p); err != nil {
		return err
	}
	var err error
	if v.refresh, v.next, err = v.record.refreshDue(p, e.now()); err != nil {
		return err
	}
	if c, needed := v.record.needsRevision(p); needed && v.record.latest() != nil {
		v.begin = &c
	}
	return nil
}

// lookAtFiles looks at the files of the newest revision, at the places that are to have one and at those
// that are to have none any more.
func (e *external) lookAtFiles(ctx context.Context, m Image, v *view, rev *revision) error {
	if !fetches(m.Parameters()) {
		return nil
	}
	for _, p := range v.files.places {
		if err := e.lookAtFile(ctx, m, v, &item{rev: rev, key: p.key(), file: rev.file(p), place: p}); err != nil {
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
	if used, err := (removal{external: e}).inUse(ctx, m, v, rev); used || err != nil {
		return err
	}
	for _, i := range leaving {
		if err := e.lookAtFile(ctx, m, v, i); err != nil {
			return err
		}
	}
	return nil
}

// declared reports whether the spec asks for a file at its place, whether that can be
// seen now or not.
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

// leaving returns the item of a file that is to go.
func (v *view) leaving(rev *revision, key string) *item {
	f := rev.Files[key]
	p := v.reach(place{Storage: f.Storage, Node: f.Node, Shared: f.Shared})
	return &item{rev: rev, key: key, file: f, place: p, removing: true}
}

// reach returns a place by what is known of its storage now: a shared one with a node that has it, its own one if that does.
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
func (e *external) lookAtFile(ctx context.Context, m Image, v *view, i *item) error {
	if undefined, err := e.lookAtStorage(ctx, v, i); undefined || err != nil {
		return err
	}
	s, err := e.fileStateOf(ctx, m, v, i)
	if err != nil {
		return err
	}
	if err := v.lookAtNode(ctx, e.inventory, i); err != nil {
		return err
	}
	i.volume, i.offline = s.volume, s.offline
	// What PVE would compare with the checksum is the file as it was downloaded, which one that was decompressed is not.
	verifiable := i.rev.Checksum != "" && !i.file.Adopted && m.Parameters().Source.Decompression == nil
	i.decision = i.file.decide(s, verifiable, e.now().Unix(), m.GetGeneration())
	if i.unlisted != "" && i.action != forget {
		i.message = i.unlisted
	}
	if s.task != nil && s.task.Running && s.offline == "" && v.online(s.task.UPID.Node()) {
		if err := e.readProgress(ctx, i, s.task.UPID); err != nil {
			return err
		}
	}
	v.items = append(v.items, i)
	return nil
}

// lookAtStorage reports whether an item that is to go is on a storage whose definition is gone: nothing is decided about it then.
func (e *external) lookAtStorage(ctx context.Context, v *view, i *item) (bool, error) {
	if !i.removing && !i.superseded {
		return false, nil
	}
	var err error
	if i.undefined, err = e.undefined(ctx, v, i.place); !i.undefined || err != nil {
		return false, err
	}
	i.decision = decision{action: stuck, message: noStorage}
	v.items = append(v.items, i)
	return true, nil
}

// lookAtNode finds whether an item that is to go is on a node that is no member of the cluster any more. It is decided once for each look.
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

// noStorage is why nothing can be done about what is on a storage whose definition is gone.
const noStorage = "its storage is not defined any more"

// undefined reports whether a storage is listed nowhere and unknown to the node of the place: one that may not be seen, or is disabled, is another
// matter. It is decided once for each look, so that what is forgotten because nobody can use it is not found after all, and removed.
func (e *external) undefined(ctx context.Context, v *view, p place) (bool, error) {
	if is, decided := v.undefined[p.Storage]; decided {
		return is, nil
	}
	if !v.online(p.Node) || slices.ContainsFunc(v.storages, func(s proxmox.Storage) bool { return s.Name == p.Storage }) {
		return false, nil
	}
	_, err := e.client.Volumes(ctx, p.Node, p.Storage, "images")
	if err != nil && !proxmox.IsNoStorage(err) && !proxmox.IsDisabledStorage(err) {
		return false, errors.Wrapf(err, "cannot look at %s", p)
	}
	v.undefined[p.Storage] = proxmox.IsNoStorage(err)
	return v.undefined[p.Storage], nil
}

// fileStateOf returns the file state of a file: what its storage has by the name, and the tasks that make it. A storage that cannot be listed is told of,
// and keeps nothing from what is elsewhere.
func (e *external) fileStateOf(ctx context.Context, m Image, v *view, i *item) (fileState, error) {
	s := fileState{unknown: !v.online(i.place.Node)}
	switch {
	case s.unknown && !i.place.Shared:
		s.task = gone(i.file.Task)
		return s, nil
	case s.unknown:
		i.unlisted = unlisted
	case i.place.Down:
		s.unknown, i.unlisted = true, fmt.Sprintf("node %s reports the storage as not available: %s", i.place.Node, unlisted)
	default:
		var err error
		s.volume, err = e.findVolume(ctx, m, i)
		if proxmox.IsAuthorization(err) || ctx.Err() != nil {
			return s, errors.Wrapf(err, "cannot look for the file on %s", i.place)
		}
		if s.unknown = err != nil; s.unknown {
			i.unlisted = err.Error()
		}
	}
	return s, e.readFileTasks(ctx, m, i, &s)
}

// readFileTasks reads the tasks that make a file, or may do so. They may be of another node than the one that is asked for the file.
func (e *external) readFileTasks(ctx context.Context, m Image, i *item, s *fileState) error {
	var offline *kind.Problem
	var err error
	switch {
	case i.file.Task != "":
		s.task, offline, err = target.Task(ctx, e.inventory, e.client, proxmox.UPID(i.file.Task))
	case i.file.Begun != 0 && !i.file.Done:
		s.others, offline, err = e.downloads(ctx, m, i.file.Node, i.rev.File)
	}
	if offline != nil {
		s.offline = offline.Message
	}
	return err
}

// findVolume returns the volume that has the file's name, or nil. A list that may be old is good enough if it has the file as it was made, and the one
// that says that it is gone is read now.
func (e *external) findVolume(ctx context.Context, m Image, i *item) (*proxmox.Volume, error) {
	ages := []time.Duration{inventory.Current}
	if i.file.Done && i.file.Removal == "" {
		ages = []time.Duration{inventory.Stable, inventory.Current, inventory.Fresh}
	}
	var found *proxmox.Volume
	for _, maxAge := range ages {
		volumes, err := e.inventory.Volumes(ctx, i.place.Node, i.place.Storage, string(contentOf(m.Parameters())), maxAge)
		if err != nil {
			return nil, err
		}
		if found = volumeNamed(volumes, i.rev.File); found != nil && i.file.is(*found) {
			break
		}
	}
	return found, nil
}

// gone returns a task on a node that cannot be asked, which may still run.
func gone(upid string) *proxmox.Task {
	if upid == "" {
		return nil
	}
	return &proxmox.Task{UPID: proxmox.UPID(upid), Running: true}
}

// volumeNamed returns the volume with a file name, or nil.
func volumeNamed(volumes []proxmox.Volume, name string) *proxmox.Volume {
	i := slices.IndexFunc(volumes, func(v proxmox.Volume) bool { return v.File() == name })
	if i < 0 {
		return nil
	}
	return &volumes[i]
}

// task returns the task as PVE knows it, or nil. One on a node that cannot be asked may still run.
func (e *external) task(ctx context.Context, upid string) (*proxmox.Task, error) {
	t, _, err := target.Task(ctx, e.inventory, e.client, proxmox.UPID(upid))
	return t, err
}

// downloads returns our tasks on a node that fetch a file of the name, and the problem that it cannot be asked.
func (e *external) downloads(ctx context.Context, m Image, node, name string) ([]proxmox.Task, *kind.Problem, error) {
	taskType := proxmox.TaskDownload
	if m.Parameters().Source.OCI != nil {
		taskType = proxmox.TaskPullOCI
	}
	tasks, err := target.NodeTasks(ctx, e.inventory, e.client, node, taskType)
	return slices.DeleteFunc(tasks.All, func(t proxmox.Task) bool {
		return t.UPID.ID() != name || t.UPID.User() != e.client.Identity().ID
	}), tasks.Offline, err
}

// progressLines of a log are enough to have one with percents.
const progressLines = 5

func (e *external) readProgress(ctx context.Context, i *item, u proxmox.UPID) error {
	if !u.Valid() {
		return nil
	}
	log, err := e.client.TaskLog(ctx, u, progressLines)
	if err != nil {
		return err
	}
	if percent, known := proxmox.DownloadProgress(log); known {
		i.progress = ptr.To(int32(percent)) //nolint:gosec // It is 100 at most.
		i.message = fmt.Sprintf("downloading, %d%%", percent)
	}
	return nil
}

// lookForVolume finds the nodes that have the file which the source names.
func (e *external) lookForVolume(ctx context.Context, volume string, v *view) error {
	storage, content, file := splitVolume(volume)
	all := placement{}
	all.add(storage, content, nil, v.storages, v.nodes)
	v.files.problems = all.problems
	var unseen []kind.Problem
	for _, p := range all.places {
		volumes, err := e.inventory.Volumes(ctx, p.Node, p.Storage, content, inventory.Current)
		if proxmox.IsAuthorization(err) {
			return errors.Wrapf(err, "cannot look for %s", volume)
		}
		if err != nil {
			unseen = append(unseen, kind.Problem{Reason: reasonUnavailable, Message: fmt.Sprintf("cannot look for %s on %s: %v", volume, p, err)})
			continue
		}
		if volumeNamed(volumes, file) != nil {
			v.files.places = append(v.files.places, p)
		}
	}
	v.files.problems = append(v.files.problems, unseen...)
	if len(v.files.places) == 0 && len(v.files.problems) == 0 {
		v.files.problems = append(v.files.problems, kind.Problem{Reason: reasonNotFound, Message: fmt.Sprintf("volume '%s' not found on any node", volume)})
	}
	return nil
}

// lookAtTemplates looks at the templates of the newest revision.
func (e *external) lookAtTemplates(ctx context.Context, m Image, v *view, rev *revision) error {
	p := m.Parameters()
	if p.Template == nil {
		return e.leaveUnused(ctx, m, v, rev)
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
		if err := e.lookAtTemplate(ctx, m, v, i); err != nil {
			return err
		}
		if i.action == start && !v.hasFileOn(i.template.Node, p) {
			i.decision = decision{action: wait, message: "waiting for the file"}
		}
	}
	return nil
}

// leaveUnused has templates go that the spec asks for no more, unless they are in use.
func (e *external) leaveUnused(ctx context.Context, m Image, v *view, rev *revision) error {
	if len(rev.Templates) == 0 {
		return nil
	}
	if used, err := (removal{external: e}).inUse(ctx, m, v, rev); used || err != nil {
		return err
	}
	return e.leaveTemplates(ctx, m, v, rev)
}

// leaveTemplates has the templates of a revision go.
func (e *external) leaveTemplates(ctx context.Context, m Image, v *view, rev *revision) error {
	for _, key := range rev.templateKeys() {
		t := rev.Templates[key]
		i := &item{rev: rev, key: key, template: t, place: place{Storage: t.Storage, Node: t.Node, Shared: t.Shared}, removing: true}
		if err := e.lookAtTemplate(ctx, m, v, i); err != nil {
			return err
		}
	}
	return nil
}

// templateNodes returns the nodes that have what a template is made of.
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

// fileFor returns the storage of a file that is ready for a node, or nothing. A local
// one is preferred.
func (v *view) fileFor(node string) string {
	storage := ""
	for _, i := range v.items {
		if i.file != nil && i.rev == v.record.latest() && i.ready() && slices.Contains(i.place.Nodes, node) && (storage == "" || !i.place.Shared) {
			storage = i.place.Storage
		}
	}
	for _, p := range v.files.places {
		if len(v.record.latest().Files) == 0 && slices.Contains(p.Nodes, node) && (storage == "" || !p.Shared) {
			storage = p.Storage // It is only ensured.
		}
	}
	return storage
}

// lookAtTemplate decides about a template.
func (e *external) lookAtTemplate(ctx context.Context, m Image, v *view, i *item) error {
	if undefined, err := e.lookAtStorage(ctx, v, i); undefined || err != nil {
		return err
	}
	s, err := e.vmStateOf(ctx, v, i.template)
	if err != nil {
		return err
	}
	if err := v.lookAtNode(ctx, e.inventory, i); err != nil {
		return err
	}
	i.decision = i.template.decide(s, e.now().Unix(), m.GetGeneration())
	v.items = append(v.items, i)
	return nil
}

// vmStateOf returns the VM state of a template. Its configuration is read only while the list does not show
// that it is as it was made.
func (e *external) vmStateOf(ctx context.Context, v *view, t *template) (vmState, error) {
	s := vmState{}
	if t.VMID == 0 {
		return s, nil
	}
	if i := slices.IndexFunc(v.guests, func(g proxmox.Guest) bool { return g.VMID == t.VMID }); i >= 0 {
		s.guest = &v.guests[i]
		t.Node = s.guest.Node // It may have been moved.
	}
	if t.Done && t.Removal == "" && s.guest != nil && s.guest.Template || !v.online(t.Node) {
		s.unknown = true
		return s, nil
	}
	var err error
	if t.Task != "" {
		if s.task, err = e.task(ctx, t.Task); err != nil || s.task != nil && s.task.Running {
			return s, err
		}
	}
	s.config, s.busy, err = e.vm(ctx, t)
	return s, err
}

// vm returns the configuration of a template's VM, nil if there is none, and whether a
// task works on it. The tasks are read first: what they have done is in the
// configuration then.
func (e *external) vm(ctx context.Context, t *template) (qemu.Config, bool, error) {
	busy, err := target.Works(ctx, e.inventory, t.VMID, inventory.Recent)
	if err != nil {
		return nil, false, err
	}
	c, err := e.client.Config(ctx, proxmox.Ref{Node: t.Node, VMID: t.VMID})
	if proxmox.IsNotFound(err) {
		config, err := t.findMoved(ctx, e.inventory, e.client)
		return config, busy, err
	}
	return qemu.Config(c.Values), busy, err
}

// findMoved returns the configuration of the VM with the VMID of the template that is on another node than it was listed on, or nil if there is none.
// The template is there from now on, if it is its VM.
func (t *template) findMoved(ctx context.Context, in Inventory, c Client) (qemu.Config, error) {
	guests, err := in.Guests(ctx, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	g, listed := proxmox.GuestOf(guests, t.VMID)
	if !listed || g.Node == t.Node {
		return nil, nil
	}
	read, err := c.Config(ctx, g.Ref())
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read VM %d, which is on node %s now", t.VMID, g.Node)
	}
	config := qemu.Config(read.Values)
	if t.identity().Prove(config) == ours {
		t.Node = g.Node
	}
	return config, nil
}

// completed notes that the newest revision is complete, and reports whether that is
// new.
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

// due reports whether anything is to be done now.
func (v *view) due() bool {
	if v.refresh || v.begin != nil {
		return true
	}
	return slices.ContainsFunc(v.items, func(i *item) bool { return i.due(v) })
}

// due reports whether anything is to be done about the item now.
func (i *item) due(v *view) bool {
	if i.superseded {
		return false
	}
	if !i.removing {
		return i.action != keep && i.action != wait && i.action != stuck && len(v.problemsFor(i)) == 0
	}
	return i.removal(v) != keep
}

// problemsFor returns the problems for an item that keep it from being made.
func (v *view) problemsFor(i *item) []kind.Problem {
	if i.file != nil && i.action == start {
		return v.files.blocked
	}
	return nil
}

// obstacle returns what keeps the first revision from being begun. A problem with one of several storages does not.
func (v *view) obstacle() *kind.Problem {
	for i, p := range v.problems {
		if len(v.files.places) == 0 || !slices.Contains(v.files.problems, p) {
			return &v.problems[i]
		}
	}
	return nil
}

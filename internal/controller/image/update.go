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
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Create begins the first revision. The updates that follow download its files.
func (e *external) Create(ctx context.Context, m Image) (managed.ExternalCreation, error) {
	v := e.view
	if v == nil {
		return managed.ExternalCreation{}, errors.New("cannot create an image before it was observed that there is none")
	}
	if p := v.obstacle(); p != nil {
		return managed.ExternalCreation{}, errors.New(p.Message)
	}
	if v.refresh {
		if err := e.refresh(ctx, m.Parameters(), v.record); err != nil {
			return managed.ExternalCreation{}, err
		}
	}
	c, needed := v.record.needsRevision(m.Parameters())
	if !needed {
		return managed.ExternalCreation{}, errors.New("cannot begin an image without its checksum")
	}
	if err := e.begin(m, v.record, c); err != nil {
		return managed.ExternalCreation{}, err
	}
	return managed.ExternalCreation{}, e.save(kind.AtCreationEnd(ctx), m, v)
}

// begin begins a revision in the record.
func (e *external) begin(m Image, r *record, c checksum.Checksum) error {
	p := m.Parameters()
	rev := &revision{Created: e.now().Unix(), Checksum: c.String(), URL: ptr.Deref(p.Source.URL, "")}
	switch {
	case fetches(p):
		ext, err := extensionOf(p)
		if err != nil {
			return err
		}
		rev.File = fileName(stemOf(m, e.prefix()), c, ext)
	case p.Source.Volume != nil:
		_, _, rev.File = splitVolume(*p.Source.Volume)
	}
	r.begin(rev)
	return nil
}

// save writes the record, with the external name that belongs to it.
func (e *external) save(ctx context.Context, m Image, v *view) error {
	a := e.signed(m, v.record.String())
	if last := v.record.latest(); last != nil && meta.GetExternalName(m) == "" {
		a[meta.AnnotationKeyExternalName] = m.GetName()
		if last.File != "" {
			a[meta.AnnotationKeyExternalName] = last.File
		}
	}
	if err := kind.Annotate(ctx, e.kube, m, a); err != nil {
		return err
	}
	m.Observation().Annotations = persisted().Copy(m, m.Observation().Annotations)
	return nil
}

// Update does what Observe found to be due. What is begun is recorded before the first call, and the results after the last one. If the provider is
// killed meanwhile, the results that it has not recorded are looked for.
func (e *external) Update(ctx context.Context, m Image) (managed.ExternalUpdate, error) {
	v := e.view
	if v == nil {
		return managed.ExternalUpdate{}, errors.New("cannot change an image that was not observed")
	}
	return managed.ExternalUpdate{}, e.update(ctx, m, v)
}

func (e *external) update(ctx context.Context, m Image, v *view) error {
	ready, failed := e.prepare(ctx, m, v)
	if err := e.save(ctx, m, v); err != nil {
		return err
	}
	for _, i := range ready {
		failed = append(failed, e.act(ctx, m, v, i))
	}
	if saved := kind.AfterCall(ctx, func(ctx context.Context) error { return e.save(ctx, m, v) }); saved != nil {
		return errors.Join(append(failed, saved)...)
	}
	if v.refresh {
		failed = append(failed, e.refreshed(ctx, m, v))
	}
	return errors.Join(failed...)
}

// prepare prepares the due work: it records intents, and begins revisions. It returns the items that can be acted on.
func (e *external) prepare(ctx context.Context, m Image, v *view) (ready []*item, failed []error) {
	if v.begin != nil {
		failed = append(failed, e.begin(m, v.record, *v.begin))
		e.event(m, event.Normal(eventNewRevision, "another checksum or format is asked for: a new revision is made"))
	}
	for _, i := range v.items {
		if !i.due(v) {
			continue
		}
		if err := e.intend(ctx, m, v, i); err != nil {
			failed = append(failed, err)
			continue
		}
		ready = append(ready, i)
	}
	return ready, failed
}

// refreshed reads the list of checksums and saves the result.
func (e *external) refreshed(ctx context.Context, m Image, v *view) error {
	if err := e.refresh(ctx, m.Parameters(), v.record); err != nil {
		return err
	}
	return e.save(ctx, m, v)
}

// intend records what is about to be done about an item.
func (e *external) intend(ctx context.Context, m Image, v *view, i *item) error {
	switch {
	case i.removing || i.action != start:
		return nil
	case i.template != nil:
		return e.intendTemplate(ctx, m, v, i)
	}
	return e.intendFile(ctx, m, i)
}

// act acts on an item.
func (e *external) act(ctx context.Context, m Image, v *view, i *item) error {
	switch {
	case i.removing && i.removal(v) != start: // Otherwise, what was begun is first brought to its end.
		return e.remove(ctx, m, v, i)
	case i.template != nil:
		return e.actOnTemplate(ctx, m, v, i)
	}
	return e.actOnFile(ctx, m, i)
}

// Delete removes the files and templates that were created.
func (e *external) Delete(ctx context.Context, m Image) (managed.ExternalDelete, error) {
	if e.view == nil {
		return managed.ExternalDelete{}, nil
	}
	m.SetConditions(deleting(e.view))
	return managed.ExternalDelete{}, e.update(ctx, m, e.view)
}

// refused reports whether a failed call was certainly not carried out.
func refused(err error) bool { return err != nil && !proxmox.IsOutcomeUnknown(err) }

// follow has the Image reconciled when a task has ended.
func (e *external) follow(m Image, u proxmox.UPID) {
	c, ok := m.DeepCopyObject().(Image)
	if !ok || u == "" || e.wake == nil {
		return
	}
	e.inventory.Follow(u, func(proxmox.Task) { go e.wake(c) })
}

func (e *external) event(m resource.Managed, v event.Event) {
	if e.record != nil {
		e.record.Event(m, v)
	}
}

// splitVolume returns the parts of a volume ID.
func splitVolume(volume string) (storage, content, file string) {
	storage, rest, _ := strings.Cut(volume, ":")
	content, file, _ = strings.Cut(rest, "/")
	return storage, content, file
}

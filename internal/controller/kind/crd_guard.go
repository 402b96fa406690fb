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

package kind

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AnnotationOrphaned marks a resource whose definition was deleted while it was
// there, where nothing else would tell that later. What it stands for is not
// destroyed, until the annotation is removed.
const AnnotationOrphaned = "proxmox.vitistack.io/orphaned-by-crd"

// FormerAnnotations returns the present names of this package's annotations by their former ones.
func FormerAnnotations() map[string]string {
	return map[string]string{"proxmox.vitistack.io/outlived-definition": AnnotationOrphaned}
}

// mostRequested is how many deletions that were asked for are remembered. Of others the definition is read again.
const mostRequested = 4096

// settlingTime is how long the discovery of an API server may take to tell that a
// definition is being deleted, after it was told that a resource is. It follows
// both in milliseconds, each by a watch of its own.
const settlingTime = 2 * time.Second

// clockSkew is how far the clocks of two API servers of a cluster may be apart: the one that deletes the resources of a definition need not
// be the one that was asked to delete the definition.
const clockSkew = 30 * time.Second

// A crdGuard of a kind. When it is deleted, as it is when the package is
// uninstalled, Kubernetes deletes all resources of the kind. Nobody has asked then
// to destroy what they stand for.
type crdGuard struct {
	// reader asks the API server itself: a cache could know of the deletion of a
	// resource before that of its definition. May be nil.
	reader client.Reader
	mapper meta.RESTMapper

	// requested has the UIDs of resources that were deleted while their definition was there and not being deleted: that stays so. The
	// definition of a large kind costs an API server as much as several writes. May be nil.
	requested *lru.Cache
	// listed returns the resources of the kind in the cache, which must not be changed: one read of the definition tells of all that were
	// deleted before. May be nil without requested.
	listed func(context.Context) ([]resource.Managed, error)
	// discovery stands in for the reader, for those who may not read definitions.
	// Without either nothing is known.
	discovery discovery.ServerResourcesInterface
	// writer marks resources. Needed with discovery.
	writer client.Client
	kind   schema.GroupVersionKind
}

// deletedWithCRD returns an error if a resource is deleted only because its definition
// is.
func (d crdGuard) deletedWithCRD(ctx context.Context, mg resource.Managed) error {
	asked := mg.GetDeletionTimestamp()
	switch {
	case asked == nil:
		return nil
	case d.reader != nil && d.isRequested(mg):
		return nil
	case d.reader != nil:
		others := d.deleted(ctx)
		crd, err := d.read(ctx)
		if err != nil {
			return err
		}
		d.remember(crd, append(others, mg))
		return isDeletedWith(crd, asked)
	case d.discovery != nil:
		return d.isWithdrawn(ctx, mg)
	}
	return nil
}

// isRequested reports whether somebody is known to have asked for the deletion of a resource.
func (d crdGuard) isRequested(mg resource.Managed) bool {
	if d.requested == nil || mg.GetUID() == "" {
		return false
	}
	_, is := d.requested.Get(mg.GetUID())
	return is
}

// deleted returns the resources of which the cache shows that they are deleted.
func (d crdGuard) deleted(ctx context.Context) []resource.Managed {
	if d.requested == nil {
		return nil
	}
	all, err := d.listed(ctx)
	if err != nil {
		// Each has the definition read for itself then.
		return nil
	}
	var deleted []resource.Managed
	for _, mg := range all {
		if mg.GetDeletionTimestamp() != nil {
			deleted = append(deleted, mg)
		}
	}
	return deleted
}

// remember keeps which resources, deleted before the definition was read, were deleted because somebody has asked for it.
func (d crdGuard) remember(crd *metav1.PartialObjectMetadata, deleted []resource.Managed) {
	if d.requested == nil {
		return
	}
	for _, mg := range deleted {
		if isDeletedWith(crd, mg.GetDeletionTimestamp()) == nil {
			d.requested.Add(mg.GetUID(), nil)
		}
	}
}

// read reads the definition.
func (d crdGuard) read(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	mapping, err := d.mapper.RESTMapping(d.kind.GroupKind(), d.kind.Version)
	if err != nil {
		return nil, errors.Wrap(err, errDeletionCauseUnknown)
	}
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	name := mapping.Resource.GroupResource().String()
	err = d.reader.Get(ctx, client.ObjectKey{Name: name}, crd)
	if kerrors.IsNotFound(err) {
		return nil, errors.Errorf("cannot find the definition %q", name)
	}
	return crd, errors.Wrap(err, errDeletionCauseUnknown)
}

// isDeletedWith returns an error if a resource that was deleted at a time was deleted because its definition is, or was. What was deleted
// shortly before its definition is kept too, by the times of both.
func isDeletedWith(crd *metav1.PartialObjectMetadata, asked *metav1.Time) error {
	switch {
	case !crd.CreationTimestamp.Before(asked):
		return errKept(crd.GetName(), "is younger than the deletion of this resource")
	case crd.DeletionTimestamp == nil || asked.Add(clockSkew).Before(crd.DeletionTimestamp.Time):
		return nil
	}
	return errKept(crd.GetName(), "is being deleted")
}

// isWithdrawn asks which verbs the API server offers for the kind: while a
// definition is being deleted, its resources cannot be created. It does not tell
// since when, so that resources deleted earlier are kept too. They are marked, for
// Crossplane 1 may put a new definition in the place of one that is going.
func (d crdGuard) isWithdrawn(ctx context.Context, mg resource.Managed) error {
	if mg.GetAnnotations()[AnnotationOrphaned] != "" {
		return errKept(d.kind.GroupKind().String(), "was deleted while this resource was there")
	}
	offered, err := d.isOffered()
	if err == nil && offered {
		if err := awaitDiscovery(ctx, mg.GetDeletionTimestamp().Time); err != nil {
			return errors.Wrap(err, errDeletionCauseUnknown)
		}
		offered, err = d.isOffered()
	}
	if err != nil {
		return errors.Wrap(err, errDeletionCauseUnknown)
	}
	if offered {
		return nil
	}
	if err := d.markOrphaned(ctx, mg); err != nil {
		return errors.Wrap(err, "cannot mark what its definition leaves behind")
	}
	return errKept(d.kind.GroupKind().String(), "is being deleted")
}

// isOffered reports whether resources of the kind can be created.
func (d crdGuard) isOffered() (bool, error) {
	served, err := d.discovery.ServerResourcesForGroupVersion(d.kind.GroupVersion().String())
	if err != nil {
		return false, err
	}
	for _, r := range served.APIResources {
		if r.Kind == d.kind.Kind && !strings.Contains(r.Name, "/") {
			return slices.Contains(r.Verbs, "create"), nil
		}
	}
	return false, errors.Errorf("cannot find the definition of %s", d.kind.GroupKind())
}

// markOrphaned marks a resource as orphaned that stays although its definition goes.
func (d crdGuard) markOrphaned(ctx context.Context, mg resource.Managed) error {
	before, ok := mg.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", mg)
	}
	xpmeta.AddAnnotations(mg, map[string]string{AnnotationOrphaned: "true"})
	return d.writer.Patch(ctx, mg, client.MergeFrom(before))
}

// awaitDiscovery waits until a deletion is old enough that discovery knows its cause. It
// never waits longer than that, however wrong clocks are.
func awaitDiscovery(ctx context.Context, asked time.Time) error {
	// Times of deletions are whole seconds.
	wait := min(settlingTime, settlingTime+time.Second-time.Since(asked))
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

const errDeletionCauseUnknown = "cannot tell whether the kind is being deleted"

func errKept(name, why string) error {
	return errors.Errorf("the definition %q %s, which does not ask to destroy what was made: "+
		"it stays in Proxmox VE until it is destroyed there, and this resource until then or until its finalizers are removed", name, why)
}

// guardedConnector connects to what is not destroyed just because its kind goes.
type guardedConnector[T resource.Managed] struct {
	next managed.TypedExternalConnector[T]
	crd  crdGuard
}

// Connect connects with the next connector.
func (c guardedConnector[T]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	external, err := c.next.Connect(ctx, mg)
	if err != nil {
		return nil, err
	}
	return guardedClient[T]{TypedExternalClient: external, crd: c.crd}, nil
}

type guardedClient[T resource.Managed] struct {
	managed.TypedExternalClient[T]

	crd crdGuard
}

// Delete deletes with the next client what somebody has asked to delete.
func (c guardedClient[T]) Delete(ctx context.Context, mg T) (managed.ExternalDelete, error) {
	if err := c.crd.deletedWithCRD(ctx, mg); err != nil {
		return managed.ExternalDelete{}, err
	}
	return c.TypedExternalClient.Delete(ctx, mg)
}

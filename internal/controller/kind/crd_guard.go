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

// AnnotationOrphaned marks a resource whose definition was deleted while the resource existed, where nothing else would show that later. What it
// stands for is not destroyed until the annotation is removed.
const AnnotationOrphaned = "proxmox.vitistack.io/orphaned-by-crd"

// FormerAnnotations returns the present names of this package's annotations by their former ones.
func FormerAnnotations() map[string]string {
	return map[string]string{"proxmox.vitistack.io/outlived-definition": AnnotationOrphaned}
}

// mostRequested is how many requested deletions are remembered. For others, the definition is read again.
const mostRequested = 4096

// settlingTime is how long the discovery of an API server may take to report that a definition is being deleted, after the server has learned that a
// resource is. It learns of both within milliseconds, by separate watches.
const settlingTime = 2 * time.Second

// clockSkew is how far the clocks of two API servers of a cluster may be apart. The server that deletes the resources of a definition need not be the
// one that was asked to delete the definition.
const clockSkew = 30 * time.Second

// A crdGuard protects the resources of a kind. When the kind's definition is deleted, as when the package is uninstalled, Kubernetes deletes all
// resources of the kind, although no user has requested the destruction of what they stand for.
type crdGuard struct {
	// reader reads from the API server. A cache could receive the deletion of a resource before that of its definition. May be nil.
	reader client.Reader
	mapper meta.RESTMapper

	// requested has the UIDs of resources that were deleted while their definition existed and was not being deleted, which does not change later.
	// Reading the definition of a large kind costs an API server as much as several writes. May be nil.
	requested *lru.Cache
	// listed returns the resources of the kind in the cache, which must not be changed. One read of the definition covers all that were deleted before.
	// May be nil without requested.
	listed func(context.Context) ([]resource.Managed, error)
	// discovery replaces the reader if the provider may not read definitions. Without either, nothing is known.
	discovery discovery.ServerResourcesInterface
	// writer marks resources. It is needed with discovery.
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

// isRequested reports whether the deletion of a resource is known to have been requested.
func (d crdGuard) isRequested(mg resource.Managed) bool {
	if d.requested == nil || mg.GetUID() == "" {
		return false
	}
	_, is := d.requested.Get(mg.GetUID())
	return is
}

// deleted returns the resources that are being deleted according to the cache.
func (d crdGuard) deleted(ctx context.Context) []resource.Managed {
	if d.requested == nil {
		return nil
	}
	all, err := d.listed(ctx)
	if err != nil {
		// The definition is then read for each resource.
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

// remember records which resources, deleted before the definition was read, were deleted by request.
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

// isDeletedWith returns an error if a resource that was deleted at a time was deleted because its definition is, or was, being deleted. By the times
// of both, it also protects a resource that was deleted shortly before its definition.
func isDeletedWith(crd *metav1.PartialObjectMetadata, asked *metav1.Time) error {
	switch {
	case !crd.CreationTimestamp.Before(asked):
		return errKept(crd.GetName(), "is younger than the deletion of this resource")
	case crd.DeletionTimestamp == nil || asked.Add(clockSkew).Before(crd.DeletionTimestamp.Time):
		return nil
	}
	return errKept(crd.GetName(), "is being deleted")
}

// isWithdrawn asks which verbs the API server offers for the kind. While a definition is being deleted, its resources cannot be created. The verbs do
// not show since when, so that resources deleted earlier are protected too. They are marked, because Crossplane 1 may install a new definition in
// place of one that is being deleted.
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

// markOrphaned marks a resource as orphaned that stays although its definition is being deleted.
func (d crdGuard) markOrphaned(ctx context.Context, mg resource.Managed) error {
	before, ok := mg.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", mg)
	}
	xpmeta.AddAnnotations(mg, map[string]string{AnnotationOrphaned: "true"})
	return d.writer.Patch(ctx, mg, client.MergeFrom(before))
}

// awaitDiscovery waits until a deletion is old enough for discovery to know its cause. It never waits longer than settlingTime, however wrong clocks
// are.
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

// guardedConnector connects to objects that are not destroyed merely because their kind is deleted.
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

// Delete deletes with the next client if the deletion was requested.
func (c guardedClient[T]) Delete(ctx context.Context, mg T) (managed.ExternalDelete, error) {
	if err := c.crd.deletedWithCRD(ctx, mg); err != nil {
		return managed.ExternalDelete{}, err
	}
	return c.TypedExternalClient.Delete(ctx, mg)
}

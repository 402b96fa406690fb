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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A definition of a kind. When it is deleted, as it is when the package is
// uninstalled, Kubernetes deletes all resources of the kind. Nobody has asked then
// to destroy what they stand for.
type definition struct {
	// reader asks the API server itself: a cache could know of the deletion of a
	// resource before that of its definition. Without it nothing is known.
	reader client.Reader
	mapper meta.RESTMapper
	kind   schema.GroupVersionKind
}

// departs returns an error if a resource is deleted only because its definition
// is.
func (d definition) departs(ctx context.Context, mg resource.Managed) error {
	asked := mg.GetDeletionTimestamp()
	if d.reader == nil || asked == nil {
		return nil
	}
	mapping, err := d.mapper.RESTMapping(d.kind.GroupKind(), d.kind.Version)
	if err != nil {
		return errors.Wrap(err, "cannot tell whether the kind is being deleted")
	}
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	name := mapping.Resource.GroupResource().String()
	err = d.reader.Get(ctx, client.ObjectKey{Name: name}, crd)
	if kerrors.IsNotFound(err) {
		return errors.Errorf("cannot find the definition %q", name)
	}
	if err != nil {
		return errors.Wrap(err, "cannot tell whether the kind is being deleted")
	}
	if crd.DeletionTimestamp == nil || asked.Before(crd.DeletionTimestamp) {
		return nil
	}
	return errors.Errorf("the definition %q is being deleted, which does not ask to destroy what was made: "+
		"it stays in Proxmox VE until it is destroyed there, and this resource until then or until its finalizers are removed", name)
}

// keepingConnector connects to what is not destroyed just because its kind goes.
type keepingConnector[T resource.Managed] struct {
	next       managed.TypedExternalConnector[T]
	definition definition
}

// Connect with the next connector.
func (c keepingConnector[T]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	external, err := c.next.Connect(ctx, mg)
	if err != nil {
		return nil, err
	}
	return keepingClient[T]{TypedExternalClient: external, definition: c.definition}, nil
}

type keepingClient[T resource.Managed] struct {
	managed.TypedExternalClient[T]

	definition definition
}

// Delete with the next client what somebody has asked to delete.
func (c keepingClient[T]) Delete(ctx context.Context, mg T) (managed.ExternalDelete, error) {
	if err := c.definition.departs(ctx, mg); err != nil {
		return managed.ExternalDelete{}, err
	}
	return c.TypedExternalClient.Delete(ctx, mg)
}

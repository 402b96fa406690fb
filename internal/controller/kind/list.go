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
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// List returns the resources of the kind of an empty list, which stays empty and may be shared.
// A kind that is not installed has no resources.
func List(ctx context.Context, from client.Reader, empty resource.ManagedList, opts ...client.ListOption) ([]resource.Managed, error) {
	list, ok := empty.DeepCopyObject().(resource.ManagedList)
	if !ok {
		return nil, errors.Errorf("cannot copy a %T", empty)
	}
	switch err := from.List(ctx, list, opts...); {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, errors.Wrapf(err, "cannot list a %T", empty)
	}
	return list.GetItems(), nil
}

// ListCached is List without copies: the resources are those of the cache and must not be changed.
func ListCached(ctx context.Context, from client.Reader, empty resource.ManagedList, opts ...client.ListOption) ([]resource.Managed, error) {
	return List(ctx, from, empty, append(opts[:len(opts):len(opts)], client.UnsafeDisableDeepCopy)...)
}

// OnDeleted has fn called with each object of a kind that goes from a cache.
func OnDeleted(all cache.Informers, of client.Object, fn func(gone client.Object)) error {
	informer, err := all.GetInformer(context.Background(), of, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(gone any) {
		if last, ok := gone.(toolscache.DeletedFinalStateUnknown); ok {
			gone = last.Obj
		}
		if o, ok := gone.(client.Object); ok {
			fn(o)
		}
	}})
	return err
}

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
	"reflect"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// List returns the resources of a kind, given an empty list of it, which stays empty and may be shared. A kind that is not installed has no
// resources.
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

// ListCached is List without copies: the resources belong to the cache and must not be changed.
func ListCached(ctx context.Context, from client.Reader, empty resource.ManagedList, opts ...client.ListOption) ([]resource.Managed, error) {
	if s, ok := from.(storeReader); ok {
		if all, ok := s.stored(ctx, empty, opts); ok {
			return all, nil
		}
	}
	return List(ctx, from, empty, append(opts[:len(opts):len(opts)], client.UnsafeDisableDeepCopy)...)
}

// ListAll is ListCached for several kinds at the same time. An API server may take a tenth of a second for each list that is not cached.
func ListAll(ctx context.Context, from client.Reader, empty []resource.ManagedList) ([]resource.Managed, error) {
	listed := make([][]resource.Managed, len(empty))
	g, ctx := errgroup.WithContext(ctx)
	for i, list := range empty {
		g.Go(func() (err error) {
			listed[i], err = ListCached(ctx, from, list)
			return err
		})
	}
	err := g.Wait()
	return slices.Concat(listed...), err
}

// CachedLister returns a function that calls ListCached.
func CachedLister(from client.Reader, empty resource.ManagedList) func(context.Context) ([]resource.Managed, error) {
	return func(ctx context.Context) ([]resource.Managed, error) { return ListCached(ctx, from, empty) }
}

// NewClient creates a client for a manager. Its cached lists are not copied into a list object, which takes some megabytes each time with thousands
// of Machines.
func NewClient(cfg *rest.Config, o client.Options) (client.Client, error) {
	c, err := client.New(cfg, o)
	if err != nil || o.Cache == nil {
		return c, err
	}
	informers, ok := o.Cache.Reader.(cache.Informers)
	if !ok {
		return c, nil
	}
	return storeClient{Client: c, informers: informers}, nil
}

// A storeReader reads lists from the stores of informers.
type storeReader interface {
	// stored returns the contents of a store, if they can be listed with the options.
	stored(ctx context.Context, empty resource.ManagedList, opts []client.ListOption) ([]resource.Managed, bool)
}

type storeClient struct {
	client.Client

	informers cache.Informers
}

func (c storeClient) stored(ctx context.Context, empty resource.ManagedList, opts []client.ListOption) ([]resource.Managed, bool) {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	item, ok := itemOf(empty)
	if !ok || o.LabelSelector != nil || o.Limit > 0 || o.Continue != "" {
		return nil, false
	}
	informer, err := c.informers.GetInformer(ctx, item)
	if err != nil {
		return nil, false // An ordinary list reports the error.
	}
	store, ok := informer.(interface{ GetIndexer() toolscache.Indexer })
	if !ok {
		return nil, false
	}
	items, ok := itemsIn(store.GetIndexer(), o)
	if !ok {
		return nil, false
	}
	all := make([]resource.Managed, 0, len(items))
	for _, item := range items {
		if mg, ok := item.(resource.Managed); ok {
			all = append(all, mg)
		}
	}
	return all, len(all) == len(items)
}

// itemsIn returns the objects that a store has in a namespace, by an index, or in total. It returns false if the store has no such index.
func itemsIn(store toolscache.Indexer, o *client.ListOptions) ([]any, bool) {
	switch {
	case o.FieldSelector == nil && o.Namespace == "":
		return store.List(), true
	case o.FieldSelector == nil:
		found, err := store.ByIndex(toolscache.NamespaceIndex, o.Namespace)
		return found, err == nil
	case o.Namespace != "":
		return nil, false
	}
	fields := o.FieldSelector.Requirements()
	if len(fields) != 1 || fields[0].Operator != selection.Equals {
		return nil, false
	}
	found, err := store.ByIndex(fields[0].Field, fields[0].Value)
	return found, err == nil
}

// itemOf returns an empty object of the kind of a list.
func itemOf(list resource.ManagedList) (client.Object, bool) {
	items := reflect.Indirect(reflect.ValueOf(list)).FieldByName("Items")
	if !items.IsValid() || items.Kind() != reflect.Slice {
		return nil, false
	}
	o, ok := reflect.New(items.Type().Elem()).Interface().(client.Object)
	return o, ok
}

// Index lets ListCached find the objects of a kind by the values of a field, with client.MatchingFields of that field only. An index of the manager
// would store each value twice, the second time with its namespace.
func Index(all cache.Informers, of client.Object, field string, values client.IndexerFunc) error {
	informer, err := all.GetInformer(context.Background(), of, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return informer.AddIndexers(toolscache.Indexers{field: func(obj any) ([]string, error) {
		o, _ := obj.(client.Object)
		return values(o), nil
	}})
}

// OnDeleted calls fn with each object of a kind that is removed from a cache.
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

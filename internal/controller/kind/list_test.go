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
	"fmt"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitistack/provider-proxmox/apis"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

func TestList(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	errForbidden := errors.New("forbidden")
	pool := &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p"}}
	cases := map[string]struct {
		reason string
		fails  error
		want   []string
		err    error
	}{
		"Found":        {reason: "What is there is listed.", want: []string{"p"}},
		"NotInstalled": {reason: "A kind that is not installed has no resources.", fails: &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Pool"}}},
		"Fails":        {reason: "Any other error is told.", fails: errForbidden, err: errForbidden},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pool).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if tc.fails != nil {
						return tc.fails
					}
					return c.List(ctx, list, opts...)
				},
			}).Build()
			shared := &namespaced.PoolList{}
			for call, list := range []func(context.Context, client.Reader, resource.ManagedList, ...client.ListOption) ([]resource.Managed, error){List, ListCached} {
				all, err := list(t.Context(), kube, shared)
				if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
					t.Errorf("\n%s\n%d: -want error, +got error:\n%s", tc.reason, call, diff)
				}
				var names []string
				for _, mg := range all {
					names = append(names, mg.GetName())
				}
				if diff := cmp.Diff(tc.want, names); diff != "" {
					t.Errorf("\n%s\n%d: -want, +got:\n%s", tc.reason, call, diff)
				}
			}
			if diff := cmp.Diff(&namespaced.PoolList{}, shared); diff != "" {
				t.Errorf("the shared list is changed:\n%s", diff)
			}
		})
	}
}

// informersOf has the store of one kind.
type informersOf struct {
	cache.Informers

	informer cache.Informer
}

func (i informersOf) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return i.informer, nil
}

// storedPools returns Pools in the store of an informer, half of them in another namespace.
func storedPools(t *testing.T, n int) storeClient {
	t.Helper()
	indexers := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
	informer := toolscache.NewSharedIndexInformer(&toolscache.ListWatch{}, &namespaced.Pool{}, 0, indexers)
	first := func(o client.Object) []string { return []string{o.GetName()[:2]} }
	if err := Index(informersOf{informer: informer}, &namespaced.Pool{}, "first", first); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		p := &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"a", "b"}[i%2], Name: fmt.Sprintf("p%d", i)}}
		if err := informer.GetIndexer().Add(p); err != nil {
			t.Fatal(err)
		}
	}
	none := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
	return storeClient{Client: none, informers: informersOf{informer: informer}}
}

func TestListStored(t *testing.T) {
	kube := storedPools(t, 4)
	shard := Shard{Configurations: []string{"elsewhere"}}
	cases := map[string]struct {
		reason string
		from   client.Reader
		opts   []client.ListOption
		want   []string
	}{
		"All": {reason: "The store is listed.", from: kube, want: []string{"p0", "p1", "p2", "p3"}},
		"Namespace": {
			reason: "What is stored in one namespace is listed.",
			from:   kube, opts: []client.ListOption{client.InNamespace("b")}, want: []string{"p1", "p3"},
		},
		"Field": {
			reason: "What has a value in an index is listed, of all namespaces.",
			from:   kube, opts: []client.ListOption{client.MatchingFields{"first": "p1"}}, want: []string{"p1"},
		},
		"Empty":  {reason: "A namespace may have none.", from: kube, opts: []client.ListOption{client.InNamespace("c")}},
		"Labels": {reason: "Whatever else is asked for the client answers.", from: kube, opts: []client.ListOption{client.MatchingLabels{"a": "b"}}},
		"Share":  {reason: "A share that has no resources lists none.", from: shard.Client(kube)},
		"Whole":  {reason: "The whole is all.", from: Shard{}.Client(kube), want: []string{"p0", "p1", "p2", "p3"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := ListCached(t.Context(), tc.from, &namespaced.PoolList{}, tc.opts...)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, mg := range all {
				names = append(names, mg.GetName())
			}
			slices.Sort(names)
			if diff := cmp.Diff(tc.want, names); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestListCost limits the cost of a list of many Machines, which each creation of a Machine requests: one reference to each, and no copy.
func TestListCost(t *testing.T) {
	const n, each = 2000, 64
	kube := storedPools(t, n)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	all, err := ListCached(t.Context(), kube, &namespaced.PoolList{})
	goruntime.ReadMemStats(&after)
	if err != nil || len(all) != n {
		t.Fatalf("want %d, got %d: %v", n, len(all), err)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) / n; got > each {
		t.Errorf("want at most %d bytes for each that is listed, got %d", each, got)
	}
}

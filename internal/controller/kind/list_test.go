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
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

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
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// A referring Machine finds a name, or fails.
type referring struct {
	*namespaced.Machine

	found *string
	err   error
}

func (r referring) DeepCopyObject() runtime.Object {
	r.Machine = r.DeepCopy()
	return r
}

func (r referring) ResolveReferences(context.Context, client.Reader) error {
	r.SetLabels(map[string]string{}) // As good as none.
	r.Spec.ForProvider.Name = r.found
	return r.err
}

func TestResolver(t *testing.T) {
	broken := errors.New("no such Machine")
	cases := map[string]struct {
		reason  string
		found   *string
		err     error
		written bool
	}{
		"Nothing":  {reason: "What stays as it was in all that counts is not written."},
		"Resolved": {reason: "What changes is.", found: new("found"), written: true},
		"Broken":   {reason: "What cannot be resolved is told.", found: new("found"), err: broken},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			written := false
			r := resolver{next: managed.ReferenceResolverFn(func(context.Context, resource.Managed) error { written = true; return nil })}
			m := referring{Machine: &namespaced.Machine{}, found: tc.found, err: tc.err}
			err := r.ResolveReferences(t.Context(), m)
			if !errors.Is(err, tc.err) || written != tc.written {
				t.Errorf("\n%s\nResolveReferences(): got %v, written %t", tc.reason, err, written)
			}
			if m.Spec.ForProvider.Name != nil {
				t.Errorf("\n%s\nResolveReferences() must change nothing by itself", tc.reason)
			}
		})
	}
	if err := (resolver{}).ResolveReferences(t.Context(), &namespaced.ProxmoxNode{}); err != nil {
		t.Errorf("A kind without references has nothing to resolve: %v", err)
	}
}

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
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A resolver resolves references only if that changes the resource.
// crossplane-runtime's, which it has write what is resolved, compares by reflection
// in a way that costs more than all that a look at a resource takes otherwise.
type resolver struct {
	kube client.Reader
	next managed.ReferenceResolver
}

func newResolver(kube client.Client) resolver {
	return resolver{kube: kube, next: managed.NewAPISimpleReferenceResolver(kube)}
}

// ResolveReferences of the resource, if it has any that are not resolved yet.
func (r resolver) ResolveReferences(ctx context.Context, mg resource.Managed) error {
	resolved, ok := mg.DeepCopyObject().(interface {
		ResolveReferences(ctx context.Context, c client.Reader) error
	})
	if !ok {
		return nil // It can have none.
	}
	if err := resolved.ResolveReferences(ctx, r.kube); err != nil {
		return errors.Wrap(err, "cannot resolve references")
	}
	if equality.Semantic.DeepEqual(mg, resolved) {
		return nil
	}
	return r.next.ResolveReferences(ctx, mg)
}

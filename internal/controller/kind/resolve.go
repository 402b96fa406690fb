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
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A resolver resolves references and writes what that has changed, as a change of the resource as it was read. crossplane-runtime's
// applies what each time has brought as all that it has to say, so that what is resolved in two steps, first the Machine and once that is
// there its provider configuration, would go back and forth.
type resolver struct{ kube client.Client }

// ResolveReferences resolves the references of the resource, if it has any that are not resolved yet.
func (r resolver) ResolveReferences(ctx context.Context, mg resource.Managed) error {
	refers, ok := mg.(referrer)
	if !ok {
		return nil // It can have none.
	}
	before, ok := mg.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", mg)
	}
	if err := refers.ResolveReferences(ctx, r.kube); err != nil {
		return errors.Wrap(err, "cannot resolve references")
	}
	if equality.Semantic.DeepEqual(before, mg) {
		return nil
	}
	err := r.kube.Patch(ctx, mg, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return errors.Wrap(err, "cannot write what is resolved")
}

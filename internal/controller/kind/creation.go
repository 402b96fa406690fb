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

	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// creationOptions save one write per new resource, and write the outcome of a creation even during a shutdown.
func creationOptions(kube client.Client, o Options) []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		managed.WithFinalizer(creationFinalizer{
			Finalizer: resource.NewAPIFinalizer(kube, managed.FinalizerName), policies: o.Features.Enabled(feature.EnableBetaManagementPolicies),
		}),
		managed.WithCriticalAnnotationUpdater(managed.CriticalAnnotationUpdateFn(func(ctx context.Context, mg client.Object) error {
			return AfterCall(ctx, func(ctx context.Context) error {
				return managed.NewRetryingCriticalAnnotationUpdater(kube).UpdateCriticalAnnotations(ctx, mg)
			})
		})),
	}
}

// A creationFinalizer does not write the finalizer of a resource that is about to be created. crossplane-runtime writes the finalizer with the next
// write, together with the annotation that the creation is pending, before anything is created.
type creationFinalizer struct {
	resource.Finalizer

	// policies is true if management policies are enabled.
	policies bool
}

// AddFinalizer adds the finalizer, in memory only if a creation follows.
func (f creationFinalizer) AddFinalizer(ctx context.Context, o resource.Object) error {
	if of, ok := ctx.Value(outcomeKey{}).(*outcome); ok && of.missing && f.mayCreate(o) {
		meta.AddFinalizer(o, managed.FinalizerName)
		return nil
	}
	return f.Finalizer.AddFinalizer(ctx, o)
}

func (f creationFinalizer) mayCreate(o resource.Object) bool {
	mg, ok := o.(resource.Managed)
	return ok && managed.NewManagementPoliciesResolver(f.policies, mg.GetManagementPolicies()).ShouldCreate()
}

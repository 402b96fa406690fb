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

package connect

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// A tracker records which resource uses which provider configuration.
type tracker struct {
	kube   client.Client
	legacy resource.LegacyTracker
	modern resource.ModernTracker
}

func newTracker(kube client.Client) tracker {
	return tracker{
		kube:   kube,
		legacy: resource.NewLegacyProviderConfigUsageTracker(kube, &cluster.ProviderConfigUsage{}),
		modern: resource.NewProviderConfigUsageTracker(kube, &namespaced.ProviderConfigUsage{}),
	}
}

// track records that the resource uses the configuration, which may differ from the one that it names.
func (t tracker) track(ctx context.Context, mg resource.Managed, r reference) error {
	gvk, err := apiutil.GVKForObject(mg, t.kube.Scheme())
	if err != nil {
		return err
	}
	empty, err := t.kube.Scheme().New(gvk)
	if err != nil {
		return err
	}
	user, ok := empty.(resource.Managed)
	if !ok {
		return errors.Errorf("cannot track a %T", mg)
	}
	user.SetNamespace(mg.GetNamespace())
	user.SetName(mg.GetName())
	user.SetUID(mg.GetUID())
	user.GetObjectKind().SetGroupVersionKind(gvk)
	// A usage that was just written may not be in the cache yet, but it exists.
	return resource.Ignore(kerrors.IsAlreadyExists, t.apply(ctx, user, r))
}

func (t tracker) apply(ctx context.Context, user resource.Managed, r reference) error {
	switch user := user.(type) {
	case resource.ModernManaged:
		user.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: r.kind.Kind, Name: r.name})
		return t.modern.Track(ctx, user)
	case resource.LegacyManaged:
		user.SetProviderConfigReference(&xpv2.Reference{Name: r.name})
		return t.legacy.Track(ctx, user)
	default:
		return errors.Errorf("cannot track a %T", user)
	}
}

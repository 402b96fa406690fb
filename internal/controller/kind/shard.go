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
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A Shard is the part of all resources that one of several providers manages. The zero Shard is all of them.
//
// The provider does not change the other resources, but reads them: whether a VMID is claimed, what is planned for a node, and which VMs must be kept
// apart depend on all resources of a PVE cluster.
type Shard struct {
	// Selector matches the labels of the resources. Nil matches all. Provider
	// configurations need no labels.
	Selector labels.Selector

	// Configurations are the names of the provider configurations, of any kind and namespace, that the provider checks and whose resources it manages.
	// None means any.
	Configurations []string
}

// defaultConfiguration is the provider configuration of resources that name none.
const defaultConfiguration = "default"

// Whole reports whether the Shard is all resources.
func (s Shard) Whole() bool { return s.Selector == nil && len(s.Configurations) == 0 }

// Has reports whether the resource is part of the Shard.
func (s Shard) Has(o client.Object) bool {
	if s.Selector != nil && !s.Selector.Matches(labels.Set(o.GetLabels())) {
		return false
	}
	return s.hasConfiguration(configurationOf(o))
}

// Labels returns the labels that make a resource part of the Shard. Another resource with these labels is part of it too.
func (s Shard) Labels(of client.Object) map[string]string {
	found := map[string]string{}
	if s.Selector == nil {
		return found
	}
	requirements, _ := s.Selector.Requirements()
	for _, r := range requirements {
		if value, ok := of.GetLabels()[r.Key()]; ok {
			found[r.Key()] = value
		}
	}
	return found
}

// hasConfiguration reports whether provider configurations of this name are part of the Shard.
func (s Shard) hasConfiguration(name string) bool {
	return len(s.Configurations) == 0 || slices.Contains(s.Configurations, name)
}

func configurationOf(o client.Object) string {
	switch mg := o.(type) {
	case resource.ModernManaged:
		if ref := mg.GetProviderConfigReference(); ref != nil {
			return ref.Name
		}
	case resource.LegacyManaged:
		if ref := mg.GetProviderConfigReference(); ref != nil {
			return ref.Name
		}
	}
	return defaultConfiguration
}

// Predicate returns the predicate for events of resources that are part of the Shard, or may turn out to be. A resource that names no provider
// configuration may have that of its Machine.
func (s Shard) Predicate() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return s.Has(o) || unconfigured(o) })
}

// A referrer resolves its references.
type referrer interface {
	resource.Managed

	ResolveReferences(ctx context.Context, c client.Reader) error
}

// unconfigured reports whether a resource names no provider configuration, and may take that of a resource that it refers to.
func unconfigured(o client.Object) bool {
	mg, ok := o.(referrer)
	return ok && !v1alpha1.NamesConfiguration(mg)
}

// hasResolved reports whether a resource is part of the Shard once its references are resolved. It resolves them in the given copy.
func (s Shard) hasResolved(ctx context.Context, kube client.Reader, o client.Object) (bool, error) {
	if mg, ok := o.(referrer); ok && unconfigured(mg) && !xpmeta.WasDeleted(mg) {
		if err := mg.ResolveReferences(ctx, kube); err != nil {
			return false, errors.Wrap(err, "cannot find out whose the resource is")
		}
	}
	return s.Has(o), nil
}

// ConfigurationPredicate returns the predicate for events of provider configurations.
func (s Shard) ConfigurationPredicate() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return s.hasConfiguration(o.GetName()) })
}

// Reconciler returns the reconciler for the resources of the Shard. A queued resource may have become part of another Shard meanwhile.
func (s Shard) Reconciler(kube client.Reader, empty client.Object, next reconcile.Reconciler) reconcile.Reconciler {
	if s.Whole() {
		return next
	}
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		o, ok := empty.DeepCopyObject().(client.Object)
		if !ok {
			return reconcile.Result{}, errors.Errorf("cannot copy a %T", empty)
		}
		if err := kube.Get(ctx, r.NamespacedName, o); err != nil {
			return reconcile.Result{}, errors.Wrap(client.IgnoreNotFound(err), "cannot find out whose the resource is")
		}
		if has, err := s.hasResolved(ctx, kube, o); err != nil || !has {
			return reconcile.Result{}, err
		}
		return next.Reconcile(ctx, r)
	})
}

// Client returns a client whose lists of managed resources contain only those of the Shard. They are not copied from the cache, so they must not be
// changed.
func (s Shard) Client(kube client.Client) client.Client { return shardReader{Client: kube, shard: s} }

type shardReader struct {
	client.Client

	shard Shard
}

func (c shardReader) stored(ctx context.Context, empty resource.ManagedList, opts []client.ListOption) ([]resource.Managed, bool) {
	next, ok := c.Client.(storeReader)
	if !ok {
		return nil, false
	}
	all, ok := next.stored(ctx, empty, opts)
	return slices.DeleteFunc(all, func(mg resource.Managed) bool { return !c.shard.Has(mg) }), ok
}

// List lists the resources of the Shard.
func (c shardReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, append(slices.Clip(opts), client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	if c.shard.Whole() {
		return nil
	}
	all, err := meta.ExtractList(list)
	if err != nil {
		return errors.Wrap(err, "cannot tell whose resources are listed")
	}
	return meta.SetList(list, slices.DeleteFunc(all, func(o runtime.Object) bool {
		mg, ok := o.(client.Object)
		return ok && !c.shard.Has(mg)
	}))
}

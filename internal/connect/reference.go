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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A reference names a provider configuration.
type reference struct {
	kind            schema.GroupKind
	namespace, name string
}

// referenceOf returns the configuration that the resource names. For a cluster-scoped resource this is a ProviderConfig of its group, for a namespaced
// one a ProviderConfig of its namespace or a ClusterProviderConfig.
func referenceOf(mg resource.Managed) (reference, error) {
	switch mg := mg.(type) {
	case resource.ModernManaged:
		return namespacedReference(mg)
	case resource.LegacyManaged:
		r := reference{kind: cluster.ProviderConfigGroupVersionKind.GroupKind(), name: DefaultName}
		if ref := mg.GetProviderConfigReference(); ref != nil {
			r.name = ref.Name
		}
		return r, nil
	default:
		return reference{}, errors.Errorf("cannot find the provider configuration of a %T", mg)
	}
}

// KeyOf returns the provider configuration that a resource names.
func KeyOf(mg resource.Managed) (Key, error) {
	r, err := referenceOf(mg)
	return Key{ObjectKey: r.key(), Kind: r.kind}, err
}

// Resolve returns the provider configuration that is used for a named one: the one that replaces a missing one named default, or itself.
func (c *Connector) Resolve(ctx context.Context, k Key) (Key, error) {
	r, _, err := c.resolve(ctx, k.reference())
	return Key{ObjectKey: r.key(), Kind: r.kind}, err
}

// A Configuration is a provider configuration that exists.
type Configuration struct {
	Key

	// Spec of the configuration.
	Spec *v1alpha1.ProviderConfigSpec
}

// Existing returns the provider configurations that are used for the named ones, like Resolve, without those that do not exist.
func (c *Connector) Existing(ctx context.Context, named ...Key) ([]Configuration, error) {
	var found []Configuration
	for _, k := range named {
		r, spec, err := c.resolve(ctx, k.reference())
		if missing := (missingError{}); errors.As(err, &missing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, Configuration{Key: Key{ObjectKey: r.key(), Kind: r.kind}, Spec: spec})
	}
	return found, nil
}

func namespacedReference(mg resource.ModernManaged) (reference, error) {
	ref := mg.GetProviderConfigReference()
	if ref == nil {
		ref = &xpv2.ProviderConfigReference{Kind: namespaced.ClusterProviderConfigKind, Name: DefaultName}
	}
	r := reference{kind: namespaced.SchemeGroupVersion.WithKind(ref.Kind).GroupKind(), name: ref.Name}
	switch ref.Kind {
	case namespaced.ProviderConfigKind:
		r.namespace = mg.GetNamespace()
	case namespaced.ClusterProviderConfigKind:
	default:
		return reference{}, errors.Errorf("spec.providerConfigRef.kind is %q: only %s and %s are known",
			ref.Kind, namespaced.ProviderConfigKind, namespaced.ClusterProviderConfigKind)
	}
	return r, nil
}

// get reads the configuration that is named.
func (r reference) get(ctx context.Context, kube client.Reader) (*v1alpha1.ProviderConfigSpec, error) {
	o, spec := r.empty()
	return spec, kube.Get(ctx, r.key(), o)
}

// leaves reports whether the configuration is being deleted, or no longer exists.
func (r reference) leaves(ctx context.Context, kube client.Reader) bool {
	o, _ := r.empty()
	err := kube.Get(ctx, r.key(), o)
	return kerrors.IsNotFound(err) || err == nil && o.GetDeletionTimestamp() != nil
}

func (r reference) key() client.ObjectKey {
	return client.ObjectKey{Namespace: r.namespace, Name: r.name}
}

// empty returns a configuration of the kind, and its spec.
func (r reference) empty() (client.Object, *v1alpha1.ProviderConfigSpec) {
	switch r.kind {
	case cluster.ProviderConfigGroupVersionKind.GroupKind():
		pc := &cluster.ProviderConfig{}
		return pc, &pc.Spec
	case namespaced.ProviderConfigGroupVersionKind.GroupKind():
		pc := &namespaced.ProviderConfig{}
		return pc, &pc.Spec
	default:
		pc := &namespaced.ClusterProviderConfig{}
		return pc, &pc.Spec
	}
}

// explain explains an error of get.
func (r reference) explain(err error) error {
	if kerrors.IsNotFound(err) {
		return missingError{r}
	}
	return errors.Wrapf(err, "cannot get %s", r)
}

// String returns the reference in a form for sentences: ProviderConfig "team-a/default".
func (r reference) String() string { return r.kind.Kind + " " + quoted(r.namespace, r.name) }

// path returns the reference in a form for logs and labels: ProviderConfig/team-a/default.
func (r reference) path() string { return r.kind.Kind + "/" + join(r.namespace, r.name) }

func join(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func quoted(namespace, name string) string { return `"` + join(namespace, name) + `"` }

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
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
)

// A resolver resolves references and writes the result as a change of the resource as it was read. The resolver of crossplane-runtime applies the
// result of each reconcile as its complete set of fields. Values that are resolved in two steps (first the Machine, then the Machine's provider
// configuration) would therefore be set and removed in turn.
type resolver struct {
	kube client.Client

	// sameTenant returns a function that reports whether a resource may refer to a Machine or an Image. With nil, it may refer to all of them.
	sameTenant func(context.Context) connect.SameTenantFunc
}

// SameTenant returns a function that reports, for one reconcile, whether a resource may refer to a Machine or an Image. It is nil without
// connections.
func (o Options) SameTenant() func(context.Context) connect.SameTenantFunc {
	if o.Connections == nil {
		return nil
	}
	return func(ctx context.Context) connect.SameTenantFunc { return o.Connections.Isolation(ctx, nil).SameTenant }
}

// ResolveReferences resolves the references of the resource that are not resolved yet.
func (r resolver) ResolveReferences(ctx context.Context, mg resource.Managed) error {
	refers, ok := mg.(referrer)
	if !ok || refersToNothing(mg) {
		return nil
	}
	before, ok := mg.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", mg)
	}
	var from client.Reader = r.kube
	if r.sameTenant != nil && mg.GetNamespace() == "" {
		from = tenantReader{Client: r.kube, of: mg, sameTenant: r.sameTenant(ctx)}
	}
	if err := refers.ResolveReferences(ctx, from); err != nil {
		return errors.Wrap(err, "cannot resolve references")
	}
	if equality.Semantic.DeepEqual(before, mg) {
		return nil
	}
	err := r.kube.Patch(ctx, mg, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return errors.Wrap(err, "cannot write what is resolved")
}

// refersToNothing reports whether a resource is a Machine without references. Almost all Machines are, and they are reconciled often, so they are not
// copied to see that nothing has changed.
func refersToNothing(mg resource.Managed) bool {
	m, is := mg.(interface {
		Parameters() *v1alpha1.MachineParameters
	})
	return is && !m.Parameters().HasReferences()
}

// A tenantReader does not find Machines and Images of other tenants, so that none of their data gets into a resource that refers to one.
type tenantReader struct {
	client.Client

	of         resource.Managed
	sameTenant connect.SameTenantFunc
}

// Get reads an object. An object of another tenant is not found. A Machine may name an object of operators, such as a template for all tenants.
func (r tenantReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := r.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	of := ofTenant(o)
	if of == nil {
		return nil
	}
	same, operators := r.sameTenant(r.of, of)
	if same || operators && ofTenant(r.of) != nil {
		return nil
	}
	gvk, err := r.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	return kerrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
}

// List lists the objects, except those of other tenants. Images of operators are available to all tenants.
func (r tenantReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := r.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	all, err := apimeta.ExtractList(list)
	if err != nil {
		return errors.Wrapf(err, "cannot read a %T", list)
	}
	return errors.Wrapf(apimeta.SetList(list, slices.DeleteFunc(all, func(o runtime.Object) bool {
		of := ofTenant(o)
		if of == nil {
			return false
		}
		same, operators := r.sameTenant(r.of, of)
		return !same && (!operators || isMachine(of))
	})), "cannot leave those of other tenants out of a %T", list)
}

// ofTenant returns an object that is a Machine or an Image, which belong to tenants; nil for other objects.
func ofTenant(o runtime.Object) resource.Managed {
	mg, managed := o.(resource.Managed)
	_, image := o.(interface {
		Observation() *v1alpha1.ImageObservation
	})
	if !managed || !image && !isMachine(mg) {
		return nil
	}
	return mg
}

func isMachine(mg resource.Managed) bool {
	_, is := mg.(interface {
		Observation() *v1alpha1.MachineObservation
	})
	return is
}

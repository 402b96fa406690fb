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

// Package images reads the Images that Machines name, creates those of their URLs, and wakes the Machines that wait for an Image.
package images

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// A Reader reads the Images that Machines of one scope name, and creates those of their URLs. It queries only the Kubernetes API.
type Reader struct {
	Kube   client.Client
	Object client.Object // An empty Image of the scope.

	// MachineKind is the kind of the Machines.
	MachineKind schema.GroupVersionKind

	// Tenant returns the tenant of a Machine, or nil if it may do everything, and the provider configuration that it names. If Tenant is nil, there are
	// no tenants.
	Tenant func(context.Context, resource.Managed) (*tenancy.Tenant, *v1alpha1.ProviderConfigSpec, error)

	// SameTenant returns a function that reports whether a Machine may know of an Image. If it is nil, Machines may know of all Images.
	SameTenant func(context.Context) connect.SameTenantFunc
}

// tenantOf returns the tenant of a cluster-scoped Machine, and its provider configuration. Namespaced Machines share no Image with those of other
// namespaces.
func (r Reader) tenantOf(ctx context.Context, m object.Machine) (*tenancy.Tenant, *v1alpha1.ProviderConfigSpec, error) {
	if r.Tenant == nil || m.GetNamespace() != "" {
		return nil, &v1alpha1.ProviderConfigSpec{}, nil
	}
	return r.Tenant(ctx, m)
}

// Reference returns which Image the spec of a Machine asks for, and whether it names one. The Image of a URL is the tenant's own.
func (r Reader) Reference(ctx context.Context, m object.Machine) (ref imageref.Reference, names bool, err error) {
	ref, names = imageref.Of(m)
	if !names || !imageref.AsksForURL(m) {
		return ref, names, nil
	}
	t, _, err := r.tenantOf(ctx, m)
	ref.Name = imageref.TenantName(ref.Name, tenancy.ImagesOf(t).Prefix())
	return ref, true, err
}

// knows reports whether a Machine may know of an Image. Images of other tenants do not exist for it.
func (r Reader) knows(ctx context.Context, m object.Machine, image imageref.Image) bool {
	if r.SameTenant == nil || m.GetNamespace() != "" {
		return true
	}
	same, operators := r.SameTenant(ctx)(m, image)
	return same || operators
}

// get reads an Image of the Machine's namespace, or returns nil if there is none.
func (r Reader) get(ctx context.Context, m object.Machine, name string) (imageref.Image, error) {
	image, err := r.empty()
	if err != nil {
		return nil, err
	}
	err = r.Kube.Get(ctx, types.NamespacedName{Namespace: m.GetNamespace(), Name: name}, image)
	if kerrors.IsNotFound(err) {
		return nil, nil
	}
	return image, errors.Wrapf(err, "cannot read image %q", name)
}

func (r Reader) empty() (imageref.Image, error) {
	if r.Object == nil {
		return nil, errors.New("cannot read Images: their kind is not known")
	}
	image, ok := r.Object.DeepCopyObject().(imageref.Image)
	if !ok {
		return nil, errors.Errorf("cannot read a %T: it is not an Image", r.Object)
	}
	return image, nil
}

// Choose returns the revision that a VM is created from, and its Image.
func (r Reader) Choose(ctx context.Context, m object.Machine, ref imageref.Reference, pinned *imageref.Pin) (imageref.Choice, imageref.Image, error) {
	image, err := r.get(ctx, m, ref.Name)
	if err != nil {
		return imageref.Choice{}, nil, err
	}
	if image == nil || !r.knows(ctx, m, image) {
		return imageref.Choice{}, nil, imageref.Missing(ref.Name)
	}
	c, err := imageref.Choose(image, ref, pinned)
	return c, image, err
}

// Wait returns why a Machine must wait for an Image before anything is decided about its VM, or nil. The VM has no VMID until then.
func (r Reader) Wait(ctx context.Context, m object.Machine) error {
	if meta.GetExternalName(m) != "" || meta.WasDeleted(m) || !object.MayCreate(m) {
		return nil
	}
	ref, ok, err := r.Reference(ctx, m)
	if !ok || err != nil {
		return err
	}
	_, _, err = r.Choose(ctx, m, ref, nil)
	return err
}

// Storages returns the nodes that have any of the storages, and a function that reports whether a node has a storage.
func Storages(all []proxmox.Storage) (nodes []string, has func(node, storage string) bool) {
	on := map[string]map[string]bool{}
	for _, s := range all {
		if on[s.Node] == nil {
			on[s.Node] = map[string]bool{}
			nodes = append(nodes, s.Node)
		}
		on[s.Node][s.Name] = true
	}
	return nodes, func(node, storage string) bool { return on[node][storage] }
}

// PinnedVolume returns the file of an Image that a Machine was created from, or an empty string.
func PinnedVolume(m object.Machine) string {
	p, _ := imageref.PinOf(m)
	return p.Volume
}

// Pinned returns what the status shows of the Image that a Machine was created from.
func Pinned(m object.Machine) *v1alpha1.MachineImageObservation {
	p, ok := imageref.PinOf(m)
	if !ok {
		return nil
	}
	return p.Observation()
}

// Ensure ensures that there is an Image of the URL that the spec names, and that it stays as long as the Machine does.
func (r Reader) Ensure(ctx context.Context, m object.Machine) error {
	i := m.Parameters().Image
	if i == nil || i.URL == nil || meta.WasDeleted(m) || !object.MayCreate(m) {
		return nil
	}
	t, config, err := r.tenantOf(ctx, m)
	if err != nil || connect.Enforces(config) && tenancy.ImagesOf(t).CheckMachine(i) != nil {
		return err // A refused Image is not created.
	}
	name := imageref.TenantName(imageref.SharedName(i, imageref.ConfigOf(m)), tenancy.ImagesOf(t).Prefix())
	image, err := r.get(ctx, m, name)
	switch {
	case err != nil:
		return err
	case image == nil:
		return r.create(ctx, m, name, len(config.Tenants) > 0)
	case !r.knows(ctx, m, image):
		return errors.Errorf("image %q is not of the tenant of this Machine: remove it, or name another by image.ref", name)
	case !imageref.SameSource(image, i):
		return errors.Errorf("image %q has another source than image.url: remove it, or name it by image.ref", name)
	case image.GetLabels()[imageref.LabelShared] == "" || meta.WasDeleted(image):
		return nil // It belongs to a user, or is created again once it is deleted.
	}
	return r.own(ctx, m, image)
}

// owner returns the reference by which Kubernetes removes an Image with the last Machine that asks for it.
func (r Reader) owner(m object.Machine) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: r.MachineKind.GroupVersion().String(), Kind: r.MachineKind.Kind, Name: m.GetName(), UID: m.GetUID()}
}

// create creates the Image of a URL. The Image of a tenant has the labels that identify the tenant.
func (r Reader) create(ctx context.Context, m object.Machine, name string, hasTenants bool) error {
	image, err := r.empty()
	if err != nil {
		return err
	}
	image.SetNamespace(m.GetNamespace())
	image.SetName(name)
	image.SetLabels(sharedLabels(m))
	image.SetOwnerReferences([]metav1.OwnerReference{r.owner(m)})
	*image.Parameters() = imageref.SharedParameters(m.Parameters().Image)
	v1alpha1.CopyConfiguration(image, m)
	if hasTenants {
		if err := connect.CopyTenantLabels(ctx, r.Kube, m, image); err != nil {
			return err
		}
	}
	err = r.Kube.Create(ctx, image)
	if kerrors.IsAlreadyExists(err) {
		return nil // Another Machine was faster.
	}
	return errors.Wrapf(err, "cannot make image %q", name)
}

// sharedLabels returns the labels that an Image gets from the Machine that it is created for, so that the same provider manages both. Labels of
// Crossplane only apply to the Machine.
func sharedLabels(m object.Machine) map[string]string {
	all := map[string]string{imageref.LabelShared: "true"}
	for name, value := range m.GetLabels() {
		if !strings.Contains(name, "crossplane.io/") {
			all[name] = value
		}
	}
	return all
}

// own adds the Machine to the owners of an Image. Many Machines may do so at once, so that nothing else is written.
func (r Reader) own(ctx context.Context, m object.Machine, image imageref.Image) error {
	for _, o := range image.GetOwnerReferences() {
		if o.UID == m.GetUID() {
			return nil
		}
	}
	operation := map[string]any{"op": "add", "path": "/metadata/ownerReferences/-", "value": r.owner(m)}
	if len(image.GetOwnerReferences()) == 0 {
		operation["path"], operation["value"] = "/metadata/ownerReferences", []metav1.OwnerReference{r.owner(m)}
	}
	patch, err := json.Marshal([]any{operation})
	if err != nil {
		return errors.Wrap(err, "cannot write a patch")
	}
	return errors.Wrapf(r.Kube.Patch(ctx, image, client.RawPatch(types.JSONPatchType, patch)), "cannot keep image %q", image.GetName())
}

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

package v1alpha1

import (
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reference"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HasReferences reports whether there is anything to resolve: of what ResolveReferences does, nothing changes where there is not.
func (p *MachineParameters) HasReferences() bool {
	return p.TemplateSelector != nil || p.Clone != nil && (p.Clone.MachineRef != nil || p.Clone.MachineSelector != nil)
}

// ResolveReferences finds the Machine to clone that machineRef or machineSelector
// means, among the others in the Machine's own namespace, and the Image that
// templateSelector means, and puts their names into clone.machine and templateRef. What
// was resolved once stays.
func (p *MachineParameters) ResolveReferences(ctx context.Context, c client.Reader, machine any, kinds Kinds) error {
	if err := p.resolveTemplate(ctx, c, machine, kinds); err != nil {
		return err
	}
	if p.Clone == nil {
		return nil
	}
	self, ok := machine.(client.Object)
	if !ok {
		return errors.Errorf("cannot resolve references of a %T", machine)
	}
	err := resolve(ctx, others{Reader: c, than: self}, machine, kinds["Machine"], &p.Clone.Machine, &p.Clone.MachineRef, p.Clone.MachineSelector)
	return errors.Wrap(err, "clone.machine")
}

// resolveTemplate puts the Image that templateSelector means into templateRef. An Image
// that is named need not be there yet.
func (p *MachineParameters) resolveTemplate(ctx context.Context, c client.Reader, machine any, kinds Kinds) error {
	if p.TemplateRef != nil || p.TemplateSelector == nil {
		return nil
	}
	var name *string
	return errors.Wrap(resolve(ctx, c, machine, kinds["Image"], &name, &p.TemplateRef, p.TemplateSelector), "templateSelector")
}

// ResolveReferences finds the Machine that machineRef or machineSelector means, in the
// Image's own namespace, and puts its name into source.machine. What was resolved once
// stays.
func (p *ImageParameters) ResolveReferences(ctx context.Context, c client.Reader, image any, kinds Kinds) error {
	err := resolve(ctx, c, image, kinds["Machine"], &p.Source.Machine, &p.Source.MachineRef, p.Source.MachineSelector)
	return errors.Wrap(err, "source.machine")
}

// ResolveReferences puts the name of the Machine that machineRef or machineSelector means
// into machine, and the provider configuration of that Machine into the Snapshot if it names
// none. What was resolved once stays. A Machine that does not exist yet is no error: a
// Snapshot waits for it.
func (p *SnapshotParameters) ResolveReferences(ctx context.Context, c client.Reader, snapshot any, kinds Kinds) error {
	if err := resolveLater(ctx, c, snapshot, kinds["Machine"], &p.Machine, &p.MachineRef, p.MachineSelector); err != nil {
		return err
	}
	return takeConfiguration(ctx, c, snapshot, kinds["Machine"], p.Machine)
}

// ResolveReferences puts the name of the Machine that machineRef or machineSelector means
// into machine, that of the storage that storageRef or storageSelector means into storage, and
// the provider configuration of the Machine into the Backup if it names none. What was resolved
// once stays. A Machine or Storage that does not exist yet is no error: a Backup waits for it.
func (p *BackupParameters) ResolveReferences(ctx context.Context, c client.Reader, backup any, kinds Kinds) error {
	if err := resolveLater(ctx, c, backup, kinds["Machine"], &p.Machine, &p.MachineRef, p.MachineSelector); err != nil {
		return err
	}
	storage := &p.Storage
	if p.Storage == "" {
		storage = nil
	}
	if err := resolveStorage(ctx, c, backup, kinds["Storage"], &storage, &p.StorageRef, p.StorageSelector); err != nil {
		return err
	}
	if storage != nil {
		p.Storage = *storage
	}
	return takeConfiguration(ctx, c, backup, kinds["Machine"], p.Machine)
}

// ResolveReferences puts the name of the storage that storageRef or storageSelector means into storage. What was resolved once
// stays. A Storage that does not exist yet is no error: a Volume waits for it.
func (p *VolumeParameters) ResolveReferences(ctx context.Context, c client.Reader, volume any, kinds Kinds) error {
	return resolveStorage(ctx, c, volume, kinds["Storage"], &p.Storage, &p.StorageRef, p.StorageSelector)
}

// resolveStorage sets the name of a storage whose Storage may come to be later. It is the external name of the Storage.
func resolveStorage(ctx context.Context, c client.Reader, object any, k Kind, name **string, ref **Reference, selector *Selector) error {
	if *name != nil {
		return nil
	}
	var found *string
	answers, of := &seen{Reader: c}, *ref
	err := resolveBy(ctx, answers, object, k, &found, &of, selector, func(m resource.Managed) string { return xpmeta.GetExternalName(m) })
	if err != nil && answers.answered {
		return nil
	}
	if err != nil {
		return errors.Wrap(err, "storage")
	}
	if found != nil {
		*name, *ref = found, of
	}
	return nil
}

// resolveLater sets the name of a Machine that may come to be later.
func resolveLater(ctx context.Context, c client.Reader, object any, k Kind, name **string, ref **Reference, selector *Selector) error {
	switch {
	case *name != nil:
		return nil
	case *ref != nil:
		meant := (*ref).Name
		*name = &meant
		return nil
	case selector == nil:
		return nil
	}
	found := &seen{Reader: c}
	err := resolve(ctx, found, object, k, name, ref, selector)
	if err != nil && found.answered {
		*name, *ref = nil, nil
		return nil
	}
	return errors.Wrap(err, "machine")
}

// takeConfiguration gives an object that names no provider configuration that of a Machine, if the Machine is there.
func takeConfiguration(ctx context.Context, c client.Reader, object any, k Kind, machine *string) error {
	to, isManaged := object.(resource.Managed)
	empty, isManagedToo := k.Object.(resource.Managed)
	if !isManaged || !isManagedToo {
		return errors.Errorf("cannot take the provider configuration of a Machine for a %T: it is not a managed resource", object)
	}
	if machine == nil || NamesConfiguration(to) {
		return nil
	}
	from, ok := empty.DeepCopyObject().(resource.Managed)
	if !ok {
		return errors.Errorf("cannot copy a %T", empty)
	}
	err := c.Get(ctx, client.ObjectKey{Namespace: to.GetNamespace(), Name: *machine}, from)
	if kerrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return errors.Wrapf(err, "cannot read Machine %q", *machine)
	}
	CopyConfiguration(to, from)
	return nil
}

// A seen reader notes that the API server has answered: what fails afterwards is that nothing matches, or is not ready.
type seen struct {
	client.Reader

	answered bool
}

// Get reads an object.
func (s *seen) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := s.Reader.Get(ctx, key, o, opts...)
	s.answered = err == nil || kerrors.IsNotFound(err) || meta.IsNoMatchError(err)
	return err
}

// List lists the objects.
func (s *seen) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := s.Reader.List(ctx, list, opts...)
	s.answered = err == nil || meta.IsNoMatchError(err)
	return err
}

// resolve finds the object of a kind that a reference or a selector means, and sets its
// name and the reference.
func resolve(ctx context.Context, c client.Reader, object any, k Kind, name **string, ref **Reference, selector *Selector) error {
	return resolveBy(ctx, c, object, k, name, ref, selector, resource.Managed.GetName)
}

// resolveBy is resolve with what the name of an object is.
func resolveBy(
	ctx context.Context, c client.Reader, object any, k Kind, name **string, ref **Reference, selector *Selector, nameOf func(resource.Managed) string,
) error {
	if *ref == nil && selector == nil {
		return nil
	}
	from, isManaged := object.(resource.Managed)
	to, isManagedToo := k.Object.(resource.Managed)
	all, isList := k.List.(resource.ManagedList)
	if !isManaged || !isManagedToo || !isList {
		return errors.Errorf("cannot resolve references of a %T: it is not a managed resource", object)
	}
	request := resolution(*name, *ref, selector, nameOf)
	request.To, request.Namespace = reference.To{Managed: to, List: all}, from.GetNamespace()
	rsp, err := reference.NewAPIResolver(c, from).Resolve(ctx, request)
	if err != nil {
		return err
	}
	*name = reference.ToPtrValue(rsp.ResolvedValue)
	if rsp.ResolvedReference != nil {
		*ref = &Reference{Name: rsp.ResolvedReference.Name}
	}
	return nil
}

// others reads lists without one object.
type others struct {
	client.Reader

	than client.Object
}

// List lists the objects but the one that is left out.
func (o others) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := o.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	all, err := meta.ExtractList(list)
	if err != nil {
		return errors.Wrapf(err, "cannot read a %T", list)
	}
	return errors.Wrapf(meta.SetList(list, slices.DeleteFunc(all, func(found runtime.Object) bool {
		f, ok := found.(client.Object)
		return ok && f.GetNamespace() == o.than.GetNamespace() && f.GetName() == o.than.GetName()
	})), "cannot leave %q out of a %T", o.than.GetName(), list)
}

// resolution asks for the object by its name, a reference or a selector.
func resolution(name *string, ref *Reference, selector *Selector, nameOf func(resource.Managed) string) reference.ResolutionRequest {
	r := reference.ResolutionRequest{
		CurrentValue: reference.FromPtrValue(name),
		Extract:      nameOf,
	}
	if ref != nil {
		r.Reference = &xpv2.Reference{Name: ref.Name}
	}
	if selector != nil {
		r.Selector = &xpv2.Selector{MatchLabels: selector.MatchLabels, MatchControllerRef: selector.MatchControllerRef}
	}
	return r
}

// NamesTemplate reports whether the Machine is a clone of a template that is named by its
// name, VMID or tags.
func (p *MachineParameters) NamesTemplate() bool { return p.Template != nil || len(p.TemplateTags) > 0 }

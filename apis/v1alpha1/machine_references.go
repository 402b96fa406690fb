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
	"github.com/crossplane/crossplane-runtime/v2/pkg/reference"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ResolveReferences finds the Machine to clone that machineRef or machineSelector
// means, among the others in the Machine's own namespace, and puts its name into
// clone.machine. What was resolved once stays.
func (p *MachineParameters) ResolveReferences(ctx context.Context, c client.Reader, machine any, kinds Kinds) error {
	if p.Clone == nil || p.Clone.MachineRef == nil && p.Clone.MachineSelector == nil {
		return nil
	}
	from, isManaged := machine.(resource.Managed)
	to, isManagedToo := kinds["Machine"].Object.(resource.Managed)
	all, isList := kinds["Machine"].List.(resource.ManagedList)
	if !isManaged || !isManagedToo || !isList {
		return errors.Errorf("cannot resolve references of a %T: it is not a managed resource", machine)
	}
	request := p.Clone.request(reference.To{Managed: to, List: all}, from.GetNamespace())
	rsp, err := reference.NewAPIResolver(others{Reader: c, than: from}, from).Resolve(ctx, request)
	if err != nil {
		return errors.Wrap(err, "clone.machine")
	}
	p.Clone.resolved(rsp)
	return nil
}

// others reads lists without one object.
type others struct {
	client.Reader

	than client.Object
}

// List the objects but the one that is left out.
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

func (c *MachineClone) request(to reference.To, namespace string) reference.ResolutionRequest {
	r := reference.ResolutionRequest{
		CurrentValue: reference.FromPtrValue(c.Machine), To: to, Namespace: namespace,
		Extract: func(m resource.Managed) string { return m.GetName() },
	}
	if c.MachineRef != nil {
		r.Reference = &xpv2.Reference{Name: c.MachineRef.Name}
	}
	if s := c.MachineSelector; s != nil {
		r.Selector = &xpv2.Selector{MatchLabels: s.MatchLabels, MatchControllerRef: s.MatchControllerRef}
	}
	return r
}

func (c *MachineClone) resolved(r reference.ResolutionResponse) {
	c.Machine = reference.ToPtrValue(r.ResolvedValue)
	if r.ResolvedReference != nil {
		c.MachineRef = &Reference{Name: r.ResolvedReference.Name}
	}
}

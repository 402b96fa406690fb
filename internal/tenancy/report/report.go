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

// Package report finds the resources that break the rules of their tenants, before the rules are enforced.
package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// A GuestLister lists the VMs of the cluster.
type GuestLister interface {
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
}

// An Inventory lists and reads the VMs of the cluster.
type Inventory interface {
	GuestLister

	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
}

// A Finding has the result for one resource.
type Finding struct {
	// Kind, Namespace and Name of the resource, and the VMID of its VM, or 0. For a cluster-scoped resource, the namespace is that of its claim.
	Kind, Namespace, Name string
	VMID                  int

	// Tenant of the resource; empty for a resource without a tenant, or one that may do everything.
	Tenant string

	// Breaks are the rules that it breaks; none if it may stay as it is.
	Breaks []string
}

// Of returns findings about resources, each with the tenant that a function returns, by their specs and their VMs. It only reads.
func Of(
	ctx context.Context, in Inventory, all []resource.Managed, tenantOf func(context.Context, resource.Managed) (*tenancy.Tenant, error),
) ([]Finding, error) {
	guests, err := in.Guests(ctx, inventory.Fresh)
	if err != nil {
		return nil, errors.Wrap(err, "cannot list the VMs")
	}
	findings := make([]Finding, 0, len(all))
	for _, mg := range all {
		t, err := tenantOf(ctx, mg)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot tell the tenant of %s", mg.GetName())
		}
		f := Finding{Kind: tenancy.KindOf(mg), Namespace: tenancy.NamespaceOf(mg), Name: mg.GetName()}
		f.VMID, _ = tenancy.RecordedVM(mg)
		if t != nil {
			f.Tenant = t.Name
		}
		if err := t.CheckSpec(mg); err != nil {
			f.Breaks = append(f.Breaks, err.Error())
		}
		i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == f.VMID })
		if i >= 0 && t != nil && t.Name != "" {
			broken, err := ofVM(ctx, in, t, guests[i], tenancy.IsMachine(mg))
			if err != nil {
				return nil, err
			}
			f.Breaks = append(f.Breaks, broken...)
		}
		findings = append(findings, f)
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return findings, nil
}

// ofVM returns the rules that a VM breaks as it is. Rules about its configuration apply only to its Machine.
func ofVM(ctx context.Context, in Inventory, t *tenancy.Tenant, g proxmox.Guest, machine bool) ([]string, error) {
	var broken []string
	if err := t.CheckGuest(g); err != nil {
		broken = append(broken, err.Error())
	}
	if !machine {
		return broken, nil
	}
	if err := t.CheckNode(g.Node); err != nil {
		broken = append(broken, err.Error())
	}
	config, err := in.Config(ctx, g.Ref())
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read VM %d", g.VMID)
	}
	if err := t.CheckConfig(g.VMID, config.Values); err != nil {
		broken = append(broken, err.Error())
	}
	return broken, nil
}

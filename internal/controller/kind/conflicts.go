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

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Conflicts are all resources of a kind that can stand for the same thing in PVE, in
// both scopes.
type Conflicts struct {
	// Reader of the resources, preferably a cache.
	Reader client.Reader

	// Lists of the kind in each scope, all empty. A kind that is not installed
	// has no resources.
	Lists []resource.ManagedList
}

// Older returns the name of the oldest resource that manages the same object as this one, as claims reports, and an empty name if none is older. The
// oldest one wins, so that a mistake changes nothing.
func (p Conflicts) Older(ctx context.Context, mg resource.Managed, claims func(resource.Managed) bool) (string, error) {
	oldest, err := p.Oldest(ctx, mg, claims)
	if oldest == nil || err != nil {
		return "", err
	}
	return client.ObjectKeyFromObject(oldest).String(), nil
}

// Oldest returns the resource that Older names, which must not be changed, or nil if there is none.
func (p Conflicts) Oldest(ctx context.Context, mg resource.Managed, claims func(resource.Managed) bool) (resource.Managed, error) {
	oldest := mg
	for _, empty := range p.Lists {
		all, err := ListCached(ctx, p.Reader, empty)
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if Older(other, oldest) && Manages(other) && claims(other) {
				oldest = other
			}
		}
	}
	if oldest == mg {
		return nil, nil
	}
	return oldest, nil
}

// Older reports whether a was created before b, or at the same time and has the lesser UID.
func Older(a, b resource.Managed) bool {
	if a.GetUID() == b.GetUID() {
		return false
	}
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return a.GetUID() < b.GetUID()
}

// Manages reports whether the resource's management policies let it change anything
// in PVE.
func Manages(mg resource.Managed) bool {
	policies := mg.GetManagementPolicies()
	if len(policies) == 0 {
		return true
	}
	for _, p := range policies {
		if p == xpv2.ManagementActionAll || p == xpv2.ManagementActionUpdate {
			return true
		}
	}
	return false
}

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
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A Scope is one API group of the provider, with its kinds.
type Scope struct {
	// GroupVersion of the kinds.
	GroupVersion schema.GroupVersion

	// Kinds of the scope.
	Kinds v1alpha1.Kinds

	// All are the kinds of each scope, including this one. An object in Proxmox VE may be managed from another scope.
	All []v1alpha1.Kinds
}

// Identity returns the identity of a kind of the scope, with a new object and a new list.
func (s Scope) Identity(kind string) Identity {
	id := Identity{GroupVersionKind: s.GroupVersion.WithKind(kind)}
	if o, ok := s.Kinds[kind].Object.(client.Object); ok {
		id.Object = o
	}
	if l, ok := s.Kinds[kind].List.(resource.ManagedList); ok {
		id.List = l
	}
	return id
}

// Lists returns empty lists of a kind, one for each scope. All callers share them: see List.
func (s Scope) Lists(kind string) []resource.ManagedList {
	var all []resource.ManagedList
	for _, kinds := range s.All {
		if l, ok := kinds[kind].List.(resource.ManagedList); ok {
			all = append(all, l)
		}
	}
	return all
}

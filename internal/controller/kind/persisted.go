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
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Persisted names the annotations that prove which objects in Proxmox VE belong to a resource. The status keeps a copy of them, because only this
// provider writes the status.
type Persisted struct {
	// Record is the annotation without which the others mean nothing.
	Record string

	// Others belong to the record, in addition to the external name.
	Others []string
}

// names returns the names of the annotations.
func (p Persisted) names() []string {
	return append([]string{p.Record, meta.AnnotationKeyExternalName}, p.Others...)
}

// Copy returns the annotations that the status is to keep. If the resource has no record, they are those that the status has kept before.
func (p Persisted) Copy(mg resource.Managed, before map[string]string) map[string]string {
	if mg.GetAnnotations()[p.Record] == "" {
		return before
	}
	kept := map[string]string{}
	for _, name := range p.names() {
		if text := mg.GetAnnotations()[name]; text != "" {
			kept[name] = text
		}
	}
	return kept
}

// Text returns the record of a resource, or the copy in its status if the annotation was removed.
func (p Persisted) Text(mg resource.Managed, kept map[string]string) string {
	if text := mg.GetAnnotations()[p.Record]; text != "" {
		return text
	}
	return kept[p.Record]
}

// Restore restores annotations that were removed, for example by a user who replaced the resource with its manifest. Without them, the created
// objects would no longer belong to the resource. Annotations that the manifest sets, such as another external name, stay.
func (p Persisted) Restore(ctx context.Context, kube client.Writer, mg resource.Managed, kept map[string]string) error {
	if kept[p.Record] == "" || mg.GetAnnotations()[p.Record] != "" {
		return nil
	}
	lost := maps.Clone(kept)
	maps.DeleteFunc(lost, func(name, _ string) bool { return mg.GetAnnotations()[name] != "" })
	return Annotate(ctx, kube, mg, lost)
}

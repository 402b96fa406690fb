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

package image

import (
	"context"
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
)

// persisted are the annotations that tell what is the Image's in Proxmox VE.
func persisted() []string { return []string{AnnotationRecord, meta.AnnotationKeyExternalName} }

// persistedAnnotations are those of an Image that the status keeps, or what it has kept
// where they are gone: nobody but this provider writes the status.
func persistedAnnotations(m Image, before map[string]string) map[string]string {
	kept := map[string]string{}
	for _, name := range persisted() {
		if text := m.GetAnnotations()[name]; text != "" {
			kept[name] = text
		}
	}
	if kept[AnnotationRecord] == "" {
		return before
	}
	return kept
}

// restore annotations that were taken away, as by somebody who replaces the Image by its
// manifest: without them, what was made would be somebody else's. Another external name
// is what somebody wants.
func (e *external) restore(ctx context.Context, m Image) error {
	kept := m.Observation().Annotations
	if kept[AnnotationRecord] == "" || m.GetAnnotations()[AnnotationRecord] != "" {
		return nil
	}
	lost := maps.Clone(kept)
	if meta.GetExternalName(m) != "" {
		delete(lost, meta.AnnotationKeyExternalName)
	}
	return kind.Annotate(ctx, e.kube, m, lost)
}

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

package nodechoice

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
)

// TestNodeChosenBy checks that the event of a placement names why the node was chosen.
func TestNodeChosenBy(t *testing.T) {
	t.Parallel()
	c := Chooser{Defaults: Defaults{Node: "pve1"}}
	cases := map[string]struct {
		reason, node, named, before string
		source                      *source.Source
		want                        string
	}{
		"Open":     {reason: "Placement chooses the node where nothing else does.", want: ""},
		"Spec":     {reason: "The spec comes first.", node: "pve2", named: "pve2", want: "the spec names it"},
		"Before":   {reason: "What was begun goes on.", node: "pve2", before: "pve2", want: "it was chosen before"},
		"Default":  {reason: "The configuration has one.", node: "pve1", want: "it is the provider config's default"},
		"Source":   {reason: "A source on local storage settles it.", node: "pve2", source: &source.Source{}, want: "the source is there"},
		"Volumes":  {reason: "A VM without a source is where its Volumes are.", node: "pve2", want: "its Volumes are on local storage there"},
		"Anywhere": {reason: "A shared source settles nothing.", node: "pve2", source: &source.Source{Shared: true}, want: "its Volumes are on local storage there"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &namespaced.Machine{}
			if tc.named != "" {
				m.Spec.ForProvider.Node = &tc.named
			}
			meta.AddAnnotations(m, map[string]string{object.AnnotationNode: tc.before})
			if got := c.chosenBy(m, tc.node, tc.source); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

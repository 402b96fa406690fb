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
	"maps"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/vitistack/provider-proxmox/apis"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

func TestPersisted(t *testing.T) {
	p := Persisted{Record: "record", Others: []string{"other"}}
	kept := map[string]string{"record": "r", "other": "o", meta.AnnotationKeyExternalName: "n"}
	with := func(changes map[string]string) map[string]string {
		all := maps.Clone(kept)
		maps.Copy(all, changes)
		return all
	}
	kept2, named := with(map[string]string{"record": "r2"}), with(map[string]string{meta.AnnotationKeyExternalName: "n2"})
	more, less := with(map[string]string{"users": "x"}), map[string]string{"record": "r"}
	cases := map[string]struct {
		reason      string
		has, before map[string]string
		restored    map[string]string
		copied      map[string]string
	}{
		"Nothing": {reason: "What has no record has nothing to keep."},
		"Kept":    {reason: "The copy has what belongs to the record.", has: more, restored: more, copied: kept},
		"Newer":   {reason: "A record is newer than its copy.", has: kept2, before: kept, restored: kept2, copied: kept2},
		"Lost":    {reason: "What is lost comes back.", before: kept, restored: kept, copied: kept},
		"Some":    {reason: "A lost part stays lost while there is a record.", has: less, before: kept, restored: less, copied: less},
		"Named": {
			reason: "What a manifest sets stays.", has: map[string]string{meta.AnnotationKeyExternalName: "n2"}, before: kept,
			restored: named, copied: named,
		},
	}
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s1", Annotations: tc.has}}
			kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s).Build()
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
				t.Fatal(err)
			}
			if want := max(tc.has["record"], tc.before["record"]); p.Text(s, tc.before) != want {
				t.Errorf("%s\nText(): got %q, want %q", tc.reason, p.Text(s, tc.before), want)
			}
			if err := p.Restore(t.Context(), kube, s, tc.before); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.copied, p.Copy(s, tc.before)); diff != "" {
				t.Errorf("%s\nCopy(): -want, +got:\n%s", tc.reason, diff)
			}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.restored, s.Annotations); diff != "" {
				t.Errorf("%s\nRestore(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

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
	"testing"

	"github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// TestRecordOfOthers reads a record that a user has written into the annotation of an Image. Each record is also read for the other Images.
func TestRecordOfOthers(t *testing.T) {
	url := "https://images.example.org/a.qcow2"
	for text, revisions := range map[string]int{
		`{"revisions":[null]}`:                        0,
		`{"revisions":[null,{"revision":1}]}`:         1,
		`{"revisions":[{"files":{"nfs":null}}]}`:      1,
		`{"revisions":[{"templates":{"pve1":null}}]}`: 1,
	} {
		m := &v1alpha1.Image{}
		m.Spec.ForProvider.Source.URL = &url
		m.SetAnnotations(map[string]string{AnnotationRecord: text})
		r, err := recordOf(m)
		if err != nil || len(r.Revisions) != revisions || len(fileNames(m, "")) < revisions {
			t.Fatalf("%s: want %d revisions with a name of a file each, got %v, %q, %v", text, revisions, r.Revisions, fileNames(m, ""), err)
		}
		for _, rev := range r.Revisions {
			if len(rev.Files)+len(rev.Templates) > 0 {
				t.Errorf("%s: want no entries without content, got %v and %v", text, rev.Files, rev.Templates)
			}
		}
	}
}

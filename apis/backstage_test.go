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

package apis_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// backstage is the folder of the example for Backstage.
const backstage = "backstage"

// TestBackstage fills the skeleton with the defaults of the template, as Backstage's scaffolder does: the API server would create the Machine.
func TestBackstage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "examples", backstage, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	template := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &template.Object); err != nil {
		t.Fatal(err)
	}
	defaults := map[string]string{}
	forms, _, _ := unstructured.NestedSlice(template.Object, "spec", "parameters")
	for _, form := range forms {
		properties, _, _ := unstructured.NestedMap(form.(map[string]any), "properties")
		for name, property := range properties {
			defaults[name] = fmt.Sprint(property.(map[string]any)["default"])
		}
	}
	steps, _, _ := unstructured.NestedSlice(template.Object, "spec", "steps")
	values, _, _ := unstructured.NestedStringMap(steps[0].(map[string]any), "input", "values")
	for name, value := range values {
		values[name] = fill(t, "parameters", value, defaults)
	}
	file := filepath.Join("..", "examples", backstage, "skeleton", "machine.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	filled := filepath.Join(t.TempDir(), "machine.yaml")
	if err := os.WriteFile(filled, []byte(fill(t, "values", string(text), values)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects(t, filled) {
		wantAccepted(t, "What the scaffolder proposes is accepted.", tryCreate(t.Context(), o))
	}
	entity, err := os.ReadFile(filepath.Join("..", "examples", backstage, "skeleton", "catalog-info.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	used := namedBy("values", string(text)+string(entity))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(values)), used); diff != "" {
		t.Errorf("the template gives the skeleton what that uses: -given, +used:\n%s", diff)
	}
}

// expression of the scaffolder that names an entry of a group.
func expression(group string) *regexp.Regexp {
	return regexp.MustCompile(`\$\{\{ ` + group + `\.(\w+) \}\}`)
}

// fill in what is named.
func fill(t *testing.T, group, text string, known map[string]string) string {
	t.Helper()
	return expression(group).ReplaceAllStringFunc(text, func(found string) string {
		name := expression(group).FindStringSubmatch(found)[1]
		value, has := known[name]
		if !has {
			t.Errorf("nothing gives %s", found)
		}
		return value
	})
}

// namedBy returns the names of a group that a text uses, sorted.
func namedBy(group, text string) []string {
	var all []string
	for _, found := range expression(group).FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

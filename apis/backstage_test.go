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
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// backstage is the folder of the example for Backstage.
const backstage = "backstage"

// TestBackstage fills the skeleton with the defaults of the template: the API server would create the Machine. Where Backstage's packages are
// installed, they take template and entity, and their scaffolder's engine writes the same Machine.
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
	machine := fill(t, "values", string(text), values)
	filled := filepath.Join(t.TempDir(), "machine.yaml")
	if err := os.WriteFile(filled, []byte(machine), 0o600); err != nil {
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
	if packages := os.Getenv("BACKSTAGE"); packages != "" {
		testScaffolder(t, packages, machine)
	}
}

// testScaffolder has Backstage's packages, which are in a folder, fill in the example, and refuse it with mistakes.
func testScaffolder(t *testing.T, packages, machine string) {
	t.Helper()
	example := filepath.Join("..", "examples", backstage)
	written, err := scaffold(t, packages, example)
	if err != nil {
		t.Fatalf("Backstage refuses the example: %v", err)
	}
	if diff := cmp.Diff(machine, written["machine.yaml"]); diff != "" {
		t.Errorf("the scaffolder writes another Machine: -want, +got:\n%s", diff)
	}
	for reason, mistake := range map[string]struct{ file, from, to, says string }{
		"A step has an action.":                            {"template.yaml", "action: ", "act: ", "must have required property 'action'"},
		"The form takes its defaults.":                     {"template.yaml", "default: 2\n", "default: 99\n", "refuses its defaults"},
		"The skeleton uses values that there are.":         {"skeleton/machine.yaml", "values.cores", "values.core", "undefined"},
		"The entity of the catalog has a kind.":            {"skeleton/catalog-info.yaml", "kind: Resource", "kind: Resources", "kind"},
		"The entity of the catalog says what its type is.": {"skeleton/catalog-info.yaml", "type: virtual-machine", "type: ''", "/spec/type"},
	} {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(example)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(copied, mistake.file)
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, bytes.Replace(text, []byte(mistake.from), []byte(mistake.to), 1), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scaffold(t, packages, copied); err == nil || !strings.Contains(err.Error(), mistake.says) {
			t.Errorf("%s Backstage says of the mistake: %v", reason, err)
		}
	}
}

// scaffold returns the files that Backstage's scaffolder makes of the template in a folder, by their names.
func scaffold(t *testing.T, packages, folder string) (map[string]string, error) {
	t.Helper()
	script, err := os.Open(filepath.Join("..", "hack", "backstage", "render.js"))
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close() //nolint:errcheck // It is only read.
	cmd := exec.CommandContext(t.Context(), "node", "-", packages, filepath.Join(folder, "template.yaml"))
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = script, &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	files := map[string]string{}
	return files, json.Unmarshal(out.Bytes(), &files)
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

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

package simulator

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"go.yaml.in/yaml/v3"
)

// scenarioLines holds the lines at which the entries of a scenario's lists begin, by the list's name.
type scenarioLines map[string][]int

// locate adds the line of a list's entry to its error. Entries from elsewhere have none.
func (l scenarioLines) locate(list string, i int, err error) error {
	if err == nil || i >= len(l[list]) {
		return err
	}
	return errors.Wrapf(err, "line %d", l[list][i])
}

// scenarioDocument checks the form of a scenario. Its errors contain the line.
func scenarioDocument(data []byte) (scenarioLines, error) {
	document := &yaml.Node{}
	if err := yaml.Unmarshal(data, document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, errors.New("it is empty")
	}
	top := document.Content[0]
	if err := checkForm(top, reflect.TypeFor[Scenario]()); err != nil {
		return nil, err
	}
	lines := scenarioLines{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		for _, entry := range top.Content[i+1].Content {
			lines[top.Content[i].Value] = append(lines[top.Content[i].Value], entry.Line)
		}
	}
	return lines, nil
}

// checkForm compares a part of a document with its type.
func checkForm(n *yaml.Node, want reflect.Type) error {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Tag == "!!null" {
		return nil
	}
	switch want.Kind() { //nolint:exhaustive // Only some kinds have parts or a form.
	case reflect.Pointer:
		return checkForm(n, want.Elem())
	case reflect.Struct:
		return checkObject(n, want)
	case reflect.Map:
		return checkMap(n, want)
	case reflect.Slice:
		return checkList(n, want)
	case reflect.Int:
		return checkScalar(n, "!!int", "a whole number")
	case reflect.Bool:
		return checkScalar(n, "!!bool", "true or false")
	default:
		return checkScalar(n, n.Tag, "a text")
	}
}

func checkScalar(n *yaml.Node, tag, want string) error {
	if n.Kind != yaml.ScalarNode || n.Tag != tag {
		return errors.Errorf("line %d: want %s", n.Line, want)
	}
	return nil
}

func checkList(n *yaml.Node, want reflect.Type) error {
	if n.Kind != yaml.SequenceNode {
		return errors.Errorf("line %d: want a list", n.Line)
	}
	for _, entry := range n.Content {
		if err := checkForm(entry, want.Elem()); err != nil {
			return err
		}
	}
	return nil
}

func checkMap(n *yaml.Node, want reflect.Type) error {
	return eachField(n, func(_, value *yaml.Node) error { return checkForm(value, want.Elem()) })
}

func checkObject(n *yaml.Node, want reflect.Type) error {
	fields := map[string]reflect.Type{}
	for field := range want.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			fields[name] = field.Type
		}
	}
	return eachField(n, func(name, value *yaml.Node) error {
		if name.Value == "<<" {
			return checkForm(value, want)
		}
		if fields[name.Value] == nil {
			return errors.Errorf("line %d: there is no field %q here, want one of %s", name.Line, name.Value,
				strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		return checkForm(value, fields[name.Value])
	})
}

func eachField(n *yaml.Node, check func(name, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return errors.Errorf("line %d: want fields with values", n.Line)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := check(n.Content[i], n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

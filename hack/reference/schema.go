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

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// A section is an object within a kind.
type section struct {
	Path   string
	Fields []field
	Rules  []string
}

// A field of an object.
type field struct {
	Name        string
	Type        string
	Required    bool
	Description string

	// Groups are the API groups that have this form of the field.
	Groups []string
}

func (f field) same(g field) bool {
	return f.Name == g.Name && f.Type == g.Type && f.Required == g.Required && f.Description == g.Description
}

// sections returns the sections of a definition, without the top-level fields that every object has.
func (d definition) sections() []section {
	var all []section
	for _, name := range []string{"spec", "status"} {
		if s, ok := d.schema().Properties[name]; ok {
			all = append(all, d.flatten(name, s)...)
		}
	}
	// Rules at the top level are listed with those of the spec.
	if len(all) > 0 {
		all[0].Rules = append(messages(d.schema().XValidations), all[0].Rules...)
	}
	return all
}

// flatten flattens an object into sections, itself first.
func (d definition) flatten(path string, s extv1.JSONSchemaProps) []section {
	own := section{Path: path, Rules: messages(s.XValidations)}
	var below []section
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		own.Fields = append(own.Fields, field{
			Name: name, Type: typeOf(p), Required: slices.Contains(s.Required, name),
			Description: describe(p), Groups: []string{d.Spec.Group},
		})
		inner, suffix := p, ""
		if p.Items != nil && p.Items.Schema != nil {
			inner, suffix = *p.Items.Schema, "[]"
		}
		if len(inner.Properties) > 0 {
			below = append(below, d.flatten(path+"."+name+suffix, inner)...)
		}
	}
	return append([]section{own}, below...)
}

// typeOf returns the type of a value, in the words of the API conventions.
func typeOf(s extv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString && strings.Contains(s.Pattern, "[KMGTPE]i"):
		return "quantity"
	case s.XIntOrString:
		return "integer or string"
	case s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(*s.Items.Schema) + "s"
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*s.AdditionalProperties.Schema) + "s"
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

// describe describes a value and the values that it may have.
func describe(s extv1.JSONSchemaProps) string {
	parts := []string{sentence(s.Description)}
	allowed := s.Enum
	if s.Items != nil && s.Items.Schema != nil {
		allowed = s.Items.Schema.Enum
	}
	if len(allowed) > 0 {
		parts = append(parts, "One of "+values(allowed)+".")
	}
	if s.Default != nil && string(s.Default.Raw) != "{}" {
		parts = append(parts, fmt.Sprintf("Default: `%s`.", strings.Trim(string(s.Default.Raw), `"`)))
	}
	for _, m := range fieldRules(s) {
		parts = append(parts, "*Rule:* "+m+".")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// fieldRules returns the rules of a value that has no separate section.
func fieldRules(s extv1.JSONSchemaProps) []string {
	if len(s.Properties) > 0 {
		return nil
	}
	return messages(s.XValidations)
}

func values(all []extv1.JSON) string {
	out := make([]string, 0, len(all))
	for _, v := range all {
		if text := strings.Trim(string(v.Raw), `"`); text != "" {
			out = append(out, "`"+text+"`")
			continue
		}
		out = append(out, "empty")
	}
	return strings.Join(out, ", ")
}

func messages(rules extv1.ValidationRules) []string {
	out := make([]string, 0, len(rules))
	for _, r := range rules {
		if r.Message != "" {
			out = append(out, sentence(r.Message))
		}
	}
	return out
}

// sentence returns text in one line and in a form that is safe in a table.
func sentence(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(strings.Fields(s), " "))
}

// merge merges the sections of another group's definition into those of the first ones.
func merge(all, more []section) []section {
	for _, s := range more {
		i := slices.IndexFunc(all, func(o section) bool { return o.Path == s.Path })
		if i < 0 {
			all = append(all, s)
			continue
		}
		all[i] = all[i].with(s)
	}
	return all
}

// with returns the section with the fields and rules of the same section in another group.
func (s section) with(o section) section {
	for _, f := range o.Fields {
		i := slices.IndexFunc(s.Fields, f.same)
		if i < 0 {
			s.Fields = append(s.Fields, f)
			continue
		}
		s.Fields[i].Groups = append(s.Fields[i].Groups, f.Groups...)
	}
	for _, r := range o.Rules {
		if !slices.Contains(s.Rules, r) {
			s.Rules = append(s.Rules, r)
		}
	}
	slices.SortStableFunc(s.Fields, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// tellApart marks the fields that not every group has with their groups.
func tellApart(all []section, groups int) {
	for _, s := range all {
		for i, f := range s.Fields {
			if len(f.Groups) < groups {
				s.Fields[i].Description = fmt.Sprintf("(`%s` only) %s", f.Groups[0], f.Description)
			}
		}
	}
}

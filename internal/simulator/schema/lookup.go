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

package schema

import (
	"net/http"
	"strings"
)

// A Match is a method found for a request path.
type Match struct {
	// Method is the method of the path and verb.
	Method *Method
	// Values are the parameters in the path.
	Values map[string]string
}

// A branch is one segment of the API's path tree.
type branch struct {
	literal map[string]*branch
	param   *branch
	// name is the parameter in this segment. It is empty for literal segments.
	name string
	// rest is true if the parameter takes all remaining segments, because names of volumes and networks contain slashes.
	rest    bool
	methods map[string]*lazy[*Method]
}

func newBranch() *branch {
	return &branch{literal: map[string]*branch{}, methods: map[string]*lazy[*Method]{}}
}

func (b *branch) add(path, verb string, m *lazy[*Method]) {
	at := b
	for _, segment := range segments(path) {
		at = at.child(segment)
	}
	at.rest = strings.HasSuffix(path, "/content/{volume}") || strings.HasSuffix(path, "/ipset/{name}/{cidr}")
	at.methods[verb] = m
}

func (b *branch) parseAll() error {
	for _, m := range b.methods {
		if _, err := m.get(); err != nil {
			return err
		}
	}
	for _, child := range b.literal {
		if err := child.parseAll(); err != nil {
			return err
		}
	}
	if b.param != nil {
		return b.param.parseAll()
	}
	return nil
}

func (b *branch) child(segment string) *branch {
	if name, ok := parameterName(segment); ok {
		if b.param == nil {
			b.param = newBranch()
			b.param.name = name
		}
		return b.param
	}
	if b.literal[segment] == nil {
		b.literal[segment] = newBranch()
	}
	return b.literal[segment]
}

func parameterName(segment string) (string, bool) {
	name, ok := strings.CutPrefix(segment, "{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}")
}

// Find returns the method for verb and path. The path is below /api2/json and already unescaped. Empty segments are ignored, as in pveproxy.
func (f *Facts) Find(verb, path string) (Match, bool) {
	at, found := f.tree, Match{Values: map[string]string{}}
	parts := segments(path)
	if len(parts) == 0 && verb == http.MethodGet {
		return Match{Method: &Method{Verb: verb, Path: "/", User: "all"}, Values: found.Values}, true
	}
	for i, segment := range parts {
		if next := at.literal[segment]; next != nil {
			at = next
			continue
		}
		if at.param == nil {
			return Match{}, false
		}
		at = at.param
		found.Values[at.name] = segment
		if at.rest {
			found.Values[at.name] = strings.Join(parts[i:], "/")
			break
		}
	}
	m := at.methods[verb]
	if m == nil {
		return Match{}, false
	}
	method, err := m.get()
	found.Method = method
	return found, err == nil
}

// Format returns the keys of a property-string format, or nil if there is none of that name.
func (f *Facts) Format(name string) Properties {
	p, _ := f.properties(name)
	return p
}

// Parameters returns the parameters of the method for verb and path, or nil if there is none.
func (f *Facts) Parameters(verb, path string) Properties {
	m, ok := f.Find(verb, path)
	if !ok {
		return nil
	}
	return m.Method.Parameters
}

func segments(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

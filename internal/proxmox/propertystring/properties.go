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

// Package propertystring reads and writes the values of options with parts, like PVE::JSONSchema.
package propertystring

import (
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Properties holds the value of an option with parts, such as local:100/vm-100-disk-0.raw,size=32G. It keeps the order, so that a value is written back as
// it was read. The zero value is empty and usable.
type Properties struct { //nolint:recvcheck // A value that is changed by few methods.
	items []property
}

type property struct {
	key, value string
	bare       bool // written without its key
	blank      bool // nothing between two commas, which is no property
}

func (i property) is(key string) bool { return !i.blank && i.key == key }

// Parse parses a property string. One part may be written without a key, and has the key defaultKey. If defaultKey is empty, it has the empty key. Parts
// may be blank, because PVE accepts that in manually edited files.
func Parse(s, defaultKey string) (Properties, error) {
	var p Properties
	if s == "" {
		return p, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(part) == "" {
			p.items = append(p.items, property{value: part, bare: true, blank: true})
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			key, value = defaultKey, part
		}
		switch {
		case ok && key == "":
			return Properties{}, errors.New("cannot read properties: a part has no key")
		case p.Has(key):
			return Properties{}, errors.Errorf("cannot read properties: more than one %q", key)
		}
		p.items = append(p.items, property{key: key, value: value, bare: !ok})
	}
	return p, nil
}

// String returns the property string.
func (p Properties) String() string {
	parts := make([]string, 0, len(p.items))
	for _, i := range p.items {
		if i.bare && !strings.Contains(i.value, "=") {
			parts = append(parts, i.value)
			continue
		}
		parts = append(parts, i.key+"="+i.value)
	}
	return strings.Join(parts, ",")
}

// Len returns the number of properties.
func (p Properties) Len() int { return len(p.Keys()) }

// Keys returns the keys of the properties, in their order.
func (p Properties) Keys() []string {
	keys := make([]string, 0, len(p.items))
	for _, i := range p.items {
		if !i.blank {
			keys = append(keys, i.key)
		}
	}
	return keys
}

func (p Properties) index(key string) int {
	return slices.IndexFunc(p.items, func(i property) bool { return i.is(key) })
}

// Has reports whether there is a property with that key.
func (p Properties) Has(key string) bool { return p.index(key) >= 0 }

// Get returns the value of a property, or nothing.
func (p Properties) Get(key string) string {
	if i := p.index(key); i >= 0 {
		return p.items[i].value
	}
	return ""
}

// Set sets a property at its position, or adds it at the end.
func (p *Properties) Set(key, value string) {
	p.items = slices.Clone(p.items)
	if i := p.index(key); i >= 0 {
		p.items[i].value = value
		return
	}
	p.items = append(p.items, property{key: key, value: value, bare: key == ""})
}

// SetDefault sets the property that is written first and without its key.
func (p *Properties) SetDefault(key, value string) {
	p.Delete(key)
	p.items = slices.Insert(p.items, 0, property{key: key, value: value, bare: true})
}

// Delete removes a property, if there is one.
func (p *Properties) Delete(key string) {
	p.items = slices.DeleteFunc(slices.Clone(p.items), func(i property) bool { return i.is(key) })
}

// Map returns the properties without their order.
func (p Properties) Map() map[string]string {
	m := make(map[string]string, len(p.items))
	for _, key := range p.Keys() {
		m[key] = p.Get(key)
	}
	return m
}

// Equal reports whether the properties are the same in any order.
func (p Properties) Equal(o Properties) bool { return maps.Equal(p.Map(), o.Map()) }

// ParseFlag parses a boolean in any of the forms that PVE accepts, and keeps in property strings.
func ParseFlag(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "on", "yes", "true":
		return true, nil
	case "0", "off", "no", "false":
		return false, nil
	}
	return false, errors.Errorf("%q is no boolean", s)
}

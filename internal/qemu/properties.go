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

package qemu

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
)

// A part is one value of a property string.
type part struct {
	key string

	// Codec of the field. An empty value removes the part.
	codec.Codec

	// absent is the value that applies when the part is absent.
	absent string

	// aliases are other keys that the part may have.
	aliases []string

	// needs is the key without which PVE does not accept this one, and excludes are the keys with which it does not.
	needs    string
	excludes []string
}

// in returns the key of the part in a property string, and whether the string has it.
func (d part) in(p *propertystring.Properties) (key string, ok bool) {
	for _, key := range append([]string{d.key}, d.aliases...) {
		if p.Has(key) {
			return key, true
		}
	}
	return d.key, false
}

// overlay sets the declared parts. It leaves the others as they are, except those that PVE would not accept together with them. It does not add an absent
// part whose wanted value applies anyway.
func overlay(p *propertystring.Properties, parts ...part) (declared bool) {
	before := *p
	for _, d := range parts {
		if d.Value == nil {
			continue
		}
		declared = true
		key, there := d.in(p)
		switch {
		case there && d.Same(p.Get(key), *d.Value), !there && d.absent == *d.Value:
		case *d.Value == "":
			p.Delete(key)
		default:
			p.Set(key, *d.Value)
		}
	}
	if declared {
		dropConflicting(p, before, parts)
	}
	return declared
}

// dropConflicting removes undeclared parts that cannot stay: those that a declared part excludes, and then those that need a removed part.
func dropConflicting(p *propertystring.Properties, before propertystring.Properties, parts []part) {
	for _, d := range parts {
		if ptr.Deref(d.Value, "") == "" {
			continue
		}
		for _, other := range parts {
			if other.Value == nil && slices.Contains(d.excludes, other.key) {
				p.Delete(other.key)
			}
		}
	}
	for _, d := range parts {
		key, there := d.in(p)
		if there && ptr.Deref(d.Value, "") == "" && before.Has(d.needs) && !p.Has(d.needs) {
			p.Delete(key)
		}
	}
}

// properties returns a function that sets the parts in a property string whose first value has no key. first is that value in a new string. PVE keeps
// strings without it.
func properties(defaultKey, first string, parts ...part) func(string) (string, bool) {
	return func(now string) (string, bool) {
		p, err := propertystring.Parse(now, defaultKey)
		if err != nil {
			p = propertystring.Properties{}
		}
		lead := first
		if p.Len() > 0 && !p.Has(defaultKey) {
			lead = ""
		}
		if !overlay(&p, parts...) {
			return "", false
		}
		if lead = cmp.Or(p.Get(defaultKey), lead); lead != "" && p.Len() > 0 {
			p.SetDefault(defaultKey, lead)
		}
		return p.String(), true
	}
}

// A composite is an option that several fields set.
type composite struct {
	name, absent string

	// defaultKey is the key of the value without a key. first becomes that value if other parts need one.
	defaultKey, first string

	// spelled is true for an option that PVE does not accept as a mere 0.
	spelled bool

	// enabled is false if the spec wants the option removed.
	enabled *bool

	parts []part
	same  func(a, b string) bool
}

func (c composite) option() Option {
	o := Option{
		Name: c.name, absent: c.absent, same: c.same,
		Want: unless(c.enabled, c.want), others: undeclaredParts(c.defaultKey, c.parts),
		read: func(now string) []string { return readProperties(now, c.defaultKey, c.parts) },
	}
	if o.same == nil {
		o.same = sameProperties(c.defaultKey)
	}
	return o
}

func (c composite) want(now string) (string, bool) {
	want, declared := properties(c.defaultKey, c.first, c.parts...)(now)
	if c.spelled && want == "0" {
		want = c.defaultKey + "=0"
	}
	return want, declared
}

// undeclaredParts returns a function for the parts of a property string that are not declared.
func undeclaredParts(defaultKey string, parts []part) func(string) string {
	return func(value string) string {
		p, err := propertystring.Parse(value, defaultKey)
		if err != nil {
			return value
		}
		return otherProperties(p, parts)
	}
}

// otherProperties returns the parts of a property string that are not declared, in a fixed order.
func otherProperties(p propertystring.Properties, parts []part) string {
	for _, d := range parts {
		if key, there := d.in(&p); there && d.Value != nil {
			p.Delete(key)
		}
	}
	var rest propertystring.Properties
	all := p.Map()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		rest.Set(key, all[key])
	}
	return rest.String()
}

// WholeOption stands for the whole value of an option in lists of its keys.
const WholeOption = ""

// readProperties sets the fields of the parts to the values in a property string. It returns the keys that they cannot hold.
func readProperties(now, defaultKey string, parts []part) (left []string) {
	p, err := propertystring.Parse(now, defaultKey)
	if err != nil {
		return []string{WholeOption}
	}
	return readParts(p, parts)
}

func readParts(p propertystring.Properties, parts []part) (left []string) {
	known := map[string]part{}
	for _, d := range parts {
		if key, there := d.in(&p); there {
			known[key] = d
		}
	}
	for _, key := range p.Keys() {
		if d, ok := known[key]; !ok || d.Read == nil || !d.Read(p.Get(key), d.Same) {
			left = append(left, key)
		}
	}
	return left
}

// unless returns want, or the removal of the option if the spec has enabled set to false.
func unless(enabled *bool, want func(string) (string, bool)) func(string) (string, bool) {
	if enabled == nil || *enabled {
		return want
	}
	return func(string) (string, bool) { return "", true }
}

// sameProperties compares property strings without their order.
func sameProperties(defaultKey string) func(a, b string) bool {
	return func(a, b string) bool {
		x, errX := propertystring.Parse(a, defaultKey)
		y, errY := propertystring.Parse(b, defaultKey)
		return errX == nil && errY == nil && x.Equal(y)
	}
}

// NonEmpty returns a text as a field, which is nil if the text is empty.
func NonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

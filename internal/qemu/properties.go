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

// A part of a property string.
type part struct {
	key string

	// Codec of the field. An empty value asks for none.
	codec.Codec

	// absent is the value that holds when the part is not there.
	absent string

	// aliases are other keys that the part may stand under.
	aliases []string

	// needs is the key without which PVE does not take this one, and excludes are
	// those beside which it does not.
	needs    string
	excludes []string
}

// in says under which key the part stands in a property string, and whether it
// does.
func (d part) in(p *propertystring.Properties) (key string, ok bool) {
	for _, key := range append([]string{d.key}, d.aliases...) {
		if p.Has(key) {
			return key, true
		}
	}
	return d.key, false
}

// overlay sets the declared parts and leaves the others as they are, but for those
// that PVE would not take beside them. A part that is not there and is wanted as
// what holds then is not added.
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

// dropConflicting takes away what is not declared and cannot stay: what a declared part
// excludes, and then what needs a part that has gone.
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

// properties wants the parts in a property string whose first value has no key.
// first is what that is in a new string that needs one; PVE keeps strings without.
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

// A composite is an option of several fields.
type composite struct {
	name, absent string

	// defaultKey of the value without a key, and what becomes the first value if
	// other parts need one.
	defaultKey, first string

	// spelled is true for an option that PVE does not take as a mere 0.
	spelled bool

	// enabled is false where the spec wants no such option.
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

// undeclaredParts returns what a property string has beside the declared parts.
func undeclaredParts(defaultKey string, parts []part) func(string) string {
	return func(value string) string {
		p, err := propertystring.Parse(value, defaultKey)
		if err != nil {
			return value
		}
		return otherProperties(p, parts)
	}
}

// otherProperties returns what a property string has beside the declared parts, in an order that says nothing.
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

// WholeOption stands for all of an option's value, where keys of it are listed.
const WholeOption = ""

// readProperties sets the fields of the parts to what a property string has. It
// returns the keys that they cannot hold.
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

// unless wants no option at all where the spec says that it is not enabled.
func unless(enabled *bool, want func(string) (string, bool)) func(string) (string, bool) {
	if enabled == nil || *enabled {
		return want
	}
	return func(string) (string, bool) { return "", true }
}

// sameProperties compares property strings, in which order is of no meaning.
func sameProperties(defaultKey string) func(a, b string) bool {
	return func(a, b string) bool {
		x, errX := propertystring.Parse(a, defaultKey)
		y, errY := propertystring.Parse(b, defaultKey)
		return errX == nil && errY == nil && x.Equal(y)
	}
}

// NonEmpty returns a text as a field has it, which is left out if it is empty.
func NonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

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

// Package settings computes the differences between declared settings and those in Proxmox VE. Only what is declared counts. In a setting with parts,
// only the declared parts count.
package settings

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// Declared settings, by their PVE names.
type Declared map[string]Setting

// A Setting is a declared setting, either as a whole or in some of its parts.
type Setting struct {
	// Whole value, unless the setting has parts.
	Whole Value

	// Parts that are declared, by their PVE names. Nil if the setting has none.
	Parts map[string]Value

	// defaultPart is the part that may be written without its name.
	defaultPart string

	// Required parts, without which PVE accepts no others, with their defaults. A setting whose required part has no default is removed as a whole when
	// that part is reset.
	Required map[string]string

	// Default is the value that PVE returns if the setting is not set, if it returns any.
	Default string

	// Secret settings are not shown.
	Secret bool
}

// A Value is a declared value. An empty one removes the setting or the part.
type Value struct {
	// Text in the form for PVE.
	Text string

	// Same reports whether two texts are equivalent. Nil compares them for equality.
	Same func(a, b string) bool
}

func (v Value) is(seen string) bool {
	return v.Text == seen || v.Same != nil && v.Same(v.Text, seen)
}

// Set declares a setting as a whole, if there is a value.
func (d Declared) Set(name string, value *string) {
	d.SetSame(name, value, nil)
}

// SetSame declares, like Set, a value that has several equivalent forms.
func (d Declared) SetSame(name string, value *string, same func(a, b string) bool) {
	if value != nil {
		d[name] = Setting{Whole: Value{Text: *value, Same: same}}
	}
}

// SetParts declares the parts of a setting that have a value. If none has, the setting is not declared.
func (d Declared) SetParts(name, defaultPart string, parts map[string]*string) {
	s := Setting{defaultPart: defaultPart, Parts: map[string]Value{}}
	for part, value := range parts {
		if value != nil {
			s.Parts[part] = Value{Text: *value}
		}
	}
	if len(s.Parts) > 0 {
		d[name] = s
	}
}

// Compare sets how texts of a declared part are compared.
func (d Declared) Compare(name, part string, same func(a, b string) bool) {
	if v, ok := d[name].Parts[part]; ok {
		v.Same = same
		d[name].Parts[part] = v
	}
}

// Require declares that PVE accepts no other part of a declared setting without this one, and the value that replaces it when it is reset.
func (d Declared) Require(name, part, value string) {
	if s, ok := d[name]; ok {
		s.Required = map[string]string{part: value}
		d[name] = s
	}
}

// Number returns a number in PVE's notation, or nil.
func Number[T int32 | int64](n *T) *string {
	if n == nil {
		return nil
	}
	return new(strconv.FormatInt(int64(*n), 10))
}

// Boolean returns a boolean in PVE's notation, or nil.
func Boolean(b *bool) *string {
	if b == nil {
		return nil
	}
	if *b {
		return new("1")
	}
	return new("0")
}

// SameSet reports whether two lists, separated by semicolons, have the same items.
func SameSet(a, b string) bool { return slices.Equal(items(a), items(b)) }

func items(s string) []string {
	all := strings.FieldsFunc(s, func(r rune) bool { return r == ';' })
	slices.Sort(all)
	return slices.Compact(all)
}

// SameList reports whether two lists, separated by commas, semicolons or spaces, have the same items in any order.
func SameList(a, b string) bool {
	split := func(s string) []string {
		all := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",; ", r) })
		slices.Sort(all)
		return slices.Compact(all)
	}
	return slices.Equal(split(a), split(b))
}

// List returns a list in PVE's notation, separated by commas, or nil. An empty list results in an empty string.
func List(all []string) *string {
	if all == nil {
		return nil
	}
	return new(strings.Join(all, ","))
}

// SameText reports whether two texts are equal except for line breaks at their ends, which PVE adds and removes.
func SameText(a, b string) bool {
	return strings.TrimRight(a, "\n") == strings.TrimRight(b, "\n")
}

// Change returns the change that applies the declared settings, given those in PVE.
func (d Declared) Change(seen proxmox.Settings) (proxmox.Change, error) {
	c := proxmox.Change{Digest: seen.Digest}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		before := seen.Values[name]
		after, err := d[name].applied(before)
		if err != nil {
			return proxmox.Change{}, errors.Wrapf(err, "cannot read the option %q", name)
		}
		c = with(c, name, before, after)
	}
	return c, nil
}

// Reset returns the change that replaces the declared settings by PVE's defaults, given those in PVE.
func (d Declared) Reset(seen proxmox.Settings) (proxmox.Change, error) {
	c := proxmox.Change{Digest: seen.Digest}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		before := seen.Values[name]
		after, err := d[name].taken(before)
		if err != nil {
			return proxmox.Change{}, errors.Wrapf(err, "cannot read the option %q", name)
		}
		if strings.EqualFold(before, d[name].Default) {
			continue
		}
		c = with(c, name, before, after)
	}
	return c, nil
}

// with adds the change of one setting.
func with(c proxmox.Change, name, before, after string) proxmox.Change {
	switch {
	case before == after:
	case after == "":
		c.Delete = append(c.Delete, name)
	default:
		if c.Set == nil {
			c.Set = proxmox.Params{}
		}
		c.Set[name] = after
	}
	return c
}

// applied returns the setting's text with the declared values. It returns the former text if that already has them.
func (s Setting) applied(before string) (string, error) {
	if s.Parts == nil {
		if s.Whole.is(before) {
			return before, nil
		}
		return s.Whole.Text, nil
	}
	p, err := propertystring.Parse(before, s.defaultPart)
	if err != nil {
		return "", err
	}
	after := p
	for _, part := range slices.Sorted(maps.Keys(s.Parts)) {
		switch v := s.Parts[part]; {
		case v.is(p.Get(part)):
		case v.Text == "":
			after.Delete(part)
		default:
			after.Set(part, v.Text)
		}
	}
	if after.Equal(p) {
		return before, nil
	}
	return after.String(), nil
}

// taken returns the setting's text without the declared values.
func (s Setting) taken(before string) (string, error) {
	if s.Parts == nil {
		return "", nil
	}
	p, err := propertystring.Parse(before, s.defaultPart)
	if err != nil {
		return "", err
	}
	after := p
	for part := range s.Parts {
		after.Delete(part)
	}
	for part, value := range s.Required {
		switch {
		case after.Len() == 0 || after.Has(part):
		case value == "":
			return "", nil
		default:
			after.Set(part, value)
		}
	}
	if after.Equal(p) {
		return before, nil
	}
	return after.String(), nil
}

// longestShown is how much of a value is shown, in bytes.
const longestShown = 256

// hidden stands for a value that is not shown.
const hidden = "********"

// Differences describes a change of the declared settings.
func (d Declared) Differences(c proxmox.Change, seen proxmox.Settings) []v1alpha1.OptionDifference {
	var out []v1alpha1.OptionDifference
	for _, name := range c.Names() {
		out = append(out, v1alpha1.OptionDifference{
			Option: name, Current: d[name].shown(seen.Values[name]), Desired: d[name].shown(c.Set[name]),
		})
	}
	return out
}

func (s Setting) shown(text string) string {
	switch {
	case s.Secret && text != "":
		return hidden
	case len(text) > longestShown:
		return strings.ToValidUTF8(text[:longestShown], "") + "…"
	}
	return text
}

// Location returns the setting of a location.
func Location(l *v1alpha1.Location) Setting {
	s := Setting{Required: map[string]string{"latitude": "", "longitude": ""}, Parts: map[string]Value{
		"latitude": {Text: l.Latitude, Same: sameNumber}, "longitude": {Text: l.Longitude, Same: sameNumber},
	}}
	if l.Name != nil {
		s.Parts["name"] = Value{Text: *l.Name}
	}
	return s
}

func sameNumber(a, b string) bool {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	return errA == nil && errB == nil && x == y
}

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
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Values are the received parameters of a request: a string, a []string, nil (JSON null), true or false (JSON) or a map (a JSON object).
type Values map[string]any

// Params are checked parameters: booleans are "0" or "1", arrays are in Lists, and everything else is unchanged.
type Params struct {
	// Values are the single values.
	Values map[string]string
	// Lists are the values of parameters whose type is an array.
	Lists map[string][]string
	// Undefined lists the parameters that were sent as JSON null.
	Undefined []string
}

// Errors describe what is wrong with a request: parameter → message, as in the field "errors" of PVE's answer.
type Errors map[string]string

func (e Errors) add(path, message string) {
	if old, ok := e[path]; ok {
		message = old + `\n` + message
	}
	e[path] = message
}

const (
	errMissing = "property is missing and it is not optional"
	errUnknown = "property is not defined in schema and the schema does not allow additional properties"
)

// Check checks the parameters of a request to m and returns them in normal form.
func (f *Facts) Check(m *Method, in Values) (Params, Errors) {
	c := &checker{facts: f, errs: Errors{}}
	out := Params{Values: map[string]string{}, Lists: map[string][]string{}}
	variant, kind := c.variant(m.Variants, in)
	for name, v := range in {
		p, path := m.Parameters.find(name), name
		if p == nil && variant != nil {
			p, path = variant.find(name), kind+name
		}
		if p == nil && m.Variants != nil && name == m.Variants.Property {
			p = &Property{Type: "string"}
		}
		if p == nil {
			if !m.Open {
				c.errs.add(name, errUnknown)
			}
			p = &Property{Type: "string"}
		}
		c.take(&out, path, name, p, v)
	}
	c.missing("", m.Parameters, in)
	c.missing(kind, variant, in)
	c.requires("", m.Parameters, presence(out))
	return out, c.errs
}

func (c *checker) missing(prefix string, ps Properties, in Values) {
	for name, p := range ps {
		if in[name] == nil && p.required() { // null counts as absent.
			c.errs.add(prefix+name, errMissing)
		}
	}
}

// variant returns the parameters of a request's type, and the prefix of their names in messages.
func (c *checker) variant(v *Variants, in Values) (Properties, string) {
	if v == nil {
		return nil, ""
	}
	given, ok := in[v.Property].(string)
	switch {
	case !ok:
		c.errs.add(v.Property, errMissing)
	case v.Of[given] == nil:
		c.errs.add(v.Property, checkEnum(&Property{Enum: v.Enum}, given))
	}
	return v.Of[given], "oneOf[" + given + "]."
}

func presence(p Params) func(string) bool {
	return func(name string) bool {
		_, single := p.Values[name]
		_, list := p.Lists[name]
		return single || list
	}
}

// Find returns the property of a parameter name. "scsi3" finds "scsi[n]".
func (ps Properties) Find(name string) *Property { return ps.find(name) }

func (ps Properties) find(name string) *Property {
	if p, ok := ps[name]; ok && p.Count == 0 {
		return p
	}
	base := strings.TrimRight(name, "0123456789")
	p, ok := ps[base+"[n]"]
	if !ok || base == name {
		return nil
	}
	digits := name[len(base):]
	n, err := strconv.Atoi(digits)
	if err != nil || n >= p.Count || strconv.Itoa(n) != digits {
		return nil
	}
	return p
}

func (p *Property) required() bool {
	return !p.Optional && !p.OptionalFor && p.Alias == "" && p.Type != "null"
}

// A checker checks one request and collects the errors.
type checker struct {
	facts *Facts
	errs  Errors
}

// take checks one parameter and stores its normal form in out.
func (c *checker) take(out *Params, path, name string, p *Property, v any) {
	if v == nil {
		out.Undefined = append(out.Undefined, name)
		return
	}
	if p.Type == "array" {
		out.Lists[name] = c.list(path, p, v)
		return
	}
	s, ok := c.scalar(path, p, v)
	if !ok {
		return
	}
	if p.Type == "integer" || p.Type == "number" {
		s = strings.TrimSuffix(s, "\n") // Perl's "$" matches before it, and the number is the same.
	}
	out.Values[name] = s
	c.value(path, p, s)
}

func (c *checker) list(name string, p *Property, v any) []string {
	items, ok := v.([]string)
	if s, single := v.(string); single && s != "" && s != "0" {
		items, ok = []string{s}, true
	}
	if !ok {
		c.errs.add(name, "type check ('array') failed")
		return nil
	}
	for i, item := range items {
		if p.Items != nil {
			c.value(fmt.Sprintf("%s[%d]", name, i), p.Items, item)
		}
	}
	return items
}

// scalar converts a value to the text that PVE's checks see.
func (c *checker) scalar(name string, p *Property, v any) (string, bool) {
	switch t := v.(type) {
	case string:
		return t, true
	case []string:
		if strings.HasSuffix(p.Format, "-list") {
			return strings.Join(t, ","), true
		}
		c.typeError(name, p, "ARRAY")
	case bool:
		if p.Type == "boolean" {
			return map[bool]string{true: "1", false: "0"}[t], true
		}
		c.typeError(name, p, "JSON::PP::Boolean")
	default:
		c.typeError(name, p, "HASH")
	}
	return "", false
}

func (c *checker) typeError(path string, p *Property, got string) {
	c.errs.add(path, fmt.Sprintf("type check ('%s') failed - got %s", p.Type, got))
}

// value checks type, format, pattern, length, range and enumeration, in PVE's order, and stops at the first failure.
func (c *checker) value(path string, p *Property, v string) {
	if !typeOK(p.Type, v) {
		c.typeError(path, p, "'"+v+"'")
		return
	}
	if p.Format != "" {
		if msg := c.format(path, p.Format, v); msg != "" {
			c.errs.add(path, "invalid format - "+msg+"\n")
			return
		}
	}
	for _, check := range []func(*Property, string) string{checkPattern, checkLength, checkRange, checkEnum} {
		if msg := check(p, v); msg != "" {
			c.errs.add(path, msg)
			return
		}
	}
}

func typeOK(kind, v string) bool {
	switch kind {
	case "boolean":
		return v == "0" || v == "1"
	case "integer":
		return isInteger(v)
	case "number":
		return isNumber(v)
	}
	return true
}

// unsigned removes what PVE accepts around digits: one sign before and a newline after them.
func unsigned(v string) string {
	v = strings.TrimSuffix(v, "\n")
	if v != "" && (v[0] == '+' || v[0] == '-') {
		v = v[1:]
	}
	return v
}

func digits(v string) bool { return v != "" && strings.Trim(v, "0123456789") == "" }

func isInteger(v string) bool { return digits(unsigned(v)) }

func isNumber(v string) bool {
	mantissa := unsigned(v)
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		if exponent := mantissa[i+1:]; !isInteger(exponent) || strings.HasSuffix(exponent, "\n") {
			return false
		}
		mantissa = mantissa[:i]
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	return whole+fraction != "" && strings.Trim(whole+fraction, "0123456789") == "" && (point || fraction == "")
}

func checkPattern(p *Property, v string) string {
	if p.pattern != nil && !p.pattern.MatchString(v) {
		return "value does not match the regex pattern"
	}
	return ""
}

func checkLength(p *Property, v string) string {
	n := len([]rune(v))
	if p.MaxLength != nil && n > *p.MaxLength {
		return fmt.Sprintf("value may only be %d characters long", *p.MaxLength)
	}
	if p.MinLength != nil && n < *p.MinLength {
		return fmt.Sprintf("value must be at least %d characters long", *p.MinLength)
	}
	return ""
}

func checkRange(p *Property, v string) string {
	n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || !isNumber(v) {
		return ""
	}
	if p.Maximum != nil && n > *p.Maximum {
		return "value must have a maximum value of " + decimal(*p.Maximum)
	}
	if p.Minimum != nil && n < *p.Minimum {
		return "value must have a minimum value of " + decimal(*p.Minimum)
	}
	return ""
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func checkEnum(p *Property, v string) string {
	if p.Enum == nil || slices.Contains(p.Enum, v) {
		return ""
	}
	return fmt.Sprintf("value '%s' does not have a value in the enumeration '%s'", v, strings.Join(p.Enum, ", "))
}

// requires adds an error for every property that is present without the one that it needs.
func (c *checker) requires(path string, ps Properties, has func(string) bool) {
	for name, p := range ps {
		if p.Requires != "" && has(name) && !has(p.Requires) {
			c.errs.add(join(path, p.Requires), c.requiresMessage(join(path, name)))
		}
	}
}

func (c *checker) requiresMessage(name string) string {
	if c.facts.Version == "8.4" {
		return fmt.Sprintf("missing property - '%s' requires this property", name)
	}
	return fmt.Sprintf("missing property required by '%s'", name)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// format checks a value against a named format and returns what is wrong, or nothing.
func (c *checker) format(path, name, v string) string {
	if props, ok := c.facts.properties(name); ok {
		_, msg := c.propertyString(path, name, props, v)
		return msg
	}
	base, kind := name, ""
	if b, ok := strings.CutSuffix(name, "-list"); ok {
		base, kind = b, "list"
	} else if b, ok := strings.CutSuffix(name, "-opt"); ok {
		base, kind = b, "opt"
	}
	check, ok := c.facts.checks[base]
	if !ok || (kind == "opt" && v == "") {
		return ""
	}
	if kind != "list" {
		return check(v)
	}
	for _, item := range SplitList(v) {
		if msg := check(item); msg != "" {
			return msg
		}
	}
	return ""
}

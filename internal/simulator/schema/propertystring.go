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
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ParseProperties parses a property string such as "virtio=BC:24:11:00:00:01,bridge=vmbr0" in a format of the facts. It returns booleans as "0" or "1",
// and aliases under the name for which they stand. Its error is PVE's message.
func (f *Facts) ParseProperties(format, s string) (map[string]string, error) {
	props, ok := f.properties(format)
	if !ok {
		return nil, errors.Errorf("cannot find the format %q", format)
	}
	c := &checker{facts: f, errs: Errors{}}
	out, msg := c.propertyString("", format, props, s)
	if msg != "" {
		return nil, errors.New(strings.TrimSuffix(msg, "\n"))
	}
	return out, nil
}

// TypedProperties parses a property string into the values that the API shows: booleans as numbers, the rest as text. The result is empty for an invalid
// one.
func (f *Facts) TypedProperties(format, s string) map[string]any {
	props, _ := f.properties(format)
	values, err := f.ParseProperties(format, s)
	out := map[string]any{}
	if err != nil {
		return out
	}
	for key, v := range values {
		out[key] = v
		if p := props[key]; p != nil && p.Type == "boolean" {
			out[key] = map[string]int{"0": 0, "1": 1}[v]
		}
	}
	return out
}

// propertyString parses and checks a property string. It returns its values, or what is wrong with it.
func (c *checker) propertyString(path, format string, props Properties, s string) (map[string]string, string) {
	p := &propertyParser{props: props, out: map[string]string{}}
	for part := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		if msg := p.part(part); msg != "" {
			return nil, msg
		}
	}
	inner := &checker{facts: c.facts, errs: Errors{}}
	inner.object(path, props, p.out)
	if len(inner.errs) > 0 {
		return nil, "format error\n" + inner.errs.text()
	}
	return p.out, validateFormat(format, p.out)
}

// text returns the errors of a property string as PVE writes them into the error of the parameter.
func (e Errors) text() string {
	lines := make([]string, 0, len(e))
	for path, msg := range e {
		lines = append(lines, path+": "+msg)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// object checks the values of a property string.
func (c *checker) object(path string, props Properties, values map[string]string) {
	for name, p := range props {
		v, ok := values[name]
		if ok && p.Alias == "" {
			c.value(join(path, name), p, v)
		}
		if !ok && p.required() {
			c.errs.add(join(path, name), errMissing)
		}
	}
	for name := range values {
		if props[name] == nil {
			c.errs.add(join(path, name), errUnknown)
		}
	}
	c.requires(path, props, func(name string) bool { _, ok := values[name]; return ok })
}

// A propertyParser collects the parts of one property string.
type propertyParser struct {
	props      Properties
	out        map[string]string
	defaultKey string
}

func (p *propertyParser) part(part string) string {
	key, value, ok := strings.Cut(part, "=")
	switch {
	case !ok:
		return p.unnamed(part)
	case key == "" || value == "":
		return "missing key in comma-separated list property"
	}
	return p.named(key, value)
}

func (p *propertyParser) named(key, value string) string {
	if _, dup := p.out[key]; dup {
		return "duplicate key in comma-separated list property: " + key
	}
	prop := p.props[key]
	if prop != nil && prop.Alias != "" {
		if prop.KeyAlias != "" {
			if _, dup := p.out[prop.KeyAlias]; dup {
				return fmt.Sprintf("key alias '%s' is already defined", prop.KeyAlias)
			}
			p.out[prop.KeyAlias] = key
		}
		key, prop = prop.Alias, p.props[prop.Alias]
		if _, dup := p.out[key]; dup {
			return fmt.Sprintf("key '%s' is already defined (via alias)", key)
		}
	}
	p.out[key] = normalBoolean(prop, value)
	return ""
}

func (p *propertyParser) unnamed(value string) string {
	if p.defaultKey != "" {
		return "duplicate key in comma-separated list property: " + p.defaultKey
	}
	p.defaultKey = p.props.defaultKey()
	if p.defaultKey == "" {
		return "value without key, but schema does not define a default key"
	}
	if p.out[p.defaultKey] != "" {
		return "duplicate key in comma-separated list property: " + p.defaultKey
	}
	p.out[p.defaultKey] = normalBoolean(p.props[p.defaultKey], value)
	return ""
}

func (ps Properties) defaultKey() string {
	for name, p := range ps {
		if p.DefaultKey {
			return name
		}
	}
	return ""
}

func normalBoolean(p *Property, v string) string {
	if p == nil || p.Type != "boolean" {
		return v
	}
	switch strings.ToLower(v) {
	case "1", "on", "yes", "true":
		return "1"
	case "0", "off", "no", "false":
		return "0"
	}
	return v
}

// FormatProperties writes values as a property string: the default key first, then required keys, then the rest, each group sorted. Keys in skip are left
// out.
func (f *Facts) FormatProperties(format string, values map[string]string, skip ...string) string {
	props, _ := f.properties(format)
	w := &propertyWriter{props: props, values: values, done: map[string]bool{}}
	for _, key := range skip {
		w.done[key] = true
	}
	w.key(props.defaultKey(), true)
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if p := props[key]; p != nil && !p.Optional {
			w.key(key, false)
		}
	}
	for _, key := range keys {
		w.key(key, false)
	}
	return strings.Join(w.parts, ",")
}

type propertyWriter struct {
	props  Properties
	values map[string]string
	done   map[string]bool
	parts  []string
}

func (w *propertyWriter) key(key string, isDefault bool) {
	value, ok := w.values[key]
	if !ok || w.done[key] {
		return
	}
	w.done[key] = true
	if other := w.combined(key); other != "" {
		w.done[other] = true
		w.parts = append(w.parts, value+"="+w.values[other])
		return
	}
	if isDefault {
		w.parts = append(w.parts, value)
		return
	}
	w.parts = append(w.parts, key+"="+value)
}

// combined returns the key whose value follows key's value: a NIC's model and its MAC address.
func (w *propertyWriter) combined(key string) string {
	for _, p := range w.props {
		if p.KeyAlias != key {
			continue
		}
		if _, ok := w.values[p.Alias]; ok {
			return p.Alias
		}
	}
	return ""
}

// validateFormat performs the checks that PVE implements as code for a format.
func validateFormat(format string, values map[string]string) string {
	if format != "pve-vm-cpu-conf" {
		return ""
	}
	model := values["cputype"]
	if model == "" || strings.HasPrefix(model, "custom-") || cpuModel().MatchString(model) {
		return ""
	}
	return fmt.Sprintf("Built-in cputype '%s' is not defined (missing 'custom-' prefix?)", model)
}

// cpuModel matches the names of PVE's built-in CPU models.
func cpuModel() *regexp.Regexp {
	return regexp.MustCompile(`^(486|pentium[23]?|coreduo|core2duo|athlon|phenom|host|max|(kvm|qemu)(32|64)|` +
		`x86-64-v[234](-AES)?|x86-64-v2-AES|Conroe|Penryn|KnightsMill|` +
		`(Nehalem|Westmere|SandyBridge|IvyBridge)(-IBRS)?|(Haswell|Broadwell)(-noTSX)?(-IBRS)?|` +
		`(Skylake-Client|Skylake-Server|Cascadelake-Server|Icelake-Client|Icelake-Server|Cooperlake|SapphireRapids|` +
		`GraniteRapids|SierraForest|ClearwaterForest|DiamondRapids)(-noTSX)?(-IBRS|-noTSX-IBRS)?(-v[0-9]+)?|` +
		`Opteron_G[1-5]|EPYC(-IBPB)?(-(Rome|Milan|Genoa|Turin))?(-v[0-9]+)?)$`)
}

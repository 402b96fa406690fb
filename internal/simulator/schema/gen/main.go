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

// Command gen writes the facts of one Proxmox VE version from its API description. It only keeps names, types and limits, and no texts.
package main

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

func main() {
	api := flag.String("api", "", "API description (JSON) to read")
	formats := flag.String("formats", "", "named property-string formats (JSON) to read")
	out := flag.String("out", "", "file to write (gzip)")
	flag.Parse()
	if err := run(*api, *formats, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(api, formats, out string) error {
	var tree []node
	if err := read(api, &tree); err != nil {
		return err
	}
	var named struct {
		Formats map[string]map[string]property `json:"formats"`
	}
	if err := read(formats, &named); err != nil {
		return err
	}
	b := &builder{formats: map[string]schema.Properties{}, inline: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(named.Formats)) {
		b.formats[name] = b.properties(named.Formats[name])
	}
	b.walk(tree)
	b.alias("pve-qm-ide", "/nodes/{node}/qemu", "ide[n]")
	return write(out, b)
}

func read(path string, into any) error {
	data, err := os.ReadFile(path) //nolint:gosec // The developer names the file.
	if err != nil {
		return errors.Wrapf(err, "cannot read %q", path)
	}
	return errors.Wrapf(json.Unmarshal(data, into), "cannot parse %q", path)
}

func write(path string, b *builder) error {
	f, err := os.Create(path) //nolint:gosec // The developer names the file.
	if err != nil {
		return errors.Wrapf(err, "cannot create %q", path)
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return errors.Wrap(err, "cannot compress")
	}
	for _, name := range slices.Sorted(maps.Keys(b.formats)) {
		if err := line(z, "format "+name, b.formats[name]); err != nil {
			return err
		}
	}
	for _, m := range b.methods {
		if err := line(z, "method "+m.Verb+" "+m.Path, m); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return errors.Wrapf(err, "cannot write %q", path)
	}
	return errors.Wrapf(f.Close(), "cannot write %q", path)
}

// line writes one fact.
func line(w io.Writer, head string, fact any) error {
	data, err := json.Marshal(fact)
	if err != nil {
		return errors.Wrapf(err, "cannot encode %q", head)
	}
	_, err = fmt.Fprintf(w, "%s %s\n", head, data)
	return errors.Wrap(err, "cannot write the facts")
}

// A node is one path of the API description.
type node struct {
	Path     string            `json:"path"`
	Info     map[string]method `json:"info"`
	Children []node            `json:"children"`
}

type method struct {
	AllowToken  *int   `json:"allowtoken"`
	ProxyTo     string `json:"proxyto"`
	Permissions *struct {
		User  string `json:"user"`
		Check []any  `json:"check"`
	} `json:"permissions"`
	Parameters parameters `json:"parameters"`
}

// parameters holds the parameters of a method, or a part of them. A part may depend on the value of one parameter.
type parameters struct {
	AdditionalProperties *int                `json:"additionalProperties"`
	Properties           map[string]property `json:"properties"`
	AllOf                []parameters        `json:"allOf"`
	OneOf                []parameters        `json:"oneOf"`
	TypeProperty         string              `json:"type-property"`
	TypeSchema           property            `json:"type-property-schema"`
	InstanceType         string              `json:"instance-type"`
}

type property struct {
	Type         any             `json:"type"`
	Optional     any             `json:"optional"`
	Format       json.RawMessage `json:"format"`
	Pattern      string          `json:"pattern"`
	Enum         []any           `json:"enum"`
	Minimum      any             `json:"minimum"`
	Maximum      any             `json:"maximum"`
	MinLength    any             `json:"minLength"`
	MaxLength    any             `json:"maxLength"`
	DefaultKey   any             `json:"default_key"`
	Alias        string          `json:"alias"`
	KeyAlias     string          `json:"keyAlias"`
	Requires     any             `json:"requires"`
	Items        *property       `json:"items"`
	TypeProperty any             `json:"type-property"`
	InstanceType any             `json:"instance-types"`
	OneOf        any             `json:"oneOf"`
}

type builder struct {
	formats map[string]schema.Properties
	methods []*schema.Method
	// inline maps the facts of an inline format to its name.
	inline map[string]string
}

func (b *builder) walk(nodes []node) {
	for _, n := range nodes {
		for _, verb := range slices.Sorted(maps.Keys(n.Info)) {
			b.methods = append(b.methods, b.method(n.Path, verb, n.Info[verb]))
		}
		b.walk(n.Children)
	}
}

// alias names an inline format. The description refers to it by name elsewhere, but the named formats lack it.
func (b *builder) alias(name, path, parameter string) {
	for _, m := range b.methods {
		if m.Path == path && m.Verb == "POST" {
			b.formats[name] = b.formats[m.Parameters[parameter].Format]
		}
	}
}

func (b *builder) method(path, verb string, m method) *schema.Method {
	out := &schema.Method{
		Path: path, Verb: verb, ProxyTo: m.ProxyTo,
		Open:       m.Parameters.AdditionalProperties == nil || *m.Parameters.AdditionalProperties != 0,
		NoToken:    m.AllowToken != nil && *m.AllowToken == 0,
		Parameters: b.properties(m.Parameters.Properties),
	}
	for _, part := range m.Parameters.AllOf {
		out.Open = false
		maps.Copy(out.Parameters, b.properties(part.Properties))
		if len(part.OneOf) > 0 {
			out.Variants = b.variants(part)
		}
	}
	if m.Permissions != nil {
		out.User, out.Check = m.Permissions.User, m.Permissions.Check
	}
	return out
}

func (b *builder) variants(in parameters) *schema.Variants {
	out := &schema.Variants{Property: in.TypeProperty, Enum: b.property("", in.TypeSchema).Enum, Of: map[string]schema.Properties{}}
	for _, v := range in.OneOf {
		out.Of[v.InstanceType] = b.properties(v.Properties)
	}
	return out
}

func (b *builder) properties(in map[string]property) schema.Properties {
	out := schema.Properties{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out[name] = b.property(name, in[name])
	}
	return out
}

func (b *builder) property(name string, p property) *schema.Property {
	out := &schema.Property{
		Optional: truth(p.Optional), Pattern: goPattern(p.Pattern),
		Minimum: number(p.Minimum), Maximum: number(p.Maximum), MinLength: length(p.MinLength), MaxLength: length(p.MaxLength),
		DefaultKey: truth(p.DefaultKey), Alias: p.Alias, KeyAlias: p.KeyAlias,
		Format: b.format(p.Format), Count: count(name),
		OptionalFor: p.TypeProperty != nil || p.InstanceType != nil || p.OneOf != nil,
	}
	out.Type, _ = p.Type.(string)
	out.Requires, _ = p.Requires.(string)
	for _, e := range p.Enum {
		out.Enum = append(out.Enum, fmt.Sprint(e))
	}
	if p.Items != nil {
		out.Items = b.property("", *p.Items)
	}
	return out
}

// format returns the name of a format. Inline formats get generated names.
func (b *builder) format(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return name
	}
	var props map[string]property
	if json.Unmarshal(raw, &props) != nil {
		return ""
	}
	facts := b.properties(props)
	key, _ := json.Marshal(facts) //nolint:errchkjson // Facts are plain values.
	if n, ok := b.inline[string(key)]; ok {
		return n
	}
	n := "#" + strconv.Itoa(len(b.inline)+1)
	b.inline[string(key)] = n
	b.formats[n] = facts
	return n
}

// goPattern converts a Perl pattern to one that Go's regexp accepts: group flags, open lower bounds and counts beyond the limit of 1000 are written
// differently.
func goPattern(p string) string {
	if p == "(?^:(;)*)" {
		// The named formats simplify the pattern of CPU flags to one that matches none of them.
		return `[+-][a-zA-Z0-9\-_.]+(;[+-][a-zA-Z0-9\-_.]+)*`
	}
	r := strings.NewReplacer("(?^:", "(?:", "(?^u:", "(?:", "(?^i:", "(?i:", "{,", "{0,", `\0`, `\x00`, "{0,4096}", "*")
	return r.Replace(p)
}

func truth(v any) bool {
	switch t := v.(type) {
	case float64:
		return t != 0
	case bool:
		return t
	case string:
		return t != "" && t != "0"
	}
	return false
}

func number(v any) *float64 {
	switch t := v.(type) {
	case float64:
		return &t
	case string:
		if f, err := strconv.ParseFloat(t, 64); err == nil {
			return &f
		}
	}
	return nil
}

func length(v any) *int {
	f := number(v)
	if f == nil {
		return nil
	}
	n := int(*f)
	return &n
}

// count returns the number of keys for which an indexed parameter such as "net[n]" stands. The description does not contain it.
func count(name string) int {
	base, ok := strings.CutSuffix(name, "[n]")
	if !ok {
		return 0
	}
	counts := map[string]int{
		"net": 32, "scsi": 31, "virtio": 16, "sata": 6, "ide": 4, "usb": 14, "hostpci": 16, "unused": 256, "mp": 256,
		"ipconfig": 32, "numa": 8, "serial": 4, "parallel": 3, "virtiofs": 10, "dev": 256, "link": 8, "acmedomain": 6,
	}
	if n, ok := counts[base]; ok {
		return n
	}
	return 256
}

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
	"bufio"
	"compress/gzip"
	"embed"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

//go:embed data/*.gz
var data embed.FS

// loaded holds the facts of each version, which are read when they are first requested.
//
//nolint:gochecknoglobals // They never change.
var loaded = map[string]func() (*Facts, error){
	"8.4": sync.OnceValues(func() (*Facts, error) { return read("8.4") }),
	"9.2": sync.OnceValues(func() (*Facts, error) { return read("9.2") }),
}

// Load returns the facts of a Proxmox VE version: "8.4" or "9.2". It is safe for concurrent use, and so are the facts.
func Load(version string) (*Facts, error) {
	if load, ok := loaded[version]; ok {
		return load()
	}
	return nil, errors.Errorf("cannot find the facts of version %q, want 8.4 or 9.2", version)
}

func read(version string) (*Facts, error) {
	raw, err := data.Open("data/" + version + ".gz")
	if err != nil {
		return nil, errors.Wrapf(err, "cannot open the facts of version %q", version)
	}
	defer raw.Close() //nolint:errcheck // It is in memory.
	z, err := gzip.NewReader(raw)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read the facts of version %q", version)
	}
	f := &Facts{
		Version: version, tree: newBranch(), formats: map[string]*lazy[Properties]{}, checks: stringFormats(version),
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if err := f.add(lines.Text()); err != nil {
			return nil, err
		}
	}
	return f, errors.Wrapf(lines.Err(), "cannot read the facts of version %q", version)
}

// maxLine is the maximum length of a line of the facts.
const maxLine = 1 << 20

// add parses one line: "format NAME JSON" or "method VERB PATH JSON".
func (f *Facts) add(line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	name, rest, _ := strings.Cut(rest, " ")
	switch kind {
	case "format":
		f.formats[name] = &lazy[Properties]{raw: rest, parse: parseFormat}
	case "method":
		path, raw, _ := strings.Cut(rest, " ")
		f.tree.add(path, name, &lazy[*Method]{raw: raw, parse: parseMethod})
	default:
		return errors.Errorf("cannot use the kind of fact %q", kind)
	}
	return nil
}

func parseFormat(raw string) (Properties, error) {
	p := Properties{}
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return nil, errors.Wrap(err, "cannot parse a format")
	}
	return p, p.compile()
}

func parseMethod(raw string) (*Method, error) {
	m := &Method{}
	if err := json.Unmarshal([]byte(raw), m); err != nil {
		return nil, errors.Wrap(err, "cannot parse a method")
	}
	return m, errors.Wrapf(m.Parameters.compile(), "cannot prepare %s %s", m.Verb, m.Path)
}

// properties returns a property-string format.
func (f *Facts) properties(name string) (Properties, bool) {
	l, ok := f.formats[name]
	if !ok {
		return nil, false
	}
	p, err := l.get()
	return p, err == nil
}

func (ps Properties) compile() error {
	for name, p := range ps {
		if err := p.compile(); err != nil {
			return errors.Wrapf(err, "cannot compile the pattern of %q", name)
		}
	}
	return nil
}

func (p *Property) compile() error {
	if p.Items != nil {
		if err := p.Items.compile(); err != nil {
			return err
		}
	}
	if p.Pattern == "" {
		return nil
	}
	var err error
	// PVE anchors the pattern without a group, and its "$" allows a final newline.
	p.pattern, err = regexp.Compile("^" + p.Pattern + `\n?$`)
	return err
}

// parseAll parses all facts. Tests use it to check that the generated data is complete.
func (f *Facts) parseAll() error {
	for name := range f.formats {
		if _, err := f.formats[name].get(); err != nil {
			return errors.Wrapf(err, "cannot use the format %q", name)
		}
	}
	return f.tree.parseAll()
}

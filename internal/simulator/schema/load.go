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
	"compress/gzip"
	"embed"
	"encoding/json"
	"regexp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

//go:embed data/*.json.gz
var data embed.FS

// Load returns the facts of a Proxmox VE version: "8.4" or "9.2".
func Load(version string) (*Facts, error) {
	raw, err := data.Open("data/" + version + ".json.gz")
	if err != nil {
		return nil, errors.Errorf("cannot find the facts of version %q, want 8.4 or 9.2", version)
	}
	defer raw.Close() //nolint:errcheck // It is in memory.
	z, err := gzip.NewReader(raw)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read the facts of version %q", version)
	}
	f := &Facts{}
	if err := json.NewDecoder(z).Decode(f); err != nil {
		return nil, errors.Wrapf(err, "cannot parse the facts of version %q", version)
	}
	return f, f.prepare()
}

// prepare compiles what a lookup or a check needs.
func (f *Facts) prepare() error {
	f.tree = newBranch()
	f.checks = stringFormats(f.Version)
	compiled := map[string]*regexp.Regexp{}
	for _, m := range f.Methods {
		f.tree.add(m)
		if err := m.Parameters.compile(compiled); err != nil {
			return errors.Wrapf(err, "cannot prepare %s %s", m.Verb, m.Path)
		}
	}
	for name, props := range f.Formats {
		if err := props.compile(compiled); err != nil {
			return errors.Wrapf(err, "cannot prepare format %q", name)
		}
	}
	return nil
}

func (ps Properties) compile(compiled map[string]*regexp.Regexp) error {
	for name, p := range ps {
		if err := p.compile(compiled); err != nil {
			return errors.Wrapf(err, "cannot compile the pattern of %q", name)
		}
	}
	return nil
}

func (p *Property) compile(compiled map[string]*regexp.Regexp) error {
	if p.Items != nil {
		if err := p.Items.compile(compiled); err != nil {
			return err
		}
	}
	if p.Pattern == "" {
		return nil
	}
	re, ok := compiled[p.Pattern]
	if !ok {
		var err error
		// PVE anchors the pattern without a group, and its "$" allows a final newline.
		if re, err = regexp.Compile("^" + p.Pattern + `\n?$`); err != nil {
			return err
		}
		compiled[p.Pattern] = re
	}
	p.pattern = re
	return nil
}

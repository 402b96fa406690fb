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

// Package qemutest provides configurations of VMs for tests, modelled on what years, other tools and manual edits leave behind in real clusters.
package qemutest

import (
	"embed"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

//go:embed *.conf
var files embed.FS

var reLine = regexp.MustCompile(`(?m)^(?:#(.*)|([a-z][a-z_-]*[0-9]*): (.*))$`)

// Configs returns the VMs by name, with their options as PVE stores them. It returns an error if the files cannot be read.
func Configs() (map[string]map[string]string, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, errors.Wrap(err, "cannot list the configurations")
	}
	all := map[string]map[string]string{}
	for _, entry := range entries {
		b, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, errors.Wrapf(err, "cannot read %q", entry.Name())
		}
		all[strings.TrimSuffix(entry.Name(), path.Ext(entry.Name()))] = parse(string(b))
	}
	return all, nil
}

// parse parses one of PVE's files. Comments become the description.
func parse(text string) map[string]string {
	config, description := map[string]string{}, ""
	for _, m := range reLine.FindAllStringSubmatch(text, -1) {
		if m[2] != "" {
			config[m[2]] = m[3]
			continue
		}
		description += decoded(m[1]) + "\n"
	}
	if description != "" {
		config["description"] = strings.TrimSpace(description)
	}
	return config
}

// decoded decodes a line like PVE, which leaves invalid encodings unchanged.
func decoded(line string) string {
	if text, err := url.PathUnescape(line); err == nil {
		return text
	}
	return line
}

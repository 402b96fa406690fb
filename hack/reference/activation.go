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

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// activate writes the managed kinds into an activation policy. The text before the list stays. The policy activates only the namespaced Machines, and
// both scopes of other kinds.
func activate(definitions, policy string) error {
	files, err := filepath.Glob(filepath.Join(definitions, "*.yaml"))
	if err != nil {
		return errors.Wrapf(err, "cannot list %q", definitions)
	}
	var names []string
	for _, f := range files {
		d, err := read(f)
		if err != nil {
			return err
		}
		if name := activation(d); name != "" {
			names = append(names, "    - "+name+"\n")
		}
	}
	slices.Sort(names)
	text, err := os.ReadFile(filepath.Clean(policy))
	if err != nil {
		return errors.Wrapf(err, "cannot read %q", policy)
	}
	const list = "  activate:\n"
	head, _, found := strings.Cut(string(text), list)
	if !found {
		return errors.Errorf("%q has no list of kinds to activate", policy)
	}
	all := head + list + strings.Join(slices.Compact(names), "")
	return errors.Wrapf(os.WriteFile(policy, []byte(all), 0o644), "cannot write %q", policy) //nolint:gosec // It is an example.
}

// activation returns the entry that activates a kind, or an empty string for a kind that needs none.
func activation(d definition) string {
	plural, namespaced := d.Spec.Names.Plural, d.Spec.Scope == extv1.NamespaceScoped
	switch {
	case strings.Contains(plural, "providerconfig"), plural == "machines" && !namespaced:
		return ""
	case plural == "machines":
		return plural + "." + d.Spec.Group
	}
	return `"` + plural + `.*"`
}

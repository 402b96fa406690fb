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

// Command definitions removes the default of providerConfigRef from the custom resource definitions of kinds whose resources use the provider
// configuration of their Machine. The field is defined by Crossplane, with a default for all kinds.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: definitions <folder of definitions> <plural of a kind>...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run rewrites the definitions of kinds in a folder.
func run(folder string, plurals []string) error {
	for _, plural := range plurals {
		files, err := filepath.Glob(filepath.Join(folder, "*_"+plural+".yaml"))
		if err != nil || len(files) == 0 {
			return errors.Errorf("there are no definitions of %s in %q", plural, folder)
		}
		for _, f := range files {
			if err := rewrite(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func rewrite(file string) error {
	before, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return errors.Wrapf(err, "cannot read %q", file)
	}
	after, found := ofMachine(string(before))
	if !found {
		return errors.Errorf("the field providerConfigRef in %q has no default", file)
	}
	return errors.Wrapf(os.WriteFile(file, []byte(after), 0o644), "cannot write %q", file) //nolint:gosec // It is a manifest.
}

// configuration matches the field by its indentation in the definitions: its default, if it has one, and its description.
var configuration = regexp.MustCompile(`(?m)^( {14}providerConfigRef:\n) {16}default:\n(?: {18}.*\n)+( {16}description: \|-\n)(?: {18}.*\n)+`)

const description = `                  ProviderConfigReference names the provider configuration. Default: that of the
                  Machine, which is put here once the Machine exists, and stays. Where no Machine is
                  named, or it is gone before, that of the name default.
`

// ofMachine returns a definition without the default, and reports whether there was one.
func ofMachine(definition string) (string, bool) {
	return configuration.ReplaceAllString(definition, "${1}${2}"+description), configuration.MatchString(definition)
}

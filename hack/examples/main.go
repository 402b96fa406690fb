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

// Command examples generates the examples of the namespaced API group from those of the cluster-scoped group. A manifest of the provider gets the other
// group and a namespace, also for its connection Secret, and the configuration named default becomes a ClusterProviderConfig. Manifests of other groups
// do not change.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// byHand is an example that shows how the groups differ, so it is not generated.
const byHand = "machine-providerconfig.yaml"

var (
	ours       = regexp.MustCompile(`(?m)^apiVersion: proxmox\.vitistack\.io/`)
	metadata   = regexp.MustCompile(`(?m)^metadata:\n`)
	connection = regexp.MustCompile(`(?m)^(  writeConnectionSecretToRef:\n(?:    .*\n)*?)    namespace: .*\n`)
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: examples <folder of the cluster-scoped group> <folder of the namespaced group>")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run writes the namespaced examples, and removes those whose cluster-scoped examples no longer exist.
func run(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return errors.Wrapf(err, "cannot list %q", from)
	}
	old, err := filepath.Glob(filepath.Join(to, "*.yaml"))
	if err != nil {
		return errors.Wrapf(err, "cannot list %q", to)
	}
	for _, f := range old {
		if filepath.Base(f) == byHand {
			continue
		}
		if err := os.Remove(f); err != nil { //nolint:gosec // The folder is an argument of the generator.
			return errors.Wrapf(err, "cannot remove %q", f)
		}
	}
	for _, f := range files {
		if filepath.Base(f) == byHand {
			continue
		}
		text, err := os.ReadFile(filepath.Clean(f))
		if err != nil {
			return errors.Wrapf(err, "cannot read %q", f)
		}
		name := filepath.Join(to, filepath.Base(f))
		if err := os.WriteFile(name, []byte(namespaced(string(text))), 0o644); err != nil { //nolint:gosec // It is an example.
			return errors.Wrapf(err, "cannot write %q", name)
		}
	}
	return nil
}

// namespaced returns an example of the cluster-scoped group as one of the namespaced group.
func namespaced(example string) string {
	manifests := strings.SplitAfter(example, "\n---\n")
	for i, m := range manifests {
		if !ours.MatchString(m) {
			continue
		}
		m = ours.ReplaceAllString(m, "apiVersion: proxmox.m.vitistack.io/")
		m = connection.ReplaceAllString(m, "$1")
		m = metadata.ReplaceAllString(m, "metadata:\n  namespace: default\n")
		manifests[i] = strings.ReplaceAll(m, "of the ProviderConfig named", "of the ClusterProviderConfig named")
	}
	return strings.Join(manifests, "")
}

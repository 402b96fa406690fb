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
	"os/exec"
	"slices"
	"strings"
	"testing"

	pkgmetav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestFunctions checks that Crossplane runs each function only for its purpose.
func TestFunctions(t *testing.T) {
	cases := map[string]struct {
		reason       string
		function     function
		capabilities []string
		// version of Crossplane that the function needs.
		version  string
		examples []string
	}{
		"Operations": {
			reason: "Operations came with Crossplane 2", function: operationsFunction(), version: ">=v2.0.0-0",
			capabilities: []string{pkgmetav1.FunctionCapabilityOperation}, examples: []string{"Function", "Operation", "CronOperation"},
		},
		"Conditions": {
			reason: "what says nothing of capabilities is for Compositions, and Crossplane 1.17 was the first to take conditions", function: conditionsFunction(),
			version: ">=v1.17.0-0",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			contents, err := build{Root: "../.."}.contents(tc.function)
			if err != nil {
				t.Fatal(err)
			}
			meta := &pkgmetav1.Function{}
			if err := yaml.UnmarshalStrict(contents.Package, meta); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.capabilities, meta.Spec.Capabilities); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if meta.Name != tc.function.name || meta.Spec.Crossplane.Version != tc.version {
				t.Errorf("%s: the function is %q and needs Crossplane %s", tc.reason, meta.Name, meta.Spec.Crossplane.Version)
			}
			for _, kind := range tc.examples {
				if !strings.Contains(string(contents.Examples), "\nkind: "+kind+"\n") {
					t.Errorf("the package shows no %s", kind)
				}
			}
		})
	}
}

// TestVulncheckKnowsPrograms checks that make vulncheck includes each program of an image or a package.
func TestVulncheckKnowsPrograms(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "make", "--dry-run", "vulncheck")
	cmd.Dir = "../.."
	recipe, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, recipe)
	}
	for _, program := range []string{"cmd/" + programName, "cmd/" + simulatorName, "loadtest", operationsFunction().main, conditionsFunction().main} {
		if !slices.Contains(strings.Fields(string(recipe)), "./"+program) {
			t.Errorf("%s is not looked at by\n%s", program, recipe)
		}
	}
}

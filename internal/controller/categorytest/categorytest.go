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

// Package categorytest determines which error category a ProxmoxVM of the examples shows, for tests that have the messages that the provider really
// writes.
package categorytest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/yaml"
)

// The categories, as the reference lists them.
const (
	None           = "None"
	Validation     = "ValidationFailed"
	Configuration  = "ConfigurationError"
	Network        = "NetworkError"
	Authentication = "AuthenticationError"
	Quota          = "QuotaExceeded"
	Node           = "NodeUnhealthy"
)

// compositionFile is the Composition of ProxmoxVM, below the root of the repository.
const compositionFile = "examples/composition/apis/sankofa/proxmoxvm-composition.yaml"

// Of returns the category for conditions of the Machine.
func Of(t testing.TB, conditions ...xpv2.Condition) string {
	t.Helper()
	text := canonical(t, conditions)
	m := categories(t)
	for _, p := range m.Patterns {
		if regexp.MustCompile(p.Regexp).MatchString(text) {
			return p.Result
		}
	}
	return m.FallbackValue
}

// OfConnection returns the category for a failed connection, with the prefix that Crossplane's reconciler adds to the reason.
func OfConnection(t testing.TB, err error) string {
	t.Helper()
	return Of(t, xpv2.ReconcileError(errors.New("connect failed: "+err.Error())))
}

// canonical returns conditions in the form that the function uses.
func canonical(t testing.TB, conditions []xpv2.Condition) string {
	t.Helper()
	typed, err := json.Marshal(conditions)
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	if err := json.Unmarshal(typed, &all); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A match is the match transform of function-patch-and-transform: the result of the first pattern that matches.
type match struct {
	Patterns []struct {
		Type, Regexp, Result string
	}
	FallbackValue string
}

// composition contains the fields of the Composition that the test reads.
type composition struct {
	Spec struct {
		Pipeline []struct {
			Input struct {
				Resources []struct {
					Patches []struct {
						ToFieldPath string
						Transforms  []struct{ Match *match }
					}
				}
			}
		}
	}
}

// categories returns the patterns that determine the category of a ProxmoxVM.
func categories(t testing.TB) *match {
	t.Helper()
	file := compositionFile
	for range 6 {
		if _, err := os.Stat(file); err == nil {
			break
		}
		file = filepath.Join("..", file)
	}
	text, err := os.ReadFile(file) //nolint:gosec // The file is a constant, below a folder above this one.
	if err != nil {
		t.Fatal(err)
	}
	var c composition
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	for _, step := range c.Spec.Pipeline {
		for _, r := range step.Input.Resources {
			for _, p := range r.Patches {
				for _, transform := range p.Transforms {
					if p.ToFieldPath == "status.errorCategory" && transform.Match != nil {
						return transform.Match
					}
				}
			}
		}
	}
	t.Fatalf("%s gives no status.errorCategory", file)
	return nil
}

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
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/yaml"
)

//go:embed known.yaml
var knownFile []byte

// known is a known reason for tests to fail.
type known struct {
	Reason string `json:"reason"`
	// Versions are the releases on which they fail; empty for all.
	Versions []string `json:"versions"`
	// Ends is true for tests that end the other tests of their group, and are therefore not run.
	Ends bool `json:"ends"`
	// Tests each have a group and a test, as in "access TestAccRealmSync". A test includes its subtests.
	Tests []string `json:"tests"`
}

func readKnown() ([]*known, error) {
	var out []*known
	if err := yaml.UnmarshalStrict(knownFile, &out); err != nil {
		return nil, errors.Wrap(err, "cannot read known.yaml")
	}
	for _, k := range out {
		if k.Reason == "" || len(k.Tests) == 0 {
			return nil, errors.Errorf("known.yaml: no reason or no test: %v", k)
		}
	}
	return out, nil
}

// report compares the results of tests with the known failures.
type report struct {
	version string
	known   []*known
	// passed, failed and skipped count tests without subtests.
	passed, failed, skipped int
	// wrong are the tests with an unexpected result.
	wrong []string
}

var resultLine = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+) \(`)

// results returns the results of tests without subtests, by their names. It includes a test that fails although all of its subtests pass, and a group
// that did not end.
func results(text string) map[string]string {
	all, out := map[string]string{}, map[string]string{}
	for _, m := range resultLine.FindAllStringSubmatch(text, -1) {
		all[m[2]] = m[1]
	}
	for name, result := range all {
		parts, failed := false, false
		for other, r := range all {
			if strings.HasPrefix(other, name+"/") {
				parts, failed = true, failed || r == "FAIL"
			}
		}
		if !parts || result == "FAIL" && !failed {
			out[name] = result
		}
	}
	if strings.Contains(text, "\npanic: ") {
		out["(the group)"] = "FAIL"
	}
	return out
}

// add counts the tests of a group and returns a line about them.
func (r *report) add(group, text string) string {
	passed, failed, skipped := 0, 0, 0
	list := results(text)
	for _, k := range r.known {
		for _, test := range k.Tests {
			if name, ok := strings.CutPrefix(test, group+" "); ok && k.Ends {
				list[name] = "FAIL"
			}
		}
	}
	names := make([]string, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		k := r.find(group, name)
		switch list[name] {
		case "PASS":
			passed++
			if k != nil {
				r.wrong = append(r.wrong, fmt.Sprintf("%s: %s %s passes, and is listed: %s", r.version, group, name, k.Reason))
			}
		case "SKIP":
			skipped++
		default:
			failed++
			if k == nil {
				r.wrong = append(r.wrong, fmt.Sprintf("%s: %s %s fails, and is not listed", r.version, group, name))
			}
		}
	}
	r.wrong = append(r.wrong, r.absent(group, list)...)
	r.passed, r.failed, r.skipped = r.passed+passed, r.failed+failed, r.skipped+skipped
	return fmt.Sprintf("%s %-24s %s", r.version, group, counts(passed, failed, skipped))
}

// absent returns the listed tests of a group that do not exist.
func (r *report) absent(group string, list map[string]string) []string {
	var out []string
	for _, k := range r.known {
		for _, test := range k.Tests {
			name, ok := strings.CutPrefix(test, group+" ")
			if !ok || len(k.Versions) > 0 && !slices.Contains(k.Versions, r.version) {
				continue
			}
			there := false
			for other := range list {
				there = there || other == name || strings.HasPrefix(other, name+"/")
			}
			if !there {
				out = append(out, fmt.Sprintf("%s: %s is listed, and there is no such test", r.version, test))
			}
		}
	}
	return out
}

// sum returns a line with the totals of all groups.
func (r *report) sum() string {
	return fmt.Sprintf("%s %-24s %s", r.version, "all", counts(r.passed, r.failed, r.skipped))
}

func counts(passed, failed, skipped int) string {
	out := fmt.Sprintf("%3d of %3d pass", passed, passed+failed)
	if skipped > 0 {
		out += fmt.Sprintf(", %d ask for what is not there", skipped)
	}
	return out
}

// find returns the known failure of a test.
func (r *report) find(group, name string) *known {
	for _, k := range r.known {
		if len(k.Versions) > 0 && !slices.Contains(k.Versions, r.version) {
			continue
		}
		for _, test := range k.Tests {
			if full := group + " " + name; full == test || strings.HasPrefix(full, test+"/") {
				return k
			}
		}
	}
	return nil
}

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

package crossplane

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// testUpgrade replaces the package by a newer one, and then by the former one. Each time the program of that package takes over all Machines, and
// changes nothing in the cluster.
func (s *suite) testUpgrade(t *testing.T) {
	machines := read(t, "examples/quickstart")
	before, last := s.vms(t), s.lastRequest(t)
	for _, version := range []string{newer, older} {
		known := s.logsOf(version)
		s.install(t, version)
		for _, m := range machines {
			s.until(t, func() string { return lookedAt(loggedSince(known, s.logsOf(version)), version, m.GetName()) })
		}
		s.untilTrue(t, machines, "Ready", "Synced")
		s.testRights(t)
	}
	s.untouched(t, before, last)
}

// logsOf returns the logs of the providers of a version, by their revisions. Crossplane 2.4 creates a new revision for a version that is installed
// again.
func (s *suite) logsOf(version string) map[string]string {
	all := map[string]string{}
	for _, r := range s.revisions() {
		image, _, _ := unstructured.NestedString(r.Object, "spec", "image")
		if strings.HasSuffix(image, ":"+version) {
			all[r.GetName()] = s.podLog(r.GetName() + "-package-runtime")
		}
	}
	return all
}

// loggedSince returns what was added to the logs since they were read.
func loggedSince(known, now map[string]string) string {
	var since strings.Builder
	for name, log := range now {
		since.WriteString(strings.TrimPrefix(log, known[name]))
	}
	return since.String()
}

// lookedAt returns what is missing in a log of a provider that has started with a version and found a Machine as desired.
func lookedAt(log, version, name string) string {
	if !strings.Contains(log, fmt.Sprintf("%q:%q", "version", version)) {
		return fmt.Sprintf("version %s has not started", version)
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "External resource is up to date") && strings.Contains(line, fmt.Sprintf("%q:%q", "Name", name)) {
			return ""
		}
	}
	return fmt.Sprintf("version %s has not looked at Machine %q", version, name)
}

// lastRequest returns the number of the last request to the simulated cluster.
func (s *suite) lastRequest(t *testing.T) int {
	t.Helper()
	last, err := s.Simulator.LastRequest(s.ctx)
	if err != nil || last == 0 {
		t.Fatalf("the simulated cluster has got no request: %v", err)
	}
	return last
}

// untouched fails if the cluster's VMs have changed, or if anything was written since a request.
func (s *suite) untouched(t *testing.T, before map[string]string, last int) {
	t.Helper()
	if diff := cmp.Diff(before, s.vms(t)); diff != "" {
		t.Errorf("the VMs have changed: -want, +got:\n%s", diff)
	}
	requests, err := s.Simulator.Requests(s.ctx, last)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if r.Method != http.MethodGet {
			t.Errorf("the provider has written: %s %s", r.Method, r.Path)
		}
	}
}

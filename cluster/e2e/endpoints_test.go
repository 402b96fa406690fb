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

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// testEndpoints reads the endpoints of the provider that a cluster's monitoring reads.
func (s *suite) testEndpoints(t *testing.T) {
	probes, metrics := variable(t, s.spec, "HEALTH_PROBE_BIND_ADDRESS"), variable(t, s.spec, "METRICS_BIND_ADDRESS")
	s.fetch(t, "http://"+probes+"/healthz")
	s.fetch(t, "http://"+probes+"/readyz")
	text := s.fetch(t, "http://"+metrics+"/metrics")

	series := regexp.MustCompile(`(?m)^proxmox_operator_api_requests_total\{.*endpoint="([^"]*)"`).FindAllStringSubmatch(text, -1)
	if len(series) == 0 {
		t.Fatal("the metrics have no proxmox_operator_api_requests_total")
	}
	templated := false
	for _, m := range series {
		if regexp.MustCompile(`\d{3}|pve\d|ceph|local`).MatchString(m[1]) {
			t.Errorf("the endpoint %q of a metric names a VM, a node or a storage", m[1])
		}
		templated = templated || strings.Contains(m[1], "{vmid}")
	}
	if !templated {
		t.Errorf("no endpoint of a metric stands for VMs: %q", series)
	}
}

// variable returns the value of a variable of a provider's environment.
func variable(t *testing.T, of process.Spec, name string) string {
	t.Helper()
	for _, e := range of.Env {
		if value, ok := strings.CutPrefix(e, name+"="); ok && value != "" {
			return value
		}
	}
	t.Fatalf("the provider has no %s", name)
	return ""
}

func (s *suite) fetch(t *testing.T, url string) string {
	t.Helper()
	text, err := s.tryFetch(url)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (s *suite) tryFetch(url string) (string, error) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", url, resp.Status)
	}
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

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

package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// labels of all metrics, which the tests of the chart read too.
func labels(t *testing.T) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "labels.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	if err := yaml.UnmarshalStrict(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// descriptions of all metrics: name → labels.
func descriptions(t *testing.T) map[string][]string {
	t.Helper()
	m := New(WithMachineUsage())
	ch := make(chan *prometheus.Desc, 100)
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
	close(ch)
	re := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	all := map[string][]string{}
	for d := range ch {
		parts := re.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("cannot read %s", d)
		}
		all[parts[1]] = strings.FieldsFunc(parts[2], func(r rune) bool { return r == ',' })
	}
	return all
}

func TestNamesAndLabels(t *testing.T) {
	if diff := cmp.Diff(labels(t), descriptions(t)); diff != "" {
		t.Errorf("metrics and their labels: -want, +got:\n%s", diff)
	}
}

func TestLatency(t *testing.T) {
	m := New()
	m.Request(proxmox.Call{Method: "GET", Path: "/version", Status: 200, Duration: 2_000_000})
	families, err := registered(t, m).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "proxmox_operator_api_request_duration_seconds" && f.GetMetric()[0].GetHistogram().GetSampleSum() == 0.002 {
			return
		}
	}
	t.Error("the duration of the request was not observed")
}

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
	"encoding/json"
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

// labels of all metrics. The first six are a promise to those who had them before.
func labels() map[string]string {
	return map[string]string{
		"proxmox_operator_machines_total":                   "phase,node",
		"proxmox_operator_reconciliation_duration_seconds":  "controller",
		"proxmox_operator_api_requests_total":               "method,endpoint,status",
		"proxmox_operator_errors_total":                     "error_type,controller",
		"proxmox_cluster_nodes_available":                   "cluster",
		"proxmox_cluster_connection_status":                 "cluster",
		"proxmox_operator_api_request_duration_seconds":     "method,endpoint",
		"proxmox_operator_machines_cpu_used_cores":          "node",
		"proxmox_operator_machines_memory_used_bytes":       "node",
		"proxmox_operator_resources_conditions":             "gvk,condition,status",
		"proxmox_operator_tenant_quota_limit":               "providerconfig,tenant,resource",
		"proxmox_operator_tenant_quota_used":                "providerconfig,tenant,resource",
		"proxmox_operator_tenant_quota_waiting":             "providerconfig,tenant,resource",
		"proxmox_machine_cpu_used_cores":                    "machine_namespace,machine",
		"proxmox_machine_memory_used_bytes":                 "machine_namespace,machine",
		"proxmox_machine_disk_read_bytes_total":             "machine_namespace,machine",
		"proxmox_machine_disk_written_bytes_total":          "machine_namespace,machine",
		"proxmox_machine_created_timestamp_seconds":         "machine_namespace,machine",
		"proxmox_machine_last_snapshot_timestamp_seconds":   "machine_namespace,machine",
		"proxmox_machine_last_backup_timestamp_seconds":     "machine_namespace,machine",
		"proxmox_machine_oldest_snapshot_timestamp_seconds": "machine_namespace,machine",
		"proxmox_backupjob_guests":                          "",
	}
}

// descriptions of all metrics: name → labels.
func descriptions(t *testing.T) map[string]string {
	t.Helper()
	m := New(WithMachineUsage())
	ch := make(chan *prometheus.Desc, 100)
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
	close(ch)
	re := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	all := map[string]string{}
	for d := range ch {
		parts := re.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("cannot read %s", d)
		}
		all[parts[1]] = parts[2]
	}
	return all
}

func TestNamesAndLabels(t *testing.T) {
	if diff := cmp.Diff(labels(), descriptions(t)); diff != "" {
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

// TestChart sees that the dashboard and the alerts ask for metrics that exist,
// and for labels that these have.
func TestChart(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "cluster", "charts", "provider-proxmox", "*", "provider-proxmox.*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("want a dashboard and rules, got %v, %v", files, err)
	}
	known := descriptions(t)
	for _, file := range files {
		for _, expr := range expressions(t, file) {
			testExpression(t, known, file, expr)
		}
	}
}

func testExpression(t *testing.T, known map[string]string, file, expr string) {
	t.Helper()
	names := regexp.MustCompile(`\b[a-z]+(?:_[a-z]+){2,}\b`).FindAllString(expr, -1)
	found := 0
	for _, name := range names {
		if _, ok := known[strings.TrimSuffix(name, "_bucket")]; ok {
			found++
			continue
		}
		if strings.Contains(name, "proxmox") {
			t.Errorf("%s: there is no metric %s: %s", file, name, expr)
		}
	}
	if found == 0 {
		t.Errorf("%s: there is no metric of ours in %s", file, expr)
	}
}

// expressions of PromQL in a dashboard or a rule file.
func expressions(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = yaml.YAMLToJSON(b); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var document any
	if err := json.Unmarshal(b, &document); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	found := collect(document)
	if len(found) < 5 {
		t.Errorf("%s: got %d expressions only", file, len(found))
	}
	return found
}

func collect(v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			if s, ok := member.(string); ok && k == "expr" {
				found = append(found, s)
				continue
			}
			found = append(found, collect(member)...)
		}
	case []any:
		for _, member := range v {
			found = append(found, collect(member)...)
		}
	}
	return found
}

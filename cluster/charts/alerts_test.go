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

package charts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	texts "github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/annotations"
)

// scraped is the interval between values in the series of the tests.
const scraped = time.Minute

// now returns the time of their last value: 40 days after the beginning of Unix time.
func now() time.Time { return time.Unix(40*24*60*60, 0) }

// Unix times in series.
const (
	day0  = "0"       // 40 days ago
	day5  = "432000"  // 35 days ago
	day36 = "3110400" // four days ago
	day38 = "3283200" // two days ago
)

// TestAlerts evaluates each alert with Prometheus's own engine, for series that must trigger it and for series that must not. Series end now and have a
// value each minute, in the notation of promtool.
func TestAlerts(t *testing.T) {
	cases := map[string][]struct {
		reason string
		series []string
		want   []string
	}{
		"ProxmoxClusterDown": {
			{"A cluster that cannot be used for five minutes; another one can.", []string{
				`proxmox_cluster_connection_status{cluster="a"} 0x10`, `proxmox_cluster_connection_status{cluster="b"} 1x10`,
			}, []string{"Proxmox VE cluster a cannot be used"}},
			{"A cluster that cannot be used for two minutes.", []string{`proxmox_cluster_connection_status{cluster="a"} 1x10 0 0 0`}, nil},
			{"A cluster that one of two replicas can use.", []string{
				`proxmox_cluster_connection_status{cluster="a",pod="1"} 0x10`, `proxmox_cluster_connection_status{cluster="a",pod="2"} 1x10`,
			}, nil},
		},
		"ProxmoxProviderDown": {
			{"The provider has ended twenty minutes ago.", []string{
				`proxmox_cluster_connection_status{cluster="a"} 1x10 _x20`, `proxmox_cluster_connection_status{cluster="b"} 0x10 _x20`,
			}, []string{"The provider reports no Proxmox VE cluster"}},
			{"Nothing was scraped at any time.", nil, []string{"The provider reports no Proxmox VE cluster"}},
			{"The provider has ended thirteen minutes ago, which shows after five.", []string{`proxmox_cluster_connection_status{cluster="a"} 1x10 _x13`}, nil},
			{"The provider reports that no cluster can be used.", []string{`proxmox_cluster_connection_status{cluster="a"} 0x30`}, nil},
			{"One of two replicas has ended.", []string{
				`proxmox_cluster_connection_status{cluster="a",pod="1"} 1x10 _x20`, `proxmox_cluster_connection_status{cluster="a",pod="2"} _x10 1x21`,
			}, nil},
		},
		"ProxmoxNodeDown": {
			{"One of three nodes is off.", []string{
				`proxmox_cluster_nodes_available{cluster="a"} 3x60 2x15`, `proxmox_cluster_connection_status{cluster="a"} 1x75`,
			}, []string{"Proxmox VE cluster a has fewer nodes online than within the last day"}},
			{"A node was off and is back.", []string{
				`proxmox_cluster_nodes_available{cluster="a"} 3x60 2x15 3x2`, `proxmox_cluster_connection_status{cluster="a"} 1x78`,
			}, nil},
			{"Nothing is known of a cluster that cannot be used.", []string{
				`proxmox_cluster_nodes_available{cluster="a"} 3x60 0x15`, `proxmox_cluster_connection_status{cluster="a"} 1x60 0x15`,
			}, nil},
			{"A node that was taken away for good is forgotten after a day.", []string{
				`proxmox_cluster_nodes_available{cluster="a"} 3x60 2x1500`, `proxmox_cluster_connection_status{cluster="a"} 1x1561`,
			}, nil},
		},
		"ProxmoxMachinesInError": {
			{"Machines of two nodes.", []string{
				`proxmox_operator_machines_total{phase="Error",node="a"} 2x20`, `proxmox_operator_machines_total{phase="Error",node="b"} 1x20`,
			}, []string{"3 Machines are in phase Error"}},
			{"Machines that run, and one that is paused.", []string{
				`proxmox_operator_machines_total{phase="Running",node="a"} 2x20`, `proxmox_operator_machines_total{phase="Paused",node="a"} 1x20`,
			}, nil},
		},
		"ProxmoxResourcesNotSynced": {
			{"Three Pools cannot be reconciled, as both replicas count.", []string{
				`proxmox_operator_resources_conditions{gvk="Pool",condition="Synced",status="False",pod="1"} 3x20`,
				`proxmox_operator_resources_conditions{gvk="Pool",condition="Synced",status="False",pod="2"} 3x20`,
			}, []string{"3 resources of Pool cannot be reconciled"}},
			{"All are reconciled, some are paused, and others not ready.", []string{
				`proxmox_operator_resources_conditions{gvk="Pool",condition="Synced",status="True"} 3x20`,
				`proxmox_operator_resources_conditions{gvk="Pool",condition="Synced",status="Paused"} 2x20`,
				`proxmox_operator_resources_conditions{gvk="Pool",condition="Ready",status="False"} 1x20`,
			}, nil},
			{"What fails for ten minutes may be over soon.", []string{
				`proxmox_operator_resources_conditions{gvk="Pool",condition="Synced",status="False"} _x10 1x10`,
			}, nil},
		},
		"ProxmoxResourcesNotUpToDate": {
			{"A Machine differs for more than a day.", []string{
				`proxmox_operator_resources_conditions{gvk="Machine",condition="UpToDate",status="False"} 1x1500`,
			}, []string{"1 resources of Machine differ from their specs or wait for something"}},
			{"A Machine waits for the maintenance window of the night.", []string{
				`proxmox_operator_resources_conditions{gvk="Machine",condition="UpToDate",status="False"} _x1000 1x500`,
			}, nil},
			{"A Machine that differs is paused.", []string{
				`proxmox_operator_resources_conditions{gvk="Machine",condition="UpToDate",status="Paused"} 1x1500`,
			}, nil},
		},
		"ProxmoxCredentialsRefused": {
			{"The token has expired.", []string{
				`proxmox_operator_errors_total{error_type="Authentication",controller="machine"} 0+1x60`,
			}, []string{"Proxmox VE refuses the provider's credentials, or a privilege is missing"}},
			{"A privilege is missing.", []string{
				`proxmox_operator_errors_total{error_type="Authorization",controller="machine"} 0+1x60`,
			}, []string{"Proxmox VE refuses the provider's credentials, or a privilege is missing"}},
			{"Errors of before, and others.", []string{
				`proxmox_operator_errors_total{error_type="Authentication",controller="machine"} 7x60`,
				`proxmox_operator_errors_total{error_type="Timeout",controller="machine"} 0+1x60`,
			}, nil},
		},
		"ProxmoxAPIFailing": {
			{"A fifth has no answer, or that the server failed.", []string{
				`proxmox_operator_api_requests_total{method="GET",endpoint="/nodes",status="200"} 0+8x60`,
				`proxmox_operator_api_requests_total{method="GET",endpoint="/nodes",status="500"} 0+1x60`,
				`proxmox_operator_api_requests_total{method="GET",endpoint="/nodes",status="none"} 0+1x60`,
			}, []string{"More than a tenth of the requests to Proxmox VE fail"}},
			{"One in twenty fails, and others are refused.", []string{
				`proxmox_operator_api_requests_total{method="GET",endpoint="/nodes",status="200"} 0+15x60`,
				`proxmox_operator_api_requests_total{method="GET",endpoint="/nodes",status="403"} 0+4x60`,
				`proxmox_operator_api_requests_total{method="GET",endpoint="/nodes",status="500"} 0+1x60`,
			}, nil},
			{"There are no requests.", []string{`proxmox_operator_api_requests_total{method="GET",endpoint="/nodes",status="200"} 9x60`}, nil},
		},
		"ProxmoxAPISlow": {
			{"One request in five takes up to ten seconds.", []string{
				`proxmox_operator_api_request_duration_seconds_bucket{method="GET",endpoint="/nodes",le="5"} 0+8x60`,
				`proxmox_operator_api_request_duration_seconds_bucket{method="GET",endpoint="/nodes",le="10"} 0+10x60`,
				`proxmox_operator_api_request_duration_seconds_bucket{method="GET",endpoint="/nodes",le="+Inf"} 0+10x60`,
			}, []string{"A tenth of the requests to Proxmox VE takes more than 5 seconds"}},
			{"One request in fifty does.", []string{
				`proxmox_operator_api_request_duration_seconds_bucket{method="GET",endpoint="/nodes",le="5"} 0+49x60`,
				`proxmox_operator_api_request_duration_seconds_bucket{method="GET",endpoint="/nodes",le="10"} 0+50x60`,
				`proxmox_operator_api_request_duration_seconds_bucket{method="GET",endpoint="/nodes",le="+Inf"} 0+50x60`,
			}, nil},
		},
		"ProxmoxReconcileSlow": {
			{"One look in five takes up to a minute.", []string{
				`proxmox_operator_reconciliation_duration_seconds_bucket{controller="machine",le="30"} 0+8x60`,
				`proxmox_operator_reconciliation_duration_seconds_bucket{controller="machine",le="60"} 0+10x60`,
				`proxmox_operator_reconciliation_duration_seconds_bucket{controller="machine",le="+Inf"} 0+10x60`,
			}, []string{"A tenth of all looks at a resource takes more than 30 seconds"}},
			{"Nothing is told while all looks are fast.", []string{
				`proxmox_operator_reconciliation_duration_seconds_bucket{controller="machine",le="30"} 0+10x60`,
				`proxmox_operator_reconciliation_duration_seconds_bucket{controller="machine",le="60"} 0+10x60`,
				`proxmox_operator_reconciliation_duration_seconds_bucket{controller="machine",le="+Inf"} 0+10x60`,
			}, nil},
		},
		"ProxmoxBackupOld": {
			{"A backup of four days ago; another Machine has one of two days ago.", []string{
				`proxmox_machine_last_backup_timestamp_seconds{machine_namespace="shop",machine="web"} ` + day36 + `x70`,
				`proxmox_machine_last_backup_timestamp_seconds{machine_namespace="shop",machine="db"} ` + day38 + `x70`,
			}, []string{"The newest backup of Machine shop/web is older than three days"}},
			{"One of two replicas has seen the new backup.", []string{
				`proxmox_machine_last_backup_timestamp_seconds{machine_namespace="shop",machine="web",pod="1"} ` + day36 + `x70`,
				`proxmox_machine_last_backup_timestamp_seconds{machine_namespace="shop",machine="web",pod="2"} ` + day38 + `x70`,
			}, nil},
		},
		"ProxmoxBackupMissing": {
			{"An old Machine without a backup, where there are backups.", []string{
				`proxmox_machine_created_timestamp_seconds{machine_namespace="shop",machine="web"} ` + day0 + `x70`,
				`proxmox_machine_created_timestamp_seconds{machine_namespace="shop",machine="db"} ` + day0 + `x70`,
				`proxmox_machine_last_backup_timestamp_seconds{machine_namespace="shop",machine="db"} ` + day36 + `x70`,
				`proxmox_machine_created_timestamp_seconds{machine_namespace="shop",machine="new"} ` + day38 + `x70`, `proxmox_backupjob_guests 2x70`,
			}, []string{"Machine shop/web is older than three days and has no backup"}},
			{"Nobody makes backups with the provider.", []string{
				`proxmox_machine_created_timestamp_seconds{machine_namespace="shop",machine="web"} ` + day0 + `x70`,
			}, nil},
		},
		"ProxmoxSnapshotOld": {
			{"A snapshot of 35 days ago; another Machine has one of four days ago.", []string{
				`proxmox_machine_oldest_snapshot_timestamp_seconds{machine_namespace="shop",machine="web"} ` + day5 + `x70`,
				`proxmox_machine_oldest_snapshot_timestamp_seconds{machine_namespace="shop",machine="db"} ` + day36 + `x70`,
			}, []string{"A snapshot of Machine shop/web is older than 30 days, and no policy removes it"}},
			{"Nothing is told where there are no snapshots.", nil, nil},
		},
	}
	for _, rule := range ruleFile(t) {
		if len(cases[rule.Alert]) < 2 {
			t.Errorf("want series for which %s fires, and some for which it does not", rule.Alert)
		}
		for _, tc := range cases[rule.Alert] {
			if diff := cmp.Diff(tc.want, fires(t, rule, tc.series...)); diff != "" {
				t.Errorf("%s: %s\n-want, +got:\n%s", rule.Alert, tc.reason, diff)
			}
		}
		delete(cases, rule.Alert)
	}
	for alert := range cases {
		t.Errorf("there is no alert %s", alert)
	}
}

// ruleFile returns the rules in Prometheus's form.
func ruleFile(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "rules", chart+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var all []rulefmt.Rule
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// fires returns the summaries of the alerts that fire now: those whose expression has had a result at each evaluation for the duration in the rule.
func fires(t *testing.T, rule rulefmt.Rule, series ...string) []string {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute})
	t.Cleanup(func() { _ = engine.Close() })
	held := time.Duration(rule.For)
	q, err := engine.NewRangeQuery(t.Context(), recorded(t, series...), nil, rule.Expr, now().Add(-held), now(), scraped)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	result, err := q.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", rule.Alert, err)
	}
	var all []string
	for _, s := range result {
		if len(s.Floats) == int(held/scraped)+1 {
			last := promql.Sample{T: now().UnixMilli(), F: s.Floats[len(s.Floats)-1].F, Metric: s.Metric}
			all = append(all, summary(t, rule, last))
		}
	}
	slices.Sort(all)
	return all
}

// summary returns the summary of an alert, as Prometheus renders it.
func summary(t *testing.T, rule rulefmt.Rule, last promql.Sample) string {
	t.Helper()
	const variables = `{{ $labels := .Labels }}{{ $value := .Value }}`
	data := texts.AlertTemplateData(last.Metric.Map(), nil, "", last)
	text, err := texts.NewTemplateExpander(t.Context(), variables+rule.Annotations["summary"], rule.Alert, data, model.Time(last.T), nil, nil, nil).Expand()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A seriesSet has the series of a selection.
type seriesSet struct {
	all []storage.Series
	at  int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at <= len(s.all) }
func (s *seriesSet) At() storage.Series                { return s.all[s.at-1] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// recorded returns series whose last value is at the present time.
func recorded(t *testing.T, descriptions ...string) storage.Queryable {
	t.Helper()
	var all []storage.Series
	for _, description := range descriptions {
		by, values, err := parser.ParseSeriesDesc(description)
		if err != nil {
			t.Fatalf("%s: %v", description, err)
		}
		points := promql.Series{Metric: by}
		for i, v := range values {
			if !v.Omitted {
				ago := time.Duration(len(values)-1-i) * scraped
				points.Floats = append(points.Floats, promql.FPoint{T: now().Add(-ago).UnixMilli(), F: v.Value})
			}
		}
		all = append(all, promql.NewStorageSeries(points))
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, by ...*labels.Matcher) storage.SeriesSet {
			return &seriesSet{all: slices.DeleteFunc(slices.Clone(all), func(s storage.Series) bool {
				return slices.ContainsFunc(by, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
			})}
		},
	}}
}

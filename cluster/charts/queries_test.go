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
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// A query is an expression of the dashboard or of an alert.
type query struct {
	// name of the panel or of the alert.
	name, expr string
	// shown are the labels in the text that is shown for each result.
	shown []string
}

// TestQueries parses the dashboard and the alerts with Prometheus's own parser, and checks that they use existing metrics, select, group and match by
// labels that these have, and show labels that their results have.
func TestQueries(t *testing.T) {
	known := knownMetrics(t)
	queries := append(panels(t), alerts(t)...)
	if len(queries) < 20 {
		t.Errorf("want the queries of a dashboard and of alerts, got %d", len(queries))
	}
	for _, q := range queries {
		if err := known.check(q); err != nil {
			t.Errorf("%s: %v: %s", q.name, err, q.expr)
		}
	}
}

// TestQueriesThatFail checks that errors in queries are detected.
func TestQueriesThatFail(t *testing.T) {
	known := metrics{"proxmox_a": {"node", "phase"}, "proxmox_b": {"node"}, "proxmox_c_seconds": {"node"}}
	cases := map[string]struct {
		reason string
		query  query
		want   string
	}{
		"Right":     {"A selection and a grouping by labels that there are.", query{expr: `sum by (node) (proxmox_a{phase="Error"})`, shown: []string{"node"}}, ""},
		"Syntax":    {"What is no PromQL is not read.", query{expr: `sum by (node (proxmox_a)`}, "parse error"},
		"Metric":    {"A metric that there is not.", query{expr: `sum(proxmox_none)`}, "no metric"},
		"Selection": {"A selection by another metric's label.", query{expr: `proxmox_b{phase="Error"}`}, `no label "phase"`},
		"Grouping":  {"A grouping by another metric's label.", query{expr: `sum by (phase) (proxmox_b)`}, `no label "phase"`},
		"Grouped":   {"A grouping by a label that the sum inside has taken away.", query{expr: `max by (phase) (sum by (node) (proxmox_a))`}, `no label "phase"`},
		"Matching":  {"A match by a label of one side.", query{expr: `proxmox_a unless on (phase) proxmox_b`}, `no label "phase"`},
		"Sides":     {"Sides with different labels never match.", query{expr: `proxmox_a > proxmox_b`}, "never match"},
		"Shown":     {"A text with a label that the sum has taken away.", query{expr: `sum(proxmox_a)`, shown: []string{"node"}}, `no label "node"`},
		"Absent":    {"A metric that is not there has no labels.", query{expr: `absent(proxmox_b)`, shown: []string{"node"}}, `no label "node"`},
		"NotAbsent": {"A metric that never is would always be absent.", query{expr: `absent(proxmox_none)`}, "no metric"},
		"Buckets":   {"Buckets have a label of their own.", query{expr: `histogram_quantile(0.9, sum by (le) (rate(proxmox_c_seconds_bucket[5m])))`}, ""},
		"NoBuckets": {"A quantile is one of buckets.", query{expr: `histogram_quantile(0.9, sum by (node) (rate(proxmox_c_seconds_bucket[5m])))`}, `no label "le"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := known.check(tc.query)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// metrics has labels by the name of their metric.
type metrics map[string][]string

// knownMetrics returns the metrics in the list that internal/metrics is tested with.
func knownMetrics(t *testing.T) metrics {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "metrics", "testdata", "labels.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var described map[string]struct {
		Type   string   `json:"type"`
		Labels []string `json:"labels"`
	}
	if err := yaml.UnmarshalStrict(text, &described); err != nil {
		t.Fatal(err)
	}
	m := metrics{}
	for name, d := range described {
		m[name] = d.Labels
	}
	return m
}

// check returns the error in a query.
func (m metrics) check(q query) error {
	expr, err := parser.ParseExpr(strings.ReplaceAll(q.expr, "$__rate_interval", "5m")) // Grafana replaces it.
	if err != nil {
		return err
	}
	has, err := m.labelsOf(expr)
	if err != nil {
		return err
	}
	return lacks(has, q.shown...)
}

// labelsOf returns the labels of the results of an expression.
func (m metrics) labelsOf(node parser.Node) ([]string, error) {
	switch e := node.(type) {
	case *parser.VectorSelector:
		return m.selected(e)
	case *parser.BinaryExpr:
		return m.matched(e)
	}
	var has []string
	for _, child := range parser.Children(node) {
		more, err := m.labelsOf(child)
		if err != nil {
			return nil, err
		}
		has = append(has, more...)
	}
	switch e := node.(type) {
	case *parser.AggregateExpr:
		if e.Without {
			return without(has, e.Grouping...), lacks(has, e.Grouping...)
		}
		return e.Grouping, lacks(has, e.Grouping...)
	case *parser.Call:
		switch e.Func.Name {
		case "histogram_quantile":
			return without(has, labels.BucketLabel), lacks(has, labels.BucketLabel)
		case "absent": // It has the labels that the selection sets, which need not be shown.
			return nil, nil
		}
	}
	return has, nil
}

// selected returns the labels of a metric, if it may be selected by the given labels.
func (m metrics) selected(e *parser.VectorSelector) ([]string, error) {
	has, ok := m[e.Name]
	if histogram, is := strings.CutSuffix(e.Name, "_seconds_bucket"); is {
		has, ok = m[histogram+"_seconds"]
		has = append(slices.Clone(has), labels.BucketLabel)
	}
	if !ok {
		return nil, fmt.Errorf("there is no metric %s", e.Name)
	}
	for _, by := range e.LabelMatchers {
		if err := lacks(has, by.Name); err != nil && by.Name != model.MetricNameLabel {
			return nil, err
		}
	}
	return has, nil
}

// matched returns the labels of the left side, whose results are matched with those of the right side by labels that both have.
func (m metrics) matched(e *parser.BinaryExpr) ([]string, error) {
	left, err := m.labelsOf(e.LHS)
	if err != nil {
		return nil, err
	}
	right, err := m.labelsOf(e.RHS)
	if err != nil {
		return nil, err
	}
	if e.LHS.Type() != parser.ValueTypeVector {
		return right, nil
	}
	if e.RHS.Type() != parser.ValueTypeVector {
		return left, nil
	}
	by := e.VectorMatching.MatchingLabels
	if e.VectorMatching.On {
		if err := lacks(left, by...); err != nil {
			return nil, err
		}
		return left, lacks(right, by...)
	}
	if lacks(left, without(right, by...)...) != nil || lacks(right, without(left, by...)...) != nil {
		return nil, fmt.Errorf("results with %q and with %q never match", left, right)
	}
	return left, nil
}

// lacks returns an error with a label that is missing.
func lacks(has []string, names ...string) error {
	for _, name := range names {
		if !slices.Contains(has, name) {
			return fmt.Errorf("there is no label %q, only %q", name, has)
		}
	}
	return nil
}

func without(has []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(has), func(name string) bool { return slices.Contains(names, name) })
}

// alerts returns the queries of the rules.
func alerts(t *testing.T) []query {
	t.Helper()
	var found []query
	for _, rule := range ruleFile(t) {
		q := query{name: rule.Alert, expr: rule.Expr}
		for _, text := range rule.Annotations {
			q.shown = append(q.shown, names(`\$labels\.(\w+)`, text)...)
		}
		found = append(found, q)
	}
	return found
}

// panels returns the queries of the dashboard.
func panels(t *testing.T) []query {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "dashboards", chart+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	var found []query
	for _, panel := range dashboard.Panels {
		if len(panel.Targets) == 0 {
			t.Errorf("the panel %q has no query", panel.Title)
		}
		for _, target := range panel.Targets {
			found = append(found, query{name: panel.Title, expr: target.Expr, shown: names(`\{\{\s*(\w+)\s*\}\}`, target.LegendFormat)})
		}
	}
	return found
}

// names returns what the group of a pattern matches in text.
func names(pattern, text string) []string {
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

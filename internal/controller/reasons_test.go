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

package controller_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestReasonsAreExplained checks that each reason of a condition, and of an event that does not report a task, is explained in a document for its
// readers.
func TestReasonsAreExplained(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     []string
		shares []string // Packages, or files, whose reasons it has too.
	}{
		"machine/conditions": {reason: "Reasons of Machines are explained.", in: []string{"troubleshooting", "machine-lifecycle"}},
		"providerconfig":     {reason: "Reasons of provider configurations are explained.", in: []string{"troubleshooting", "connection"}},
		"cluster":            {reason: "Reasons of ProxmoxClusters are explained.", in: []string{"clusters-and-nodes"}, shares: []string{"config/singleton.go"}},
		"image":              {reason: "Reasons of Images are explained.", in: []string{"image"}},
		"backup":             {reason: "Reasons of Backups are explained.", in: []string{"backup"}, shares: []string{"kind/target"}},
		"backupjob":          {reason: "Reasons of BackupJobs are explained.", in: []string{"backup-job"}},
		"snapshot":           {reason: "Reasons of Snapshots are explained.", in: []string{"snapshot"}, shares: []string{"kind/target"}},
		"snapshotpolicy":     {reason: "Reasons of SnapshotPolicies are explained.", in: []string{"snapshot-policy"}},
		"volume":             {reason: "Reasons of Volumes are explained.", in: []string{"volume"}},
		"node":               {reason: "Reasons of ProxmoxNodes are explained.", in: []string{"clusters-and-nodes"}, shares: []string{"config/singleton.go"}},
		"pool":               {reason: "Reasons of Pools are explained.", in: []string{"pool"}, shares: []string{"kind/ownership.go"}},
		"storage": {
			reason: "Reasons of Storages are explained.", in: []string{"storage", "pool"}, shares: []string{"kind/ownership.go", "config/plan.go"},
		},
		"nodenetwork": {
			reason: "Reasons of NodeNetworks are explained.",
			in:     []string{"node-network", "pool"}, shares: []string{"kind/ownership.go", "config/plan.go"},
		},
		"kind":       {reason: "Reasons of several kinds are explained.", in: documents(t)},
		"machine":    {reason: "Reasons of the parts of Machines are explained.", in: []string{"troubleshooting", "machine-lifecycle"}},
		"../tenancy": {reason: "Reasons of tenants are explained.", in: []string{"tenancy"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var told strings.Builder
			for _, document := range tc.in {
				b, err := os.ReadFile(filepath.Join("..", "..", "docs", document+".md"))
				if err != nil {
					t.Fatal(err)
				}
				told.Write(b)
			}
			all := reasonsOf(t, name)
			for _, shared := range tc.shares {
				all = append(all, reasonsOf(t, shared)...)
			}
			if len(all) == 0 {
				t.Fatalf("%s\nnone was found", tc.reason)
			}
			for _, r := range all {
				if !strings.Contains(told.String(), "`"+r+"`") {
					t.Errorf("%s\n%s is in none of docs/%s.md", tc.reason, r, strings.Join(tc.in, ".md, docs/"))
				}
			}
		})
	}
}

// documents returns the names of all documents.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(files) < 10 {
		t.Fatalf("there are %d documents: %v", len(files), err)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".md")
	}
	return files
}

// reasonsOf returns the constants of a package, or of one of its files, and of the packages in its folder, that are reasons of conditions or events.
func reasonsOf(t *testing.T, dir string) []string {
	t.Helper()
	var all, files []string
	for _, pattern := range []string{dir, filepath.Join(dir, "*.go"), filepath.Join(dir, "*", "*.go")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if isReason(n.Type) || strings.HasPrefix(n.Names[0].Name, "Reason") {
					all = append(all, textsOf(n.Values)...)
				}
			case *ast.KeyValueExpr: // The texts of an act.
				if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Refused" || key.Name == "Failed") {
					all = append(all, textsOf([]ast.Expr{n.Value})...)
				}
			}
			return true
		})
	}
	slices.Sort(all)
	return slices.Compact(slices.DeleteFunc(all, func(r string) bool { return r == filtered }))
}

// filtered is the reason of crossplane-runtime's event after each update, which is dropped.
const filtered = "UpdatedExternalResource"

// isReason reports whether a type is a type of reasons: xpv2.ConditionReason or event.Reason.
func isReason(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && (s.Sel.Name == "ConditionReason" || s.Sel.Name == "Reason")
}

func textsOf(values []ast.Expr) []string {
	var all []string
	for _, e := range values {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil {
				all = append(all, s)
			}
		}
	}
	return all
}

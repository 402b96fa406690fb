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

package layout

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The guide has the rows of the coverage that are not served in one table.
const (
	unservedGuide  = "docs/from-other-operators.md"
	unservedHeader = "| of | not served | why, and what there is instead |\n|---|---|---|\n"
)

var update = flag.Bool("update", false, "write what is not served into the guide") //nolint:gochecknoglobals // As flags are.

// TestUnserved checks that the guide lists what is not served according to the coverage, row by row and in the same words.
func TestUnserved(t *testing.T) {
	want := unservedTable(readText(t, coverageTable))
	if want == "" {
		t.Fatalf("%s has no row that is not served", coverageTable)
	}
	guide := readText(t, unservedGuide)
	before, table, after := aroundTable(guide)
	if table == "" {
		t.Fatalf("%s has no table that begins with %q", unservedGuide, unservedHeader)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, unservedGuide), []byte(before+unservedHeader+want+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(unservedHeader+want, "\n"), strings.Split(table, "\n")); diff != "" {
		t.Errorf("%s: -want of %s, +got; go test ./hack/layout -run TestUnserved -update writes it:\n%s", unservedGuide, coverageTable, diff)
	}
}

// unservedTable returns the rows of the guide's table, which names each operator once.
func unservedTable(coverage string) string {
	var table strings.Builder
	operator := ""
	for _, r := range rowsOf(coverage) {
		if len(r.cells) != 2 {
			continue
		}
		why, unserved := strings.CutPrefix(r.cells[1], "not served: ")
		if !unserved {
			continue
		}
		of := ""
		if r.operator != operator {
			of = r.operator + " "
		}
		operator = r.operator
		table.WriteString("| " + of + "| " + r.cells[0] + " | " + why + " |\n")
	}
	return table.String()
}

// aroundTable splits a document into the parts before, of, and after the table.
func aroundTable(text string) (before, table, after string) {
	start := strings.Index(text, unservedHeader)
	if start < 0 {
		return text, "", ""
	}
	end := start
	for line := range strings.Lines(text[start:]) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		end += len(line)
	}
	return text[:start], text[start:end], text[end:]
}

func TestUnservedTable(t *testing.T) {
	const header = "| sentence | shown by |\n|---|---|\n"
	cases := map[string]struct{ reason, coverage, want string }{
		"Served":   {"A row with a test is not in the table.", "## A: doc\n" + header + "| b | `c TestD` |\n", ""},
		"Unserved": {"A row without a test is in the table, with its reason.", "## A: doc\n" + header + "| b | not served: c |\n", "| A | b | c |\n"},
		"Once": {
			"The documents of one operator are one part of the table.",
			"## A: doc\n" + header + "| b | not served: c |\n| d | not served: e |\n## Viti A: other\n" + header + "| f | not served: g |\n",
			"| A | b | c |\n| | d | e |\n| | f | g |\n",
		},
		"Next": {
			"The next operator is named.", "## A: doc\n" + header + "| b | not served: c |\n## B: doc\n" + header + "| d | not served: e |\n",
			"| A | b | c |\n| B | d | e |\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, unservedTable(tc.coverage)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			text := "before\n\n" + unservedHeader + tc.want + "\nafter\n"
			if before, table, after := aroundTable(text); before != "before\n\n" || table != unservedHeader+tc.want || after != "\nafter\n" {
				t.Errorf("%s\nthe table %q is between %q and %q", tc.reason, table, before, after)
			}
		})
	}
}

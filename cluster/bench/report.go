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
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vitistack/provider-proxmox/cluster/local/console"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// A table of results. The first row is the heading.
type table struct {
	name string
	rows [][]string
}

// take adds rows to a table, but for those that were not measured.
func (t *table) take(rows ...[]string) {
	t.rows = append(t.rows, slices.DeleteFunc(rows, func(row []string) bool { return row == nil })...)
}

// add tables that have results.
func (b *bench) add(tables ...table) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range tables {
		if len(t.rows) > 1 {
			b.tables = append(b.tables, t)
		}
	}
}

// show a table on the terminal.
func (b *bench) show(t table) {
	b.console.Text("\n" + strings.Join(console.Columns(t.rows), "\n") + "\n")
}

// report writes the tables into the document, each in its place.
func (b *bench) report(ctx context.Context) error {
	if len(b.tables) == 0 {
		return nil
	}
	path := b.repo.Resolve(b.Output)
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read where the tables go: %w", err)
	}
	where := b.provenance(ctx)
	for _, t := range b.tables {
		if text, err = replace(text, t, where); err != nil {
			return fmt.Errorf("cannot write %q: %w", path, err)
		}
	}
	if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // A document.
		return fmt.Errorf("cannot write the tables: %w", err)
	}
	b.console.Stepf("written: %s", b.Output)
	return nil
}

// provenance describes the machine and the versions that were measured.
func (b *bench) provenance(ctx context.Context) string {
	version := "unknown"
	if path, err := b.repo.Binary("provider"); err == nil {
		if out, err := exec.CommandContext(ctx, path, "--version").Output(); err == nil {
			version = strings.TrimSpace(string(out))
		}
	}
	return fmt.Sprintf("Measured on %s; provider %s; simulated Proxmox VE %s.", thisMachine(), version, simulator.Version)
}

// replace what stands between the marks of a table.
func replace(text []byte, t table, where string) ([]byte, error) {
	begin, end := "<!-- bench:"+t.name+" -->\n", "<!-- /bench:"+t.name+" -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return nil, fmt.Errorf("there is no place for the table %q: want %q and %q", t.name, strings.TrimSpace(begin), end)
	}
	return []byte(before + begin + markdown(t.rows) + "\n" + where + "\n" + end + after), nil
}

// markdown is a table with aligned columns.
func markdown(rows [][]string) string {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var b strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			b.WriteString("| " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1))
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for i := range row {
			b.WriteString("|" + strings.Repeat("-", widths[i]+2))
		}
		b.WriteString("|\n")
	}
	return b.String()
}

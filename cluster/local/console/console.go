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

// Package console reports the progress of the launcher on a terminal or in a log.
package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Console writes steps and tables. It is safe for concurrent use.
type Console struct {
	out      io.Writer
	terminal bool
	start    time.Time
	now      func() time.Time

	mu sync.Mutex
	// drawn is the number of lines of the table above the cursor.
	drawn int
}

// New returns a console on a file whose clock starts now.
func New(out *os.File) *Console {
	return newConsole(out, IsTerminal(out), time.Now)
}

func newConsole(out io.Writer, terminal bool, now func() time.Time) *Console {
	return &Console{out: out, terminal: terminal, start: now(), now: now}
}

// IsTerminal reports whether a file is a terminal on which lines can be rewritten.
func IsTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Terminal reports whether the console can rewrite lines.
func (c *Console) Terminal() bool { return c.terminal }

// Elapsed returns the time since the console was created.
func (c *Console) Elapsed() time.Duration { return c.now().Sub(c.start) }

// Stepf writes a line that starts with the elapsed time.
func (c *Console) Stepf(format string, args ...any) {
	c.print(fmt.Sprintf("[%6.1fs] ", c.Elapsed().Seconds()) + fmt.Sprintf(format, args...) + "\n")
}

// Text writes text as it is, followed by a line break.
func (c *Console) Text(text string) {
	c.print(text + "\n")
}

// print leaves the last table in place and writes below it.
func (c *Console) print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drawn = 0
	_, _ = io.WriteString(c.out, text)
}

// Table draws rows as columns over the table drawn before, if nothing was written since.
// The first row is the heading. It does nothing unless the console is a terminal.
func (c *Console) Table(rows [][]string) {
	if !c.terminal {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	// The cursor would count a wrapped line as two, so lines are cut at the terminal's edge.
	b.WriteString("\x1b[?7l")
	if c.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", c.drawn)
	}
	for _, line := range Columns(rows) {
		b.WriteString("\x1b[K" + line + "\n")
	}
	b.WriteString("\x1b[J\x1b[?7h")
	c.drawn = len(rows)
	_, _ = io.WriteString(c.out, b.String())
}

// Columns formats rows as lines with aligned columns, two spaces apart.
func Columns(rows [][]string) []string {
	widths := columnWidths(rows)
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s", widths[i]+2, cell)
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

func columnWidths(rows [][]string) map[int]int {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	return widths
}

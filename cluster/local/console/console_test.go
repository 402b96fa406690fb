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

package console

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestColumns(t *testing.T) {
	cases := map[string]struct {
		reason string
		rows   [][]string
		want   []string
	}{
		"Aligned": {
			reason: "columns are as wide as their widest cell",
			rows:   [][]string{{"NAME", "VMID"}, {"web-1", "10000"}}, want: []string{"NAME   VMID", "web-1  10000"},
		},
		"Trailing": {reason: "an empty last column leaves no blanks", rows: [][]string{{"a", ""}, {"b", "message"}}, want: []string{"a", "b  message"}},
		"Runes":    {reason: "a letter is one wide however many bytes it has", rows: [][]string{{"ä", "x"}, {"ab", "y"}}, want: []string{"ä   x", "ab  y"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Columns(tc.rows)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStepfShowsTheElapsedTime(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	c := newConsole(&out, false, func() time.Time { return now })
	now = now.Add(2500 * time.Millisecond)
	c.Stepf("%s is ready", "etcd")
	if got, want := out.String(), "[   2.5s] etcd is ready\n"; got != want {
		t.Errorf("Stepf writes %q, want %q", got, want)
	}
}

func TestTable(t *testing.T) {
	const up = "\x1b[2A"
	rows := [][]string{{"NAME"}, {"web"}}
	cases := map[string]struct {
		reason   string
		terminal bool
		between  func(*Console)
		table    bool
		over     bool
	}{
		"Again":   {reason: "a table is drawn over the last one", terminal: true, between: func(*Console) {}, table: true, over: true},
		"Written": {reason: "but not over what was written since", terminal: true, between: func(c *Console) { c.Text("hello") }, table: true},
		"File":    {reason: "a file gets no table", between: func(*Console) {}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := newConsole(&out, tc.terminal, time.Now)
			c.Table(rows)
			tc.between(c)
			c.Table(rows)
			if got := strings.Contains(out.String(), "web"); got != tc.table {
				t.Errorf("%s: it writes %q", tc.reason, out.String())
			}
			if got := strings.Contains(out.String(), up); got != tc.over {
				t.Errorf("%s: it writes %q", tc.reason, out.String())
			}
		})
	}
}

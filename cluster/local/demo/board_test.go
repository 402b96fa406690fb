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

package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/local/console"
	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// shown returns a board that expects machines, and a function that returns its output.
func shown(t *testing.T, changes <-chan machine.Change, machines ...machine.Machine) (*board, func() string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	expected := map[machine.Key]machine.Machine{}
	for _, m := range machines {
		expected[m.Key] = m
	}
	return newBoard(console.New(out), expected, changes), func() string {
		b, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

// feed returns a channel that delivers changes one after the other.
func feed(changes ...machine.Change) <-chan machine.Change {
	c := make(chan machine.Change, len(changes))
	for _, ch := range changes {
		c <- ch
	}
	return c
}

func TestUntil(t *testing.T) {
	pending := machine.Machine{Key: machine.Key{Name: "a"}}
	ready := machine.Machine{Key: machine.Key{Name: "a"}, VMID: 1, Ready: "True", Synced: "True"}
	other := machine.Machine{Key: machine.Key{Namespace: "n", Name: "a"}}
	cases := map[string]struct {
		reason  string
		start   []machine.Machine
		changes []machine.Change
		done    func(*board) func() bool
		limit   time.Duration
		err     error
		lines   int
	}{
		"Already": {reason: "what holds is not waited for", start: []machine.Machine{ready}, done: func(b *board) func() bool { return b.complete }},
		"Becomes": {
			reason: "a change that shows nothing new gives no line", start: []machine.Machine{pending},
			changes: []machine.Change{{Machine: pending}, {Machine: ready}}, done: func(b *board) func() bool { return b.complete }, lines: 1,
		},
		"Every": {
			reason: "all of them must be ready, in both scopes", start: []machine.Machine{pending, other},
			changes: []machine.Change{{Machine: ready}}, done: func(b *board) func() bool { return b.complete }, limit: 20 * time.Millisecond, err: errTimeout, lines: 1,
		},
		"Gone": {
			reason: "a board is empty when all are gone", start: []machine.Machine{ready},
			changes: []machine.Change{{Machine: ready, Gone: true}}, done: func(b *board) func() bool { return b.empty }, lines: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b, text := shown(t, feed(tc.changes...), tc.start...)
			if err := b.until(t.Context(), tc.limit, tc.done(b)); !errors.Is(err, tc.err) {
				t.Errorf("%s: until returns %v, want %v", tc.reason, err, tc.err)
			}
			if got := strings.Count(text(), "\n"); got != tc.lines {
				t.Errorf("%s: it writes %d lines, want %d:\n%s", tc.reason, got, tc.lines, text())
			}
		})
	}
}

func TestUntilEndsWithTheReasonOfItsContext(t *testing.T) {
	b, _ := shown(t, nil, machine.Machine{})
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("provider ended")
	cancel(reason)
	if err := b.until(ctx, time.Minute, b.complete); !errors.Is(err, reason) {
		t.Errorf("until returns %v, want %v", err, reason)
	}
}

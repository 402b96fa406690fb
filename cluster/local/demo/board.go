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
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/local/console"
	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// errTimeout is the error of until after the time limit.
var errTimeout = errors.New("it takes too long")

// board prints Machines as they change: as a table on a terminal, otherwise as one line for each change.
type board struct {
	console  *console.Console
	changes  <-chan machine.Change
	machines map[machine.Key]machine.Machine
	table    bool
}

// newBoard returns a board of the expected Machines that receives their changes.
func newBoard(c *console.Console, expected map[machine.Key]machine.Machine, changes <-chan machine.Change) *board {
	return &board{console: c, changes: changes, machines: maps.Clone(expected), table: c.Terminal()}
}

// printLines makes the board print one line for each change from now on, so that earlier output stays visible.
func (b *board) printLines() { b.table = false }

// complete reports whether every Machine is complete.
func (b *board) complete() bool {
	for _, m := range b.machines {
		if !m.Complete() {
			return false
		}
	}
	return true
}

// empty reports whether all Machines have been deleted.
func (b *board) empty() bool { return len(b.machines) == 0 }

// until prints changes until done returns true, and then returns nil. It returns an error when ctx ends, or after the time limit. A limit of 0 means
// none.
func (b *board) until(ctx context.Context, limit time.Duration, done func() bool) error {
	if limit > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
		defer cancel()
		ctx = timed
	}
	b.draw()
	for !done() {
		select {
		case c := <-b.changes:
			b.update(c)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (b *board) update(c machine.Change) {
	old, known := b.machines[c.Machine.Key]
	if c.Gone {
		delete(b.machines, c.Machine.Key)
		b.linef("machine %s: gone", c.Machine.Key)
		b.draw()
		return
	}
	b.machines[c.Machine.Key] = c.Machine
	if !known || !slices.Equal(old.Row(), c.Machine.Row()) {
		b.linef("%s", c.Machine)
		b.draw()
	}
}

func (b *board) linef(format string, args ...any) {
	if !b.table {
		b.console.Stepf(format, args...)
	}
}

func (b *board) draw() {
	if !b.table {
		return
	}
	rows := [][]string{machine.Headings()}
	for _, key := range sortedKeys(b.machines) {
		rows = append(rows, b.machines[key].Row())
	}
	b.console.Table(rows)
}

func sortedKeys(m map[machine.Key]machine.Machine) []machine.Key {
	return slices.SortedFunc(maps.Keys(m), func(a, b machine.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

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
	"errors"
	"slices"
	"sync"
	"time"
)

// wholeBound is how long a run of all scenarios may take, on two cores.
const wholeBound = 30 * time.Minute

// A scenario is a measurement, in environments of its own.
type scenario struct {
	name string
	run  func(context.Context) error
}

// scenarios lists all, first those that wait longest. Connections come before the many Machines, which are created while it waits.
func (b *bench) scenarios() []scenario {
	return []scenario{
		{name: "connections", run: b.connections},
		{name: "scale", run: b.scale},
		{name: "kinds", run: b.kinds},
		{name: "create", run: b.create},
		{name: "delete", run: b.delete},
		{name: "drift", run: b.drift},
		{name: "operations", run: b.operations},
		{name: "competitors", run: b.compare},
	}
}

// plan lists the scenarios that are asked for. The creation of many Machines, a start and a steady state are measured in the same environment.
func (b *bench) plan() []scenario {
	return slices.DeleteFunc(b.scenarios(), func(s scenario) bool {
		return !b.wants(s.name) && (s.name != "scale" || !slices.ContainsFunc([]string{"resources", "startup", "steady"}, b.wants))
	})
}

// A gate keeps apart what would disturb each other: what takes all processors, which is done alone, and what mostly waits. The former goes first,
// however much of the latter waits: most of the time of a run passes until a provider is in a steady state, which begins earlier this way.
type gate struct {
	sync.RWMutex

	mu    sync.Mutex
	alike sync.Mutex // Held while anything waits for its turn alone, or has it.
	first int        // How much that is.
}

// alone does what takes all processors, or is disturbed by what does.
func (g *gate) alone(do func() error) error {
	g.count(1)
	defer g.count(-1)
	g.Lock()
	defer g.Unlock()
	return do()
}

// count what is to be done alone.
func (g *gate) count(more int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.first
	g.first += more
	switch {
	case before == 0:
		g.alike.Lock()
	case g.first == 0:
		g.alike.Unlock()
	}
}

// concurrent does what waits for the simulated server, or for time to pass, and may be done together with others like it.
func (g *gate) concurrent(do func() error) error {
	g.alike.Lock()
	g.RLock()
	g.alike.Unlock()
	defer g.RUnlock()
	return do()
}

// measure runs scenarios, some at the same time, and returns how long each took.
func (b *bench) measure(ctx context.Context, all []scenario) (took []time.Duration, err error) {
	took = make([]time.Duration, len(all))
	errs := make([]error, len(all))
	begin := time.Now()
	_ = parallel(context.WithoutCancel(ctx), max(b.Parallel, 1), len(all), func(_ context.Context, i int) error {
		<-time.After(time.Duration(i) * inOrder)
		if ctx.Err() == nil {
			errs[i] = all[i].run(ctx)
		}
		took[i] = time.Since(begin)
		return nil
	})
	return took, errors.Join(errs...)
}

// addTimes adds the table of when each scenario had ended, if all were run.
func (b *bench) addTimes(all []scenario, ended []time.Duration) {
	if len(all) < len(b.scenarios()) {
		return
	}
	t := table{name: "times", rows: [][]string{{"scenario", "ended after", "bound"}}}
	for i, s := range all {
		t.rows = append(t.rows, []string{s.name, round(ended[i]).String(), ""})
	}
	whole := slices.Max(ended)
	t.rows = append(t.rows, []string{"all", round(whole).String(), b.within("all scenarios", whole, wholeBound)})
	b.add(t)
	b.show(t)
}

// inOrder is how much later each scenario begins than the one before it, so that they ask in this order to be alone.
const inOrder = 100 * time.Millisecond

// largestFirst returns sizes in descending order: the largest one takes and waits longest.
func largestFirst(sizes []int) []int {
	all := slices.Sorted(slices.Values(sizes))
	slices.Reverse(all)
	return all
}

// rowsOf measures each of several sizes and returns the row of each. The others are under way as soon as the first one reports that it only waits until it is
// in a steady state.
func rowsOf[T any](ctx context.Context, sizes []int, measure func(ctx context.Context, n int, waits func()) (T, error)) ([]T, error) {
	rows := make([]T, len(sizes))
	first := make(chan struct{})
	waits := sync.OnceFunc(func() { close(first) })
	err := parallel(ctx, len(sizes), len(sizes), func(ctx context.Context, i int) (err error) {
		if i == 0 {
			defer waits()
		} else {
			<-first
		}
		rows[i], err = measure(ctx, sizes[i], waits)
		return err
	})
	return rows, err
}

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
	"fmt"
	"slices"
	"strings"
	"time"
)

// The number of Machines for which there are bounds of processor and memory: what the chart requests and allows, in thousandths of a
// core and MiB.
const (
	boundMachines  = 10_000
	processorBound = 200
	memoryBound    = 256
)

// Until all VMs were looked at for the first time, which is not measured, the provider may do more than by default.
const populatingRate = 1000

func populating() []string {
	return []string{"MAX_RECONCILE_RATE=1000", "MAX_CONCURRENT_RECONCILES=20", "RECONCILE_INTERVAL=15s", "GOGC=400"}
}

// Bounds of a steady state, in calls per minute.
var callBounds = map[int]float64{1000: 80, 10_000: 400} //nolint:gochecknoglobals // A table.

// The provider limits its heap to this part of the memory of its container.
const heapPercent = 80

// settle is how long after its start the provider is in a steady state: a minute after a VM was read for the first time it may be read
// again for safety's sake, when its Machine is looked at the next time.
func settle(n int) time.Duration {
	return time.Minute + max(interval, time.Duration(n)*time.Second/50)*11/10
}

// scaleRows are what is measured with a number of Machines.
type scaleRows struct {
	created, steady, start []string
	by                     [][]string
}

// scale measures for each number of Machines their creation, a start and the steady state.
func (b *bench) scale(ctx context.Context) error {
	steady := table{name: "steady", rows: [][]string{{
		"Machines", "calls/min", "bound", "calls/Machine/min", "calls/s", "CPU", "bound", "memory", "peak", "bound",
	}}}
	by := table{name: "steady-endpoints", rows: [][]string{{"Machines", "call", "per minute"}}}
	start := table{name: "startup", rows: [][]string{{
		"Machines", "calls", "calls/Machine", "most in a second", "of these to workers", "until all were reconciled", "limit of calls/s",
	}}}
	creations := table{name: "resources", rows: [][]string{{
		"", "created", "all ready after", "ready p50", "ready p99", "CPU", "peak", "memory", "peak", "bound",
	}}}
	all, err := rowsOf(ctx, b.sizes(), b.at)
	if err != nil {
		return err // A table without a row would lose its bounds.
	}
	for _, r := range slices.Backward(all) {
		creations.take(r.created)
		start.take(r.start)
		steady.take(r.steady)
		by.take(r.by...)
	}
	creations.rows = append(creations.rows, published()...)
	for _, t := range []table{creations, start, steady, by} {
		if b.wants(strings.TrimSuffix(t.name, "-endpoints")) {
			b.add(t)
			b.show(t)
		}
	}
	return nil
}

// sizes are the numbers of Machines for which something is measured, the largest first.
func (b *bench) sizes() []int {
	all := []int{}
	if b.wants("steady") || b.wants("startup") {
		all = append(all, b.Machines...)
	}
	if b.wants("resources") {
		all = append(all, b.Resources...)
	}
	return slices.Compact(largestFirst(all))
}

// at measures with so many Machines. They are created if that is measured, and restored otherwise.
func (b *bench) at(ctx context.Context, n int, waits func()) (r scaleRows, err error) {
	c, fill := newCluster(n), (*env).populate
	c.rate, c.settings = populatingRate, populating()
	if b.wants("resources") && slices.Contains(b.Resources, n) {
		c, fill = creating(n), func(w *env, ctx context.Context, _ cluster) (err error) {
			r.created, err = b.sampleCreation(ctx, w, n)
			return err
		}
	}
	w, ctx, err := b.filled(ctx, c, fill)
	if err != nil {
		return r, fmt.Errorf("with %d Machines: %w", n, err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if slices.Contains(b.Machines, n) {
		if err = b.atRest(ctx, w, n, waits, &r); err != nil {
			err = fmt.Errorf("with %d Machines: %w", n, err)
		}
	}
	return r, err
}

// filled is an environment with its Machines, whose guests have reported their addresses. No other scenario comes in between: what follows are long
// waits, in which others are measured.
func (b *bench) filled(ctx context.Context, c cluster, fill func(*env, context.Context, cluster) error) (w *env, in context.Context, err error) {
	err = b.alone(func() error {
		if w, in, err = b.start(ctx, c); err != nil {
			return err
		}
		if err = fill(w, in, c); err == nil {
			err = w.until(in, "asking for addresses", w.machineSet.withoutAddress)
		}
		if err != nil {
			err = errors.Join(err, w.Close())
		}
		return err
	})
	return w, in, err
}

// atRest measures a start with so many Machines, and the steady state.
func (b *bench) atRest(ctx context.Context, w *env, n int, waits func(), r *scaleRows) error {
	if !b.wants("steady") && !b.wants("startup") {
		return nil
	}
	if err := w.reconfigure(ctx, chartLimits()); err != nil {
		return err
	}
	err := b.concurrent(func() (err error) {
		r.start, err = b.startup(ctx, w, n)
		return err
	})
	waits()
	if err == nil && b.wants("steady") {
		r.steady, r.by, err = b.steady(ctx, w, n)
	}
	return err
}

// chartLimits returns the memory of the provider in a container with the chart's limit.
func chartLimits() []string { return heapLimit(memoryBound) }

// heapLimit returns the memory of the provider, as the garbage collector gets it in a container with a limit in MiB.
func heapLimit(container int) []string {
	return []string{"GOMEMLIMIT=" + itoa(container*heapPercent/100) + "MiB"}
}

// populate restores a Machine for each VM and starts the provider, which looks at them and asks their guests for addresses.
func (w *env) populate(ctx context.Context, c cluster) error {
	begin := time.Now()
	machines, err := restored(ctx, c, w.operator)
	if err != nil {
		return err
	}
	if _, err := w.machineSet.apply(ctx, machines); err != nil {
		return fmt.Errorf("cannot create Machines: %w", err)
	}
	w.Console.Stepf("%d Machines: written in %s", c.machines, round(time.Since(begin)))
	begin = time.Now()
	if err := w.startProvider(ctx); err != nil {
		return err
	}
	if err := w.until(ctx, "looking", func() int { return w.machineSet.incomplete(c.machines) }); err != nil {
		return err
	}
	calls, err := w.own.counted(ctx, w.own.token.id)
	w.Console.Stepf("%d Machines: looked at in %s with %d calls", c.machines, round(time.Since(begin)), calls.total())
	return err
}

// steady watches while nothing happens.
func (b *bench) steady(ctx context.Context, w *env, n int) (row []string, by [][]string, err error) {
	w.Console.Stepf("%d Machines: watching for %s, in %s", n, b.Window, round(settle(n)))
	if err := w.wait(ctx, settle(n)); err != nil {
		return nil, nil, err
	}
	var calls counts
	var before, after usage
	err = b.concurrent(func() error {
		calls, before, after, err = w.watch(ctx, b.Window, b.profiler(w, n))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	minutes := b.Window.Minutes()
	perMinute := float64(calls.total()) / minutes
	cpu := float64(after.cpu-before.cpu) / float64(b.Window) * 1000
	what := itoa(n) + " Machines: "
	row = []string{
		itoa(n), number(perMinute), b.atMost(what+"calls per minute", perMinute, callBounds[n], ""), number(perMinute / float64(n)), number(perMinute / 60),
		fmt.Sprintf("%.0f m", cpu), "", megabytes(after.resident), megabytes(after.peak), "",
	}
	if n == boundMachines {
		row[6] = b.atMost(what+"processor", cpu, processorBound, " m")
		row[9] = b.atMost(what+"memory", float64(after.peak)/(1<<20), memoryBound, " MiB")
	}
	for _, k := range calls.names() {
		by = append(by, []string{itoa(n), "`" + k + "`", number(float64(calls[k]) / minutes)})
	}
	return row, by, nil
}

// watch counts the provider's calls, and what it uses, while time passes.
func (w *env) watch(ctx context.Context, d time.Duration, meanwhile func(context.Context)) (calls counts, before, after usage, err error) {
	if before, err = usageOf(w.provider.Pid()); err != nil {
		return nil, before, after, err
	}
	first, err := w.own.counted(ctx, w.own.token.id)
	if err != nil {
		return nil, before, after, err
	}
	go meanwhile(ctx)
	if err := w.wait(ctx, d); err != nil {
		return nil, before, after, err
	}
	last, err := w.own.counted(ctx, w.own.token.id)
	if err != nil {
		return nil, before, after, err
	}
	after, err = usageOf(w.provider.Pid())
	return last.minus(first), before, after, err
}

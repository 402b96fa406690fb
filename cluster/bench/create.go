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
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/percentile"
)

// create measures how fast Machines are created, and how fast a client with perfect knowledge makes the same VMs.
func (b *bench) create(ctx context.Context) (err error) {
	c := newCluster(0)
	w, ctx, err := b.open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return b.concurrent(func() error { return b.compareCreation(ctx, w) })
}

func (b *bench) compareCreation(ctx context.Context, w *env) error {
	w.Console.Stepf("baseline: %d linked clones by a plain client", b.Create)
	baseline, err := w.baseline(ctx, b.Create)
	if err != nil {
		return fmt.Errorf("cannot measure the baseline: %w", err)
	}
	w.Console.Stepf("baseline: %s", round(baseline.took))
	if err := w.own.control(ctx, "POST /reset", &struct{}{}); err != nil {
		return err
	}
	own, err := b.createMachines(ctx, w, created(b.Create))
	if err != nil {
		return err
	}
	t := table{name: "create", rows: [][]string{
		{"", "all ready after", "bound", "per minute", "ready p50", "ready p95", "ready p99", "calls per Machine", "guest agent requests", "with shared polls"},
		baseline.row("baseline", b.Create), own.row("provider", b.Create),
	}}
	t.rows[2][2] = b.within("creation", own.took, baseline.took*13/10) + " (1.3 × baseline)"
	calls := own.calls.endpoints("create-endpoints", b.Create)
	b.add(t, calls)
	b.show(t)
	b.show(calls)
	return nil
}

// A creationTime is the creation of many machines.
type creationTime struct {
	took time.Duration
	// each is how long every one took.
	each []time.Duration
	// calls that were made meanwhile.
	calls *requestLog
}

func (r creationTime) row(name string, n int) []string {
	agents := r.calls.count(toAgent)
	return []string{
		name, round(r.took).String(), "", number(float64(n) / r.took.Minutes()),
		round(percentile.Of(r.each, 50)).String(), round(percentile.Of(r.each, 95)).String(), round(percentile.Of(r.each, 99)).String(),
		number(float64(r.calls.count(forOne)-agents) / float64(n)), number(float64(agents) / float64(n)),
		number(float64(len(r.calls.rows)) / float64(n)),
	}
}

// createMachines creates Machines with the provider running and waits until all are ready.
func (b *bench) createMachines(ctx context.Context, w *env, machines []*unstructured.Unstructured) (creationTime, error) {
	if err := w.startProvider(ctx); err != nil {
		return creationTime{}, err
	}
	// It looks at its connection first; that is no cost of Machines.
	if err := w.wait(ctx, 5*time.Second); err != nil {
		return creationTime{}, err
	}
	calls, err := w.own.requestLog(ctx, w.own.token.id)
	if err != nil {
		return creationTime{}, err
	}
	w.Console.Stepf("provider: %d Machines", len(machines))
	begin := time.Now()
	stop := b.profile(ctx, w, "create")
	sent, err := w.machineSet.apply(ctx, machines)
	if err != nil {
		return creationTime{}, fmt.Errorf("cannot create Machines: %w", err)
	}
	if err := w.until(ctx, "creating", func() int { return w.machineSet.incomplete(len(machines)) }); err != nil {
		return creationTime{}, err
	}
	stop()
	r := creationTime{calls: calls}
	for name, at := range sent {
		complete := w.machineSet.get(name).complete
		r.each = append(r.each, complete.Sub(at))
		r.took = max(r.took, complete.Sub(begin))
	}
	w.Console.Stepf("provider: %s", round(r.took))
	return r, calls.follow(ctx)
}

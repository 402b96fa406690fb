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
	"net/url"
	"time"
)

// deletedEarly is how many VMs are deleted right after their start, when no guest hears a shutdown yet.
const deletedEarly = 10

// shutdownSeconds is how long the floor script lets a guest shut down, as the provider does by default.
const shutdownSeconds = 120

// delete measures how fast Machines and their VMs are deleted, and how fast a client with perfect knowledge deletes the same VMs.
func (b *bench) delete(ctx context.Context) (err error) {
	c := newCluster(0)
	c.link = quickLink // What is deleted has to be made first.
	w, ctx, err := b.open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return b.concurrent(func() error { return b.compareDeletion(ctx, w) })
}

func (b *bench) compareDeletion(ctx context.Context, w *env) error {
	floor, err := w.floor(ctx, b.Delete)
	if err != nil {
		return fmt.Errorf("cannot measure the minimal script: %w", err)
	}
	if err := w.own.control(ctx, "POST /reset", &struct{}{}); err != nil {
		return err
	}
	if err := w.startProvider(ctx); err != nil {
		return err
	}
	all, err := w.deleteMachines(ctx, b.Delete, quietTime)
	if err != nil {
		return err
	}
	early, err := w.deleteMachines(ctx, deletedEarly, 0)
	if err != nil {
		return err
	}
	t := table{name: "delete", rows: [][]string{
		{"", "VMs", "all gone after", "bound", "calls per Machine", "with shared polls"},
		floor.row("minimal script", b.Delete), all.row("provider", b.Delete), early.row("provider, seconds after their start", deletedEarly),
	}}
	t.rows[2][3] = b.within("deletion", all.took, floor.took*13/10) + " (1.3 × minimal script)"
	calls := all.calls.endpoints("delete-endpoints", b.Delete)
	b.add(t, calls)
	b.show(t)
	b.show(calls)
	return nil
}

// A deletionTime is the deletion of many VMs.
type deletionTime struct {
	took  time.Duration
	calls *requestLog
}

func (d deletionTime) row(name string, n int) []string {
	return []string{
		name, itoa(n), round(d.took).String(), "", number(float64(d.calls.count(forOne)-d.calls.count(toAgent)) / float64(n)),
		number(float64(len(d.calls.rows)) / float64(n)),
	}
}

// floor makes VMs and deletes them with as few calls as there can be: each guest is asked to shut down once, and its VM destroyed when
// it has. One look at the cluster's tasks serves all, and the limit of requests is the provider's.
func (w *env) floor(ctx context.Context, n int) (deletionTime, error) {
	w.Console.Stepf("minimal script: %d VMs deleted by a plain client", n)
	if _, err := w.baseline(ctx, n); err != nil {
		return deletionTime{}, err
	}
	if err := w.wait(ctx, quietTime); err != nil { // The guests have booted, and hear.
		return deletionTime{}, err
	}
	f, calls, stop, err := w.follower(ctx)
	if err != nil {
		return deletionTime{}, err
	}
	defer stop()
	begin := time.Now()
	err = parallel(ctx, n, n, func(ctx context.Context, i int) error { return f.delete(ctx, baselineID+i) })
	if err != nil {
		return deletionTime{}, err
	}
	d := deletionTime{took: time.Since(begin), calls: calls}
	w.Console.Stepf("minimal script: %s", round(d.took))
	return d, calls.follow(ctx)
}

// delete shuts a guest down and destroys its VM.
func (f *follower) delete(ctx context.Context, vmid int) error {
	vm := "/nodes/" + firstNode + "/qemu/" + itoa(vmid)
	if err := f.task(ctx, "POST "+vm+"/status/shutdown", url.Values{"timeout": {itoa(shutdownSeconds)}}); err != nil {
		return err
	}
	return f.task(ctx, "DELETE "+vm+"?purge=1", nil)
}

// deleteMachines makes so many Machines, lets their VMs run for a while, and deletes them.
func (w *env) deleteMachines(ctx context.Context, n int, running time.Duration) (deletionTime, error) {
	objs := created(n)
	if _, err := w.machineSet.apply(ctx, objs); err != nil {
		return deletionTime{}, err
	}
	if err := w.until(ctx, "creating", func() int { return w.machineSet.incomplete(n) }); err != nil {
		return deletionTime{}, err
	}
	if err := w.wait(ctx, running); err != nil {
		return deletionTime{}, err
	}
	calls, err := w.own.requestLog(ctx, w.own.token.id)
	if err != nil {
		return deletionTime{}, err
	}
	w.Console.Stepf("provider: deleting %d Machines", n)
	begin := time.Now()
	if err := w.machineSet.remove(ctx, objs); err != nil {
		return deletionTime{}, err
	}
	if err := w.until(ctx, "deleting", w.machineSet.left); err != nil {
		return deletionTime{}, err
	}
	d := deletionTime{took: time.Since(begin), calls: calls}
	w.Console.Stepf("provider: %s", round(d.took))
	return d, calls.follow(ctx)
}

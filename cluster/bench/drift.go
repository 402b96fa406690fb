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
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/percentile"
)

// between is the time between two changes.
const between = 250 * time.Millisecond

// quietTime is how long nothing happens before the first change.
const quietTime = 20 * time.Second

// others is the node that VMs are moved to by hand.
const others = "pve3"

// A sort of change that somebody makes by hand.
type change struct {
	name string
	// stopped selects a VM that does not run.
	stopped bool
	// request to make, below the VM's path.
	request string
	params  url.Values
	// answer is how the provider's corrective request begins and ends, below /nodes; empty if the VM is only followed.
	answer func(request, string) bool
}

func changes() []change {
	edited := url.Values{"cores": {"8"}}
	return []change{
		{name: "options, PUT config", request: "PUT /config", params: edited, answer: writes("/config")},
		{name: "options, POST config", request: "POST /config", params: edited, answer: writes("/config")},
		{name: "stop", request: "POST /status/stop", answer: writes("/status/start")},
		{name: "deletion", stopped: true, request: "DELETE ", answer: clones},
		{name: "migration", request: "POST /migrate", params: url.Values{"target": {others}, "online": {"1"}}},
	}
}

// writes returns a function that reports whether a request changes a VM at a path below it.
func writes(path string) func(request, string) bool {
	return func(r request, vmid string) bool {
		return r.Method != http.MethodGet && strings.HasSuffix(r.Path, "/qemu/"+vmid+path)
	}
}

// clones reports whether a request clones the template. The log does not have the new VMID.
func clones(r request, _ string) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/clone")
}

// An incident is a change that was made to a VM.
type incident struct {
	change

	machine string
	vmid    string
	// done is when the change was in force: when its request was answered, or its task ended.
	done time.Time
	// noticed is when the provider made the corrective request, or reported the VM's node.
	noticed time.Time
}

// drift measures how long it takes until the provider corrects manual changes.
func (b *bench) drift(ctx context.Context) (err error) {
	c := newCluster(b.Drift)
	w, ctx, err := b.open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := b.alone(func() error { return w.populate(ctx, c) }); err != nil {
		return err
	}
	if err := w.wait(ctx, quietTime); err != nil {
		return err
	}
	return b.concurrent(func() error { return b.changeByHand(ctx, w, c) })
}

// changeByHand makes the changes and measures when they are noticed.
func (b *bench) changeByHand(ctx context.Context, w *env, c cluster) error {
	incidents := plan(c, b.Changes)
	w.Console.Stepf("drift: %d changes among %d Machines", len(incidents), c.machines)
	if err := w.own.clearRequests(ctx); err != nil {
		return err
	}
	j, err := w.own.requestLog(ctx, w.own.token.id)
	if err != nil {
		return err
	}
	if err := w.applyChanges(ctx, incidents); err != nil {
		return err
	}
	left := func() int { return w.unnoticed(ctx, j, incidents) }
	if err := w.until(ctx, "noticing", left); err != nil {
		return err
	}
	b.addDrift(incidents)
	return nil
}

// plan spreads the changes over the VMs, sort after sort in turn.
func plan(c cluster, each int) []*incident {
	var out []*incident
	running, stopped := 0, 0
	for range each {
		for _, ch := range changes() {
			i := &incident{change: ch}
			switch {
			case ch.stopped && stopped < c.stopped():
				i.machine, i.vmid = "off-"+itoa(stopped), itoa(firstID+c.running()+stopped)
				stopped++
			case !ch.stopped && running < c.running():
				i.machine, i.vmid = "vm-"+itoa(running), itoa(firstID+running)
				running++
			default:
				continue
			}
			out = append(out, i)
		}
	}
	return out
}

// applyChanges makes the changes, one after the other, and waits until all are in force.
func (w *env) applyChanges(ctx context.Context, incidents []*incident) error {
	var wg sync.WaitGroup
	failed := make(chan error, len(incidents))
	for _, i := range incidents {
		wg.Go(func() { failed <- i.make(ctx, w.operator) })
		if err := w.wait(ctx, between); err != nil {
			return err
		}
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return fmt.Errorf("cannot change a VM: %w", err)
		}
	}
	return nil
}

// make the change.
func (i *incident) make(ctx context.Context, p *pve) error {
	verb, path, _ := strings.Cut(i.request, " ")
	var upid any
	if err := p.call(ctx, verb+" /nodes/pve2/qemu/"+i.vmid+path, i.params, &upid); err != nil {
		return err
	}
	i.done = time.Now()
	if id, ok := upid.(string); ok && strings.HasPrefix(id, "UPID:") {
		return i.await(ctx, p, id)
	}
	return nil
}

// await the end of the task that makes the change.
func (i *incident) await(ctx context.Context, p *pve, upid string) error {
	for {
		var status struct{ Status, ExitStatus string }
		if err := p.call(ctx, "GET /nodes/pve2/tasks/"+upid+"/status", nil, &status); err != nil {
			return err
		}
		i.done = time.Now()
		if status.Status == "stopped" {
			if status.ExitStatus != "OK" {
				return fmt.Errorf("%s: %s", i.name, status.ExitStatus)
			}
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// unnoticed counts the changes that the provider has not answered yet.
func (w *env) unnoticed(ctx context.Context, j *requestLog, incidents []*incident) int {
	if err := j.follow(ctx); err != nil {
		return len(incidents)
	}
	left := 0
	taken := map[int]bool{}
	for _, i := range incidents {
		i.find(w, j.rows, taken)
		if i.noticed.IsZero() {
			left++
		}
	}
	return left
}

// find sets the time at which the provider reacted to the change. A request answers one change.
func (i *incident) find(w *env, log []request, taken map[int]bool) {
	if i.answer == nil {
		if m := w.machineSet.get(i.machine); m.Node == others {
			i.noticed = m.arrived
		}
		return
	}
	i.noticed = time.Time{}
	for _, r := range log {
		// A change may be seen before its task has ended.
		if !taken[r.Number] && r.Status == http.StatusOK && i.answer(r, i.vmid) && r.Time.After(i.done.Add(-time.Second)) {
			taken[r.Number], i.noticed = true, r.Time
			return
		}
	}
}

// took is how long it took until the change was answered.
func (i *incident) took() time.Duration { return max(0, i.noticed.Sub(i.done)) }

func (b *bench) addDrift(incidents []*incident) {
	t := table{name: "drift", rows: [][]string{{"change by hand", "changes", "p50", "p99", "bound"}}}
	all := []time.Duration{}
	for _, ch := range changes() {
		var some []time.Duration
		for _, i := range incidents {
			if i.name == ch.name {
				some = append(some, i.took())
			}
		}
		all = append(all, some...)
		t.rows = append(t.rows, driftRow(ch.name, some, ""))
	}
	p50 := b.within("changes by hand, p50", percentile.Of(all, 50), 5*time.Second)
	p99 := b.within("changes by hand, p99", percentile.Of(all, 99), 15*time.Second)
	t.rows = append(t.rows, driftRow("all", all, "p50 "+p50+", p99 "+p99))
	b.add(t)
	b.show(t)
}

func driftRow(name string, took []time.Duration, bound string) []string {
	return []string{name, itoa(len(took)), round(percentile.Of(took, 50)).String(), round(percentile.Of(took, 99)).String(), bound}
}

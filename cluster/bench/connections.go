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
	"slices"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
	"github.com/vitistack/provider-proxmox/cluster/percentile"
)

const (
	// connectionCalls is the bound of calls per connection and minute while nothing happens.
	connectionCalls = 50

	// changesPerState is how many changes are made by hand while all clusters answer, and while one does not.
	changesPerState = 10

	// silentMargin is how much longer a change on one cluster may take to be corrected, at the median, while another one does not answer.
	silentMargin = time.Second
)

// A site is a simulated cluster with a connection of its own.
type site struct {
	name     string
	own      *pve
	operator *pve
	process  *process.Process
}

// connections measures one provider with several connections, one of which stops to answer in the end.
func (b *bench) connections(ctx context.Context) error {
	t := table{name: "connections", rows: [][]string{{
		"connections", "Machines", "until all were reconciled", "calls/connection/min", "bound", "CPU", "memory", "peak", "change by hand p50",
		"while one is silent", "bound", "memory/connection",
	}}}
	type measured struct {
		row  []string
		used footprint
	}
	all, err := rowsOf(ctx, largestFirst(b.Connections), func(ctx context.Context, n int, waits func()) (measured, error) {
		row, used, err := b.connectionsOf(ctx, n, waits)
		if err != nil {
			err = fmt.Errorf("with %d connections: %w", n, err)
		}
		return measured{row: row, used: used}, err
	})
	if err != nil {
		return err
	}
	var few footprint
	for _, m := range slices.Backward(all) {
		t.rows = append(t.rows, append(m.row, m.used.each(few)))
		if few.connections == 0 {
			few = m.used
		}
	}
	b.add(t)
	b.show(t)
	return nil
}

// A footprint is the memory of a provider with so many connections.
type footprint struct {
	connections int
	memory      int64
}

// each is the memory that each connection takes with its Machines, compared with fewer of them; empty without those.
func (f footprint) each(few footprint) string {
	if more := f.connections - few.connections; few.connections > 0 && more > 0 {
		return fmt.Sprintf("%d KiB", (f.memory-few.memory)/int64(more)>>10)
	}
	return ""
}

func (b *bench) connectionsOf(ctx context.Context, n int, waits func()) (row []string, used footprint, err error) {
	c := newCluster(b.PerConnection)
	none := newCluster(0)
	none.settings = populating()
	var sites []*site
	w, ctx, err := b.filled(ctx, none, func(w *env, ctx context.Context, _ cluster) (err error) {
		if sites, err = w.addSites(ctx, c, n); err == nil {
			err = w.populateSites(ctx, sites, c)
		}
		return err
	})
	if err != nil {
		return nil, used, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := errors.Join(w.provider.Stop(), w.prepare(chartLimits())); err != nil {
		return nil, used, err
	}
	var took time.Duration
	err = b.concurrent(func() (err error) {
		took, err = w.startWith(ctx, sites, c)
		return err
	})
	if err != nil {
		return nil, used, err
	}
	waits()
	machines := n * c.machines
	if err := w.wait(ctx, settle(machines)); err != nil {
		return nil, used, err
	}
	err = b.concurrent(func() error {
		calls, before, after, err := w.watchSites(ctx, sites, b.Window)
		if err != nil {
			return err
		}
		each := float64(sumOf(calls)) / float64(n) / b.Window.Minutes()
		row = []string{
			itoa(n), itoa(machines), round(took).String(), number(each), b.atMost(itoa(n)+" connections: calls per connection", each, connectionCalls, ""),
			fmt.Sprintf("%.0f m", float64(after.cpu-before.cpu)/float64(b.Window)*1000), megabytes(after.resident), megabytes(after.peak),
		}
		cells, err := b.changesOf(ctx, w, sites, c)
		row, used = append(row, cells...), footprint{connections: n, memory: after.resident}
		return err
	})
	return row, used, err
}

// populateSites restores Machines for the VMs of all sites.
func (w *env) populateSites(ctx context.Context, sites []*site, c cluster) error {
	machines, err := machinesOf(ctx, sites, c)
	if err != nil {
		return err
	}
	if _, err := w.machineSet.apply(ctx, machines); err != nil {
		return err
	}
	if err := w.startProvider(ctx); err != nil {
		return err
	}
	return w.until(ctx, "looking", func() int { return w.machineSet.incomplete(len(machines)) })
}

// startWith starts the provider, and returns how long it took until it had read each VM of all sites.
func (w *env) startWith(ctx context.Context, sites []*site, c cluster) (time.Duration, error) {
	var logs []*requestLog
	for _, s := range sites {
		j, err := s.own.requestLog(ctx, s.own.token.id)
		if err != nil {
			return 0, err
		}
		logs = append(logs, j)
	}
	begin := time.Now()
	if err := w.startProvider(ctx); err != nil {
		return 0, err
	}
	left := func() int { // Of the sites in order: to read the logs of all at once would take more than the provider does.
		for len(logs) > 0 && logs[0].looked(ctx) >= c.machines {
			logs = logs[1:]
		}
		return len(logs)
	}
	if err := w.until(ctx, "looking at clusters", left); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}

// changesOf measures how soon changes by hand are corrected, first while all clusters answer, then while one does not.
func (b *bench) changesOf(ctx context.Context, w *env, sites []*site, c cluster) ([]string, error) {
	usual, err := w.correct(ctx, sites[0], c, 0)
	if err != nil || len(sites) == 1 {
		return []string{round(percentile.Of(usual, 50)).String(), "", ""}, err
	}
	silent := sites[len(sites)-1]
	w.Console.Stepf("%s does not answer any more", silent.name)
	if err := syscall.Kill(silent.process.Pid(), syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("cannot stop a simulator: %w", err)
	}
	defer func() { _ = syscall.Kill(silent.process.Pid(), syscall.SIGCONT) }()
	while, err := w.correct(ctx, sites[0], c, changesPerState)
	if err != nil {
		return nil, err
	}
	p50 := percentile.Of(while, 50)
	bound := b.within(itoa(len(sites))+" connections: change while one is silent", p50, percentile.Of(usual, 50)+silentMargin)
	return []string{round(percentile.Of(usual, 50)).String(), round(p50).String(), bound}, nil
}

// addSite starts one more simulated cluster, and creates its connection.
func (w *env) addSite(ctx context.Context, c cluster, i int) (*site, error) {
	s := &site{name: "site-" + itoa(i)}
	sim, p, err := w.simulate(ctx, c, s.name)
	if err != nil {
		return nil, err
	}
	s.process = p
	if s.operator, err = newPVE(sim, c.operator()); err != nil {
		return nil, err
	}
	connection, err := sim.Connection()
	if err != nil {
		return nil, err
	}
	credentials := connection.Credentials
	if s.own, err = newPVE(sim, token{id: credentials.Username + "!" + credentials.TokenID, secret: credentials.TokenSecret}); err != nil {
		return nil, err
	}
	objs, err := connection.Objects()
	if err != nil {
		return nil, err
	}
	return s, w.Kube.ApplyAll(ctx, s.objects(objs, c.rate))
}

// addSites adds so many that are alike.
func (w *env) addSites(ctx context.Context, c cluster, n int) (sites []*site, err error) {
	for i := range n {
		s, err := w.addSite(ctx, c, i)
		if err != nil {
			return nil, err
		}
		sites = append(sites, s)
	}
	return sites, nil
}

// objects are the site's Secret and ClusterProviderConfig, made from those of a connection, under its own name, with a limit of requests.
func (s *site) objects(of []*unstructured.Unstructured, rate int) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range of {
		if o.GetKind() == "ClusterProviderConfig" {
			_ = unstructured.SetNestedField(o.Object, s.name, "spec", "credentials", "secretRef", "name")
		} else if o.GetKind() != "Secret" || o.GetNamespace() != provider.SystemNamespace {
			continue
		}
		limit(o, "requestsPerSecond", rate)
		o.SetName(s.name)
		out = append(out, o)
	}
	return out
}

// machinesOf are the Machines of all sites, each for a VM that is there.
func machinesOf(ctx context.Context, sites []*site, c cluster) (out []*unstructured.Unstructured, err error) {
	for _, s := range sites {
		machines, err := restored(ctx, c, s.operator)
		if err != nil {
			return nil, err
		}
		for _, m := range machines {
			m.SetName(s.name + "-" + m.GetName())
			_ = unstructured.SetNestedMap(m.Object, map[string]any{"kind": "ClusterProviderConfig", "name": s.name}, "spec", "providerConfigRef")
			out = append(out, m)
		}
	}
	return out, nil
}

// watchSites counts the calls of each connection, and what the provider uses, while time passes.
func (w *env) watchSites(ctx context.Context, sites []*site, d time.Duration) (calls []counts, before, after usage, err error) {
	if before, err = usageOf(w.provider.Pid()); err != nil {
		return nil, before, after, err
	}
	first, err := callsOf(ctx, sites)
	if err != nil {
		return nil, before, after, err
	}
	if err := w.wait(ctx, d); err != nil {
		return nil, before, after, err
	}
	calls, err = callsOf(ctx, sites)
	if err != nil {
		return nil, before, after, err
	}
	for i := range calls {
		calls[i] = calls[i].minus(first[i])
	}
	after, err = usageOf(w.provider.Pid())
	return calls, before, after, err
}

// callsOf counts the calls of each connection so far.
func callsOf(ctx context.Context, sites []*site) (all []counts, err error) {
	for _, s := range sites {
		calls, err := s.own.counted(ctx, s.own.token.id)
		if err != nil {
			return nil, err
		}
		all = append(all, calls)
	}
	return all, nil
}

func sumOf(all []counts) (n int) {
	for _, each := range all {
		n += each.total()
	}
	return n
}

// correct changes VMs of a site by hand, those from a number on or all again, and returns how long each correction took.
func (w *env) correct(ctx context.Context, s *site, c cluster, from int) ([]time.Duration, error) {
	j, err := s.own.requestLog(ctx, s.own.token.id)
	if err != nil {
		return nil, err
	}
	ch := change{name: "options", request: "PUT /config", params: url.Values{"cores": {"8"}}, answer: writes("/config")}
	var took []time.Duration
	for k := range changesPerState {
		i := &incident{change: ch, vmid: itoa(firstID + (from+k)%c.running())}
		if err := i.make(ctx, s.operator); err != nil {
			return nil, err
		}
		left := func() int {
			if j.follow(ctx) == nil {
				i.find(w, j.rows, map[int]bool{})
			}
			if i.noticed.IsZero() {
				return 1
			}
			return 0
		}
		if err := w.until(ctx, "correcting", left); err != nil {
			return nil, err
		}
		took = append(took, i.took())
	}
	return took, nil
}

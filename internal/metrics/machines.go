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

package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// collectTimeout limits how long reading from a cache that is not synced yet may take.
const collectTimeout = 2 * time.Second

// machines counts the Machines in the cache at each scrape.
type machines struct {
	sources

	desc *prometheus.Desc
}

// sources has sources of resources. More are added while the provider starts.
type sources struct {
	mu  sync.Mutex
	all []source
}

func (c *sources) add(s source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, s)
}

func (c *sources) list() []source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// A ListFunc lists resources from a cache. They must not be changed.
type ListFunc func(context.Context) ([]resource.Managed, error)

// A source lists resources of one kind.
type source struct {
	list  ListFunc
	ready <-chan struct{}
}

// A key has the labels of one count.
type key struct{ phase, node string }

func newMachines() *machines {
	return &machines{desc: prometheus.NewDesc(
		"proxmox_operator_machines_total",
		"Machines by phase and node. Paused, if a paused one is in phase Error.",
		[]string{"phase", "node"}, nil,
	)}
}

// Machines counts the Machines of a kind from now on. They are listed at every scrape after ready is closed: a replica that is not the leader counts
// nothing, so that sums over replicas are right.
func (m *Metrics) Machines(list ListFunc, ready <-chan struct{}) {
	s := source{list: list, ready: ready}
	m.copies.machines.add(s)
	m.machines.add(s)
}

// Describe sends the description of the metric.
func (c *machines) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect counts and sends the metric.
func (c *machines) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	count := map[key]int{}
	for _, s := range c.list() {
		s.count(ctx, count)
	}
	for k, n := range count {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), k.phase, k.node)
	}
}

// count counts the Machines of the source.
func (s source) count(ctx context.Context, into map[key]int) {
	for _, mg := range s.items(ctx) {
		if m, ok := mg.(machine); ok {
			into[keyOf(m)]++
		}
	}
}

// A machine is a Machine of either scope.
type machine interface {
	resource.Managed

	Observation() *v1alpha1.MachineObservation
}

// items returns the resources of the source. It returns none if they cannot be read now, since a scrape that fails as a whole would be worse.
func (s source) items(ctx context.Context) []resource.Managed {
	select {
	case <-s.ready:
	default:
		return nil
	}
	all, err := s.list(ctx)
	if err != nil {
		return nil
	}
	return all
}

func keyOf(m machine) key {
	k := key{phase: string(m.Observation().Phase), node: m.Observation().Node}
	switch {
	case k.phase == "":
		k.phase = string(v1alpha1.MachinePending)
	case k.phase == string(v1alpha1.MachineError) && Paused(m):
		k.phase = StatusPaused
	}
	return k
}

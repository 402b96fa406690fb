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
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// usages sums what Machines use when it is asked, from what is known of them. By node, since a series
// for each Machine would be too many.
type usages struct {
	cpu, memory *prometheus.Desc

	mu    sync.Mutex
	reads []func() []vmstate.Usage
}

func newUsages() *usages {
	return &usages{
		cpu: prometheus.NewDesc(
			"proxmox_operator_machines_cpu_used_cores",
			"Virtual CPUs that running Machines use, by node.",
			[]string{"node"}, nil,
		),
		memory: prometheus.NewDesc(
			"proxmox_operator_machines_memory_used_bytes",
			"Memory that running Machines use, by node.",
			[]string{"node"}, nil,
		),
	}
}

// Usages sums what the VMs of a kind of Machines use from now on. A replica that knows of none
// has no series.
func (m *Metrics) Usages(read func() []vmstate.Usage) {
	m.usages.mu.Lock()
	defer m.usages.mu.Unlock()
	m.usages.reads = append(m.usages.reads, read)
}

// Describe sends the descriptions of the metrics.
func (c *usages) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.cpu
	ch <- c.memory
}

// Collect sums and sends the metrics.
func (c *usages) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cpu, memory := map[string]float64{}, map[string]float64{}
	for _, read := range c.reads {
		for _, u := range read() {
			cpu[u.Node] += u.CPU * float64(u.CPUs)
			memory[u.Node] += float64(u.Memory)
		}
	}
	for node := range cpu {
		ch <- prometheus.MustNewConstMetric(c.cpu, prometheus.GaugeValue, cpu[node], node)
		ch <- prometheus.MustNewConstMetric(c.memory, prometheus.GaugeValue, memory[node], node)
	}
}

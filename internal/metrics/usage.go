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
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// usages sums the known usage of Machines by node at each scrape.
type usages struct {
	cpu, memory *prometheus.Desc

	mu    sync.Mutex
	reads []func() map[types.UID]vmstate.Usage
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

// Usages adds a function that returns the usage of the VMs of a kind of Machines, by the UIDs of the Machines. A replica that knows of none has no
// series.
func (m *Metrics) Usages(read func() map[types.UID]vmstate.Usage) {
	m.usages.mu.Lock()
	defer m.usages.mu.Unlock()
	m.usages.reads = append(m.usages.reads, read)
}

// all returns the usage of all VMs, by the UIDs of their Machines.
func (c *usages) all() map[types.UID]vmstate.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[types.UID]vmstate.Usage{}
	for _, read := range c.reads {
		maps.Copy(all, read())
	}
	return all
}

// Describe sends the descriptions of the metrics.
func (c *usages) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.cpu
	ch <- c.memory
}

// Collect sums and sends the metrics.
func (c *usages) Collect(ch chan<- prometheus.Metric) {
	cpu, memory := map[string]float64{}, map[string]float64{}
	for _, u := range c.all() {
		cpu[u.Node] += u.CPU * float64(u.CPUs)
		memory[u.Node] += float64(u.Memory)
	}
	for node := range cpu {
		ch <- prometheus.MustNewConstMetric(c.cpu, prometheus.GaugeValue, cpu[node], node)
		ch <- prometheus.MustNewConstMetric(c.memory, prometheus.GaugeValue, memory[node], node)
	}
}

// machineUsages reports the known usage of each Machine. It is created only on request, since four series for each Machine are many if there are
// thousands.
type machineUsages struct {
	usages   *usages
	machines *sources

	cpu, memory, read, written *prometheus.Desc
}

// WithMachineUsage adds the usage of each Machine to the sums by node.
func WithMachineUsage() Option {
	return func(m *Metrics) {
		labels := []string{"machine_namespace", "machine"}
		m.machineUsages = &machineUsages{
			usages: m.usages, machines: &m.machines.sources,
			cpu:    prometheus.NewDesc("proxmox_machine_cpu_used_cores", "Virtual CPUs that a running Machine uses.", labels, nil),
			memory: prometheus.NewDesc("proxmox_machine_memory_used_bytes", "Memory that a running Machine uses.", labels, nil),
			read: prometheus.NewDesc("proxmox_machine_disk_read_bytes_total",
				"Bytes that a running Machine has read from its disks since its VM was started.", labels, nil),
			written: prometheus.NewDesc("proxmox_machine_disk_written_bytes_total",
				"Bytes that a running Machine has written to its disks since its VM was started.", labels, nil),
		}
	}
}

// Describe sends the descriptions of the metrics.
func (c *machineUsages) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.cpu, c.memory, c.read, c.written} {
		ch <- d
	}
}

// Collect sends the metrics of the Machines that exist.
func (c *machineUsages) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	used := c.usages.all()
	for _, s := range c.machines.list() {
		for _, mg := range s.items(ctx) {
			if u, ok := used[mg.GetUID()]; ok {
				c.send(ch, u, mg.GetNamespace(), mg.GetName())
			}
		}
	}
}

// send sends the usage of one Machine.
func (c *machineUsages) send(ch chan<- prometheus.Metric, u vmstate.Usage, labels ...string) {
	ch <- prometheus.MustNewConstMetric(c.cpu, prometheus.GaugeValue, u.CPU*float64(u.CPUs), labels...)
	ch <- prometheus.MustNewConstMetric(c.memory, prometheus.GaugeValue, float64(u.Memory), labels...)
	ch <- prometheus.MustNewConstMetric(c.read, prometheus.CounterValue, float64(u.DiskRead), labels...)
	ch <- prometheus.MustNewConstMetric(c.written, prometheus.CounterValue, float64(u.DiskWritten), labels...)
}

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

// Package metrics has the provider's own Prometheus metrics, in addition to those of crossplane-runtime and controller-runtime.
package metrics

import (
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// noAnswer is the status label of requests to PVE that got no answer.
const noAnswer = "none"

// Metrics of the provider. They are safe for concurrent use.
type Metrics struct {
	machines *machines
	usages   *usages
	copies   *copies
	clusters clusters
	tenants  tenants
	duration *prometheus.HistogramVec
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	errors   *prometheus.CounterVec

	conditions *prometheus.GaugeVec

	machineUsages *machineUsages // nil unless enabled

	now func() time.Time
}

// An Option configures Metrics.
type Option func(*Metrics)

// withClock sets the function that returns the current time.
func withClock(now func() time.Time) Option {
	return func(m *Metrics) { m.now = now }
}

// New creates metrics. They also count without being registered.
func New(opts ...Option) *Metrics {
	m := &Metrics{
		machines: newMachines(),
		usages:   newUsages(),
		copies:   newCopies(),
		clusters: newClusters(),
		tenants:  newTenants(),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "proxmox_operator_reconciliation_duration_seconds",
			Help:    "How long reconciling a resource took, in seconds.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
		}, []string{"controller"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "proxmox_operator_api_requests_total",
			Help: "Requests to the Proxmox VE API by method, path template and HTTP status.",
		}, []string{"method", "endpoint", "status"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "proxmox_operator_api_request_duration_seconds",
			Help:    "How long the Proxmox VE API took to answer by method and path template, in seconds.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "endpoint"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "proxmox_operator_errors_total",
			Help: "Errors by their class and the controller that met them.",
		}, []string{"error_type", "controller"}),
		conditions: newConditions(),
		now:        time.Now,
	}
	for _, o := range opts {
		o(m)
	}
	return m
}

func (m *Metrics) collectors() []prometheus.Collector {
	all := append(m.clusters.collectors(), m.machines, m.usages, m.copies, m.duration, m.requests, m.latency, m.errors, m.conditions)
	all = append(all, m.tenants.collectors()...)
	if m.machineUsages != nil {
		all = append(all, m.machineUsages)
	}
	return all
}

// Register registers all metrics.
func (m *Metrics) Register(r prometheus.Registerer) error {
	for _, c := range m.collectors() {
		if err := r.Register(c); err != nil {
			return errors.Wrap(err, "cannot register metrics")
		}
	}
	return nil
}

// Request counts a request to PVE.
func (m *Metrics) Request(c proxmox.Call) {
	status := noAnswer
	if c.Status != 0 {
		status = strconv.Itoa(c.Status)
	}
	m.requests.WithLabelValues(c.Method, c.Path, status).Inc()
	m.latency.WithLabelValues(c.Method, c.Path).Observe(c.Duration.Seconds())
}

// Error counts an error of the given type that a controller encountered.
func (m *Metrics) Error(errorType, controller string) {
	m.errors.WithLabelValues(errorType, controller).Inc()
}

// Reconcile times a reconcile of the controller, from now until the returned
// function is called.
func (m *Metrics) Reconcile(controller string) func() {
	start := m.now()
	return func() {
		m.duration.WithLabelValues(controller).Observe(m.now().Sub(start).Seconds())
	}
}

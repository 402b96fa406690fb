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
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// tenants has the metrics of the quotas of tenants, by provider configuration, tenant and resource: vms, cores, memory and disks/STORAGE in bytes,
// snapshots, backups, publicAddresses/BRIDGE.
type tenants struct {
	used, limit, waiting *prometheus.GaugeVec
}

func newTenants() tenants {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"providerconfig", "tenant", "resource"})
	}
	return tenants{
		used:    gauge("proxmox_operator_tenant_quota_used", "What tenants with a quota use, by resource; memory and disks in bytes."),
		limit:   gauge("proxmox_operator_tenant_quota_limit", "Limits of the quotas of tenants, by resource; memory and disks in bytes."),
		waiting: gauge("proxmox_operator_tenant_quota_waiting", "Resources that wait for room in the quota of their tenant, by what is short."),
	}
}

func (t tenants) all() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{t.used, t.limit, t.waiting}
}

func (t tenants) collectors() []prometheus.Collector {
	return []prometheus.Collector{t.used, t.limit, t.waiting}
}

// Tenants replaces the tenants of a provider configuration and the usage of their quotas.
func (m *Metrics) Tenants(config string, of []v1alpha1.TenantObservation) {
	for _, gauge := range m.tenants.all() {
		gauge.DeletePartialMatch(prometheus.Labels{"providerconfig": config})
	}
	for _, t := range of {
		for _, u := range t.Usage {
			waiting := 0.0
			if u.Waiting != nil {
				waiting = float64(*u.Waiting)
			}
			m.tenants.used.WithLabelValues(config, t.Name, u.Resource).Set(float64(u.Used.Value()))
			m.tenants.limit.WithLabelValues(config, t.Name, u.Resource).Set(float64(u.Limit.Value()))
			m.tenants.waiting.WithLabelValues(config, t.Name, u.Resource).Set(waiting)
		}
	}
}

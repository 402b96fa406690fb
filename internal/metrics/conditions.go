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
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// A Condition is a condition of resources and its status.
type Condition struct{ Type, Status string }

// StatusPaused replaces the status of the conditions of paused resources that are not True, and the phase of a paused Machine in phase Error, so that
// no alert fires for resources that are paused on purpose.
const StatusPaused = "Paused"

// Paused reports whether a resource was paused when its status was written.
func Paused(mg resource.Managed) bool {
	return mg.GetCondition(xpv2.TypeSynced).Reason == xpv2.ReasonReconcilePaused
}

func newConditions() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "proxmox_operator_resources_conditions",
		Help: "Resources by the status of a condition: Ready, Synced or UpToDate. Paused, if a paused resource's is not True.",
	}, []string{"gvk", "condition", "status"})
}

// Conditions records how many resources of a kind have each condition in each status.
func (m *Metrics) Conditions(gvk string, counts map[Condition]int) {
	m.conditions.DeletePartialMatch(prometheus.Labels{"gvk": gvk})
	for c, n := range counts {
		m.conditions.WithLabelValues(gvk, c.Type, c.Status).Set(float64(n))
	}
}

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

package kind

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/metrics"
)

// conditionRecorder counts the resources of a kind by the status of their conditions.
type conditionRecorder struct {
	reader   client.Reader
	list     resource.ManagedList
	gvk      string
	interval time.Duration
	metrics  *metrics.Metrics
	states   *statemetrics.MRStateMetrics
	log      logging.Logger
}

// Start counts once per interval until the context ends.
func (r conditionRecorder) Start(ctx context.Context) error {
	tick := time.NewTicker(r.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.record(ctx)
		}
	}
}

func (r conditionRecorder) record(ctx context.Context) {
	all, err := ListCached(ctx, r.reader, r.list)
	if err != nil {
		r.log.Debug("Cannot count conditions", "gvk", r.gvk, "error", err)
		return
	}
	counts := map[metrics.Condition]int{}
	for _, mg := range all {
		for _, t := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced, TypeUpToDate} {
			counts[metrics.Condition{Type: string(t), Status: statusFor(mg, t)}]++
		}
	}
	r.metrics.Conditions(r.gvk, counts)
	if r.states == nil {
		return
	}
	r.states.Exists.WithLabelValues(r.gvk).Set(float64(len(all)))
	for t, gauge := range map[xpv2.ConditionType]*prometheus.GaugeVec{xpv2.TypeReady: r.states.Ready, xpv2.TypeSynced: r.states.Synced} {
		gauge.WithLabelValues(r.gvk).Set(float64(counts[metrics.Condition{Type: string(t), Status: string(corev1.ConditionTrue)}]))
	}
}

// statusFor returns the status as which a condition is counted. A condition of a paused resource that is not True is counted as paused, because the
// user has requested that and it is not a fault.
func statusFor(mg resource.Managed, t xpv2.ConditionType) string {
	status := mg.GetCondition(t).Status
	if status != corev1.ConditionTrue && metrics.Paused(mg) {
		return metrics.StatusPaused
	}
	return string(status)
}

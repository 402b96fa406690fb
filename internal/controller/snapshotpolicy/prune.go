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

package snapshotpolicy

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/retention"
)

// prune removes snapshots that are not to be kept, one at a time for each Machine. It skips a Machine that a task works on, or whose VM cannot be
// reached, because the number of its snapshots is then unknown. Which snapshots are kept depends only on the times of the runs, not on the clock.
func (p *plan) prune() {
	if ptr.Deref(p.spec.Suspend, false) {
		return
	}
	rules, of := rulesOf(p.spec.Retention), map[string][]*snapshot{}
	for _, s := range p.snapshots {
		if !s.retained && (s.state == taken || s.state == gone) {
			of[s.machine] = append(of[s.machine], s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		surplus := p.surplusOf(of[name], rules)
		if len(surplus) == 0 || p.apart[name] != "" {
			continue
		}
		p.surplus = append(p.surplus, surplus...)
		if p.busy[name] || slices.Contains(p.take, name) || p.free <= 0 || !p.removes {
			continue
		}
		p.free--
		p.remove = append(p.remove, surplus[0])
	}
}

// surplusOf returns the snapshots of a Machine that are not kept, and those that no longer exist.
func (p *plan) surplusOf(all []*snapshot, rules retention.Rules) []*snapshot {
	var times []time.Time
	for _, s := range all {
		if s.state == taken {
			times = append(times, s.run)
		}
	}
	old := rules.Remove(times, p.view.schedule.Zone())
	surplus := slices.DeleteFunc(slices.Clone(all), func(s *snapshot) bool {
		return s.state == taken && !slices.ContainsFunc(old, s.run.Equal)
	})
	slices.SortFunc(surplus, func(a, b *snapshot) int { return cmp.Or(a.run.Compare(b.run), cmp.Compare(a.name, b.name)) })
	return surplus
}

// rulesOf returns the rules of a retention. Without any, all snapshots are kept.
func rulesOf(r *v1alpha1.SnapshotRetention) retention.Rules {
	if r == nil {
		return retention.Rules{}
	}
	n := func(v *int32) int { return int(ptr.Deref(v, 0)) }
	return retention.Rules{Last: n(r.Last), Hourly: n(r.Hourly), Daily: n(r.Daily), Weekly: n(r.Weekly), Monthly: n(r.Monthly)}
}

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

// Package retention decides which snapshots of a series are kept, in the way that Proxmox VE decides about backups. It has no side effects.
package retention

import (
	"fmt"
	"slices"
	"time"
)

// Rules are how many snapshots are kept: the last ones, and the last one of a number of hours, days, weeks and months. Without rules, all are kept.
type Rules struct {
	Last, Hourly, Daily, Weekly, Monthly int
}

// A rule keeps the last snapshot of each of a number of periods.
type rule struct {
	keep int
	name func(time.Time) string
}

func (r Rules) rules() []rule {
	return []rule{
		{r.Last, func(t time.Time) string { return t.UTC().String() }},
		{r.Hourly, func(t time.Time) string { return t.Format("2006-01-02 15") }},
		{r.Daily, func(t time.Time) string { return t.Format(time.DateOnly) }},
		{r.Weekly, week},
		{r.Monthly, func(t time.Time) string { return t.Format("2006-01") }},
	}
}

// week returns the week of ISO 8601, which begins on Monday.
func week(t time.Time) string {
	year, week := t.ISOWeek()
	return fmt.Sprint(year, " ", week)
}

// Remove returns the times of the snapshots that are not kept, oldest first. Hours, days, weeks and months are those of a time zone.
func (r Rules) Remove(all []time.Time, zone *time.Location) []time.Time {
	if r == (Rules{}) {
		return nil
	}
	latest := make([]time.Time, 0, len(all))
	for _, t := range all {
		latest = append(latest, t.In(zone))
	}
	slices.SortFunc(latest, func(a, b time.Time) int { return b.Compare(a) })
	marks := marks{}
	for _, rule := range r.rules() {
		marks.apply(rule, latest)
	}
	removed := slices.DeleteFunc(latest, func(t time.Time) bool { return marks[t.Unix()] })
	slices.Reverse(removed)
	return removed
}

// marks has true for snapshots that are kept, and false for those that a kept one covers.
type marks map[int64]bool

// apply applies a rule to the snapshots that no earlier rule has marked. Periods with a snapshot that an earlier rule keeps do not count again.
func (m marks) apply(r rule, latest []time.Time) {
	before, now := map[string]bool{}, map[string]bool{}
	for _, t := range latest {
		if m[t.Unix()] {
			before[r.name(t)] = true
		}
	}
	for _, t := range latest {
		name := r.name(t)
		if _, marked := m[t.Unix()]; marked || before[name] {
			continue
		}
		if !now[name] && len(now) >= r.keep {
			return
		}
		m[t.Unix()] = !now[name]
		now[name] = true
	}
}

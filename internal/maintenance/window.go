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

// Package maintenance computes when the maintenance windows of specs are open.
package maintenance

import (
	"time"
	_ "time/tzdata" // Images without an operating system have no time zones.

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/robfig/cron/v3"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// State reports whether a maintenance window is open, and when it has opened or will open. Without a window it is always open.
func State(w *v1alpha1.MaintenanceWindow, now time.Time) (bool, time.Time) {
	if w == nil {
		return true, now
	}
	s, zone, err := scheduleOf(w)
	if err != nil {
		return false, now // The plan rejects it.
	}
	lasting := time.Duration(w.DurationMinutes) * time.Minute
	start := s.Next(now.In(zone).Add(-lasting))
	return !start.After(now), start
}

// Opened returns when the open maintenance window has opened, or the zero time without a window.
func Opened(w *v1alpha1.MaintenanceWindow, now time.Time) time.Time {
	if w == nil {
		return time.Time{}
	}
	_, start := State(w, now)
	return start
}

// Rejections returns an error for a schedule or a time zone that cannot be parsed.
func Rejections(w *v1alpha1.MaintenanceWindow) []string {
	if w == nil {
		return nil
	}
	if _, _, err := scheduleOf(w); err != nil {
		return []string{"maintenanceWindow: " + err.Error()}
	}
	return nil
}

// scheduleOf returns the schedule of a maintenance window and its time zone.
func scheduleOf(w *v1alpha1.MaintenanceWindow) (cron.Schedule, *time.Location, error) {
	name := ptr.Deref(w.TimeZone, "")
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // Local is the time zone of the provider's own machine.
		return nil, nil, errors.Errorf("unknown timeZone %q", name)
	}
	s, err := cron.ParseStandard(w.Schedule)
	if err != nil {
		return nil, nil, errors.Wrapf(err, "cannot read schedule %q", w.Schedule)
	}
	if s.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, nil, errors.Errorf("cannot use schedule %q: no date matches it", w.Schedule)
	}
	return s, zone, nil
}

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

package machine

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/robfig/cron/v3"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// window reports whether the maintenance window is open, and when it has opened or will.
func (d desired) window(now time.Time) (bool, time.Time) {
	if d.MaintenanceWindow == nil {
		return true, now
	}
	s, err := scheduleOf(d.MaintenanceWindow)
	if err != nil {
		return false, now // The plan refuses it.
	}
	lasting := time.Duration(d.MaintenanceWindow.DurationMinutes) * time.Minute
	start := s.Next(now.UTC().Add(-lasting))
	return !start.After(now), start
}

// windowRefusals are a schedule that cannot be read.
func windowRefusals(w *v1alpha1.MaintenanceWindow) []string {
	if w == nil {
		return nil
	}
	if _, err := scheduleOf(w); err != nil {
		return []string{"maintenanceWindow: " + err.Error()}
	}
	return nil
}

func scheduleOf(w *v1alpha1.MaintenanceWindow) (cron.Schedule, error) {
	s, err := cron.ParseStandard(w.Schedule)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read schedule %q", w.Schedule)
	}
	if s.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, errors.Errorf("cannot use schedule %q: no day is like that", w.Schedule)
	}
	return s, nil
}

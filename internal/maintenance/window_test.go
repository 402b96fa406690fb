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

package maintenance

import (
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestWindow(t *testing.T) {
	cases := map[string]struct {
		reason, schedule, zone, now string
		open                        bool
		start                       string
	}{
		"Before": {reason: "A window that has not opened is closed.", schedule: "0 2 * * 6", now: "2026-11-21T01:59:59Z", start: "2026-11-21T02:00:00Z"},
		"First": {
			reason:   "A window is open from its first second.",
			schedule: "0 2 * * 6", now: "2026-11-21T02:00:00Z", open: true, start: "2026-11-21T02:00:00Z",
		},
		"Last": {
			reason:   "A window is open until its last second.",
			schedule: "0 2 * * 6", now: "2026-11-21T03:59:59Z", open: true, start: "2026-11-21T02:00:00Z",
		},
		"Afterward": {reason: "A window ends when its time is over.", schedule: "0 2 * * 6", now: "2026-11-21T04:00:00Z", start: "2026-11-28T02:00:00Z"},
		"Summer": {
			reason: "A zone has summer time.", schedule: "0 2 * * 6", zone: "Europe/Oslo", now: "2026-07-18T00:00:00Z", open: true,
			start: "2026-07-18T02:00:00+02:00",
		},
		"Winter": {reason: "A zone has winter time.", schedule: "0 2 * * 6", zone: "Europe/Oslo", now: "2026-11-21T00:30:00Z", start: "2026-11-21T02:00:00+01:00"},
		"Skipped": {
			reason: "A time that the change of clocks leaves out opens no window.", schedule: "30 2 * * *", zone: "Europe/Oslo",
			now: "2026-03-29T01:00:00Z", start: "2026-03-30T02:30:00+02:00",
		},
		"Elsewhere": {
			reason: "Schedules are in UTC, wherever the provider runs.", schedule: "0 2 * * 6", now: "2026-11-21T03:30:00+01:00", open: true,
			start: "2026-11-21T02:00:00Z",
		},
		"EitherDay": {reason: "Two restricted days are alternatives.", schedule: "0 0 1 * 1", now: "2026-11-21T08:00:00Z", start: "2026-11-23T00:00:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, tc.now)
			if err != nil {
				t.Fatal(err)
			}
			w := &v1alpha1.MaintenanceWindow{Schedule: tc.schedule, DurationMinutes: 120}
			if tc.zone != "" {
				w.TimeZone = &tc.zone
			}
			open, start := State(w, now)
			if open != tc.open || start.Format(time.RFC3339) != tc.start {
				t.Errorf("\n%s\nwant %t and %s, got %t and %s", tc.reason, tc.open, tc.start, open, start.Format(time.RFC3339))
			}
		})
	}
}

func TestWindowRefusals(t *testing.T) {
	for schedule, refused := range map[string]bool{"0 2 * * 6": false, "*/5 1-3 1,15 * *": false, "0 2 30 2 *": true, "60 2 * * *": true, "0 2 * * 7": true} {
		if got := Rejections(&v1alpha1.MaintenanceWindow{Schedule: schedule, DurationMinutes: 1}); (len(got) > 0) != refused {
			t.Errorf("%q: got %q", schedule, got)
		}
	}
}

func TestWindowZones(t *testing.T) {
	for zone, refused := range map[string]bool{
		"UTC": false, "Europe/Oslo": false, "America/Argentina/Buenos_Aires": false, "Europe/Olso": true, "Local": true, "+02:00": true,
	} {
		w := &v1alpha1.MaintenanceWindow{Schedule: "0 2 * * *", DurationMinutes: 1, TimeZone: &zone}
		if got := Rejections(w); (len(got) > 0) != refused {
			t.Errorf("%q: got %q", zone, got)
		}
	}
}

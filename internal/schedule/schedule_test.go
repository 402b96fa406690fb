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

package schedule

import (
	"testing"
	"time"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNext(t *testing.T) {
	cases := map[string]struct {
		reason, schedule, now, want string
	}{
		"Minute":      {reason: "The next minute is the earliest.", schedule: "* * * * *", now: "2026-11-21 08:00", want: "2026-11-21 08:01"},
		"Tomorrow":    {reason: "What has passed today comes tomorrow.", schedule: "30 2 * * *", now: "2026-11-21 02:30", want: "2026-11-22 02:30"},
		"Weekday":     {reason: "Days of the week count from Sunday.", schedule: "0 2 * * 6", now: "2026-11-21 08:00", want: "2026-11-28 02:00"},
		"Sunday":      {reason: "Sunday is 7 too.", schedule: "0 2 * * 7", now: "2026-11-21 08:00", want: "2026-11-22 02:00"},
		"Weekend":     {reason: "A range may end on the second Sunday.", schedule: "0 2 * * 6-7", now: "2026-11-21 08:00", want: "2026-11-22 02:00"},
		"EitherDay":   {reason: "Two restricted days are alternatives.", schedule: "0 0 1 * 1", now: "2026-11-21 08:00", want: "2026-11-23 00:00"},
		"Steps":       {reason: "Steps start at the lowest value.", schedule: "*/20 4-8/2 * * *", now: "2026-11-21 06:41", want: "2026-11-21 08:00"},
		"SteppedDays": {reason: "A stepped star does not make days alternatives.", schedule: "0 0 */2 * 1", now: "2026-11-21 08:00", want: "2026-11-23 00:00"},
		"List":        {reason: "Lists have ranges and numbers.", schedule: "5,10-12 0 1 1,3 *", now: "2026-11-21 08:00", want: "2027-01-01 00:05"},
		"LeapDay":     {reason: "A day that is rare is found.", schedule: "0 0 29 2 *", now: "2096-03-01 00:00", want: "2104-02-29 00:00"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(tc.schedule)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := s.Next(at(t, tc.now)); !ok || !got.Equal(at(t, tc.want)) {
				t.Errorf("\n%s\nwant %s, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	cases := map[string]struct {
		reason, now string
		open        bool
		next        string
	}{
		"Before":    {reason: "A window that has not opened is closed.", now: "2026-11-21 01:59", next: "2026-11-21 02:00"},
		"First":     {reason: "It is open from its first minute.", now: "2026-11-21 02:00", open: true, next: "2026-11-21 02:00"},
		"Last":      {reason: "It is open until its last minute.", now: "2026-11-21 03:59", open: true, next: "2026-11-21 02:00"},
		"Afterward": {reason: "It ends when its time is over.", now: "2026-11-21 04:00", next: "2026-11-28 02:00"},
	}
	s, err := Parse("0 2 * * 6")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			open, next := s.Open(at(t, tc.now), 2*time.Hour)
			if open != tc.open || !next.Equal(at(t, tc.next)) {
				t.Errorf("\n%s\nwant %t and %s, got %t and %v", tc.reason, tc.open, tc.next, open, next)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for reason, schedule := range map[string]string{
		"There are five fields.":           "0 2 * *",
		"A minute ends at 59.":             "60 2 * * *",
		"A month starts at 1.":             "0 2 * 0 *",
		"A range goes up.":                 "0 5-2 * * *",
		"A step has a size.":               "*/0 * * * *",
		"A number has no steps.":           "1/5 * * * *",
		"Something must be there.":         ", * * * *",
		"No month of those has a 31st.":    "0 0 31 2,4 *",
		"Two dashes are no range.":         "1-2-3 * * * *",
		"A step of nothing is not a step.": "*/ * * * *",
	} {
		if _, err := Parse(schedule); err == nil {
			t.Errorf("%s %q must be refused", reason, schedule)
		}
	}
}

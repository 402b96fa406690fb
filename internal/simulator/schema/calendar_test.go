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

package schema

import (
	"testing"
	"time"
)

func TestCalendar(t *testing.T) {
	now := time.Date(2026, time.November, 21, 6, 55, 30, 0, time.UTC) // A Saturday.
	cases := map[string]struct {
		reason, event, want string
	}{
		"Daily":     {reason: "The word daily means midnight.", event: "daily", want: "2026-11-22T00:00:00Z"},
		"Weekly":    {reason: "Weekly is the night to Monday.", event: "weekly", want: "2026-11-23T00:00:00Z"},
		"Monthly":   {reason: "Monthly is the first of the month.", event: "monthly", want: "2026-12-01T00:00:00Z"},
		"Time":      {reason: "A time is that of the day.", event: "02:30", want: "2026-11-22T02:30:00Z"},
		"Weekdays":  {reason: "A range of weekdays leaves others out.", event: "mon..fri 21:00", want: "2026-11-23T21:00:00Z"},
		"Around":    {reason: "A range may go around the week.", event: "sat..mon 21:00", want: "2026-11-21T21:00:00Z"},
		"Step":      {reason: "A step repeats within the hour.", event: "*/15", want: "2026-11-21T07:00:00Z"},
		"Beyond":    {reason: "An hour has 60 minutes, in which nothing repeats after 61.", event: "*/61"},
		"Every":     {reason: "A star is each minute.", event: "*", want: "2026-11-21T06:56:00Z"},
		"Steps":     {reason: "Steps begin at a number.", event: "1/12:0/15", want: "2026-11-21T13:00:00Z"},
		"Spans":     {reason: "Hours may be a range.", event: "20..22:*/30", want: "2026-11-21T20:00:00Z"},
		"Hours":     {reason: "Each minute of some hours.", event: "*/2:*", want: "2026-11-21T06:56:00Z"},
		"Unused":    {reason: "Nothing may stand behind the time.", event: "mon 0 0"},
		"SpanSteps": {reason: "A range may go in steps.", event: "6..21/5:00", want: "2026-11-21T11:00:00Z"},
		"Wrong":     {reason: "A range ends in its bounds.", event: "0..80"},
		"List":      {reason: "A list holds several times.", event: "sat 5,12:00", want: "2026-11-21T12:00:00Z"},
		"Upper":     {reason: "Weekdays may be in any letters.", event: "Mon 02:00", want: "2026-11-23T02:00:00Z"},
		"Full":      {reason: "Weekdays may be written in full.", event: "monday", want: "2026-11-23T00:00:00Z"},
		"Half":      {reason: "Weekdays are not written in part.", event: "mond 02:00"},
		"Date":      {reason: "A date is that of one year.", event: "2027-02-03 04:05", want: "2027-02-03T04:05:00Z"},
		"Day":       {reason: "A date without a time is its midnight.", event: "12-24", want: "2026-12-24T00:00:00Z"},
		"Days":      {reason: "The parts of a date may be lists.", event: "*-*-1,15 12:00", want: "2026-12-01T12:00:00Z"},
		"Leap":      {reason: "A leap day comes after years.", event: "2-29", want: "2028-02-29T00:00:00Z"},
		"Seconds":   {reason: "A time may have seconds.", event: "07:00:30", want: "2026-11-21T07:00:30Z"},
		"Quarter":   {reason: "Quarterly is the first day of each quarter.", event: "quarterly", want: "2027-01-01T00:00:00Z"},
		"Half year": {reason: "Semiannually is that of each half.", event: "semiannually", want: "2027-01-01T00:00:00Z"},
		"Zone":      {reason: "A time may be that of UTC.", event: "06:56 UTC", want: "2026-11-21T06:56:00Z"},
		"Past":      {reason: "What is over never comes again.", event: "2020-1-1"},
		"Month":     {reason: "A year has 12 months.", event: "13-1"},
		"Word":      {reason: "Other words are no events.", event: "bogus!"},
		"Hour":      {reason: "A day has 24 hours.", event: "24:00"},
		"Empty":     {reason: "Nothing is no event."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if c, ok := ParseCalendar(tc.event); ok {
				if next, ok := c.Next(now); ok {
					got = next.Format(time.RFC3339)
				}
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

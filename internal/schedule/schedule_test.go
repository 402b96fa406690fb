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

	"github.com/google/go-cmp/cmp"
)

const oslo = "Europe/Oslo"

func at(t *testing.T, text string) time.Time {
	t.Helper()
	x, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func parsed(t *testing.T, fields, zone string) Schedule {
	t.Helper()
	s, err := Parse(fields, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNext(t *testing.T) {
	cases := map[string]struct {
		reason       string
		fields, zone string
		after        string
		want         []string
	}{
		"UTC": {
			reason: "No zone is UTC.", fields: "0 3 * * *", after: "2026-03-01T03:00:00Z",
			want: []string{"2026-03-02T03:00:00Z", "2026-03-03T03:00:00Z"},
		},
		"LeftOut": {
			reason: "What the clock leaves out comes when it changes, once.", fields: "30 2 * * *", zone: oslo, after: "2026-03-28T12:00:00Z",
			want: []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"},
		},
		"LeftOutBesides": {
			reason: "What the clock leaves out is one run with what comes at that moment anyway.", fields: "0,30 2,3 * * *", zone: oslo, after: "2026-03-28T12:00:00Z",
			want: []string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:00:00+02:00"},
		},
		"Twice": {
			reason: "What the clock shows twice comes once, the first time.", fields: "30 2 * * *", zone: oslo, after: "2026-10-24T12:00:00Z",
			want: []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		},
		"AfterFirst": {
			reason: "Who asks between the two gets the next day.", fields: "30 2 * * *", zone: oslo, after: "2026-10-25T01:10:00Z",
			want: []string{"2026-10-26T02:30:00+01:00"},
		},
		"EveryHour": {
			reason: "Every hour is each hour that passes.", fields: "30 * * * *", zone: oslo, after: "2026-10-25T02:00:00+02:00",
			want: []string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"},
		},
		"EveryHourLeftOut": {
			reason: "None is there that the clock leaves out.", fields: "30 * * * *", zone: oslo, after: "2026-03-29T01:00:00+01:00",
			want: []string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"},
		},
		"HalfAnHour": {
			reason: "Lord Howe Island changes clocks by half an hour.", fields: "15 2 * * *", zone: "Australia/Lord_Howe", after: "2026-10-03T02:00:00Z",
			want: []string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"},
		},
		"Midnight": {
			reason: "Some change clocks at midnight.", fields: "0 0 * * *", zone: "America/Santiago", after: "2026-09-05T12:00:00-04:00",
			want: []string{"2026-09-06T01:00:00-03:00", "2026-09-07T00:00:00-03:00"},
		},
		"Year": {
			reason: "Whole periods are passed over.", fields: "0 0 29 2 *", zone: oslo, after: "2024-03-01T00:00:00Z",
			want: []string{"2028-02-29T00:00:00+01:00"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, now := parsed(t, tc.fields, tc.zone), at(t, tc.after)
			var got []string
			for range tc.want {
				now = s.Next(now)
				got = append(got, now.Format(time.RFC3339))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParse(t *testing.T) {
	cases := map[string]struct{ reason, fields, zone string }{
		"Zone":    {"Europe/Nowhere is no zone.", "0 0 * * *", "Europe/Nowhere"},
		"Local":   {"The provider's machine has no say.", "0 0 * * *", "Local"},
		"Fields":  {"A schedule has five fields.", "0 0 * *", ""},
		"Range":   {"No minute is 61.", "61 0 * * *", ""},
		"Reverse": {"A range goes from low to high.", "0 5-3 * * *", ""},
		"Never":   {"No February has 30 days.", "0 0 30 2 *", ""},
		"Every":   {"@every begins when the provider does.", "@every 1h", ""},
		"InIt":    {"The zone has a field.", "TZ=Europe/Oslo 0 0 * * *", ""},
	}
	for name, tc := range cases {
		if _, err := Parse(tc.fields, tc.zone); err == nil {
			t.Errorf("%s: %s", name, tc.reason)
		}
	}
}

func TestBetween(t *testing.T) {
	cases := map[string]struct {
		reason, fields, after, until, last string
		count                              int
	}{
		"None":    {"The next run is yet to come.", "0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02T02:59:59Z", "", 0},
		"One":     {"A run that is due now counts.", "0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z", "2026-01-02T03:00:00Z", 1},
		"Some":    {"All runs since the last are counted.", "0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-11T12:00:00Z", "2026-01-11T03:00:00Z", 10},
		"Many":    {"Not all are counted.", "* * * * *", "2016-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:00:00Z", Most + 1},
		"Crowded": {"The runs are far back and many.", "* * * 1 *", "2020-01-01T00:00:00Z", "2026-12-01T00:00:00Z", "2026-01-31T23:59:00Z", Most + 1},
		"Back":    {"The clock was set back.", "0 3 * * *", "2026-01-01T03:00:00Z", "2025-01-01T03:00:00Z", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			last, count := parsed(t, tc.fields, "").Between(at(t, tc.after), at(t, tc.until))
			want := time.Time{}
			if tc.last != "" {
				want = at(t, tc.last)
			}
			if !last.Equal(want) || count != tc.count {
				t.Errorf("%s want %s, %d, got %s, %d", tc.reason, want, tc.count, last, count)
			}
		})
	}
}

// TestDaily checks that in each zone, the runs of a year are in ascending order, and a daily run occurs once on each day.
func TestDaily(t *testing.T) {
	for _, zone := range []string{"", oslo, "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kathmandu"} {
		for _, hour := range []string{"0", "1", "2", "3", "23"} {
			s := parsed(t, "30 "+hour+" * * *", zone)
			days, now := map[string]int{}, time.Date(2026, 1, 1, 0, 0, 0, 0, s.Zone())
			for next := s.Next(now); next.Year() == 2026; next = s.Next(next) {
				if !next.After(now) {
					t.Fatalf("%s %s: %s comes after %s", zone, hour, next, now)
				}
				now = next
				days[next.Format(time.DateOnly)]++
			}
			if len(days) != 365 {
				t.Errorf("%s %s: want a run on 365 days, got %d", zone, hour, len(days))
			}
			for day, n := range days {
				if n != 1 {
					t.Errorf("%s %s: want one run on %s, got %d", zone, hour, day, n)
				}
			}
		}
	}
}

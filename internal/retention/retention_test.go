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

package retention

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRemove(t *testing.T) {
	all := []string{
		"2026-01-31T23:30:00Z", "2026-02-01T00:30:00Z", "2026-02-01T03:00:00Z", "2026-02-02T03:00:00Z", "2026-02-02T03:30:00Z",
		"2026-02-08T03:00:00Z", "2026-02-09T03:00:00Z", "2026-03-01T03:00:00Z",
	}
	cases := map[string]struct {
		reason string
		rules  Rules
		zone   string
		want   []string // expected to be kept
	}{
		"All":    {reason: "Without rules all are kept.", want: all},
		"Last":   {reason: "The newest are kept.", rules: Rules{Last: 2}, want: all[6:]},
		"More":   {reason: "There are not so many.", rules: Rules{Last: 20}, want: all},
		"Hourly": {reason: "The last of each hour is kept.", rules: Rules{Hourly: 4}, want: []string{all[4], all[5], all[6], all[7]}},
		"Daily":  {reason: "The last of each day is kept.", rules: Rules{Daily: 5}, want: []string{all[2], all[4], all[5], all[6], all[7]}},
		"Weekly": {
			reason: "Weeks begin on Monday: February 2 and 9 did.", rules: Rules{Weekly: 3}, want: []string{all[5], all[6], all[7]},
		},
		"Monthly":  {reason: "The last of each month is kept.", rules: Rules{Monthly: 9}, want: []string{all[0], all[6], all[7]}},
		"TimeZone": {reason: "January was over in Oslo.", rules: Rules{Monthly: 9}, zone: "Europe/Oslo", want: []string{all[6], all[7]}},
		"Together": {
			reason: "What one rule keeps, the next does not count.", rules: Rules{Last: 1, Daily: 1, Monthly: 1},
			want: []string{all[0], all[6], all[7]},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			zone, err := time.LoadLocation(tc.zone)
			if err != nil {
				t.Fatal(err)
			}
			var times []time.Time
			kept := map[string]bool{}
			for _, text := range all {
				x, err := time.Parse(time.RFC3339, text)
				if err != nil {
					t.Fatal(err)
				}
				times, kept[text] = append(times, x), true
			}
			for _, x := range tc.rules.Remove(times, zone) {
				delete(kept, x.UTC().Format(time.RFC3339))
			}
			want := map[string]bool{}
			for _, text := range tc.want {
				want[text] = true
			}
			if diff := cmp.Diff(want, kept); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAgain checks that removing again removes nothing more: what is kept does not depend on what was removed.
func TestAgain(t *testing.T) {
	rules := Rules{Last: 3, Hourly: 5, Daily: 4, Weekly: 3, Monthly: 2}
	var kept []time.Time
	for now := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC); now.Year() == 2026; now = now.Add(7 * time.Hour / 3) {
		kept = append(kept, now)
		gone := map[time.Time]bool{}
		for _, x := range rules.Remove(kept, time.UTC) {
			gone[x] = true
		}
		var left []time.Time
		for _, x := range kept {
			if !gone[x] {
				left = append(left, x)
			}
		}
		kept = left
		if more := rules.Remove(kept, time.UTC); len(more) > 0 {
			t.Fatalf("at %s: %v goes in a second turn", now, more)
		}
	}
	if most := 3 + 5 + 4 + 3 + 2; len(kept) != most {
		t.Errorf("want %d after a year, got %d", most, len(kept))
	}
}

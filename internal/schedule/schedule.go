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

// Package schedule reads cron expressions.
package schedule

import (
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Schedule is a set of minutes in UTC.
type Schedule struct {
	minutes, hours, days, months, weekdays field
}

// A field is the set of values that match, as bits, and whether all do.
type field struct {
	bits uint64
	any  bool
}

func (f field) has(n int) bool { return f.bits&(1<<n) != 0 }

// Parse reads a cron expression: minute, hour, day of the month, month and day
// of the week, separated by single spaces. Each is *, a number, a range, or a
// list of these, all but numbers with an optional step. If both days are
// restricted, either will do, as in cron. It is an error if no day matches ever.
func Parse(expression string) (Schedule, error) {
	parts := strings.Split(expression, " ")
	if len(parts) != 5 {
		return Schedule{}, errors.Errorf("cannot read schedule %q: it has %d fields, not five", expression, len(parts))
	}
	var s Schedule
	for i, f := range []struct {
		to       *field
		name     string
		min, max int
	}{
		{&s.minutes, "minute", 0, 59},
		{&s.hours, "hour", 0, 23},
		{&s.days, "day of the month", 1, 31},
		{&s.months, "month", 1, 12},
		{&s.weekdays, "day of the week", 0, 7},
	} {
		var err error
		if *f.to, err = parseField(parts[i], f.min, f.max); err != nil {
			return Schedule{}, errors.Wrapf(err, "cannot read schedule %q: %s", expression, f.name)
		}
	}
	if s.weekdays.has(7) {
		s.weekdays.bits |= 1 // Sunday has two numbers.
	}
	if _, ok := s.Next(time.Unix(0, 0)); !ok {
		return Schedule{}, errors.Errorf("cannot use schedule %q: no day is like that", expression)
	}
	return s, nil
}

func parseField(s string, lowest, highest int) (field, error) {
	f := field{any: strings.HasPrefix(s, "*")}
	for part := range strings.SplitSeq(s, ",") {
		span, step, stepped := strings.Cut(part, "/")
		from, to, err := parseSpan(span, lowest, highest)
		if err != nil {
			return f, err
		}
		by := 1
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 || from == to {
				return f, errors.Errorf("%q has no range to step through, or no step of 1 or more", part)
			}
		}
		for n := from; n <= to; n += by {
			f.bits |= 1 << n
		}
	}
	return f, nil
}

func parseSpan(s string, lowest, highest int) (from, to int, err error) {
	if s == "*" {
		return lowest, highest, nil
	}
	first, last, ranged := strings.Cut(s, "-")
	if !ranged {
		last = first
	}
	from, errFrom := strconv.Atoi(first)
	to, errTo := strconv.Atoi(last)
	if errFrom != nil || errTo != nil || from < lowest || to > highest || from > to {
		return 0, 0, errors.Errorf("%q is not within %d to %d", s, lowest, highest)
	}
	return from, to, nil
}

func (s Schedule) day(t time.Time) bool {
	month, week := s.days.has(t.Day()), s.weekdays.has(int(t.Weekday()))
	if s.days.any || s.weekdays.any {
		return month && week
	}
	return month || week
}

// horizon is longer than any schedule pauses: from one 29 February to the next
// may take eight years.
const horizon = 9 * 366

// Next is the first start after t.
func (s Schedule) Next(t time.Time) (time.Time, bool) {
	t = t.UTC().Truncate(time.Minute).Add(time.Minute)
	for range horizon {
		midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
		if s.months.has(int(t.Month())) && s.day(t) {
			for tomorrow := midnight.AddDate(0, 0, 1); t.Before(tomorrow); t = t.Add(time.Minute) {
				if s.hours.has(t.Hour()) && s.minutes.has(t.Minute()) {
					return t, true
				}
			}
		}
		t = midnight.AddDate(0, 0, 1)
	}
	return time.Time{}, false
}

// Open says whether t is within a window that starts with the schedule and lasts
// a while; if not, when the next one opens.
func (s Schedule) Open(t time.Time, lasting time.Duration) (open bool, next time.Time) {
	next, _ = s.Next(t.Add(-lasting))
	return !next.After(t), next
}

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
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Calendar is a calendar event such as "mon..fri 02:30", which defines days and times. The grammar is that of proxmox-time. Sets that are nil contain
// everything.
type Calendar struct {
	weekdays, years, months, days map[int]bool
	hours, minutes, seconds       map[int]bool
	utc                           bool
}

// calendarWords returns the named events.
func calendarWords() map[string]string {
	return map[string]string{
		"minutely": "*:*", "hourly": "*:00", "daily": "00:00", "weekly": "mon 00:00", "monthly": "*-*-1 00:00", "yearly": "*-1-1 00:00",
		"annually": "*-1-1 00:00", "quarterly": "*-1,4,7,10-1 00:00", "semiannually": "*-1,7-1 00:00", "semi-annually": "*-1,7-1 00:00",
	}
}

// ParseCalendar parses a calendar event and reports whether it is valid.
func ParseCalendar(event string) (*Calendar, bool) {
	if long, ok := calendarWords()[event]; ok {
		event = long
	}
	c := &Calendar{}
	event, c.utc = strings.CutSuffix(event, "UTC")
	fields := strings.Fields(event)
	if len(fields) == 0 {
		return nil, false
	}
	ok, day := true, false
	if first := fields[0]; strings.Trim(strings.ToLower(first), "abcdefghijklmnopqrstuvwxyz,.") == "" {
		c.weekdays, ok = parseWeekdays(strings.ToLower(first))
		fields, day = fields[1:], true
	}
	if ok && len(fields) > 0 && strings.Contains(fields[0], "-") {
		ok = c.parseDate(fields[0])
		fields, day = fields[1:], true
	}
	if day && len(fields) == 0 {
		fields = []string{"00:00"}
	}
	return c, ok && len(fields) == 1 && c.parseTime(fields[0])
}

// parseWeekdays reads a list of weekdays and ranges of them.
func parseWeekdays(text string) (map[int]bool, bool) {
	names := []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
	day := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return name == n || name == n[:3] })
	}
	out := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "..")
		if !isRange {
			to = from
		}
		a, b := day(from), day(to)
		if a < 0 || b < 0 {
			return nil, false
		}
		for i := a; ; i = (i + 1) % len(names) {
			out[i] = true
			if i == b {
				break
			}
		}
	}
	return out, true
}

// The bounds of the parts of a date.
const (
	firstYear, lastYear = 1970, 9999
	lastMonth, lastDay  = 12, 31
)

// parseDate parses "YEAR-MONTH-DAY" or "MONTH-DAY". Each part may be a list, a range or "*".
func (c *Calendar) parseDate(text string) bool {
	parts := strings.Split(text, "-")
	var ok bool
	switch len(parts) {
	case 3:
		if c.years, ok = parseNumbers(parts[0], firstYear, lastYear); !ok {
			return false
		}
		parts = parts[1:]
	case 2:
	default:
		return false
	}
	var fine bool
	c.months, ok = parseNumbers(parts[0], 1, lastMonth)
	c.days, fine = parseNumbers(parts[1], 1, lastDay)
	return ok && fine
}

// parseTime reads "HOUR:MINUTE:SECOND", "HOUR:MINUTE" or the minutes of every hour.
func (c *Calendar) parseTime(text string) bool {
	parts := strings.Split(text, ":")
	switch len(parts) {
	case 1:
		parts = []string{"*", parts[0], "0"}
	case 2:
		parts = append(parts, "0")
	case 3:
	default:
		return false
	}
	ok := [3]bool{}
	c.hours, ok[0] = parseNumbers(parts[0], 0, 23)
	c.minutes, ok[1] = parseNumbers(parts[1], 0, 59)
	c.seconds, ok[2] = parseNumbers(parts[2], 0, 59)
	return ok == [3]bool{true, true, true}
}

// parseNumbers parses a list of numbers, ranges and repetitions between two bounds. "*" is nil, which stands for all.
func parseNumbers(text string, low, high int) (map[int]bool, bool) {
	if text == "*" {
		return nil, true
	}
	out := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		bounds, step, stepped := strings.Cut(part, "/")
		every := 1
		if stepped {
			n, err := strconv.Atoi(step)
			if err != nil || n < 1 || n > high {
				return nil, false
			}
			every = n
		}
		from, to, ok := parseBounds(bounds, low, high, stepped)
		if !ok {
			return nil, false
		}
		for i := from; i <= to; i += every {
			out[i] = true
		}
	}
	return out, true
}

func parseBounds(text string, low, high int, stepped bool) (from, to int, ok bool) {
	if text == "*" {
		return low, high, true
	}
	first, last, isRange := strings.Cut(text, "..")
	from, err := strconv.Atoi(first)
	if err != nil || from < low || from > high {
		return 0, 0, false
	}
	switch {
	case isRange:
		to, err = strconv.Atoi(last)
		return from, to, err == nil && to >= from && to <= high
	case stepped:
		return from, high, true
	}
	return from, from, true
}

// horizon is how many years ahead an event is searched. Leap days are the rarest recurring events.
const horizon = 9

// Next returns the next time of the event after a time, and whether there is one.
func (c *Calendar) Next(after time.Time) (time.Time, bool) {
	if c.utc {
		after = after.UTC()
	}
	t := after.Truncate(time.Second).Add(time.Second)
	for end := after.AddDate(horizon, 0, 0); t.Before(end); {
		y, m, d := t.Date()
		switch {
		case !c.onDay(t):
			t = time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
		case !in(c.hours, t.Hour()):
			t = time.Date(y, m, d, t.Hour()+1, 0, 0, 0, t.Location())
		case !in(c.minutes, t.Minute()):
			t = t.Truncate(time.Minute).Add(time.Minute)
		case !in(c.seconds, t.Second()):
			t = t.Add(time.Second)
		default:
			return t, true
		}
	}
	return time.Time{}, false
}

func (c *Calendar) onDay(t time.Time) bool {
	return in(c.weekdays, int(t.Weekday())) && in(c.years, t.Year()) && in(c.months, int(t.Month())) && in(c.days, t.Day())
}

// in reports whether a set contains a number. nil contains all.
func in(set map[int]bool, n int) bool { return set == nil || set[n] }

// calendarEvent returns what is wrong with a calendar event, or nothing for a valid one.
func calendarEvent(v string) string {
	if _, ok := ParseCalendar(v); ok {
		return ""
	}
	return fmt.Sprintf("invalid calendar event '%s' - unable to parse calendar event at '%s'\n", v, v)
}

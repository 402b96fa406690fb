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

// Calendar is a calendar event of PVE's jobs: weekdays and times of the day.
type Calendar struct {
	weekdays       map[time.Weekday]bool
	hours, minutes map[int]bool
	// day is the day of the month, month that of the year; 0 stands for any.
	day   int
	month time.Month
}

// ParseCalendar reads an event such as "daily", "02:30", "mon..fri 21:00", "*/15" or "sat 0,12:00". Dates are not read.
func ParseCalendar(event string) (*Calendar, bool) {
	words := map[string]string{
		"minutely": "*:*", "hourly": "*:00", "daily": "00:00", "weekly": "mon 00:00", "monthly": "1", "yearly": "1-1", "annually": "1-1",
	}
	if short, ok := words[event]; ok {
		event = short
	}
	c := &Calendar{}
	switch event {
	case "1-1":
		c.month, c.day, event = time.January, 1, "00:00"
	case "1":
		c.day, event = 1, "00:00"
	}
	fields := strings.Fields(event)
	if len(fields) == 0 || len(fields) > 2 {
		return nil, false
	}
	ok := true
	if first := fields[0]; strings.Trim(first, "abcdefghijklmnopqrstuvwxyz,.") == "" {
		c.weekdays, ok = parseWeekdays(first)
		fields = fields[1:]
	}
	if !ok || len(fields) == 0 {
		fields = append(fields, "00:00")
	}
	return c, ok && len(fields) == 1 && c.parseTime(fields[0])
}

func parseWeekdays(text string) (map[time.Weekday]bool, bool) {
	names := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	day := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(name, n) && len(name) <= 9 })
	}
	out := map[time.Weekday]bool{}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "..")
		if !isRange {
			to = from
		}
		a, b := day(from), day(to)
		if a < 0 || b < 0 {
			return nil, false
		}
		for i := a; ; i = (i + 1) % 7 {
			out[time.Weekday(i)] = true
			if i == b {
				break
			}
		}
	}
	return out, true
}

// parseTime reads "HOURS:MINUTES" or "MINUTES", each a list of numbers, ranges and steps.
func (c *Calendar) parseTime(text string) bool {
	hours, minutes, both := strings.Cut(text, ":")
	if !both {
		hours, minutes = "*", text
	}
	var ok, fine bool
	c.hours, ok = parseNumbers(hours, 24)
	c.minutes, fine = parseNumbers(minutes, 60)
	return ok && fine
}

func parseNumbers(text string, limit int) (map[int]bool, bool) {
	out := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		bounds, step, stepped := strings.Cut(part, "/")
		every := 1
		if stepped {
			n, err := strconv.Atoi(step)
			if err != nil || n < 1 {
				return nil, false
			}
			every = n
		}
		from, to, ok := parseBounds(bounds, limit, stepped)
		if !ok {
			return nil, false
		}
		for i := from; i <= to; i += every {
			out[i] = true
		}
	}
	return out, true
}

func parseBounds(text string, limit int, stepped bool) (from, to int, ok bool) {
	if text == "*" {
		return 0, limit - 1, true
	}
	first, last, isRange := strings.Cut(text, "..")
	from, err := strconv.Atoi(first)
	if err != nil || from < 0 || from >= limit {
		return 0, 0, false
	}
	switch {
	case isRange:
		to, err = strconv.Atoi(last)
		return from, to, err == nil && to >= from && to < limit
	case stepped:
		return from, limit - 1, true
	}
	return from, from, true
}

// Next is the first time after another one at which the event happens, within two years.
func (c *Calendar) Next(after time.Time) (time.Time, bool) {
	t := after.Truncate(time.Minute).Add(time.Minute)
	end := after.AddDate(2, 0, 0)
	for t.Before(end) {
		if !c.onDay(t) {
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location())
			continue
		}
		if c.hours[t.Hour()] && c.minutes[t.Minute()] {
			return t, true
		}
		t = t.Add(time.Minute)
	}
	return time.Time{}, false
}

func (c *Calendar) onDay(t time.Time) bool {
	return (c.weekdays == nil || c.weekdays[t.Weekday()]) && (c.day == 0 || c.day == t.Day()) && (c.month == 0 || c.month == t.Month())
}

func calendarEvent(v string) string {
	if _, ok := ParseCalendar(v); ok {
		return ""
	}
	return fmt.Sprintf("invalid calendar event '%s' - unable to parse calendar event at '%s'\n", v, v)
}

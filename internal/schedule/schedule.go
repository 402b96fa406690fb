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

// Package schedule computes the times of a cron schedule in a time zone. It has no side effects.
//
// A change between standard and daylight saving time neither drops nor repeats a run. A schedule that names hours uses local time: a time that the
// change skips is replaced by the moment of the change, and a time that occurs twice counts the first time. A schedule for every hour uses elapsed
// time, and continues through both changes.
package schedule

import (
	"strings"
	"time"
	_ "time/tzdata" // Images without an operating system have no time zones.

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/robfig/cron/v3"
)

// Most is how many times are counted at most. More are reported as Most and one.
const Most = 100

// allHours are the bits of a schedule that has every hour.
const allHours = 1<<24 - 1

// A Schedule has five cron fields in a time zone.
type Schedule struct {
	fields *cron.SpecSchedule // It is used with local time represented as UTC.
	zone   *time.Location
}

// Parse parses a schedule of five fields in a zone of the IANA database. An empty zone means UTC.
func Parse(fields, zone string) (Schedule, error) {
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" { // Local is the time zone of the provider's own machine.
		return Schedule{}, errors.Errorf("unknown timeZone %q", zone)
	}
	if strings.Contains(fields, "=") || strings.HasPrefix(fields, "@") {
		return Schedule{}, errors.Errorf("cannot read schedule %q: want five fields", fields)
	}
	parsed, err := cron.ParseStandard(fields)
	if err != nil {
		return Schedule{}, errors.Wrapf(err, "cannot read schedule %q", fields)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Schedule{}, errors.Errorf("cannot read schedule %q: want five fields", fields)
	}
	spec.Location = time.UTC
	if spec.Next(time.Unix(0, 0).UTC()).IsZero() {
		return Schedule{}, errors.Errorf("cannot use schedule %q: no date matches it", fields)
	}
	return Schedule{fields: spec, zone: location}, nil
}

// Zone returns the zone of the schedule.
func (s Schedule) Zone() *time.Location { return s.zone }

// Next returns the first time after another, or the zero time if there is none within five years.
func (s Schedule) Next(after time.Time) time.Time {
	p := periodOf(after.In(s.zone))
	wall := s.fields.Next(p.wall(after))
	for !wall.IsZero() {
		if !s.everyHour() && wall.Before(p.repeated) {
			wall = s.fields.Next(p.repeated.Add(-time.Second))
			continue
		}
		at := p.instant(wall)
		if p.end.IsZero() || at.Before(p.end) {
			return at.In(s.zone)
		}
		following := periodOf(p.end.In(s.zone))
		if !s.everyHour() && wall.Before(following.wall(p.end)) {
			return p.end.In(s.zone) // The change of clocks skips it.
		}
		wall = s.fields.Next(following.wall(p.end).Add(-time.Second))
		p = following
	}
	return time.Time{}
}

func (s Schedule) everyHour() bool { return s.fields.Hour&allHours == allHours }

// A period of a time zone is the time between two changes of clocks.
type period struct {
	offset time.Duration // of local time from UTC
	end    time.Time     // zero if there is none

	// repeated ends the local times that have already occurred in the period before.
	repeated time.Time
}

func periodOf(t time.Time) period {
	start, end := t.ZoneBounds()
	p := period{offset: offsetOf(t), end: end}
	if !start.IsZero() {
		p.repeated = start.UTC().Add(offsetOf(start.Add(-time.Second)))
	}
	return p
}

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// wall returns the local time of a moment, and instant the moment of a local time.
func (p period) wall(t time.Time) time.Time    { return t.UTC().Add(p.offset) }
func (p period) instant(w time.Time) time.Time { return w.Add(-p.offset) }

// Between returns the last time after one moment and not after another, or the zero time if there is none. It also returns the number of such times, up
// to Most and one more.
func (s Schedule) Between(after, until time.Time) (last time.Time, count int) {
	for t := s.Next(after); !t.IsZero() && !t.After(until) && count <= Most; t = s.Next(t) {
		last, count = t, count+1
	}
	if count > Most {
		last = s.last(last, until)
	}
	return last, count
}

// last returns the last time that is not after a moment, given an earlier time. It doubles how far it looks back with each step, so that it visits few
// of many times.
func (s Schedule) last(known, until time.Time) time.Time {
	for back := time.Hour; until.Add(-back).After(known); back *= 2 {
		if t := s.Next(until.Add(-back)); !t.IsZero() && !t.After(until) {
			known = t
			break
		}
	}
	for t := s.Next(known); !t.IsZero() && !t.After(until); t = s.Next(t) {
		known = t
	}
	return known
}

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

package backup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// A found is the volume of a backup with its ID.
type found struct {
	id     string
	volume *state.Volume
}

// backupsOf returns the backups of a guest on a storage, the latest first.
func backupsOf(o *engine.Op, s *state.Storage, vmid int) []found {
	var all []found
	for key, v := range o.State.Volumes {
		if v.Content == "backup" && v.VMID == vmid && key == s.Key(o.Node, key.Name) {
			all = append(all, found{key.Storage + ":" + key.Name, v})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return b.volume.Created.Compare(a.volume.Created)*2 + strings.Compare(a.id, b.id)
	})
	return all
}

// keeps returns how many backups to keep, from the options of the run or else of the storage.
func (j *job) keeps(s *state.Storage) map[string]int {
	retention := j.retention
	if retention == "" {
		retention = s.Options["prune-backups"]
	}
	out := map[string]int{}
	for part := range strings.SplitSeq(retention, ",") {
		if key, n, ok := strings.Cut(part, "="); ok && key != "keep-all" && schema.Int(n) > 0 {
			out[key] = schema.Int(n)
		}
	}
	return out
}

// prune removes the backups of a guest that are not to be kept.
func (j *job) prune(o *engine.Op, s *state.Storage, vmid int) {
	keeps := j.keeps(s)
	if j.keep || len(keeps) == 0 {
		return
	}
	text := []string{}
	for _, key := range slices.Sorted(maps.Keys(keeps)) {
		text = append(text, fmt.Sprintf("%s=%d", key, keeps[key]))
	}
	o.Logf("INFO: prune older backups with retention: %s", strings.Join(text, ", "))
	pruned, extra := 0, ""
	for _, b := range unkept(backupsOf(o, s, vmid), keeps) {
		o.Logf("INFO: removing backup '%s'", b.id)
		volume.Free(o, b.id)
		pruned++
		extra = " not covered by keep-retention policy"
	}
	o.Logf("INFO: pruned %d backup(s)%s", pruned, extra)
}

// periods returns the periods for each of which one backup is kept, in the order in which they are applied.
func periods() []struct {
	option string
	of     func(time.Time) string
} {
	layout := func(l string) func(time.Time) string { return func(t time.Time) string { return t.Format(l) } }
	week := func(t time.Time) string {
		year, week := t.ISOWeek()
		return fmt.Sprintf("%d/%d", week, year)
	}
	return []struct {
		option string
		of     func(time.Time) string
	}{
		{"keep-last", func(t time.Time) string { return fmt.Sprint(t.Unix()) }},
		{"keep-hourly", layout("15/02/01/2006")},
		{"keep-daily", layout("02/01/2006")},
		{"keep-weekly", week},
		{"keep-monthly", layout("01/2006")},
		{"keep-yearly", layout("2006")},
	}
}

// unkept returns the unprotected backups of a guest, the latest first, that no period keeps.
func unkept(all []found, keeps map[string]int) []found {
	kept, dropped := map[string]bool{}, map[string]bool{}
	for _, p := range periods() {
		had, has := map[string]bool{}, map[string]bool{}
		for _, b := range all {
			if kept[b.id] {
				had[p.of(b.volume.Created)] = true
			}
		}
		for _, b := range all {
			period := p.of(b.volume.Created)
			switch {
			case b.volume.Protected || kept[b.id] || dropped[b.id] || had[period]:
			case has[period]:
				dropped[b.id] = true
			case len(has) < keeps[p.option]:
				has[period], kept[b.id] = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(b found) bool { return kept[b.id] || b.volume.Protected })
}

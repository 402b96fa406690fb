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

package apis_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// jobOf returns a BackupJob of the scope with parameters in YAML.
func (s scope) jobOf(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "BackupJob", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

func TestBackupJobRefused(t *testing.T) {
	const which = "say in one way which guests are backed up"
	cases := map[string]refusal{
		"Nobody": {reason: "A job is for somebody.", spec: `{schedule: daily, storage: nas}`, want: []string{which}},
		"NotAll": {reason: "Not all is nobody.", spec: `{schedule: daily, storage: nas, all: false}`, want: []string{which}},
		"Both":   {reason: "PVE would drop one.", spec: `{schedule: daily, storage: nas, all: true, vmids: [100]}`, want: []string{which}},
		"Pools":  {reason: "There is one pool.", spec: `{schedule: daily, storage: nas, pool: a, poolRef: {name: b}}`, want: []string{"set one of pool"}},
		"Excluded": {
			reason: "PVE would drop them.", spec: `{schedule: daily, storage: nas, pool: a, excludeVMIDs: [100]}`, want: []string{"exclusions are for all"},
		},
		"NoStorage": {reason: "Backups need a storage to go to.", spec: `{schedule: daily, all: true}`, want: []string{"set one of storage"}},
		"Storages": {
			reason: "There is one storage.", spec: `{schedule: daily, all: true, storage: nas, storageRef: {name: b}}`, want: []string{"set one of storage"},
		},
		"NoSchedule": {reason: "A job has a schedule.", spec: `{all: true, storage: nas}`, want: []string{"schedule"}},
		"Name":       {reason: "PVE takes no dot.", spec: `{name: a.b, schedule: daily, all: true, storage: nas}`, want: []string{"spec.forProvider.name"}},
		"Notes": {
			reason: "PVE takes one line.", spec: `{schedule: daily, all: true, storage: nas, notesTemplate: "a\nb"}`, want: []string{"notesTemplate is one line"},
		},
		"Fleecing": {
			reason: "PVE wants a storage.", spec: `{schedule: daily, all: true, storage: nas, fleecing: {enabled: true}}`, want: []string{"fleecing needs a storage"},
		},
		"FleecingStorages": {
			reason: "There is one storage for it.", spec: `{schedule: daily, all: true, storage: nas, fleecing: {enabled: true, storage: a, storageRef: {name: b}}}`,
			want: []string{"set one of storage and storageRef"},
		},
		"Rules": {
			reason: "PVE would remove the backups of others.", spec: `{schedule: daily, all: true, storage: nas, pruneBackups: {keepLast: 3}}`,
			want: []string{"consent with allowPruningOthers"},
		},
		"Prune": {
			reason: "PVE would remove the backups of others by the rules of the storage.",
			spec:   `{schedule: daily, all: true, storage: nas, prune: true}`, want: []string{"allowPruningOthers"},
		},
		"PruneAll": {
			reason: "Words contradict each other.", spec: `{schedule: daily, all: true, storage: nas, prune: true, pruneBackups: {keepAll: true}}`,
			want: []string{"allowPruningOthers"},
		},
		"NoConsent": {
			reason: "Pruning without consent is refused.", spec: `{schedule: daily, all: true, storage: nas, allowPruningOthers: false, pruneBackups: {keepDaily: 3}}`,
			want: []string{"allowPruningOthers"},
		},
		"Mode":     {reason: "There are three modes.", spec: `{schedule: daily, all: true, storage: nas, mode: live}`, want: []string{"mode", "suspend"}},
		"Priority": {reason: "PVE knows 8 at most.", spec: `{schedule: daily, all: true, storage: nas, ioPriority: 9}`, want: []string{"ioPriority"}},
		"Age":      {reason: "An age is positive.", spec: `{schedule: daily, all: true, storage: nas, maxAgeHours: 0}`, want: []string{"maxAgeHours"}},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantRefused(t, tc.reason, tryCreate(t.Context(), s.jobOf(t, tc.spec)), tc.want...)
			})
		}
	}
}

// TestBackupJobRetention has what removes nothing, or what is consented to, admitted.
func TestBackupJobRetention(t *testing.T) {
	for _, spec := range []string{
		"", "pruneBackups: {keepAll: true}", "prune: false", "prune: false, pruneBackups: {keepLast: 3}", "allowPruningOthers: true",
		"allowPruningOthers: true, pruneBackups: {keepLast: 3}", "allowPruningOthers: true, prune: true",
	} {
		for in, s := range scopes() {
			t.Run(in+"/"+spec, func(t *testing.T) {
				if err := tryCreate(t.Context(), s.jobOf(t, "{schedule: daily, all: true, storage: nas, "+spec+"}")); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestBackupJobSchedule has the words of PVE's documentation, and what people write by mistake.
func TestBackupJobSchedule(t *testing.T) {
	for schedule, event := range map[string]bool{
		"02:30": true, "mon..fri 22:00": true, "sat,sun 1:00": true, "*-*-1 03:00": true, "daily": true, "semi-annually": true, "mon": true,
		"*/15": true, "*:0/30": true, "8..17,22:0/15": true, "mon..wed 30/10": true, "12-24": true, "2026-12-24 23:59:59": true,
		"02:30 UTC": true, "monday,friday 6:00": true, "Mon 02:00": true, "MON..Fri 22:00": true, "mondx 2:00": false,
		"0 2 * * *": false, "25:00": false, "02:60": false, "every day": false, "foo 2:30": false, "2:30 ": false, "": false,
	} {
		for in, s := range scopes() {
			t.Run(schedule+"/"+in, func(t *testing.T) {
				err := tryCreate(t.Context(), s.jobOf(t, `{schedule: "`+schedule+`", all: true, storage: nas}`))
				if event {
					wantAccepted(t, "It is a calendar event.", err)
					return
				}
				wantRefused(t, "It is no calendar event.", err, "schedule")
			})
		}
	}
}

func TestBackupJobChange(t *testing.T) {
	cases := map[string]change{
		"Name": {
			reason: "PVE knows a job by it.", before: `{name: nightly, schedule: daily, all: true, storage: nas}`,
			after: `{name: daily, schedule: daily, all: true, storage: nas}`, want: []string{"name cannot change"},
		},
		"Guests": {
			reason: "Guests may be named in another way.", before: `{schedule: daily, all: true, storage: nas}`,
			after: `{schedule: "mon 03:00", vmids: [100], storageRef: {name: nas}}`,
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) { testChange(t, s.jobOf(t, tc.before), tc) })
		}
	}
}

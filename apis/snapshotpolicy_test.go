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

// policyOf returns a SnapshotPolicy of the scope with parameters in YAML.
func (s scope) policyOf(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "SnapshotPolicy", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

func TestSnapshotPolicyRefused(t *testing.T) {
	const rest = `machineSelector: {}, retention: {last: 1}`
	cases := map[string]refusal{
		"NoSchedule": {reason: "A policy has a schedule.", spec: `{` + rest + `}`, want: []string{"schedule"}},
		"Fields":     {reason: "Cron has five fields.", spec: `{schedule: "0 3 * *", ` + rest + `}`, want: []string{"spec.forProvider.schedule"}},
		"Minute":     {reason: "No minute is 60.", spec: `{schedule: "60 3 * * *", ` + rest + `}`, want: []string{"spec.forProvider.schedule"}},
		"Hour":       {reason: "No hour is 24.", spec: `{schedule: "0 24 * * *", ` + rest + `}`, want: []string{"spec.forProvider.schedule"}},
		"Day":        {reason: "No day is 0.", spec: `{schedule: "0 3 0 * *", ` + rest + `}`, want: []string{"spec.forProvider.schedule"}},
		"Every":      {reason: "An interval would begin when the provider does.", spec: `{schedule: "@every 12h", ` + rest + `}`, want: []string{"schedule"}},
		"Zone": {
			reason: "There is no such zone.", spec: `{schedule: "0 3 * * *", timeZone: Europe/Nowhere, ` + rest + `}`,
			want: []string{"spec.forProvider.timeZone"},
		},
		"Local": {
			reason: "The provider's machine has no say.", spec: `{schedule: "0 3 * * *", timeZone: Local, ` + rest + `}`, want: []string{"unknown time zone"},
		},
		"NoSelector": {
			reason: "All Machines are not meant by saying nothing.", spec: `{schedule: "0 3 * * *", retention: {last: 1}}`,
			want: []string{"machineSelector"},
		},
		"NoRetention": {
			reason: "Snapshots must not pile up unasked.", spec: `{schedule: "0 3 * * *", machineSelector: {}}`, want: []string{"set retention"},
		},
		"EmptyRetention": {
			reason: "A retention that keeps nothing is a mistake.", spec: `{schedule: "0 3 * * *", machineSelector: {}, retention: {}}`,
			want: []string{"spec.forProvider.retention"},
		},
		"Zero": {
			reason: "None is not kept by a number.", spec: `{schedule: "0 3 * * *", machineSelector: {}, retention: {last: 0}}`,
			want: []string{"spec.forProvider.retention.last"},
		},
		"Contradiction": {
			reason: "What is retained is never removed.", spec: `{schedule: "0 3 * * *", ` + rest + `, snapshotTemplate: {removalPolicy: Retain}}`,
			want: []string{"set retention"},
		},
		"Concurrent": {
			reason: "Something has to be done.", spec: `{schedule: "0 3 * * *", ` + rest + `, maxConcurrent: 0}`, want: []string{"maxConcurrent"},
		},
		"Deadline": {
			reason: "A deadline lets something begin.", spec: `{schedule: "0 3 * * *", ` + rest + `, startingDeadlineMinutes: 0}`,
			want: []string{"startingDeadlineMinutes"},
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantRefused(t, tc.reason, tryCreate(t.Context(), s.policyOf(t, tc.spec)), tc.want...)
			})
		}
	}
}

func TestSnapshotPolicyAccepted(t *testing.T) {
	cases := map[string]struct{ reason, spec string }{
		"Least": {"The rest has defaults.", `{schedule: "0 3 * * *", machineSelector: {}, retention: {last: 1}}`},
		"Whole": {
			"All fields go together.",
			`{schedule: "*/15,7 0-5,22 1,15 1-12/2 0-6", timeZone: America/Argentina/Ushuaia, suspend: true, maxConcurrent: 100,
			startingDeadlineMinutes: 60, machineSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]},
			retention: {last: 1, hourly: 2, daily: 3, weekly: 4, monthly: 5},
			snapshotTemplate: {description: x, includeMemory: true, removalPolicy: Delete}}`,
		},
		"Retain": {"What is retained needs no retention.", `{schedule: "0 3 * * *", machineSelector: {}, snapshotTemplate: {removalPolicy: Retain}}`},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantAccepted(t, tc.reason, tryCreate(t.Context(), s.policyOf(t, tc.spec)))
			})
		}
	}
}

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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// backupOf returns a Backup of the scope with parameters in YAML.
func (s scope) backupOf(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "Backup", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

func TestBackupRefused(t *testing.T) {
	cases := map[string]refusal{
		"NoMachine": {reason: "A backup is of a Machine.", spec: `{storage: nas}`, want: []string{"a backup is of one Machine"}},
		"NoStorage": {reason: "A backup goes to a storage.", spec: `{machine: web}`, want: []string{"a backup goes to a storage"}},
		"Storage":   {reason: "A storage has a name that PVE takes.", spec: `{machine: web, storage: "-x"}`, want: []string{"spec.forProvider.storage"}},
		"Mode":      {reason: "There are three modes.", spec: `{machine: web, storage: nas, mode: live}`, want: []string{"mode", "suspend"}},
		"Notes":     {reason: "PVE would replace variables.", spec: `{machine: web, storage: nas, notes: "of {{vmid}}"}`, want: []string{"variables"}},
		"Limit":     {reason: "Limits are not negative.", spec: `{machine: web, storage: nas, bandwidthLimit: -1}`, want: []string{"bandwidthLimit"}},
		"Protected": {
			reason: "What is protected cannot be removed.",
			spec:   `{machine: web, storage: nas, protected: true, removalPolicy: Delete}`, want: []string{"a protected backup is not removed"},
		},
		"Policy": {reason: "There are two policies.", spec: `{machine: web, storage: nas, removalPolicy: Orphan}`, want: []string{"removalPolicy", "Retain"}},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantRefused(t, tc.reason, tryCreate(t.Context(), s.backupOf(t, tc.spec)), tc.want...)
			})
		}
	}
}

func TestBackupChange(t *testing.T) {
	cases := map[string]change{
		"Machine": {
			reason: "A backup stays that of its VM.",
			before: `{machine: web, storage: nas}`, after: `{machine: db, storage: nas}`, want: []string{"machine cannot change"},
		},
		"Storage": {
			reason: "A backup is not moved.",
			before: `{machine: web, storage: nas}`, after: `{machine: web, storage: pbs}`, want: []string{"storage cannot change"},
		},
		"Mode": {
			reason: "A backup is made once, in one mode.",
			before: `{machine: web, storage: nas}`, after: `{machine: web, storage: nas, mode: stop}`, want: []string{"mode cannot"},
		},
		"Compression": {
			reason: "A backup is made once, with one compression.",
			before: `{machine: web, storage: nas}`, after: `{machine: web, storage: nas, compression: none}`, want: []string{"compression cannot"},
		},
		"Default": {
			reason: "The default is no change.",
			before: `{machine: web, storage: nas}`, after: `{machine: web, storage: nas, mode: snapshot, compression: zstd}`,
		},
		"Resolved": {
			reason: "The name of the Machine is put in.",
			before: `{machineRef: {name: web}, storage: nas}`, after: `{machineRef: {name: web}, machine: web, storage: nas}`,
		},
		"Rest": {
			reason: "Notes, protection and policy may change.",
			before: `{machine: web, storage: nas, protected: true}`, after: `{machine: web, storage: nas, notes: new, protected: false, removalPolicy: Delete}`,
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) { testChange(t, s.backupOf(t, tc.before), tc) })
		}
	}
}

// testChange creates an object and tries to change its parameters.
func testChange(t *testing.T, before *unstructured.Unstructured, tc change) {
	t.Helper()
	before.SetName(objectName(t))
	create(t, before)
	after := before.DeepCopy()
	after.Object["spec"] = map[string]any{"forProvider": parse(t, tc.after)}
	err := kube.Update(t.Context(), after, client.DryRunAll)
	if len(tc.want) == 0 {
		wantAccepted(t, tc.reason, err)
		return
	}
	wantRefused(t, tc.reason, err, tc.want...)
}

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

// snapshotOf returns a Snapshot of the scope with parameters in YAML.
func (s scope) snapshotOf(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "Snapshot", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

// TestConfigurationOfMachine has what is of a Machine name no provider configuration of its own accord; it takes the Machine's.
func TestConfigurationOfMachine(t *testing.T) {
	for in, s := range scopes() {
		for kind, spec := range map[string]string{"Snapshot": `{machineRef: {name: web}}`, "Backup": `{machineRef: {name: web}, storage: nas}`} {
			t.Run(in+"/"+kind, func(t *testing.T) {
				u := s.object(t, kind, "{}")
				u.Object["spec"] = map[string]any{"forProvider": parse(t, spec)}
				if err := tryCreate(t.Context(), u); err != nil {
					t.Fatal(err)
				}
				if c, found, _ := unstructured.NestedMap(u.Object, "spec", "providerConfigRef"); found {
					t.Errorf("the default is %v", c)
				}
			})
		}
	}
}

func TestSnapshotRefused(t *testing.T) {
	cases := map[string]refusal{
		"NoVM":      {reason: "A snapshot is of a VM.", spec: `{}`, want: []string{"a snapshot is of one VM"}},
		"TwoVMs":    {reason: "A snapshot is of one VM only.", spec: `{machine: web, vmid: 100, allowUnmanaged: true}`, want: []string{"a snapshot is of one VM"}},
		"NoConsent": {reason: "Another VM needs consent.", spec: `{vmid: 100}`, want: []string{"allowUnmanaged"}},
		"Consent":   {reason: "A Machine needs none.", spec: `{machine: web, allowUnmanaged: true}`, want: []string{"allowUnmanaged"}},
		"VMID":      {reason: "VMIDs begin at 100.", spec: `{vmid: 99, allowUnmanaged: true}`, want: []string{"spec.forProvider.vmid"}},
		"Current":   {reason: "PVE reserves the name current.", spec: `{machine: web, name: current}`, want: []string{"reserves"}},
		"Pending":   {reason: "PVE reserves it, however it is written.", spec: `{machine: web, name: Pending}`, want: []string{"reserves"}},
		"Short":     {reason: "PVE takes two characters at least.", spec: `{machine: web, name: a}`, want: []string{"spec.forProvider.name"}},
		"Digit":     {reason: "The first is a letter.", spec: `{machine: web, name: 1a}`, want: []string{"spec.forProvider.name"}},
		"Long": {
			reason: "PVE takes 40 characters at most.",
			spec:   `{machine: web, name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}`, want: []string{"spec.forProvider.name"},
		},
		"NoSuchRule": {reason: "There are two policies.", spec: `{machine: web, removalPolicy: Orphan}`, want: []string{"removalPolicy", "Retain"}},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantRefused(t, tc.reason, tryCreate(t.Context(), s.snapshotOf(t, tc.spec)), tc.want...)
			})
		}
	}
}

func TestSnapshotChange(t *testing.T) {
	cases := map[string]change{
		"Machine": {
			reason: "A snapshot stays that of its VM.",
			before: `{machine: web}`, after: `{machine: db}`, want: []string{"machine cannot change"},
		},
		"VMID": {
			reason: "A snapshot stays that of its VM.",
			before: `{vmid: 100, allowUnmanaged: true}`, after: `{vmid: 101, allowUnmanaged: true}`, want: []string{"vmid cannot change"},
		},
		"ToMachine": {
			reason: "A snapshot stays that of its VM.",
			before: `{vmid: 100, allowUnmanaged: true}`, after: `{machine: web}`, want: []string{"vmid can be neither"},
		},
		"Name": {
			reason: "A snapshot cannot be renamed.",
			before: `{machine: web, name: s1}`, after: `{machine: web, name: s2}`, want: []string{"name cannot change"},
		},
		"NameAdded": {
			reason: "A snapshot cannot be renamed.",
			before: `{machine: web}`, after: `{machine: web, name: s2}`, want: []string{"name can be neither"},
		},
		"Memory": {
			reason: "Memory is included when it is taken.",
			before: `{machine: web}`, after: `{machine: web, includeMemory: true}`, want: []string{"includeMemory cannot change"},
		},
		"MemoryFalse": {reason: "False is the default.", before: `{machine: web}`, after: `{machine: web, includeMemory: false}`},
		"Resolved": {
			reason: "The name of the Machine is put in.",
			before: `{machineRef: {name: web}}`, after: `{machineRef: {name: web}, machine: web}`,
		},
		"Rest": {
			reason: "Description and policy may change.",
			before: `{machine: web}`, after: `{machine: web, description: new, removalPolicy: Retain}`,
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				before := s.snapshotOf(t, tc.before)
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
			})
		}
	}
}

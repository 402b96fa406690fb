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

// volumeOf returns a Volume of the scope with parameters in YAML.
func (s scope) volumeOf(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "Volume", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

func TestVolumeRefused(t *testing.T) {
	cases := map[string]refusal{
		"Size":    {reason: "A size has a unit.", spec: `{size: "20"}`, want: []string{"spec.forProvider.size"}},
		"Small":   {reason: "A size is at least 1M.", spec: `{size: 1K}`, want: []string{"out of range"}},
		"Storage": {reason: "A name that PVE takes.", spec: `{storage: "-x"}`, want: []string{"spec.forProvider.storage"}},
		"Format":  {reason: "There are three formats.", spec: `{format: qcow3}`, want: []string{"format", "qcow2"}},
		"Policy":  {reason: "There are two policies.", spec: `{reclaimPolicy: Orphan}`, want: []string{"reclaimPolicy", "Retain"}},
		"Recover": {reason: "Consent is to a checksum.", spec: `{recoverLost: "yes"}`, want: []string{"spec.forProvider.recoverLost"}},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantRefused(t, tc.reason, tryCreate(t.Context(), s.volumeOf(t, tc.spec)), tc.want...)
			})
		}
	}
}

func TestVolumeChange(t *testing.T) {
	cases := map[string]change{
		"Format": {
			reason: "A disk is made in one format, once.",
			before: `{size: 1G, format: raw}`, after: `{size: 1G, format: qcow2}`, want: []string{"format cannot change"},
		},
		"Node": {
			reason: "A disk is made on one node, once.",
			before: `{size: 1G, node: pve1}`, after: `{size: 1G, node: pve2}`, want: []string{"node cannot change"},
		},
		"Reference": {
			reason: "A reference that was resolved would mean nothing if it changed.",
			before: `{size: 1G, storage: nas, storageRef: {name: a}}`, after: `{size: 1G, storage: nas, storageRef: {name: b}}`,
			want: []string{"storageRef was resolved into storage"},
		},
		"ReferenceWithStorage": {
			reason: "A reference may change along with its storage.",
			before: `{size: 1G, storage: nas, storageRef: {name: a}}`, after: `{size: 1G, storage: ceph, storageRef: {name: b}}`,
		},
		"Resolved": {
			reason: "A selector is resolved, and what it means is named.",
			before: `{size: 1G, storageSelector: {matchLabels: {for: data}}}`,
			after:  `{size: 1G, storage: nas, storageRef: {name: a}, storageSelector: {matchLabels: {for: data}}}`,
		},
		"OtherReference": {
			reason: "A reference that is not resolved yet may change.",
			before: `{size: 1G, storageRef: {name: a}}`, after: `{size: 1G, storageRef: {name: b}}`,
		},
		"Rest": {
			reason: "Size, storage and policy may change, and what is left out may be said.",
			before: `{size: 1G, storage: nas}`, after: `{size: 2G, storage: ceph, node: pve1, format: raw, reclaimPolicy: Retain}`,
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) { testChange(t, s.volumeOf(t, tc.before), tc) })
		}
	}
}

// machineWith returns a Machine of the scope with one disk in YAML.
func (s scope) machineWith(t *testing.T, disk string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "Machine", "{}")
	u.Object["spec"] = map[string]any{"forProvider": map[string]any{"disks": []any{parse(t, disk)}}}
	return u
}

func TestVolumeRefRefused(t *testing.T) {
	for in, s := range scopes() {
		for _, field := range []string{
			"size: 1G", "storage: ceph", "format: raw", "importFrom: 'local:import/a.raw'", "volume: 'ceph:vm-1-disk-0'", "removalPolicy: Destroy",
		} {
			t.Run(in+"/"+field[:6], func(t *testing.T) {
				err := tryCreate(t.Context(), s.machineWith(t, "{name: data, volumeRef: {name: d}, "+field+"}"))
				wantRefused(t, "The Volume has its own.", err, "disk data is a Volume")
			})
		}
		t.Run(in+"/NoName", func(t *testing.T) {
			wantRefused(t, "It has a name.", tryCreate(t.Context(), s.machineWith(t, `{name: data, volumeRef: {name: ""}}`)), "volumeRef.name")
		})
	}
}

func TestVolumeRefChange(t *testing.T) {
	const cannot = "volumeRef of disk data cannot change"
	cases := map[string]change{
		"Another": {
			reason: "Another Volume would be another disk.",
			before: `{disks: [{name: data, volumeRef: {name: d}}]}`, after: `{disks: [{name: data, volumeRef: {name: e}}]}`, want: []string{cannot},
		},
		"Gone": {
			reason: "A disk in place of a Volume would be created again.",
			before: `{disks: [{name: data, volumeRef: {name: d}}]}`, after: `{disks: [{name: data, size: 1G}]}`, want: []string{cannot},
		},
		"Options": {
			reason: "Options of a disk of a Volume may change.",
			before: `{disks: [{name: data, volumeRef: {name: d}}]}`, after: `{disks: [{name: data, volumeRef: {name: d}, cache: none}]}`,
		},
		"Off": {reason: "A disk of a Volume may be taken off.", before: `{disks: [{name: data, volumeRef: {name: d}}]}`, after: `{disks: []}`},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				before := s.object(t, "Machine", "{}")
				before.Object["spec"] = map[string]any{"forProvider": parse(t, tc.before)}
				testChange(t, before, tc)
			})
		}
	}
}

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

package simulator

import (
	"testing"
)

// crowd is a cluster with ten thousand machines.
func crowd(b *testing.B) (*Server, *call) {
	b.Helper()
	sc := lab()
	sc.Guests = []ScenarioGuest{{
		VMID: 10000, Count: 10000, Node: "pve1", Running: true,
		Config: map[string]string{
			"name": "vm", "memory": "2048", "cores": "2", "scsi0": "nfs:8", "net0": "virtio,bridge=vmbr0", "agent": "1", "tags": "a;b",
		},
	}}
	s, err := New(Options{Scenario: sc})
	if err != nil {
		b.Fatal(err)
	}
	return s, &call{s: s, state: s.state, facts: s.facts, who: "crossplane@pve!demo", local: "pve1", node: "pve1"}
}

func BenchmarkResources(b *testing.B) {
	_, c := crowd(b)
	for b.Loop() {
		if _, err := c.resources(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConfig(b *testing.B) {
	_, c := crowd(b)
	c.Values = map[string]string{"vmid": "12345"}
	for b.Loop() {
		if _, err := c.getConfig(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

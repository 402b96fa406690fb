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

package simulator_test

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/cluster"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/qemu"
)

func BenchmarkResources(b *testing.B) {
	_, c := largeCluster(b)
	for b.Loop() {
		if _, err := cluster.Resources(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConfig(b *testing.B) {
	_, c := largeCluster(b)
	c.Values = map[string]string{"vmid": "12345"}
	for b.Loop() {
		if _, err := qemu.GetConfig(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := simulator.New(simulator.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

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

package main

import "fmt"

// snapshotLabel is a label with the name by which the Snapshots of an Operation are found and deleted.
const snapshotLabel = "operations.proxmox.vitistack.io/snapshot"

// A snapshot is taken of every Machine.
type snapshot struct {
	// Name is the end of the Snapshots' names, after that of the Machine and a hyphen, and their label.
	Name string `json:"name"`
	// Description of the snapshots in Proxmox VE.
	Description string `json:"description,omitempty"`
	// IncludeMemory saves the memory of the VMs, which must be running then.
	IncludeMemory bool `json:"includeMemory,omitempty"`
}

func (s snapshot) plan(machines []object) plan {
	p := plan{}
	for _, m := range machines {
		declared := map[string]any{"machineRef": map[string]any{"name": m.GetName()}}
		if s.Description != "" {
			declared["description"] = s.Description
		}
		if s.IncludeMemory {
			declared["includeMemory"] = true
		}
		o := m.named("Snapshot", m.GetName()+"-"+s.Name)
		o.Object["spec"] = map[string]any{"forProvider": declared}
		// The type must be map[string]any: protobuf converts no other maps.
		o.Object["metadata"].(map[string]any)["labels"] = map[string]any{snapshotLabel: s.Name} //nolint:forcetypeassert // Made by named.
		p.apply = append(p.apply, o)
		p.events = append(p.events, fmt.Sprintf("%s: %s", m, o))
	}
	return p
}

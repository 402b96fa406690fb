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

package qemu

import (
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
)

// machines lists the machine types and versions of the nodes' QEMU.
func machines(c *engine.Call) (any, error) {
	out := []map[string]any{}
	add := func(version, changes string) {
		for _, kind := range []string{"i440fx", "q35"} {
			entry := map[string]any{"id": "pc-" + kind + "-" + version, "type": kind, "version": version}
			if changes != "" {
				entry["changes"] = changes
			}
			out = append(out, entry)
		}
	}
	for _, version := range guest.QemuVersions() {
		if !guest.QemuFrom(c.State, version) {
			continue
		}
		for _, r := range guest.MachineRevisions(version) {
			add(version+r[0], r[1])
		}
		add(version, "")
	}
	return out, nil
}

// cpuModels lists the models of CPUs.
func cpuModels(*engine.Call) (any, error) {
	out := []map[string]any{}
	for vendor, names := range guest.ModelsOfCPUs() {
		for name := range strings.FieldsSeq(names) {
			out = append(out, map[string]any{"name": name, "vendor": vendor, "custom": 0})
		}
	}
	return out, nil
}

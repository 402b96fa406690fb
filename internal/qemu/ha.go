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
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// HASettings that a spec declares, in HA's words.
func HASettings(h *v1alpha1.MachineHighAvailability) proxmox.HASettings {
	settings := proxmox.HASettings{}
	for _, s := range haParts(h) {
		if s.value != nil {
			settings[s.key] = *s.value
		}
	}
	return settings
}

// haParts are the settings that have a field.
func haParts(h *v1alpha1.MachineHighAvailability) []part {
	return []part{
		{key: "state", codec: texts(&h.State)},
		{key: "group", codec: texts(&h.Group)},
		{key: "max_restart", codec: integers(&h.MaxRestart)},
		{key: "max_relocate", codec: integers(&h.MaxRelocate)},
		{key: "failback", codec: flags(&h.Failback)},
	}
}

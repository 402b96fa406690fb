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

package volume

import (
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// Used returns how much of a storage is used on a node, in bytes.
func Used(o *engine.Op, s *state.Storage, node string) int64 {
	sum := s.Used
	for key, v := range o.State.Volumes {
		if key.Storage == s.ID && (s.Shared || key.Node == node) {
			sum += v.Used
		}
	}
	return min(sum, s.Total)
}

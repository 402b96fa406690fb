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

package tasktrack

import (
	"slices"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Since returns the tasks of a list that are newer than those that Latest returned for an earlier list. Tasks that start within the same second are
// distinguished by their UPIDs.
func Since(all []proxmox.Task, before []proxmox.UPID) []proxmox.Task {
	latest := int64(0)
	for _, t := range all {
		if slices.Contains(before, t.UPID) {
			latest = t.Start.Unix()
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(t proxmox.Task) bool {
		return slices.Contains(before, t.UPID) || t.Start.Unix() < latest
	})
}

// Latest returns the tasks that have started last, all within the same second.
func Latest(all []proxmox.Task) []proxmox.UPID {
	var latest []proxmox.UPID
	start := int64(0)
	for _, t := range all {
		switch at := t.Start.Unix(); {
		case at > start:
			start, latest = at, []proxmox.UPID{t.UPID}
		case at == start:
			latest = append(latest, t.UPID)
		}
	}
	return latest
}

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

package vmcache

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Predict stores what the options of a VM must be after a change of ours, so that the VM need not be read for it. Without it, TestBudgets of
// internal/controller fails (linked, powered and deleted).
func (s *Cache) Predict(m objectstate.Object, values []proxmox.PendingValue) {
	packed, err := json.Marshal(values)
	if err != nil {
		return
	}
	s.at(m, func(r *entry) {
		r.values, r.version, r.predicted, r.lastWrite = packed, 0, true, s.now()
		r.due = sooner(r.due, s.now().Add(CheckWithin))
	})
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// PredictResize records the size that a disk will have when a task has ended.
func (s *Cache) PredictResize(m objectstate.Object, device, size string) {
	s.at(m, func(r *entry) { r.resized = map[string]string{device: size} })
}

// OnTaskDone infers the state of a VM after a task of ours, or has the VM read again.
func (s *Cache) OnTaskDone(m objectstate.Object, t proxmox.Task) {
	s.all.Lock()
	defer s.all.Unlock()
	r := s.all.Get(m)
	if r == nil {
		return
	}
	r.lastWrite = s.now()
	if r.values == nil || !t.OK() || !r.predictTask(t.Type) {
		r.dirty |= DirtyAll
		r.changes++
		return
	}
	r.version, r.seen, r.predicted, r.due = 0, s.now(), true, sooner(r.due, s.now().Add(CheckWithin))
}

// predictTask applies the effect of a task to the entry, and reports whether the effect follows from what is known.
func (r *entry) predictTask(task string) bool {
	v := r.cachedVM(r.seen)
	if len(v.Pending) > 0 || v.Lock() != "" || r.status.HAManaged {
		return false // Such a start changes more than the power state.
	}
	switch task {
	case "qmstart":
		r.status, r.listed = proxmox.Status{Status: "running", QMPStatus: "running"}, false
	case "qmstop", "qmshutdown":
		r.status, r.listed = proxmox.Status{Status: "stopped", QMPStatus: "stopped"}, false
	case "resize":
		if len(r.resized) == 0 {
			return false
		}
		values, err := json.Marshal(resized(v.Values, r.resized))
		r.values, r.resized = values, nil
		return err == nil
	default:
		return false
	}
	return true
}

// resized returns a copy of the options of a VM with the new sizes of disks.
func resized(values []proxmox.PendingValue, sizes map[string]string) []proxmox.PendingValue {
	out := slices.Clone(values)
	for i, p := range out {
		k, err := proxmox.ParseDisk(ptr.Deref(p.Value, ""))
		if size, ok := sizes[p.Key]; ok && err == nil {
			k.Options.Set("size", size)
			out[i].Value = new(k.String())
		}
	}
	return out
}

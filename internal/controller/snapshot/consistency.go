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

package snapshot

import (
	"context"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/consistency"
)

// logLines is how many lines of a task's log are read. The log of a snapshot without memory has only a few.
const logLines = 500

// consistency returns the consistency of a snapshot that was just taken. If it cannot be read now, it is not read later. The snapshot exists anyway.
func (e *external) consistency(ctx context.Context, s state) v1alpha1.Consistency {
	v := e.view
	is := consistency.Snapshot{Memory: v.entry.Memory}
	if !is.Memory {
		e.learn(ctx, &is, s)
	}
	return v1alpha1.Consistency(is.Level())
}

// learn reads the data that shows the state of the file systems.
func (e *external) learn(ctx context.Context, is *consistency.Snapshot, s state) {
	v := e.view
	config, err := e.client.SnapshotConfig(ctx, v.ref(), v.name)
	if err != nil {
		return
	}
	now, err := e.client.Status(ctx, v.ref())
	if err != nil {
		return
	}
	if is.Version, err = e.inventory.Version(ctx); err != nil {
		return
	}
	is.Agent, is.Power = config.Values["agent"], v.record.power(now)
	if u := s.takenBy(); u != "" {
		is.Log, err = e.client.TaskLog(ctx, u, logLines)
		is.Logged = err == nil && len(is.Log) > 0
	}
}

// power returns whether the VM was running while the snapshot was taken. PVE starts no VM meanwhile, but a guest may shut down.
func (r *record) power(now proxmox.Status) consistency.Power {
	switch {
	case r.Ran && now.Running() && int64(now.Uptime.Seconds()) >= r.Uptime:
		return consistency.Ran
	case !r.Ran && !now.Running():
		return consistency.Off
	}
	return consistency.Unclear
}

// takenBy returns the task that has taken the snapshot, if that is certain.
func (s *state) takenBy() proxmox.UPID {
	switch {
	case s.task != nil:
		return s.task.UPID
	case len(s.others) == 1:
		return s.others[0].UPID
	}
	return ""
}

// consistency returns the consistency of the snapshot for the status.
func (r *record) consistency(s *proxmox.Snapshot) v1alpha1.Consistency {
	switch {
	case s.Memory:
		return v1alpha1.ConsistencyMemory
	case r.Consistency == "":
		return v1alpha1.ConsistencyUnknown
	}
	return r.Consistency
}

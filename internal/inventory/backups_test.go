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

package inventory

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestBackupRuns checks that the tasks of a node are listed, the last one to begin first, and that the log of each is read once, to its end.
func TestBackupRuns(t *testing.T) {
	p := &pve{}
	c := New(p)
	defer c.Close()
	var ended []proxmox.Task
	for range 2 {
		tasks, err := c.BackupTasks(t.Context(), "pve1")
		if err != nil || len(tasks.Ended) != 2 || tasks.Ended[0].Start.Before(tasks.Ended[1].Start) || !tasks.Hidden {
			t.Fatalf("the tasks that have ended: %v, %v", tasks, err)
		}
		ended = tasks.Ended
	}
	lists := p.calls.Load()
	for range 2 {
		for _, task := range ended {
			if run, err := c.BackupRun(t.Context(), task.UPID); err != nil || run.Command == nil {
				t.Errorf("the last line of the log of %s is not read: %v, %v", task.UPID, run, err)
			}
		}
	}
	if n := p.calls.Load(); lists != 1 || n != 5 {
		t.Errorf("want one list, and two pages of each log, got %d calls and %d after the logs", lists, n)
	}
	p.set(func() { p.privileges = proxmox.Privileges{"Sys.Audit": true} })
	c.invalidateAfter([]proxmox.Task{{Type: backupTask, Node: "pve1"}})
	if tasks, err := c.BackupTasks(t.Context(), "pve1"); err != nil || tasks.Hidden || p.calls.Load() != 6 {
		t.Errorf("after the end of a task: %v, %v, %d calls", tasks, err, p.calls.Load())
	}
}

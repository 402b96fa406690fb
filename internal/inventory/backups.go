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
	"context"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
)

// A backupsClient reads the tasks of backups and their logs.
type backupsClient interface {
	NodeTasks(ctx context.Context, node, taskType string) ([]proxmox.Task, error)
	TaskLines(ctx context.Context, u proxmox.UPID, start, limit int) (lines []string, total int, err error)
}

// backupTask is the type of the tasks that create backups.
const backupTask = "vzdump"

// BackupTasks holds the tasks of backups on a node.
type BackupTasks struct {
	// Ended tasks, the one that began last first.
	Ended []proxmox.Task

	// Hidden is true if the user cannot see the tasks of others on the node, because Sys.Audit on the node is missing.
	Hidden bool
}

// backups reads the tasks of backups and the content of their logs.
type backups struct {
	times  *times
	client Client

	tasks *cachedBy[string, BackupTasks]
	runs  *cachedBy[proxmox.UPID, backuplog.Run]
}

func newBackups(times *times, client Client) *backups {
	b := &backups{times: times, client: client}
	b.tasks, b.runs = newCachedBy(b.readTasks), newCachedBy(b.readRun)
	return b
}

// BackupTasks returns the tasks of backups that have ended on a node, which must be online. They are Stable, and read again after a backup was seen to
// end.
func (b *backups) BackupTasks(ctx context.Context, node string) (BackupTasks, error) {
	return read(ctx, b.times, b.tasks.of(node), Stable)
}

// BackupRun returns the content of the log of a task that has ended. The log is read once. The result must not be changed.
func (b *backups) BackupRun(ctx context.Context, u proxmox.UPID) (backuplog.Run, error) {
	return b.runs.of(u).get(ctx, b.times.life, b.times.now, forGood)
}

func (b *backups) readTasks(ctx context.Context, node string) (BackupTasks, error) {
	path := "/nodes/" + node
	all, err := b.client.Permissions(ctx, path)
	if err != nil {
		return BackupTasks{}, err
	}
	tasks, err := b.client.NodeTasks(ctx, node, backupTask)
	if err != nil {
		return BackupTasks{}, err
	}
	tasks = slices.DeleteFunc(tasks, func(t proxmox.Task) bool { return t.Running })
	slices.SortStableFunc(tasks, func(x, y proxmox.Task) int { return y.Start.Compare(x.Start) })
	b.runs.forget(func(u proxmox.UPID) bool {
		return u.Node() == node && !slices.ContainsFunc(tasks, func(t proxmox.Task) bool { return t.UPID == u })
	})
	return BackupTasks{Ended: tasks, Hidden: !all[path]["Sys.Audit"]}, nil
}

// Limits of a log: the number of lines that are read by one call, and in total.
const pageLines, mostLines = 5000, 200000

func (b *backups) readRun(ctx context.Context, u proxmox.UPID) (backuplog.Run, error) {
	r := backuplog.NewReader()
	for start, more := 0, true; more; start += pageLines {
		lines, total, err := b.client.TaskLines(ctx, u, start, pageLines)
		if err != nil {
			return backuplog.Run{}, err
		}
		for _, line := range lines {
			r.Read(line)
		}
		more = len(lines) == pageLines && start+pageLines < min(total, mostLines)
	}
	return r.Run(), nil
}

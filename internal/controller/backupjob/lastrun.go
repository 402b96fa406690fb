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

package backupjob

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
)

// Results of a run for a guest.
const resultOK, resultFailed, resultSkipped = "OK", "Failed", "Skipped"

const (
	// scheduler is the user that starts runs that are due.
	scheduler = "root@pam"

	// startsWithin is how long after its due time a run may start. The scheduler looks once a minute.
	startsWithin = 2 * time.Minute

	// longestAgo is how long ago a run may have begun to be looked for: a month, and a margin for late runs.
	longestAgo = 35 * 24 * time.Hour

	// mostLogs is how many logs of a node are read to find a run.
	mostLogs = 50
)

// A finder finds the last runs of a job. Proxmox VE runs a job on each node for the guests there, and neither the task nor its log names the job. A
// run belongs to the job if it was started with the job's options.
type finder struct {
	v       view
	target  *target
	vms     map[int]config.MachineVM
	command backuplog.Command
	now     time.Time

	// last has the last runs by guest, and known the tasks of those that were known before.
	last  map[int]*v1alpha1.BackupJobRun
	known map[proxmox.UPID]bool

	// hidden lists why runs are not known.
	hidden []string
}

// showRuns shows the result of the last run for each guest. before has the guests as they were shown before.
func (i inspector) showRuns(ctx context.Context, v view, t *target, vms map[int]config.MachineVM, before []v1alpha1.BackupJobGuest) {
	if !v.Exists {
		return
	}
	f := &finder{
		v: v, target: t, vms: vms, command: backuplog.Started(v.Seen.Values), now: i.now(),
		last: map[int]*v1alpha1.BackupJobRun{}, known: map[proxmox.UPID]bool{},
	}
	for _, g := range before {
		if r := g.LastRun; r != nil && f.isOf(int(g.VMID), r.Time.Time) {
			f.last[int(g.VMID)], f.known[proxmox.UPID(r.Task)] = r, true
		}
	}
	if err := f.find(ctx); err != nil {
		f.hidden = append(f.hidden, err.Error())
	}
	o := v.Resource.Observation()
	for i := range o.Guests {
		o.Guests[i].LastRun = f.last[int(o.Guests[i].VMID)]
	}
	o.HiddenRuns = strings.Join(f.hidden, "; ")
}

// isOf reports whether a run may have been for a guest, and not for a former one with its VMID.
func (f *finder) isOf(guest int, began time.Time) bool {
	return began.After(f.vms[guest].Created.Add(-clockTolerance))
}

// find finds the runs on the nodes that answer.
func (f *finder) find(ctx context.Context) error {
	nodes, err := f.v.Inventory.Nodes(ctx)
	if err != nil {
		return err
	}
	only := f.v.Seen.Values[nodeOption]
	for _, n := range nodes {
		if !n.Online() || only != "" && n.Name != only {
			continue
		}
		if err := f.findOn(ctx, n.Name); err != nil {
			f.hidden = append(f.hidden, fmt.Sprintf("node %q: %s", n.Name, err))
		}
	}
	return nil
}

// findOn finds the last run on a node. The log of a task is read once, however many jobs look for their runs.
func (f *finder) findOn(ctx context.Context, node string) error {
	tasks, err := f.v.Inventory.BackupTasks(ctx, node)
	switch {
	case err != nil:
		return err
	case tasks.Hidden:
		return errors.New("the user may not see the tasks of others there: grant Sys.Audit on /nodes/" + node)
	}
	logs := 0
	for _, task := range tasks.Ended {
		if f.known[task.UPID] || logs == mostLogs {
			return nil
		}
		if !f.mayBe(task) {
			continue
		}
		logs++
		run, err := f.v.Inventory.BackupRun(ctx, task.UPID)
		if err != nil {
			return err
		}
		belongs, err := f.belongs(ctx, task, run)
		if belongs {
			f.take(task, run)
		}
		if belongs || err != nil {
			return err
		}
	}
	return nil
}

// mayBe reports whether a task may be a run of the job. The task of a single guest has its VMID.
func (f *finder) mayBe(task proxmox.Task) bool {
	return f.now.Sub(task.Start) < longestAgo &&
		(task.ID == "" || slices.ContainsFunc(f.target.guests, func(id int) bool { return fmt.Sprint(id) == task.ID }))
}

// belongs reports whether a run is one of the job. The guests that a job names may have changed since. In that case the run belongs to the job if no
// other job has the same remaining options.
func (f *finder) belongs(ctx context.Context, task proxmox.Task, run backuplog.Run) (bool, error) {
	c := run.Command
	switch {
	case c == nil:
		return f.failedToBegin(task), nil
	case f.command.Equal(*c):
		return true, nil
	case !c.Scheduled || !f.command.Alike(*c):
		return false, nil
	}
	jobs, err := f.v.Inventory.Objects(ctx, Table().Collection, inventory.Stable)
	return err == nil && !slices.ContainsFunc(jobs, func(o proxmox.Object) bool {
		return o.Name != f.v.Name && backuplog.Started(o.Values).Alike(*c)
	}), err
}

// failedToBegin reports whether a task is a run of the job that failed before its log contained its options. This is a run that the scheduler has
// started when the job was due.
func (f *finder) failedToBegin(task proxmox.Task) bool {
	due, storage := f.v.Resource.Observation().LastScheduleTime, backuplog.StorageOf(task)
	if task.OK() || due == nil || task.User != scheduler || storage != "" && storage != storageOf(f.v) {
		return false
	}
	late := task.Start.Sub(due.Time)
	return late > -startsWithin && late < startsWithin
}

// take records the results of a run for the guests.
func (f *finder) take(task proxmox.Task, run backuplog.Run) {
	for _, id := range f.target.guests {
		had := f.last[id]
		if had != nil && !had.Time.Time.Before(task.Start) || !f.isOf(id, task.Start) {
			continue
		}
		if r := f.outcome(id, task, run); r != nil {
			f.last[id] = r
		}
	}
}

// outcome returns the outcome of a run for a guest, or nil if it has none.
func (f *finder) outcome(id int, task proxmox.Task, run backuplog.Run) *v1alpha1.BackupJobRun {
	r := &v1alpha1.BackupJobRun{Time: metav1.NewTime(task.Start), Task: string(task.UPID)}
	o, came := run.Guests[id]
	problem, message := run.Failure(task)
	switch {
	case o.Finished:
		r.Result, r.Volume = resultOK, o.VolumeOn(storageOf(f.v))
		return r
	case o.Problem != "":
		problem, message = o.Problem, o.Message
	case !came && !f.meant(id, task, run):
		return nil
	}
	r.Result, r.Reason, r.Message = resultFailed, string(problem), message
	if problem == "" {
		r.Result = resultSkipped
	}
	return r
}

// meant reports whether a run was to back up a guest that it did not reach.
func (f *finder) meant(id int, task proxmox.Task, run backuplog.Run) bool {
	c := run.Command
	switch {
	case f.target.nodes[id] != task.Node || slices.Contains(run.Elsewhere, id):
		return false
	case c == nil || slices.Contains(c.Guests, id):
		return true
	}
	created := f.vms[id].Created // Whether a guest that joined a pool later was meant is unknown, so it was not.
	return c.Options[allOption] == "1" && !slices.Contains(c.Excluded, id) && !created.IsZero() && created.Before(task.Start)
}

// measure shows the sizes of the backups that the last runs have created.
func measure(guests []v1alpha1.BackupJobGuest, all map[int][]proxmox.Volume) {
	for _, g := range guests {
		for _, b := range all[int(g.VMID)] {
			if g.LastRun != nil && b.ID == g.LastRun.Volume {
				g.LastRun.Size = new(b.Size)
			}
		}
	}
}

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

package simulator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Task is a worker process of a node.
type Task struct {
	// UPID is the task's identity, Type what it does, such as "qmclone", ID what it does it to, such as a VMID.
	UPID, Node, Type, ID string
	// User is who started it: "user@realm" or "user@realm!token".
	User string
	// Started and Ended are its times; Ended is zero while it runs.
	Started, Ended time.Time
	// Exit is the exit status of an ended task: "OK", "WARNINGS: n" or the error.
	Exit string
	// Log are its lines.
	Log []string

	pid, pstart int
	warnings    int
	cancel      context.CancelFunc
	stopped     bool
}

// Running reports whether the task has not ended.
func (t *Task) Running() bool { return t.Ended.IsZero() }

func (st *State) newTask(node, kind, id string, who identity, now time.Time) *Task {
	st.sequence++
	t := &Task{
		Node: node, Type: kind, ID: id, User: string(who), Started: now, pid: st.sequence, pstart: st.sequence*37 + 4711,
	}
	t.UPID = fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%s:%s:%s:", node, t.pid, t.pstart, now.Unix(), kind, id, who)
	st.tasks = append(st.tasks, t)
	st.forgetTasks()
	st.logLine(logEntry{time: now, node: node, user: string(who), pri: 6, msg: "starting task " + t.UPID})
	return t
}

// maxTasks is how many ended tasks are remembered.
const maxTasks = 2000

func (st *State) forgetTasks() {
	if len(st.tasks) <= maxTasks || st.tasks[0].Running() {
		return
	}
	st.tasks = slices.Delete(st.tasks, 0, 1)
}

func (st *State) task(upid string) *Task {
	for _, t := range slices.Backward(st.tasks) {
		if t.UPID == upid {
			return t
		}
	}
	return nil
}

// work is the body of a task. Its error is the task's exit status.
type work func(*worker) error

// spawned is the result of a call that starts a task.
type spawned struct {
	task *Task
	work work
	// ended is closed when the task has ended, if anybody waits for it.
	ended chan struct{}
}

func (sp *spawned) end() {
	if sp.ended != nil {
		close(sp.ended)
	}
}

// spawn starts a task on the node that the call names. The call answers with its UPID.
func (c *call) spawn(kind, id string, w work) (any, error) {
	if err := c.s.taskFaults.RefuseTask(kind, id); err != nil {
		return nil, err
	}
	return &spawned{task: c.state.newTask(c.node, kind, id, c.who, c.now()), work: w}, nil
}

func (c *call) spawnFor(vmid int, kind string, w work) (any, error) {
	return c.spawn(kind, strconv.Itoa(vmid), w)
}

// worker is a running task.
type worker struct {
	s    *engine
	task *Task
	ctx  context.Context //nolint:containedctx // A worker lives as long as its context.
	// fault is the error that the task was told to end with.
	fault  error
	judged bool
}

// errInterrupted ends a worker that was stopped.
var errInterrupted = errors.New("received interrupt")

// run runs a task. With instant tasks it returns when the task has ended.
func (s *engine) run(sp *spawned) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.update(func(*State) { sp.task.cancel = cancel })
	w := &worker{s: s, task: sp.task, ctx: ctx}
	work := func() {
		defer sp.end()
		w.main(sp.work)
	}
	if s.instant() {
		work()
		return
	}
	s.workers.Go(work)
}

func (w *worker) main(body work) {
	err := body(w)
	if fault := w.judge(); fault != nil {
		err = fault
	}
	w.s.update(func(st *State) { w.finish(st, err) })
	w.task.cancel()
}

// judge asks once whether the task is to fail.
func (w *worker) judge() error {
	if !w.judged {
		w.judged, w.fault = true, w.s.taskFaults.TaskExit(w.task.Type, w.task.ID)
	}
	return w.fault
}

func (w *worker) finish(st *State, err error) {
	t := w.task
	t.Ended = w.s.clock.Now()
	switch {
	case t.stopped:
		t.Exit = "unexpected status"
	case err != nil:
		t.Exit, _, _ = strings.Cut(err.Error(), "\n")
		t.Log = append(t.Log, "TASK ERROR: "+t.Exit)
	case t.warnings > 0:
		t.Exit = fmt.Sprintf("WARNINGS: %d", t.warnings)
		t.Log = append(t.Log, "TASK "+t.Exit)
	default:
		t.Exit = "OK"
		t.Log = append(t.Log, "TASK OK")
	}
	pri := 6
	if err != nil {
		pri = 3
	}
	st.logLine(logEntry{time: t.Ended, node: t.Node, user: t.User, pri: pri, msg: "end task " + t.UPID + " " + t.Exit})
}

// later changes the state after a simulated duration; nobody waits for it. It must be called while the state is held.
func (s *engine) later(d time.Duration, fn func(*op)) {
	o := s.op("")
	if s.instant() {
		fn(o)
		return
	}
	s.workers.Go(func() {
		select {
		case <-s.clock.After(s.scale(d)):
			s.update(func(*State) { fn(o) })
		case <-s.ctx.Done():
		}
	})
}

// do runs fn on the state.
func (w *worker) do(fn func(*State) error) error {
	var err error
	w.s.update(func(st *State) { err = fn(st) })
	return err
}

// logf adds a line to the task's log.
func (w *worker) logf(format string, args ...any) {
	w.s.update(func(*State) { w.task.Log = append(w.task.Log, fmt.Sprintf(format, args...)) })
}

// sleep waits for a simulated duration; it fails when the task is stopped, or when a fault is to make it fail.
func (w *worker) sleep(d time.Duration) error {
	if d = w.s.scale(d); d <= 0 {
		return w.judge()
	}
	select {
	case <-w.s.clock.After(d):
		return w.judge()
	case <-w.ctx.Done():
		return errInterrupted
	}
}

// pauseFor waits as long as work of a kind takes.
func (w *worker) pauseFor(kind string) error { return w.sleep(w.s.duration(kind)) }

// locked runs fn while the guest's lock is held, and logs the wait for it as PVE does.
func (w *worker) locked(vmid int, mode lockMode, wait time.Duration, fn func() error) error {
	if ok, _ := w.s.locks.try(vmid, mode); !ok {
		w.logf("trying to acquire lock...")
		if !w.s.locks.acquire(w.ctx, vmid, mode, w.s.clock.After(w.s.lockWait(wait))) {
			return lockTimeout(vmid)
		}
		w.logf(" OK")
	}
	defer w.s.locks.release(vmid, mode)
	return fn()
}

// spawnStart starts a task from within a task, that starts a VM.
func (w *worker) spawnStart(node string, vmid int) {
	w.spawnAs(identity(w.task.User), node, "qmstart", vmid, func(w *worker) error { return w.start(node, vmid, false) })
}

// spawnAs starts another task from within a task.
func (w *worker) spawnAs(who identity, node, kind string, vmid int, body work) {
	var t *Task
	w.s.update(func(st *State) { t = st.newTask(node, kind, strconv.Itoa(vmid), who, w.s.clock.Now()) })
	w.s.run(&spawned{task: t, work: body})
}

// stop ends a task from outside.
func (t *Task) stop() {
	if t.Running() && t.cancel != nil {
		t.stopped = true
		t.cancel()
	}
}

// durations are how long the work of each kind of task takes on a small real cluster.
func durations() map[string]time.Duration {
	return map[string]time.Duration{
		"qmcreate": time.Second, "qmdestroy": time.Second, "qmclone": 1500 * time.Millisecond, "copydisk": 4 * time.Second,
		"qmstart": 1500 * time.Millisecond, "qmstop": time.Second, "qmshutdown": 4 * time.Second, "qmreboot": 4 * time.Second,
		"qmreset": 300 * time.Millisecond, "qmpause": 300 * time.Millisecond, "qmresume": 300 * time.Millisecond,
		"qmsuspend": 2 * time.Second, "qmconfig": 300 * time.Millisecond, "resize": 500 * time.Millisecond,
		"qmsnapshot": time.Second, "qmrollback": time.Second, "qmdelsnapshot": time.Second, "qmtemplate": time.Second,
		"qmmove": 4 * time.Second, "qmigrate": 5 * time.Second, "imgdel": 500 * time.Millisecond, "imgcopy": time.Second,
		"vzdump": 5 * time.Second, "qmrestore": 5 * time.Second,
		"boot": 8 * time.Second, "resources": 10 * time.Second, "offline": 3 * time.Second,
	}
}

func (s *engine) duration(kind string) time.Duration { return s.durations[kind] }

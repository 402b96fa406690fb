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

package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// work is the body of a task. Its error is the task's exit status.
type work func(*Worker) error

// spawned is the result of a call that starts a task.
type spawned struct {
	task *state.Task
	work work
	// ended is closed when the task has ended. It is nil if nothing waits for it.
	ended chan struct{}
}

func (sp *spawned) end() {
	if sp.ended != nil {
		close(sp.ended)
	}
}

// Spawn starts a task on the node of the call, which answers with the UPID.
func (c *Call) Spawn(kind, id string, w work) (any, error) {
	if err := c.Engine.taskFaults.RefuseTask(kind, id); err != nil {
		return nil, err
	}
	if c.State.NoQuorum && writesGuest(kind) {
		path := guestFile(c.Node, id)
		w = func(*Worker) error { return unwritable(path) }
	}
	return &spawned{task: c.State.NewTask(c.Node, kind, id, c.Who, c.Now()), work: w}, nil
}

// writesGuest reports whether a kind of task writes the configuration of a VM.
func writesGuest(kind string) bool {
	return slices.Contains([]string{
		"qmconfig", "qmdestroy", "qmsnapshot", "qmdelsnapshot", "qmrollback", "resize", "qmmove", "qmtemplate", "qmsuspend", "vzdump",
	}, kind)
}

// SpawnFor starts a task for a guest.
func (c *Call) SpawnFor(vmid int, kind string, w work) (any, error) {
	return c.Spawn(kind, strconv.Itoa(vmid), w)
}

// Worker is a running task.
type Worker struct {
	Engine *Engine
	Task   *state.Task
	Ctx    context.Context //nolint:containedctx // A worker lives as long as its context.
	// fault is the injected error of the task.
	fault  error
	judged bool
	// held means that it was already checked whether the task is to be held.
	held bool
}

// errInterrupted ends a worker that was stopped.
var errInterrupted = errors.New("received interrupt")

// run runs a task. If tasks are instant, it returns when the task has ended.
func (s *Engine) run(sp *spawned) {
	ctx, cancel := context.WithCancel(s.Ctx)
	s.Update(func(*state.State) {
		sp.task.Cancel, sp.task.Gone = cancel, make(chan struct{})
		if sp.task.Lost {
			cancel() // Its node has gone down since the call.
		}
	})
	w := &Worker{Engine: s, Task: sp.task, Ctx: ctx}
	work := func() {
		defer sp.end()
		w.main(sp.work)
	}
	if s.Instant() {
		work()
		return
	}
	s.Workers.Go(work)
}

func (w *Worker) main(body work) {
	err := body(w)
	if fault := w.judge(); fault != nil && !w.Task.Lost {
		err = fault
	}
	w.Engine.Update(func(st *state.State) { w.Finish(st, err) })
	w.Task.Cancel()
	close(w.Task.Gone)
}

// judge checks once whether the task is to fail.
func (w *Worker) judge() error {
	if !w.judged {
		w.judged, w.fault = true, w.Engine.taskFaults.TaskExit(w.Task.Type, w.Task.ID)
	}
	return w.fault
}

// Finish ends a task with an error or without.
func (w *Worker) Finish(st *state.State, err error) {
	t := w.Task
	if t.Lost {
		return // The exit status is not recorded.
	}
	t.Ended = w.Engine.Clock.Now()
	switch {
	case t.Stopped:
		t.Exit = "unexpected status"
	case err != nil:
		t.Exit, _, _ = strings.Cut(err.Error(), "\n")
		t.Log = append(t.Log, "TASK ERROR: "+t.Exit)
	case t.Warnings > 0:
		t.Exit = fmt.Sprintf("WARNINGS: %d", t.Warnings)
		t.Log = append(t.Log, "TASK "+t.Exit)
	default:
		t.Exit = "OK"
		t.Log = append(t.Log, "TASK OK")
	}
	pri := 6
	if err != nil {
		pri = 3
	}
	st.LogLine(state.LogEntry{Time: t.Ended, Node: t.Node, User: t.User, Priority: pri, Message: "end task " + t.UPID + " " + t.Exit})
}

// Later changes the state after a simulated duration in the background. It must be called while the state is held.
func (s *Engine) Later(d time.Duration, fn func(*Op)) {
	o := s.Op("")
	if s.Instant() {
		fn(o)
		return
	}
	s.After(s.Scale(d), fn)
}

// After runs fn after a duration of real time.
func (s *Engine) After(d time.Duration, fn func(*Op)) {
	o := s.Op("")
	s.Workers.Go(func() {
		select {
		case <-s.Clock.After(d):
			s.Update(func(*state.State) { fn(o) })
		case <-s.Ctx.Done():
		}
	})
}

// Do runs fn on the state.
func (w *Worker) Do(fn func(*state.State) error) error {
	var err error
	w.Engine.Update(func(st *state.State) {
		if err = errInterrupted; !w.Task.Lost {
			err = fn(st)
		}
	})
	return err
}

// Logf adds a line to the task's log.
func (w *Worker) Logf(format string, args ...any) {
	w.Engine.Update(func(*state.State) { w.Task.Log = append(w.Task.Log, fmt.Sprintf(format, args...)) })
}

// Sleep waits for a simulated duration. It fails when the task is stopped, or when a fault makes it fail.
func (w *Worker) Sleep(d time.Duration) error {
	if err := w.hold(); err != nil {
		return err
	}
	if d = w.Engine.Scale(d); d <= 0 {
		return w.judge()
	}
	select {
	case <-w.Engine.Clock.After(d):
		return w.judge()
	case <-w.Ctx.Done():
		return errInterrupted
	}
}

// hold checks once whether the task is to be held, and waits as long as it is.
func (w *Worker) hold() error {
	var release <-chan struct{}
	if !w.held {
		w.held, release = true, w.Engine.taskFaults.HoldTask(w.Task.Type, w.Task.ID)
	}
	if release == nil {
		return nil
	}
	select {
	case <-release:
		return nil
	case <-w.Ctx.Done():
		return errInterrupted
	}
}

// PauseFor waits for the duration of a kind of work.
func (w *Worker) PauseFor(kind string) error { return w.Sleep(w.Engine.Duration(kind)) }

// Locked runs fn while the guest's lock is held, and logs the wait for it like PVE.
func (w *Worker) Locked(vmid int, mode lockMode, wait time.Duration, fn func() error) error {
	if ok, _ := w.Engine.Locks.Try(vmid, mode); !ok {
		w.Logf("trying to acquire lock...")
		if !w.Engine.Locks.acquire(w.Ctx, vmid, mode, w.Engine.Clock.After(w.Engine.lockWait(wait))) {
			return lockTimeout(vmid)
		}
		w.Logf(" OK")
	}
	defer w.Engine.Locks.Release(vmid, mode)
	return fn()
}

// SpawnAs starts another task from within a task.
func (w *Worker) SpawnAs(who state.Identity, node, kind string, vmid int, body work) {
	var t *state.Task
	w.Engine.Update(func(st *state.State) { t = st.NewTask(node, kind, strconv.Itoa(vmid), who, w.Engine.Clock.Now()) })
	w.Engine.run(&spawned{task: t, work: body})
}

// durations returns how long the work of each kind of task takes on a small real cluster.
func durations() map[string]time.Duration {
	return map[string]time.Duration{
		"qmcreate": time.Second, "qmdestroy": time.Second, "qmclone": 1500 * time.Millisecond, "copydisk": 4 * time.Second,
		"qmstart": 1500 * time.Millisecond, "qmstop": time.Second, "qmshutdown": 4 * time.Second, "qmreboot": 4 * time.Second,
		"qmreset": 300 * time.Millisecond, "qmpause": 300 * time.Millisecond, "qmresume": 300 * time.Millisecond,
		"qmsuspend": 2 * time.Second, "qmconfig": 300 * time.Millisecond, "resize": 500 * time.Millisecond,
		"qmsnapshot": time.Second, "qmrollback": time.Second, "qmdelsnapshot": time.Second, "qmtemplate": time.Second,
		"qmmove": 4 * time.Second, "qmigrate": 5 * time.Second, "imgdel": 500 * time.Millisecond, "imgcopy": time.Second,
		"vzdump": 5 * time.Second, "qmrestore": 5 * time.Second,
		"boot": 8 * time.Second, "resources": 10 * time.Second, "offline": 3 * time.Second, "membership": 8 * time.Second, "daemons": 5 * time.Second,
		"reboot": time.Minute, "cleanup": 300 * time.Millisecond,
	}
}

// Duration returns how long work of a kind takes.
func (s *Engine) Duration(kind string) time.Duration { return s.Durations[kind] }

// Outside is the result of a call that completes without holding the state.
type Outside func() (any, error)

// StopTask ends a task. It answers when the worker has ended: PVE signals the worker, waits, and finally kills it.
func (c *Call) StopTask(t *state.Task) (any, error) {
	if !t.Stop() {
		return nil, nil //nolint:nilnil // The answer is null.
	}
	gone := t.Gone
	return Outside(func() (any, error) {
		<-gone
		return nil, nil //nolint:nilnil // The answer is null.
	}), nil
}

// SpawnWaiting starts a task and waits for its end as long as the call requests. It returns no UPID for a task that has succeeded in that time.
func (c *Call) SpawnWaiting(vmid int, kind string, w work) (any, error) {
	result, err := c.SpawnFor(vmid, kind, w)
	sp, ok := result.(*spawned)
	wait := time.Duration(c.Num("background_delay")) * time.Second
	if err != nil || !ok || wait <= 0 {
		return result, err
	}
	sp.ended = make(chan struct{})
	return Outside(func() (any, error) {
		c.Engine.run(sp)
		if !c.Engine.waitFor(sp.ended, wait) {
			return sp.task.UPID, nil
		}
		exit := ""
		c.Engine.Update(func(*state.State) { exit = sp.task.Exit })
		if exit != "OK" && !strings.HasPrefix(exit, "WARNINGS: ") {
			return nil, apierr.Errorf("failed to update VM %d: %s", vmid, exit)
		}
		return nil, nil //nolint:nilnil // The answer is null.
	}), nil
}

// waitFor reports whether a channel is closed within a simulated duration.
func (s *Engine) waitFor(ended <-chan struct{}, d time.Duration) bool {
	if !s.Instant() {
		select {
		case <-ended:
		case <-s.Clock.After(s.Scale(d)):
		case <-s.Ctx.Done():
		}
	}
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

// InJSON is a result in JSON.
type InJSON []byte

// An Op is work on the state on behalf of a call or a task. It is only used while the state is held.
type Op struct {
	Engine *Engine
	State  *state.State
	Who    state.Identity
	Node   string
	Task   *state.Task
}

// Op returns an Op on behalf of the call.
func (c *Call) Op() *Op { return &Op{Engine: c.Engine, State: c.State, Who: c.Who, Node: c.Node} }

// Op returns an Op on behalf of the task.
func (w *Worker) Op(st *state.State) *Op {
	return &Op{Engine: w.Engine, State: st, Who: state.Identity(w.Task.User), Node: w.Task.Node, Task: w.Task}
}

// Logf adds a line to the task's log, if there is a task.
func (o *Op) Logf(format string, args ...any) {
	if o.Task != nil {
		o.Task.Log = append(o.Task.Log, fmt.Sprintf(format, args...))
	}
}

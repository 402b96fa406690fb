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

// Package supervisor ensures that a launch leaves no processes and no files behind, however it ends.
//
// The program starts itself a second time. The second process, the worker, runs the task. The first process, the
// supervisor, only waits for the worker, so that it survives a crash or a kill -9 of the worker. When the worker has
// ended, the supervisor ends the programs that the worker left running and removes the run folder. On Linux, the
// supervisor also stops when the process that started it, such as go run, ends, and the worker stops when the
// supervisor ends.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// dirVariable is set in the environment of the worker only. Its value is the run folder.
const dirVariable = "PROVIDER_PROXMOX_RUN_DIR"

// codeInterrupted is the exit code of a launch that was interrupted.
const codeInterrupted = 130

// ErrInterrupted is the cause of the canceled context when a signal asked the launcher to stop.
var ErrInterrupted = errors.New("interrupted")

// Task is the work of a launch. It may write into the folder dir, which is removed when the launch ends.
type Task func(ctx context.Context, dir string) error

// Run runs a task under a supervisor and returns the exit code of the program: 0 when the task returned nil,
// 130 when it was interrupted, 1 when it failed. The run folder is created inside runs and its name
// starts with name; when the task fails or panics, its *.log files stay until the next launch.
func Run(runs, name string, task Task) int {
	return runSupervised(runs, name, task, workerAttributes())
}

// RunIsolated runs a task as Run does, in a new network namespace whose only interface is loopback. It requires Linux
// and root.
func RunIsolated(runs, name string, task Task) int {
	attributes := workerAttributes()
	if err := isolate(attributes); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return runSupervised(runs, name, func(ctx context.Context, dir string) error {
		if err := startLoopback(); err != nil {
			return fmt.Errorf("cannot start the loopback interface: %w", err)
		}
		return task(ctx, dir)
	}, attributes)
}

func runSupervised(runs, name string, task Task, attributes *syscall.SysProcAttr) int {
	if dir := os.Getenv(dirVariable); dir != "" {
		_ = os.Unsetenv(dirVariable)
		return runWorker(dir, task)
	}
	code, err := supervise(runs, name, attributes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return code
}

// runWorker runs the task in this process, the worker.
func runWorker(dir string, task Task) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go watchSignals(cancel)

	supervisor := os.Getppid()
	err := task(ctx, dir)
	if os.Getppid() != supervisor {
		_ = os.RemoveAll(dir)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrInterrupted) || errors.Is(context.Cause(ctx), ErrInterrupted):
		return codeInterrupted
	default:
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
}

// watchSignals interrupts the task on the first signal. On a second Ctrl-C, the process ends at once and the supervisor
// cleans up. Other signals do not count as a second one, because Linux may report the end of a supervisor once for each
// of its threads.
func watchSignals(interrupt context.CancelCauseFunc) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	<-signals
	interrupt(ErrInterrupted)
	for s := range signals {
		if s == syscall.SIGINT {
			os.Exit(codeInterrupted)
		}
	}
}

// supervise starts the worker, waits for it and cleans up.
func supervise(runs, name string, attributes *syscall.SysProcAttr) (int, error) {
	// The kernel signals the worker when the thread that started it ends, so this thread must not end earlier.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	dir, err := newRun(runs, name)
	if err != nil {
		return 0, fmt.Errorf("cannot create a run folder: %w", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	becomeSubreaper()

	code, err := awaitWorker(dir.path, attributes, signals)
	endDescendants()
	if code != 0 && code != codeInterrupted {
		dir.keepLogs()
		fmt.Fprintln(os.Stderr, "logs:", dir.path)
		return code, err
	}
	dir.remove()
	return code, err
}

// awaitWorker runs the worker and forwards the signals of this process to it.
func awaitWorker(dir string, attributes *syscall.SysProcAttr, signals <-chan os.Signal) (int, error) {
	worker, err := startWorker(dir, attributes)
	if err != nil {
		return 1, fmt.Errorf("cannot start the launcher: %w", err)
	}
	parent := os.Getppid()
	ended := make(chan error, 1)
	go func() { ended <- worker.Wait() }()
	for {
		select {
		case s := <-signals:
			forward(worker.Process, s, parent)
		case err := <-ended:
			return exitCode(worker.ProcessState, err)
		}
	}
}

func startWorker(dir string, attributes *syscall.SysProcAttr) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), dirVariable+"="+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = attributes
	return cmd, cmd.Start()
}

// forward sends a signal to the worker. Linux reports by SIGUSR1 that the process that started the supervisor has
// ended. It sends the same signal when only a thread of that process ends, so forward compares the parent.
func forward(worker *os.Process, s os.Signal, parent int) {
	if s != syscall.SIGUSR1 {
		_ = worker.Signal(s)
		return
	}
	if os.Getppid() != parent {
		_ = worker.Signal(syscall.SIGTERM)
	}
}

func exitCode(state *os.ProcessState, err error) (int, error) {
	if state == nil {
		return 1, fmt.Errorf("cannot wait for the launcher: %w", err)
	}
	if state.Exited() {
		return state.ExitCode(), nil
	}
	return 1, fmt.Errorf("the launcher ended unexpectedly: %s", state)
}

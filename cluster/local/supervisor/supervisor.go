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

// Package supervisor makes sure that a launch leaves nothing behind, however it ends.
//
// The program starts itself a second time. The second process, the worker, does the work; the first, the
// supervisor, does nothing but wait for it, so that a crash of the worker, or a kill -9, cannot take it along.
// When the worker is gone, the supervisor ends the programs that the worker left running and removes the run
// folder. On Linux it also notices when the process that started it, such as go run, has died, and the
// worker notices when the supervisor has.
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

// dirVariable tells the worker its run folder, and tells a process that it is the worker.
const dirVariable = "PROVIDER_PROXMOX_RUN_DIR"

// Exit codes beside 0 and 1.
const codeInterrupted = 130

// ErrInterrupted is the cause of the cancelled context when somebody asked the launcher to stop.
var ErrInterrupted = errors.New("interrupted")

// Task is the work of a launch. It may write into the folder dir, which is removed when the launch ends.
type Task func(ctx context.Context, dir string) error

// Run runs a task under a supervisor and returns the exit code of the program: 0 when the task returned nil,
// 130 when it was interrupted, 1 when it failed. The run folder is created inside runs and its name
// starts with name; when the task fails or panics, its *.log files stay until the next launch.
func Run(runs, name string, task Task) int {
	return supervised(runs, name, task, workerAttributes())
}

// RunIsolated is Run for a task that shall see no network interface but a loopback of its own, which nobody else
// sees. It needs Linux and the rights of root.
func RunIsolated(runs, name string, task Task) int {
	attributes := workerAttributes()
	if err := isolate(attributes); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return supervised(runs, name, func(ctx context.Context, dir string) error {
		if err := startLoopback(); err != nil {
			return fmt.Errorf("cannot start the loopback interface: %w", err)
		}
		return task(ctx, dir)
	}, attributes)
}

func supervised(runs, name string, task Task, attributes *syscall.SysProcAttr) int {
	if dir := os.Getenv(dirVariable); dir != "" {
		_ = os.Unsetenv(dirVariable)
		return work(dir, task)
	}
	code, err := stand(runs, name, attributes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return code
}

// work runs the task in this process, the worker.
func work(dir string, task Task) int {
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

// watchSignals interrupts the task when the first signal comes. Whoever types Ctrl-C once more does not
// want to wait: the process ends, and the supervisor cleans up. No other signal counts as a second one, since
// Linux may report the death of a supervisor with several threads several times.
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

// stand starts the worker, waits for it and cleans up.
func stand(runs, name string, attributes *syscall.SysProcAttr) (int, error) {
	// The worker is told when the thread that started it dies: it must be one that lives on.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	dir, err := newRun(runs, name)
	if err != nil {
		return 0, fmt.Errorf("cannot create a run folder: %w", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	adopt()

	code, err := supervise(dir.path, attributes, signals)
	sweep()
	if code != 0 && code != codeInterrupted {
		dir.keepLogs()
		fmt.Fprintln(os.Stderr, "logs:", dir.path)
		return code, err
	}
	dir.remove()
	return code, err
}

// supervise runs the worker and hands the signals of this process on to it.
func supervise(dir string, attributes *syscall.SysProcAttr, signals <-chan os.Signal) (int, error) {
	worker, err := startWorker(dir, attributes)
	if err != nil {
		return 1, fmt.Errorf("cannot start the launcher: %w", err)
	}
	parent := os.Getppid()
	gone := make(chan error, 1)
	go func() { gone <- worker.Wait() }()
	for {
		select {
		case s := <-signals:
			forward(worker.Process, s, parent)
		case err := <-gone:
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

// forward passes a signal on. SIGUSR1 is how Linux reports the death of the process that started the
// supervisor; it comes for a single thread's end as well, hence the look at who the parent is.
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

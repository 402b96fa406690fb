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

package supervisor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These variables make this test program behave as a supervised launcher.
const (
	runsVariable = "SUPERVISOR_TEST_RUNS"
	taskVariable = "SUPERVISOR_TEST_TASK"
)

func TestMain(m *testing.M) {
	if runs := os.Getenv(runsVariable); runs != "" {
		os.Exit(Run(runs, "test", taskThat(os.Getenv(taskVariable))))
	}
	os.Exit(m.Run())
}

// taskThat returns a task that starts a program, writes a file with the process ids of the program and of the worker, and then ends in the given way.
func taskThat(how string) Task {
	return func(ctx context.Context, dir string) error {
		program := exec.Command("sleep", "600")
		program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := program.Start(); err != nil {
			return err
		}
		pids := strconv.Itoa(program.Process.Pid) + " " + strconv.Itoa(os.Getpid())
		if err := os.WriteFile(filepath.Join(dir, "pids.log"), []byte(pids), 0o600); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(dir, "pids.log"), filepath.Join(dir, "ready.log")); err != nil {
			return err
		}
		switch how {
		case "fail":
			return errors.New("it failed")
		case "panic":
			panic("it panics")
		case "succeed":
			return nil
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

type launch struct {
	cmd  *exec.Cmd
	runs string
}

func start(t *testing.T, task string) launch {
	t.Helper()
	l := launch{runs: filepath.Join(t.TempDir(), "run")}
	l.cmd = exec.Command(os.Args[0])
	l.cmd.Env = append(os.Environ(), runsVariable+"="+l.runs, taskVariable+"="+task)
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Kill() })
	return l
}

// pids waits until the task has started and returns the ids of its program and of the worker.
func (l launch) pids(t *testing.T) (program, worker int) {
	t.Helper()
	var text string
	eventually(t, "the task starts", func() bool {
		files, _ := filepath.Glob(filepath.Join(l.runs, "*", "ready.log"))
		if len(files) != 1 {
			return false
		}
		b, err := os.ReadFile(files[0])
		text = string(b)
		return err == nil
	})
	first, second, _ := strings.Cut(text, " ")
	program, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	worker, err = strconv.Atoi(second)
	if err != nil {
		t.Fatal(err)
	}
	return program, worker
}

// files lists what the launch left in its run folders, by name.
func (l launch) files(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(l.runs, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(4 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it does not happen in time that %s", what)
		}
	}
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestRun(t *testing.T) {
	cases := map[string]struct {
		reason string
		task   string
		signal syscall.Signal
		code   int
		files  []string
	}{
		"Success":   {reason: "a task that succeeds leaves no files", task: "succeed", code: 0},
		"Failure":   {reason: "the logs of a task that fails stay", task: "fail", code: 1, files: []string{"lock", "ready.log"}},
		"Panic":     {reason: "the logs of a task that panics stay", task: "panic", code: 2, files: []string{"lock", "ready.log"}},
		"Interrupt": {reason: "an interrupted task leaves no files", task: "wait", signal: syscall.SIGINT, code: 130},
		"Terminate": {reason: "a terminated task leaves no files", task: "wait", signal: syscall.SIGTERM, code: 130},
		"Hangup":    {reason: "a task whose terminal is closed leaves no files", task: "wait", signal: syscall.SIGHUP, code: 130},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := start(t, tc.task)
			if tc.signal != 0 {
				l.pids(t)
				if err := l.cmd.Process.Signal(tc.signal); err != nil {
					t.Fatal(err)
				}
			}
			_ = l.cmd.Wait()
			if got := l.cmd.ProcessState.ExitCode(); got != tc.code {
				t.Errorf("%s: the exit code is %d, want %d", tc.reason, got, tc.code)
			}
			if got := l.files(t); strings.Join(got, " ") != strings.Join(tc.files, " ") {
				t.Errorf("%s: it leaves %v, want %v", tc.reason, got, tc.files)
			}
		})
	}
}

func TestNewRunRemovesStaleFolders(t *testing.T) {
	runs := t.TempDir()
	alive, err := newRun(runs, "alive")
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newRun(runs, "dead")
	if err != nil {
		t.Fatal(err)
	}
	dead.keepLogs()

	if _, err := newRun(runs, "next"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(alive.path); err != nil {
		t.Errorf("the folder of a running launch is gone: %v", err)
	}
	if _, err := os.Stat(dead.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of an earlier launch is still there: %v", err)
	}
}

func TestKeepLogs(t *testing.T) {
	r, err := newRun(t.TempDir(), "failed")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"provider.log", "token", "part/etcd.log", "part/data/wal", "other/token"} {
		path := filepath.Join(r.path, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.keepLogs()
	var left []string
	err = fs.WalkDir(os.DirFS(r.path), ".", func(path string, _ fs.DirEntry, err error) error {
		left = append(left, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(left, " "), ". lock part part/etcd.log provider.log"; got != want {
		t.Errorf("it leaves %q, want %q", got, want)
	}
}

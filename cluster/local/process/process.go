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

// Package process starts programs, waits until they are ready, and stops them.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 20 * time.Second
	pollInterval = 50 * time.Millisecond
)

// A Probe reports nil once a program is ready to serve.
type Probe func(ctx context.Context) error

// Spec describes a program to start.
type Spec struct {
	// Name is the name of the program in messages.
	Name string
	// Path is the program's file.
	Path string
	// Args are its arguments, without its name. They are visible to every user of the machine.
	Args []string
	// Env is its whole environment, as KEY=value.
	Env []string
	// Root is the folder that is the program's root directory, and that contains Path. Empty means the machine's. Any other requires root.
	Root string
	// User is the number of the user and of the group that the program runs as. 0 means those of this process.
	User uint32
	// Log is the file that receives its standard output and standard error.
	Log string
	// Ready reports whether the program serves. A nil Ready means that it serves at once.
	Ready Probe
}

// Process is a running program in a separate process group.
type Process struct {
	spec   Spec
	cmd    *exec.Cmd
	exited chan struct{}
	err    error
}

// Start starts a program and waits, for at most 30 seconds, until it is ready. The program outlives ctx, which only limits the wait: the caller must
// call Stop. If the program ends early or does not become ready, Start stops it and returns an error with the end of its log.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	p, err := launch(spec)
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", spec.Name, err)
	}
	if err := p.waitReady(ctx); err != nil {
		_ = p.Stop()
		return nil, fmt.Errorf("cannot start %s: %w\n%s", spec.Name, err, LogTail(spec.Log, 20))
	}
	return p, nil
}

func launch(spec Spec) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o750); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // The program holds its own descriptor.

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = spec.Env, log, log
	// With a separate group, Ctrl-C in the terminal reaches only the launcher, which stops the other programs in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	confine(cmd, spec)
	if err := cmd.Start(); err != nil {
		return nil, err
	}

	p := &Process{spec: spec, cmd: cmd, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// confine sets the root directory and the user of a program.
func confine(cmd *exec.Cmd, spec Spec) {
	if spec.Root != "" {
		cmd.SysProcAttr.Chroot, cmd.Dir = spec.Root, "/"
	}
	if spec.User != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: spec.User, Gid: spec.User}
	}
}

func (p *Process) waitReady(ctx context.Context) error {
	if p.spec.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := p.spec.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("it ended before it was ready: %w", p.Err())
		case <-ctx.Done():
			return fmt.Errorf("it was not ready in time: %w", err)
		case <-tick.C:
		}
	}
}

// Name returns the name of the program in messages.
func (p *Process) Name() string { return p.spec.Name }

// Log returns the file with the program's output.
func (p *Process) Log() string { return p.spec.Log }

// Pid returns the program's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exited returns a channel that is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Failure returns the error with which the program ended, or nil if it runs or ended with exit status 0.
func (p *Process) Failure() error {
	select {
	case <-p.exited:
		return p.err
	default:
		return nil
	}
}

// Err describes how the program ended. It returns nil as long as the program runs.
func (p *Process) Err() error {
	select {
	case <-p.exited:
		return exitError(p.err)
	default:
		return nil
	}
}

func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Stop asks the program to end. If the program still runs after 20 seconds, Stop kills its process group and returns an error. Stopping a program that
// has ended does nothing.
func (p *Process) Stop() error {
	select {
	case <-p.exited:
		return nil
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		return nil
	case <-time.After(stopTimeout):
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
		<-p.exited
		return fmt.Errorf("cannot stop %s within %s: killed it", p.spec.Name, stopTimeout)
	}
}

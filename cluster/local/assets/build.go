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

package assets

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keep is how long programs built from earlier pins stay in the cache.
const keep = 7 * 24 * time.Hour

// Build returns the folder of a set's programs in the versions that the module pins. It builds missing programs.
func (p Provider) Build(ctx context.Context, set Set) (string, error) {
	pins, dir, err := p.locate(set)
	if err != nil {
		return "", err
	}
	if len(missing(dir, set.programs)) == 0 {
		return dir, nil
	}
	return dir, p.fill(ctx, dir, pins, set)
}

// locate returns the pins of a set and the folder of its programs in the cache.
func (p Provider) locate(set Set) (pins, string, error) {
	pins, err := readPins(p.Module, set)
	if err != nil {
		return pins, "", fmt.Errorf("cannot read the pinned versions: %w", err)
	}
	key, err := pins.key()
	if err != nil {
		return pins, "", fmt.Errorf("cannot read the pinned versions: %w", err)
	}
	return pins, filepath.Join(p.Cache, key), nil
}

func missing(dir string, wanted []program) []program {
	var out []program
	for _, w := range wanted {
		if !exists(filepath.Join(dir, w.name)) {
			out = append(out, w)
		}
	}
	return out
}

func (p Provider) fill(ctx context.Context, dir string, pins pins, set Set) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("cannot create the folder of the control plane: %w", err)
	}
	unlock, err := p.lock(ctx)
	if err != nil {
		return fmt.Errorf("cannot lock the control plane's cache: %w", err)
	}
	defer unlock()

	// Another launcher may have built them while this one waited for the lock.
	todo := missing(dir, set.programs)
	p.announce(set.name, todo)
	for i, w := range todo {
		if err := p.compile(ctx, dir, pins, w, fmt.Sprintf("(%d/%d)", i+1, len(todo))); err != nil {
			return err
		}
	}
	p.prune(dir)
	return nil
}

func (p Provider) announce(what string, todo []program) {
	var cold time.Duration
	for _, w := range todo {
		cold += w.cold
	}
	if cold > time.Minute {
		p.Report.Linef("building %s from Go modules: about %.0f minutes on two cores the first time, "+
			"seconds with a warm Go cache, and never again for these versions", what, cold.Minutes())
	}
}

// compile builds one program in a separate folder and moves it into place when it is complete.
func (p Provider) compile(ctx context.Context, dir string, pins pins, w program, count string) error {
	tmp, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return fmt.Errorf("cannot build %s: %w", w.name, err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // What is left is removed with the cache.

	done := p.Report.start(w.name+" "+count, w.cold)
	built := filepath.Join(tmp, w.name)
	output, err := run(p.goBuild(ctx, tmp, append(pins.flags(), "-o", built, w.pkg)))
	done(err)
	if ctx.Err() != nil {
		return fmt.Errorf("cannot build %s: %w", w.name, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", w.name, err, output)
	}
	if err := os.Rename(built, filepath.Join(dir, w.name)); err != nil {
		return fmt.Errorf("cannot keep %s: %w", w.name, err)
	}
	return nil
}

func (p Provider) goBuild(ctx context.Context, tmp string, args []string) *exec.Cmd {
	cmd := p.goCommand(ctx, append([]string{"build"}, args...)...)
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOTMPDIR="+tmp)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Download fetches the source of a module that ours requires into Go's module cache, unless it is there. A program in the cache of programs does not
// mean that its source exists too.
func (p Provider) Download(ctx context.Context, module string) error {
	if output, err := run(p.goCommand(ctx, "mod", "download", module)); err != nil {
		return fmt.Errorf("cannot download the source of %s: %w\n%s", module, err, output)
	}
	return nil
}

// Source returns the folder with the source of a module that ours requires. It is read-only and exists only after Download or a build of something in
// that module.
func (p Provider) Source(ctx context.Context, module string) (string, error) {
	output, err := run(p.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", module))
	if err != nil || output == "" {
		return "", fmt.Errorf("cannot find the source of %s: %w\n%s", module, err, output)
	}
	return output, nil
}

// goCommand returns a go command that runs in the module and changes neither its go.mod nor its go.sum.
func (p Provider) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = p.Module, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	return cmd
}

func run(cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return strings.TrimSpace(out.String()), err
}

// lock waits until no other launcher builds. The kernel releases the lock of a launcher that crashed.
func (p Provider) lock(ctx context.Context) (func(), error) {
	f, err := os.OpenFile(filepath.Join(p.Cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	unlock := func() { _ = f.Close() }
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return unlock, nil
	}
	p.Report.Linef("another launcher is building the control plane: waiting for it")
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		select {
		case <-ctx.Done():
			unlock()
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
	return unlock, nil
}

// prune removes the programs of pins that were left behind a week ago or earlier.
func (p Provider) prune(current string) {
	entries, err := os.ReadDir(p.Cache)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(p.Cache, e.Name())
		info, err := e.Info()
		if err != nil || !e.IsDir() || path == current || time.Since(info.ModTime()) < keep {
			continue
		}
		_ = os.RemoveAll(path)
	}
}

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

// Package demo runs a control plane, a simulated Proxmox VE and the provider, applies the quick-start examples, and shows
// how their Machines become ready.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
	"github.com/vitistack/provider-proxmox/cluster/local/supervisor"
)

const (
	readyTimeout  = 3 * time.Minute
	deleteTimeout = 2 * time.Minute
)

// Mode selects when a demonstration ends.
type Mode int

// The modes of a demonstration.
const (
	// Stay keeps everything running until it is interrupted.
	Stay Mode = iota
	// Once checks the result, deletes the Machines, checks that their VMs no longer exist, and ends.
	Once
)

type demo struct {
	*commands.Environment
	simulator *simulator.Simulator
	provider  *process.Process
	mirror    *mirror
	board     *board
}

// Run returns the task of a demonstration.
func Run(repo repository.Repository, mode Mode) supervisor.Task {
	return func(ctx context.Context, dir string) (err error) {
		s, ctx := commands.New(ctx, repo, dir, os.Stdout)
		defer func() { err = errors.Join(err, s.Close()) }()
		d := &demo{Environment: s}
		if err := d.start(ctx); err != nil {
			return err
		}
		if err := d.show(ctx); err != nil {
			d.diagnose(ctx)
			return err
		}
		if mode == Once {
			return d.verify(ctx)
		}
		return d.stay(ctx)
	}
}

// start starts the programs and creates the configurations that connect the provider to the simulator.
func (d *demo) start(ctx context.Context) (err error) {
	if err := d.checkInputs(); err != nil {
		return err
	}
	if err := d.StartControlPlane(ctx); err != nil {
		return err
	}
	if err := d.InstallCRDs(ctx); err != nil {
		return err
	}
	if err := d.startSimulator(ctx); err != nil {
		return err
	}
	if d.mirror, err = startMirror(ctx); err != nil {
		return err
	}
	// The list of checksums is on loopback too.
	if d.provider, err = d.StartProvider(ctx, "CHECKSUM_LOCAL_ADDRESSES=true"); err != nil {
		return err
	}
	connection, err := d.simulator.Connection()
	if err != nil {
		return err
	}
	return d.Connect(ctx, connection)
}

// checkInputs fails if a program or a folder is missing. It runs first because a control plane takes long to build and start.
func (d *demo) checkInputs() error {
	for _, name := range []string{"pve-simulator", "provider"} {
		if _, err := d.Repo.Binary(name); err != nil {
			return err
		}
	}
	for _, path := range []string{d.Repo.QuickStart(), d.Repo.FromNothing(), d.Repo.Scenario()} {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("cannot find what the demo shows: %w", err)
		}
	}
	return nil
}

func (d *demo) startSimulator(ctx context.Context) error {
	sim, err := simulator.New(d.Dir)
	if err != nil {
		return err
	}
	path, err := d.Repo.Binary("pve-simulator")
	if err != nil {
		return err
	}
	p, err := d.Run(ctx, sim.Spec(path, d.Repo.Scenario()))
	if err != nil {
		return err
	}
	d.simulator = sim
	d.Console.Stepf("simulator: Proxmox VE %s, %s times as fast, at %s, logs to %s", simulator.Version, simulator.Speed, sim.URL(), p.Log())
	return nil
}

// show applies the examples and prints their Machines until all are ready.
func (d *demo) show(ctx context.Context) error {
	examples, err := filepath.Rel(d.Repo.Root(), d.Repo.QuickStart())
	if err != nil {
		return err
	}
	if err := d.kubectl(ctx, "apply", "-f", examples); err != nil {
		return err
	}
	if err := d.applyFromNothing(ctx); err != nil {
		return err
	}
	expected, err := machine.List(ctx, d.Kube.Config())
	if err != nil {
		return err
	}
	if len(expected) == 0 {
		return fmt.Errorf("cannot find a Machine among the examples in %q", examples)
	}
	changes, err := machine.Follow(ctx, d.Kube.Config())
	if err != nil {
		return err
	}
	d.board = newBoard(d.Console, expected, changes)
	d.Console.Stepf("waiting until %d Machines are ready, %s at most", len(expected), readyTimeout)
	if err := d.board.until(ctx, readyTimeout, d.board.complete); err != nil {
		return fmt.Errorf("cannot see every Machine ready: %w", err)
	}
	d.Console.Stepf("all %d Machines are ready", len(expected))
	return nil
}

// applyFromNothing applies an Image and Machines that use it, with the mirror replacing Debian's server.
func (d *demo) applyFromNothing(ctx context.Context) error {
	text, err := os.ReadFile(d.Repo.FromNothing())
	if err != nil {
		return fmt.Errorf("cannot read what the demo shows: %w", err)
	}
	path := filepath.Join(d.Dir, filepath.Base(d.Repo.FromNothing()))
	if err := os.WriteFile(path, d.mirror.replaceIn(text), 0o600); err != nil {
		return fmt.Errorf("cannot write what the demo shows: %w", err)
	}
	d.Console.Stepf("images: %s stands in for %s", d.mirror.url, debian)
	return d.kubectl(ctx, "apply", "-f", path)
}

// stay prints how to continue manually and reports changes until it is interrupted.
func (d *demo) stay(ctx context.Context) error {
	d.Console.Text(d.hints())
	d.board.printLines()
	err := d.board.until(ctx, 0, func() bool { return false })
	if errors.Is(err, supervisor.ErrInterrupted) {
		return nil
	}
	return err
}

// diagnose prints the descriptions of Machines that are not ready and the end of the provider's log. It works after ctx has ended.
func (d *demo) diagnose(ctx context.Context) {
	if errors.Is(context.Cause(ctx), supervisor.ErrInterrupted) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	for _, m := range d.incomplete(ctx) {
		output, err := d.RunKubectl(ctx, append([]string{"describe"}, m.Key.Arguments()...)...)
		if err != nil {
			output = err.Error()
		}
		d.Console.Text("--- " + m.String() + "\n" + output)
	}
	if d.provider.Err() != nil {
		// The error contains the end of the log.
		return
	}
	d.Console.Text("--- the last lines of " + d.provider.Log() + "\n" + process.LogTail(d.provider.Log(), 40))
}

func (d *demo) incomplete(ctx context.Context) []machine.Machine {
	all, err := machine.List(ctx, d.Kube.Config())
	if err != nil {
		return nil
	}
	var out []machine.Machine
	for _, key := range sortedKeys(all) {
		if !all[key].Complete() {
			out = append(out, all[key])
		}
	}
	return out
}

// kubectl prints a command, runs it and prints its output.
func (d *demo) kubectl(ctx context.Context, args ...string) error {
	d.Console.Stepf("$ kubectl %s", strings.Join(args, " "))
	output, err := d.RunKubectl(ctx, args...)
	if err != nil {
		return err
	}
	d.Console.Text("    " + strings.ReplaceAll(output, "\n", "\n    "))
	return nil
}

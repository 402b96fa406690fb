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

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The phases of a comparison, in their order.
const (
	phaseCreate  = "create"
	phaseSteady  = "steady"
	phaseDestroy = "destroy"
)

// compare has the provider and other clients create, look at and destroy machines.
func (b *bench) compare(ctx context.Context) error {
	t := table{name: "competitors", rows: [][]string{{
		"client", "create: calls per machine", "time for all", "nothing changed: calls per machine", "time for all",
		"destroy: calls per machine", "time for all",
	}}}
	errs := []error{b.compareOwn(ctx, &t)}
	for _, p := range b.competitors() {
		if strings.TrimSpace(p) == "" {
			continue
		}
		name, command, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("cannot use the competitor %q: want NAME=COMMAND", p)
		}
		if err := b.compareCompetitor(ctx, strings.TrimSpace(name), command, &t); err != nil {
			errs = append(errs, fmt.Errorf("competitor %s: %w", name, err))
		}
	}
	b.add(t)
	b.show(t)
	return errors.Join(errs...)
}

// competitors to compare with: what was asked for, or what the repository has scripts for and can run here.
func (b *bench) competitors() []string {
	if len(b.Competitors) > 0 {
		return b.Competitors
	}
	out := []string{"plain script=$BENCH_REPOSITORY/hack/bench-competitor"}
	for _, program := range []string{"tofu", "terraform"} {
		if _, err := exec.LookPath(program); err == nil {
			return append(out, program+" with bpg's provider=$BENCH_REPOSITORY/hack/bench-competitor-terraform")
		}
	}
	return out
}

// A phaseResult is the number of calls and the duration of a phase.
type phaseResult struct {
	calls int
	took  time.Duration
}

func (b *bench) resultRow(name string, results []phaseResult) []string {
	row := []string{name}
	for _, l := range results {
		row = append(row, number(float64(l.calls)/float64(b.CompetitorCount)), round(l.took).String())
	}
	return row
}

// measurePhase measures a phase beside what else waits.
func (b *bench) measurePhase(ctx context.Context, w *env, phase func(context.Context) error) (r phaseResult, err error) {
	err = b.concurrent(func() error {
		r, err = w.measurePhase(ctx, phase)
		return err
	})
	return r, err
}

// measurePhase runs a phase and counts the requests that the token sends meanwhile.
func (w *env) measurePhase(ctx context.Context, phase func(context.Context) error) (phaseResult, error) {
	if err := w.own.clearRequests(ctx); err != nil {
		return phaseResult{}, err
	}
	begin := time.Now()
	if err := phase(ctx); err != nil {
		return phaseResult{}, err
	}
	took := time.Since(begin)
	calls, err := w.own.counted(ctx, w.own.token.id)
	return phaseResult{calls: calls.total(), took: took}, err
}

// compareOwn measures the provider. Its look at what has not changed is what it does in a minute.
func (b *bench) compareOwn(ctx context.Context, t *table) (err error) {
	w, ctx, err := b.open(ctx, newCluster(0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.startProvider(ctx); err != nil {
		return err
	}
	objs := created(b.CompetitorCount)
	var results []phaseResult
	for _, phase := range []func(context.Context) error{
		func(ctx context.Context) error {
			if _, err := w.machineSet.apply(ctx, objs); err != nil {
				return err
			}
			return w.until(ctx, "creating", func() int { return w.machineSet.incomplete(len(objs)) })
		},
		func(ctx context.Context) error { return w.wait(ctx, interval) },
		func(ctx context.Context) error {
			if err := w.machineSet.remove(ctx, objs); err != nil {
				return err
			}
			return w.until(ctx, "deleting", w.machineSet.left)
		},
	} {
		l, err := b.measurePhase(ctx, w, phase)
		if err != nil {
			return err
		}
		results = append(results, l)
	}
	t.rows = append(t.rows, b.resultRow("provider-proxmox, per minute of watching", results))
	return nil
}

// compareCompetitor runs the command of another client once for each phase, in a folder of its own.
func (b *bench) compareCompetitor(ctx context.Context, name, command string, t *table) (err error) {
	w, ctx, err := b.open(ctx, newCluster(0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	dir := filepath.Join(w.Dir, "competitor")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var results []phaseResult
	for _, phase := range []string{phaseCreate, phaseSteady, phaseDestroy} {
		w.Console.Stepf("%s: %s", name, phase)
		l, err := b.measurePhase(ctx, w, func(ctx context.Context) error { return w.competitor(ctx, command, dir, b.competitorVariables(phase)) })
		if err != nil {
			return fmt.Errorf("%s: %w", phase, err)
		}
		results = append(results, l)
	}
	t.rows = append(t.rows, b.resultRow(name, results))
	return nil
}

func (b *bench) competitorVariables(phase string) []string {
	return []string{
		"BENCH_PHASE=" + phase, "BENCH_COUNT=" + itoa(b.CompetitorCount), "BENCH_NODE=" + firstNode, "BENCH_TEMPLATE=" + templateName,
		"BENCH_TEMPLATE_ID=" + itoa(templateID), "BENCH_CORES=" + itoa(newCores), "BENCH_FIRST_ID=" + itoa(firstID),
		"BENCH_REPOSITORY=" + b.repo.Root(),
	}
}

// competitor runs the command with what it needs to reach the simulated cluster in its environment.
func (w *env) competitor(ctx context.Context, command, dir string, variables []string) error {
	c := w.connection.Credentials
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(variables,
		"PROXMOX_ENDPOINT="+w.simulator.URL(), "PROXMOX_CA_FILE="+w.simulator.CAFile(),
		"PROXMOX_TOKEN_ID="+c.Username+"!"+c.TokenID, "PROXMOX_TOKEN_SECRET="+c.TokenSecret,
	)...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

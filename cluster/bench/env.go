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
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// interval is how often the provider compares a Machine with Proxmox VE.
const interval = time.Minute

// A env is a control plane with Machines, a simulated cluster, and the provider between them.
type env struct {
	*commands.Environment

	simulator  *simulator.Simulator
	connection provider.Connection
	// operator is somebody else who changes VMs.
	operator *pve
	// own is the provider's user.
	own        *pve
	spec       process.Spec
	provider   *process.Process
	running    atomic.Pointer[process.Process] // provider, for who samples meanwhile
	pprof      string
	machineSet *machineSet
	rate       int
	clones     int
}

// open starts everything but the provider, when nothing is done or waits to be done alone: a control plane takes CPU time also while nobody uses it.
func (b *bench) open(ctx context.Context, c cluster) (w *env, in context.Context, err error) {
	err = b.concurrent(func() error {
		w, in, err = b.start(ctx, c)
		return err
	})
	return w, in, err
}

func (b *bench) start(ctx context.Context, c cluster) (*env, context.Context, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, ctx, err
	}
	w := &env{rate: c.rate, clones: c.clones}
	w.Environment, ctx = commands.New(ctx, b.repo, dir, os.Stdout)
	w.Console = b.console
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return w.startSimulator(ctx, c) },
		func(ctx context.Context) error { return w.StartControlPlane(ctx) }, w.InstallCRDs, w.connect,
		func(context.Context) error { w.OnClose("provider", w.stopProvider); return w.prepare(c.settings) },
		func(ctx context.Context) (err error) { w.machineSet, err = follow(ctx, w.Kube.Config()); return err },
	} {
		if err := step(ctx); err != nil {
			return nil, ctx, errors.Join(err, w.Close())
		}
	}
	return w, ctx, nil
}

func (w *env) startSimulator(ctx context.Context, c cluster) error {
	var err error
	if w.simulator, _, err = w.simulate(ctx, c, ""); err != nil {
		return err
	}
	if w.connection, err = w.simulator.Connection(); err != nil {
		return err
	}
	if w.operator, err = newPVE(w.simulator, c.operator()); err != nil {
		return err
	}
	credentials := w.connection.Credentials
	w.own, err = newPVE(w.simulator, token{id: credentials.Username + "!" + credentials.TokenID, secret: credentials.TokenSecret})
	w.Console.Stepf("simulator: %d guests, at the speed of a real server, at %s", c.guests(), w.simulator.URL())
	return err
}

// simulate starts a simulator at the speed of a real server, with files in a folder of its name.
func (w *env) simulate(ctx context.Context, c cluster, name string) (*simulator.Simulator, *process.Process, error) {
	path, err := w.Repo.Binary("pve-simulator")
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(w.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	s, err := simulator.New(dir)
	if err != nil {
		return nil, nil, err
	}
	s.Speed = "1"
	scenario := filepath.Join(dir, "scenario.yaml")
	if err := os.WriteFile(scenario, c.scenario(), 0o600); err != nil {
		return nil, nil, err
	}
	spec := s.Spec(path, scenario)
	spec.Name = cmp.Or(name, spec.Name)
	p, err := w.Run(ctx, spec)
	return s, p, err
}

// connect creates the configurations with the environment's limits.
func (w *env) connect(ctx context.Context) error {
	objs, err := w.connection.Objects()
	if err != nil {
		return err
	}
	for _, o := range objs {
		limit(o, "requestsPerSecond", w.rate)
		limit(o, "concurrentClonesPerSource", w.clones)
	}
	return w.Kube.ApplyAll(ctx, objs)
}

// limit sets one of the limits of a configuration, unless it is 0.
func limit(o *unstructured.Unstructured, field string, most int) {
	if _, ok := o.Object["spec"]; ok && most > 0 {
		_ = unstructured.SetNestedField(o.Object, int64(most), "spec", "limits", field)
	}
}

// prepare sets the command of the provider, with additional environment variables.
func (w *env) prepare(settings []string) error {
	path, err := w.Repo.Binary("provider")
	if err != nil {
		return err
	}
	if w.pprof, err = process.FreeAddress(); err != nil {
		return err
	}
	env := append(os.Environ(), "GOGC=100", "RECONCILE_INTERVAL="+interval.String(), "PPROF_BIND_ADDRESS="+w.pprof)
	if w.spec, err = provider.Spec(path, w.Kubeconfig, append(env, settings...)); err != nil {
		return err
	}
	w.spec.Log = filepath.Join(w.Dir, w.spec.Name+".log")
	return nil
}

func (w *env) startProvider(ctx context.Context) error {
	var err error
	w.provider, err = process.Start(ctx, w.spec)
	w.running.Store(w.provider)
	return err
}

// reconfigure has the provider start again, when it is started the next time, with other settings and the limits that it has by default.
func (w *env) reconfigure(ctx context.Context, settings []string) error {
	if err := w.provider.Stop(); err != nil {
		return err
	}
	w.rate, w.clones = 0, 0
	return errors.Join(w.connect(ctx), w.prepare(settings))
}

func (w *env) stopProvider() error {
	if w.provider == nil {
		return nil
	}
	return w.provider.Stop()
}

// progressTimeout is how long something may take without progress. With many Machines, whole rounds end at once.
const progressTimeout = 15 * time.Minute

// until waits until left returns 0. It fails if the number does not decrease for progressTimeout.
func (w *env) until(ctx context.Context, what string, left func() int) error {
	before, progress, shown := left(), time.Now(), time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		n := left()
		if n == 0 {
			return nil
		}
		if n < before {
			before, progress = n, time.Now()
		}
		if time.Since(shown) > 10*time.Second {
			shown = time.Now()
			w.Console.Stepf("  %s: %d to go", what, n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.exited():
			return fmt.Errorf("the provider ended (%w), its last lines:\n%s", w.provider.Err(), process.LogTail(w.spec.Log, 30))
		}
		if time.Since(progress) > progressTimeout {
			return fmt.Errorf("%s: still %d to go after %s without progress%s\nthe provider's last lines:\n%s",
				what, n, progressTimeout, w.machineSet.example(), process.LogTail(w.spec.Log, 20))
		}
	}
}

func (w *env) exited() <-chan struct{} {
	if w.provider == nil {
		return nil
	}
	return w.provider.Exited()
}

// wait waits for a duration, and fails if the provider ends.
func (w *env) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.exited():
		return fmt.Errorf("the provider ended (%w), its last lines:\n%s", w.provider.Err(), process.LogTail(w.spec.Log, 30))
	}
}

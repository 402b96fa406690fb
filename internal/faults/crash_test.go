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

// Package faults tests failures: the provider is killed at each of its steps, and Proxmox VE fails at each of its calls. In the end, the VM of the
// Machine exists once, as requested, or there is a clear reason why not. Objects of others are unchanged.
package faults

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// Shared by all environments, since creating it takes longer than a run.
//
//nolint:gochecknoglobals // Set once by TestMain.
var (
	certificates *simulator.Certificates
	scheme       *runtime.Scheme
)

// The part to run: everything, many crashes and faults, or a few of each.
//
//nolint:gochecknoglobals // Constants.
var (
	all  = os.Getenv("FAULTS") == "all"
	many = all || os.Getenv("FAULTS") == "many"
)

func TestMain(m *testing.M) {
	if err := share(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func share() error {
	var err error
	if certificates, err = simulator.NewCertificates(time.Now()); err != nil {
		return err
	}
	scheme, err = newScheme()
	return err
}

// TestCrashes kills the provider at each step of a Machine's life: after each call of PVE's API, and before and after each write to the API server.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(s.reason)
			effects := live(t, newEnv(t, s, 0), s)
			tried := deathsOf(effects)
			for _, k := range tried {
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					t.Parallel()
					t.Logf("killed after %s", effects[k-1])
					live(t, newEnv(t, s, k), s)
				})
			}
			t.Logf("%d steps, %d deaths.", len(effects), len(tried))
		})
	}
}

// The largest number of crashes in one scenario, with FAULTS=many and without FAULTS. The longest scenarios have 600 steps.
const (
	manyDeaths = 40
	fewDeaths  = 5
)

// deathsOf returns the steps at which the provider is killed, counted from 1. A sample leaves out reads that follow a read, since nothing has changed
// between them.
func deathsOf(steps []sideEffect) []int {
	most := fewDeaths
	switch {
	case all:
		most = max(1, len(steps))
	case many:
		most = manyDeaths
	}
	var found []int
	for i, s := range steps {
		if all || i == 0 || !s.reads() || !steps[i-1].reads() {
			found = append(found, i+1)
		}
	}
	step := max(1, (len(found)+most-1)/most)
	var tried []int
	for i := 0; i < len(found); i += step {
		tried = append(tried, found[i])
	}
	return tried
}

// live runs a scenario from the creation of its Machine to its deletion. It returns the side effects of the last provider process.
func live(t *testing.T, w *env, s scenario) []sideEffect {
	t.Helper()
	w.until(t, "the Machine is ready", func() bool { return w.allSettled(t) })
	w.writeData(t)
	for i, change := range s.changes {
		w.change(t, change)
		w.until(t, fmt.Sprintf("change %d is made", i), func() bool { return !w.askAgain(t) && w.settled() })
	}
	for _, a := range s.acts {
		a.do(t, w)
		w.until(t, a.what, func() bool { return w.allSettled(t) })
		w.keepsVolumes(t, true)
	}
	if s.others != nil {
		w.until(t, "others have done what they do", func() bool {
			done := false
			w.pve.Edit(func(st *simulator.State) { done = s.others(st, int(*w.m.Observation().VMID)) })
			return done
		})
	}
	w.quiet(t)
	g := w.mine()
	w.identity(t, g)
	if s.holds != nil {
		s.holds(t, g)
	}
	if n := len(slices.DeleteFunc(w.writes(), func(r simulator.Request) bool { return r.Path != s.once })); s.once != "" && n > 1+w.again {
		t.Errorf("%s was called %d times", s.once, n)
	}
	w.untouched(t, s, w.ours(t)...)
	w.delete(t)
	w.until(t, "the Machine is gone", func() bool { return !w.exists(t) })
	w.deleteRest(t)
	w.untouched(t, s)
	if n := len(w.running()); n > 0 {
		t.Errorf("%d tasks still run", n)
	}
	return w.alive(t).effects
}

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

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/controlplane"
	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// maxWait limits waits for what takes the provider seconds.
const maxWait = 4 * time.Minute

// A suite is the control plane, the simulated cluster and the provider that all steps share.
type suite struct {
	*commands.Environment

	ctx        context.Context //nolint:containedctx // It ends when the run does, and every wait with it.
	connection provider.Connection
	simulator  *simulator.Simulator
	pve        *process.Process
	spec       process.Spec
	provider   *process.Process
	changes    *changeLog
	traces     *traces

	mu       sync.Mutex
	machines map[machine.Key]machine.Machine
}

// start starts everything, with its files in a folder of the run, and stops it when the test ends.
func start(t *testing.T, folder string) *suite {
	t.Helper()
	for _, name := range []string{"provider", "pve-simulator"} {
		if _, err := checkout.Binary(name); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(runDir, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := &suite{machines: map[machine.Key]machine.Machine{}}
	s.Environment, s.ctx = commands.New(runContext, checkout, dir, os.Stdout)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, step := range []func() error{s.startPlane, s.startSimulator, s.startFirstProvider, s.connect, s.follow} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *suite) startPlane() error {
	if err := s.StartControlPlane(s.ctx, controlplane.Audited()); err != nil {
		return err
	}
	return s.installChart()
}

func (s *suite) startSimulator() error {
	var err error
	if s.simulator, err = simulator.New(s.Dir); err != nil {
		return err
	}
	path, err := checkout.Binary("pve-simulator")
	if err != nil {
		return err
	}
	scenario, err := s.scenario()
	if err != nil {
		return err
	}
	if s.pve, err = s.Run(s.ctx, s.simulator.Spec(path, scenario)); err != nil {
		return err
	}
	s.connection, err = s.simulator.Connection()
	return err
}

// scenario returns a file with the cluster of the quick start whose token may also change the networks of nodes, and whose nodes have further network
// cards.
func (s *suite) scenario() (string, error) {
	additions := repository.NetworkRights()
	for _, host := range []string{"11", "12", "13"} {
		additions["cidr: 192.0.2."+host+"/24, gateway: 192.0.2.1}\n"] = "      - {name: eno2, type: eth}\n      - {name: eno3, type: eth}\n"
	}
	return checkout.ScenarioWith(s.Dir, additions)
}

// startFirstProvider starts the provider with the arguments and the permissions of the chart. The process does not belong to the environment, which
// would end with it: the tests kill it.
func (s *suite) startFirstProvider() error {
	path, err := checkout.Binary("provider")
	if err != nil {
		return err
	}
	args, kubeconfig, err := s.deployed()
	if err != nil {
		return err
	}
	if s.spec, err = provider.Spec(path, kubeconfig, os.Environ()); err != nil {
		return err
	}
	s.spec.Args = slices.Concat(args, []string{"--checksum-local-addresses"}) // The mirror is on loopback.
	if err := s.startRecorders(); err != nil {
		return err
	}
	s.spec.Log = filepath.Join(s.Dir, s.spec.Name+".log")
	s.OnClose(s.spec.Name, func() error {
		if s.provider == nil {
			return nil
		}
		return s.provider.Stop()
	})
	s.provider, err = process.Start(s.ctx, s.spec)
	return err
}

// connect creates the configurations named default, or resets them.
func (s *suite) connect() error {
	objs, err := s.connection.Objects()
	if err != nil {
		return err
	}
	return s.Kube.ApplyAll(s.ctx, objs)
}

// follow keeps the Machines of both scopes up to date until the run ends.
func (s *suite) follow() error {
	changes, err := machine.Follow(s.ctx, s.Kube.Config())
	if err != nil {
		return err
	}
	go func() {
		for {
			select {
			case <-s.ctx.Done():
				return
			case c := <-changes:
				s.take(c)
			}
		}
	}()
	return nil
}

func (s *suite) take(c machine.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Gone {
		delete(s.machines, c.Machine.Key)
		return
	}
	s.machines[c.Machine.Key] = c.Machine
}

// machine returns a Machine as it was last observed, or a zero one if there is none.
func (s *suite) machine(key machine.Key) machine.Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machines[key]
}

// until waits until missing returns an empty string.
func (s *suite) until(t *testing.T, missing func() string) {
	t.Helper()
	deadline := time.NewTimer(maxWait)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		what := missing()
		if what == "" {
			return
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			t.Fatal(context.Cause(s.ctx))
		case <-s.provider.Exited():
			t.Fatalf("the provider ended (%v), its last lines:\n%s", s.provider.Err(), process.LogTail(s.spec.Log, 30))
		case <-deadline.C:
			t.Fatalf("after %s: %s\nthe provider's last lines:\n%s", maxWait, what, process.LogTail(s.spec.Log, 30))
		}
	}
}

// pause waits for some time.
func (s *suite) pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
		t.Fatal(context.Cause(s.ctx))
	}
}

// untilComplete waits until Machines are ready and in sync.
func (s *suite) untilComplete(t *testing.T, keys []machine.Key) {
	t.Helper()
	s.until(t, func() string {
		var missing []string
		for _, key := range keys {
			if m := s.machine(key); !m.Complete() {
				missing = append(missing, fmt.Sprintf("not complete: %s: %s, synced %q", key, m, m.Synced))
			}
		}
		return strings.Join(missing, "\n")
	})
}

// untilGone waits until none of the Machines exists.
func (s *suite) untilGone(t *testing.T, keys []machine.Key) {
	t.Helper()
	s.until(t, func() string {
		var left []string
		for _, key := range keys {
			if m := s.machine(key); m.Key == key {
				left = append(left, fmt.Sprintf("not gone: %s", m))
			}
		}
		return strings.Join(left, "\n")
	})
}

// incomplete counts the Machines that are not ready or not in sync.
func (s *suite) incomplete(keys []machine.Key) int {
	return len(slices.DeleteFunc(slices.Clone(keys), func(k machine.Key) bool { return s.machine(k).Complete() }))
}

// left counts the existing Machines.
func (s *suite) left(keys []machine.Key) int {
	return len(slices.DeleteFunc(slices.Clone(keys), func(k machine.Key) bool { return s.machine(k).Key != k }))
}

// kubectl runs kubectl and returns its output.
func (s *suite) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	output, err := s.RunKubectl(s.ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// kill ends the provider like a crash.
func (s *suite) kill(t *testing.T) {
	t.Helper()
	err := syscall.Kill(s.provider.Pid(), syscall.SIGKILL)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	<-s.provider.Exited()
}

// restart starts the provider after a kill. With a nil probe, it does not wait until the provider is ready.
func (s *suite) restart(t *testing.T, ready process.Probe) {
	t.Helper()
	spec := s.spec
	spec.Ready = ready
	p, err := process.Start(s.ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	s.provider = p
}

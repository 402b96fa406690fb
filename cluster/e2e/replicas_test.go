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
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

// testReplicas runs two replicas with the chart's settings: the leader creates a VM, and the other one makes no requests to Proxmox VE until the first
// one ends. A lease that is not released would expire a minute after its last renewal, at least 50 seconds later.
func (s *suite) testReplicas(t *testing.T) {
	before := s.holdings(t)
	leader, waiting := s.startReplicas(t)
	first := []*unstructured.Unstructured{newMachine("replicas-first", map[string]any{"template": "ubuntu-24.04"})}
	keys := s.apply(t, first)
	s.untilComplete(t, keys)
	if n := s.requestSeries(t, leader); n == 0 {
		t.Error("the replica that leads has counted no request")
	}
	if n := s.requestSeries(t, waiting); n != 0 {
		t.Errorf("the replica that waits has counted requests of %d sorts", n)
	}
	held := s.lease(t)

	s.stall(t)
	second := []*unstructured.Unstructured{newMachine("replicas-second", map[string]any{"template": "ubuntu-24.04"})}
	keys = append(keys, s.apply(t, second)...)
	s.silent(t)
	asked := s.handOver(t, waiting)
	s.untilComplete(t, keys)

	taken := s.lease(t)
	if *taken.Spec.HolderIdentity == *held.Spec.HolderIdentity {
		t.Errorf("the lease is still that of %s, which has ended", *held.Spec.HolderIdentity)
	}
	after := taken.Spec.AcquireTime.Sub(asked)
	t.Logf("the other replica leads %s after the first was asked to end", after.Round(time.Millisecond))
	if after > 30*time.Second {
		t.Errorf("the other replica leads %s after the first was asked to end, which has not given its lease back in time", after)
	}
	s.removeReplicated(t, before, append(first, second...), keys)
}

// A replica is a process of the provider. Both write into the log that is searched for secrets later.
type replica struct {
	spec    process.Spec
	process *process.Process
}

// startReplicas replaces the provider by two replicas, with the arguments of the chart. The first one is the leader.
func (s *suite) startReplicas(t *testing.T) (leader, waiting replica) {
	t.Helper()
	s.kill(t)
	err := s.helm("upgrade", release, checkout.Resolve("cluster/charts/"+release),
		"--namespace", releaseNamespace, "--reuse-values", "--set", "replicaCount=2")
	if err != nil {
		t.Fatal(err)
	}
	args, kubeconfig, err := s.deployed()
	if err != nil {
		t.Fatal(err)
	}
	start := func() replica {
		spec, err := provider.Spec(s.spec.Path, kubeconfig, os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		spec.Args, spec.Env, spec.Log = args, append(spec.Env, "POD_NAMESPACE="+releaseNamespace), s.spec.Log
		p, err := process.Start(s.ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		s.OnClose("replica", p.Stop)
		return replica{spec: spec, process: p}
	}
	leader = start()
	s.provider = leader.process
	s.until(t, func() string {
		if holder := s.lease(t).Spec.HolderIdentity; holder == nil || *holder == "" {
			return "no replica leads"
		}
		return ""
	})
	return leader, start()
}

// lease returns the leader's lease. It is empty if there is none.
func (s *suite) lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	l := &coordinationv1.Lease{}
	err := s.Kube.Get(s.ctx, client.ObjectKey{Namespace: releaseNamespace, Name: "crossplane-leader-election-provider-proxmox"}, l)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return l
}

// requestSeries counts the kinds of requests to Proxmox VE in a replica's metrics.
func (s *suite) requestSeries(t *testing.T, r replica) int {
	t.Helper()
	text := s.fetch(t, "http://"+variable(t, r.spec, "METRICS_BIND_ADDRESS")+"/metrics")
	return len(regexp.MustCompile(`(?m)^proxmox_operator_api_requests_total\{`).FindAllString(text, -1))
}

// stall stops the leader without informing it, for less time than its lease lasts, and waits for the responses of its last requests.
func (s *suite) stall(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(s.provider.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	last := -1
	s.until(t, func() string {
		now, err := s.simulator.LastRequest(s.ctx)
		if err != nil {
			return err.Error()
		}
		if now != last {
			last = now
			s.pause(t, 3*time.Second) // A response may take time on a busy computer.
			return "requests are still being answered"
		}
		return ""
	})
}

// silent checks for three seconds that there are no requests to Proxmox VE.
func (s *suite) silent(t *testing.T) {
	t.Helper()
	last, err := s.simulator.LastRequest(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.pause(t, 3*time.Second)
	requests, err := s.simulator.Requests(s.ctx, last)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		t.Errorf("the replica that waits has asked: %s %s", r.Method, r.Path)
	}
}

// handOver asks the stalled replica to end, like a rolling update, and returns the time of that.
func (s *suite) handOver(t *testing.T, to replica) time.Time {
	t.Helper()
	asked, leader := time.Now(), s.provider
	s.provider, s.spec = to.process, to.spec
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := syscall.Kill(leader.Pid(), signal); err != nil {
			t.Fatal(err)
		}
	}
	<-leader.Exited()
	if err := leader.Failure(); err != nil {
		t.Errorf("the replica that led ended with %v", err)
	}
	return asked
}

// removeReplicated checks that each Machine has one VM, and removes the Machines.
func (s *suite) removeReplicated(t *testing.T, before holdings, objs []*unstructured.Unstructured, keys []machine.Key) {
	t.Helper()
	now := s.holdings(t)
	now.keeps(t, before)
	now.noStrays(t)
	if got, want := len(now.vms), len(before.vms)+len(objs); got != want {
		t.Errorf("the cluster holds %d VMs, want %d", got, want)
	}
	for _, obj := range objs {
		s.checkIdentity(t, obj)
		s.remove(t, obj)
	}
	s.untilGone(t, keys)
	s.holdings(t).sameAs(t, before)
}

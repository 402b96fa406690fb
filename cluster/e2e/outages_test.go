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
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

// wrongToken is not the secret of any token.
const wrongToken = "e2e-wrong-token-secret"

// setToken writes a token's secret into the Secrets that the configurations refer to, in each form that they read.
func (s *suite) setToken(t *testing.T, secret string) {
	t.Helper()
	id := s.connection.Credentials.Username + "!" + s.connection.Credentials.TokenID
	for _, namespace := range credentialNamespaces() {
		o := &corev1.Secret{}
		if err := s.Kube.Get(s.ctx, types.NamespacedName{Namespace: namespace, Name: credentialSecret}, o); err != nil {
			t.Fatal(err)
		}
		o.Data = map[string][]byte{
			"credentials": []byte(id + "=" + secret),
			"tokenID":     []byte(id),
			"tokenSecret": []byte(secret),
		}
		if err := s.Kube.Update(s.ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}

// The Secrets with the token.
const credentialSecret = "proxmox-credentials"

func credentialNamespaces() []string {
	return []string{provider.SystemNamespace, provider.DefaultNamespace}
}

// shortestDenial is the shortest delay after a denial, unless the configuration is repaired.
const shortestDenial = 15 * time.Second

// testCredentials rotates the token to a wrong one and back.
func (s *suite) testCredentials(t *testing.T) {
	obj := newMachine("rotated", map[string]any{"template": "debian-13"})
	keys := s.apply(t, []*unstructured.Unstructured{obj})
	s.untilComplete(t, keys)
	running := s.provider.Pid()
	before := s.holdings(t)

	t.Cleanup(func() { s.setToken(t, s.connection.Credentials.TokenSecret) })
	s.setToken(t, wrongToken)
	since := time.Now()
	s.untilSays(t, keys[0], "authentication", "401")
	t.Logf("the wrong secret was noticed after %s: %s", time.Since(since).Round(time.Millisecond), s.machine(keys[0]).Message)
	s.setToken(t, s.connection.Credentials.TokenSecret)
	since = time.Now()
	s.untilComplete(t, keys)
	took := time.Since(since)
	t.Logf("the right secret was noticed after %s", took.Round(time.Millisecond))
	if took >= shortestDenial {
		t.Errorf("the right secret was noticed after %s, want at once", took)
	}

	s.holdings(t).sameAs(t, before)
	if s.provider.Pid() != running {
		t.Error("the provider was started again")
	}
	s.remove(t, obj)
	s.untilGone(t, keys)
}

// untilSays waits until a Machine is not in sync and its condition contains one of the given words in lower case.
func (s *suite) untilSays(t *testing.T, key machine.Key, words ...string) {
	t.Helper()
	s.until(t, func() string {
		m := s.machine(key)
		for _, w := range words {
			if m.Synced == "False" && strings.Contains(strings.ToLower(m.Message), w) {
				return ""
			}
		}
		return fmt.Sprintf("%s: synced %q, want %q in its message", m, m.Synced, words)
	})
}

// testOutage makes the cluster hang while Machines are created, so that requests get no response, though they may be executed later.
func (s *suite) testOutage(t *testing.T) {
	before := s.holdings(t)
	config := &unstructured.Unstructured{}
	config.SetAPIVersion(machine.NamespacedGroup + "/v1alpha1")
	config.SetKind("ClusterProviderConfig")
	config.SetName("default")
	s.merge(t, config, map[string]any{"spec": map[string]any{"requestTimeoutSeconds": 3}})

	var objs []*unstructured.Unstructured
	for i := range 4 {
		objs = append(objs, newMachine(fmt.Sprintf("outlasts-%d", i), map[string]any{"template": "ubuntu-24.04"}))
	}
	keys := s.apply(t, objs)
	s.until(t, func() string {
		if vms, err := s.simulator.VMs(s.ctx); err != nil || len(vms) == len(before.vms) {
			return fmt.Sprintf("no VM is being created (%v)", err)
		}
		return ""
	})
	s.signal(t, syscall.SIGSTOP)
	t.Cleanup(func() { s.signal(t, syscall.SIGCONT) })
	s.until(t, func() string {
		for _, key := range keys {
			if m := s.machine(key); m.Synced == "False" {
				t.Logf("%s", m)
				return ""
			}
		}
		return "no Machine says that the cluster does not answer"
	})
	s.signal(t, syscall.SIGCONT)
	since := time.Now()
	s.untilComplete(t, keys)
	t.Logf("complete %s after the cluster answered again", time.Since(since).Round(time.Millisecond))

	now := s.holdings(t)
	now.keeps(t, before)
	now.noStrays(t)
	if got, want := len(now.vms), len(before.vms)+len(keys); got != want {
		t.Errorf("the cluster holds %d VMs, want %d", got, want)
	}
	for _, obj := range objs {
		s.checkIdentity(t, obj)
		s.remove(t, obj)
	}
	s.untilGone(t, keys)
	s.holdings(t).sameAs(t, before)
}

func (s *suite) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(s.pve.Pid(), signal); err != nil {
		t.Errorf("cannot signal the simulator: %v", err)
	}
}
